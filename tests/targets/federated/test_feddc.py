"""FedDC: drifts and corrections by hand, and federated averaging without them."""

import numpy as np
import pytest
import torch

from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.randomness import branch
from gaudit.targets.defense import Defense
from gaudit.targets.federated.fedavg import FedAvg
from gaudit.targets.federated.feddc import FedDC
from gaudit.targets.federated.local_training import LocalTask, Subgraph
from gaudit.targets.partition import partition
from gaudit.targets.party import clients_of

STEPS, LR = 3, 0.1
SMALL = {
    "clients": 2,
    "hidden": 4,
    "rounds": 3,
    "local_epochs": STEPS,
    "lr": LR,
    "dropout": 0.0,
    "split": "dataset",
}


def ran(target, seed: int = 0):
    return target(load_dataset("karate"), Defense(), np.random.SeedSequence(seed), lambda message: True)


def sent(run, kind: str, sender: str) -> list[dict[str, torch.Tensor]]:
    return [dict(m.tensors) for m in run.transcript.messages if (m.kind, m.sender) == (kind, sender)]


def test_without_drift_and_correction_it_is_federated_averaging():
    one, other = ran(FedDC(alpha=0, correction=False, **SMALL)), ran(FedAvg(optimiser="sgd", **SMALL))
    for mine, theirs in zip(one.transcript.messages, other.transcript.messages, strict=True):
        assert (mine.kind, mine.sender, mine.round) == (theirs.kind, theirs.sender, theirs.round)
        assert all(torch.equal(mine.tensors[name], tensor) for name, tensor in theirs.tensors.items())


@pytest.mark.parametrize("correction", [True, False])
def test_rounds_by_hand(correction):
    alpha = 0.5
    target = FedDC(alpha=alpha, correction=correction, **SMALL)
    run, data = ran(target), load_dataset("karate")
    models = sent(run, "global-model", "server")
    means = sent(run, "common-update", "server")
    parts = clients_of(data, partition(data, "metis", 2, branch(np.random.SeedSequence(0), "partition")))
    tasks = [LocalTask.of(c, Subgraph.of(target.settings.recipe(), c.x, c.edges)) for c in parts]
    zero = {name: torch.zeros_like(weight) for name, weight in models[0].items()}
    drift, last, mean = [zero, zero], [zero, zero], zero
    for round_ in range(3):
        begin, after = models[round_], []
        if correction:
            assert all(torch.allclose(means[round_][name], mean[name], atol=1e-6) for name in mean)
        for k, task in enumerate(tasks):
            weights = begin
            for _ in range(STEPS):
                gradient = task.gradient(weights)
                added = {n: alpha * (drift[k][n] + w - begin[n]) for n, w in weights.items()}
                if correction:
                    added = {n: v + (last[k][n] - mean[n]) / (LR * STEPS) for n, v in added.items()}
                weights = {n: w - LR * (gradient[n] + added[n]) for n, w in weights.items()}
            last[k] = {n: w - begin[n] for n, w in weights.items()}
            drift[k] = {n: drift[k][n] + last[k][n] for n in weights}
            drifted = sent(run, "drifted-update", f"client:{k}")[round_]
            for name, weight in weights.items():
                torch.testing.assert_close(
                    sent(run, "update", f"client:{k}")[round_][name], weight, atol=1e-5, rtol=1e-4
                )
                torch.testing.assert_close(drifted[name], weight + drift[k][name], atol=1e-5, rtol=1e-4)
            after.append({n: w + drift[k][n] for n, w in weights.items()})
        mean = {n: (last[0][n] + last[1][n]) / 2 for n in zero}
        for name, weight in models[round_ + 1].items():
            torch.testing.assert_close(weight, (after[0][name] + after[1][name]) / 2, atol=1e-5, rtol=1e-4)


def test_what_is_sent_beside_weights_adds_up_to_the_updates():
    run = ran(FedDC(**SMALL))
    models, uploads = sent(run, "global-model", "server"), sent(run, "update", "client:1")
    total = {name: torch.zeros_like(weight) for name, weight in models[0].items()}
    for begin, own, drifted in zip(models, uploads, sent(run, "drifted-update", "client:1"), strict=False):
        total = {name: total[name] + own[name] - begin[name] for name in own}
        for name in own:
            torch.testing.assert_close(drifted[name], own[name] + total[name])


def test_it_says_what_it_sends():
    assert {"drifted-update", "common-update"} <= FedDC().sent()
    assert "drifted-update" not in FedDC(alpha=0).sent()
    assert "common-update" not in FedDC(correction=False).sent()
    with pytest.raises(InputError, match="optimiser"):
        FedDC(optimiser="adam")
    assert "lr" not in FedDC.preset("quick", load_dataset("karate"))
