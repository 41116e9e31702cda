"""The control that uploads noise: nothing but the norm of what it replaces is left."""

import numpy as np
import pytest
import torch
from scipy.stats import binom, kstest, norm

from gaudit.defenses.uploads.gaussian_uploads import NoiseInstead
from gaudit.defenses.uploads.upload_changes import UPLOADS
from gaudit.mechanisms.clipping import norm_of
from gaudit.targets.channel import Channel
from gaudit.targets.messages import GLOBAL_KIND, UPDATE_KIND, kind_of, kinds_of

LEVEL = 1e-3  # of every statistical test here; the seeds are fixed


def sent(change, kind=UPDATE_KIND, seed=0, start=0.0):
    """What the server gets, less the global weights."""
    channel = Channel(mods=(NoiseInstead().on_message(np.random.SeedSequence(seed)),))
    common = {name: torch.full_like(t, start) for name, t in change.items()}
    channel.send(kind_of(kind).since or GLOBAL_KIND, "server", "clients", 0, common)
    base = common if kind == UPDATE_KIND else {name: torch.zeros_like(t) for name, t in change.items()}
    got = channel.send(kind, "client:0", "server", 0, {name: base[name] + t for name, t in change.items()})
    return {name: tensor - base[name] for name, tensor in got.items()}


def upload(seed=0):
    draw = torch.Generator().manual_seed(seed)
    return {"w1": torch.randn(60, 50, generator=draw), "b1": 9 * torch.rand(50, generator=draw)}


@pytest.mark.parametrize("kind", [k for k in kinds_of([UPLOADS]) if kind_of(k).since != "round-start"])
def test_guarantee_same_norm_and_a_random_direction(kind):
    change = upload()
    got = sent(change, kind)
    assert norm_of(got, 2) == pytest.approx(norm_of(change, 2), rel=1e-6)
    flat = torch.cat([got[name].flatten() for name in change]).double()
    assert kstest((flat / flat.square().mean().sqrt()).numpy(), norm.cdf).pvalue > LEVEL


def test_guarantee_uploads_of_the_same_norm_give_the_same_messages():
    """With the same coins: the content has no part in what is sent."""
    one, other = upload(0), upload(1)
    scale = norm_of(one, 2) / norm_of(other, 2)
    first, second = sent(one), sent({name: scale * tensor for name, tensor in other.items()})
    for name in one:
        torch.testing.assert_close(first[name], second[name], rtol=1e-5, atol=1e-6)


def test_trivial_direction_has_nothing_of_the_upload():
    """Cosines with the upload are as often positive as negative, and as small as of random directions."""
    change = upload()
    own = torch.cat([t.flatten() for t in change.values()])
    cosines = []
    for seed in range(200):
        noise = torch.cat([t.flatten() for t in sent(change, seed=seed).values()])
        cosines.append(float(own @ noise / own.norm() / noise.norm()))
    assert binom.ppf(LEVEL / 2, 200, 0.5) <= np.sum(np.array(cosines) > 0) <= binom.isf(LEVEL / 2, 200, 0.5)
    assert kstest(np.array(cosines) * len(own) ** 0.5, norm.cdf).pvalue > LEVEL
    assert NoiseInstead.trivial


def test_global_weights_stay_in_what_is_sent():
    change = {"w": torch.full((400,), 0.01)}
    channel = Channel(mods=(NoiseInstead().on_message(np.random.SeedSequence(0)),))
    channel.send(GLOBAL_KIND, "server", "clients", 0, {"w": torch.full((400,), 5.0)})
    got = channel.send(UPDATE_KIND, "client:0", "server", 0, {"w": 5.0 + change["w"]})["w"]
    assert float((got - 5).norm()) == pytest.approx(0.2, rel=1e-3)


def test_nothing_moved_nothing_is_sent():
    got = sent({"w": torch.zeros(5), "empty": torch.empty(0)})
    assert torch.equal(got["w"], torch.zeros(5))
    assert got["empty"].shape == (0,)


def test_the_seed_decides_and_other_messages_pass():
    change = upload()
    assert torch.equal(sent(change)["w1"], sent(change)["w1"])
    assert not torch.equal(sent(change)["w1"], sent(change, seed=1)["w1"])
    assert torch.equal(sent(change, "class-counts")["w1"], change["w1"])
