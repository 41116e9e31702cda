"""Who trains, selects and is tested, where a paper draws that anew."""

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from .errors import InputError
from .graph import MASKS


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
