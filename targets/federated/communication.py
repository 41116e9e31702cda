"""Who talks with whom in a federation without a server, and how much of each other's weights they take."""

from typing import Literal

import numpy as np
import torch
from torch import Tensor

from ...errors import InputError
from ...graphs.network import Ints

Topology = Literal["ring", "complete", "random-regular"]
TRIES = 20_000
"""Pairings that are drawn for a random regular graph; of 5 neighbours each one in 400 is a graph."""


def topology(name: Topology, clients: int, degree: int, coins: np.random.Generator) -> Tensor:
    """Which clients are neighbours, symmetric and without loops, bool [K, K].

    Args:
        name: a ring, all with all, or a uniformly drawn connected graph in which all have ``degree`` neighbours.
        clients: K.
        degree: of the random graph.
        coins: for it.

    Raises:
        InputError: no such graph exists, or none was found.
    """
    near = np.zeros((clients, clients), dtype=bool)
    if name == "ring":
        one = np.arange(clients)
        near[one, (one + 1) % clients] = True
    elif name == "complete":
        near[:] = True
    else:
        near = _regular(clients, degree, coins)
    near |= near.T
    np.fill_diagonal(near, False)
    return torch.from_numpy(near)


def metropolis(near: Tensor) -> Tensor:
    """Shares A_ij = 1 / (1 + max(d_i, d_j)) of neighbours, and the rest of one's own: doubly stochastic, [K, K].

    Xiao, Boyd and Lall 2005, equation 6, float64.
    """
    degree = near.sum(1)
    shares = near.double() / (1 + torch.maximum(degree[:, None], degree[None]))
    return shares + torch.diag(1 - shares.sum(1))


def _regular(clients: int, degree: int, coins: np.random.Generator) -> np.ndarray:
    """By pairing ends at random until the pairs are a simple connected graph (Bollobas 1980), which is uniform."""
    if degree >= clients or clients * degree % 2:
        raise InputError(
            f"no graph has {clients} clients with {degree} neighbours each: degree must be below the number of "
            "clients, and one of them even"
        )
    ends = np.repeat(np.arange(clients), degree)
    for _ in range(TRIES):
        pairs = coins.permutation(ends).reshape(-1, 2)
        near = np.zeros((clients, clients), dtype=bool)
        near[pairs[:, 0], pairs[:, 1]] = near[pairs[:, 1], pairs[:, 0]] = True
        if not near.diagonal().any() and near.sum() == clients * degree and _connected(near):
            return near
    raise InputError(
        f"no random graph with {degree} neighbours each was found in {TRIES} draws: use a smaller degree"
    )


def _connected(near: np.ndarray) -> bool:
    reached: Ints = np.linalg.matrix_power(near.astype(np.int64) + np.eye(len(near), dtype=np.int64), 1)
    for _ in range(int(np.ceil(np.log2(max(len(near), 2))))):
        reached = (reached @ reached > 0).astype(np.int64)
    return bool(reached.all())
