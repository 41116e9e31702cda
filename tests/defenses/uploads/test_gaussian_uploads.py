"""Gaussian noise on uploads: its law, the clipping before it, and what these promise together."""

import numpy as np
import pytest
import torch
from scipy.stats import binom, kstest, norm, pearsonr

from gaudit.defenses.uploads.gaussian_uploads import GaussianUploads
from gaudit.defenses.uploads.upload_changes import UPLOADS
from gaudit.errors import InputError
from gaudit.mechanisms.clipping import norm_of
from gaudit.randomness import integer
from gaudit.targets.channel import Channel
from gaudit.targets.messages import GLOBAL_KIND, UPDATE_KIND, kind_of, kinds_of
from support.kinds import way_of

LEVEL = 1e-3  # of every statistical test here; the seeds are fixed


def sent(defense, change, kind=UPDATE_KIND, seed=0, times=1, start=0.0):
    """What the receiver gets, less the global weights."""
    channel = Channel(mods=(defense.on_message(np.random.SeedSequence(seed)),))
    common = {name: torch.full_like(t, start if kind == UPDATE_KIND else 0.0) for name, t in change.items()}
    channel.send(kind_of(kind).since or GLOBAL_KIND, "server", "clients", 0, common)
    own = {name: common[name] + tensor for name, tensor in change.items()}
    got = [channel.send(kind, *way_of(kind), i, own) for i in range(times)]
    return [{name: tensor - common[name] for name, tensor in message.items()} for message in got]


def direction(size, length, seed=1):
    drawn = torch.randn(size, generator=torch.Generator().manual_seed(seed))
    return {"w1": drawn[: size // 2] * (length / drawn.norm()), "b1": drawn[size // 2 :] * (length / drawn.norm())}


@pytest.mark.parametrize("kind", [k for k in kinds_of([UPLOADS]) if kind_of(k).since != "round-start"])
@pytest.mark.parametrize(("multiplier", "clip"), [(1.0, 1.0), (0.1, 5.0)])
def test_guarantee_noise_is_normal_of_the_stated_deviation(kind, multiplier, clip):
    change = direction(12_000, 0.5 * clip)
    (got,) = sent(GaussianUploads(multiplier=multiplier, clip=clip), change, kind)
    noise = torch.cat([got[name] - change[name] for name in change]).double().numpy()
    assert kstest(noise, norm(scale=multiplier * clip).cdf).pvalue > LEVEL
    assert kstest(noise, norm(scale=1.15 * multiplier * clip).cdf).pvalue < LEVEL  # it could tell


@pytest.mark.parametrize("length", [0.3, 2.0, 1e4])
def test_guarantee_a_step_is_clipped_to_the_bound_before_the_noise(length):
    """As good as no noise; global weights far from zero have no part in the norm."""
    change = direction(2000, length)
    (got,) = sent(GaussianUploads(multiplier=1e-9, clip=1.0), change, start=3.0)
    assert norm_of(got, 2) == pytest.approx(min(length, 1.0), rel=1e-2)  # float32 around 3
    for name, tensor in change.items():
        torch.testing.assert_close(got[name], tensor * min(1.0, 1 / length), atol=1e-3, rtol=0)


def test_guarantee_opposite_uploads_are_as_far_apart_as_stated():
    """Error rates of the best test between the two furthest uploads are those of 2 / multiplier-GDP."""
    multiplier, n = 1.6, 2000
    defense, axis = GaussianUploads(multiplier=multiplier, clip=0.7), torch.tensor([50.0, 0.0])
    plus, minus = (
        torch.stack([m["w"] for m in sent(defense, {"w": sign * axis}, seed=i, times=n)])[:, 0] / 0.7
        for i, sign in enumerate((1, -1))
    )
    missed, false = int((plus < 0).sum()), int((minus > 0).sum())
    rate = norm.cdf(-1 / multiplier)  # half of mu
    for errors in (missed, false):
        assert binom.ppf(LEVEL / 4, n, rate) <= errors <= binom.isf(LEVEL / 4, n, rate)
    assert "2 / multiplier-GDP" in GaussianUploads.guarantee


def test_guarantee_without_a_clip_is_none():
    change = direction(12_000, 1e5)
    (got,) = sent(GaussianUploads(multiplier=0.5, clip=None), change, "gradient")
    noise = torch.cat([got[name] - change[name] for name in change]).double().numpy()
    assert kstest(noise, norm(scale=0.5).cdf).pvalue > LEVEL
    assert "else none" in GaussianUploads.guarantee


def test_trivial_alternative_clipping_is_what_no_noise_leaves():
    change = direction(500, 0.9)
    (weak,) = sent(GaussianUploads(multiplier=1e-9), change)
    torch.testing.assert_close(weak["w1"], change["w1"], atol=1e-6, rtol=0)
    assert GaussianUploads.alternative == "noise-instead"


def test_every_upload_gets_fresh_noise_and_the_seed_decides():
    change = {"w": torch.zeros(4000)}
    one, two = (m["w"] for m in sent(GaussianUploads(), change, times=2))
    assert pearsonr(one.numpy(), two.numpy()).pvalue > LEVEL
    assert torch.equal(one, sent(GaussianUploads(), change)[0]["w"])
    assert not torch.equal(one, sent(GaussianUploads(), change, seed=1)[0]["w"])


def test_guarantee_noise_is_none_of_the_streams_that_can_be_tried():
    """A torch generator on a CPU knows 32 bits of its seed: whoever tries them all takes the noise off."""
    change = {"w": torch.zeros(1000)}
    (got,) = sent(GaussianUploads(), change, "gradient")
    low = integer(np.random.SeedSequence(0)) % 2**32
    tried = torch.randn(1000, generator=torch.Generator().manual_seed(low))
    assert abs(float(torch.corrcoef(torch.stack([got["w"], tried]))[0, 1])) < 0.2


def test_guarantee_a_clients_own_noise_tells_nothing_of_anothers():
    """Each has a stream of its own, the same whoever else sends something."""

    def noises(senders):
        channel = Channel(mods=(GaussianUploads().on_message(np.random.SeedSequence(0)),))
        zeros = {"w": torch.zeros(1000)}
        return [channel.send("gradient", sender, "server", 0, zeros)["w"].numpy() for sender in senders]

    one, other, again = noises(["client:0", "client:1", "client:0"])
    (alone,) = noises(["client:1"])
    assert np.array_equal(alone, other)
    for first, second in [(one, other), (one, again), (other, again)]:
        assert pearsonr(first, second).pvalue > LEVEL


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("kind", [UPDATE_KIND, "gradient"])
def test_guarantee_a_change_that_is_not_finite_is_none_under_the_same_noise(odd, kind):
    change = direction(100, 0.5)
    change["w1"][3] = odd
    (got,) = sent(GaussianUploads(), change, kind)
    (none,) = sent(GaussianUploads(), {name: torch.zeros_like(t) for name, t in change.items()}, kind)
    for name in change:
        assert torch.equal(got[name], none[name])


@pytest.mark.parametrize("kind", ["class-counts", "model", "neighbour-sums"])
def test_other_messages_pass_untouched(kind):
    change = direction(10, 8.0)
    (got,) = sent(GaussianUploads(), change, kind)
    assert torch.equal(got["w1"], change["w1"])


@pytest.mark.parametrize("settings", [{"multiplier": 0}, {"clip": -1}, {"multiplier": float("nan")}])
def test_settings_are_checked(settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        GaussianUploads(**settings)
