"""What a published network is still good for, beside the original."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import InputError, unknown_name
from ..network import Network
from .comparison import (
    NetworkComparison,
    Values,
    average_clustering,
    communities,
    connectivity,
    degree_distribution,
    effective_diameter,
    harmonic_distance,
    influence,
    joint_degree,
    modularity,
    pagerank_top,
    spectral_radius,
    transitivity,
)
from .estimate import Interval


@dataclass(frozen=True)
class Kept:
    """What one measure says.

    Attributes:
        name: of the measure.
        before: its value in the original.
        after: its value in the published network.
        score: 1 if it is as in the original, 0 if it is lost.
        errors: standard errors of both values where they come from a sample; 0 where they are exact.
        method: how the values were computed, where there are several ways.
        intervals: of 95 %, of the value before, the value after and the score, where they come from a sample.
    """

    name: str
    before: float
    after: float
    score: float
    errors: tuple[float, float] = (0.0, 0.0)
    method: str = ""
    intervals: tuple[Interval, Interval, Interval] | None = None


@dataclass(frozen=True)
class Measure:
    """One property of networks.

    Attributes:
        name: of the property.
        definition: of its values and of the score.
        compare: the values before and after, the score, standard errors, method and intervals.
        by_node: whether it asks which node is which, so that no node may be missing.
    """

    name: str
    definition: str
    compare: Callable[[NetworkComparison], Values]
    by_node: bool = False

    def __call__(self, before: Network, after: Network, rng: np.random.Generator) -> Kept:
        """Both networks compared; see `utility_of`."""
        return utility_of(before, after, rng, (self.name,))[0]


def utility_of(
    before: Network, after: Network, rng: np.random.Generator, names: Sequence[str] | None = None
) -> tuple[Kept, ...]:
    """Compares a published network with the original. Weights and types of edges are left aside.

    Args:
        before: the original.
        after: the published network; node i of the original is its node i, and added nodes come behind.
        rng: of samples; a measure gives the same whatever else is asked for.
        names: of `MEASURES`, all by default; in their order.

    Raises:
        InputError: an unknown measure; an original without edges; a published network without nodes, with numbers
            of edges between classes instead of edges, or without some nodes of the original that are asked for.
    """
    asked = MEASURES if names is None else tuple(_measure(name) for name in names)
    if not before.size:
        raise InputError("the original network has no edges: there is nothing that a published one could keep")
    if not after.nodes:
        raise InputError("the published network has no nodes")
    if not after.size and after.counts is not None:
        raise InputError(
            "the published network has counts of edges between classes and no edges: "
            "measures of utility need edges, draw a network from the counts first"
        )
    missing = before.nodes - after.nodes
    by_node = [measure.name for measure in asked if measure.by_node]
    if missing > 0 and by_node:
        raise InputError(
            f"the published network lacks {missing} nodes of the original, which {by_node[0]} asks for"
        )
    comparison = NetworkComparison(before, after, rng)
    return tuple(Kept(measure.name, *measure.compare(comparison)) for measure in asked)


def overall(kept: Sequence[Kept]) -> float:
    """Mean of the scores; not a number of none."""
    return float(np.mean([one.score for one in kept])) if kept else float("nan")


def estimated(kept: Sequence[Kept]) -> tuple[str, ...]:
    """Which scores are estimates, in a sentence; none where all are exact."""
    parts = [
        f"{one.name} {100 * one.score:.1f} % [{100 * one.intervals[2][0]:.1f}, {100 * one.intervals[2][1]:.1f}] "
        f"({one.method})"
        for one in kept
        if one.intervals is not None
    ]
    return (f"of what is kept, with intervals of 95 %: {', '.join(parts)}",) if parts else ()


def _measure(name: str) -> Measure:
    found = next((measure for measure in MEASURES if measure.name == name), None)
    if found is None:
        raise unknown_name("measure of utility", name, [measure.name for measure in MEASURES])
    return found


MEASURES: tuple[Measure, ...] = (
    Measure(
        "degree-distribution",
        "mean degree; score: 1 less the Kolmogorov-Smirnov distance of the degree distributions",
        degree_distribution,
    ),
    Measure(
        "joint-degree",
        "share of edges that have a partner with the same two degrees: 1 less half the L1 distance of the shares "
        "of edges by the degrees of their ends",
        joint_degree,
    ),
    Measure(
        "average-clustering",
        "mean share of a node's pairs of neighbours that are linked, 0 for nodes with less than two; score: "
        "1 less the relative error",
        average_clustering,
    ),
    Measure(
        "transitivity",
        "share of connected triples that are closed; score: 1 less the relative error",
        transitivity,
    ),
    Measure(
        "harmonic-distance",
        "harmonic mean of the distances of all pairs of nodes, infinite ones included; score: 1 less the relative "
        "error",
        harmonic_distance,
    ),
    Measure(
        "effective-diameter",
        "distance within which 90 % of connected pairs lie, interpolated; score: 1 less the relative error",
        effective_diameter,
    ),
    Measure(
        "spectral-radius",
        "largest eigenvalue of the adjacency of the largest component; score: 1 less the relative error",
        spectral_radius,
    ),
    Measure(
        "algebraic-connectivity",
        "second smallest eigenvalue of the Laplacian of the largest component; score: 1 less the relative error",
        connectivity,
    ),
    Measure(
        "modularity",
        "modularity of Leiden communities, each network's own; score: 1 less the relative error",
        modularity,
    ),
    Measure(
        "communities",
        "adjusted mutual information with Leiden communities of the original, of a second run on the original and "
        "of the published network's; score: the second over the first; added nodes are left aside",
        communities,
        by_node=True,
    ),
    Measure(
        "pagerank-top",
        "share of the original's highest 1 % of nodes by PageRank that are among as many highest published ones",
        pagerank_top,
        by_node=True,
    ),
    Measure(
        "influence",
        "nodes that a cascade on the original reaches from its nodes of highest degree (1 %, at most 50), and from "
        "those of the published network, of which added ones reach nobody; score: the second over the first",
        influence,
        by_node=True,
    ),
)
