"""Users' reports of how many neighbours they have in groups: what one edge and one list change, and the noise."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from gaudit.errors import InputError
from gaudit.graphs.network import Network
from gaudit.mechanisms.exact_noise import discrete_laplace_pmf
from gaudit.mechanisms.group_reports import group_report, neighbours_in, report_scale, report_sensitivity
from support import every_network as every


def test_counts_are_those_of_a_hand():
    rng = np.random.default_rng(0)
    for _ in range(30):
        network, groups = every.random_network(rng, 8), rng.permutation(np.arange(8) % 3)
        matrix = network.adjacency.toarray()
        expected = [[matrix[u, groups == kind].sum() for kind in range(3)] for u in range(8)]
        assert neighbours_in(network, groups).tolist() == expected


@pytest.mark.parametrize("kinds", [1, 2, 3])
def test_an_edge_changes_two_numbers_by_1_and_one_list_one_of_them(kinds):
    for nodes in range(3, 6):
        groups = np.arange(nodes) % kinds
        values = np.array([neighbours_in(network, groups) for network in every.labelled(nodes)])
        for other in every.one_edge_away(len(values)):
            change = np.abs(values - values[other]).sum(axis=2)  # of each user's report
            assert (change.sum(axis=1) == report_sensitivity()).all()
            assert (change.max(axis=1) == 1).all()


def test_noise_protects_an_edge_at_epsilon_and_a_list_at_half_of_it():
    """The log-ratio of any output is at most the L1 distance over the scale; chi-square of the noise itself."""
    assert report_sensitivity() / report_scale(Fraction(3, 10)) == Fraction(3, 10)
    assert 1 / report_scale(Fraction(3, 10)) == Fraction(3, 20)
    rng, empty = np.random.default_rng(2), Network.from_edges(20, [], [])
    cells = np.concatenate([group_report(empty, np.arange(20) % 4, 2, rng).values.ravel() for _ in range(80)])
    values = np.arange(-6, 7)
    expected = discrete_laplace_pmf(Fraction(1), values)
    counted = np.array([(cells == value).sum() for value in values])
    shares = np.append(expected, 1 - expected.sum()) * cells.size
    assert chisquare(np.append(counted, cells.size - counted.sum()), shares).pvalue > 1e-6


def test_the_guarantee_states_both_units():
    released = group_report(Network.from_edges(4, [0], [1]), np.zeros(4, dtype=int), 0.5, np.random.default_rng(0))
    assert (released.guarantee.unit, released.guarantee.model) == ("edge", "local")
    assert released.guarantee.epsilon == Fraction(1, 2)
    assert "one user's list is protected at epsilon / 2 = 0.25" in released.guarantee.accountant
    assert released.values.shape == (4, 1)


@pytest.mark.parametrize(("nodes", "epsilon", "said"), [(4, 0, "epsilon is 0"), (1, 1, "1 nodes")])
def test_bad_input_is_one_line(nodes, epsilon, said):
    with pytest.raises(InputError, match=said) as caught:
        group_report(Network.from_edges(nodes, [], []), np.zeros(nodes, dtype=int), epsilon)
    assert "\n" not in str(caught.value)
