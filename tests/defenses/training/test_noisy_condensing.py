"""Laplace noise on the gradients that a condensed graph is fitted to."""

import numpy as np
import pytest
import torch
from scipy.stats import kstest, laplace, pearsonr

from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.running.trial import run_trial
from gaudit.defenses.training.noisy_condensing import NoisyCondensing, root_mean_square
from gaudit.errors import InputError
from gaudit.registry import find
from support.sixty_nodes import sixty_nodes

LEVEL = 1e-3  # of every statistical test here; the seeds are fixed
GCOND = {
    "ratio": 0.15,
    "structure_steps": 1,
    "feature_steps": 1,
    "lr_features": 0.01,
    "rounds": 6,
    "outer": 2,
    "inner": 1,
    "checkpoints": (6,),
    "test": {"hidden": 8, "epochs": 10},
}
FEDERATED = {
    "fedgm": {
        "clients": 2,
        "rounds": 3,
        "refinements": 2,
        "partition": "metis",
        "test": {"epochs": 10, "hidden": 8},
    },
    "fedc4": {"clients": 2, "rounds": 2, "partition": "metis", "condensing": {"ratio": 0.3, "rounds": 3}},
    "fedgc": {"clients": 2, "rounds": 3, "ratio": 0.15, "checkpoints": (3,), "partition": "metis"},
}
GRADIENTS = {"0/w": torch.linspace(-1, 1, 40_000).view(200, 200), "1/w": torch.full((100,), 3.0)}


def changed(scale, times=1, seed=0):
    change = NoisyCondensing(scale=scale).on_gradients(None, np.random.SeedSequence(seed))
    return [change(GRADIENTS) for _ in range(times)]


@pytest.mark.parametrize("scale", [0.1, 2.0])
def test_guarantee_noise_is_laplace_in_proportion_to_the_gradients(scale):
    """What its class promises: a law, not a privacy budget."""
    (got,) = changed(scale)
    noise = torch.cat([(got[name] - GRADIENTS[name]).flatten() for name in GRADIENTS]).double().numpy()
    every = torch.cat([value.flatten() for value in GRADIENTS.values()])
    size = scale * float(every.square().mean().sqrt())
    assert root_mean_square(GRADIENTS) == pytest.approx(size / scale)
    assert kstest(noise, laplace(scale=size).cdf).pvalue > LEVEL
    assert kstest(noise, laplace(scale=1.1 * size).cdf).pvalue < LEVEL  # it could tell


def test_guarantee_every_model_gets_fresh_noise_and_a_run_can_be_repeated():
    one, two = changed(1.0, times=2)
    (again,) = changed(1.0)
    noise = [(got["0/w"] - GRADIENTS["0/w"]).flatten().numpy() for got in (one, two)]
    assert pearsonr(*noise).pvalue > LEVEL
    assert torch.equal(one["0/w"], again["0/w"])


def release(scale=None, **settings):
    target = find("targets", "gcond")(**{**GCOND, **settings})
    defense = find("defenses", "none")() if scale is None else NoisyCondensing(scale=scale)
    return target(sixty_nodes(), defense, np.random.SeedSequence(0), lambda _: True).transcript.messages[-1].tensors


def test_next_to_no_noise_is_next_to_no_change_and_much_is_much():
    plain, little, much = release(), release(1e-6), release(30.0)
    assert torch.allclose(plain["x"], little["x"], atol=1e-5)
    assert float((plain["x"] - much["x"]).abs().max()) > 1e-4


def test_trivial_alternative_is_on_offer_and_runs_in_the_same_place():
    name = NoisyCondensing.alternative
    plan = [TrialPlan("gcond", GCOND, n, {}, (AttackPlan("nearest"),), 0, 0) for n in (name, "noisy-condensing")]
    results = [run_trial(p, sixty_nodes()) for p in plan]
    assert all(np.isfinite(r.utility.test) for r in results)
    assert all(len(r.attacked) == 1 for r in results)


@pytest.mark.parametrize("target", FEDERATED)
def test_federated_condensation_has_a_place_for_it(target):
    made = find("targets", target)(**FEDERATED[target])
    run = made(sixty_nodes(), NoisyCondensing(), np.random.SeedSequence(0), lambda _: True)
    assert np.isfinite(run.utility.test)


@pytest.mark.parametrize("target", ["classifier", "random", "fedavg"])
def test_who_fits_no_condensed_graph_has_none(target):
    with pytest.raises(InputError, match="fits none"):
        find("targets", target)()(sixty_nodes(), NoisyCondensing(), np.random.SeedSequence(0), lambda _: True)
