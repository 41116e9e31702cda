"""IFCA: choices and means by hand, and what others learn of what a client began with."""

import numpy as np
import pytest
import torch

from gaudit.defenses.uploads.gaussian_uploads import GaussianUploads
from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.targets.defense import Defense
from gaudit.targets.federated.fedavg import FedAvg
from gaudit.targets.mixing import with_starts
from gaudit.targets.personal_federation.ifca import IFCA
from gaudit.targets.transcript import Message, Transcript

SMALL = {"clients": 4, "hidden": 8, "rounds": 6, "local_epochs": 3, "lr": 0.05, "split": "60/20/20"}


def ran(target, seed: int = 0):
    return target(load_dataset("karate"), Defense(), np.random.SeedSequence(seed), lambda message: True)


def by_round(run, kind: str) -> dict[tuple[int, str], dict[str, torch.Tensor]]:
    return {(m.round, m.sender): dict(m.tensors) for m in run.transcript.messages if m.kind == kind}


def model(tensors, number: int) -> dict[str, torch.Tensor]:
    return {name.partition("/")[2]: w for name, w in tensors.items() if name.startswith(f"{number}/")}


def test_each_model_becomes_the_mean_of_those_who_chose_it():
    run = ran(IFCA(models=3, **SMALL))
    models, choices, updates = (
        by_round(run, kind) for kind in ("cluster-models", "cluster-choice", "cluster-update")
    )
    for t in range(SMALL["rounds"]):
        before, after = models[t, "server"], models[t + 1, "server"]
        for j in range(3):
            theirs = [updates[key] for key, choice in choices.items() if key[0] == t and int(choice["choice"]) == j]
            for name, weight in model(after, j).items():
                expected = torch.stack([u[name] for u in theirs]).mean(0) if theirs else model(before, j)[name]
                torch.testing.assert_close(weight, expected)


def test_with_one_model_it_is_federated_averaging():
    one, plain = ran(IFCA(models=1, **SMALL)), ran(FedAvg(**SMALL))
    updates, expected = by_round(one, "cluster-update"), by_round(plain, "update")
    assert updates.keys() == expected.keys()
    for key, weights in expected.items():
        assert all(torch.equal(updates[key][name], w) for name, w in weights.items())


def test_who_sees_choice_and_models_knows_what_a_client_began_with():
    run = ran(IFCA(models=2, **SMALL))
    messages = with_starts(run.transcript.seen_by("server"))
    starts = {(m.round, m.sender): m.tensors for m in messages if m.kind == "round-start"}
    models, choices = by_round(run, "cluster-models"), by_round(run, "cluster-choice")
    assert starts.keys() == choices.keys()
    for (t, sender), begun in starts.items():
        chosen = model(models[t, "server"], int(choices[t, sender]["choice"]))
        assert begun.keys() == chosen.keys()
        assert all(torch.equal(begun[name], w) for name, w in chosen.items())


def test_a_choice_of_no_model_is_refused():
    transcript = Transcript()
    transcript.record(Message("cluster-models", "server", "clients", 0, {"0/w1": torch.ones(2, 2)}), True)
    transcript.record(Message("cluster-choice", "client:0", "server", 0, {"choice": torch.tensor([7])}), True)
    with pytest.raises(InputError, match="'cluster-choice' of client:0 must hold the number of a model"):
        with_starts(transcript.seen_by("server"))


def test_a_defense_of_uploads_changes_what_a_client_adds_to_the_model_that_it_chose():
    """With next to no noise and a clip that nothing reaches, updates are what they were."""
    plain = by_round(ran(IFCA(models=2, **SMALL)), "cluster-update")
    quiet = GaussianUploads(multiplier=1e-9, clip=100.0)
    run = IFCA(models=2, **SMALL)(load_dataset("karate"), quiet, np.random.SeedSequence(0), lambda message: True)
    for key, weights in by_round(run, "cluster-update").items():
        assert all(torch.allclose(plain[key][name], w, atol=1e-4) for name, w in weights.items())
