"""The CPU's way to train one model of many: sparse matrices in, compiled training, answers out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from .compiled_training import Reads, Shape, Turned, answers, train
from .kernels import LANES, Csr, aligned, panel_width
from .propagation import mean_operator
from .training_config import TrainingConfig, weight_shapes
from .training_task import One, Query, TrainingTask

PARTS = {"gcn": (True,), "sgc": (True,), "sage": (True, False), "mlp": (False,)}
"""Which parts of a layer are propagated."""
TILE_BYTES = 2**19  # half of a usual second-level cache
TILE_ENTRIES = 64  # fewer to a row of a tile and its beginning costs more than what the cache saves
DENSE = 0.25  # the share of entries from which on a product with all of them is faster, and its matrix smaller
FAR = 2**14  # nodes from which on a panel of hidden units is far larger than the second-level cache
Features = sp.csr_matrix | np.ndarray
TrainOne = Callable[[int, dict[str, Tensor], np.random.SeedSequence], One]


def trainer(task: TrainingTask, queries: Sequence[Query]) -> TrainOne:
    """A function that trains model k from its first weights with its own randomness, and asks it."""
    x, labels = _features(task.data.x), _labels(task)
    sights = Sights(x, task.recipe)
    whole = None if task.induced else sights.of(task.data.edge_index)
    watched, ask = _watched(task, sights), _asker(task, queries, sights)

    def train_one(k: int, first: dict[str, Tensor], coins: np.random.SeedSequence) -> One:
        members = task.members[k].numpy()
        nodes = np.flatnonzero(members)
        sight, inside = (whole, nodes) if whole else (_induced(x, task, members), np.arange(len(nodes)))
        theta, shape = packed(task.recipe, first, sight.nodes, len(nodes), task.classes)
        epochs = _trained(task.recipe, sight, inside, labels[nodes], watched, theta, shape, coins)
        trained = unpacked(task.recipe, theta, shape)
        return ask(k, trained), epochs, trained

    return train_one


def asker(task: TrainingTask, queries: Sequence[Query]) -> Callable[[int, dict[str, Tensor]], list[Tensor]]:
    """A function that asks model k, given by its weights, all queries."""
    own = any(query.x is None for query in queries)  # else nobody reads the graph's own
    return _asker(task, queries, Sights(_features(task.data.x if own else task.data.x[:0]), task.recipe))


def _asker(
    task: TrainingTask, queries: Sequence[Query], sights: "Sights"
) -> Callable[[int, dict[str, Tensor]], list[Tensor]]:
    known = [None if query.apart else _reads(query, sights, None) for query in queries]

    def ask(k: int, weights: dict[str, Tensor]) -> list[Tensor]:
        theta, shape = packed(task.recipe, weights, 0, 0, task.classes)
        members = task.members[k].numpy()
        pairs = zip(queries, known, strict=True)
        return [_answered(reads or _reads(q, sights, members), theta, shape) for q, reads in pairs]

    return ask


def _features(x: Tensor) -> Features:
    """Features [n, F] by rows: sparse where most of them are zero, else as they are, without a copy."""
    if x.layout == torch.sparse_csr:
        return _scipy(x)
    rows = np.ascontiguousarray(x.numpy(), np.float32)
    return rows if np.count_nonzero(rows) > DENSE * rows.size else sp.csr_matrix(rows)


def _labels(task: TrainingTask) -> np.ndarray:
    labels: np.ndarray = task.data.y.numpy().astype(np.int64, copy=False)
    return labels


def _reads(query: Query, sights: "Sights", members: np.ndarray | None) -> Reads:
    """What it takes to answer a query; its edges may depend on who the model's members are."""
    edges, asked = query.edges, query.nodes.numpy()
    if edges is not None and members is not None:
        ends = edges.numpy()
        edges = edges[:, torch.from_numpy(members[ends[0]] == members[ends[1]])]
    elif query.x is None:
        return sights.of(edges).reads(asked)
    asked_with = sights.x if query.x is None else _features(query.x)
    return Sight.of(asked_with, edges, sights.recipe).reads(asked)


