"""Two networks beside each other, property by property."""

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ...randomness import branch
from ..network import Floats, Network
from .communities import adjusted_mutual_information, leiden
from .distances import Distances, distances
from .influence import MOST_SEEDS, highest, spreads
from .spectra import adjacency_radius, algebraic_connectivity, largest_component

TOP = 0.01
ROUNDING = 1e-12
"""Values that differ by less are equal: the modularity of one community is 0 or 2e-16."""
Values = tuple[Any, ...]
"""A value before and after, the score, and where there are any: standard errors and the method."""


class NetworkComparison:
    """Both networks without weights and types, and what several measures need of them, computed once.

    Everything random is drawn alike for both, so that a network loses nothing against itself. What one measure
    draws does not depend on which others are asked for.

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


def closeness(before: float, after: float) -> float:
    """1 less the relative error, and not less than 0; of an original value of 0 only 0 is close."""
    if math.isclose(before, after, rel_tol=0.0, abs_tol=ROUNDING):
        return 1.0
    return max(0.0, 1 - abs(after - before) / abs(before)) if before and np.isfinite(before) else 0.0


def _close(before: float, after: float, *further: Any) -> Values:
    return before, after, closeness(before, after), *further


def degree_distribution(c: NetworkComparison) -> Values:
    """Mean degrees, and the Kolmogorov-Smirnov distance of the distributions."""
    most = int(max(c.before.degrees.max(), c.after.degrees.max()))
    below, other = (np.cumsum(np.bincount(g.degrees, minlength=most + 1)) / g.nodes for g in (c.before, c.after))
    means = (2 * c.before.size / c.before.nodes, 2 * c.after.size / c.after.nodes)
    return *means, 1 - float(np.abs(below - other).max())


def joint_degree(c: NetworkComparison) -> Values:
    """The part of the edges, counted by the degrees of their ends, that both have in common."""
    pairs = [np.sort(g.degrees[g.edges], axis=0) for g in (c.before, c.after)]
    width = int(max(p.max(initial=0) for p in pairs)) + 1
    codes, place = np.unique(np.concatenate([p[0] * width + p[1] for p in pairs]), return_inverse=True)
    one = np.bincount(place[: c.before.size], minlength=len(codes)) / c.before.size
    other = np.bincount(place[c.before.size :], minlength=len(codes)) / max(c.after.size, 1)
    same = min(1.0, float(np.minimum(one, other).sum()))  # rounding
    return 1.0, same, same


def average_clustering(c: NetworkComparison) -> Values:
    """Mean local clustering."""
    return _close(*(float(g.igraph().transitivity_avglocal_undirected(mode="zero")) for g in (c.before, c.after)))


def transitivity(c: NetworkComparison) -> Values:
    """Share of closed triples."""
    return _close(*(float(g.igraph().transitivity_undirected(mode="zero")) for g in (c.before, c.after)))


def harmonic_distance(c: NetworkComparison) -> Values:
    """Harmonic mean distance."""
    (one, error), (other, other_error) = (d.harmonic for d in c.distances)
    return _close(one, other, (error, other_error), _searches(c))


def effective_diameter(c: NetworkComparison) -> Values:
    """Distance of 90 % of connected pairs."""
    (one, error), (other, other_error) = (d.effective_diameter for d in c.distances)
    return _close(one, other, (error, other_error), _searches(c))


def _searches(c: NetworkComparison) -> str:
    return f"breadth-first from {len(c.distances[0].reached)} nodes"


def spectral_radius(c: NetworkComparison) -> Values:
    """lambda_1."""
    one, other = (adjacency_radius(part, c.rng("spectrum")) for part in c.components)
    return _close(one.value, other.value, (0.0, 0.0), f"{one.method}, {other.method}")


def connectivity(c: NetworkComparison) -> Values:
    """mu_2."""
    one, other = (algebraic_connectivity(part, c.rng("spectrum")) for part in c.components)
    return _close(one.value, other.value, (0.0, 0.0), f"{one.method}, {other.method}")


def modularity(c: NetworkComparison) -> Values:
    """Modularity of each network's own communities."""
    return _close(c.communities[0][1], c.communities[1][1])


def communities(c: NetworkComparison) -> Values:
    """Agreement with communities of the original, of a second run on it and of the published network's."""
    found, published = c.communities[0][0], c.communities[1][0][: c.before.nodes]
    again, _ = leiden(c.before, c.rng("other communities"))
    reachable = adjusted_mutual_information(again, found)
    reached = adjusted_mutual_information(again, published)
    return (
        reachable,
        reached,
        min(1.0, max(0.0, reached) / reachable) if reachable > 0 else float(reached >= reachable),
    )


def pagerank_top(c: NetworkComparison) -> Values:
    """The part of the nodes of highest PageRank that both have in common."""
    count, priority = _few(c), _priority(c)
    ranks = (np.round(np.array(g.igraph().pagerank()) * g.nodes, 9) for g in (c.before, c.after))
    one, other = (highest(rank, count, priority) for rank in ranks)
    same = len(np.intersect1d(one, other)) / count
    return 1.0, same, same


def influence(c: NetworkComparison) -> Values:
    """Cascades on the original from the nodes of highest degree of each."""
    count, priority = min(MOST_SEEDS, _few(c)), _priority(c)
    one, other = (highest(g.degrees, count, priority) for g in (c.before, c.after))
    reached = spreads(c.before, (one, other[other < c.before.nodes]), c.rng("cascades"))
    mean, other_mean = reached.mean(axis=1).tolist()
    error, other_error = (reached.std(axis=1, ddof=1) / np.sqrt(reached.shape[1])).tolist()
    return mean, other_mean, min(1.0, other_mean / mean), (error, other_error), f"{reached.shape[1]} cascades"


def _few(c: NetworkComparison) -> int:
    """One in a hundred of the original's nodes, at least one."""
    return int(np.ceil(TOP * c.before.nodes))


def _priority(c: NetworkComparison) -> Floats:
    """Random numbers that decide between equal nodes; those of the original's nodes do not depend on added ones."""
    return c.rng("priority").random(max(c.before.nodes, c.after.nodes))
