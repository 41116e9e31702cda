"""Noise within a secure sum: of M uploads of one weight its deviation is that of one over the root of M."""

import numpy as np
import pytest
import torch
from scipy.stats import chi2

from gaudit.defenses.uploads.gaussian_uploads import GaussianUploads
from gaudit.defenses.uploads.sealed_uploads import SealedNoise
from gaudit.targets.channel import Channel
from gaudit.targets.federated.federated_averaging import averaged
from gaudit.targets.messages import GRADIENT_KIND, MATCHING_MODEL_KIND

SIZE, CLIENTS = 4000, 4


def sent(defense):
    channel = Channel(mods=(defense.on_message(np.random.SeedSequence(0)),))
    upload = {"w": torch.zeros(SIZE)}
    got = [channel.send(GRADIENT_KIND, f"client:{n}", "server", 0, upload) for n in range(CLIENTS)]
    return channel, averaged(got, [1 / CLIENTS] * CLIENTS)["w"]


def test_the_sum_is_noisy_and_nothing_else_is_read():
    channel, total = sent(SealedNoise(multiplier=2.0, clip=0.5))
    assert not channel.transcript.seen_by("server").of_kind(GRADIENT_KIND)
    squares = float((total.double() ** 2).sum()) / (2.0 * 0.5) ** 2 * CLIENTS
    assert chi2.ppf(5e-4, SIZE) < squares < chi2.ppf(1 - 5e-4, SIZE)


def test_each_gets_the_noise_that_it_would_get_unsealed():
    assert torch.equal(sent(SealedNoise(multiplier=2.0))[1], sent(GaussianUploads(multiplier=2.0))[1])
    assert SealedNoise(multiplier=3.0).promise() == GaussianUploads(multiplier=3.0).promise()


def test_what_the_server_sends_stays_readable():
    channel = Channel(mods=(SealedNoise().on_message(np.random.SeedSequence(0)),))
    channel.send(MATCHING_MODEL_KIND, "server", "clients", 0, {"w": torch.ones(2)})
    channel.send(GRADIENT_KIND, "client:0", "server", 0, {"w": torch.ones(2)})
    assert float(channel.transcript.seen_by("client:0").of_kind(MATCHING_MODEL_KIND)[0].tensors["w"][0]) == 1


def test_no_noise_is_no_setting():
    with pytest.raises(ValueError, match="multiplier"):
        SealedNoise(multiplier=0)
