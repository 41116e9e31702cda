"""Weights that are told in part: what is told of them is what the words say, and the noise has its law."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest, laplace

from gaudit.errors import InputError
from gaudit.graphs.network import Network
from gaudit.graphs.told_weights import ToldWeights
from support.random_networks import random_network

ERROR = 1e-6


def told(text: str, weights: list[float], seed: int = 0) -> np.ndarray:
    """What is told of the weights of a path of edges."""
    ends = np.arange(len(weights))
    network = Network.from_edges(len(weights) + 1, ends, ends + 1, np.array(weights, dtype=np.float64))
    changed = ToldWeights.read(text).of(network, np.random.default_rng(seed))
    assert np.array_equal(changed.edges, network.edges)
    assert changed.weights is not None
    return changed.weights


NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30)


@given(NUMBERS, st.sampled_from(["0.1", "0.25", "1", "3", "10", "1e3"]))
def test_rounded_weights_are_the_nearest_multiples(weights, step):
    for before, after in zip(weights, told(f"rounded:{step}", weights), strict=True):
        count = round(Fraction(after) / Fraction(step))
        assert after == float(count * Fraction(step))
        assert abs(Fraction(after) - Fraction(before)) <= Fraction(step) / 2 + Fraction(1, 10**9)


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=40), st.integers(1, 12), st.integers(0, 99))
def test_classes_have_equally_many_edges_in_the_order_of_weights(weights, classes, seed):
    """Each told weight is one of the file's, on m / B edges at least, and no lighter edge has a larger one."""
    if classes > len(weights):
        with pytest.raises(InputError, match="choose fewer classes"):
            told(f"binned:{classes}", weights, seed)
        return
    after = told(f"binned:{classes}", weights, seed)
    assert set(after) <= set(map(float, weights))
    assert min(Counter(after.tolist()).values()) >= len(weights) // classes
    order = np.argsort(weights, kind="stable")
    lowest = {value: min(after[np.array(weights) == value]) for value in set(weights)}
    highest = {value: max(after[np.array(weights) == value]) for value in set(weights)}
    for one, other in zip(np.array(weights)[order][:-1], np.array(weights)[order][1:], strict=True):
        if one < other:
            assert highest[one] <= lowest[other]


def test_noise_on_whole_weights_is_two_sided_geometric():
    """P(x) = (1 - a) / (1 + a) a^|x| with a = e^(-1/S)."""
    count, scale = 40_000, 2.5
    noise = told(f"noised:{scale}", [7.0] * count) - 7
    assert (noise == np.round(noise)).all()
    a, reach = np.exp(-1 / scale), 12
    law = (1 - a) / (1 + a) * a ** np.abs(np.arange(-reach, reach + 1))
    seen = [int((noise == x).sum()) for x in range(-reach, reach + 1)]
    rest = count - sum(seen)
    assert chisquare([*seen, rest], [*(count * law), count * (1 - law.sum())]).pvalue > ERROR


def test_noise_on_other_weights_is_laplace():
    noise = told("noised:2.5", [0.5] * 20_000) - 0.5
    assert kstest(noise, laplace(scale=2.5).cdf).pvalue > ERROR
    assert kstest(noise, laplace(scale=2.7).cdf).pvalue < ERROR  # the test would see another scale


def test_noise_is_drawn_anew():
    one, other, again = (told("noised:5", [0.5] * 50, seed) for seed in (0, 1, 0))
    assert not np.array_equal(one, other)
    assert np.array_equal(one, again)


@pytest.mark.parametrize(
    "text",
    ["", "rounded", "rounded:", "rounded:0", "rounded:-1", "rounded:nan", "binned:2.5", "round:3", "noised:1e99"],
)
def test_what_cannot_be_read_is_refused_in_one_line_that_shows_how_it_is_written(text):
    with pytest.raises(InputError, match=r"expected rounded:10 .* binned:3 .* noised:5") as refused:
        ToldWeights.read(text)
    assert "\n" not in str(refused.value)


def test_what_cannot_be_told_is_refused():
    with pytest.raises(InputError, match="edges have no weights here"):
        ToldWeights.read("rounded:1").of(random_network(9, 12, 0), np.random.default_rng(0))
    with pytest.raises(InputError, match="choose a larger step"):
        told("rounded:1e-9", [1e9])


def test_the_sentence_says_what_noise_does_not_promise():
    assert "no epsilon" in ToldWeights.read("noised:5").sentence
    assert "3 classes" in ToldWeights.read("binned:3").sentence
    assert "multiples of 0.5" in ToldWeights.read("rounded:0.5").sentence
