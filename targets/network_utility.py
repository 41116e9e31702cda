"""What a published network is still good for, beside the original."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .errors import InputError, unknown_name
from .network import Floats, Network
from .network_communities import adjusted_mutual_information, leiden
from .network_distances import Distances, distances
from .network_influence import MOST_SEEDS, highest, spreads
from .network_spectra import adjacency_radius, algebraic_connectivity, largest_component
from .randomness import branch

TOP = 0.01


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
    """

    name: str
    before: float
    after: float
    score: float
    errors: tuple[float, float] = (0.0, 0.0)
    method: str = ""


class Comparison:
    """Both networks without weights and types, and what several measures need of them, computed once.

    Everything random is drawn alike for both, so that a network loses nothing against itself. What one measure draws
    does not depend on which others are asked for.

    Args:
        before: the original.
        after: the published network; node i of the original is its node i.
        rng: draws the one number that all else is drawn from.
    """

    def __init__(self, before: Network, after: Network, rng: np.random.Generator) -> None:
        self.before, self.after = before.plain(), after.plain()
        self.seed = np.random.SeedSequence(int(rng.integers(2**63)))

    def rng(self, what: str) -> np.random.Generator:
        """A generator for one purpose, the same at each call."""
        return np.random.default_rng(branch(self.seed, what))

    def both(self, measure: Callable[[Network, np.random.Generator], Any], what: str) -> tuple[Any, Any]:
        """A measure of both networks with the same random numbers."""
        return measure(self.before, self.rng(what)), measure(self.after, self.rng(what))

    @cached_property
    def distances(self) -> tuple[Distances, Distances]:
        """Distances from sampled nodes."""
        return self.both(distances, "distances")

    @cached_property
    def components(self) -> tuple[Any, Any]:
        """Adjacency of the largest component."""
        return largest_component(self.before), largest_component(self.after)

    @cached_property
    def communities(self) -> tuple[Any, Any]:
        """Communities and their modularity."""
        return self.both(leiden, "communities")


@dataclass(frozen=True)
class Measure:
    """One property of networks.

    Attributes:
        name: of the property.
        definition: of its values and of the score.
        compare: the values before and after, the score, standard errors and method.
        by_node: whether it asks which node is which, so that no node may be missing.
    """

    name: str
    definition: str
    compare: Callable[[Comparison], tuple[Any, ...]]
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
        InputError: an unknown measure, a network without edges to begin with, one that is published as numbers of
            edges between classes, or without some nodes of the original.
    """
    asked = MEASURES if names is None else tuple(_measure(name) for name in names)
    if not before.size:
        raise InputError("the original network has no edges: there is nothing that a published one could keep")
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
    comparison = Comparison(before, after, rng)
    return tuple(Kept(measure.name, *measure.compare(comparison)) for measure in asked)


def overall(kept: Sequence[Kept]) -> float:
    """Mean of the scores; not a number of none."""
    return float(np.mean([one.score for one in kept])) if kept else float("nan")


def closeness(before: float, after: float) -> float:
    """1 less the relative error, and not less than 0; of an original value of 0 only 0 is close."""
    if before == after:
        return 1.0
    return max(0.0, 1 - abs(after - before) / abs(before)) if before and np.isfinite(before) else 0.0


def _measure(name: str) -> Measure:
    found = next((measure for measure in MEASURES if measure.name == name), None)
    if found is None:
        raise unknown_name("measure of utility", name, [measure.name for measure in MEASURES])
    return found


def _close(before: float, after: float, *further: Any) -> tuple[Any, ...]:
    return before, after, closeness(before, after), *further


def _degrees(c: Comparison) -> tuple[Any, ...]:
    most = int(max(c.before.degrees.max(), c.after.degrees.max()))
    below, other = (np.cumsum(np.bincount(g.degrees, minlength=most + 1)) / g.nodes for g in (c.before, c.after))
    means = (2 * c.before.size / c.before.nodes, 2 * c.after.size / c.after.nodes)
    return *means, 1 - float(np.abs(below - other).max())


def _joint_degrees(c: Comparison) -> tuple[Any, ...]:
    pairs = [np.sort(g.degrees[g.edges], axis=0) for g in (c.before, c.after)]
    width = int(max(p.max(initial=0) for p in pairs)) + 1
    codes, place = np.unique(np.concatenate([p[0] * width + p[1] for p in pairs]), return_inverse=True)
    one = np.bincount(place[: c.before.size], minlength=len(codes)) / c.before.size
    other = np.bincount(place[c.before.size :], minlength=len(codes)) / max(c.after.size, 1)
    same = float(np.minimum(one, other).sum())
    return 1.0, same, same


def _clustering(c: Comparison) -> tuple[Any, ...]:
    return _close(*(float(g.igraph().transitivity_avglocal_undirected(mode="zero")) for g in (c.before, c.after)))


def _transitivity(c: Comparison) -> tuple[Any, ...]:
    return _close(*(float(g.igraph().transitivity_undirected(mode="zero")) for g in (c.before, c.after)))


def _harmonic(c: Comparison) -> tuple[Any, ...]:
    (one, error), (other, other_error) = (d.harmonic for d in c.distances)
    return _close(one, other, (error, other_error), _searches(c))


def _effective_diameter(c: Comparison) -> tuple[Any, ...]:
    (one, error), (other, other_error) = (d.effective_diameter for d in c.distances)
    return _close(one, other, (error, other_error), _searches(c))


def _searches(c: Comparison) -> str:
    return f"breadth-first from {len(c.distances[0].reached)} nodes"


def _radius(c: Comparison) -> tuple[Any, ...]:
    one, other = (adjacency_radius(part, c.rng("spectrum")) for part in c.components)
    return _close(one.value, other.value, (0.0, 0.0), f"{one.method}, {other.method}")


def _connectivity(c: Comparison) -> tuple[Any, ...]:
    one, other = (algebraic_connectivity(part, c.rng("spectrum")) for part in c.components)
    return _close(one.value, other.value, (0.0, 0.0), f"{one.method}, {other.method}")


def _modularity(c: Comparison) -> tuple[Any, ...]:
    return _close(c.communities[0][1], c.communities[1][1])


def _partition(c: Comparison) -> tuple[Any, ...]:
    found, published = c.communities[0][0], c.communities[1][0][: c.before.nodes]
    again, _ = leiden(c.before, c.rng("other communities"))
    reachable = adjusted_mutual_information(again, found)
    reached = adjusted_mutual_information(again, published)
    return (
        reachable,
        reached,
        min(1.0, max(0.0, reached) / reachable) if reachable > 0 else float(reached >= reachable),
    )


def _pagerank(c: Comparison) -> tuple[Any, ...]:
    count, priority = _few(c), _priority(c)
    ranks = (np.round(np.array(g.igraph().pagerank()) * g.nodes, 9) for g in (c.before, c.after))
    one, other = (highest(rank, count, priority) for rank in ranks)
    same = len(np.intersect1d(one, other)) / count
    return 1.0, same, same


def _influence(c: Comparison) -> tuple[Any, ...]:
    count, priority = min(MOST_SEEDS, _few(c)), _priority(c)
    one, other = (highest(g.degrees, count, priority) for g in (c.before, c.after))
    reached = spreads(c.before, (one, other[other < c.before.nodes]), c.rng("cascades"))
    mean, other_mean = reached.mean(axis=1).tolist()
    error, other_error = (reached.std(axis=1, ddof=1) / np.sqrt(reached.shape[1])).tolist()
    return mean, other_mean, min(1.0, other_mean / mean), (error, other_error), f"{reached.shape[1]} cascades"


def _few(c: Comparison) -> int:
    """One in a hundred of the original's nodes, at least one."""
    return int(np.ceil(TOP * c.before.nodes))


