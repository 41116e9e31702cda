"""Two networks beside each other, property by property."""

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ...randomness import branch
from ..network import Floats, Network
from .communities import adjusted_mutual_information, leiden
from .distances import Distances, affordable_sources, distances
from .estimate import Estimate, Interval, ratio
from .influence import MOST_SEEDS, affordable_runs, highest, spreads
from .spectra import adjacency_radius, algebraic_connectivity, largest_component
from .triangles import LARGE, closed_triples, clustering

TOP = 0.01
ROUNDING = 1e-12
"""Values that differ by less are equal: the modularity of one community is 0 or 2e-16."""
Values = tuple[Any, ...]
"""A value before and after, the score, and where there are any: standard errors, the method, and 95 % intervals of
the three where they come from samples."""


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
        sources = min(affordable_sources(self.before), affordable_sources(self.after))
        return self.both(lambda network, rng: distances(network, rng, sources), "distances")

    def triangles(self, measure: Callable[..., Estimate], what: str) -> tuple[Estimate, Estimate]:
        """A measure of triangles: exact, and of samples where either network is large."""
        if max(self.before.size, self.after.size) > LARGE:
            return self.both(measure, what)
        return measure(self.before), measure(self.after)

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
    return _estimated(*c.triangles(clustering, "clustering"), closeness, "nodes")


def transitivity(c: NetworkComparison) -> Values:
    """Share of closed triples."""
    return _estimated(*c.triangles(closed_triples, "triples"), closeness, "edges")


def harmonic_distance(c: NetworkComparison) -> Values:
    """Harmonic mean distance."""
    before, after = c.distances
    return _estimated(before.harmonic, after.harmonic, closeness, "sources")


def effective_diameter(c: NetworkComparison) -> Values:
    """Distance of 90 % of connected pairs."""
    before, after = c.distances
    return _estimated(before.effective_diameter, after.effective_diameter, closeness, "sources")


def _estimated(
    before: Estimate, after: Estimate, score: Callable[[float, float], float], drawn_from: str
) -> Values:
    """Both values and the score, and what their samples leave open.

    Args:
        before: of the original.
        after: of the published network.
        score: of both values; it depends on their quotient alone.
        drawn_from: what was drawn, in a word.
    """
    values = before.value, after.value, score(before.value, after.value)
    sampled = [part for part in (before, after) if part.sampled]
    if not sampled:
        return *values, (0.0, 0.0), ""
    counts = sorted({len(part.pulls) for part in sampled})
    method = f"estimated from {' and '.join(f'{count:,}' for count in counts)} {drawn_from}"
    errors = before.error, after.error
    return *values, errors, method, (before.interval, after.interval, _score_interval(before, after, score))


def _score_interval(before: Estimate, after: Estimate, score: Callable[[float, float], float]) -> Interval:
    """Of the score, from that of the quotient: the highest score is 1, which equal values have."""
    if not before.value or not np.isfinite((before.value, after.value)).all():
        return 0.0, 1.0
    low, high = ratio(after, before).interval
    ends = score(1.0, low), score(1.0, high)
    return min(ends), 1.0 if low <= 1 <= high else max(ends)


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
    starts = one, other[other < c.before.nodes]
    reached = spreads(c.before, starts, c.rng("cascades"), affordable_runs(c.before))
    first, second = (
        Estimate(mean, runs - mean) for runs, mean in zip(reached, reached.mean(axis=1).tolist(), strict=True)
    )
    return _estimated(first, second, lambda before, after: min(1.0, after / before), "cascades")


def _few(c: NetworkComparison) -> int:
    """One in a hundred of the original's nodes, at least one."""
    return int(np.ceil(TOP * c.before.nodes))


def _priority(c: NetworkComparison) -> Floats:
    """Random numbers that decide between equal nodes; those of the original's nodes do not depend on added ones."""
    return c.rng("priority").random(max(c.before.nodes, c.after.nodes))
