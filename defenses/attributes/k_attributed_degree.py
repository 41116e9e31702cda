"""k-attributed degree: k people share attributes, and out- and in-degree in each relation (Hoang et al. 2020)."""

from dataclasses import replace

import numpy as np
from pydantic import Field

from ...errors import InputError
from ...graphs.network import ATTRIBUTES, Ints, Network, Verified
from ...settings import Settings
from ...targets.defense import Defense
from .classes import loss_of, table_of, untrue
from .clusters import clustered, coordinates, united
from .relations import degree_sides, raised, relations_of, together

MADE_UP = (
    "Of names all values of a cluster are told of each of its people, and edges are made up: what is told of a "
    "person is not what is true of it."
)


class KAttributedDegreeSettings(Settings):
    """Settings of `KAttributedDegree`."""

    k: int = Field(10, ge=1, description="people who share a signature, at least")
    alpha: float = Field(0.5, ge=0, le=1, description="weight of attributes beside degrees in what clusters lose")
    beta: float = Field(
        0.5, ge=0, le=1, description="weight of out-degrees beside in-degrees in what clusters lose"
    )


class KAttributedDegree(Defense):
    """Adds values and edges until k people share attributes, and out- and in-degree in each relation.

    People are put into clusters of k to 2k - 1 who lose little by looking alike (`clusters`). Of each attribute all
    values of a cluster are told, of numbers their range. In each relation, a type of edges, all people of a cluster
    get the largest out-degree and the largest in-degree among them, by arcs that are added in that relation alone;
    where directions are not published (``keep=directions``) the largest degree. Where the sums of both differ, or
    these arcs cannot all be placed, whole clusters rise by one more; where that does not help, nothing is
    published. No edge is removed; weights go.

    Source:
        Hoang, Carminati and Ferrari, "Cluster-Based Anonymization of Knowledge Graphs", ACNS 2020 (CKGA). Clusters
        are MDAV's instead of repaired ones; their code stops adding edges without a word where none fits, and here
        degrees are counted again. No user is left out or made up.
    """

    name = "k-ad"
    phrase = "with every signature of attributes and degrees at least k times"
    strength = "k"
    sweep = (2, 5, 10, 20)
    publishes = (ATTRIBUTES, "types")
    alternative = "random-edit"
    guarantee = (
        "each node shares its published attributes, and its number of links in each relation (in and out where "
        "directions are published), with at least k - 1 others; who knows more of its links may tell them apart"
    )
    Settings = KAttributedDegreeSettings
    settings: KAttributedDegreeSettings

    def on_graph(self, network: Network, seed: np.random.SeedSequence) -> Network:
        s, rng, table = self.settings, np.random.default_rng(seed), table_of(network)
        if s.k > network.nodes:
            raise InputError(
                f"k is {s.k} but there are only {network.nodes} nodes: choose k of at most {network.nodes}"
            )
        group = clustered(coordinates(table, degree_sides(network), s.alpha, s.beta), s.k)
        parts = [raised(network, part, group, number, rng) for number, part in enumerate(relations_of(network))]
        made = together(parts, network.types is not None) if parts else replace(network, weights=None)
        told = replace(table, runs=united(table.columns, table.values, group))
        return made if network.people is None else replace(made, people=told)

    def verify(self, before: Network, after: Network) -> Verified:
        """Counts the signatures of ``after``; checks that no edge is gone and own values are among those told."""
        k, sides = self.settings.k, degree_sides(after)
        signature = np.column_stack([table_of(after).classes, *sides])
        times = np.unique(signature, axis=0, return_counts=True)[1]
        rarest = int(times.min(initial=after.nodes))
        wrong = untrue(table_of(before), table_of(after)) or gone(before, after)
        added, relations = links(after) - links(before), sides[0].shape[1]
        parts = [
            f"{len(times)} signatures in {relations} relation{'' if relations == 1 else 's'}",
            f"the rarest occurs {rarest} times",
            f"{added} links added to {links(before)}",
            loss_of(after),
            wrong,
        ]
        ways = "lead in and out" if after.directions is not None else "it has"
        known = f"how many links {ways} in each relation"
        return Verified(
            f"each person shares its published attributes, and its degrees in each relation, with at least {k - 1} "
            "others",
            (rarest >= k or not after.nodes) and not wrong,
            "; ".join(filter(None, parts)),
            f"This holds against somebody who knows a person's attributes and {known}. It says nothing against "
            "somebody who knows more of its links, such as to whom they lead.",
            MADE_UP,
        )


def links(network: Network) -> int:
    """Arcs of all relations, or edges where they have no directions."""
    return int(degree_sides(network)[0].sum()) // (2 if network.directions is None else 1)


def _coded(network: Network) -> Ints:
    """A number for each edge, its type and each way that it leads, ascending."""
    types = np.zeros(network.size, dtype=np.int64) if network.types is None else network.types
    ways = np.full(network.size, 1) if network.directions is None else network.directions
    edge = (types * network.nodes + network.edges[0]) * network.nodes + network.edges[1]
    return np.concatenate([2 * edge[(ways & way) > 0] + way - 1 for way in (1, 2)])


def gone(before: Network, after: Network) -> str:
    """What of edges a release lacks, or nothing."""
    if before.nodes != after.nodes or (before.directions is None) != (after.directions is None):
        return "nodes or directions are others"
    return "" if np.isin(_coded(before), _coded(after)).all() else "an edge is gone"
