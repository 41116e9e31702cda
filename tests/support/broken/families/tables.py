"""Wrong releases of vectors, histograms and lists of records."""

import numpy as np

from .claimed import Claimed


class Histogram(Claimed):
    """Numbers of people in four cells."""

    def inputs(self):
        return np.array([3, 4, 5, 6]), np.array([3, 5, 5, 6])

    def score(self, released):
        return float(released[1])


class LastCellWithoutNoise(Histogram):
    """A loop that ends one cell too early."""

    name = "last-cell-without-noise"

    def release(self, data, rng):
        noise = rng.laplace(scale=1 / self.epsilon, size=len(data))
        noise[-1] = 0
        return data + noise


class SharedNoise(Histogram):
    """One draw of noise for all cells."""

    name = "shared-noise"

    def release(self, data, rng):
        return data + rng.laplace(scale=1 / self.epsilon)


class EmptyCellsLeftOut(Histogram):
    """Cells appear if somebody is in them."""

    name = "empty-cells-left-out"

    def inputs(self):
        return {"a": 3, "b": 4, "c": 5}, {"a": 3, "b": 5, "c": 5}

    def release(self, data, rng):
        return {key: n + rng.laplace(scale=1 / self.epsilon) for key, n in data.items() if n}

    def score(self, released):
        return released["b"]


class ZerosKept(Histogram):
    """Noise is multiplied, which leaves an empty cell empty."""

    name = "zeros-kept"

    def release(self, data, rng):
        return np.where(data > 0, data + rng.laplace(scale=1 / self.epsilon, size=len(data)), 0.0)


class ScaledByTheLargest(Histogram):
    """Shares of the true largest cell are published beside noisy cells."""

    name = "scaled-by-the-largest"

    def release(self, data, rng):
        noisy = data + rng.laplace(scale=1 / self.epsilon, size=len(data))
        return np.append(noisy / data.max(), noisy.sum() / data.max() - noisy.sum() / max(data.sum(), 1))


class L2ScaleForL1(Claimed):
    """Eight answers change by one each, the scale is their Euclidean length."""

    name = "l2-scale-for-l1"

    def inputs(self):
        return np.zeros(8), np.ones(8)

    def release(self, data, rng):
        return data + rng.laplace(scale=np.sqrt(len(data)) / self.epsilon, size=len(data))

    def score(self, released):
        return float(released[0])


class Records(Claimed):
    """Values between 0 and 1, one a person."""

    def inputs(self):
        return [0.2, 0.5, 0.6, 0.9, 1.0], [0.0, 0.2, 0.5, 0.6, 0.9, 1.0]


class MeanWithExactSize(Records):
    """A noisy sum over the true number of people."""

    name = "mean-with-exact-size"

    def release(self, data, rng):
        return (sum(data) + rng.laplace(scale=1 / self.epsilon)) / len(data), len(data)

    def score(self, released):
        return float(released[0])


class LocalMedian(Records):
    """A median with noise for how far it would move on these data."""

    name = "local-median"

    def release(self, data, rng):
        ranked = np.sort(np.concatenate([[0.0, 0.0], data, [1.0, 1.0]]))
        middle = len(ranked) // 2
        local = max(ranked[middle + 1] - ranked[middle], ranked[middle] - ranked[middle - 1])
        return float(ranked[middle] + rng.laplace(scale=1 / self.epsilon) * local)


class SmoothWithoutDelta(Records):
    """Smooth sensitivity with Laplace noise, which needs a delta that is not claimed."""

    name = "smooth-without-delta"

    def release(self, data, rng):
        ranked = np.sort(np.concatenate([np.zeros(12), data, np.ones(12)]))
        middle, most = len(ranked) // 2, 0.0
        for k in range(10):
            local = max(ranked[middle + t] - ranked[middle + t - k - 1] for t in range(k + 2))
            most = max(most, np.exp(-self.epsilon * k) * local)
        return float(ranked[middle] + most * rng.laplace(scale=1 / self.epsilon))


class TestWithoutNoise(Records):
    """Propose-test-release whose test looks at the true distance."""

    name = "test-without-noise"
    delta = 1e-6

    def release(self, data, rng):
        ranked = np.sort(data)
        middle = len(ranked) // 2
        spread = ranked[min(middle + 1, len(ranked) - 1)] - ranked[max(middle - 1, 0)]
        return None if spread > 0.4 else float(ranked[middle] + rng.laplace(scale=0.4 / self.epsilon))

    def score(self, released):
        return -9.0 if released is None else released


class UnclippedSum(Records):
    """Values are said to lie between 0 and 1 and are squared distances from the mean of the data."""

    name = "spread-of-all"

    def release(self, data, rng):
        return float(np.sum((np.array(data) - np.mean(data)) ** 2) * len(data)) + rng.laplace(
            scale=1 / self.epsilon
        )


class LargestAndSmallest(Records):
    """A sum with noise, and the range that it was clipped to, taken from the data."""

    name = "range-from-the-data"

    def release(self, data, rng):
        low, high = min(data, default=0), max(data, default=1)
        return sum(data) + (high - low) * rng.laplace(scale=1 / self.epsilon)


class ShuffledNoise(Histogram):
    """The same noise values in another order: their sum tells the total without noise."""

    name = "balanced-noise"

    def release(self, data, rng):
        noise = rng.laplace(scale=1 / self.epsilon, size=len(data))
        return data + noise - noise.mean()