@dataclass(frozen=True)
class Sight:
    """A graph as a model of some recipe sees it: features [n, F] and propagation [n, n], with their transposes.

    ``propagated`` [2, parts] says which parts of a layer are propagated while it is computed. The first layer of a
    GCN on dense features is (A X) W instead of A (X W) where the hidden units of all nodes do not stay in the
    cache: the features are propagated once, and not their products in each epoch.
    """

    x: Features
    operator: sp.csr_matrix
    propagated: np.ndarray
    kept: dict[int, tuple[Csr, Csr]] = field(default_factory=dict)

    @classmethod
    def of(cls, x: Features, edges: Tensor | None, recipe: TrainingConfig) -> "Sight":
        """All nodes of ``x`` with ``edges`` [2, e], or alone."""
        operator, parts = _propagation(recipe, edges, x.shape[0]), np.array(PARTS[recipe.architecture])
        if recipe.architecture == "gcn" and isinstance(x, np.ndarray) and len(x) >= FAR:
            return cls(operator @ x, operator, np.stack([~parts, parts]))
        return cls(x, operator, np.stack([parts, parts]))

    @property
    def nodes(self) -> int:
        return int(self.x.shape[0])

    @cached_property
    def compiled(self) -> tuple[Csr, Csr]:
        return (_all_entries(self.x) if isinstance(self.x, np.ndarray) else _csr(self.x)), _csr(self.operator)

    def turned(self, width: int) -> tuple[Csr, Csr]:
        if width not in self.kept:
            self.kept[width] = self._turned_features(width), self._turned_operator()
        return self.kept[width]

    def _turned_operator(self) -> Csr:
        """The operator's transpose: the operator itself where it is symmetric, as a GCN's mostly is."""
        turned = _csr(self.operator.T)
        same = all(map(np.array_equal, turned, self.compiled[1]))
        return self.compiled[1] if same else turned

    def _turned_features(self, width: int) -> Csr:
        if isinstance(self.x, np.ndarray):
            return self.compiled[0]
        enough = TILE_ENTRIES * self.nodes * self.x.shape[1] // max(self.x.nnz, 1)
        return _tiles(self.x, max(min(enough, TILE_BYTES // (4 * width)), 1))

    def reads(self, asked: np.ndarray) -> Reads:
        """What it takes to answer for some nodes."""
        return Reads(*self.compiled, _csr(self._rows(asked)), asked, self.propagated)

    def turned_for(self, asked: np.ndarray, width: int) -> Turned:
        """The transposed matrices for a first layer in panels of some width."""
        ones = (_csr(np.ones((1, count), np.float32)) for count in (self.nodes, len(asked)))
        return Turned(*self.turned(width), _csr(self._rows(asked).T), *ones)

    def _rows(self, asked: np.ndarray) -> sp.csr_matrix:
        """The operator's rows for some nodes, not copied where all are asked in their order."""
        everybody = len(asked) == self.nodes and bool((asked == np.arange(self.nodes)).all())
        return self.operator if everybody else self.operator[asked]


@dataclass(frozen=True)
class Sights:
    """The same nodes with different edges, as models of a recipe see them: each made once.

    Models are often trained, watched and asked with the same edges.
    """

    x: Features
    recipe: TrainingConfig
    known: list[tuple[Tensor | None, Sight]] = field(default_factory=list)

    def of(self, edges: Tensor | None) -> Sight:
        """All nodes with ``edges`` [2, e], or alone."""
        found = next((sight for known, sight in self.known if known is edges), None)
        if found is None:
            found = Sight.of(self.x, edges, self.recipe)
            self.known.append((edges, found))
        return found


def _propagation(recipe: TrainingConfig, edges: Tensor | None, nodes: int) -> sp.csr_matrix:
    """What one propagation step multiplies with, [n, n]; nothing for an MLP."""
    if recipe.architecture == "mlp":
        return _empty(nodes)
    known = torch.empty((2, 0), dtype=torch.long) if edges is None else edges
    if recipe.architecture == "sage":
        return _scipy(mean_operator(known, nodes))
    return _normalised(known.numpy(), nodes)


def _normalised(edges: np.ndarray, nodes: int) -> sp.csr_matrix:
    """What `gcn_operator` gives, to the last bit, with 32-bit positions and a third of the memory on its way.

    Edges that are there twice have equal values, so that the order in which they are added up changes nothing.
    """
    loops = np.arange(nodes, dtype=np.int32)
    row, col = (np.concatenate([ends.astype(np.int32), loops]) for ends in edges)
    scale = torch.from_numpy(np.bincount(row, minlength=nodes).astype(np.float32)).rsqrt().numpy()
    values = scale[row]
    values *= scale[col]
    made: sp.csr_matrix = sp.coo_matrix((values, (row, col)), shape=(nodes, nodes)).tocsr()
    made.sort_indices()
    return made


def _empty(nodes: int) -> sp.csr_matrix:
    none = np.zeros(0, np.int32)
    return sp.csr_matrix((none.astype(np.float32), (none, none)), shape=(nodes, nodes))


def _scipy(matrix: Tensor) -> sp.csr_matrix:
    """A CSR tensor as scipy has it."""
    parts = matrix.values().numpy(), matrix.col_indices().numpy(), matrix.crow_indices().numpy()
    return sp.csr_matrix(parts, shape=(matrix.shape[0], matrix.shape[1]), dtype=np.float32)


def _tiles(x: sp.csr_matrix, rows: int) -> Csr:
    """The transpose of ``x`` [n, F] in tiles of so many nodes, one below the other."""
    parts = [sp.csr_matrix(x[first : first + rows].T) for first in range(0, max(x.shape[0], 1), rows)]
    entries = np.cumsum([0, *(p.nnz for p in parts)])
    starts = [p.indptr[:-1].astype(np.int64) + before for p, before in zip(parts, entries, strict=False)]
    columns = [p.indices.astype(np.int32) + k * rows for k, p in enumerate(parts)]
    values = np.concatenate([p.data for p in parts]).astype(np.float32)
    return Csr(np.append(np.concatenate(starts), entries[-1]), np.concatenate(columns).astype(np.int32), values)


def _csr(matrix: Any) -> Csr:
    rows = sp.csr_matrix(matrix)
    columns, values = rows.indices.astype(np.int32, copy=False), rows.data.astype(np.float32, copy=False)
    return Csr(rows.indptr.astype(np.int64, copy=False), columns, values)


def _all_entries(rows: np.ndarray) -> Csr:
    """Dense rows [n, F] as kernels read them, without a copy."""
    return Csr(np.arange(len(rows) + 1) * rows.shape[1], np.zeros(0, np.int32), rows.reshape(-1))


def _induced(x: Features, task: TrainingTask, members: np.ndarray) -> Sight:
    """The members' subgraph, in the order of their ids."""
    place = np.cumsum(members) - 1
    edges = task.data.edge_index.numpy()
    inside = edges[:, members[edges[0]] & members[edges[1]]]
    return Sight.of(x[members], torch.from_numpy(place[inside]), task.recipe)


def _watched(task: TrainingTask, sights: Sights) -> tuple[Reads, np.ndarray]:
    """Validation nodes: on the whole graph, or, where models are trained on subgraphs, on their own."""
    labels = _labels(task)
    if task.validation is None:
        nobody = np.zeros(0, dtype=np.int64)
        return Sight.of(sights.x[:0], None, task.recipe).reads(nobody), labels[nobody]
    chosen = task.validation.numpy()
    if task.induced:
        return _induced(sights.x, task, chosen).reads(np.arange(int(chosen.sum()))), labels[chosen]
    nodes = np.flatnonzero(chosen)
    return sights.of(task.data.edge_index).reads(nodes), labels[nodes]


def _trained(
    recipe: TrainingConfig,
    sight: Sight,
    inside: np.ndarray,
    labels: np.ndarray,
    watched: tuple[Reads, np.ndarray],
    theta: np.ndarray,
    shape: Shape,
    coins: np.random.SeedSequence,
) -> int:
    restart = 0 if recipe.drop_lr_at is None else int(recipe.epochs * recipe.drop_lr_at)
    return int(
        train(
            sight.reads(inside),
            sight.turned_for(inside, panel_width(shape.hidden) if shape.hidden else shape.padded),
            shape,
            labels,
            *watched,
            theta,
            recipe.epochs,
            recipe.lr,
            restart,
            recipe.weight_decay,
            round(256 * recipe.dropout),
            coins.generate_state(4, np.uint64),
            recipe.every,
            recipe.patience,
        )
    )


def _answered(reads: Reads, theta: np.ndarray, shape: Shape) -> Tensor:
    asked = len(reads.asked)
    look = shape._replace(nodes=len(reads.x.start) - 1, asked=asked)
    flat = answers(reads, theta, look)
    return torch.from_numpy(flat[: asked * shape.padded].reshape(asked, shape.padded)[:, : shape.classes].copy())


def packed(
    recipe: TrainingConfig, weights: dict[str, Tensor], nodes: int, asked: int, classes: int
) -> tuple[np.ndarray, Shape]:
    """Weights as one padded vector, and the sizes that go with it."""
    first = weights["w" if recipe.architecture == "sgc" else "w1"]
    linear = recipe.architecture == "sgc"
    hidden = 0 if linear else _padded(recipe.hidden)
    parts = len(PARTS[recipe.architecture])
    hops = recipe.hops if linear else 0
    shape = Shape(parts, nodes, asked, first.shape[0], hidden, classes, _padded(classes), hops)
    pieces = []
    for name in _order(recipe):
        weight = weights[name].numpy()
        rows, columns = _padded_size(name, shape)
        piece = np.zeros((rows, columns), np.float32)
        matrix = weight.reshape(-1, weight.shape[-1])
        piece[: len(matrix), : matrix.shape[1]] = matrix
        pieces.append(piece.reshape(rows, -1, _panel(name, shape)).swapaxes(0, 1).ravel())
    theta = aligned(sum(map(len, pieces)))
    np.concatenate(pieces, out=theta)
    return theta, shape


def unpacked(recipe: TrainingConfig, theta: np.ndarray, shape: Shape) -> dict[str, Tensor]:
    """The weights by name, without padding."""
    weights, start = {}, 0
    plain = weight_shapes(recipe, shape.features, shape.classes)
    for name in _order(recipe):
        rows, columns = _padded_size(name, shape)
        panels = theta[start : start + rows * columns].reshape(-1, rows, _panel(name, shape))
        piece, size = panels.swapaxes(0, 1).reshape(rows, columns), plain[name]
        piece = piece[: size[0], : size[1]] if len(size) == 2 else piece[0, : size[0]]
        weights[name] = torch.from_numpy(piece.copy())
        start += rows * columns
    return weights


def _order(recipe: TrainingConfig) -> tuple[str, ...]:
    if recipe.architecture == "sgc":
        return ("w", "b")
    return ("w1", "r1", "b1", "w2", "r2", "b2") if recipe.architecture == "sage" else ("w1", "b1", "w2", "b2")


def _padded_size(name: str, shape: Shape) -> tuple[int, int]:
    """Rows and columns of a weight in the padded vector."""
    if name in ("w", "b"):
        return (shape.features if name == "w" else 1), shape.padded
    columns = shape.hidden if name.endswith("1") else shape.padded
    if name.startswith("b"):
        return 1, columns
    return (shape.features if name.endswith("1") else shape.hidden), columns


def _panel(name: str, shape: Shape) -> int:
    """Columns to a panel of a weight in the padded vector: only a first layer is kept in panels."""
    columns = _padded_size(name, shape)[1]
    return int(panel_width(columns)) if name.endswith("1") else columns


def _padded(size: int) -> int:
    return -(-size // LANES) * LANES
