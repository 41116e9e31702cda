"""One noisy bit for some features: the exact ratio e^epsilon, no bias, and what comes back at a large epsilon."""

from itertools import combinations, product
from math import comb

import numpy as np
import pytest
import torch
from scipy.stats import chisquare, norm

from gaudit.audit.claims.claim_check import check_claim
from gaudit.audit.claims.feature_claims import OneBit
from gaudit.defenses.local_privacy.feature_response import OneBitFeatures, bit_chance
from gaudit.defenses.training.no_features import NoFeatures
from gaudit.errors import InputError
from gaudit.registry import find
from gaudit.targets.party import Client

LEVEL = 1e-3  # of every statistical test here; the seeds are fixed
CORNERS = (-1.0, -0.3, 0.0, 0.8, 1.0)


def client_of(x):
    x = torch.as_tensor(x, dtype=torch.float32)
    every, none = torch.ones(len(x), dtype=torch.bool), torch.empty((2, 0), dtype=torch.long)
    y, edges = torch.zeros(len(x), dtype=torch.long), torch.tensor([[0, 1], [1, 0]])
    return Client(0, torch.arange(len(x)), x, y, y, every, ~every, ~every, every, edges, none, 1)


def features_of(defense, x, seed=0):
    return defense.on_data(client_of(x), None, np.random.SeedSequence(seed), lambda kind, tensors: None).x


def law(place, many, epsilon):
    """Probability of each report of one node: which features were drawn, and the bit of each of them."""
    found = {}
    for chosen in combinations(range(len(place)), many):
        up = bit_chance(np.array([place[i] for i in chosen]), epsilon / many)
        for bits in product((0, 1), repeat=many):
            chance = np.prod([u if b else 1 - u for u, b in zip(up, bits, strict=True)])
            found[chosen, bits] = chance / comb(len(place), many)
    return found


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
@pytest.mark.parametrize("many", [1, 2, 3])
def test_guarantee_reports_of_any_two_nodes_differ_by_a_factor_of_e_to_the_epsilon(epsilon, many):
    """All reports of all nodes on a grid, by enumeration; the bound is reached, so less noise would not do."""
    laws = [law(place, many, epsilon) for place in product(CORNERS, repeat=3)]
    assert all(sum(found.values()) == pytest.approx(1) for found in laws)
    table = np.array([[found[report] for report in laws[0]] for found in laws])
    assert (table.max(0) / table.min(0)).max() == pytest.approx(np.exp(epsilon))


def test_guarantee_each_bit_has_its_part_of_epsilon():
    for epsilon in (0.1, 1.0, 4.0):
        up = bit_chance(np.array([-1.0, 1.0]), epsilon)
        assert up[1] / up[0] == pytest.approx(np.exp(epsilon))
        assert (1 - up[0]) / (1 - up[1]) == pytest.approx(np.exp(epsilon))


@pytest.mark.parametrize("many", [1, 2])
def test_guarantee_reports_follow_the_law(many):
    """20,000 equal nodes: which features were drawn, and the bits, by a chi-square test."""
    x, nodes = np.array([0.1, 0.5, 1.0]), 20_000
    defense = OneBitFeatures(epsilon=2.0, reports=many)
    found = features_of(defense, np.tile(x, (nodes, 1))).numpy()
    wanted = law(2 * x - 1, many, 2.0)
    seen = dict.fromkeys(wanted, 0)
    for row in found:
        chosen = tuple(np.flatnonzero(np.abs(row - 0.5) > 1e-3).tolist())
        seen[chosen, tuple((row[list(chosen)] > 0.5).astype(int).tolist())] += 1
    assert chisquare(list(seen.values()), [nodes * p for p in wanted.values()]).pvalue > LEVEL


@pytest.mark.parametrize("epsilon", [1.0, 6.0])
def test_reports_have_no_bias(epsilon):
    """Means of 40,000 nodes, each feature within the normal quantile of its own error."""
    x = np.array([-2.0, -1.0, 0.0, 2.5, 4.0])
    found = features_of(OneBitFeatures(epsilon=epsilon, low=-2, high=4), np.tile(x, (40_000, 1))).double().numpy()
    error = found.std(0) / 200
    assert (np.abs(found.mean(0) - x) <= norm.isf(LEVEL / 10) * error).all()
    exact = sum(p * np.array([2.0 * b - 1 for b in bits]).sum() for (_, bits), p in law([0.6], 1, epsilon).items())
    assert exact / np.tanh(epsilon / 2) == pytest.approx(0.6)


