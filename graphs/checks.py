"""Checks and small transformations of a graph before anything is trained on it."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .masks import MASKS
from .pair_codes import distinct

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data

ROWS = 2**14
"""Rows of features that are looked at together."""


def check_graph(data: Data, source: str) -> Data:
    """A checked copy of a graph, with the same edges in both directions.

    Args:
        data: ``x`` floating point [N, d], ``y`` int64 [N] with classes 0..C-1, ``edge_index`` int64 [2, E],
            ``train_mask``, ``val_mask`` and ``test_mask`` bool [N], which do not overlap.
        source: what the graph is called in errors (a file, a dataset).

    Returns:
        A new graph with these six fields: ``x`` in float32, ``edge_index`` symmetric, sorted, without
        self-loops and duplicates. A class without a labelled training node is allowed.

    Raises:
        InputError: a field is missing, or has the wrong type, shape or content.
    """
    from torch_geometric.data import Data

    x, y, edges = check_content(data, source)
    return Data(x=x, y=y, edge_index=edges, **_masks(data, source, len(x)))


def check_content(data: Data, source: str) -> tuple[Tensor, Tensor, Tensor]:
    """Features, labels and edges of a graph as `check_graph` has them; its masks are not looked at.

    Raises:
        InputError: as `check_graph` does.
    """
    import torch

    x = _features(data, source).to(torch.float32, copy=True)
    return x, _labels(data, source, len(x)), _edges(data, source, len(x))


def row_normalised(x: Tensor) -> Tensor:
    """Rows of features [N, d] divided by the sum of their absolute values, or by 1 if that is smaller.

    For bag-of-words graphs the public preprocessing (Kipf and Welling 2017; PyG's ``NormalizeFeatures``).
    """
    return x / x.abs().sum(1, keepdim=True).clamp(min=1)


def spread_masks(
    data: Data, seed: int, per_class: int = 20, val: int = 500, test: int = 1000, *, source: str = "graph"
) -> Data:
    """A graph with a seeded split in the manner of Planetoid (Yang et al. 2016); all else is shared with ``data``.

    Args:
        data: a graph with ``x`` and ``y``; masks that it may have are replaced.
        seed: of the draw.
        per_class: training nodes of each class, but at most half of the class and at least one.
        val: validation nodes, but at most 20 % of all nodes.
        test: test nodes, but at most 40 % of all nodes.
        source: what the graph is called in errors.

    Raises:
        InputError: labels are unusable, or too few nodes are left for validation and test.
    """
    import torch

    nodes = len(_features(data, source))
    y = _labels(data, source, nodes)
    order = torch.from_numpy(np.random.default_rng(seed).permutation(nodes))
    classes = torch.bincount(y).nonzero().flatten().tolist()
    train = torch.cat([_first_of_class(order, y, label, per_class) for label in classes])
    rest = order[~torch.isin(order, train)]
    held_out = _held_out_sizes(nodes, len(rest), val, test, source)
    parts = (train, rest[: held_out[0]], rest[held_out[0] : sum(held_out)])
    return _with_masks(data, dict(zip(MASKS, parts, strict=True)), nodes)


def _first_of_class(order: Tensor, y: Tensor, label: int, wanted: int) -> Tensor:
    members = order[y[order] == label]
    return members[: max(1, min(wanted, len(members) // 2))]


def _held_out_sizes(nodes: int, left: int, val: int, test: int, source: str) -> tuple[int, int]:
    """Sizes of the validation and the test set, which must fit into the nodes left by training."""
    val, test = max(1, min(val, nodes // 5)), max(1, min(test, 2 * nodes // 5))
    if val + test > left:
        val = max(1, left * val // (val + test))
        test = left - val
    if test < 1:
        raise InputError(
            f"{source}: {nodes} nodes are too few for training, validation and test: give the three masks"
        )
    return val, test


def _with_masks(data: Data, parts: dict[str, Tensor], nodes: int) -> Data:
    import torch

    result = copy(data)  # what is not replaced is shared
    for name, members in parts.items():
        mask = torch.zeros(nodes, dtype=torch.bool)
        mask[members] = True
        result[name] = mask
    return result


def _tensor(data: Data, source: str, field: str) -> Tensor:
    import torch
    from torch import Tensor

    value = getattr(data, field, None)
    if value is None:
        wanted = "all three masks" if field in MASKS else "x, y and edge_index (in a file masks are optional)"
        raise InputError(f"{source}: field '{field}' is missing: give {wanted}")
    if not isinstance(value, Tensor) or value.layout != torch.strided:
        raise InputError(f"{source}: field '{field}' must be a dense tensor, not {type(value).__name__}")
    return value.detach()


def _shape(value: Tensor) -> str:
    return f"[{', '.join(map(str, value.shape))}]"


def _features(data: Data, source: str) -> Tensor:
    """The graph's own features, which are finite in float32."""
    import torch

    x = _tensor(data, source, "x")
    if not x.is_floating_point():
        raise InputError(f"{source}: features 'x' must be floating point, not {x.dtype}: convert with x.float()")
    if x.dim() != 2 or 0 in x.shape:
        raise InputError(f"{source}: features 'x' must have shape [nodes, width], not {_shape(x)}")
    finite = torch.cat([rows.to(torch.float32).isfinite().all(1) for rows in x.split(ROWS)])
    if not bool(finite.all()):
        bad = ~finite
        raise InputError(
            f"{source}: features 'x' of {int(bad.sum())} nodes are NaN or infinite in float32, "
            f"first node {int(bad.nonzero()[0])}: fill or remove them"
        )
    return x


def _labels(data: Data, source: str, nodes: int) -> Tensor:
    import torch

    y = _tensor(data, source, "y")
    if y.dtype != torch.int64:
        raise InputError(f"{source}: labels 'y' must be int64 class numbers, not {y.dtype}: convert with y.long()")
    if y.dim() != 1:
        raise InputError(f"{source}: labels 'y' must have shape [nodes], one class each, not {_shape(y)}")
    if len(y) != nodes:
        raise InputError(
            f"{source}: features 'x' have {nodes} rows but labels 'y' name {len(y)} nodes: give one per node"
        )
    negative = int((y < 0).sum())
    if negative:
        raise InputError(f"{source}: labels 'y' of {negative} nodes are negative: number the classes from 0")
    if int(y.max()) >= max(nodes, 2):
        raise InputError(
            f"{source}: labels 'y' reach {int(y.max())} with only {nodes} nodes: number the classes 0..C-1"
        )
    if bool((y == y[0]).all()):
        raise InputError(f"{source}: labels 'y' hold only one class: at least two are needed")
    return y.clone()


def _edges(data: Data, source: str, nodes: int) -> Tensor:
    import torch

    edges = _tensor(data, source, "edge_index")
    if edges.dtype != torch.int64:
        raise InputError(f"{source}: 'edge_index' must be int64 node numbers, not {edges.dtype}")
    if edges.dim() != 2 or edges.shape[0] != 2:
        raise InputError(f"{source}: 'edge_index' must have shape [2, edges], not {_shape(edges)}")
    outside = ((edges < 0) | (edges >= nodes)).any(0)
    if bool(outside.any()):
        ends = edges[:, outside][:, 0].tolist()
        raise InputError(
            f"{source}: 'edge_index' has {int(outside.sum())} edges to nodes outside 0..{nodes - 1}, "
            f"first {ends[0]}-{ends[1]}: check the numbering of the nodes"
        )
    one, other = edges.cpu().numpy()
    both = _both_ways(one, other, nodes)
    if both.shape[1] == 0:
        raise InputError(f"{source}: 'edge_index' holds no edges (self-loops do not count): at least one is needed")
    return torch.from_numpy(both).to(edges.device)


def _both_ways(one: NDArray[np.int64], other: NDArray[np.int64], nodes: int) -> NDArray[np.int64]:
    """Each edge once in each direction, sorted, without loops, [2, 2 m]."""
    proper = one != other
    one, other = one[proper], other[proper]
    arcs = distinct(np.concatenate([one * nodes + other, other * nodes + one]))
    both = np.empty((2, len(arcs)), dtype=np.int64)
    np.floor_divide(arcs, nodes, out=both[0])
    np.remainder(arcs, nodes, out=both[1])
    return both


def _masks(data: Data, source: str, nodes: int) -> dict[str, Tensor]:
    masks = {name: _mask(data, source, name, nodes) for name in MASKS}
    for i, first in enumerate(MASKS):
        for second in MASKS[i + 1 :]:
            common = int((masks[first] & masks[second]).sum())
            if common:
                raise InputError(
                    f"{source}: '{first}' and '{second}' overlap in {common} nodes: keep each node in one"
                )
    return masks


def _mask(data: Data, source: str, name: str, nodes: int) -> Tensor:
    import torch

    mask = _tensor(data, source, name)
    if mask.dtype != torch.bool or mask.shape != (nodes,):
        raise InputError(
            f"{source}: '{name}' must be bool of shape [{nodes}], not {mask.dtype} of shape {_shape(mask)}"
        )
    if not bool(mask.any()):
        raise InputError(f"{source}: '{name}' is empty: at least one node must be in it")
    return mask.clone()
