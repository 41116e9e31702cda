"""Laplace noise on uploads."""

import numpy as np
import pytest
import torch
from scipy.stats import binom, kstest, laplace, pearsonr

from gaudit.defenses.uploads.laplace_uploads import GRID, LaplaceLDP, on_grid
from gaudit.defenses.uploads.upload_changes import UPLOADS
from gaudit.errors import InputError
from gaudit.mechanisms.clipping import clipped
from gaudit.targets.channel import Channel
from gaudit.targets.messages import GLOBAL_KIND, UPDATE_KIND, kind_of, kinds_of
from support.kinds import way_of

LEVEL = 1e-3  # of every statistical test here; the seeds are fixed


def sent(defense, tensors, kind="class-gradients", seed=0, times=1):
    """What the receiver gets; weights start at zero, so a step is what is sent."""
    channel = Channel(mods=(defense.on_message(np.random.SeedSequence(seed)),))
    channel.send(
        kind_of(kind).since or GLOBAL_KIND,
        "server",
        "clients",
        0,
        {n: torch.zeros_like(t) for n, t in tensors.items()},
    )
    return [channel.send(kind, *way_of(kind), i, tensors) for i in range(times)]


@pytest.mark.parametrize("kind", [k for k in kinds_of([UPLOADS]) if kind_of(k).since != "round-start"])
@pytest.mark.parametrize(("epsilon", "clip"), [(1.0, 0.1), (8.0, 0.5)])
def test_guarantee_noise_is_laplace_of_the_stated_scale(kind, epsilon, clip):
    draw = torch.Generator().manual_seed(1)
    gradient = {"0/w1": torch.randn(200, 80, generator=draw), "1/b1": torch.randn(1600, generator=draw)}
    (got,) = sent(LaplaceLDP(epsilon=epsilon, clip=clip), gradient, kind)
    noise = torch.cat([(got[name] - gradient[name].clamp(-clip, clip)).flatten() for name in gradient])
    scale = 2 * clip / epsilon
    assert kstest(noise.double().numpy(), laplace(scale=scale).cdf).pvalue > LEVEL
    assert kstest(noise.double().numpy(), laplace(scale=1.15 * scale).cdf).pvalue < LEVEL  # it could tell


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_guarantee_likelihood_ratio_of_extremes_is_bounded_by_epsilon(epsilon):
    settings = LaplaceLDP(epsilon=epsilon).settings
    outputs = np.linspace(-5, 5, 2001)
    ratio = laplace.logpdf(outputs, settings.clip, settings.scale) - laplace.logpdf(
        outputs, -settings.clip, settings.scale
    )
    assert np.abs(ratio).max() == pytest.approx(epsilon)


def test_guarantee_holds_for_what_is_sent_and_is_tight():
    """The event output > clip: e^epsilon times likelier for the largest input than for the smallest."""
    epsilon, n = 1.0, 100_000
    defense = LaplaceLDP(epsilon=epsilon, clip=0.1)
    high, low = (sent(defense, {"0/w": torch.full((n,), x)}, seed=i)[0]["0/w"] for i, x in enumerate((9.0, -9.0)))
    hits, rare = int((high > 0.1).sum()), int((low > 0.1).sum())
    assert binom.ppf(LEVEL, n, 0.5) < hits < binom.isf(LEVEL, n, 0.5)
    share = 0.5 * np.exp(-epsilon)
    assert binom.ppf(LEVEL, n, share) < rare < binom.isf(LEVEL, n, share)


def test_values_are_clipped_before_the_noise():
    """Two inputs beyond the clip give the same output under the same noise, two within it do not."""
    defense = LaplaceLDP(clip=0.1)

    def output(value):
        return sent(defense, {"0/w": torch.full((50,), value)})[0]["0/w"]

    assert torch.equal(output(0.3), output(7.0))
    assert not torch.equal(output(0.03), output(0.07))


def test_trivial_alternative_clipping_is_what_a_huge_epsilon_leaves():
    gradient = {"0/w": torch.linspace(-1, 1, 200)}
    (weak,) = sent(LaplaceLDP(epsilon=1e9, clip=0.1), gradient)
    torch.testing.assert_close(weak["0/w"], gradient["0/w"].clamp(-0.1, 0.1), atol=1e-6, rtol=0)
    (strong,) = sent(LaplaceLDP(epsilon=1.0, clip=0.1), gradient)
    error = (strong["0/w"] - gradient["0/w"].clamp(-0.1, 0.1)).abs().mean()
    assert float(error) > 0.1  # clipping alone has none; Laplace noise of scale 0.2 has 0.2


def test_every_upload_gets_fresh_noise():
    one, two = (m["0/w"] for m in sent(LaplaceLDP(), {"0/w": torch.zeros(4000)}, times=2))
    assert not torch.equal(one, two)
    assert pearsonr(one.numpy(), two.numpy()).pvalue > LEVEL


def test_same_seed_same_noise():
    gradient = {"0/w": torch.zeros(100)}
    one, again, other = (sent(LaplaceLDP(), gradient, seed=seed)[0]["0/w"] for seed in (0, 0, 1))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)


@pytest.mark.parametrize("kind", ["condensed-graph", "class-counts", "matching-model", "neighbour-sums"])
def test_other_messages_pass_untouched(kind):
    tensors = {"x": torch.randn(5, 3) * 10}
    (got,) = sent(LaplaceLDP(), tensors, kind)
    assert torch.equal(got["x"], tensors["x"])


def test_the_senders_tensors_stay_as_they_are():
    gradient = {"0/w": torch.ones(10)}
    sent(LaplaceLDP(), gradient)
    assert torch.equal(gradient["0/w"], torch.ones(10))


