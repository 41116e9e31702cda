"""Edges by the degrees of their ends, private in edges: the sensitivity by brute force, for every bound."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from gaudit.audit.claims.count_claims import JointDegrees
from gaudit.errors import InputError
from gaudit.graphs.network import Network
from gaudit.mechanisms.exact_noise import discrete_laplace_pmf
from gaudit.mechanisms.joint_degrees import joint_degree_counts, joint_degree_counts_sensitivity, joint_degrees
from support import every_network as every


def test_counts_are_those_of_a_hand():
    rng = np.random.default_rng(0)
    for network in [*every.atlas(5), *(every.random_network(rng, 9, 2) for _ in range(20))]:
        for bound in (1, 2, 3, 20):
            top = min(bound, network.nodes - 1)
            found = joint_degree_counts(network, bound)
            assert found.shape == (top, top)
            by_hand = Counter(
                tuple(sorted(min(int(network.degrees[end]), top) for end in edge)) for edge in network.edges.T
            )
            assert {(a + 1, b + 1): found[a, b] for a, b in np.argwhere(found).tolist()} == by_hand


@pytest.mark.parametrize("bound", [1, 2, 3, 4, 5])
def test_sensitivity_holds_on_all_networks_for_every_bound(bound):
    """All networks of up to 5 nodes and all shapes of 6, their degrees below the bound or above it."""
    sensitivity = joint_degree_counts_sensitivity(bound)
    for nodes in range(2, 6):
        values = np.array([joint_degree_counts(network, bound).ravel() for network in every.labelled(nodes)])
        changes = [np.abs(values - values[other]).sum(axis=1).max() for other in every.one_edge_away(len(values))]
        assert max(changes) <= joint_degree_counts_sensitivity(min(bound, nodes - 1)) <= sensitivity
    for network in every.atlas(6):
        here = joint_degree_counts(network, bound)
        assert (
            max(np.abs(here - joint_degree_counts(n, bound)).sum() for n in every.flipped(network)) <= sensitivity
        )


@pytest.mark.parametrize("bound", [2, 3, 6, 20])
def test_sensitivity_is_reached_where_two_hubs_below_the_bound_are_linked(bound):
    less, more = JointDegrees(bound=bound).inputs()
    change = np.abs(joint_degree_counts(more, bound) - joint_degree_counts(less, bound)).sum()
    assert change == joint_degree_counts_sensitivity(bound) == 4 * bound - 3


def test_a_bound_from_the_network_itself_would_change_the_table():
    """Why the bound is public: the largest degree is not the same for neighbours."""
    ring = Network.from_edges(5, range(5), np.roll(range(5), 1))
    assert joint_degree_counts(ring, 2).sum() == joint_degree_counts(ring, 4).sum() == 5
    star = Network.from_edges(5, [0] * 4, range(1, 5))
    assert joint_degree_counts(star, 2).tolist() == [[0, 4], [0, 0]]  # nothing is left out above the bound


def test_random_networks_far_above_the_bound_change_no_more():
    rng = np.random.default_rng(1)
    for _ in range(60):
        network = every.random_network(rng, 12, 2)
        for bound in (2, 4, 8):
            here = joint_degree_counts(network, bound)
            worst = max(np.abs(here - joint_degree_counts(n, bound)).sum() for n in every.flipped(network))
            assert worst <= joint_degree_counts_sensitivity(bound)


def test_every_cell_gets_noise_of_the_scale_that_the_sensitivity_asks_for():
    """Chi-square of all 10 cells of 600 releases of a network without edges; false alarm 1e-6."""
    empty, rng, upper = Network.from_edges(40, [], []), np.random.default_rng(0), np.triu_indices(4)
    drawn = np.array([joint_degrees(empty, 13, 4, rng).values for _ in range(600)])
    assert (np.tril(drawn, -1) == 0).all()
    cells = drawn[:, upper[0], upper[1]]
    assert (cells != 0).any(axis=0).all()
    values = np.arange(-4, 5)
    expected = discrete_laplace_pmf(Fraction(1), values)  # (4 x 4 - 3) / 13
    counted = np.array([(cells == value).sum() for value in values])
    shares = np.append(expected, 1 - expected.sum()) * cells.size
    assert chisquare(np.append(counted, cells.size - counted.sum()), shares).pvalue > 1e-6


def test_what_is_said_is_the_same_for_neighbours():
    star, empty = Network.from_edges(6, [0] * 5, range(1, 6)), Network.from_edges(6, [], [])
    one, other = (joint_degrees(n, 0.1, 2, np.random.default_rng(0)) for n in (star, empty))
    assert (one.notes, one.guarantee, one.sensitivity) == (other.notes, other.guarantee, other.sensitivity)
    assert one.sensitivity == 5
    assert (one.guarantee.unit, one.guarantee.epsilon) == ("edge", Fraction(1, 10))
    assert "the degree bound 2" in one.guarantee.public


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: joint_degrees(Network.from_edges(4, [], []), 0, 2), "epsilon is 0"),
        (lambda: joint_degrees(Network.from_edges(4, [], []), 1, 0), "degree bound is 0"),
        (lambda: joint_degrees(Network.from_edges(1, [], []), 1, 2), "1 nodes"),
    ],
)
def test_bad_input_is_one_line(call, said):
    with pytest.raises(InputError, match=said) as caught:
        call()
    assert "\n" not in str(caught.value)
