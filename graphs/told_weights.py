"""What is told of the weights of edges where they are published: less than all that they are.

The sum of its weights names nearly every node of a weighted network. Three ways to tell less:

- ``rounded:D``: each weight is told as the nearest multiple of D.
- ``binned:B``: the edges are cut by weight into B classes of equally many, and each edge has the lower median of
  its class. Equal weights are cut at random, so that no class is small.
- ``noised:S``: to each weight noise of scale S is added, two-sided geometric where all weights are whole numbers
  (Ghosh, Roughgarden and Sundararajan 2009, section 2) and Laplace otherwise. No epsilon is promised: weights have
  no bound, and which edges there are is told as it is.
"""

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal, Self, get_args

import numpy as np

from ..errors import InputError, quoted
from .edge_cells import even_sizes, medians
from .network import Floats, Network

Way = Literal["rounded", "binned", "noised"]
EXPECTED = "expected rounded:10 (to multiples of 10), binned:3 (3 classes) or noised:5 (noise of scale 5)"
FINEST = 2.0**53
"""Weights beyond so many steps of a rounding have no digit there that it could round."""
WIDEST = 2.0**50


@dataclass(frozen=True)
class ToldWeights:
    """A way to tell weights, and how much it hides: the step, the number of classes, or the scale of the noise."""

    way: Way
    size: float

    @classmethod
    def read(cls, text: str) -> Self:
        """From ``WAY:SIZE``.

        Raises:
            InputError: an unknown way, or a size that is no positive number, or no whole one of classes.
        """
        name, colon, number = text.partition(":")
        way = next((known for known in get_args(Way) if known == name.strip()), None)
        if way is None or not colon:
            raise InputError(f"weights {quoted(text)}: {EXPECTED}")
        try:
            size = float(number)
        except ValueError:
            size = math.nan
        if not 0 < size <= WIDEST:
            raise InputError(
                f"weights {quoted(text)}: what follows the colon must be a positive number: {EXPECTED}"
            )
        if way == "binned" and size != int(size):
            raise InputError(f"weights {quoted(text)}: the number of classes must be whole: {EXPECTED}")
        return cls(way, size)

    @property
    def sentence(self) -> str:
        """What a reader of the release must know of its weights, as a sentence."""
        if self.way == "rounded":
            return f"Weights of edges are rounded to multiples of {self.size:g}."
        if self.way == "binned":
            return (
                f"Weights of edges are told in {int(self.size):,} classes of equally many edges: each edge has the "
                "median weight of its class."
            )
        return f"Noise of scale {self.size:g} was added to the weight of each edge. This promises no epsilon."

    def of(self, network: Network, rng: np.random.Generator) -> Network:
        """The network with the weights that are told.

        Raises:
            InputError: edges have no weights, are fewer than the classes, or have weights too large for the step.
        """
        if network.weights is None:
            raise InputError(
                f"weights {self.way}:{self.size:g}: edges have no weights here: leave the way to tell them out"
            )
        told = {"rounded": self._rounded, "binned": self._binned, "noised": self._noised}
        return replace(network, weights=told[self.way](network.weights, rng))

    def _rounded(self, weights: Floats, rng: np.random.Generator) -> Floats:
        steps = np.rint(weights / self.size)
        if len(steps) and not np.abs(steps).max() < FINEST:
            raise InputError(
                f"weights rounded:{self.size:g}: a weight of {np.abs(weights).max():g} has no digits that small: "
                "choose a larger step"
            )
        values, place = np.unique(steps, return_inverse=True)
        exact = Decimal(repr(self.size))  # 3 steps of 0.1 are 0.3, as people write it
        return np.array([float(exact * int(value)) for value in values.tolist()], dtype=np.float64)[place]

    def _binned(self, weights: Floats, rng: np.random.Generator) -> Floats:
        classes = int(self.size)
        if classes > len(weights):
            raise InputError(
                f"weights binned:{classes}: there are only {len(weights):,} edges: choose fewer classes"
            )
        cell = np.empty(len(weights), dtype=np.int64)
        cell[np.lexsort((rng.random(len(weights)), weights))] = np.repeat(
            np.arange(classes), even_sizes(len(weights), classes)
        )
        return medians(weights, cell)[cell]

    def _noised(self, weights: Floats, rng: np.random.Generator) -> Floats:
        if (weights != np.round(weights)).any():
            return weights + rng.laplace(0.0, self.size, len(weights))
        stop = -math.expm1(-1 / self.size)
        one, other = rng.geometric(stop, (2, len(weights)))
        noised: Floats = weights + (one - other)
        return noised
