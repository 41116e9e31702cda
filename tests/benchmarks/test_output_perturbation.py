"""Output perturbation: its sensitivity and its noise, and audits that must not find more than its epsilon."""

import numpy as np
import pytest
import torch
from output_perturbation import GRADIENT, OutputPerturbation, aggregated_rows, hard_case
from scipy.stats import binom, gamma, kstest
from sklearn.linear_model import LogisticRegression

from gaudit.audit.statistics.epsilon import epsilon_lower_bound, one_run_epsilon
from gaudit.graphs.datasets.bundled import karate


def random_rows(rng, nodes=80, dimension=4):
    rows = rng.normal(size=(nodes, dimension))
    rows /= np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))
    return rows, rng.choice([-1, 1], size=nodes)


# --- the mechanism


def test_rows_are_means_over_node_and_neighbours_of_norm_one_at_most():
    x = torch.tensor([[3.0, 0.0], [0.0, 0.6], [0.3, 0.0]])
    rows = aggregated_rows(x, torch.tensor([[0, 1], [1, 0]]))
    length = np.hypot(1.5, 0.3)
    assert rows == pytest.approx(np.array([[1.5 / length, 0.3 / length]] * 2 + [[0.3, 0.0]]))
    directed = aggregated_rows(x, torch.tensor([[0], [1]]))  # from 0 to 1 only
    assert directed == pytest.approx(np.array([[1.0, 0.0], [1.5 / length, 0.3 / length], [0.3, 0.0]]))


def test_fit_is_the_minimiser_that_sklearn_finds():
    rows, labels = random_rows(np.random.default_rng(0))
    for regularisation in (0.1, 1.0, 20.0):
        ours = OutputPerturbation(1.0, regularisation).fit(rows, labels)
        other = LogisticRegression(C=1 / regularisation, fit_intercept=False, tol=1e-10, max_iter=10_000)
        assert ours == pytest.approx(other.fit(rows, labels).coef_[0], abs=1e-5)


def test_fit_converges_where_the_classes_are_separable_and_the_regularisation_small():
    rows = np.array([[1.0, 0.0], [-1.0, 0.0], [0.5, 0.1]])
    labels = np.array([1, -1, 1])
    mechanism = OutputPerturbation(1.0, 1e-3)
    weights = mechanism.fit(rows, labels)
    gradient = 1e-3 * weights - (labels / (1 + np.exp(labels * (rows @ weights)))) @ rows
    assert np.linalg.norm(gradient) <= GRADIENT
    assert mechanism.fit(rows[:0], labels[:0]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("regularisation", [0.05, 1.0])
def test_guarantee_one_term_moves_the_fit_by_less_than_the_sensitivity(regularisation):
    rng = np.random.default_rng(1)
    mechanism = OutputPerturbation(1.0, regularisation)
    for _ in range(10):
        rows, labels = random_rows(rng, nodes=12)
        whole = mechanism.fit(rows, labels)
        moves = [
            np.linalg.norm(whole - mechanism.fit(np.delete(rows, k, 0), np.delete(labels, k))) for k in range(12)
        ]
        assert 0 < max(moves) <= mechanism.sensitivity


def test_sensitivity_is_almost_reached_in_the_hard_case():
    graph, mechanism = hard_case(), OutputPerturbation(1.0)
    rows, labels = aggregated_rows(graph.x, graph.edge_index), graph.y.numpy()
    move = mechanism.fit(rows, labels) - mechanism.fit(rows[1:], labels[1:])
    assert 0.97 < np.linalg.norm(move) / mechanism.sensitivity <= 1
    assert np.linalg.norm(rows[1:], axis=1).max() < 0.006  # what pushes is short: the graph has averaged it away


def test_guarantee_the_noise_has_the_density_that_the_theorem_asks_for():
    mechanism = OutputPerturbation(2.0, 0.5)
    fit = np.array([1.0, -2.0, 3.0])
    noise = mechanism.release(fit, np.random.default_rng(2), 20_000) - fit
    length = np.linalg.norm(noise, axis=1)
    # density of the length: r^(d - 1) exp(-beta r), beta = epsilon Lambda
    assert kstest(length, gamma(3, scale=1 / (2.0 * 0.5)).cdf).pvalue > 0.001
    direction = noise / length[:, None]
    for axis in range(3):  # a coordinate of a uniform direction in three dimensions is uniform
        assert kstest(direction[:, axis], "uniform", args=(-1, 2)).pvalue > 0.001
    assert abs(np.corrcoef(length, direction[:, 0])[0, 1]) < 0.03


def test_guarantee_the_likelihood_ratio_never_exceeds_epsilon():
    rng = np.random.default_rng(3)
    mechanism = OutputPerturbation(1.5, 0.3)
    rows, labels = random_rows(rng)
    fits = mechanism.fit(rows, labels), mechanism.fit(rows[1:], labels[1:])
    released = mechanism.release(fits[0], rng, 10_000)
    ratio = mechanism.log_likelihood_ratio(released, *fits)
    assert np.abs(ratio).max() <= 1.5
    assert np.mean(ratio) > 0  # the truth is the likelier


def test_graph_and_settings_out_of_range_are_refused():
    with pytest.raises(ValueError, match="positive"):
        OutputPerturbation(0.0)
    with pytest.raises(ValueError, match="positive"):
        OutputPerturbation(1.0, -1.0)
    with pytest.raises(ValueError, match="-1 or 1"):
        OutputPerturbation(1.0).fit(np.zeros((2, 1)), np.array([0, 1]))
    with pytest.raises(ValueError, match="norm 1"):
        OutputPerturbation(1.0).fit(np.full((1, 1), 1.1), np.array([1]))
    with pytest.raises(ValueError, match="dimension of its own"):
        hard_case(3, 2)


# --- audits of it


def at_most(simulations):
    """Errors of a sound 95 % bound that are exceeded once in a thousand times."""
    return binom.ppf(0.999, simulations, 0.05)


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 3.0, 4.0])
def test_measured_epsilon_is_below_the_true_one_and_above_a_third_of_it(epsilon):
    graph, mechanism = hard_case(), OutputPerturbation(epsilon)
    rows, labels = aggregated_rows(graph.x, graph.edge_index), graph.y.numpy()
    fits = mechanism.fit(rows, labels), mechanism.fit(rows[1:], labels[1:])
    towards = (fits[0] - fits[1]) / np.linalg.norm(fits[0] - fits[1])
    rng, likelihood, projection = np.random.default_rng(4), [], []
    for seed in range(20):
        released = [mechanism.release(fit, rng, 4000) for fit in fits]
        ratios = [mechanism.log_likelihood_ratio(release, *fits) for release in released]
        likelihood.append(epsilon_lower_bound(*ratios, validity="valid", seed=seed).low)
        projection.append(epsilon_lower_bound(*(r @ towards for r in released), validity="valid", seed=seed).low)
    for bounds in (np.array(likelihood), np.array(projection)):
        assert np.sum(bounds > epsilon) <= at_most(20)
        assert bounds.min() >= epsilon / 3


