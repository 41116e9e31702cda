"""Epsilons recomputed from a statement: against Opacus, closed forms, integrals and enumeration."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opacus.accountants import RDPAccountant
from opacus.accountants.prv import PRVAccountant
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import hypergeom, laplace, norm

from gaudit.audit.lint.claim_accounts import (
    prv_epsilon,
    renyi_of_coupled,
    renyi_of_training,
    spent,
    unsampled_epsilon,
)
from gaudit.audit.lint.claim_composition import together
from gaudit.audit.lint.claim_sensitivity import clips_needed
from gaudit.audit.lint.claim_statement import Statement
from gaudit.mechanisms.gaussian import epsilon_of
from gaudit.mechanisms.renyi import (
    ORDERS,
    epsilon_of_renyi,
    renyi_of_laplace,
    renyi_of_pure,
    renyi_of_sampled,
    terms_of,
)
from support.claim_statements import RIGHT, changed, gaussian


def statement(name, **facts):
    return Statement.checked("a statement", changed(RIGHT[name](), **facts))


@pytest.mark.parametrize(
    ("rate", "multiplier", "steps", "delta"),
    [(0.01, 1.1, 1000, 1e-5), (0.05, 0.8, 200, 1e-6), (0.3, 4.0, 50, 1e-4), (1.0, 10.0, 100, 1e-5)],
)
def test_training_costs_what_opacus_says(rate, multiplier, steps, delta):
    facts = {"training__sample_rate": rate, "training__noise_multiplier": multiplier, "training__steps": steps}
    stated = statement("mlp", **facts)
    accountant = RDPAccountant()
    accountant.history = [(multiplier, rate, steps)]
    found = epsilon_of_renyi(renyi_of_training(stated.training[0], stated.claim), delta)
    assert found == pytest.approx(accountant.get_epsilon(delta), rel=1e-9)
    if rate == 1:
        assert prv_epsilon(stated.training[0], delta) == epsilon_of(math.sqrt(steps) / multiplier, delta)
        return
    numerical = PRVAccountant()
    numerical.history = [(multiplier, rate, steps)]
    assert prv_epsilon(stated.training[0], delta) == pytest.approx(numerical.get_epsilon(delta))
    assert prv_epsilon(stated.training[0], delta) < found


def test_prv_that_fails_says_nothing():
    stated = statement("mlp", training__noise_multiplier=0.05, training__steps=100_000)
    assert prv_epsilon(stated.training[0], 1e-5) is None


@given(distance=st.floats(0.05, 5), delta=st.floats(1e-9, 1e-3))
def test_renyi_never_promises_more_than_the_exact_gaussian(distance, delta):
    found, exact = epsilon_of_renyi(ORDERS * distance**2 / 2, delta), epsilon_of(distance, delta)
    assert exact <= found + 1e-9
    assert found <= 1.6 * exact + 0.6


@pytest.mark.parametrize("scale", [0.5, 1.0, 4.0])
def test_laplace_divergences_are_their_integrals(scale):
    one, other = laplace(0, scale), laplace(1, scale)
    for order in (1.5, 2.0, 8.0):

        def density(x, order=order):
            return math.exp(order * one.logpdf(x) + (1 - order) * other.logpdf(x))

        edges = (-60 * scale, 0, 1, 1 + 60 * scale)
        total = sum(quad(density, low, high)[0] for low, high in itertools.pairwise(edges))
        (index,) = np.flatnonzero(np.isclose(ORDERS, order))
        assert renyi_of_laplace(scale)[index] == pytest.approx(math.log(total) / (order - 1), rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_divergences_of_a_pure_epsilon_are_those_of_randomised_response(epsilon):
    true = math.exp(epsilon) / (1 + math.exp(epsilon))
    for order, found in zip(ORDERS[:100:10], renyi_of_pure(epsilon)[:100:10], strict=True):
        total = true**order * (1 - true) ** (1 - order) + (1 - true) ** order * true ** (1 - order)
        assert found == pytest.approx(min(epsilon, math.log(total) / (order - 1)))
    assert renyi_of_pure(epsilon).max() <= epsilon
    assert (renyi_of_laplace(1 / epsilon) <= renyi_of_pure(epsilon) + 1e-12).all()


def test_coupled_divergences_are_the_sum_over_all_batches():
    """Of 7 nodes 3 terms change, batches of 4: every batch enumerated."""
    clips, counted = 9.0, Counter(sum(i < 3 for i in batch) for batch in itertools.combinations(range(7), 4))
    for order, found in zip(ORDERS[:60:7], renyi_of_coupled(7, 3, 4, clips)[:60:7], strict=True):
        parts = [n * math.exp(order * (order - 1) * 2 * rho**2 / clips**2) for rho, n in counted.items()]
        assert found == pytest.approx(math.log(sum(parts) / 35) / (order - 1))


def test_coupled_divergences_of_full_batches_are_those_of_gaussian_noise():
    full = renyi_of_coupled(50, 6, 50, 24.0)  # all 6 terms, 12 clips, noise of 24: half a deviation
    np.testing.assert_allclose(full, ORDERS * 0.5**2 / 2)
    np.testing.assert_allclose(full, renyi_of_sampled(1.0, 2.0))


@pytest.mark.parametrize("order", [2.0, 5.0])
def test_coupled_divergences_bound_those_of_the_mixture(order):
    """The release itself is a mixture of normals over how many changed terms the batch has."""
    clips, law = 12.0, hypergeom(40, 6, 8)
    weights = law.pmf(np.arange(7))

    def density(x):
        mixed = logsumexp(np.log(weights) + norm.logpdf(x, 2 * np.arange(7), clips))
        return math.exp(order * mixed + (1 - order) * norm.logpdf(x, 0, clips))

    exact = math.log(quad(density, -150, 250, limit=400)[0]) / (order - 1)
    (index,) = np.flatnonzero(np.isclose(ORDERS, order))
    assert exact <= renyi_of_coupled(40, 6, 8, clips)[index]


def test_smaller_batches_and_fewer_terms_cost_less():
    whole, small = renyi_of_coupled(1000, 6, 500, 24.0), renyi_of_coupled(1000, 6, 50, 24.0)
    assert (small < whole).all()
    assert (renyi_of_coupled(1000, 3, 500, 24.0) < whole).all()


@given(bound=st.integers(1, 40), layers=st.integers(0, 4))
def test_occurrences_are_the_geometric_sum(bound, layers):
    closed = layers + 1 if bound == 1 else (bound ** (layers + 1) - 1) // (bound - 1)
    assert terms_of(bound, layers) == closed


def test_clips_that_noise_must_hide():
    def needed(name, **facts):
        stated = statement(name, **facts)
        return clips_needed(stated.training[0], stated.claim)

    assert needed("mlp") == 1
    assert needed("mlp", claim__adjacency="replace") == 2
    assert needed("mlp", training__clipping="per-tensor", training__tensors=9) == 3
    assert needed("mlp", training__example="edge") is None
    assert needed("mlp", training__example="edge", training__examples_per_unit=7) == 7
    assert needed("dp_gnn") == 12
    assert needed("dp_gnn", training__sampling="full batch") == 11
    assert needed("dp_gnn", training__layers=2) == 62
    assert needed("dp_gnn", training__layers=2, claim__unit="edge", claim__told="edge") == 24
    assert needed("dp_gnn", training__bound_on="read") is None
    assert needed("fedavg", training__exchanges=True) is None
    assert [needed(name) for name in ("fedavg", "graphs", "labels")] == [1, 1, 1]


def test_removing_a_node_changes_no_more_terms_than_reckoned():
    """Random graphs in which at most K nodes read any node: who reads it within r layers, counted."""
    rng = np.random.default_rng(0)
    most = 0
    for _ in range(200):
        nodes, bound, layers = 30, int(rng.integers(1, 4)), int(rng.integers(1, 4))
        reads = np.zeros((nodes, nodes), dtype=bool)  # reads[i, j]: i reads j
        for j in range(nodes):
            reads[rng.choice(np.delete(np.arange(nodes), j), bound, replace=False), j] = True
        reached = np.eye(nodes, dtype=bool)
        for _ in range(layers):
            reached |= reads @ reached
        assert reached.sum(0).max() <= terms_of(bound, layers)
        most = max(most, reached.sum(0).max() / terms_of(bound, layers))
    assert most == 1  # and so many there are


def test_compositions_of_equal_releases_have_their_closed_forms():
    stated = statement("laplace", noise__times=20, noise__scale=30.0, claim__delta=1e-6, claim__units=10)
    (part,) = [spent(release, stated) for release in stated.releases]
    ways = together([part], 1e-6)
    rho = 20 * 0.1**2 / 2
    assert ways["basic"] == pytest.approx(2.0)
    assert ways["zcdp"] == pytest.approx(rho + 2 * math.sqrt(rho * math.log(1e6)))
    assert ways["rdp"] <= ways["zcdp"]
    assert "gaussian" not in ways


def test_gaussian_releases_compose_exactly():
    stated = gaussian(1.0, 1e-5, 3.0, 6.0)
    stated = Statement.checked("a statement", changed(stated, noise__times=16))
    ways = together([spent(stated.noise[0], stated)], 1e-5)
    assert ways["gaussian"] == epsilon_of(2.0, 1e-5)
    assert ways["basic"] == pytest.approx(16 * epsilon_of(0.5, 1e-5 / 16))
    assert ways["gaussian"] < ways["rdp"] < ways["zcdp"]


def test_shuffled_epochs_count_once_each():
    shuffled = statement("mlp", training__sampling="shuffled").training[0]  # 1000 steps at 0.01: 10 epochs
    assert unsampled_epsilon(shuffled, 1e-5) == epsilon_of(math.sqrt(10) / 1.1, 1e-5)
    fixed = statement("mlp", training__sampling="fixed-size").training[0]
    assert unsampled_epsilon(fixed, 1e-5) == epsilon_of(2 * math.sqrt(1000) / 1.1, 1e-5)  # two clips a step
