"""k-degree anonymity: every degree occurs at least k times (Liu and Terzi 2008)."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from ...errors import InputError
from ...graphs.network import Ints, Network, Verified, against, aside
from ...settings import Settings
from ...targets.defense import Defense
from .degree_realisation import EdgeChanges, constructed, joined, nearby, spread
from .degree_sequences import is_graphic, k_anonymous

PROBES = 30
"""Sequences that are tried at most; each begins with half as many more raised degrees as the one before."""
Variant = Literal["supergraph", "priority", "construction"]


class KDegreeSettings(Settings):
    """Settings of `KDegree`."""

    k: int = Field(10, ge=1, description="nodes that have each degree, at least")
    variant: Variant = Field(
        "supergraph",
        description="supergraph: keep every edge; priority: reach the nearest degrees and keep most edges; "
        "construction: reach them with new edges",
    )
    deletions: bool = Field(False, description="whether degrees may also shrink (not with 'supergraph')")

    @model_validator(mode="after")
    def _supergraphs_only_grow(self) -> "KDegreeSettings":
        if self.deletions and self.variant == "supergraph":
            raise ValueError(
                "deletions need the variant 'priority' or 'construction': a supergraph keeps every edge"
            )
        return self


class KDegree(Defense):
    """Edits the network until every degree occurs at least k times.

    First the nearest k-anonymous sequence of degrees is computed, then a network that has it:

    - ``supergraph`` adds edges only, between nodes whose degrees must grow. Where these nodes cannot all be linked
      to each other, as happens with hubs that are neighbours already, the rest is linked to nodes of frequent
      degrees, which move to the next degree as far as k stay behind; then more edges are added than the nearest
      sequence asks for, and `verify` says by how many.
    - ``priority`` has exactly the nearest sequence that a graph can have. It begins with the edges that are there,
      drops those that are too many, adds, and exchanges edges where nothing can be added.
    - ``construction`` is a random network with that sequence; it shares edges with the old one by chance only.

    Source:
        Liu and Terzi, "Towards Identity Anonymization on Graphs", SIGMOD 2008: Supergraph, Priority and
        ConstructGraph. Which nodes are linked where several will do is drawn here, and stuck realisations are
        repaired by exchanges instead of restarts.
    """

    name = "k-degree"
    phrase = "with every degree at least k times"
    strength = "k"
    sweep = (2, 5, 10, 20, 50)
    alternative = "random-edit"
    guarantee = (
        "each node shares its degree with at least k - 1 others; who knows more than degrees may tell them apart"
    )
    Settings = KDegreeSettings
    settings: KDegreeSettings

    def on_graph(self, network: Network, seed: np.random.SeedSequence) -> Network:
        rng, plain = np.random.default_rng(seed), network.plain()
        for degrees in probes(plain.degrees):
            wanted = k_anonymous(degrees, self.settings.k, self.settings.deletions, even=True)
            found = self._realised(plain, wanted, rng)
            if found is not None:
                return network.with_edges(found, rng)
        raise InputError(
            f"no network found in which every degree occurs {self.settings.k} times: choose a smaller k or the "
            "variant 'construction'"
        )

    def verify(self, before: Network, after: Network) -> Verified:
        """Checks the degrees of ``after``; tells which edges were kept, and how near it is to the nearest one."""
        settings, old, new = self.settings, before.plain(), after.plain()
        found = verify_k_degree(after, settings.k)
        kept = len(np.intersect1d(old.codes, new.codes, assume_unique=True))
        least = np.abs(k_anonymous(old.degrees, settings.k, settings.deletions, even=True) - old.degrees).sum()
        changed = np.abs(new.degrees - old.degrees).sum()
        detail = (
            f"{found.detail}; {kept} of {old.size} edges kept, {new.size - kept} added; degrees changed by "
            f"{changed} in all, {least} is the least for an even sum"
        )
        return replace(found, detail=detail)

    def _realised(self, network: Network, wanted: Ints, rng: np.random.Generator) -> Ints | None:
        """Pairs that are linked in a network with the wanted degrees, or with others that are as anonymous."""
        if self.settings.variant == "supergraph":
            return _supergraph(network, wanted, self.settings.k, rng)
        if not is_graphic(wanted):
            return None
        if self.settings.variant == "construction":
            return constructed(wanted, rng)
        return nearby(network, wanted, rng)


def verify_k_degree(network: Network, k: int) -> Verified:
    """Whether every degree of a network occurs at least k times; pairs with several edges count once."""
    degrees, times = np.unique(network.plain().degrees, return_counts=True)
    rarest = int(times.min()) if len(times) else 0
    detail = f"{len(degrees)} degrees, the rarest occurs {rarest} times"
    return Verified(
        f"every degree occurs at least {k} times{aside(network)}",
        len(times) == 0 or rarest >= k,
        detail,
        against("how many neighbours each person has, and nothing else of the graph", network),
    )


def probes(degrees: Ints) -> Iterator[Ints]:
    """The degrees, and then with ever more of the smallest raised by one, up to those of a complete graph.

    Liu and Terzi's probing: what is raised gives other nodes somebody to be linked to.
    """
    raised, extra, most = degrees.copy(), 1, len(degrees) - 1
    for _ in range(PROBES):
        yield raised
        raised = raised.copy()
        for _ in range(-(-extra // max(len(degrees), 1))):
            smallest = np.argsort(raised, kind="stable")[: min(extra, len(degrees))]
            raised[smallest] = np.minimum(raised[smallest] + 1, most)
        extra += 1 + extra // 2


def _supergraph(network: Network, wanted: Ints, k: int, rng: np.random.Generator) -> Ints | None:
    """Adds edges only: None where nodes are left that must have more neighbours than can be found for them."""
    edges = EdgeChanges(network)
    left = joined(edges, wanted - network.degrees, rng)
    left = spread(edges, left, edges.added(), rng)
    counts = np.bincount(wanted, minlength=network.nodes + 1)
    degrees = wanted.copy()
    for node in sorted(left, key=lambda u: -left[u]):
        if not _raise_others(edges, node, left[node], degrees, counts, k, rng):
            return None
    return edges.codes()


def _raise_others(
    edges: EdgeChanges, node: int, number: int, degrees: Ints, counts: Ints, k: int, rng: np.random.Generator
) -> bool:
    """Links a node to others that move to the next degree; False where k would not be left, or reached, there.

    Args:
        edges: to change.
        node: which lacks neighbours.
        number: how many.
        degrees: that nodes shall have [n], changed in place.
        counts: of nodes with each degree, changed in place.
        k: how many nodes share a degree at least.
        rng: of which nodes are taken.
    """
    free = np.ones(edges.nodes, dtype=bool)
    free[edges.near(node)] = False
    known = np.flatnonzero(counts)
    for degree in known[np.argsort(-counts[known], kind="stable")].tolist():
        if number == 0:
            break
        there = rng.permutation(np.flatnonzero(free & (degrees == degree)))
        moved = min(number, len(there))
        if moved < counts[degree]:
            moved = min(moved, int(counts[degree]) - k)
        if moved <= 0 or counts[degree + 1] + moved < k:
            continue
        for other in there[:moved].tolist():
            edges.add(node, other)
        free[there[:moved]] = False
        degrees[there[:moved]] += 1
        counts[degree] -= moved
        counts[degree + 1] += moved
        number -= moved
    return number == 0
