"""How a server divides clients by what they upload: when, and along which cut."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F


def changes_of(uploads: list[Mapping[str, Tensor]], received: list[Mapping[str, Tensor]]) -> Tensor:
    """What each client's training did to the shared weights, one row each, [K, p]."""
    pairs = zip(uploads, received, strict=True)
    return torch.stack([torch.cat([(up[n] - got[n]).flatten() for n in got]) for up, got in pairs]).double()


def is_torn(changes: Tensor, least: float, most: float) -> bool:
    """Whether clients stand still together and move apart: |mean| < ``least``, and the largest norm > ``most``.

    The criterion of clustered federated learning (Sattler et al.) as GCFL's release has it. Two clients are never
    divided.
    """
    if len(changes) <= 2:
        return False
    return float(changes.mean(0).norm()) < least and float(changes.norm(dim=1).max()) > most


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
