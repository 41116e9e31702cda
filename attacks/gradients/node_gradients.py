"""The gradients that single labelled nodes give at known weights: what a mean over labelled nodes is made of."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array

from ...errors import InputError
from ...graphs.network import Floats, Ints

Tensors = Mapping[str, Floats]
"""Weights, or a gradient by them, by name."""
WEIGHTS = {"gcn": ("w1", "b1", "w2", "b2"), "sgc": ("w", "b")}
"""Weights of the models whose gradients are known here."""
DENSE = 5000
"""Nodes up to which all products of rows with each other are kept: 200 MB."""


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What two-layer message passing reads of a graph.

    Attributes:
        rows: once aggregated features A_hat X, [n, d].
        second: the candidates' rows of A_hat, [s, n].
    """

    rows: csr_array
    second: csr_array

    @cached_property
    def products(self) -> Floats | None:
        """Products of all rows with each other [n, n], where the graph is small."""
        return (self.rows @ self.rows.T).toarray() if self.rows.shape[0] <= DENSE else None

    def between(self, some: Ints, others: Ints) -> Floats:
        """Products of some rows with others."""
        if self.products is not None:
            return self.products[np.ix_(some, others)]
        found: Floats = (self.rows[some] @ self.rows[others].T).toarray()
        return found

    def first(self, candidates: int) -> "Surroundings":
        """The same for the first candidates alone; products of rows are worked out once for both."""
        found = Surroundings(self.rows, self.second[:candidates])
        found.__dict__["products"] = self.products
        return found

    @cached_property
    def reached(self) -> Ints:
        """Nodes that some candidate's gradient reads, ascending."""
        return np.unique(self.second.indices)

    @cached_property
    def rows_reached(self) -> csr_array:
        """Their rows, [m, d]."""
        return self.rows[self.reached]

    @cached_property
    def around(self) -> list[Floats]:
        """Of each candidate, products of the rows that it reads."""
        places = self.second.indices.astype(np.int64)
        near = (places[start:end] for start, end in pairwise(self.second.indptr))
        return [self.between(one, one) for one in near]


@dataclass(frozen=True, eq=False)
class Atoms:
    """Guesses of single labelled nodes.

    Attributes:
        node: positions among the candidates, [a].
        label: their classes, [a].
    """

    node: Ints
    label: Ints

    def __len__(self) -> int:
        return len(self.node)

    def where(self, kept: np.ndarray) -> "Atoms":
        """Some of them."""
        return Atoms(self.node[kept], self.label[kept])

    def and_then(self, more: "Atoms") -> "Atoms":
        """These and more."""
        return Atoms(np.concatenate([self.node, more.node]), np.concatenate([self.label, more.label]))


class NodeGradients(ABC):
    """Gradients of the cross-entropy of single nodes by the weights of a two-layer model.

    At fixed weights the gradient of node i is linear in the error of its posterior, e = p_i - e_y: A_i e. A mean
    over labelled nodes is the sum of their A_i e / k. Since sum_y p_iy (p_i - e_y) = 0, the gradients that a node
    gives with each of the C labels add up to zero when weighted by its posterior.

    Attributes:
        near: what the model reads.
        weights: at which the gradients are taken.
        posterior: the model's for each candidate, [s, C].
    """

    near: Surroundings
    weights: Tensors
    posterior: Floats

    def errors(self, atoms: Atoms) -> Floats:
        """p - e_y of each, [a, C]."""
        found = self.posterior[atoms.node]
        found[np.arange(len(atoms)), atoms.label] -= 1
        return found

    def summed_errors(self, atoms: Atoms, shares: Floats) -> Floats:
        """Errors of all candidates [s, C], where atoms take part in a sum with shares [a]."""
        total = np.zeros_like(self.posterior)
        np.add.at(total, atoms.node, shares[:, None] * self.errors(atoms))
        return total

    def slopes(self, read: Floats) -> Floats:
        """Products of each candidate's gradient with each label [s, C], from what `against` says."""
        found: Floats = (self.posterior * read).sum(1, keepdims=True) - read
        return found

    @property
    @abstractmethod
    def read_rows(self) -> Floats:
        """What the last layer reads of each candidate, [s, m]."""

    @abstractmethod
    def of(self, error: Floats) -> dict[str, Floats]:
        """The gradient of a sum over candidates with errors [s, C]."""

    @abstractmethod
    def against(self, gradient: Tensors) -> Floats:
        """A_i^T g for each candidate, [s, C]: products with a gradient are linear in the error too."""

    @cached_property
    def squares(self) -> Floats:
        """Squared lengths of the candidates' gradients with each label, [s, C]."""
        return self._squares()

    @abstractmethod
    def _squares(self) -> Floats: ...

    @abstractmethod
    def between(self, some: Atoms, others: Atoms) -> Floats:
        """Products of some atoms' gradients with others', [a, b]."""


