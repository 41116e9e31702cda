"""What noise keeps, mechanism by mechanism, against probabilities that are added up here outcome by outcome."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaudit.audit.lint.claim_statement import Noise
from gaudit.audit.lint.noise_accounts import ACCOUNTS, account, failure_of_test


def noise(mechanism, **facts):
    return Noise.checked("noise", {"name": "it", "mechanism": mechanism, **facts})


def delta_at(epsilon, here, there):
    """What one law has beyond e^epsilon times the other, in the worse direction."""
    one, two = np.asarray(here), np.asarray(there)
    rise = math.exp(epsilon)
    return max(np.maximum(one - rise * two, 0).sum(), np.maximum(two - rise * one, 0).sum())


def is_exact(kept, delta, laws, share=1e-3):
    """That the sound epsilon keeps its delta on all pairs of laws, and none that is clearly smaller does on one."""
    epsilon = kept.sound(delta)
    assert epsilon == pytest.approx(kept.least(delta), rel=1e-6, abs=1e-9)
    assert all(delta_at(epsilon + 1e-9, *pair) <= delta * (1 + 1e-4) + 1e-13 for pair in laws)
    if epsilon > 1e-6:
        assert any(delta_at(epsilon * (1 - share), *pair) > delta for pair in laws)


def discrete_gaussian(deviation, reach=40):
    at = np.arange(-reach, reach + 1)
    weights = np.exp(-(at**2) / (2 * deviation**2))
    return weights / weights.sum()


def discrete_laplace(scale, reach=400):
    return math.tanh(1 / (2 * scale)) * np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale)


def moved(law, shift):
    return np.concatenate([np.zeros(shift), law]), np.concatenate([law, np.zeros(shift)])


@pytest.mark.parametrize("delta", [1e-9, 1e-5, 1e-2])
@pytest.mark.parametrize(("scale", "sensitivity"), [(1.0, 1), (0.6, 1), (2.5, 3)])
def test_discrete_gaussian_of_one_number(scale, sensitivity, delta):
    stated = noise("discrete-gaussian", scale=scale, sensitivity=sensitivity, norm="any")
    is_exact(account(stated), delta, [moved(discrete_gaussian(scale), sensitivity)])


def test_discrete_gaussian_on_a_grid_is_that_of_whole_numbers():
    fine = noise("discrete-gaussian", scale=0.1, sensitivity=0.1, norm="any", grid=0.1)
    coarse = noise("discrete-gaussian", scale=1, sensitivity=1, norm="any")
    assert account(fine).sound(1e-5) == pytest.approx(account(coarse).sound(1e-5))
    between = noise("discrete-gaussian", scale=1, sensitivity=1.9, norm="any", grid=1)  # whole numbers move by 1
    assert account(between).sound(1e-5) == account(coarse).sound(1e-5)


@pytest.mark.parametrize(("deviation", "delta"), [(0.8, 1e-5), (1.5, 1e-6), (3.0, 1e-4)])
def test_discrete_gaussian_of_two_numbers_lies_between_what_is_proven_and_refuted(deviation, delta):
    """An edge in both directions: each of two sums moves by 1, the L2 norm of the change is the root of 2."""
    stated = noise("discrete-gaussian", scale=deviation, sensitivity=math.sqrt(2), norm="L2")
    here, there = moved(discrete_gaussian(deviation), 1)
    both = np.outer(here, here).ravel(), np.outer(there, there).ravel()
    kept = account(stated)
    assert delta_at(kept.sound(delta), *both) <= delta
    assert delta_at(kept.least(delta) * 0.999, *both) > delta
    assert delta_at(kept.least(delta) * 1.01, *both) < delta


@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.05])
@pytest.mark.parametrize(("scale", "sensitivity"), [(1.0, 1), (0.3, 1), (4.0, 3), (2.0, 7)])
def test_discrete_laplace_of_one_number(scale, sensitivity, delta):
    stated = noise("discrete-laplace", scale=scale, sensitivity=sensitivity, norm="any")
    is_exact(account(stated), delta, [moved(discrete_laplace(scale), sensitivity)])


@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.01, 0.2])
@pytest.mark.parametrize(("scale", "sensitivity"), [(1.0, 1.0), (0.2, 1.0), (30.0, 2.5)])
def test_laplace_noise_of_one_number(scale, sensitivity, delta):
    """Cells of a fine grid; what the ends hold is added to them."""
    stated = noise("laplace", scale=scale, sensitivity=sensitivity, norm="any")
    edges = np.linspace(0, sensitivity, 20_001)

    def law(middle):
        below = np.where(edges < middle, np.exp(-np.abs(edges - middle) / scale) / 2, 0)
        below = np.where(edges >= middle, 1 - np.exp(-np.abs(edges - middle) / scale) / 2, below)
        return np.diff(np.concatenate([[0.0], below, [1.0]]))

    is_exact(account(stated), delta, [(law(0.0), law(sensitivity))], share=0.01)


@pytest.mark.parametrize("delta", [0.0, 1e-4, 0.05])
@pytest.mark.parametrize(("choices", "truthful"), [(2, 0.9), (3, 0.5), (10, 0.6), (4, 0.1)])
def test_answers_with_several_choices(choices, truthful, delta):
    laws = np.full((choices, choices), (1 - truthful) / (choices - 1))
    np.fill_diagonal(laws, truthful)
    stated = noise("k-ary-response", sensitivity=1, truthful=truthful, choices=choices)
    is_exact(account(stated), delta, list(itertools.combinations(laws, 2)))


def test_the_formula_of_k_ary_response():
    epsilon, choices = 1.3, 7
    truthful = math.exp(epsilon) / (math.exp(epsilon) + choices - 1)
    stated = noise("k-ary-response", sensitivity=1, truthful=truthful, choices=choices)
    assert account(stated).sound(0.0) == pytest.approx(epsilon)


@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.1])
def test_two_answers_that_change_together(delta):
    one, two = np.array([0.7, 0.1, 0.1, 0.1]), np.array([0.1, 0.7, 0.1, 0.1])
    laws = [(np.outer(one, one).ravel(), np.outer(two, two).ravel())]
    kept = account(noise("k-ary-response", sensitivity=2, truthful=0.7, choices=4))
    assert delta_at(kept.sound(delta) + 1e-9, *laws[0]) <= delta
    least = kept.least(delta)
    assert delta_at(least * 0.99, *laws[0]) > delta
    assert delta_at(least + 0.01, *laws[0]) <= delta + 1e-12


def permuted_and_flipped(scores, scale):
    """Chances of each choice: every order is tried, and each choice is taken with its coin (Algorithm 1)."""
    coins = np.exp((np.array(scores) - max(scores)) / scale)
    chances = np.zeros(len(scores))
    for order in itertools.permutations(range(len(scores))):
        left = 1.0
        for choice in order:
            chances[choice] += left * coins[choice]
            left *= 1 - coins[choice]
    return chances / math.factorial(len(scores))


def exponential(scores, scale):
    weights = np.exp((np.array(scores) - max(scores)) / scale)
    return weights / weights.sum()


CHOOSE = {"permute-and-flip": permuted_and_flipped, "exponential": exponential}


@pytest.mark.parametrize("mechanism", CHOOSE)
@pytest.mark.parametrize("monotone", [False, True])
@settings(max_examples=60)
@given(
    scores=st.lists(st.integers(-6, 6), min_size=2, max_size=4),
    moves=st.lists(st.sampled_from([-1, 0, 1]), min_size=4, max_size=4),
    scale=st.sampled_from([0.4, 1.0, 3.0]),
    delta=st.sampled_from([0.0, 1e-3, 0.05]),
)
def test_choices_keep_their_epsilon_on_all_scores(mechanism, monotone, scores, moves, scale, delta):
    moves = [abs(move) if monotone else move for move in moves[: len(scores)]]
    here = CHOOSE[mechanism](scores, scale)
    there = CHOOSE[mechanism]([score + move for score, move in zip(scores, moves, strict=True)], scale)
    kept = account(noise(mechanism, sensitivity=1, scale=scale, monotone=monotone))
    assert delta_at(kept.sound(delta) + 1e-9, here, there) <= delta + 1e-12


@pytest.mark.parametrize("mechanism", CHOOSE)
@pytest.mark.parametrize(("monotone", "move"), [(False, 1), (True, 0)])
def test_choices_need_their_epsilon(mechanism, monotone, move):
    """The worse of two choices: with delta 0 far behind, with a larger one as far as is worst."""
    kept = account(noise(mechanism, sensitivity=1, scale=2.0, monotone=monotone))
    pairs = [
        (CHOOSE[mechanism]([gap / 4, 0], 2.0), CHOOSE[mechanism]([gap / 4 - move, 1], 2.0)) for gap in range(-8, 80)
    ]
    assert max(np.abs(np.log(here / there)).max() for here, there in pairs) == pytest.approx(
        kept.sound(0.0), rel=1e-3
    )
    for delta in (1e-3, 0.05):
        assert max(delta_at(kept.least(delta) * 0.99, *pair) for pair in pairs) > delta


def released_if_passed(distance, threshold, test_scale, value, scale, edges):
    """Law of propose-test-release: no release, or the value with Laplace noise, in cells."""
    gap = (threshold - distance) / test_scale
    passes = math.exp(-gap) / 2 if gap > 0 else 1 - math.exp(gap) / 2
    below = np.where(
        edges < value, np.exp(-np.abs(edges - value) / scale) / 2, 1 - np.exp(-np.abs(edges - value) / scale) / 2
    )
    return np.concatenate([[1 - passes], passes * np.diff(np.concatenate([[0.0], below, [1.0]]))])


@pytest.mark.parametrize(("test_scale", "threshold", "scale"), [(1.0, 8.0, 2.0), (0.5, 5.0, 1.0), (2.0, 9.5, 0.7)])
def test_propose_test_release(test_scale, threshold, scale):
    """Neighbours whose values are as far apart as the bound, at every distance; and others at distance 0."""
    stated = noise("propose-test-release", sensitivity=1, scale=scale, test_scale=test_scale, threshold=threshold)
    kept, failure = account(stated), failure_of_test(stated)
    edges = np.concatenate([np.linspace(-1, 2, 3001), np.linspace(900, 1100, 2001)])
    facts = {"threshold": threshold, "test_scale": test_scale, "scale": scale, "edges": edges}
    near = [
        (released_if_passed(d, value=0.0, **facts), released_if_passed(other, value=1.0, **facts))
        for d in range(14)
        for other in (d, d + 1, max(d - 1, 0))
    ]
    far = (released_if_passed(0, value=0.0, **facts), released_if_passed(0, value=1000.0, **facts))
    assert all(delta_at(kept.sound(failure) + 1e-9, *pair) <= failure * (1 + 1e-9) for pair in [*near, far])
    assert delta_at(kept.sound(failure) + 5, *far) == pytest.approx(failure, rel=1e-3)  # no smaller delta will do
    assert math.isinf(kept.sound(failure * 0.99))
    for delta in (failure, 5 * failure):
        assert max(delta_at(kept.least(delta) * 0.98, *pair) for pair in near) > delta


def test_a_test_without_noise_parts_two_neighbours():
    stated = noise("propose-test-release", sensitivity=1, scale=1, test_scale=0, threshold=3)
    assert math.isinf(account(stated).sound(0.5))


UNKNOWN = {
    "laplace": {"sensitivity": 1},
    "discrete-gaussian": {"scale": 1.0, "sensitivity": 0.3},
    "k-ary-response": {"sensitivity": 1, "truthful": 0.5},
    "exponential": {"scale": 1.0},
    "sparse-vector": {"sensitivity": 1, "threshold_scale": 1, "query_scale": 1, "positives": 2},
    "propose-test-release": {"sensitivity": 1, "scale": 1, "test_scale": 1},
    "smooth-sensitivity": {"scale": 1, "beta": 1, "law": "cauchy"},
    "other": {},
}


@pytest.mark.parametrize("mechanism", UNKNOWN)
def test_nothing_is_known_where_a_fact_is_missing(mechanism):
    assert account(noise(mechanism, **UNKNOWN[mechanism])) is None


SIZES = st.sampled_from([1e-6, 0.05, 0.3, 1, 1.4142, 3, 50, 1e6])


@settings(max_examples=60, deadline=None)
@given(
    mechanism=st.sampled_from(sorted(ACCOUNTS)),
    sizes=st.lists(SIZES, min_size=8, max_size=8),
    norm=st.sampled_from(["L1", "L2", "any"]),
    law=st.sampled_from(["laplace", "gaussian", "cauchy"]),
    delta=st.sampled_from([0.0, 1e-15, 1e-6, 0.1, 0.99]),
)
def test_nothing_is_both_proven_and_refuted(mechanism, sizes, norm, law, delta):
    names = ("scale", "beta", "query_scale", "threshold_scale", "value_scale", "test_scale", "threshold")
    answers = mechanism.endswith("response")
    facts = dict(zip(names, sizes, strict=False)) | {"sensitivity": 2 if answers else sizes[-1], "truthful": 0.7}
    stated = noise(mechanism, **facts, norm=norm, law=law, choices=2, positives=3, answers="new value")
    kept = account(stated)
    if kept is not None:
        assert 0 <= kept.least(delta) <= kept.sound(delta) * (1 + 1e-6) + 1e-9
