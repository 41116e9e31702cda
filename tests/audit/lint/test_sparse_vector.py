"""The sparse vector technique against integrals over the noise of its threshold."""

import itertools
import math

import numpy as np
import pytest

from gaudit.audit.lint.claim_statement import Noise
from gaudit.audit.lint.sparse_vector import sparse_vector_epsilon, sparse_vector_least

AT = np.linspace(-150, 150, 60_001)


def noise(**facts):
    right = {
        "sensitivity": 1,
        "threshold_scale": 2.0,
        "query_scale": 4.0,
        "positives": 1,
        "answers": "above or below",
    }
    return Noise.checked("noise", {"name": "it", "mechanism": "sparse-vector", **right, **facts})


def above(at, query, scale):
    """Chance that a query with Laplace noise is at least at a threshold."""
    gap = at - query
    return np.where(gap > 0, np.exp(-np.abs(gap) / scale) / 2, 1 - np.exp(-np.abs(gap) / scale) / 2)


def chance(queries, answers, threshold_scale, query_scale):
    """Of a sequence of answers, with one threshold for all of them."""
    law = np.exp(-np.abs(AT) / threshold_scale)
    law /= law.sum()
    for query, answer in zip(queries, answers, strict=True):
        up = above(AT, query, query_scale)
        law = law * (up if answer else 1 - up)
    return law.sum()


@pytest.mark.parametrize(("positives", "monotone"), [(1, False), (2, False), (2, True)])
def test_no_sequence_of_answers_tells_more_than_epsilon(positives, monotone):
    rng = np.random.default_rng(0)
    epsilon = sparse_vector_epsilon(noise(positives=positives, monotone=monotone))
    for _ in range(8):
        queries = rng.integers(-6, 7, 5)
        other = queries + (rng.integers(0, 2, 5) if monotone else rng.integers(-1, 2, 5))
        for answers in itertools.product([0, 1], repeat=5):
            if sum(answers) <= positives:
                here, there = chance(queries, answers, 2.0, 4.0), chance(other, answers, 2.0, 4.0)
                assert abs(math.log(here / there)) <= epsilon + 1e-6


@pytest.mark.parametrize(
    ("positives", "monotone", "threshold_scale", "query_scale"),
    [(1, False, 2.0, 4.0), (3, False, 2.5, 10.0), (3, True, 1.0, 3.0)],
)
def test_long_sequences_need_all_of_epsilon(positives, monotone, threshold_scale, query_scale):
    """So many answers below that the threshold must be high, then those above."""
    facts = {"positives": positives, "monotone": monotone}
    stated = noise(**facts, threshold_scale=threshold_scale, query_scale=query_scale)
    epsilon, many = sparse_vector_epsilon(stated), 300_000
    law = np.exp(-np.abs(AT) / threshold_scale)

    def told(raised, lowered):
        below = np.exp(many * np.log1p(-above(AT, raised, query_scale).clip(max=1 - 1e-16)))
        return (law * below * above(AT, -lowered, query_scale) ** positives).sum()

    found = math.log(told(0, 0) / told(1, 0 if monotone else 1))
    assert found == pytest.approx(epsilon, rel=0.01)


def test_epsilon_has_the_published_parts():
    """Lyu, Su and Li 2017: epsilon 0.4 for the threshold, 0.6 for three answers above, 0.3 for three values."""
    stated = {"positives": 3, "threshold_scale": 2.5, "query_scale": 10.0}
    assert sparse_vector_epsilon(noise(**stated)) == pytest.approx(1.0)
    assert sparse_vector_epsilon(noise(**stated, monotone=True)) == pytest.approx(0.7)
    assert sparse_vector_epsilon(noise(**stated, refreshed=True)) == pytest.approx(1.8)
    assert sparse_vector_epsilon(noise(**stated, answers="new value", value_scale=10.0)) == pytest.approx(1.3)
    assert sparse_vector_epsilon(noise(**stated), many=2) == pytest.approx(2.0)


BROKEN = {
    "no noise on queries": {"query_scale": 0},
    "no noise on the threshold": {"threshold_scale": 0},
    "any number of answers above": {"positives": "unlimited"},
    "the tested value": {"answers": "tested value"},
}


@pytest.mark.parametrize("variant", BROKEN)
def test_broken_variants_have_no_epsilon(variant):
    assert math.isinf(sparse_vector_epsilon(noise(**BROKEN[variant])))


def test_queries_without_noise_tell_two_inputs_apart():
    """Rising levels that alternate: the first answer above is an odd query on one, an even one on the other."""
    levels = np.arange(-120, 120)
    here = np.stack([levels, levels - 1], axis=1).ravel()
    there = np.stack([levels - 1, levels], axis=1).ravel()
    assert np.abs(here - there).max() == 1
    for threshold in np.random.default_rng(0).laplace(0, 5, 200):
        assert np.argmax(here >= threshold) % 2 == 0
        assert np.argmax(there >= threshold) % 2 == 1


@pytest.mark.parametrize("answers", [{}, {"answers": "new value", "value_scale": 4.0}])
@pytest.mark.parametrize("refreshed", [False, True])
def test_what_is_needed_at_a_delta_is_below_what_is_proven(answers, refreshed):
    stated = noise(positives=2, refreshed=refreshed, **answers)
    proven = sparse_vector_epsilon(stated)
    needed = [sparse_vector_least(stated, 1, delta) for delta in (1e-12, 1e-6, 1e-3)]
    assert proven >= needed[0] > needed[1] > needed[2] >= 0
    assert needed[0] > 0.7 * proven


@pytest.mark.parametrize("delta", [1e-9, 1e-4])
def test_an_event_is_too_likely_at_less_than_what_is_needed(delta):
    needed = sparse_vector_least(noise(), 1, delta)

    def told(run, raised, lowered):
        law = np.exp(-np.abs(AT) / 2.0)
        below = np.exp(run * np.log1p(-above(AT, raised, 4.0).clip(max=1 - 1e-16)))
        return (law * below * above(AT, -lowered, 4.0)).sum() / law.sum()

    runs = 2.0 ** np.arange(0, 31)
    assert max(told(run, 0, 0) - math.exp(needed * 0.99) * told(run, 1, 1) for run in runs) > delta
