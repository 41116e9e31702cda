"""Secure sums of uploads: the server reads the sum, and training goes on as before."""

import numpy as np
import pytest
import torch

from gaudit.defenses.uploads.upload_changes import UPLOADS
from gaudit.registry import find
from gaudit.targets.messages import (
    CLASS_GRADIENTS_KIND,
    CLASS_GRADIENTS_SUM_KIND,
    GRADIENT_KIND,
    GRADIENT_SUM_KIND,
)
from support.sixty_nodes import sixty_nodes

SEED = np.random.SeedSequence(0)
FEDAVG = {"clients": 3, "rounds": 2, "hidden": 8, "split": "dataset"}
FEDGC = {
    "clients": 3,
    "rounds": 1,
    "checkpoints": (1,),
    "hidden": 8,
    "ratio": 0.2,
    "test": {"epochs": 1, "models": 1},
}


def ran(target, settings, defense):
    made = find("targets", target)(**settings)
    return made(sixty_nodes(), find("defenses", defense)(), SEED, lambda message: True)


@pytest.mark.parametrize(
    ("target", "settings"), [("fedavg", FEDAVG), ("fedavg", {**FEDAVG, "upload": "gradients"}), ("fedgc", FEDGC)]
)
def test_the_server_reads_no_upload_and_what_it_releases_is_the_same(target, settings):
    plain, sealed = (ran(target, settings, name) for name in ("none", "sealed-uploads"))
    seen = sealed.transcript.seen_by("server")
    assert plain.transcript.seen_by("server").carrying(UPLOADS)
    assert not seen.carrying(UPLOADS)
    assert plain.utility == sealed.utility
    released = [run.transcript.seen_by("public").messages[-1].tensors for run in (plain, sealed)]
    assert all(torch.equal(value, released[1][name]) for name, value in released[0].items())


def test_what_it_reads_is_the_mean():
    run = ran("fedavg", {**FEDAVG, "upload": "gradients"}, "sealed-uploads")
    own = [m for m in run.transcript.messages if m.kind == GRADIENT_KIND and m.round == 0]
    held = run.transcript.seen_by("server").of_kind(GRADIENT_SUM_KIND)[0]
    for name, value in held.tensors.items():
        assert torch.allclose(value, sum(m.tensors[name] for m in own) / 3, atol=1e-7)
    assert not run.transcript.seen_by("client:0").of_kind(GRADIENT_SUM_KIND)


def test_class_gradients_are_weighted_by_class():
    run = ran("fedgc", FEDGC, "sealed-uploads")
    counts = {m.sender: m.tensors["counts"] for m in run.transcript.messages if m.kind == "class-counts"}
    own = [m for m in run.transcript.messages if m.kind == CLASS_GRADIENTS_KIND]
    held = run.transcript.seen_by("server").of_kind(CLASS_GRADIENTS_SUM_KIND)[0].tensors
    whole = sum(counts.values())
    for name, value in held.items():
        label = int(name.split("/")[0])
        parts = (m.tensors[name] * counts[m.sender][label] / whole[label] for m in own if name in m.tensors)
        assert torch.allclose(value, sum(parts), atol=1e-6)


def test_without_it_no_sum_is_noted():
    run = ran("fedavg", {**FEDAVG, "upload": "gradients"}, "none")
    assert not [m for m in run.transcript.messages if m.kind == GRADIENT_SUM_KIND]
