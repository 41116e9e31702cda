"""How a server divides clients by what they upload: when, and along which cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from ...settings import Settings

FIRST_ROUNDS = 5
"""Rounds whose norms are the measure of what is short or long."""


class DivisionSettings(Settings):
    """Settings of a server that divides clusters: when it does."""

    thresholds: Literal["relative", "absolute"] = Field(
        "relative", description="what the next two are: shares of the same norm in the first five rounds, or norms"
    )
    stands_still: float = Field(0.3, gt=0, description="a cluster is divided only if its mean update is shorter")
    moves_apart: float = Field(0.4, gt=0, description="and only if the longest update of a client is longer")
    divides_after: int = Field(20, ge=FIRST_ROUNDS, description="rounds before which no cluster is divided")


class DivisionRule:
    """When a cluster is divided.

    Attributes:
        settings: that say it.
        first: norms of all clients' mean update and of the longest one, each the mean over the first rounds.
    """

    def __init__(self, settings: DivisionSettings) -> None:
        self.settings = settings
        self.first = (0.0, 0.0)

    def observe(self, changes: Tensor, round_: int, shares: Sequence[float] | None = None) -> None:
        """Takes note of all clients' ``changes`` [K, p] in a round, if it is one of the first."""
        if round_ < FIRST_ROUNDS:
            mean, longest = norms_of(changes, shares)
            self.first = (self.first[0] + mean / FIRST_ROUNDS, self.first[1] + longest / FIRST_ROUNDS)

    def divides(self, changes: Tensor, round_: int, shares: Sequence[float] | None = None) -> bool:
        """Whether a cluster whose clients changed the weights so in a round [k, p] is divided after it."""
        s = self.settings
        still, apart = self.first if s.thresholds == "relative" else (1.0, 1.0)
        torn = is_torn(changes, s.stands_still * still, s.moves_apart * apart, shares)
        return torn and round_ + 1 > s.divides_after


def changes_of(uploads: list[Mapping[str, Tensor]], received: list[Mapping[str, Tensor]]) -> Tensor:
    """What each client's training did to the shared weights, one row each, [K, p]."""
    pairs = zip(uploads, received, strict=True)
    return torch.stack([torch.cat([(up[n] - got[n]).flatten() for n in got]) for up, got in pairs]).double()


def norms_of(changes: Tensor, shares: Sequence[float] | None = None) -> tuple[float, float]:
    """The norm of the mean of ``changes`` [K, p], weighted by ``shares`` if there are any, and the largest norm."""
    if shares is None:
        mean = changes.mean(0)
    else:
        weight = changes.new_tensor(shares)
        mean = weight / weight.sum() @ changes
    return float(mean.norm()), float(changes.norm(dim=1).max())


def is_torn(changes: Tensor, least: float, most: float, shares: Sequence[float] | None = None) -> bool:
    """Whether clients stand still together and move apart: |mean| < ``least``, and the largest norm > ``most``.

    The criterion of clustered federated learning (Sattler et al.), also of GCFL's release. Two clients are never
    divided.
    """
    if len(changes) <= 2:
        return False
    mean, longest = norms_of(changes, shares)
    return mean < least and longest > most


def cosine_similarities(changes: Tensor) -> np.ndarray:
    """1 + cosine of any two rows, [K, K]: from 0 to 2."""
    unit = F.normalize(changes, dim=1)
    found: np.ndarray = (unit @ unit.t()).clamp(-1, 1).add(1).cpu().numpy()
    return found


def warped_distance(one: np.ndarray, other: np.ndarray) -> float:
    """Dynamic time warping of two sequences: the root of the least sum of squared differences along a path."""
    best = np.full((len(one) + 1, len(other) + 1), np.inf)
    best[0, 0] = 0.0
    for i, a in enumerate(one, 1):
        for j, b in enumerate(other, 1):
            best[i, j] = (a - b) ** 2 + min(best[i - 1, j], best[i, j - 1], best[i - 1, j - 1])
    return float(np.sqrt(best[-1, -1]))


def warped_similarities(sequences: list[np.ndarray]) -> np.ndarray:
    """The largest distance of two sequences less that of each two, [K, K]."""
    far = np.array([[warped_distance(one, other) for other in sequences] for one in sequences])
    found: np.ndarray = far.max() - far
    return found


def cut_in_two(similarities: np.ndarray) -> tuple[list[int], list[int]]:
    """The minimum cut of a complete graph with these weights (Stoer and Wagner 1997), both sides ascending."""
    import igraph

    one, other = np.triu_indices(len(similarities), 1)
    graph = igraph.Graph(n=len(similarities), edges=np.column_stack([one, other]).tolist())
    cut = graph.mincut(capacity=similarities[one, other].tolist())
    first, second = (sorted(side) for side in cut.partition)
    return first, second


def parts_least_alike(similarities: np.ndarray) -> tuple[list[int], list[int]]:
    """The two parts whose largest similarity across is the least of all divisions in two; both sides ascending.

    The optimal bipartition of clustered federated learning (Sattler et al.), found by single linkage: it joins the
    most similar pairs first and is stopped at two clusters, so that no other division has less across.
    """
    from scipy.cluster.hierarchy import linkage, to_tree

    pairs = np.triu_indices(len(similarities), 1)
    root = to_tree(linkage(similarities.max() - similarities[pairs], "single"))
    one, other = sorted(
        sorted(side.pre_order()) for side in (root.get_left(), root.get_right()) if side is not None
    )
    return one, other
