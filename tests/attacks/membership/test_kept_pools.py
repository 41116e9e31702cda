"""Shadow models that processes of a run share: trained once, and the same to the last bit."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event

import numpy as np
import pytest
import torch

from gaudit.attacks.membership import kept_pools
from gaudit.attacks.membership.kept_pools import kept_in, told_to, trained_once
from gaudit.targets.models.model_ensemble import train_models
from gaudit.targets.models.training_config import TrainingConfig
from gaudit.targets.models.training_task import TrainingTask
from support.sixty_nodes import sixty_nodes

SEED = np.random.SeedSequence(3)


@pytest.fixture(scope="module")
def task():
    data = sixty_nodes()
    members = torch.from_numpy(np.random.default_rng(0).random((3, 60)) < 0.5)
    return TrainingTask(data, members, TrainingConfig(epochs=3, hidden=4), int(data.y.max()) + 1)


@pytest.fixture
def trained(monkeypatch):
    """The trainings that were started."""
    found = []

    def train(*args, **kwargs):
        found.append(args)
        return train_models(*args, **kwargs)

    monkeypatch.setattr(kept_pools, "train_models", train)
    return found


def assert_same(one, other):
    assert one.keys() == other.keys()
    for name in one:
        assert one[name].dtype == other[name].dtype
        assert torch.equal(one[name], other[name])


def test_who_comes_later_reads_the_same_bits(task, trained, tmp_path):
    alone = train_models(task, [], SEED, keep_weights=True).weights
    with kept_in(str(tmp_path)):
        assert_same(trained_once(task, SEED, "cpu"), alone)
        assert_same(trained_once(task, SEED, "cpu"), alone)
    assert len(trained) == 1


def test_other_models_are_not_taken_for_them(task, trained, tmp_path):
    moved = task.data.clone()
    moved.x = moved.x.clone()
    moved.x[0, 0] += 1
    fewer = task.data.clone()
    fewer.edge_index = fewer.edge_index[:, 2:]
    others = [
        replace(task, data=moved),
        replace(task, data=fewer),
        replace(task, members=~task.members),
        replace(task, induced=True),
        replace(task, recipe=TrainingConfig(epochs=4, hidden=4)),
    ]
    with kept_in(str(tmp_path)):
        for other in [task, *others]:
            told = trained_once(other, SEED, "cpu")
            assert_same(told, train_models(other, [], SEED, keep_weights=True).weights)
        trained_once(task, np.random.SeedSequence(4), "cpu")
    assert len(trained) == len(others) + 2


def test_who_comes_meanwhile_waits(task, monkeypatch, tmp_path):
    """Two at a time, of whom the first is still training when the second one asks."""
    started, calls = Event(), []

    def slow(*args, **kwargs):
        calls.append(args)
        started.set()
        Event().wait(0.3)
        return train_models(*args, **kwargs)

    monkeypatch.setattr(kept_pools, "train_models", slow)
    with kept_in(str(tmp_path)), ThreadPoolExecutor(2) as pool:
        first = pool.submit(trained_once, task, SEED, "cpu")
        assert started.wait(30)
        second = pool.submit(trained_once, task, SEED, "cpu")
        assert_same(first.result(), second.result())
    assert len(calls) == 1


def test_without_room_on_the_disk_each_trains_its_own(task, trained, monkeypatch, tmp_path):
    def full(*args):
        raise OSError("no space left on device")

    monkeypatch.setattr("safetensors.torch.save_file", full)
    with kept_in(str(tmp_path)):
        assert_same(trained_once(task, SEED, "cpu"), trained_once(task, SEED, "cpu"))
    assert len(trained) == 2


def test_outside_of_a_run_nothing_is_kept(task, trained, tmp_path):
    with kept_in(str(tmp_path)):
        trained_once(task, SEED, "cpu")
    trained_once(task, SEED, "cpu")
    with kept_in(None):
        trained_once(task, SEED, "cpu")
    assert len(trained) == 3


def test_who_waits_is_told_how_many_models_are_trained(task, tmp_path):
    heard = []
    with told_to(lambda done, total: heard.append((done, total))), kept_in(str(tmp_path)):
        trained_once(task, SEED, "cpu")
        trained_once(task, SEED, "cpu")  # read, not trained
    trained_once(task, SEED, "cpu")
    assert heard == [(0, 3), (1, 3), (2, 3), (3, 3)]
