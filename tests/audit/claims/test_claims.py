"""Claims of privacy: right mechanisms are not accused, wrong ones are refuted, bounds err as often as they say.

A check at 99.9 % accuses a mechanism that keeps its claim at most once in a thousand times. Each such test says how
many false alarms it may expect; seeds are fixed, so that it passes always or never.
"""

import json
import math
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, norm

from gaudit.audit.claims.claim_check import FEWEST, asked_claim, check_claim
from gaudit.audit.statistics.epsilon import gaussian_epsilon
from gaudit.errors import InputError
from gaudit.mechanisms.gaussian import delta_of, distance_of, epsilon_of
from gaudit.mechanisms.mechanism import Mechanism
from gaudit.mechanisms.statistics import DegreeSequence, Statistic
from gaudit.registry import find, registered
from support import every_network as every
from support.places import SUPPORT

FIXED = ("edge-free",)
"""Promise one epsilon alone, and are checked in the tests of their defense."""
OWN = (name for name, point in registered("mechanisms").items() if point.value.startswith("gaudit."))
RIGHT = [name for name in OWN if name not in FIXED]
BROKEN = sorted(path.stem for path in (SUPPORT / "broken").glob("*.py"))
TWICE = ["half_the_noise", "one_budget_spent_twice"]
"""Wrong ones that give away exactly twice what they claim; the others give away far more."""
SEEDS = 20
TRAINED = ("dp-mlp", "dp-gnn", "gap-edp", "gap-ndp", "dp-fedavg", "private-teacher")
"""Mechanisms that train, with Gaussian noise: 300 runs can show more than an epsilon of 4."""
DRAWN = ("dp-1k", "dp-2k", "privgraph", "private-windows", "k-triangles", "continual-degree-sequence")
SLOW = (*TRAINED, *DRAWN, "private-generator")
"""Mechanisms that train, or draw much exact noise: milliseconds for each run, so there are fewer runs and seeds."""
SHORT = {"private-generator": {"steps": 2}}
"""Settings with which a run is short; what is promised is the same."""


def broken(stem, **settings):
    """The wrong mechanism that a file defines."""
    module = import_module(f"support.broken.{stem}")
    classes = [k for k in vars(module).values() if isinstance(k, type) and k.__module__ == module.__name__]
    (kind,) = (k for k in classes if issubclass(k, Mechanism))
    return kind(**settings)


def right(name, **settings):
    return find("mechanisms", name)(**SHORT.get(name, {}) | settings)


# --- right ones


@pytest.mark.dear
@pytest.mark.parametrize("name", RIGHT)
def test_right_mechanism_is_not_refuted_at_any_epsilon(name):
    """Two checks of each, of which 0.002 may be expected to accuse: 0.08 in all for 41 mechanisms."""
    for epsilon, runs in ((1.0, 300), (4.0, 900)):  # as many as can show more than is claimed
        check = check_claim(right(name, epsilon=epsilon), 300 if name in TRAINED else runs, 0, level=0.999)
        assert float(check.guarantee.epsilon) == epsilon
        assert not check.refuted, check.sentence()
        assert "not refuted" in check.sentence()