class GCNGradients(NodeGradients):
    """Of logits A_hat relu(A_hat X w1 + b1) w2 + b2: the gradient by w1 is rows^T (second^T e w2^T o mask)."""

    def __init__(self, near: Surroundings, weights: Tensors) -> None:
        self.near, self.weights = near, weights
        before = near.rows @ weights["w1"] + weights["b1"]
        self.on = before > 0
        hidden = np.where(self.on, before, 0.0)
        self.read = near.second @ hidden
        self.posterior = _softmax(self.read @ weights["w2"] + weights["b2"])

    @property
    def read_rows(self) -> Floats:
        return self.read

    def of(self, error: Floats) -> dict[str, Floats]:
        back = self.near.second.T @ error
        used = np.flatnonzero(back.any(1))
        into = (back[used] @ self.weights["w2"].T) * self.on[used]
        return {
            "w1": self.near.rows[used].T @ into,
            "b1": into.sum(0),
            "w2": self.read.T @ error,
            "b2": error.sum(0),
        }

    def against(self, gradient: Tensors) -> Floats:
        reached = self.near.reached
        into = np.zeros((self.near.rows.shape[0], len(self.weights["b1"])))
        into[reached] = self.near.rows_reached @ gradient["w1"] + gradient["b1"]
        first = self.near.second @ (into * self.on) @ self.weights["w2"]
        found: Floats = first + self.read @ gradient["w2"] + gradient["b2"]
        return found

    def _squares(self) -> Floats:
        ends, around = self.near.second.indptr, self.near.around
        form = np.empty_like(self.read)
        for i, products in enumerate(around):
            part = slice(ends[i], ends[i + 1])
            own = self.near.second.data[part, None] * self.on[self.near.second.indices[part]]
            form[i] = (own * (products @ own)).sum(0) + own.sum(0) ** 2
        last = (self.read**2).sum(1) + 1
        found = np.empty_like(self.posterior)
        for label in range(found.shape[1]):
            error = self.errors(Atoms(np.arange(len(found)), np.full(len(found), label)))
            found[:, label] = (form * (error @ self.weights["w2"].T) ** 2).sum(1) + last * (error**2).sum(1)
        return found

    def between(self, some: Atoms, others: Atoms) -> Floats:
        first, second = self._spread(some), self._spread(others)
        products = self.near.between(first.place, second.place) + 1  # one more for b1
        by_row = np.add.reduceat((first.into @ second.into.T) * products, first.start, axis=0)
        by_last = (self.read[some.node] @ self.read[others.node].T + 1) * (
            self.errors(some) @ self.errors(others).T
        )
        found: Floats = np.add.reduceat(by_row, second.start, axis=1) + by_last
        return found

    def _spread(self, atoms: Atoms) -> "_Spread":
        part = self.near.second[atoms.node]
        size = np.diff(part.indptr)
        back = self.errors(atoms) @ self.weights["w2"].T
        into = part.data[:, None] * np.repeat(back, size, axis=0) * self.on[part.indices]
        return _Spread(part.indices.astype(np.int64), into, part.indptr[:-1].astype(np.int64))


@dataclass(frozen=True, eq=False)
class _Spread:
    """Atoms over the rows that they read: which rows, what goes into each [t, h], where each atom starts."""

    place: Ints
    into: Floats
    start: Ints


class SGCGradients(NodeGradients):
    """Of logits A_hat^2 X w + b: the gradient is (A_hat^2 X)_i times the error."""

    def __init__(self, near: Surroundings, weights: Tensors) -> None:
        self.near, self.weights = near, weights
        self.read = csr_array(near.second @ near.rows)
        self.posterior = _softmax(self.read @ weights["w"] + weights["b"])

    @cached_property
    def read_rows(self) -> Floats:
        found: Floats = self.read.toarray()
        return found

    def of(self, error: Floats) -> dict[str, Floats]:
        return {"w": self.read.T @ error, "b": error.sum(0)}

    def against(self, gradient: Tensors) -> Floats:
        found: Floats = self.read @ gradient["w"] + gradient["b"]
        return found

    def _squares(self) -> Floats:
        length = np.asarray(self.read.multiply(self.read).sum(1)).ravel() + 1
        own = (self.posterior**2).sum(1, keepdims=True) - 2 * self.posterior + 1
        found: Floats = length[:, None] * own
        return found

    def between(self, some: Atoms, others: Atoms) -> Floats:
        rows = (self.read[some.node] @ self.read[others.node].T).toarray() + 1
        found: Floats = rows * (self.errors(some) @ self.errors(others).T)
        return found


def node_gradients(near: Surroundings, weights: Tensors) -> NodeGradients:
    """Those of the model that has such weights.

    Raises:
        InputError: no GCN and no SGC has them, or their shapes do not go together.
    """
    names = set(weights)
    if names not in map(set, WEIGHTS.values()):
        raise InputError(f"the model has weights {', '.join(sorted(names))}: expected those of a GCN or an SGC")
    if any(not np.isfinite(value).all() for value in weights.values()):
        raise InputError("the model's weights are not finite")
    first = weights["w1"] if "w1" in names else weights["w"]
    if first.ndim != 2 or first.shape[0] != near.rows.shape[1]:
        raise InputError(
            f"the model's first weights are {list(first.shape)}, and nodes have {near.rows.shape[1]} features"
        )
    return GCNGradients(near, weights) if "w1" in names else SGCGradients(near, weights)


def _softmax(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max(1, keepdims=True))
    found: Floats = powers / powers.sum(1, keepdims=True)
    return found
