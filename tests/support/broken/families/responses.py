"""Wrong randomised responses."""

import numpy as np

from .claimed import Claimed


class Response(Claimed):
    """A person's bit, told by the person."""

    differ_by = "replace"
    model = "local"

    @property
    def truth(self):
        return 1 / (1 + np.exp(-self.epsilon))

    def inputs(self):
        return 0, 1


class FairCoin(Response):
    """The truth with the odds of epsilon, and else a fair coin, which tells the truth every other time."""

    name = "fair-coin"

    def release(self, data, rng):
        return data if rng.random() < self.truth else int(rng.integers(2))


class ManyCategories(Response):
    """The odds of two categories, used for eight."""

    name = "many-categories"

    def release(self, data, rng):
        return data if rng.random() < self.truth else int(rng.choice([v for v in range(8) if v != data]))

    def score(self, released):
        return float(released == 1)


class EveryBitAllEpsilon(Response):
    """A unary code of which each bit is flipped with all of epsilon."""

    name = "every-bit-all-epsilon"

    def inputs(self):
        return np.eye(4, dtype=int)[0], np.eye(4, dtype=int)[1]

    def release(self, data, rng):
        return np.where(rng.random(4) < self.truth, data, 1 - data)

    def score(self, released):
        return float(released[1])


class AskedThreeTimes(Response):
    """The majority of three answers, and how many there were."""

    name = "asked-three-times"

    def release(self, data, rng):
        return int(sum(data if rng.random() < self.truth else 1 - data for _ in range(3)))


class OneSided(Response):
    """Only those with a 1 may lie."""

    name = "one-sided"

    def release(self, data, rng):
        return int(data and rng.random() < self.truth)


class NeighboursOfANode(Claimed):
    """Each possible edge of a node answered at epsilon, sold for the node."""

    name = "neighbours-of-a-node"
    differ_by = "replace"
    model = "local"

    def inputs(self):
        return np.array([0, 0, 1, 0, 0, 1]), np.array([1, 0, 1, 1, 0, 0])

    def release(self, data, rng):
        return np.where(rng.random(6) < 1 / (1 + np.exp(-self.epsilon)), data, 1 - data)

    def score(self, released):
        return float(released.sum())


class LengthTells(Claimed):
    """Random answers, one for each item that the person has."""

    name = "length-tells"
    differ_by = "replace"
    model = "local"

    def inputs(self):
        return ["x", "y"], ["x", "z", "y"]

    def release(self, data, rng):
        return [str(rng.choice(["x", "y", "z"])) for _ in data]

    def score(self, released):
        return float(released.count("z"))
