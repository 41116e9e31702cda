"""Who trains, selects and is tested, where a paper draws that anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from ..errors import InputError
from ..graphs.masks import MASKS

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data

SplitName = Literal["60/20/20", "20/40/40", "50/25/25", "dataset"]
SPLIT = (
    "train, validation and test nodes: 60/20/20 of all nodes, 20/40/40 or 50/25/25 of each client's nodes of each "
    "class, or as the dataset has them"
)
OF_CLIENT_AND_CLASS = {"20/40/40": (0.2, 0.4), "50/25/25": (0.5, 0.25)}


def divided(data: Data, owner: Tensor, how: SplitName, seed: np.random.SeedSequence) -> Data:
    """The same graph with train, validation and test nodes drawn anew.

    Args:
        data: the whole graph.
        owner: client of each node, [N].
        how: shares of the three, see `SPLIT`.
        seed: of the draw.

    Raises:
        InputError: there are too few nodes for that.
    """
    if how == "dataset":
        return data
    if how in OF_CLIENT_AND_CLASS:
        return split_by_class(data, owner, OF_CLIENT_AND_CLASS[how], seed)
    return split_of_all(data, (0.6, 0.2), seed)


def split_of_all(data: Data, shares: tuple[float, float], seed: np.random.SeedSequence) -> Data:
    """The same graph with shares of all nodes, at random, for training and validation, and the rest for testing.

    Raises:
        InputError: there are too few nodes for that.
    """
    import torch

    nodes = int(data.num_nodes or 0)
    train, val = (round(share * nodes) for share in shares)
    if min(train, val, nodes - train - val) < 1:
        parts = "/".join(f"{100 * share:.0f}" for share in (*shares, 1 - sum(shares)))
        raise InputError(f"{nodes} nodes cannot be split into {parts}: use split = 'dataset' or a larger graph")
    order = torch.from_numpy(np.random.default_rng(seed).permutation(nodes))
    for name, part in zip(MASKS, order.split([train, val, nodes - train - val]), strict=True):
        data[name] = torch.zeros(nodes, dtype=torch.bool).index_fill_(0, part, True)
    return data


def split_by_class(data: Data, owner: Tensor, shares: tuple[float, float], seed: np.random.SeedSequence) -> Data:
    """The same graph with the nodes of each client and class divided into train, validation and test nodes.

    Args:
        data: the whole graph.
        owner: client of each node, [N].
        shares: of train and validation nodes; the rest is for testing. Of each class that a client has, at least
            one node is for training.
        seed: of the draw.

    Raises:
        InputError: no node is left for validation, or for testing.
    """
    import torch

    nodes, rng = int(data.num_nodes or 0), np.random.default_rng(seed)
    classes = int(data.y.max()) + 1
    cell = (owner.cpu() * classes + data.y.cpu()).numpy()
    order = np.lexsort((rng.random(nodes), cell))
    sizes = np.bincount(cell, minlength=1)
    rank = np.empty(nodes, dtype=np.int64)
    rank[order] = np.arange(nodes) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    size = sizes[cell]
    train_until = np.maximum((shares[0] * size).astype(np.int64), 1)
    val_until = np.maximum(train_until, ((shares[0] + shares[1]) * size).round().astype(np.int64))
    parts = (rank < train_until, (rank >= train_until) & (rank < val_until), rank >= val_until)
    for name, part in zip(MASKS, parts, strict=True):
        if not part.any():
            raise InputError(f"{nodes} nodes leave no {name.removesuffix('_mask')} node: use split = 'dataset'")
        data[name] = torch.from_numpy(part)
    return data
