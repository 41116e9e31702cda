"""Message passing as matrix products: operators for whole graphs and for condensed ones."""

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

# torch calls its CSR matrices beta at every first use; the products used here are checked in the tests
warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta state")


def sparse_operator(rows: Tensor, cols: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """A CSR matrix from coordinates (entries at the same place are added up)."""
    indices = torch.stack([rows, cols])
    return torch.sparse_coo_tensor(indices, values, shape, check_invariants=False).coalesce().to_sparse_csr()


def gcn_operator(edge_index: Tensor, nodes: int, weight: Tensor | None = None) -> Tensor:
    """D^-1/2 (A + I) D^-1/2 of a sparse graph, [n, n] CSR (Kipf and Welling 2017, section 2)."""
    row, col = edge_index
    weight = torch.ones(row.numel(), device=row.device) if weight is None else weight
    loops = torch.arange(nodes, device=row.device)
    row, col = torch.cat([row, loops]), torch.cat([col, loops])
    weight = torch.cat([weight, torch.ones(nodes, device=row.device)])
    degree = torch.zeros(nodes, device=row.device).index_add_(0, row, weight)
    scale = degree.rsqrt()
    return sparse_operator(row, col, scale[row] * weight * scale[col], (nodes, nodes))


def mean_operator(edge_index: Tensor, nodes: int) -> Tensor:
    """The mean over the nodes that point at each node, [n, n] CSR (GraphSAGE); a row without any is zero."""
    source, target = edge_index
    degree = torch.bincount(target, minlength=nodes).clamp(min=1)
    return sparse_operator(target, source, 1 / degree[target], (nodes, nodes))


def dense_gcn_operator(adjacency: Tensor) -> Tensor:
    """D^-1/2 (A + I) D^-1/2 of a weighted dense graph, differentiable, [n, n]."""
    with_loops = adjacency + torch.eye(len(adjacency), device=adjacency.device)
    scale = with_loops.sum(1).rsqrt()
    return scale[:, None] * with_loops * scale[None, :]


def sparse_features(x: Tensor, denser_than: float = 0.25) -> Tensor:
    """``x`` as CSR if most of it is zero (bag-of-words), else as it is; products are the same either way."""
    if x.layout != torch.strided or float((x != 0).float().mean()) > denser_than:
        return x
    return x.to_sparse_csr()


class _SparseTimesDense(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: Tensor, transposed: Tensor, dense: Tensor) -> Tensor:
        ctx.save_for_backward(transposed)
        return matrix @ dense

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, None, Tensor]:
        (transposed,) = ctx.saved_tensors
        return None, None, transposed @ grads[0].contiguous()


@dataclass(frozen=True)
class Factor:
    """A matrix to multiply others with again and again: a sparse one is constant, a dense one may be trained.

    The transposed copy is made once: autograd would make it anew at every step.
    """

    matrix: Tensor
    transposed: Tensor

    @classmethod
    def of(cls, matrix: Tensor) -> "Factor":
        if matrix.layout == torch.strided:
            return cls(matrix, matrix.t())
        return cls(matrix, matrix.to_sparse_coo().t().coalesce().to_sparse_csr())

    def t(self) -> "Factor":
        """The transposed factor; nothing is copied."""
        return Factor(self.transposed, self.matrix)

    @cached_property
    def gram(self) -> Tensor:
        """Products of the rows with each other, [m, m] for m of them: made when first asked for, and kept."""
        return self.matrix @ self.transposed.to_dense()

    @cached_property
    def turned(self) -> Tensor:
        """Transposed dense rows in memory's order, [d, m], made once for all that are multiplied with them."""
        return self.transposed.contiguous()

    def __matmul__(self, dense: Tensor) -> Tensor:
        if self.matrix.layout == torch.strided:
            return self.matrix @ dense
        product: Tensor = _SparseTimesDense.apply(self.matrix, self.transposed, dense)
        return product


@dataclass(frozen=True)
class Neighbourhood:
    """What a two-layer message-passing model reads: k nodes in question, m nodes within one hop of them.

    A GCN's output for the k nodes is ``second @ relu(rows @ w1 + b1) @ w2 + b2``.

    Attributes:
        rows: once aggregated features, [m, d], dense or CSR.
        second: weights of the second aggregation, [k, m], dense or CSR.
    """

    rows: Tensor
    second: Tensor

    def of(self, nodes: Tensor) -> "Neighbourhood":
        """The part that a few of the k nodes need (positions [j]); its rows are dense."""
        second = _pick_rows(self.second, nodes)
        reached = second.abs().sum(0).nonzero().flatten()
        return Neighbourhood(_pick_rows(self.rows, reached), second[:, reached])

    def compact(self) -> "Neighbourhood":
        """The same with both parts in CSR where that is smaller."""
        return Neighbourhood(sparse_features(self.rows), sparse_features(self.second))

    def to(self, device: torch.device) -> "Neighbourhood":
        return Neighbourhood(self.rows.to(device), self.second.to(device))


def whole_graph(x: Tensor, operator: Tensor) -> Neighbourhood:
    """The neighbourhood of all nodes of a graph at once, ``operator`` [n, n] dense or CSR."""
    return Neighbourhood(sparse_features(operator @ x), operator)


def side_by_side(parts: list[Neighbourhood]) -> Neighbourhood:
    """Several parties' neighbourhoods as one, so that one product serves all of them."""
    rows = torch.cat([p.rows.to_dense() for p in parts])
    second = torch.block_diag(*[p.second.to_dense() for p in parts])
    return Neighbourhood(rows, second).compact()


def _pick_rows(matrix: Tensor, rows: Tensor) -> Tensor:
    """Some rows of a dense or CSR matrix as a dense one."""
    if matrix.layout == torch.strided:
        return matrix[rows]
    pick = sparse_operator(
        torch.arange(len(rows), device=rows.device),
        rows,
        torch.ones(len(rows), device=rows.device),
        (len(rows), matrix.shape[0]),
    )
    return (pick @ matrix).to_dense()