def _priority(c: Comparison) -> Floats:
    """Random numbers that decide between equal nodes; those of the original's nodes do not depend on added ones."""
    return c.rng("priority").random(max(c.before.nodes, c.after.nodes))


MEASURES: tuple[Measure, ...] = (
    Measure(
        "degree-distribution",
        "mean degree; score: 1 less the Kolmogorov-Smirnov distance of the degree distributions",
        _degrees,
    ),
    Measure(
        "joint-degree",
        "share of edges that have a partner with the same two degrees: 1 less half the L1 distance of the shares of "
        "edges by the degrees of their ends",
        _joint_degrees,
    ),
    Measure(
        "average-clustering",
        "mean share of a node's pairs of neighbours that are linked, 0 for nodes with less than two; score: "
        "1 less the relative error",
        _clustering,
    ),
    Measure(
        "transitivity",
        "share of connected triples that are closed; score: 1 less the relative error",
        _transitivity,
    ),
    Measure(
        "harmonic-distance",
        "harmonic mean of the distances of all pairs of nodes, infinite ones included; score: 1 less the relative error",
        _harmonic,
    ),
    Measure(
        "effective-diameter",
        "distance within which 90 % of connected pairs lie, interpolated; score: 1 less the relative error",
        _effective_diameter,
    ),
    Measure(
        "spectral-radius",
        "largest eigenvalue of the adjacency of the largest component; score: 1 less the relative error",
        _radius,
    ),
    Measure(
        "algebraic-connectivity",
        "second smallest eigenvalue of the Laplacian of the largest component; score: 1 less the relative error",
        _connectivity,
    ),
    Measure(
        "modularity",
        "modularity of Leiden communities, each network's own; score: 1 less the relative error",
        _modularity,
    ),
    Measure(
        "communities",
        "adjusted mutual information with Leiden communities of the original, of a second run on the original and of "
        "the published network's; score: the second over the first; added nodes are left aside",
        _partition,
        by_node=True,
    ),
    Measure(
        "pagerank-top",
        "share of the original's highest 1 % of nodes by PageRank that are among as many highest published ones",
        _pagerank,
        by_node=True,
    ),
    Measure(
        "influence",
        "nodes that a cascade on the original reaches from its nodes of highest degree (1 %, at most 50), and from "
        "those of the published network, of which added ones reach nobody; score: the second over the first",
        _influence,
        by_node=True,
    ),
)
