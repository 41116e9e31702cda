"""Degrees of arcs: what one arc changes, by brute force over sets of arcs; what comes out; what the check tells."""

from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

from gaudit.audit.claims.near_inputs import near_inputs
from gaudit.errors import InputError
from gaudit.graphs.arcs import network_of_arcs
from gaudit.graphs.network import Network
from gaudit.mechanisms.counts import arc_degrees
from gaudit.mechanisms.counts.arc_degrees import (
    arc_degree_sequences,
    sorted_arc_degrees,
    sorted_arc_degrees_sensitivity,
)
from gaudit.mechanisms.counts.count_mechanisms import DirectedDegrees


def of_arcs(nodes, arcs):
    return network_of_arcs(nodes, np.array(sorted(arcs), dtype=np.int64).reshape(-1, 2).T)


def by_hand(nodes, arcs):
    return [sorted(sum(arc[end] == node for arc in arcs) for node in range(nodes)) for end in (0, 1)]


def worst_change(nodes, arcs):
    here = sorted_arc_degrees(of_arcs(nodes, arcs))
    assert here.tolist() == by_hand(nodes, arcs)
    return max((int(np.abs(here - by_hand(nodes, arcs - {arc})).sum()) for arc in arcs), default=0)


def test_sensitivity_one_arc_of_any_small_network_changes_it_by_two_at_most():
    """All 64 directed networks of three nodes, and random ones of five to seven."""
    every = list(permutations(range(3), 2))
    found = {
        worst_change(3, {arc for arc, there in zip(every, told, strict=True) if there})
        for told in product((0, 1), repeat=6)
    }
    rng = np.random.default_rng(0)
    for nodes in (5, 6, 7):
        for share in (0.2, 0.5, 0.8):
            arcs = {arc for arc in permutations(range(nodes), 2) if rng.random() < share}
            found.add(worst_change(nodes, arcs))
    assert max(found) == sorted_arc_degrees_sensitivity()


def test_noise_is_for_both_sequences_together_and_without_it_all_is_told(monkeypatch):
    asked, laplace = [], arc_degrees.discrete_laplace
    monkeypatch.setattr(
        arc_degrees, "discrete_laplace", lambda scale, *rest: asked.append(scale) or laplace(scale, *rest)
    )
    arcs = {(0, 1), (0, 2), (3, 0), (2, 3)}
    found = arc_degree_sequences(of_arcs(5, arcs), 0.5, np.random.default_rng(0))
    assert asked == [Fraction(2) / Fraction(1, 2)]
    assert found.guarantee.epsilon == Fraction(1, 2)
    exact = arc_degree_sequences(of_arcs(5, arcs), 1e5, np.random.default_rng(0))
    assert exact.values.tolist() == by_hand(5, arcs)
    noisy = np.asarray(found.values)
    assert (np.diff(noisy, axis=1) >= 0).all()
    assert noisy.min() >= 0
    assert noisy.max() <= 4


def test_edges_without_a_direction_are_two_arcs():
    assert sorted_arc_degrees(Network.from_edges(3, [0], [1])).tolist() == [[0, 1, 1], [0, 1, 1]]


def test_too_few_nodes_are_refused():
    with pytest.raises(InputError, match="2 or more nodes"):
        arc_degree_sequences(Network.from_edges(1, [], []), 1.0)


def test_a_search_makes_no_inputs_that_differ_in_an_edge_of_two_arcs():
    """These differ in two units, and would accuse it."""
    mechanism = DirectedDegrees()
    made = near_inputs(
        mechanism.inputs(), mechanism.guarantee, np.random.default_rng(0), lambda before, after: False, 20
    )
    for one, other in made:
        assert np.abs(sorted_arc_degrees(one) - sorted_arc_degrees(other)).sum() <= 2
