"""Odd mechanisms that keep what they claim: a check that accuses one of them is wrong."""

import numpy as np

from gaudit.graphs.network import Network
from gaudit.mechanisms.gaussian import distance_of

from .broken.families.claimed import Claimed


class PermanentResponse(Claimed):
    """Answers once by chance, and remembers: whoever asks again gets the same answer."""

    name = "permanent-response"
    differ_by = "replace"
    model = "local"

    def __init__(self, **settings):
        super().__init__(**settings)
        self.memory = {}

    def inputs(self):
        return 0, 1

    def release(self, data, rng):
        if data not in self.memory:
            self.memory[data] = data if rng.random() < 1 / (1 + np.exp(-self.epsilon)) else 1 - data
        return [self.memory[data]] * 3

    def score(self, released):
        return float(sum(released))


class RememberedByTheClass(PermanentResponse):
    """The same, where the class remembers."""

    name = "remembered-by-the-class"
    shared: dict[int, int] = {}  # noqa: RUF012

    def __init__(self, **settings):
        super().__init__(**settings)
        self.memory = self.shared


class LaplaceCalledGaussian(Claimed):
    """Laplace noise whose author says that scores are normal."""

    name = "laplace-called-gaussian"
    delta = 1e-6
    gaussian = True

    def inputs(self):
        return 10, 11

    def release(self, data, rng):
        return data + rng.laplace(scale=1 / self.epsilon)


class CategoryForAll(Claimed):
    """One of eight categories, in a number that is no amount."""

    name = "category-for-all"
    differ_by = "replace"

    def inputs(self):
        return 3, 4

    def release(self, data, rng):
        if rng.random() < np.exp(self.epsilon) / (np.exp(self.epsilon) + 7):
            return data
        return int(rng.choice([value for value in range(8) if value != data]))

    def score(self, released):
        return float(released == 4) - float(released == 3)


class FlippedBit(Claimed):
    """A bit, flipped by an exclusive or."""

    name = "flipped-bit"

    def inputs(self):
        return 0, 1

    def release(self, data, rng):
        return data ^ int(rng.random() > 1 / (1 + np.exp(-self.epsilon)))


class TwoValued(Claimed):
    """A number in [-1, 1] told as one of two (Duchi, Jordan and Wainwright 2013)."""

    name = "two-valued"
    differ_by = "replace"
    model = "local"

    def inputs(self):
        return -1.0, 1.0

    def release(self, data, rng):
        grown = np.exp(self.epsilon)
        far = (grown + 1) / (grown - 1)
        return far if rng.random() < 0.5 + data / (2 * far) else -far


class ClampedGeometric(Claimed):
    """Geometric noise on a count from 0 to 20; what lies beyond is put at the ends, after the noise."""

    name = "clamped-geometric"

    def inputs(self):
        return 0, 1

    def release(self, data, rng):
        first, second = rng.geometric(1 - np.exp(-self.epsilon), 2)
        return int(np.clip(data + first - second, 0, 20))


class ExponentialMedian(Claimed):
    """A median among given values by the exponential mechanism, whose utility is a rank."""

    name = "exponential-median"

    def inputs(self):
        return [0.1, 0.4, 0.7, 0.9], [0.1, 0.4, 0.7, 0.7, 0.9]

    def release(self, data, rng):
        bins = np.array([0.2, 0.5, 0.8])
        below = np.array([sum(x < b for x in data) for b in bins])
        weight = np.exp(-self.epsilon * np.abs(below - len(data) / 2))  # which one record moves by a half
        return float(rng.choice(bins, p=weight / weight.sum()))


class SparseVector(Claimed):
    """The first query above a noisy threshold, with noise for queries that move either way."""

    name = "sparse-vector"
    differ_by = "replace"

    def inputs(self):
        return np.array([0.0, 1.0, 0.0, 1.0]), np.array([1.0, 0.0, 1.0, 0.0])

    def release(self, data, rng):
        bar = 0.5 + rng.laplace(scale=2 / self.epsilon)
        above = data + rng.laplace(scale=4 / self.epsilon, size=len(data)) >= bar
        return int(above.argmax()) if above.any() else None

    def score(self, released):
        return float(released == 0)


class StableHistogram(Claimed):
    """Cells that hold somebody, if their noisy number is large: what is left to chance is the delta."""

    name = "stable-histogram"
    delta = 1e-3

    def inputs(self):
        return {"a": 3, "b": 0}, {"a": 3, "b": 1}

    def release(self, data, rng):
        bar = 1 + np.log(1 / (2 * self.delta)) / self.epsilon
        noisy = {key: n + rng.laplace(scale=1 / self.epsilon) for key, n in data.items() if n}
        return {key: n for key, n in noisy.items() if n > bar}

    def score(self, released):
        return released.get("b", 0.0)


class RandomLength(Claimed):
    """The noisy number among so many decoys as chance will have, some of them no numbers."""

    name = "random-length"

    def inputs(self):
        return 5, 6

    def release(self, data, rng):
        decoys = rng.laplace(size=rng.integers(4)).tolist()
        return [data + rng.laplace(scale=1 / self.epsilon), *decoys, *[float("nan")] * int(rng.integers(2))]

    def score(self, released):
        return released[0]


class RandomisedGraph(Claimed):
    """Every pair of nodes told with the odds of epsilon."""

    name = "randomised-graph"
    differ_in = "edge"

    def inputs(self):
        return Network.from_edges(5, [1, 2], [2, 3]), Network.from_edges(5, [0, 1, 2], [1, 2, 3])

    def release(self, data, rng):
        flipped = np.triu(rng.random((data.nodes, data.nodes)) > 1 / (1 + np.exp(-self.epsilon)), 1)
        return Network.from_edges(data.nodes, *np.nonzero(np.triu((data.adjacency.toarray() > 0) ^ flipped, 1)))

    def score(self, released):
        return float(released.size)


class PublicBound(Claimed):
    """Edges with noise for the degree that is said to be public, and is not enforced."""

    name = "public-bound"

    @property
    def guarantee(self):
        from dataclasses import replace

        return replace(super().guarantee, public=("that no node has more than 3 neighbours",))

    def inputs(self):
        return Network.from_edges(5, [1, 2], [2, 3]), Network.from_edges(6, [1, 2, 5, 5, 5], [2, 3, 0, 1, 3])

    def release(self, data, rng):
        return float(data.size + rng.laplace(scale=3 / self.epsilon))


class UnitSphere(Claimed):
    """Gaussian noise on a vector that the client keeps within the unit ball."""

    name = "unit-ball"
    differ_in = "client"
    differ_by = "replace"
    delta = 1e-5
    gaussian = True

    def inputs(self):
        return np.array([0.6, 0.8, 0.0]), np.array([-0.6, -0.8, 0.0])

    def release(self, data, rng):
        return data + 2 / distance_of(self.epsilon, self.delta) * rng.standard_normal(3)

    def score(self, released):
        return float(-0.6 * released[0] - 0.8 * released[1])


class WritesToItsInput(Claimed):
    """Adds the noise to the array that it was given."""

    name = "writes-to-its-input"

    def inputs(self):
        return np.array([2.0, 3.0]), np.array([2.0, 4.0])

    def release(self, data, rng):
        data += rng.laplace(scale=1 / self.epsilon, size=2)
        return data

    def score(self, released):
        return float(released[1])
