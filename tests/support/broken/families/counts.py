"""Wrong releases of one number that a person changes by one."""

import numpy as np

from .claimed import Claimed


class Count(Claimed):
    """How many people there are."""

    def inputs(self):
        return 10, 11


class HalfNoise(Count):
    """Laplace noise of half the scale."""

    name = "half-noise"

    def release(self, data, rng):
        return data + rng.laplace(scale=0.5 / self.epsilon)


class ZeroWithoutNoise(Count):
    """An empty count is told as it is."""

    name = "zero-without-noise"

    def release(self, data, rng):
        return data + rng.laplace(scale=1 / self.epsilon) if data else 0.0


class LargeToldExactly(Count):
    """Who is many is no secret, thinks the author: beyond 30 no noise."""

    name = "large-told-exactly"

    def release(self, data, rng):
        return float(data) if data > 30 else data + rng.laplace(scale=1 / self.epsilon)


class RoundedBeforeNoise(Count):
    """Rounded to tens, then noise for a change of one."""

    name = "rounded-before-noise"

    def release(self, data, rng):
        return 10 * round(data / 10) + rng.laplace(scale=1 / self.epsilon)


class GaussianForPure(Count):
    """Gaussian noise of deviation 1 / epsilon, and no delta."""

    name = "gaussian-for-pure"

    def release(self, data, rng):
        return data + rng.normal(scale=1 / self.epsilon)


class BoundedNoise(Count):
    """Laplace noise that is cut off at one scale."""

    name = "bounded-noise"

    def release(self, data, rng):
        return data + np.clip(rng.laplace(scale=1 / self.epsilon), -1 / self.epsilon, 1 / self.epsilon)


class SeedFromData(Count):
    """The generator starts from the data, so that a release can be repeated."""

    name = "seed-from-data"

    def release(self, data, rng):
        return data + np.random.default_rng(data).laplace(scale=1 / self.epsilon)


class ScaleFromData(Count):
    """The scale of the noise grows with the count."""

    name = "scale-from-data"

    def release(self, data, rng):
        return data + rng.laplace(scale=max(0.1, data / 10) / self.epsilon)


class WrongAlpha(Count):
    """Two-sided geometric noise with alpha = exp(-1.5 epsilon)."""

    name = "wrong-alpha"

    def release(self, data, rng):
        first, second = rng.geometric(1 - np.exp(-1.5 * self.epsilon), 2)
        return int(data + first - second)


class RetriedUntilPositive(Count):
    """Noise is drawn again while the sum is negative, and with half the epsilon forgotten."""

    name = "retried-until-positive"

    def release(self, data, rng):
        while (noisy := data + rng.laplace(scale=0.7 / self.epsilon)) < 0:
            pass
        return noisy


class TwiceTheBudget(Count):
    """The count and the count again, each under all of epsilon."""

    name = "twice-the-budget"

    def release(self, data, rng):
        return data + rng.laplace(scale=1 / self.epsilon, size=2)

    def score(self, released):
        return float(released[0])


class AmplifiedWithoutSampling(Count):
    """Noise as if a tenth were drawn, where all are counted."""

    name = "amplified-without-sampling"

    def release(self, data, rng):
        whole = np.log(1 + np.expm1(self.epsilon) / 0.1)
        return data + rng.laplace(scale=1 / whole)


class NothingWhenFew(Count):
    """Below five nothing is published, judged by the true count."""

    name = "nothing-when-few"

    def release(self, data, rng):
        return data + rng.laplace(scale=1 / self.epsilon) if data >= 5 else None

    def score(self, released):
        return -1.0 if released is None else float(released)


class NoiseRoundedAway(Count):
    """Noise is rounded towards zero, data are not whole."""

    name = "noise-rounded-away"

    def inputs(self):
        return 10.0, 11.0

    def release(self, data, rng):
        return data + np.trunc(rng.laplace(scale=1 / self.epsilon))


class CacheAcrossQueries(Count):
    """Asked twice in one run; the second answer is averaged from three fresh ones."""

    name = "cache-across-queries"

    def release(self, data, rng):
        first = data + rng.laplace(scale=1 / self.epsilon)
        return {"first": first, "second": float(np.mean(data + rng.laplace(scale=1 / self.epsilon, size=3)))}

    def score(self, released):
        return released["first"]