@pytest.mark.dear
@pytest.mark.parametrize("name", RIGHT)
def test_right_mechanism_is_not_refuted_for_any_seed(name):
    """Twenty checks of each, ten of slow ones: 0.7 false alarms may be expected at most, of all 41 mechanisms."""
    mechanism = right(name, epsilon=1.0)
    runs, seeds = (FEWEST, SEEDS // 2) if name in SLOW else (100, SEEDS)
    refuted = [seed for seed in range(seeds) if check_claim(mechanism, runs, seed, level=0.999).refuted]
    assert not refuted


@pytest.mark.parametrize(
    ("name", "epsilon", "runs"),
    [
        ("edge-randomised-response", 0.5, 4000),
        ("edge-randomised-response", 1.0, 2000),
        ("edge-randomised-response", 2.0, 2000),
        ("edge-randomised-response", 4.0, 2000),
        ("gaussian-uploads", 4.0, 4000),
        ("degree-sequence", 4.0, 2000),
    ],
)
def test_most_of_what_is_promised_is_found_to_be_given_away(name, epsilon, runs):
    check = check_claim(right(name, epsilon=epsilon), runs, 0, level=0.999)
    assert 0.6 * epsilon <= check.measured.low <= epsilon
    assert check.measured.validity == "valid"


def blanked(network, node):
    """The network with a node that has no edge."""
    return network.only((network.edges != node).all(axis=0))


@pytest.mark.parametrize("name", RIGHT)
def test_promise_is_for_the_unit_in_which_inputs_differ(name):
    mechanism = right(name, epsilon=0.3)
    assert mechanism.guarantee.unit == mechanism.differ_in
    assert float(mechanism.guarantee.epsilon) == 0.3
    if isinstance(mechanism, Statistic):
        less, more = mechanism.inputs()
        gone = blanked if mechanism.differ_by == "zero-out" else every.without
        near = every.flipped(less) if mechanism.differ_in == "edge" else map(gone, [more] * 9, range(9))
        wanted = more if mechanism.differ_in == "edge" else less
        assert any(n.nodes == wanted.nodes and set(n.codes) == set(wanted.codes) for n in near)


# --- wrong ones


def test_eight_errors_are_planted():
    assert len(BROKEN) == 8
    assert all(broken(stem).guarantee.compares_with(broken(stem).differ_in) for stem in BROKEN)


@pytest.mark.dear
@pytest.mark.parametrize("stem", BROKEN)
def test_wrong_mechanism_is_refuted_for_every_seed(stem):
    mechanism = broken(stem, epsilon=1.0)
    assert float(mechanism.guarantee.epsilon) == 1.0
    runs = 1500 if stem in TWICE else 400 if mechanism.gaussian else 160  # 300 show whether scores are normal
    for seed in range(SEEDS):
        check = check_claim(mechanism, runs, seed, level=0.99)
        assert check.refuted, check.sentence()
        assert "refuted: epsilon is above" in check.sentence()


@pytest.mark.dear
@pytest.mark.parametrize("stem", TWICE)
def test_bound_exceeds_what_is_given_away_no_more_often_than_said(stem):
    """200 checks at 90 %: a sound one is wrong in more than 34 of them once in a thousand times."""
    mechanism = broken(stem, epsilon=0.5)
    wrong = sum(check_claim(mechanism, 400, seed, level=0.9).measured.low > 1.0 for seed in range(200))
    assert wrong <= binom.ppf(0.999, 200, 0.1)


# --- what is asked


def test_another_epsilon_may_be_claimed():
    made, promise = asked_claim("edge-randomised-response", {}, 4.0, 1.0)
    assert check_claim(made, 500, 0, level=0.99, claimed=promise).refuted
    made, promise = asked_claim("edge-randomised-response", {"epsilon": 4.0}, None, None)
    assert promise == made.guarantee
    assert not check_claim(made, 1000, 0, level=0.99, claimed=promise).refuted


def refusal(mechanism, runs=FEWEST, seed=0, **asked):
    with pytest.raises(InputError) as found:
        check_claim(mechanism, runs, seed, **asked)
    assert "\n" not in str(found.value)
    return str(found.value)


def test_claim_for_another_unit_is_refused():
    edges = right("degree-sequence")
    said = refusal(edges, claimed=replace(edges.guarantee, unit="node"))
    assert "one node" in said
    assert "one edge" in said
    nodes = right("edge-count")
    assert "one node" in refusal(nodes, claimed=edges.guarantee)


def test_what_cannot_be_checked_is_refused():
    assert str(FEWEST - 1) in refusal(right("ldp"), FEWEST - 1)
    for level in (0.0, 1.0, math.nan):
        for name in ("ldp", "gaussian-uploads"):
            assert "confidence" in refusal(right(name), level=level)
    assert "seed" in refusal(right("ldp"), seed=-1)


SCORES = {
    "NaN": (math.nan, "as NaN"),
    "nothing": (None, "as None"),
    "text": ("high", "of type str"),
    "several": (np.zeros(100), "100 numbers"),
    "none of them": ([], "0 numbers"),
}


@pytest.mark.parametrize("case", SCORES)
def test_score_that_is_not_one_number_is_refused_in_one_line(case):
    told, says = SCORES[case]

    class Unscored(DegreeSequence):
        name = "unscored"

        def score(self, released):
            return told

    said = refusal(Unscored())
    assert "'unscored'" in said
    assert says in said


def test_array_of_one_number_is_a_score():
    class InAnArray(DegreeSequence):
        name = "in-an-array"

        def score(self, released):
            return np.array([released.values.sum()])

    one, other = (check_claim(kind(epsilon=1.0), 100, 0).measured for kind in (InAnArray, DegreeSequence))
    assert one.low == other.low


@pytest.mark.parametrize("name", ["degree-sequence", "gaussian-uploads"])
def test_same_seed_same_bytes(name):
    one, again, other = (check_claim(right(name, epsilon=4.0), 500, seed).json() for seed in (3, 3, 4))
    assert one.encode() == again.encode()
    assert json.loads(one)["measured"] != json.loads(other)["measured"]
    assert json.loads(one)["claim"]["epsilon"] == 4.0


def test_progress_counts_all_runs():
    seen = []
    check_claim(right("ldp"), FEWEST, 0, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(run, 2 * FEWEST) for run in range(1, 2 * FEWEST + 1)]


# --- the bound for normal scores


@pytest.mark.parametrize("distance", [0.0, 0.5, 2.0])
def test_normal_bound_exceeds_epsilon_no_more_often_than_said(distance):
    """400 checks at 95 %: a sound one is wrong in more than 34 of them once in a thousand times."""
    rng, truth = np.random.default_rng(0), epsilon_of(distance, 1e-5)
    samples = ((rng.normal(distance, 1, 200), rng.normal(0, 1, 200)) for _ in range(400))
    wrong = sum(gaussian_epsilon(inside, outside, 1e-5).low > truth for inside, outside in samples)
    assert wrong <= binom.ppf(0.999, 400, 0.05)


@pytest.mark.parametrize("distance", [0.5, 2.0])
def test_normal_bound_comes_near_with_many_runs(distance):
    rng, truth = np.random.default_rng(0), epsilon_of(distance, 1e-5)
    low = [gaussian_epsilon(rng.normal(distance, 1, n), rng.normal(0, 1, n), 1e-5).low for n in (100, 200_000)]
    assert low[0] < low[1]
    assert 0.95 * truth < low[1] <= truth


def test_normal_bound_of_scores_that_lie_the_wrong_way_shows_nothing():
    rng = np.random.default_rng(0)
    assert gaussian_epsilon(rng.normal(-3, 1, 200), rng.normal(0, 1, 200), 1e-5).low == 0.0


# --- what Gaussian noise promises


@pytest.mark.parametrize("distance", [0.01, 0.3, 1.0, 3.0, 12.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 5.0])
def test_delta_is_the_integral_of_what_exceeds(distance, epsilon):
    border = (
        epsilon / distance + distance / 2
    )  # from here on the second density is more than e^epsilon times larger
    top = max(border, distance) + 12

    def excess(x):
        return norm.pdf(x - distance) - math.exp(epsilon) * norm.pdf(x)

    middle = max(border, distance)
    wanted = sum(quad(excess, *ends, epsabs=1e-14)[0] for ends in ((border, middle), (middle, top)))
    assert delta_of(distance, epsilon) == pytest.approx(wanted, abs=1e-10)


@pytest.mark.parametrize("distance", [1e-6, 0.1, 1.0, 5.0, 80.0])
def test_delta_at_epsilon_zero_is_the_total_variation(distance):
    assert delta_of(distance, 0.0) == pytest.approx(2 * norm.cdf(distance / 2) - 1, rel=1e-9)


@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.01])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 4.0, 30.0, 1000.0])
def test_epsilon_and_distance_undo_delta(epsilon, delta):
    distance = distance_of(epsilon, delta)
    assert delta_of(distance, epsilon) == pytest.approx(delta, rel=1e-6)
    assert epsilon_of(distance, delta) == pytest.approx(epsilon, rel=1e-6)
    assert delta_of(distance * 1.01, epsilon) > delta > delta_of(distance * 0.99, epsilon)


def test_nothing_is_given_away_without_a_distance():
    assert delta_of(0.0, 1.0) == epsilon_of(0.0, 1e-5) == 0.0
    assert epsilon_of(0.01, 0.5) == 0.0  # delta alone allows it


def test_huge_epsilons_do_not_overflow():
    assert delta_of(1.0, 1e6) == 0.0
    assert delta_of(100.0, 5000.0) == pytest.approx(0.5, abs=0.01)  # the border lies at the second mean
    # e^epsilon P(outside) vanishes beside P(inside) there: delta is nearly Phi(d / 2 - epsilon / d)
    assert epsilon_of(1000.0, 1e-5) == pytest.approx(1000 * (500 - norm.ppf(1e-5)), rel=1e-3)
    assert distance_of(1e6, 1e-5) == pytest.approx(math.sqrt(2e6) + norm.ppf(1e-5), rel=1e-3)


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 0.1), (-1, 0.1), (1e7, 0.1), (math.nan, 0.1), (1, 0), (1, 1)])
def test_promises_that_no_noise_makes_are_refused(epsilon, delta):
    with pytest.raises(InputError):
        distance_of(epsilon, delta)
    if not 0 < delta < 1:
        with pytest.raises(InputError):
            epsilon_of(1.0, delta)
