"""Triangles after a projection: what the projection is, three edges, the sensitivity on all small networks."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from gaudit.errors import InputError
from gaudit.mechanisms.counts.count_mechanisms import RestrictedTriangles
from gaudit.mechanisms.counts.restricted_triangles import (
    projected,
    restricted_triangles,
    restricted_triangles_sensitivity,
)
from gaudit.mechanisms.exact_noise import discrete_laplace
from gaudit.mechanisms.subgraph_counts import triangle_count
from support import every_network as every


def pairs(network) -> set[tuple[int, int]]:
    return set(map(tuple, network.edges.T.tolist()))


def by_hand(network, bound: int) -> set[tuple[int, int]]:
    """Edge by edge in the order of the pairs, with a count for each node of all its edges so far."""
    seen, kept = dict.fromkeys(range(network.nodes), 0), set()
    for low, high in sorted(pairs(network)):
        if seen[low] < bound and seen[high] < bound:
            kept.add((low, high))
        seen[low] += 1
        seen[high] += 1
    return kept


@pytest.mark.parametrize("bound", [2, 3])
def test_projections_of_neighbours_differ_in_three_edges_and_2_d_less_2_triangles_at_most(bound):
    """All labelled networks of five nodes; both bounds are compared with the largest changes there are."""
    networks = every.labelled(5)
    told = [projected(network, bound) for network in networks]
    assert all(pairs(after) == by_hand(before, bound) for before, after in zip(networks, told, strict=True))
    assert max(after.degrees.max() for after in told) <= bound
    kept = [pairs(after) for after in told]
    counts = np.array([triangle_count(after) for after in told])
    apart, moved = 0, 0
    for other in every.one_edge_away(len(networks)):
        apart = max(apart, *(len(kept[i] ^ kept[j]) for i, j in enumerate(other)))
        moved = max(moved, int(np.abs(counts - counts[other]).max()))
    assert apart == 3
    assert 1 <= moved <= restricted_triangles_sensitivity(bound)


@pytest.mark.parametrize("bound", [2, 3, 6])
def test_no_smaller_sensitivity_would_do(bound):
    """The inputs that `check-claim` tries differ in one edge, and by all of the sensitivity."""
    apart, linked = RestrictedTriangles(bound=bound).inputs()
    assert pairs(linked) - pairs(apart) == {(0, 1)}
    assert pairs(apart) < pairs(linked)
    before, after = (triangle_count(projected(network, bound)) for network in (apart, linked))
    assert before - after == restricted_triangles_sensitivity(bound)


def test_a_network_within_the_bound_is_left_as_it_is():
    network = every.network_of(5, [(0, 1), (1, 2), (0, 2), (3, 4)])
    assert pairs(projected(network, 2)) == pairs(network)
    assert pairs(projected(network, 2)) == {(0, 1), (1, 2), (0, 2), (3, 4)}


def test_the_release_is_the_projected_count_and_exact_noise():
    full = every.network_of(6, list(combinations(range(6), 2)))
    noise = discrete_laplace(Fraction(4) / Fraction(1, 2), 1, np.random.default_rng(3))[0]
    released = restricted_triangles(full, 0.5, 3, np.random.default_rng(3))
    assert released.values == triangle_count(projected(full, 3)) + noise
    assert (released.guarantee.unit, released.sensitivity) == ("edge", 4)


def test_what_it_cannot_do_is_refused():
    with pytest.raises(InputError, match="the degree bound"):
        restricted_triangles(every.network_of(3, [(0, 1)]), 1, 1)
    with pytest.raises(InputError, match="epsilon"):
        restricted_triangles(every.network_of(3, [(0, 1)]), 0, 3)
