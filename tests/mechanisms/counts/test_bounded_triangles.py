"""Triangles for nodes: what one node changes, by brute force; what the bound leaves as it is; what the noise is."""

from fractions import Fraction
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import OptimizeResult
from scipy.stats import chisquare

from gaudit.errors import InputError
from gaudit.mechanisms.counts.bounded_triangles import (
    STEPS,
    bounded_triangles,
    triangle_extension,
    triangle_extension_sensitivity,
)
from gaudit.mechanisms.exact_noise import discrete_laplace_pmf
from support import every_network as every

NEAR = 1 / (2 * STEPS)
BOUNDS = (2, 3, 4)


def triangles_of(network):
    """By another program."""
    graph = nx.Graph(network.edges.T.tolist())
    return sum(nx.triangles(graph).values()) // 3


def checked_against_every_node(network, bound):
    """The changes by each node that goes; the value itself is checked where the bound does nothing."""
    here = triangle_extension(network, bound)
    assert here <= triangles_of(network) + NEAR
    if network.degrees.max(initial=0) <= bound:
        assert here == triangles_of(network)
    return [here - triangle_extension(every.without(network, node), bound) for node in range(network.nodes)]


@pytest.mark.parametrize("bound", BOUNDS)
def test_one_node_changes_it_by_the_sensitivity_at_most_and_reaches_it(bound):
    """All networks of 1 to 5 nodes up to their names, without each node; it is reached."""
    changes = [c for n in range(1, 6) for net in every.atlas(n) for c in checked_against_every_node(net, bound)]
    assert min(changes) > -NEAR
    assert max(changes) == pytest.approx(triangle_extension_sensitivity(bound), abs=NEAR)


def test_names_of_nodes_do_not_matter_in_any_network_of_four():
    by_shape = {}
    for network in every.labelled(4):
        shape = tuple(sorted(network.degrees.tolist()))  # tells shapes of 4 nodes apart
        by_shape.setdefault(shape, []).append(triangle_extension(network, 2))
    assert len(by_shape) == 11
    assert all(max(values) - min(values) < NEAR for values in by_shape.values())


@pytest.mark.parametrize("bound", BOUNDS)
def test_larger_networks_change_no_more(bound):
    """Random ones of 6 to 8 nodes, in which the bound weighs."""
    rng = np.random.default_rng(bound)
    for nodes in rng.integers(6, 9, 8).tolist():
        changes = checked_against_every_node(every.random_network(rng, nodes, hubs=2), bound)
        assert min(changes) > -NEAR
        assert max(changes) < triangle_extension_sensitivity(bound) + NEAR


def test_values_that_are_known():
    """Among n nodes that are all linked each node's limit is reached: n D (D - 1) / 6."""
    for nodes, bound in ((6, 3), (8, 4), (30, 8)):
        complete = every.network_of(nodes, combinations(range(nodes), 2))
        assert triangle_extension(complete, bound) == pytest.approx(nodes * bound * (bound - 1) / 6, abs=NEAR)


def test_the_noise_has_the_scale_that_the_sensitivity_asks_for():
    """Chi-square of releases in cells of a third of the scale; false alarm 1e-6."""
    triangle, bound, draws = every.network_of(3, [(0, 1), (0, 2), (1, 2)]), 3, 3000
    rng, sensitivity = np.random.default_rng(0), 3 * STEPS + 2
    drawn = [bounded_triangles(triangle, 2, bound, rng).values for _ in range(draws)]
    noise = np.rint((np.array(drawn) - 1) * STEPS).astype(int)
    edges = np.arange(-9, 10) * 500
    law = discrete_laplace_pmf(Fraction(sensitivity, 2), np.arange(-4500, 4500))
    hits = np.histogram(noise, edges)[0]
    cells = law.reshape(-1, 500).sum(1)
    assert chisquare(np.append(hits, draws - hits.sum()), np.append(cells, 1 - cells.sum()) * draws).pvalue > 1e-6


def test_nothing_but_the_value_depends_on_the_network():
    empty, full = every.network_of(0, []), every.network_of(7, combinations(range(7), 2))
    one, two = (bounded_triangles(network, 1, 3, np.random.default_rng(0)) for network in (empty, full))
    assert (one.notes, one.guarantee, one.sensitivity) == (two.notes, two.guarantee, two.sensitivity)
    assert (one.guarantee.unit, one.guarantee.adjacency) == ("node", "add/remove")


@pytest.mark.parametrize("wrong", ["stopped", "rough"])
def test_a_programme_that_is_not_solved_ends_in_one_line(monkeypatch, wrong):
    """The solver gives up, or gives prices that prove nothing."""
    result = OptimizeResult(status=1, message="Time limit\nreached", x=None)
    if wrong == "rough":
        nothing = OptimizeResult(marginals=np.zeros(6))
        result = OptimizeResult(status=0, message="Optimal", x=np.zeros(20), ineqlin=nothing)
    monkeypatch.setattr("scipy.optimize.linprog", lambda *args, **kwargs: result)
    full = every.network_of(6, combinations(range(6), 2))
    with pytest.raises(
        InputError, match=r"^the linear programme of 20 triangles is not solved[^\n]*larger degree bound$"
    ):
        bounded_triangles(full, 1, 3)


@pytest.mark.parametrize(
    ("epsilon", "bound", "said"),
    [(0, 3, "epsilon is 0"), (1, 1, "degree bound is 1: expected a whole number of 2 or more")],
)
def test_bad_input_is_one_line(epsilon, bound, said):
    with pytest.raises(InputError, match=said):
        bounded_triangles(every.network_of(3, [(0, 1)]), epsilon, bound)
