"""Sums over neighbours under exact Gaussian noise (aggregation perturbation, Sajadmanesh et al. 2023)."""

import math
from fractions import Fraction

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from ...mechanisms.exact_noise import discrete_gaussian

LONGEST = 1e12
GRID = 1024
"""Steps per unit: rows are whole numbers of steps, so that sums and noise are exact."""


def unit_rows(rows: Tensor) -> Tensor:
    """Rows of length 1; rows of zeros stay."""
    return F.normalize(torch.nan_to_num(rows).clamp(-LONGEST, LONGEST), dim=1)


def noisy_sums(rows: Tensor, edges: Tensor, deviation: float, rng: np.random.Generator) -> Tensor:
    """For each node the sum of its neighbours' rows, with noise in every place, [n, h].

    Rows are shortened towards zero to whole numbers of steps, so none becomes longer than 1, and what one row adds
    to a sum is exactly that. Discrete Gaussian noise on whole numbers has the Renyi divergence of Gaussian noise,
    or less (Canonne, Kamath and Steinke 2020, Theorem 14).

    Args:
        rows: [n, h], none longer than 1.
        edges: from neighbour to node [2, e].
        deviation: of the noise, in lengths of a row.
        rng: of the noise.
    """
    steps = torch.trunc(rows.double() * GRID).long()
    total = torch.zeros_like(steps).index_add_(0, edges[1], steps[edges[0]]).cpu().numpy()
    variance = Fraction(math.ceil(deviation * GRID * GRID), GRID) ** 2
    noise = discrete_gaussian(variance, total.size, rng).reshape(total.shape)
    return torch.from_numpy((total + noise) / GRID).float().to(rows.device)


def noisy_hops(rows: Tensor, edges: Tensor, hops: int, deviation: float, rng: np.random.Generator) -> list[Tensor]:
    """Unit rows of each hop, [n, h] each: the first has no noise, each further one is made from the one before.

    Edges are read once for each hop. What is made of the result, however often, costs nothing more.
    """
    found = [unit_rows(rows)]
    for _ in range(hops):
        found.append(unit_rows(noisy_sums(found[-1], edges, deviation, rng)))
    return found
