"""k-degree anonymity of directed networks: every pair of out- and in-degree occurs at least k times."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from pydantic import Field

from ...errors import InputError
from ...graphs.arcs import arcs_of, degree_pairs, with_arcs
from ...graphs.network import Ints, Network, Verified, against, aside
from ...settings import Settings
from ...targets.defense import Defense
from .arc_realisation import MoreArcs, given_away, joined
from .degree_pairs import balanced, k_anonymous_pairs
from .degree_sequences import k_anonymous
from .k_degree import probes


class KDegreeDirectedSettings(Settings):
    """Settings of `KDegreeDirected`."""

    k: int = Field(10, ge=1, description="nodes that have each pair of out- and in-degree, at least")


class KDegreeDirected(Defense):
    """Adds arcs to a directed network until every pair of out- and in-degree occurs at least k times.

    Who follows 31 people and is followed by 4 is told apart where the sum of both, or each of them, is shared by
    many. First pairs are grouped by k or more and raised to the largest of their group on both sides
    (`degree_pairs`), with equal sums; then arcs are added between those that must grow. Where these cannot all be
    linked, the rest is linked to people with frequent pairs, who move to the next one as far as k stay behind; then
    more arcs are added than the groups ask for, and `verify` says by how many. No arc is removed.

    Source:
        The supergraph of Liu and Terzi, "Towards Identity Anonymization on Graphs", SIGMOD 2008, for pairs of
        degrees; in- and out-degree are what Hoang, Carminati and Ferrari, "Cluster-Based Anonymization of Knowledge
        Graphs", ACNS 2020, equalise for each relation. Grouping and repair are this module's own.
    """

    name = "k-degree-directed"
    phrase = "with every pair of in- and out-degree at least k times"
    strength = "k"
    sweep = (2, 5, 10, 20, 50)
    publishes = ("directions",)
    alternative = "random-edit"
    guarantee = (
        "each node shares its number of links in and of links out with at least k - 1 others; who knows more than "
        "these two may tell them apart"
    )
    Settings = KDegreeDirectedSettings
    settings: KDegreeDirectedSettings

    def on_graph(self, network: Network, seed: np.random.SeedSequence) -> Network:
        if network.directions is None:
            raise InputError(
                f"'{self.name}' makes people alike by links in and out, and the edges of this network have no "
                "directions: take k-degree"
            )
        rng, k = np.random.default_rng(seed), self.settings.k
        for raised in _raised(degree_pairs(network)):
            made = _supergraph(network, balanced(k_anonymous_pairs(raised, k), k), k, rng)
            if made is not None:
                return with_arcs(network, made.arcs(), rng)
        raise InputError(f"no network found in which every pair of degrees occurs {k} times: choose a smaller k")

    def verify(self, before: Network, after: Network) -> Verified:
        """Checks the pairs of ``after``; tells how many arcs are new, and how many there are at least."""
        found = verify_k_pairs(after, self.settings.k)
        if before.directions is None or before.nodes != after.nodes:
            return found
        (old, new), pairs = (arcs_of(each).shape[1] for each in (before, after)), degree_pairs(before)
        changed = int(np.abs(degree_pairs(after) - pairs).sum())
        least = sum(int(np.abs(k_anonymous(side, self.settings.k) - side).sum()) for side in pairs.T)
        detail = (
            f"{found.detail}; {old} links became {new}; degrees changed by {changed} in all, out- and in-degrees "
            f"apart need {least}"
        )
        return replace(found, detail=detail)


def verify_k_pairs(network: Network, k: int) -> Verified:
    """Whether every pair of out- and in-degree occurs at least k times; edges of several types count once."""
    apart = replace(network, directions=None)
    guarantee = f"every pair of in- and out-degree occurs at least {k} times{aside(apart)}"
    if network.directions is None and network.size:
        return Verified(guarantee, False, "edges have no directions")
    known, times = np.unique(degree_pairs(network), axis=0, return_counts=True)
    rarest = int(times.min()) if len(times) else 0
    return Verified(
        guarantee,
        len(times) == 0 or rarest >= k,
        f"{len(known)} pairs, the rarest occurs {rarest} times",
        against("how many links lead to each person and away from it, and nothing else of the graph", apart),
        "Somebody who also knows to how many different people a person is linked knows how many links are mutual, "
        "and is not covered.",
    )


def _raised(pairs: Ints) -> Iterator[Ints]:
    """The pairs, and then with ever more of the smallest degrees raised by one, up to those of a complete graph."""
    yield from (np.stack(sides, 1) for sides in zip(*map(probes, pairs.T), strict=True))


def _supergraph(network: Network, wanted: Ints, k: int, rng: np.random.Generator) -> MoreArcs | None:
    """Arcs to add; None where nodes are left that must have more than can be found for them."""
    arcs, wanted = MoreArcs(network), wanted.copy()
    left = joined(arcs, wanted - degree_pairs(network), rng)
    for side in (0, 1):
        for node, number in left[side].most_common():
            if not given_away(arcs, node, number, side, wanted, k, rng):
                return None
    return arcs
