"""DP-SGD on whole graphs: epsilon against other accountants, what is promised, what is refused."""

import numpy as np
import pytest
import torch
from opacus.accountants import PRVAccountant, RDPAccountant
from scipy.special import ndtr

from gaudit.audit.conformance.small_graphs import forty_graphs
from gaudit.errors import InputError
from gaudit.registry import find
from gaudit.targets.messages import MODEL_KIND
from gaudit.targets.private_training.dp_graph_classifier import DPGraphClassifier

DELTA = 1e-4
FAST = {"epochs": 5, "hidden": 4, "lr": 0.01}


def ran(data=None, seed=0, defense="none", **settings):
    target = DPGraphClassifier(**{"recipe": FAST, **settings})
    return target(data or forty_graphs(), find("defenses", defense)(), np.random.SeedSequence(seed), lambda _: True)


def weights_of(run):
    return run.transcript.seen_by("public").last(MODEL_KIND).tensors


def spent(accountant, noise, rate, steps):
    for _ in range(steps):
        accountant.step(noise_multiplier=noise, sample_rate=rate)
    return accountant.get_epsilon(delta=DELTA)


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 16.0])
def test_epsilon_is_that_of_opacus_own_accountants(epsilon):
    """Renyi's says about the same, and the numerical one, which is tighter, never more."""
    settings = DPGraphClassifier(epsilon=epsilon, rate=0.25, recipe=FAST | {"epochs": 40}).settings
    noise = settings.noise(DELTA)
    assert epsilon * 0.9 < spent(RDPAccountant(), noise, 0.25, 40) < epsilon * 1.02
    assert epsilon * 0.5 < spent(PRVAccountant(), noise, 0.25, 40) < epsilon


@pytest.mark.parametrize("epsilon", [0.5, 4.0, 16.0])
def test_with_all_graphs_in_each_step_the_closed_form_says_less_than_delta(epsilon):
    """Balle and Wang 2018, Theorem 8: 30 steps are one Gaussian at a distance of sqrt(30) / noise."""
    noise = DPGraphClassifier(epsilon=epsilon, rate=1.0, recipe=FAST | {"epochs": 30}).settings.noise(DELTA)

    def delta(at, distance):
        return ndtr(distance / 2 - at / distance) - np.exp(at) * ndtr(-distance / 2 - at / distance)

    assert delta(epsilon, 30**0.5 / noise) <= DELTA
    assert delta(epsilon, 30**0.5 / (noise / 2)) > DELTA  # half of the noise would not do


def test_what_is_promised():
    promise = ran(epsilon=2.0).promise
    assert (promise.unit, promise.adjacency, float(promise.epsilon), promise.delta) == (
        "graph",
        "zero-out",
        2,
        1e-3,
    )
    assert "one of which is blank" in promise.sentence()
    assert not any("deviation" in known for known in promise.public)


def test_scales_of_features_are_said_to_be_public():
    assert any("deviation" in known for known in ran(features="scaled").promise.public)


def test_without_noise_nothing_is_promised():
    run = ran(epsilon=None)
    assert run.promise is None
    assert any("no graph is promised anything" in note for note in run.notes)


def test_the_model_has_seen_members_alone():
    """Graphs that are no members may be anything: the model is the same to the last bit."""
    data, first = forty_graphs(), ran()
    game = first.secrets["graph-membership"]
    inside = torch.isin(data.graph_of, torch.from_numpy(game.subjects[game.truth]))
    for changed, same in ((~inside, True), (inside, False)):
        other = data.clone()
        other.x = torch.where(changed[:, None], -data.x, data.x)
        one, two = weights_of(first), weights_of(ran(other))
        assert all(torch.equal(one[name], two[name]) for name in one) is same


def test_a_delta_that_means_little_is_said():
    assert any("not below 1 / 40 graphs" in note for note in ran(delta=0.1).notes)


def test_huge_features_do_not_undo_the_noise():
    data = forty_graphs()
    data.x[:] = 3e38
    assert all(weight.isfinite().all() for weight in weights_of(ran(data)).values())
    told = [m.tensors["posteriors"] for m in ran(data).transcript.messages if "posteriors" in m.tensors]
    assert told
    assert all(one.isfinite().all() for one in told)


def test_more_epsilon_more_is_learned():
    """The rings' features tell their class; half of them is what guessing gets."""
    long = {"epochs": 60, "hidden": 16, "lr": 0.02}
    seeds = range(4)
    little, much = (
        np.mean([ran(seed=seed, epsilon=e, recipe=long).utility.test for seed in seeds]) for e in (0.3, 1e5)
    )
    assert much > 0.75
    assert little < much


@pytest.mark.parametrize("wrong", [{"dropout": 0.5}, {"weight_decay": 0.1}])
def test_what_is_not_clipped_is_refused(wrong):
    with pytest.raises(InputError, match="no place in steps with noise"):
        DPGraphClassifier(recipe=FAST | wrong)


def test_an_epsilon_that_no_noise_reaches_is_one_line():
    with pytest.raises(InputError, match="no noise reaches epsilon"):
        ran(epsilon=0.001, delta=1e-6)
