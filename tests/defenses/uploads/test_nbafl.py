"""NbAFL: the noise on the way down has the stated law, clients begin with it, and uploads are as without it."""

import numpy as np
import pytest
import torch
from scipy.stats import kstest, norm

from gaudit.defenses.uploads.gaussian_uploads import GaussianUploads
from gaudit.defenses.uploads.nbafl import NbAFL, down_by_up
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.targets.channel import Channel
from gaudit.targets.federated.fedavg import FedAvg

LEVEL = 1e-3  # of every statistical test here; the seeds are fixed
SEED = np.random.SeedSequence(0)


def test_the_deviation_down_is_that_of_the_theorem():
    """Theorem 1: c L 2 C / (m epsilon) up, and 2 c C sqrt(T^2 - L^2 N) / (m N epsilon) down."""
    c, clip, m, epsilon = 3.0, 2.0, 10, 5.0
    for rounds, exposures, clients in ((25, 3, 50), (50, 1, 4), (10, 2, 16), (20, 5, 16), (21, 5, 16)):
        up = c * exposures * 2 * clip / (m * epsilon)
        seen = rounds > exposures * np.sqrt(clients)
        down = 2 * c * clip * np.sqrt(rounds**2 - exposures**2 * clients) / (m * clients * epsilon) if seen else 0
        assert down_by_up(rounds, exposures, clients) * up == pytest.approx(down)


def sent(defense, tensors, kind="global-model", receiver="clients"):
    channel = Channel(mods=(defense.on_message(SEED),))
    return channel, channel.send(kind, "server", receiver, 0, tensors)


def test_guarantee_noise_down_is_normal_of_the_stated_deviation():
    defense = NbAFL(multiplier=0.5, clip=2.0, rounds=10, clients=4, exposures=2)
    _, got = sent(defense, {"w1": torch.full((20_000,), 3.0)})
    stated = np.sqrt(100 - 16) / 8
    noise = got["w1"].double().numpy() - 3.0
    assert kstest(noise, norm(scale=stated).cdf).pvalue > LEVEL
    assert kstest(noise, norm(scale=1.15 * stated).cdf).pvalue < LEVEL  # it could tell


def test_guarantee_the_upload_is_clipped_from_what_the_client_received():
    defense = NbAFL(multiplier=1e-9, clip=1.0, rounds=10**6, clients=1)
    channel, got = sent(defense, {"w1": torch.zeros(100)})
    assert float(got["w1"].norm()) > 1e-4, "the start is noisy: a millionth of a billionth, a million times"
    own = {"w1": got["w1"] + 5 * torch.eye(100)[0]}
    told = channel.send("update", "client:0", "server", 0, own)["w1"] - got["w1"]
    assert float(told.norm()) == pytest.approx(1.0, rel=1e-3)


def test_where_few_rounds_need_no_noise_down_it_is_gaussian_uploads():
    start, own = {"w1": torch.zeros(50)}, {"w1": torch.ones(50)}
    for defense in (NbAFL(rounds=2, clients=4), GaussianUploads()):
        _, got = sent(defense, start)
        assert torch.equal(got["w1"], start["w1"])
    told = [
        sent(defense, start)[0].send("update", "client:0", "server", 0, own)["w1"]
        for defense in (NbAFL(rounds=2, clients=4), GaussianUploads())
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
    noisy = target(data, NbAFL(multiplier=1e-6, clip=None, rounds=4_000_000), SEED, lambda message: False)
    assert noisy.utility.test < plain.utility.test - 0.1
