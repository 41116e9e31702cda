"""Message passing as matrix products: operators for whole graphs and for condensed ones."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor

# torch calls its CSR matrices beta at every first use; the products used here are checked in the tests
warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta state")
# some versions ask for a choice that each call here makes
warnings.filterwarnings("ignore", message="Sparse invariant checks are implicitly disabled")

SMALL = 2**22
"""Entries up to which a part of a neighbourhood is kept dense, where products are fastest: 16 MiB."""


def sparse_operator(rows: Tensor, cols: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """A CSR matrix from coordinates (entries at the same place are added up)."""
    import torch

    indices = torch.stack([rows, cols])
    return torch.sparse_coo_tensor(indices, values, shape, check_invariants=False).coalesce().to_sparse_csr()


def gcn_operator(edge_index: Tensor, nodes: int, weight: Tensor | None = None) -> Tensor:
    """D^-1/2 (A + I) D^-1/2 of a sparse graph, [n, n] CSR (Kipf and Welling 2017, section 2)."""
    import torch

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
    import torch

    source, target = edge_index
    degree = torch.bincount(target, minlength=nodes).clamp(min=1)
    return sparse_operator(target, source, 1 / degree[target], (nodes, nodes))


def dense_gcn_operator(adjacency: Tensor) -> Tensor:
    """D^-1/2 (A + I) D^-1/2 of a weighted dense graph, differentiable, [n, n]."""
    import torch

    with_loops = adjacency + torch.eye(len(adjacency), device=adjacency.device)
    scale = with_loops.sum(1).rsqrt()
    return scale[:, None] * with_loops * scale[None, :]


def sparse_features(x: Tensor, denser_than: float = 0.25) -> Tensor:
    """``x`` as CSR if most of it is zero (bag-of-words), else as it is; products are the same either way."""
    import torch

    if x.layout != torch.strided or float((x != 0).float().mean()) > denser_than:
        return x
    return x.to_sparse_csr()


@dataclass(frozen=True)
class Factor:
    """A matrix to multiply others with again and again: a sparse one is constant, a dense one may be trained.

    The transposed copy is made once: autograd would make it anew at every step.
    """

    matrix: Tensor
    transposed: Tensor

    @classmethod
    def of(cls, matrix: Tensor) -> Factor:
        import torch

        if matrix.layout == torch.strided:
            return cls(matrix, matrix.t())
        return cls(matrix, matrix.to_sparse_coo().t().coalesce().to_sparse_csr())

    def t(self) -> Factor:
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
        import torch

        if self.matrix.layout == torch.strided:
            return self.matrix @ dense
        from .sparse_product import SparseTimesDense

        product: Tensor = SparseTimesDense.apply(self.matrix, self.transposed, dense)
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

    def of(self, nodes: Tensor) -> Neighbourhood:
        """The part that a few of the k nodes need (positions [j]): dense where it is small, see `SMALL`."""
        second, reached = _without_empty_columns(taken_rows(self.second, nodes))
        return Neighbourhood(_dense_if_small(taken_rows(self.rows, reached)), _dense_if_small(second))

    def sampled(self, most: int, generator: torch.Generator) -> Neighbourhood:
        """The same with at most so many of each node's neighbours, drawn at random and weighted up for the others.

        A node's second aggregation is right in the mean; the first one is exact, as it was done beforehand.
        """
        import torch

        second = self.second if self.second.layout == torch.sparse_csr else self.second.to_sparse_csr()
        begin, column, value = second.crow_indices(), second.col_indices(), second.values()
        count = begin.diff()
        row = torch.repeat_interleave(torch.arange(len(count), device=begin.device), count)
        coins = torch.rand(len(column), generator=generator).to(value.device)
        order = coins.argsort()
        order = order[row[order].argsort(stable=True)]  # by row, in an order of chance within each
        kept = order[torch.arange(len(order), device=value.device) - begin[row] < most]
        scale = (count / most).clamp(min=1)[row[kept]]
        drawn = sparse_operator(row[kept], column[kept], value[kept] * scale, (second.shape[0], second.shape[1]))
        return Neighbourhood(self.rows, drawn).of(torch.arange(second.shape[0], device=value.device))

    def compact(self) -> Neighbourhood:
        """The same with both parts in CSR where that is smaller."""
        return Neighbourhood(sparse_features(self.rows), sparse_features(self.second))

    def to(self, device: torch.device) -> Neighbourhood:
        return Neighbourhood(self.rows.to(device), self.second.to(device))


def whole_graph(x: Tensor, operator: Tensor) -> Neighbourhood:
    """The neighbourhood of all nodes of a graph at once, ``operator`` [n, n] dense or CSR."""
    return Neighbourhood(sparse_features(operator @ x), operator)


def side_by_side(parts: list[Neighbourhood]) -> Neighbourhood:
    """Several parties' neighbourhoods as one, so that one product serves all of them."""
    return Neighbourhood(_stacked([p.rows for p in parts]), _on_diagonal([p.second for p in parts])).compact()