def test_planted_ends_of_the_range_come_back_at_a_huge_epsilon():
    x = (np.random.default_rng(0).random((50, 9)) < 0.3).astype(float)
    assert torch.equal(features_of(OneBitFeatures(epsilon=1e4), x), torch.from_numpy(x).float())


def test_values_outside_of_the_range_become_its_ends():
    x = [[-5.0, 7.0, np.nan, np.inf, -np.inf, 1.0]] * 2
    found = features_of(OneBitFeatures(epsilon=1e4), x)
    assert found.tolist() == [[0.0, 1.0, 0.0, 1.0, 0.0, 1.0]] * 2


@pytest.mark.parametrize(("epsilon", "reports"), [(0.1, 1), (4.3, 1), (4.4, 2), (9.0, 4), (1e9, 100)])
def test_as_many_features_are_reported_of_as_the_papers_say(epsilon, reports):
    found = features_of(OneBitFeatures(epsilon=epsilon), np.ones((30, 100)))
    assert ((found != 0.5).sum(1) == reports).all()


def test_trivial_alternative_reads_no_features_and_noise_tells_more():
    """At a moderate epsilon means over nodes of a class differ; without features they cannot."""
    assert find("defenses", "fewer-labels").trivial
    assert OneBitFeatures.alternative == NoFeatures.name
    assert NoFeatures.trivial
    x = np.repeat(np.eye(2), 4000, axis=0)
    noisy, none = (features_of(d, x) for d in (OneBitFeatures(epsilon=1.0), NoFeatures()))
    assert float((noisy[:4000].mean(0) - noisy[4000:].mean(0))[0]) > 0.7
    assert float((none[:4000].mean(0) - none[4000:].mean(0)).abs().max()) == 0


def test_nothing_else_changes_and_the_seed_decides():
    before = client_of(np.random.default_rng(0).random((40, 5)))

    def after(seed):
        return OneBitFeatures().on_data(before, None, np.random.SeedSequence(seed), lambda kind, tensors: None)

    one, again, other = after(0), after(0), after(1)
    assert torch.equal(one.x, again.x)
    assert not torch.equal(one.x, other.x)
    assert one.x.dtype == before.x.dtype
    for name in ("nodes", "y", "y_train", "train", "val", "test", "used", "edges", "cut"):
        assert torch.equal(getattr(one, name), getattr(before, name))


def test_noise_is_drawn_in_parts_for_large_graphs(monkeypatch):
    monkeypatch.setattr("gaudit.defenses.local_privacy.feature_response.AT_ONCE", 50)
    found = features_of(OneBitFeatures(epsilon=1e4), np.tile([0.0, 1.0, 1.0], (101, 1)))
    assert torch.equal(found, torch.tensor([0.0, 1.0, 1.0]).repeat(101, 1))
    assert features_of(OneBitFeatures(), np.ones((3, 0))).shape == (3, 0)


def test_promise_says_what_is_public():
    promise = OneBitFeatures(epsilon=2, low=-1, high=3).promise()
    assert (promise.unit, promise.adjacency, promise.model) == ("node-features", "replace", "local")
    assert (float(promise.epsilon), promise.delta) == (2, 0)
    assert {"edges", "labels"} < set(promise.public)
    assert "features range from -1 to 3" in promise.sentence()
    assert promise.covers == "what is computed on the noisy features"
    assert "float sampler" in promise.accountant


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": float("inf")}, "epsilon"),
        ({"reports": 0}, "reports"),
        ({"low": 1.0}, "low is 1 and high 1: expected high to be larger"),
        ({"high": float("nan")}, "high"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(InputError, match=message):
        OneBitFeatures(**settings)


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
def test_most_of_the_claim_is_found_to_be_given_away(epsilon):
    check = check_claim(OneBit(epsilon=epsilon), 2000, 0, level=0.99)
    assert 0.6 * epsilon <= check.measured.low <= epsilon
