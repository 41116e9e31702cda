"""Projection onto graphs with a budget of edges, of weights that come tile by tile."""

import math

import torch
from torch import Tensor

from .weighted_graph import Tile, WeightedGraph

PATIENCE = 1 << 16
"""New candidates before it is looked whether some can be dropped."""


class Projection:
    """The nearest weights in [0, 1] whose sum is at most a budget: clamp(v - mu, 0, 1), with the least mu >= 0.

    Few of many pairs outlive a budget that is exceeded. The mu that would do for the tiles seen so far can only
    grow with further ones: what is not above it is dropped at once, and no more is kept than twice the outcome,
    and a few tiles.

    Args:
        budget: largest sum over pairs, positive.
        patience: see `PATIENCE`.
    """

    def __init__(self, budget: float, patience: int = PATIENCE) -> None:
        self.budget, self.patience = budget, patience
        self.shift = 0.0
        self._tiles: list[Tile] = []
        self._sum = 0.0
        self._fresh = self._kept = 0

    def add(self, tile: Tile) -> None:
        """Takes a dense tile of weights v >= 0; its memory too."""
        found = (tile.less(self.shift) if self.shift else tile).compact()
        if found is None:
            return
        self._tiles.append(found)
        self._sum += found.sum()
        self._fresh += found.values.numel()
        if self._sum > self.budget and self._fresh > max(self.patience, self._kept):
            self._raise()

    def _raise(self) -> None:
        """Raises mu to what the tiles so far need; they hold what is above it."""
        more = smallest_shift(torch.cat([_positive(tile) for tile in self._tiles]), self.budget)
        left = [tile.less(more).compact() for tile in self._tiles]
        self._tiles = [tile for tile in left if tile is not None]
        self.shift += more
        self._sum, self._fresh = self.budget, 0
        self._kept = sum(tile.values.numel() for tile in self._tiles)

    def graph(self, nodes: int, like: Tensor) -> WeightedGraph:
        """The outcome; nothing can be added afterwards."""
        if self._sum > self.budget:
            self._raise()
        for tile in self._tiles:
            tile.values.clamp_(max=1)
        return WeightedGraph(nodes, self._tiles, like)


def _positive(tile: Tile) -> Tensor:
    return tile.values if tile.places is not None else tile.values[tile.values > 0]


def smallest_shift(values: Tensor, budget: float) -> float:
    """mu with sum clamp(v - mu, 0, 1) = budget, which is positive and exceeded at mu = 0; by Newton's method.

    A piecewise linear function has its zero found in a few steps, each kept within an interval that shrinks. (The
    authors bisect until the interval is shorter than 1e-5, which weights of 0.01 feel.)
    """
    least = torch.finfo(values.dtype).eps
    low, high, shift = 0.0, float(values.max()), 0.0
    while high - low > least * high:
        left = (values - shift).clamp_(0, 1)
        excess = float(left.sum(dtype=torch.double)) - budget
        low, high = (shift, high) if excess > 0 else (low, shift)
        slope = int(left.count_nonzero()) - int((left == 1).count_nonzero())
        step = excess / slope if slope else math.inf
        if abs(step) <= least * shift:
            break
        shift += step
        if not low < shift < high:
            shift = (low + high) / 2
    return shift
