"""An undirected graph with a weight for each pair of nodes, kept in tiles: dense where many pairs have a weight."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

SIDE = 512
"""Nodes along a tile: one tile of float32 is 1 MiB, which a core's cache holds."""
WIDE = 2**15
"""Nodes along a tile that holds some pairs alone: their places are numbers of 31 bits."""
SPARSE_BELOW = 1 / 32
"""Share of pairs with a weight below which a tile keeps these alone."""


@dataclass(frozen=True, eq=False)
class Tile:
    """Weights of the pairs i < j with i in ``rows`` and j in ``cols``.

    Attributes:
        rows, cols: nodes, from and to.
        values: of all pairs [a, b], zero for i >= j; or of some [k]. None is negative.
        places: which pairs these are, counted row by row, int32 [k] ascending; None where they are all.
    """

    rows: slice
    cols: slice
    values: Tensor
    places: Tensor | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.stop - self.rows.start, self.cols.stop - self.cols.start

    def less(self, shift: float) -> "Tile":
        """The weights diminished by ``shift`` and cut off at 0, in place."""
        self.values.sub_(shift).relu_()
        return self

    def compact(self) -> "Tile | None":
        """The same without zeros where that is smaller; None where there is nothing else."""
        count = int(self.values.sign().sum())  # the fastest way to count what is not zero
        if not count:
            return None
        if self.places is None and count >= SPARSE_BELOW * self.values.numel():
            return self
        where = self.values.flatten().nonzero().flatten()
        places = where.int() if self.places is None else self.places[where]
        return Tile(self.rows, self.cols, self.values.flatten()[where], places)

    def sum(self) -> float:
        """Sum of the weights, each cut off at 1."""
        capped = self.values if float(self.values.amax()) <= 1 else self.values.clamp(max=1)
        return float(capped.sum())

    def dense(self) -> Tensor:
        """All weights [a, b]; the tile's own memory where it has them all."""
        if self.places is None:
            return self.values
        whole = self.values.new_zeros(self.shape)
        whole.view(-1)[self.places.long()] = self.values
        return whole

    def at(self, row: Tensor, col: Tensor) -> Tensor:
        """Weights of some pairs [s], by their places within the tile."""
        if self.places is None:
            return self.values[row, col]
        wanted = (row * self.shape[1] + col).int()
        place = torch.searchsorted(self.places, wanted).clamp_(max=len(self.places) - 1)
        return self.values[place] * (self.places[place] == wanted)

    def like(self, other: "Tile") -> Tensor:
        """The weights here of the pairs that another tile of the same nodes has places for, [k]."""
        assert other.places is not None
        places = other.places.long()
        return self.at(places // self.shape[1], places % self.shape[1])

    def ends(self) -> tuple[Tensor, Tensor]:
        """The two nodes of each pair that has a place, int32 [k] each."""
        assert self.places is not None
        width = self.shape[1]
        return self.places // width + self.rows.start, self.places % width + self.cols.start


def tiles_of(nodes: int, side: int = SIDE) -> Iterator[tuple[slice, slice]]:
    """Rows and columns of the tiles that hold all pairs i < j."""
    parts = [slice(start, min(start + side, nodes)) for start in range(0, nodes, side)]
    for k, rows in enumerate(parts):
        for cols in parts[k:]:
            yield rows, cols


def drawn_pairs(nodes: int, count: int) -> Tensor:
    """Pairs i < j drawn at random by torch's generator, some ``count`` for each node and each once, [s, 2]."""
    low, high = torch.randint(nodes, (nodes * count // 2, 2)).t().sort(0).values
    codes = (low * nodes + high)[low < high].unique()
    return torch.stack([codes // nodes, codes % nodes], 1)


def tiles_with(pairs: Tensor, nodes: int, like: Tensor, side: int = WIDE) -> list[Tile]:
    """Tiles with a place for some pairs i < j, each there once, and zeros for their weights.

    Args:
        pairs: [s, 2] int64.
        nodes: n.
        like: a tensor whose type and device the weights have.
        side: nodes along a tile, `WIDE` at most.
    """
    low, high = pairs.t()
    across = -(-nodes // side)
    tile = (low // side) * across + high // side
    order = (tile * (side * side) + low % side * side + high % side).argsort()
    found, counts = tile[order].unique_consecutive(return_counts=True)
    tiles = []
    for number, own in zip(found.tolist(), order.split(counts.tolist()), strict=True):
        rows, cols = (slice(at * side, min((at + 1) * side, nodes)) for at in divmod(number, across))
        places = (low[own] - rows.start) * (cols.stop - cols.start) + high[own] - cols.start
        tiles.append(Tile(rows, cols, like.new_zeros(len(own)), places.int()))
    return tiles


class WeightedGraph:
    """A symmetric matrix A [n, n] without a diagonal, entries in [0, 1].

    Takes memory for the entries that are not zero; where these are more than `SPARSE_BELOW` of a tile, 4 bytes for
    each of its pairs: 2 n^2 bytes at most.

    Args:
        nodes: n.
        tiles: that have an entry, in any order.
        like: a tensor whose type and device the matrix has.
    """

    def __init__(self, nodes: int, tiles: Iterable[Tile], like: Tensor) -> None:
        self.nodes = nodes
        self.like = like.new_empty(0)
        self.tiles = {(tile.rows.start, tile.cols.start): tile for tile in tiles}

    def tile(self, rows: slice, cols: slice) -> Tensor:
        """A tile [a, b] as it stands, or zeros."""
        found = self.tiles.get((rows.start, cols.start))
        return self.like.new_zeros(_size(rows), _size(cols)) if found is None else found.dense()

    def taken(self, rows: slice, cols: slice) -> Tensor:
        """A tile [a, b] to overwrite, gone from here."""
        found = self.tiles.pop((rows.start, cols.start), None)
        return self.like.new_zeros(_size(rows), _size(cols)) if found is None else found.dense()

    @cached_property
    def degrees(self) -> Tensor:
        """Sum of each row, [n]."""
        degrees = self.like.new_zeros(self.nodes)
        for tile in self.tiles.values():
            if tile.places is None:
                degrees[tile.rows] += tile.values.sum(1)
                degrees[tile.cols] += tile.values.sum(0)
            else:
                for ends in tile.ends():
                    degrees.index_add_(0, ends, tile.values)
        return degrees

    @cached_property
    def norm(self) -> float:
        """Root of the sum over pairs i < j of squared weights."""
        squares = [float(tile.values.flatten().dot(tile.values.flatten())) for tile in self.tiles.values()]
        return math.sqrt(math.fsum(squares))

    @cached_property
    def count(self) -> int:
        """Pairs with a weight."""
        return sum(int(tile.values.count_nonzero()) for tile in self.tiles.values())

    def __matmul__(self, rows: Tensor) -> Tensor:
        """A times a matrix [n, k]."""
        wide = rows.t().contiguous()  # k is small: BLAS is several times as fast from this side
        product = torch.zeros_like(wide)
        for tile in self.tiles.values():
            if tile.places is None:
                product[:, tile.rows].addmm_(wide[:, tile.cols], tile.values.t())
                product[:, tile.cols].addmm_(wide[:, tile.rows], tile.values)
        if self._scattered is None:
            return product.t()
        return product.t() + self._scattered @ rows.contiguous()

    @cached_property
    def _scattered(self) -> Tensor | None:
        """All entries of sparse tiles as one CSR matrix, in both directions; int32 halves its size."""
        sparse = [tile for tile in self.tiles.values() if tile.places is not None]
        if not sparse:
            return None
        low, high = (torch.cat(ends).long() for ends in zip(*(tile.ends() for tile in sparse), strict=True))
        places = torch.cat([low * self.nodes + high, high * self.nodes + low])
        del low, high
        places, order = places.sort()
        count = len(order) // 2
        values = torch.cat([tile.values for tile in sparse])[order % count]
        starts = torch.arange(self.nodes + 1, device=places.device) * self.nodes
        starts = torch.searchsorted(places, starts, out_int32=True)
        cols = places.remainder_(self.nodes).int()
        return torch.sparse_csr_tensor(starts, cols, values, (self.nodes, self.nodes), check_invariants=False)

    def at(self, pairs: Tensor) -> Tensor:
        """Weights of some pairs [s, 2], [s]."""
        low, high = pairs.min(1).values, pairs.max(1).values
        found = self.like.new_zeros(len(pairs))
        for tile in self.tiles.values():
            inside = (low >= tile.rows.start) & (low < tile.rows.stop)
            inside = (inside & (high >= tile.cols.start) & (high < tile.cols.stop)).nonzero().flatten()
            found[inside] = tile.at(low[inside] - tile.rows.start, high[inside] - tile.cols.start)
        return found

    def drawn(self) -> "WeightedGraph":
        """A graph of which each pair is an edge with its weight as probability, drawn by torch's generator."""
        tiles = []
        for tile in self.tiles.values():
            # drawn on the CPU, so that the device does not change what is drawn
            coins = torch.rand(tile.values.shape).to(self.like.device)
            edges = Tile(tile.rows, tile.cols, (coins < tile.values).to(self.like.dtype), tile.places)
            tiles.append(edges.compact())
        return WeightedGraph(self.nodes, [tile for tile in tiles if tile is not None], self.like)


def _size(part: slice) -> int:
    size: int = part.stop - part.start
    return size