def noise_of(defense, change):
    """Noise on an upload whose step is small enough not to be clipped."""
    (got,) = sent(defense, change, UPDATE_KIND)
    return torch.cat([(got[name] - change[name]).flatten() for name in change]).double().numpy()


def small_step():
    draw = torch.Generator().manual_seed(2)
    return {"w1": 1e-6 * torch.randn(100, 120, generator=draw), "b1": 1e-6 * torch.randn(120, generator=draw)}


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_guarantee_without_a_clip_is_none_and_noise_is_that_of_sos(epsilon):
    """Lap(0, s / epsilon) with s = 1 (SOS, section 5.4)."""
    noise = noise_of(LaplaceLDP(epsilon=epsilon, clip=None), small_step())
    assert kstest(noise, laplace(scale=1 / epsilon).cdf).pvalue > LEVEL
    assert kstest(noise, laplace(scale=1.1 / epsilon).cdf).pvalue < LEVEL
    far = {"w": torch.full((10,), 1e6)}
    (got,) = sent(LaplaceLDP(clip=None), far, UPDATE_KIND)
    assert float(got["w"].min()) > 9e5  # what is far stays far: nothing is hidden
    assert LaplaceLDP(clip=None).promise() is None


@pytest.mark.parametrize("clip", [0.1, 3.0])
def test_guarantee_of_norm_l1_is_epsilon_for_the_whole_upload(clip):
    """Two uploads at the bound, and the likelihood ratio of any output under them: at most e^epsilon, and tight."""
    defense = LaplaceLDP(epsilon=1.5, clip=clip, norm="l1")
    noise = noise_of(defense, small_step())
    assert kstest(noise, laplace(scale=defense.settings.scale).cdf).pvalue > LEVEL
    draw = torch.Generator().manual_seed(3)
    uploads = [{"a": torch.randn(40, generator=draw), "b": torch.randn(5, 4, generator=draw)} for _ in range(6)]
    uploads += [{"a": torch.zeros(40), "b": sign * 50 * torch.eye(5, 4)} for sign in (1, -1)]
    # sensitivity: what the noise is added to, in whole numbers, beside the scale that the noise is drawn for
    bounded = [
        on_grid(torch.cat([t.flatten() for t in clipped(u, clip, 1).values()]).double().numpy() / clip)
        for u in uploads
    ]
    distances = [int(np.abs(one - other).sum()) for one in bounded for other in bounded]
    assert max(distances) <= 2 * GRID
    assert max(distances) / (2 * GRID / 1.5) == pytest.approx(1.5, rel=1e-5)


@pytest.mark.parametrize("seed", range(20))
def test_guarantee_no_upload_is_larger_than_the_grid(seed):
    """Whatever clipping in floating point left: sizes add up to no more than the noise is drawn for."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(1000) * 10.0 ** rng.integers(-8, 1, 1000)
    values *= (1 + 1e-5 * rng.random()) / np.abs(values).sum()
    assert np.abs(on_grid(values)).sum() <= GRID
    assert np.abs(on_grid(values) / GRID - values).max() < 2e-5
    odd = np.array([np.nan, np.inf, -np.inf, 0.5])
    assert on_grid(odd).tolist() == [0, 0, 0, GRID // 2]


def test_guarantee_what_is_sent_with_norm_l1_are_whole_numbers_of_the_grid():
    upload = {"a": torch.randn(50, 3, dtype=torch.double), "b": torch.randn(4, dtype=torch.double)}
    (got,) = sent(LaplaceLDP(epsilon=2.0, clip=1.0, norm="l1"), upload)
    assert {n: t.shape for n, t in got.items()} == {n: t.shape for n, t in upload.items()}
    for tensor in got.values():
        whole = tensor * GRID
        assert torch.equal(whole, whole.round())


def test_guarantee_of_norm_l1_a_clients_own_noise_tells_nothing_of_anothers():
    def noises(senders):
        channel = Channel(mods=(LaplaceLDP(norm="l1").on_message(np.random.SeedSequence(0)),))
        zeros = {"w": torch.zeros(500)}
        return [channel.send("gradient", sender, "server", 0, zeros)["w"].numpy() for sender in senders]

    one, other = noises(["client:0", "client:1"])
    (alone,) = noises(["client:1"])
    assert np.array_equal(alone, other)
    assert pearsonr(one, other).pvalue > LEVEL


def test_an_epsilon_that_no_noise_can_be_drawn_for_is_refused():
    with pytest.raises(InputError, match="epsilon is 1e-09"):
        LaplaceLDP(epsilon=1e-9, norm="l1")
    sent(LaplaceLDP(epsilon=2.0**-24, norm="l1"), small_step())


def test_a_step_is_clipped_not_the_weights():
    """Weights far from zero that moved a little are not clipped; the noise is the same whatever they are."""
    defense, step = LaplaceLDP(epsilon=1e9, clip=0.1), 0.05
    channel = Channel(mods=(defense.on_message(np.random.SeedSequence(0)),))
    channel.send(GLOBAL_KIND, "server", "clients", 0, {"w": torch.full((50,), 7.0)})
    for moved, expected in [(step, step), (3.0, 0.1), (-3.0, -0.1)]:
        got = channel.send(UPDATE_KIND, "client:0", "server", 0, {"w": torch.full((50,), 7.0 + moved)})
        torch.testing.assert_close(got["w"], torch.full((50,), 7.0 + expected), atol=2e-6, rtol=0)


@pytest.mark.parametrize("settings", [{"epsilon": 0}, {"epsilon": -1}, {"clip": 0}, {"norm": "l2"}])
def test_settings_are_checked(settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        LaplaceLDP(**settings)


@pytest.mark.parametrize("name", ["epsilon", "clip"])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_settings_must_be_finite(name, value):
    with pytest.raises(InputError, match=name):
        LaplaceLDP(**{name: value})
