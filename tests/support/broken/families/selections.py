"""Wrong selections: exponential mechanisms, noisy maxima, sparse vectors."""

import numpy as np

from .claimed import Claimed


class Votes(Claimed):
    """Utilities of four candidates; one person moves each by at most one, either way."""

    differ_by = "replace"

    def inputs(self):
        return np.array([5.0, 6.0, 5.0, 4.0]), np.array([6.0, 5.0, 6.0, 5.0])

    def score(self, released):
        return float(released == 0)


class ExponentialWithoutTwo(Votes):
    """Weights of exp(epsilon u), not exp(epsilon u / 2)."""

    name = "exponential-without-two"

    def release(self, data, rng):
        weight = np.exp(self.epsilon * (data - data.max()))
        return int(rng.choice(len(data), p=weight / weight.sum()))


class MaximumWithItsValue(Votes):
    """The noisy maximum's place, and its noisy value."""

    name = "maximum-with-its-value"

    def release(self, data, rng):
        noisy = data + rng.laplace(scale=1 / self.epsilon, size=len(data))
        return int(noisy.argmax()), float(noisy.max())

    def score(self, released):
        return float(released[0] == 0)


class TooLittleNoiseForMaximum(Votes):
    """The place alone, with half of the scale that either way asks for and half again."""

    name = "too-little-noise-for-maximum"

    def release(self, data, rng):
        return int((data + rng.laplace(scale=0.5 / self.epsilon, size=len(data))).argmax())


class Queries(Claimed):
    """Answers to queries that a person moves by at most one, compared with a threshold of zero."""

    differ_by = "replace"

    def inputs(self):
        return np.array([0.0, 1.0, 0.0, 1.0, 0.0, 1.0]), np.array([1.0, 0.0, 1.0, 0.0, 1.0, 0.0])

    def score(self, released):
        return float(released[0] is True)

    def answers(self, data, rng, threshold, query, most, value=None):
        """Above or not, query after query, until so many were above."""
        bar, told = 0.5 + rng.laplace(scale=threshold), []
        for answer in data:
            noisy = answer + (rng.laplace(scale=query) if query else 0.0)
            above = bool(noisy >= bar)
            told.append(above if value is None or not above else value(answer, noisy))
            most -= above
            if most == 0:
                break
        return told


class SparseWithoutQueryNoise(Queries):
    """Noise on the threshold alone."""

    name = "sparse-without-query-noise"

    def release(self, data, rng):
        return self.answers(data, rng, 2 / self.epsilon, 0.0, 1)


class SparseWithoutLimit(Queries):
    """All queries are answered, at the noise of one."""

    name = "sparse-without-limit"

    def release(self, data, rng):
        return self.answers(data, rng, 2 / self.epsilon, 2 / self.epsilon, len(data))


class SparseWithoutThresholdNoise(Queries):
    """The threshold is not hidden, and ten are answered."""

    name = "sparse-without-threshold-noise"

    def release(self, data, rng):
        return self.answers(data, rng, 1e-9, 2 / self.epsilon, len(data))


class SparseWithTheValue(Queries):
    """What is above is told by its true value."""

    name = "sparse-with-the-value"

    def release(self, data, rng):
        return self.answers(data, rng, 2 / self.epsilon, 4 / self.epsilon, 1, lambda true, noisy: true)
