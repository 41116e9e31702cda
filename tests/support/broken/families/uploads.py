"""Wrong releases of a client's upload."""

import numpy as np

from gaudit.mechanisms.gaussian import distance_of

from .claimed import Claimed


class Upload(Claimed):
    """Eight numbers of one client, far beyond the clip."""

    differ_in = "client"
    differ_by = "replace"
    delta = 1e-5

    def inputs(self):
        change = 9.0 * np.array([3.0, -1.0, 2.0, 0.5, -2.0, 1.0, 0.0, 0.3])
        return -change, change

    @property
    def deviation(self):
        return 2 / distance_of(self.epsilon, self.delta or 1e-5)

    def clipped(self, data):
        return data / max(1.0, np.linalg.norm(data))

    def score(self, released):
        return float(released[0])


class HalfTheDeviation(Upload):
    """Gaussian noise for one clip, where two clients lie two apart; and half of that."""

    name = "half-the-deviation"

    def release(self, data, rng):
        return self.clipped(data) + self.deviation / 3 * rng.standard_normal(8)


class DeviationFromData(Upload):
    """Noise in proportion to the norm of the upload, both of them well clipped."""

    name = "deviation-from-data"
    gaussian = True

    def inputs(self):
        return np.zeros(8), np.full(8, 0.05)

    def release(self, data, rng):
        return data + (1 + 20 * np.linalg.norm(data)) * self.deviation * rng.standard_normal(8)

    def score(self, released):
        return float(released.sum())


class EachNumberClipped(Upload):
    """Each number is clipped, with noise for one clip."""

    name = "each-number-clipped"

    def release(self, data, rng):
        return np.clip(data, -1, 1) + self.deviation * rng.standard_normal(8)


class NoiseInOneSubspace(Upload):
    """Noise on the first six of eight numbers."""

    name = "noise-on-some-numbers"

    def release(self, data, rng):
        noise = self.deviation * rng.standard_normal(8)
        noise[6:] = 0
        return self.clipped(data) + noise


class NormTold(Upload):
    """A noisy direction, and the true norm before the clip."""

    name = "norm-told"

    def inputs(self):
        return np.full(8, 1.0), np.full(8, -2.0)

    def release(self, data, rng):
        return self.clipped(data) + self.deviation * rng.standard_normal(8), float(np.linalg.norm(data))

    def score(self, released):
        return -float(released[0].sum())


class EuclideanForLaplace(Upload):
    """Laplace noise for an upload that is clipped in the Euclidean norm."""

    name = "euclidean-for-laplace"
    delta = 0.0

    def inputs(self):
        return -np.ones(16), np.ones(16)

    def release(self, data, rng):
        return self.clipped(data) + rng.laplace(scale=2 / self.epsilon, size=16)


class RoundsOnOneBudget(Upload):
    """Six rounds, each with the noise of one."""

    name = "rounds-on-one-budget"

    def release(self, data, rng):
        return [self.clipped(data) + self.deviation * rng.standard_normal(8) for _ in range(6)]

    def score(self, released):
        return float(np.sum(released[0]))


class SameNoiseEachRound(Upload):
    """Two rounds of the same noise on different halves of the data."""

    name = "same-noise-each-round"

    def release(self, data, rng):
        noise = 2 * self.deviation * rng.standard_normal(8)
        return self.clipped(data) + noise, noise

    def score(self, released):
        return float(released[0][0])
