"""What is read off a pair of nodes: distances and entropies of posteriors, distances of features."""

from dataclasses import dataclass

import torch
from torch import Tensor

from .posterior_distances import every_distance

DRAWN = 2000
"""Pairs of nodes that columns are scaled by."""


@dataclass(frozen=True)
class NodeRows:
    """What an adversary holds of each node of one graph; None for what it lacks.

    Attributes:
        posteriors: of the model that was trained on the graph, [n, C].
        reference: of a perceptron that never saw the graph, [n, C].
        x: features [n, d].
        entrywise: whether posteriors are also compared class by class, which only classifiers of pairs of the
            same graph can use.
    """

    posteriors: Tensor | None
    reference: Tensor | None
    x: Tensor | None
    entrywise: bool = False

    def __len__(self) -> int:
        return next(len(rows) for rows in (self.posteriors, self.reference, self.x) if rows is not None)


def columns(rows: NodeRows, pairs: Tensor) -> Tensor:
    """Columns of each pair [s, 2], the same whichever node comes first, [s, k] float64 (He et al. 2021).

    Of posteriors and of the reference's: eight distances, and the four operators of the two entropies (and of the
    two rows where asked for); of features: eight distances.
    """
    found = []
    for told in (rows.posteriors, rows.reference):
        if told is not None:
            found += [every_distance(told, pairs), operators(entropies(told), pairs)]
            if rows.entrywise:
                found.append(operators(told.double(), pairs))
    if rows.x is not None:
        found.append(every_distance(rows.x, pairs))
    return torch.cat(found, 1)


def scaled_columns(rows: NodeRows, pairs: list[Tensor]) -> list[Tensor]:
    """Columns of several sets of pairs of a graph, each less its mean over uniformly drawn pairs of nodes of that
    graph and over its deviation there: so columns of different graphs can stand below each other, and the pairs in
    question have no say in it. The caller seeds torch."""
    first = torch.randint(len(rows), (DRAWN,))
    second = (first + torch.randint(1, len(rows), (DRAWN,))) % len(rows)
    drawn = columns(rows, torch.stack([first, second], 1).to(pairs[0].device))
    mean, spread = drawn.mean(0), drawn.std(0)
    spread = torch.where(spread > 1e-9 * (1 + mean.abs()), spread, 1)
    return [(columns(rows, some) - mean) / spread for some in pairs]


def entropies(posteriors: Tensor) -> Tensor:
    """In nats, [n, 1] float64."""
    found: Tensor = torch.special.entr(posteriors.double()).sum(1, keepdim=True)
    return found


def operators(rows: Tensor, pairs: Tensor) -> Tensor:
    """Average, Hadamard product, weighted L1 and weighted L2 of the two rows, side by side [s, 4 d]."""
    a, b = rows[pairs[:, 0]], rows[pairs[:, 1]]
    return torch.cat([(a + b) / 2, a * b, (a - b).abs(), (a - b).square()], 1)
