"""How unlike the features at the ends of edges are, as GraphMI penalises it, and its gradient for every pair."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ...targets.models.propagation import sparse_features
from .weighted_graph import SIDE, Tile, WeightedGraph

OFFSET = 1e-3
"""Added to degrees before their root is taken, in the authors' code."""
AT_ONCE = 2**16
"""Pairs whose rows are multiplied at a time."""
LARGEST = 2**30
"""Bytes of inner products that are kept; beyond, they are computed anew at every step."""


class Gram:
    """Inner products of all rows of features x [n, d], in tiles.

    Kept where they take at most ``largest`` bytes: 2 n^2 and a little more (of float32).
    """

    def __init__(self, x: Tensor, largest: int = LARGEST, side: int = SIDE) -> None:
        self.x, self._sparse = x, sparse_features(x)
        self.squares = x.square().sum(1)
        self._kept: dict[tuple[int, int], Tensor] = {}
        room = len(x) * (len(x) + side) // 2  # tiles of the diagonal are whole
        self._size = room if room * x.element_size() <= largest else 0
        self._room: Tensor | None = None
        self._used = 0
        self._rows: tuple[int, Tensor] | None = None

    def tile(self, rows: slice, cols: slice) -> Tensor:
        """x[rows] x[cols]', [a, b]; not to be changed."""
        key = rows.start, cols.start
        if key in self._kept:
            return self._kept[key]
        return self._keep(key, self._some(rows) @ self.x[cols].t())

    def inner(self, tile: Tile) -> Tensor:
        """The inner products of the pairs that a tile has places for, [k]."""
        assert tile.places is not None
        return self.tile(tile.rows, tile.cols).reshape(-1)[tile.places.long()]

    def _keep(self, key: tuple[int, int], tile: Tensor) -> Tensor:
        """Copies a tile to where all are kept; one piece of memory, for many of this size leave gaps in between."""
        if not self._size:
            return tile
        if self._room is None:
            self._room = tile.new_empty(self._size)
        end = self._used + tile.numel()
        kept = self._room[self._used : end].view(tile.shape)
        self._kept[key], self._used = kept.copy_(tile), end
        return kept

    def _some(self, rows: slice) -> Tensor:
        """Rows of the features, sparse where these are; those of one tile are those of the next."""
        if self._sparse is self.x:
            return self.x[rows]
        if self._rows is None or self._rows[0] != rows.start:
            self._rows = rows.start, sparse_features(self.x[rows], denser_than=1)
        return self._rows[1]


class GramOfSome:
    """Inner products of the rows of x [n, d] for some pairs alone, in tiles that have places for them."""

    def __init__(self, x: Tensor, tiles: Iterable[Tile]) -> None:
        self.squares = x.square().sum(1)
        self.tiles = {(t.rows.start, t.cols.start): replace(t, values=_products(x, *t.ends())) for t in tiles}

    def inner(self, tile: Tile) -> Tensor:
        """Those of pairs that a tile has places for, [k]."""
        return self.tiles[tile.rows.start, tile.cols.start].like(tile)

    def tile(self, rows: slice, cols: slice) -> Tensor:
        """A tile [a, b], zero where a pair is none of these."""
        return self.tiles[rows.start, cols.start].dense()


def _products(x: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Inner products of rows [k], a few pairs at a time."""
    parts = zip(low.split(AT_ONCE), high.split(AT_ONCE), strict=True)
    return torch.cat([(x[i] * x[j]).sum(1) for i, j in parts])


@dataclass(frozen=True, eq=False)
class Smoothness:
    """The smoothness term trace(X' L X), L the normalised Laplacian, at one graph.

    Its derivative by the weight of the pair {i, j} is ends[i] + ends[j] - 2 scale[i] scale[j] x[i] . x[j].

    Attributes:
        value: the term.
        scale: (d + 1e-3)^-1/2 [n].
        ends: what an edge adds at each of its ends, through the degrees [n].
    """

    value: float
    scale: Tensor
    ends: Tensor

    @classmethod
    def of(cls, graph: WeightedGraph, gram: Gram | GramOfSome) -> "Smoothness":
        degrees, squares = graph.degrees, gram.squares
        scale = (degrees + OFFSET).rsqrt()
        slope = -0.5 * scale**3
        likeness = _likeness(graph, gram, scale)
        value = (scale**2 * degrees * squares - scale * likeness).sum()
        ends = squares * (scale**2 + 2 * scale * slope * degrees) - 2 * slope * likeness
        return cls(float(value), scale, ends)


def _likeness(graph: WeightedGraph, gram: Gram | GramOfSome, scale: Tensor) -> Tensor:
    """For each node the sum over others of weight, scale and inner product, [n]."""
    found = torch.zeros_like(scale)
    for tile in graph.tiles.values():
        if tile.places is None:
            alike = tile.values * gram.tile(tile.rows, tile.cols)
            found[tile.rows] += alike @ scale[tile.cols]
            found[tile.cols] += alike.t() @ scale[tile.rows]
        else:
            low, high = (ends.long() for ends in tile.ends())
            alike = tile.values * gram.inner(tile)
            found.index_add_(0, low, alike * scale[high])
            found.index_add_(0, high, alike * scale[low])
    return found