@pytest.mark.parametrize(("epsilon", "informative"), [(1.0, 0.0), (4.0, 0.0), (64.0, 1.5)])
def test_one_run_with_many_canaries_is_below_the_true_epsilon(epsilon, informative):
    graph, mechanism = hard_case(30, 30, push=5.0, lean=0.05), OutputPerturbation(epsilon)
    rows, labels = aggregated_rows(graph.x, graph.edge_index), graph.y.numpy()
    rng, bounds = np.random.default_rng(5), []
    for _ in range(20):
        coins = rng.random(30) < 0.5
        kept = np.concatenate([coins, np.ones(len(rows) - 30, dtype=bool)])
        released = mechanism.release(mechanism.fit(rows[kept], labels[kept]), rng)[0]
        bounds.append(one_run_epsilon(coins, released, 8, 8, validity="valid").low)
    assert np.sum(np.array(bounds) > epsilon) <= at_most(20)
    assert np.mean(bounds) >= informative


def test_audit_of_a_mechanism_with_too_little_noise_finds_it_out():
    """Half the noise that the claim of epsilon 2 needs: the bound contradicts the claim."""
    graph, claimed, actual = hard_case(), OutputPerturbation(2.0), OutputPerturbation(4.0)
    rows, labels = aggregated_rows(graph.x, graph.edge_index), graph.y.numpy()
    fits = claimed.fit(rows, labels), claimed.fit(rows[1:], labels[1:])
    rng = np.random.default_rng(6)
    ratios = [claimed.log_likelihood_ratio(actual.release(fit, rng, 4000), *fits) for fit in fits]
    assert epsilon_lower_bound(*ratios, validity="valid").low > 2.0


def test_null_strong_noise_hides_a_node_of_a_bundled_graph():
    data = karate()
    rows, labels = aggregated_rows(data.x, data.edge_index), np.where(data.y.numpy() == data.y[0].item(), 1, -1)
    mechanism = OutputPerturbation(0.05)
    fits = mechanism.fit(rows, labels), mechanism.fit(rows[1:], labels[1:])
    rng = np.random.default_rng(7)
    ratios = [mechanism.log_likelihood_ratio(mechanism.release(fit, rng, 500), *fits) for fit in fits]
    assert epsilon_lower_bound(*ratios, validity="valid").low <= 0.05
