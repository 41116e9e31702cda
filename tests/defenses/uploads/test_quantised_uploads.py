"""Quantised uploads: how many levels, which of them, and that stochastic rounding is right on average."""

import numpy as np
import pytest
import torch
from scipy.stats import binom

from gaudit.defenses.uploads.gradient_compression import QuantisedUploads, quantised
from gaudit.errors import InputError
from gaudit.targets.channel import Channel
from gaudit.targets.messages import GLOBAL_KIND, GRADIENT_KIND, UPDATE_KIND

LEVEL = 1e-3  # of every statistical test here; the seeds are fixed


def sent(defense, tensors, kind=GRADIENT_KIND, seed=0):
    channel = Channel(mods=(defense.on_message(np.random.SeedSequence(seed)),))
    return channel.send(kind, "client:0", "server", 0, tensors)


def gradient(seed=0):
    draw = torch.Generator().manual_seed(seed)
    return {"w1": torch.randn(80, 50, generator=draw), "b1": 30 * torch.rand(700, generator=draw)}


@pytest.mark.parametrize("rounding", ["stochastic", "nearest"])
@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_guarantee_each_tensor_has_at_most_2_to_the_bits_levels_within_its_range(bits, rounding):
    given = gradient()
    got = sent(QuantisedUploads(bits=bits, rounding=rounding), given)
    for name, tensor in given.items():
        assert len(got[name].unique()) <= 2**bits
        assert len(got[name].unique()) > 2**bits / 2  # and does use them
        assert float(got[name].min()) == float(tensor.min())
        assert float(got[name].max()) == pytest.approx(float(tensor.max()), rel=1e-6)


@pytest.mark.parametrize(("rounding", "steps"), [("stochastic", 1.0), ("nearest", 0.5)])
def test_values_go_to_a_level_beside_them(rounding, steps):
    given = gradient()
    got = sent(QuantisedUploads(bits=3, rounding=rounding), given)
    for name, tensor in given.items():
        step = float(tensor.max() - tensor.min()) / 7
        assert float((got[name] - tensor).abs().max()) <= steps * step * (1 + 1e-4)
        if rounding == "nearest":
            levels = tensor.min() + step * torch.arange(8)
            nearest = (tensor.flatten()[:, None] - levels).abs().min(1).values
            torch.testing.assert_close((got[name] - tensor).abs().flatten(), nearest, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("place", [0.1, 0.5, 0.85])
def test_stochastic_rounding_goes_up_as_often_as_the_value_is_up(place):
    n = 20_000
    values = torch.cat([torch.tensor([0.0, 3.0]), torch.full((n,), 1 + place)])
    got = quantised(values, 4, torch.Generator().manual_seed(0))[2:]
    assert set(got.unique().tolist()) == {1.0, 2.0}
    assert binom.ppf(LEVEL / 2, n, place) <= int((got == 2).sum()) <= binom.isf(LEVEL / 2, n, place)


def test_trivial_number_of_bits_changes_hardly_anything():
    given = gradient()
    got = sent(QuantisedUploads(bits=16), given)
    for name, tensor in given.items():
        torch.testing.assert_close(got[name], tensor, atol=float(tensor.max() - tensor.min()) / 2**15, rtol=0)
    assert QuantisedUploads.alternative == "noise-instead"


def test_of_weights_the_step_is_quantised():
    channel = Channel(mods=(QuantisedUploads(bits=1).on_message(np.random.SeedSequence(0)),))
    common = torch.linspace(0, 90, 31)
    channel.send(GLOBAL_KIND, "server", "clients", 0, {"w": common})
    own = common + torch.linspace(-0.5, 0.5, 31)
    step = channel.send(UPDATE_KIND, "client:0", "server", 0, {"w": own})["w"] - common
    torch.testing.assert_close(step.abs(), torch.full((31,), 0.5), atol=2e-5, rtol=0)


@pytest.mark.parametrize("tensor", [torch.full((4,), 2.5), torch.empty(0), torch.tensor(1.0)])
def test_a_tensor_without_a_range_stays_as_it_is(tensor):
    assert torch.equal(sent(QuantisedUploads(bits=1), {"w": tensor})["w"], tensor)


def test_the_seed_decides_and_other_messages_pass():
    given = gradient()
    one, again, other = (sent(QuantisedUploads(), given, seed=s)["w1"] for s in (0, 0, 1))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
    assert torch.equal(sent(QuantisedUploads(), given, "class-counts")["w1"], given["w1"])


@pytest.mark.parametrize("settings", [{"bits": 0}, {"bits": 17}, {"bits": 2.5}, {"rounding": "up"}])
def test_settings_are_checked(settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        QuantisedUploads(**settings)
