"""FedDEP: what is told of embeddings, what generators learn from it, and what the classifier reads."""

import numpy as np
import pytest
import torch

from gaudit.graphs.datasets.loading import load_dataset
from gaudit.targets.defense import Defense
from gaudit.targets.federated_graphs.feddep import (
    EmbeddingGenerator,
    EmbeddingGeneratorSettings,
    FedDEP,
    clustered,
)
from gaudit.targets.partition import Partition
from gaudit.targets.party import clients_of

SMALL = {
    "clients": 3,
    "hidden": 4,
    "rounds": 2,
    "local_epochs": 1,
    "generator": {"width": 5, "latent": 4, "encoder_epochs": 3, "epochs": 2, "rounds": 2, "prototypes": 3},
}


def ran(**settings):
    target = FedDEP(**SMALL | settings)
    return target(load_dataset("karate"), Defense(), np.random.SeedSequence(0), lambda message: True)


def told(run, sender: str) -> list[dict[str, torch.Tensor]]:
    return [
        dict(m.tensors) for m in run.transcript.messages if (m.kind, m.sender) == ("embedding-prototypes", sender)
    ]


def test_clients_tell_prototypes_once_and_the_server_relays_them():
    run = ran()
    holders = run.secrets["edge-presence"].holders
    for k, relayed in enumerate(told(run, "server")):
        (own,) = told(run, f"client:{k}")
        assert torch.equal(relayed["prototypes"], own["prototypes"])
        assert int(relayed["client"]) == k
        assert own["prototypes"].shape == (len(own["sizes"]), 5)
        assert len(own["sizes"]) <= 3
        assert int(own["sizes"].sum()) == int((holders == k).sum())
        assert bool((own["prototypes"].abs() <= 1).all())


def test_clusters_are_means_of_their_rows():
    torch.manual_seed(0)
    rows = torch.cat([torch.randn(4, 2) + 10, torch.randn(6, 2) - 10])
    cluster, means = clustered(rows, 2, np.random.SeedSequence(0))
    assert len(set(cluster[:4].tolist())) == len(set(cluster[4:].tolist())) == 1
    for k in range(2):
        torch.testing.assert_close(means[k], rows[cluster == k].mean(0))
    cluster, means = clustered(torch.ones(5, 2), 3, np.random.SeedSequence(0))
    assert torch.equal(means, torch.ones(1, 2))
    assert not cluster.any()


def test_one_client_tells_nobody():
    assert not told(ran(clients=1), "client:0")
    assert "embedding-prototypes" not in FedDEP(clients=1).sent()
    assert "embedding-prototypes" in FedDEP().sent()


def generator(others: torch.Tensor | None) -> EmbeddingGenerator:
    data = load_dataset("karate")
    (client,) = clients_of(data, Partition.undivided(data.num_nodes))
    settings = EmbeddingGeneratorSettings(latent=4, width=3, noise=0.0, lr=0.02)
    made = EmbeddingGenerator(client, settings, np.random.SeedSequence(0), torch.zeros(data.num_nodes, 3))
    made.others = others
    return made


@pytest.mark.parametrize("told", [None, 0.7])
def test_predictions_go_where_targets_are(told):
    """Towards the own ones, and where others' prototypes are told, to between these and the own ones."""
    made = generator(None if told is None else torch.full((1, 3), told))
    for _ in range(200):
        made.step()
    rows = made.mean_missing(made.client)
    some = rows[rows.abs().sum(1) > 0] if told else rows
    counts = made._counts(made._numbers(made._embedded()))
    assert rows.shape == (34, 3)
    assert bool(counts.any())
    assert float(some.mean()) > 0.02 if told else float(some.abs().max()) < 0.1


def test_the_model_reads_embeddings_beside_features():
    run = ran()
    model = run.transcript.seen_by("public").last("model").tensors
    assert len(model["w1"]) == len(model["r1"]) == load_dataset("karate").num_features + 5


def test_it_learns_citations():
    data = load_dataset("citations")
    run = FedDEP(**FedDEP.preset("quick", data))(data, Defense(), np.random.SeedSequence(0), lambda m: False)
    assert run.utility.test > 0.75
