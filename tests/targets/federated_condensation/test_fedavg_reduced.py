"""Federated averaging on reduced graphs: what clients train on, and that nobody is told."""

import numpy as np
import pytest
import torch

from gaudit.errors import InputError
from gaudit.targets.condensation.coresets import RandomCoreset
from gaudit.targets.defense import Defense
from gaudit.targets.federated.fedavg import FedAvg
from gaudit.targets.federated.local_training import LocalTask, as_parameters
from gaudit.targets.federated_condensation.fedavg_reduced import REDUCTIONS, FedAvgReduced
from gaudit.targets.models.propagation import dense_gcn_operator
from support.sixty_nodes import sixty_nodes

SMALL = {"clients": 2, "hidden": 4, "rounds": 2, "local_epochs": 2, "lr": 0.05, "split": "60/20/20", "dropout": 0.0}
CHEAP = {
    "gcond": {"hidden": 4, "rounds": 2, "outer": 1, "checkpoints": (2,)},
    "doscond": {"hidden": 4, "rounds": 2, "checkpoints": (2,)},
    "sgdd": {"hidden": 4, "rounds": 2, "outer": 1, "checkpoints": (2,)},
    "sfgc": {
        "experts": 1,
        "expert_epochs": 4,
        "rounds": 2,
        "student_steps": 2,
        "start_last": 1,
        "start_every": 1,
        "checkpoints": (2,),
    },
}


def ran(target, keep=lambda message: True):
    return target(sixty_nodes(), Defense(), np.random.SeedSequence(0), keep)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_every_reduction_trains_and_sends_what_federated_averaging_sends(reduction):
    reduced = FedAvgReduced(**SMALL, reduction=reduction, ratio=0.3, reducing=CHEAP.get(reduction, {}))
    one, other = ran(reduced), ran(FedAvg(**SMALL))
    heads = [
        [(m.kind, m.sender, m.receiver, m.round, m.nbytes) for m in run.transcript.messages] for run in (one, other)
    ]
    assert heads[0] == heads[1]
    assert any("clients train on" in note for note in one.notes)
    ours, theirs = (run.transcript.seen_by("public").last("model").tensors["w1"] for run in (one, other))
    assert not torch.equal(ours, theirs)


def test_the_first_step_is_that_of_the_reduced_graph(monkeypatch):
    """The gradient of a GCN on a client's coreset, worked out by hand."""
    made = []
    real = RandomCoreset.releases

    def noted(self, graph, seed):
        for round_, release in real(self, graph, seed):
            made.append(release)
            yield round_, release

    monkeypatch.setattr(RandomCoreset, "releases", noted)
    run = ran(FedAvgReduced(**SMALL | {"rounds": 1, "local_epochs": 1}, optimiser="sgd", ratio=0.3))
    begin = next(dict(m.tensors) for m in run.transcript.messages if m.kind == "global-model")
    for k, part in enumerate(made):
        operator, free = dense_gcn_operator(part.adjacency), as_parameters(begin)
        hidden = torch.relu(operator @ part.x @ free["w1"] + free["b1"])
        logits = operator @ hidden @ free["w2"] + free["b2"]
        torch.nn.functional.cross_entropy(logits, part.y).backward()
        (update,) = (m.tensors for m in run.transcript.messages if (m.kind, m.sender) == ("update", f"client:{k}"))
        for name, weight in free.items():
            torch.testing.assert_close(update[name], begin[name] - 0.05 * weight.grad)


def test_a_coreset_is_the_client_s_own_labelled_rows(monkeypatch):
    sizes = []
    real = LocalTask.trained
    monkeypatch.setattr(
        LocalTask, "trained", lambda task, *a, **k: (sizes.append(len(task.labels)), real(task, *a, **k))[1]
    )
    run = ran(FedAvgReduced(**SMALL, ratio=0.3))
    nodes = [int((run.secrets["edge-presence"].holders == k).sum()) for k in range(2)]
    assert sizes[:2] == [round(0.3 * n) for n in nodes]


def test_labels_of_all_labelled_nodes_are_federated_averaging():
    """Nothing is made smaller then: the models are those of `fedavg`, and with fewer labels others."""

    def released(target):
        return ran(target).transcript.seen_by("public").last("model").tensors

    whole = released(FedAvg(**SMALL))
    every = released(FedAvgReduced(**SMALL, reduction="labels", ratio=1.0, ratio_of="labelled"))
    some = released(FedAvgReduced(**SMALL, reduction="labels", ratio=0.3))
    for name, weight in whole.items():
        torch.testing.assert_close(every[name], weight)
    assert not torch.allclose(some["w1"], whole["w1"])


def test_wrong_settings_are_refused():
    with pytest.raises(InputError, match="rounds"):
        FedAvgReduced(reduction="gcond", reducing={"rounds": 0})
    with pytest.raises(InputError, match="empty"):
        ran(FedAvgReduced(**SMALL, ratio=0.01))