def taken_rows(matrix: Tensor, rows: Tensor) -> Tensor:
    """Some rows (positions [j]) of a dense or CSR matrix, in its layout."""
    import torch

    if matrix.layout == torch.strided:
        return matrix.index_select(0, rows)
    begin = matrix.crow_indices()
    start = _starts(begin.diff()[rows])
    place = torch.arange(int(start[-1]), device=rows.device)
    place += (begin[rows] - start[:-1]).repeat_interleave(start.diff())
    return _csr(start, matrix.col_indices()[place], matrix.values()[place], (len(rows), matrix.shape[1]))


def _without_empty_columns(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """The columns with an entry other than 0, side by side, and where they were."""
    import torch

    if matrix.layout == torch.strided:
        used = matrix.abs().sum(0).nonzero().flatten()
        return matrix[:, used], used
    column, value = matrix.col_indices(), matrix.values()
    kept = torch.zeros(matrix.shape[1], dtype=torch.bool, device=value.device)
    kept[column[value != 0]] = True
    used, place = kept.nonzero().flatten(), kept.cumsum(0) - 1
    there = kept[column]
    row = torch.arange(len(matrix), device=value.device).repeat_interleave(matrix.crow_indices().diff())
    start = _starts(torch.bincount(row[there], minlength=len(matrix)))
    return _csr(start, place[column[there]], value[there], (len(matrix), len(used))), used


def _stacked(parts: list[Tensor]) -> Tensor:
    """Matrices one below the other; CSR where all are."""
    import torch

    if any(p.layout == torch.strided for p in parts):
        return torch.cat([p.to_dense() for p in parts])
    return _joined(parts, [0] * len(parts), parts[0].shape[1])


def _on_diagonal(parts: list[Tensor]) -> Tensor:
    """Matrices as the blocks of a diagonal: dense where that is small or there is only one, else CSR."""
    import torch

    if len(parts) == 1:
        return parts[0]
    columns = [p.shape[1] for p in parts]
    if sum(map(len, parts)) * sum(columns) <= SMALL:
        blocks: Tensor = torch.block_diag(*[p.to_dense() for p in parts])
        return blocks
    before = [sum(columns[:k]) for k in range(len(parts))]
    return _joined([p if p.layout != torch.strided else p.to_sparse_csr() for p in parts], before, sum(columns))


def _joined(parts: list[Tensor], shifts: list[int], columns: int) -> Tensor:
    """CSR matrices one below the other, each moved to the right."""
    import torch

    start = _starts(torch.cat([p.crow_indices().diff() for p in parts]))
    column = torch.cat([p.col_indices() + shift for p, shift in zip(parts, shifts, strict=True)])
    return _csr(start, column, torch.cat([p.values() for p in parts]), (len(start) - 1, columns))


def _dense_if_small(matrix: Tensor) -> Tensor:
    return matrix.to_dense() if matrix.numel() <= SMALL else matrix


def _starts(counts: Tensor) -> Tensor:
    """Where each of some runs begins, and where the last one ends."""
    import torch

    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])


def _csr(start: Tensor, column: Tensor, value: Tensor, shape: tuple[int, int]) -> Tensor:
    import torch

    return torch.sparse_csr_tensor(start, column, value, shape, check_invariants=False)
