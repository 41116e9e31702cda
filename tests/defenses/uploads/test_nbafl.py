"""NbAFL: the noise on the way down has the stated law, clients begin with it, and uploads are as without it."""

import numpy as np
import pytest
import torch
from scipy.stats import kstest, norm

from gaudit.defenses.uploads.gaussian_uploads import GaussianUploads
from gaudit.defenses.uploads.nbafl import NbAFL
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.randomness import branch
from gaudit.registry import find
from gaudit.targets.channel import Channel
from gaudit.targets.federated.fedavg import FedAvg
from gaudit.targets.federated.local_training import Subgraph
from gaudit.targets.partition import partition
from gaudit.targets.party import clients_of

LEVEL = 1e-3  # of every statistical test here; the seeds are fixed
SEED = np.random.SeedSequence(0)


def sent(defense, tensors, kind="global-model", receiver="clients"):
    channel = Channel(mods=(defense.on_message(SEED),))
    return channel, channel.send(kind, "server", receiver, 0, tensors)


def test_guarantee_noise_down_is_normal_of_the_stated_deviation():
    defense = NbAFL(multiplier=0.5, clip=2.0, down=1.4)
    _, got = sent(defense, {"w1": torch.full((20_000,), 3.0)})
    stated = 1.4
    noise = got["w1"].double().numpy() - 3.0
    assert kstest(noise, norm(scale=stated).cdf).pvalue > LEVEL
    assert kstest(noise, norm(scale=1.15 * stated).cdf).pvalue < LEVEL  # it could tell


def test_guarantee_the_upload_is_clipped_from_what_the_client_received():
    defense = NbAFL(multiplier=1e-9, clip=1.0, down=1e6)
    channel, got = sent(defense, {"w1": torch.zeros(100)})
    assert float(got["w1"].norm()) > 1e-4, "the start is noisy: a billionth, a million times"
    own = {"w1": got["w1"] + 5 * torch.eye(100)[0]}
    told = channel.send("update", "client:0", "server", 0, own)["w1"] - got["w1"]
    assert float(told.norm()) == pytest.approx(1.0, rel=1e-3)


def test_without_noise_down_it_is_gaussian_uploads():
    start, own = {"w1": torch.zeros(50)}, {"w1": torch.ones(50)}
    for defense in (NbAFL(down=0), GaussianUploads()):
        _, got = sent(defense, start)
        assert torch.equal(got["w1"], start["w1"])
    told = [
        sent(defense, start)[0].send("update", "client:0", "server", 0, own)["w1"]
        for defense in (NbAFL(down=0), GaussianUploads())
    ]
    assert torch.equal(*told)
    assert NbAFL(multiplier=2.0).promise() == GaussianUploads(multiplier=2.0).promise()


def test_what_goes_to_the_public_is_left_as_it_is():
    _, got = sent(NbAFL(), {"w1": torch.zeros(50)}, "model", "public")
    assert torch.equal(got["w1"], torch.zeros(50))


def test_clients_train_from_noisy_weights():
    """With no noise to speak of on uploads, accuracy falls by what comes down alone."""
    data = load_dataset("citations")
    target = FedAvg(rounds=8, local_epochs=3, lr=0.01)
    plain = target(data, GaussianUploads(multiplier=1e-6, clip=None), SEED, lambda message: False)
    noisy = target(data, NbAFL(multiplier=1e-6, clip=None, down=1e6), SEED, lambda message: False)
    assert noisy.utility.test < plain.utility.test - 0.1


def test_clients_answer_with_what_they_received_last():
    data = load_dataset("citations")
    run = FedAvg(rounds=2, clients=3)(data, NbAFL(multiplier=0.01, clip=5.0), SEED, lambda message: True)
    said = run.transcript.messages
    last = next(m for m in reversed(said) if m.kind == "global-model").tensors
    model = next(m for m in said if m.kind == "model").tensors
    assert not torch.equal(last["w1"], model["w1"])
    clients = clients_of(data, partition(data, "metis", 3, branch(SEED, "partition")), labelled=False)
    told = next(m for m in said if m.kind == "posteriors-full").tensors["posteriors"]
    for client in clients:
        own = Subgraph.of(FedAvg(clients=3).settings.recipe(), client.x, client.edges)(last).softmax(1)
        torch.testing.assert_close(told[client.nodes], own, atol=1e-5, rtol=0)


def test_what_the_server_hands_on_of_a_client_is_no_start():
    """FedSage+ relays generators with numbers of clients: these are nobody's common weights."""
    channel = Channel(mods=(NbAFL().on_message(SEED),))
    given = {"client": torch.tensor([2]), "counts": torch.ones(4, dtype=torch.long), "w": torch.ones(3)}
    got = channel.send("generator", "server", "clients", 0, given)
    assert all(torch.equal(got[name], tensor) for name, tensor in given.items())


def test_who_sends_nothing_to_a_server_is_refused():
    for name in ("decentralised", "fedfomo", "classifier"):
        assert find("targets", name)().why_not(NbAFL()) is not None
