"""FedGTA: moments, confidence and mixtures against plain numpy, and what is sent to whom."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.registry import find
from gaudit.targets.defense import Defense
from gaudit.targets.federated.fedavg import FedAvg
from gaudit.targets.federated_graphs.fedgta import FedGTA, SoftLabels, edges_told, mixing

SMALL = {"clients": 3, "hidden": 4, "rounds": 3, "local_epochs": 2, "lr": 0.05}


@pytest.fixture(scope="module")
def data() -> Data:
    return load_dataset("karate")


def ran(target, data: Data, seed: int = 0, defense: Defense | None = None):
    return target(data, defense or Defense(), np.random.SeedSequence(seed), lambda message: True)


def sent(run, kind: str, sender: str | None = None, receiver: str | None = None):
    return [
        m
        for m in run.transcript.messages
        if m.kind == kind and sender in (None, m.sender) and receiver in (None, m.receiver)
    ]


@pytest.fixture
def graph() -> tuple[np.ndarray, np.ndarray]:
    """Posteriors of six nodes in three classes, and an adjacency matrix with a node that has no edge."""
    rng = np.random.default_rng(0)
    links = np.triu(rng.random((6, 6)) < 0.5, 1)
    links[:, 5] = False
    return rng.dirichlet(np.ones(3), size=6), (links | links.T).astype(float)


def test_moments_and_confidence_by_hand(graph):
    posteriors, adjacency = graph
    edges = torch.from_numpy(np.array(np.nonzero(adjacency)))
    found = SoftLabels.of(torch.from_numpy(posteriors).float(), edges, steps=3, keep=0.3, moments=4)
    with_loops = adjacency + np.eye(6)
    scale = with_loops.sum(1) ** -0.5
    labels = posteriors
    for _ in range(3):
        labels = 0.3 * posteriors + 0.7 * (scale[:, None] * with_loops * scale) @ labels
    for k in range(4):
        np.testing.assert_allclose(found.raw[k], (labels ** (k + 1)).mean(0), rtol=1e-5)
        np.testing.assert_allclose(found.central[k], ((labels - labels.mean(0)) ** (k + 1)).mean(0), atol=1e-6)
    entropy = -(labels * np.log(labels)).sum(1)
    expected = (adjacency.sum(1) * (3 / np.e - entropy)).sum()
    np.testing.assert_allclose(float(found.confidence), expected, rtol=1e-5)


def test_certain_labels_tell_the_histogram_and_the_number_of_edges(graph):
    _, adjacency = graph
    edges = torch.from_numpy(np.array(np.nonzero(adjacency)))
    certain = torch.eye(3)[[0, 0, 1, 1, 1, 2]]
    found = SoftLabels.of(certain, edges, steps=0, keep=0.5, moments=2)
    torch.testing.assert_close(found.raw[0], torch.tensor([2, 3, 1]) / 6)
    assert edges_told(float(found.confidence), 3) == pytest.approx(adjacency.sum() / 2, rel=1e-5)


def test_uncertain_labels_tell_fewer_edges_than_there_are(graph):
    posteriors, adjacency = graph
    edges = torch.from_numpy(np.array(np.nonzero(adjacency)))
    found = SoftLabels.of(torch.from_numpy(posteriors).float(), edges, steps=0, keep=0.5, moments=1)
    assert 0 < edges_told(float(found.confidence), 3) < adjacency.sum() / 2


def test_mixtures_are_among_those_alike_by_confidence():
    moments = torch.tensor([[1.0, 0.1], [1.0, 0.0], [0.0, 1.0]])
    found = mixing(moments, torch.tensor([3.0, 1.0, 2.0]), 0.5)
    torch.testing.assert_close(found, torch.tensor([[0.75, 0.25, 0], [0.75, 0.25, 0], [0, 0, 1]]))


def test_clients_without_any_confidence_share_evenly():
    found = mixing(torch.ones(3, 2), torch.zeros(3), 0.5)
    torch.testing.assert_close(found, torch.full((3, 3), 1 / 3))


def test_one_client_alone_trains_as_it_would_without_the_method(data):
    """Its mixture is its own upload; its weights are those of federated averaging to the last bit."""
    one, other = (ran(kind(**SMALL | {"clients": 1}), data) for kind in (FedGTA, FedAvg))
    for mine, theirs in zip(sent(one, "update"), sent(other, "update"), strict=True):
        assert all(torch.equal(mine.tensors[name], weight) for name, weight in theirs.tensors.items())
    assert one.utility == other.utility


def test_each_client_gets_the_mixture_that_moments_say(data):
    run = ran(FedGTA(**SMALL), data)
    for round_ in range(2):
        told = [m.tensors for m in sent(run, "label-moments") if m.round == round_]
        moments = torch.stack([torch.cat([t["raw"], t["central"]]).flatten() for t in told])
        shares = mixing(moments, torch.stack([t["confidence"] for t in told]), 0.5)
        uploads = [m.tensors for m in sent(run, "update") if m.round == round_]
        for k in range(3):
            (got,) = [m for m in sent(run, "global-model", receiver=f"client:{k}") if m.round == round_ + 1]
            for name, weight in got.tensors.items():
                expected = sum(share * upload[name] for share, upload in zip(shares[k], uploads, strict=True))
                torch.testing.assert_close(weight, expected)


def test_messages_and_their_sizes(data):
    target = FedGTA(**SMALL | {"rounds": 2})
    run = ran(target, data)
    heads = [(m.kind, m.sender, m.receiver) for m in run.transcript.messages if m.round == 1]
    expected = [("global-model", "server", f"client:{k}") for k in range(3)]
    for k in range(3):
        expected += [("update", f"client:{k}", "server"), ("label-moments", f"client:{k}", "server")]
    assert heads == expected
    classes = int(data.y.max()) + 1
    assert {m.nbytes for m in sent(run, "label-moments")} == {4 * (20 * classes + 1)}
    assert {m.kind for m in run.transcript.messages} <= set(target.sent())
    assert [m.kind for m in run.transcript.messages if m.receiver == "public"] == ["posteriors-full"]


def test_in_the_end_clients_answer_with_their_own_weights_or_their_mixture(data):
    own, mixture = (ran(FedGTA(answers=answers, **SMALL), data) for answers in ("own", "mixture"))
    assert not [m for m in sent(own, "global-model") if m.round == 3]
    assert [m.receiver for m in sent(mixture, "global-model") if m.round == 3] == [f"client:{k}" for k in range(3)]
    one, other = (sent(run, "posteriors-full")[0].tensors["posteriors"] for run in (own, mixture))
    assert not torch.equal(one, other)


def test_no_common_model_is_published_and_no_secure_sum_will_do(data):
    with pytest.raises(InputError, match="publish"):
        FedGTA(publish=("model",))
    with pytest.raises(InputError, match="secure sum"):
        ran(FedGTA(**SMALL), data, defense=find("defenses", "sealed-uploads")())


def test_it_learns_citations():
    data = load_dataset("citations")
    run = ran(FedGTA(**FedGTA.preset("quick", data)), data)
    assert run.utility.test > 0.8
