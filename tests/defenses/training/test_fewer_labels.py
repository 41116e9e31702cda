"""The trivial alternative: how many labels are kept, which, and that a forgotten one is used nowhere."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from torch_geometric.data import Data

from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.results.outcomes import outcomes
from gaudit.audit.running.trial import run_trial
from gaudit.defenses.training.fewer_labels import FewerLabels
from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.targets.models.model_ensemble import train_models
from gaudit.targets.models.training_config import TrainingConfig
from gaudit.targets.models.training_task import TrainingTask
from gaudit.targets.party import Client


def client_with(labels: torch.Tensor, train: torch.Tensor, classes: int) -> Client:
    """A client without edges."""
    nodes, nobody = torch.arange(len(labels)), torch.zeros_like(train)
    no_edges = torch.empty((2, 0), dtype=torch.long)
    x = torch.ones(len(labels), 1)
    return Client(0, nodes, x, labels, labels, train, nobody, nobody, train, no_edges, no_edges, classes)


def kept_of(client: Client, share: float, seed: int = 0) -> Client:
    return FewerLabels(share=share).on_data(client, None, np.random.SeedSequence(seed), lambda kind, tensors: None)


@given(st.lists(st.integers(0, 40), min_size=2, max_size=5).filter(any), st.floats(0.001, 1), st.integers(0, 99))
def test_guarantee_each_class_keeps_its_share_and_one_at_least(sizes, share, seed):
    labelled = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    labels = torch.cat([labelled, torch.arange(len(sizes))])  # and one of each class without a label
    train = torch.arange(len(labels)) < len(labelled)
    client = client_with(labels, train, len(sizes))
    after = kept_of(client, share, seed)
    counts = torch.bincount(labels[after.train], minlength=len(sizes)).tolist()
    assert not (after.train & ~train).any()
    for kept, size in zip(counts, sizes, strict=True):
        assert abs(kept - share * size) <= 0.5 or kept == min(1, size)
        assert kept >= min(1, size)
    assert torch.equal(after.used, after.train)
    for name in ("x", "y", "y_train", "val", "test", "edges", "cut"):
        assert torch.equal(getattr(after, name), getattr(client, name))


def test_every_label_is_as_likely_kept_as_any_other():
    """Binomial(400, 0.3) for each of 20 labels; one is out of bounds by chance once in 1000."""
    client = client_with(torch.arange(20) % 2, torch.ones(20, dtype=torch.bool), 2)
    times = sum(kept_of(client, 0.3, seed).train.int() for seed in range(400))
    low, high = binom.ppf([0.0005 / 20, 1 - 0.0005 / 20], 400, 0.3)
    assert low <= int(times.min()) <= int(times.max()) <= high


def test_a_node_that_was_used_without_a_label_stays_used():
    """What another part of the pipeline guessed and used is not forgotten with the labels."""
    client = client_with(torch.arange(12) % 2, torch.arange(12) < 10, 2)
    client = replace(client, used=client.train | (torch.arange(12) == 11))
    after = kept_of(client, 0.4)
    assert after.used.nonzero().flatten().tolist() == [*after.train.nonzero().flatten().tolist(), 11]


def test_a_forgotten_label_changes_no_weight(federation):
    client = federation.clients[0]
    after = kept_of(client, 0.5)
    dropped = client.train & ~after.train
    assert dropped.any()

    def weights(labels):
        task = TrainingTask(
            Data(x=after.x, edge_index=after.edges, y=labels), after.train[None], recipe, after.classes
        )
        return train_models(task, [], np.random.SeedSequence(1), keep_weights=True).weights

    recipe = TrainingConfig(hidden=8, epochs=10)
    before = weights(after.y_train)
    other = torch.where(dropped, (after.y_train + 1) % after.classes, after.y_train)
    assert all(torch.equal(w, before[name]) for name, w in weights(other).items())
    last = after.train.nonzero()[-1]
    other[last] = (other[last] + 1) % after.classes
    assert not all(torch.equal(w, before[name]) for name, w in weights(other).items())


def test_the_seed_decides(federation):
    client = federation.clients[1]
    one, again, other = (kept_of(client, 0.5, seed).train for seed in (0, 0, 1))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)


def test_trivial_share_of_one_changes_nothing(federation):
    for client in federation.clients:
        after = kept_of(client, 1.0)
        for name in ("x", "y", "y_train", "train", "val", "test", "used", "edges", "cut"):
            assert torch.equal(getattr(after, name), getattr(client, name))
    assert FewerLabels.alternative is None  # it is the trivial alternative itself


def test_leakage_falls_in_proportion():
    """Where members are learned by heart, attacked by their loss."""
    graph = load_dataset("planted")
    recipe = {"hidden": 64, "epochs": 150, "lr": 0.01, "weight_decay": 0, "dropout": 0}
    settings = {"recipe": recipe, "split": "dataset", "publish": ("posteriors",)}

    def excess(share):
        plan = TrialPlan(
            "classifier", settings, "fewer-labels", {"share": share}, (AttackPlan("loss"),), seed=0, index=0
        )
        return outcomes([run_trial(plan, graph)])[0].attacks[0].auc.estimate - 0.5

    whole = excess(1.0)
    assert whole > 0.4
    assert excess(0.5) / whole == pytest.approx(0.5, abs=0.15)
    assert excess(0.25) / whole == pytest.approx(0.25, abs=0.15)


@pytest.mark.parametrize("share", [0, -0.5, 1.01, float("nan"), float("inf")])
def test_settings_are_checked(share):
    with pytest.raises(InputError, match="share"):
        FewerLabels(share=share)
