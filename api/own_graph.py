"""The private graph that a user gives, whose masks say who is a member."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..audit.planning.resolve import graph_of
from ..errors import InputError
from ..graphs.checks import check_content

if TYPE_CHECKING:
    from torch_geometric.data import Data

OWN_GRAPH = "own graph"


def graph_given(data: Data | str | Path, members: Any, non_members: Any) -> tuple[str, Data]:
    """The graph that a user gave, with its name; its masks say who is a member.

    Raises:
        InputError: it cannot be had, or nobody says who is a member.
    """
    if not isinstance(data, str | Path):
        return OWN_GRAPH, own_graph(data, members, non_members)
    if members is not None or non_members is not None:
        raise InputError("members are told by the masks of the graph's file: put them there, or give a graph")
    return str(data), graph_of(str(data), Path(data).suffix != "", draw_split=False)


def own_graph(data: Data, members: Any, non_members: Any) -> Data:
    """A checked copy of a graph with everything that is in it, whose masks say who is a member.

    Raises:
        InputError: features, labels, edges or masks are not usable, or nobody is a non-member.
    """
    from torch_geometric.data import Data

    if not isinstance(data, Data):
        raise InputError(f"the graph must be a torch_geometric.data.Data, not {type(data).__name__}")
    copy = data.clone().cpu()
    nodes = int(copy.num_nodes or 0)
    inside = _mask(copy.get("train_mask") if members is None else members, nodes, "members")
    if inside is None:
        raise InputError("nobody says who is a member: give members, or put them into data.train_mask")
    aside = _mask(copy.get("val_mask"), nodes, "val_mask")
    aside = torch.zeros(nodes, dtype=torch.bool) if aside is None else aside & ~inside
    outside = _mask(copy.get("test_mask") if non_members is None else non_members, nodes, "non_members")
    outside = ~inside & ~aside if outside is None else outside
    both = int((inside & outside).sum())
    if both:
        raise InputError(f"{both} nodes are members and non-members: give each to one of the two")
    copy.train_mask, copy.val_mask, copy.test_mask = inside, aside & ~outside, outside
    for name, mask in (("member", inside), ("non-member", outside)):
        if not bool(mask.any()):
            raise InputError(f"no node is a {name}: both are needed")
    copy.x, *_ = check_content(copy, "the graph")
    copy.name = OWN_GRAPH
    return copy


def _mask(given: Any, nodes: int, name: str) -> torch.Tensor | None:
    """A mask [n] bool from a mask or from ids."""
    if given is None:
        return None
    told = f"{name} must be a mask [{nodes}] or ids from 0 to {nodes - 1}"
    try:
        values = given.cpu() if isinstance(given, torch.Tensor) else torch.as_tensor(np.asarray(given))
    except (TypeError, ValueError) as error:
        raise InputError(f"{told}, not a {type(given).__name__}") from error
    if values.dtype == torch.bool:
        if tuple(values.shape) != (nodes,):
            raise InputError(f"{name} is a mask {list(values.shape)}: expected [{nodes}], one entry for each node")
        return values.clone()
    if values.dim() != 1 or values.is_floating_point() or bool(((values < 0) | (values >= nodes)).any()):
        raise InputError(told)
    if len(torch.unique(values)) < len(values):
        flags = len(values) == nodes and bool((values <= 1).all())
        why = "looks like a mask of whole numbers: make it bool" if flags else "names a node twice"
        raise InputError(f"{name} {why}")
    mask = torch.zeros(nodes, dtype=torch.bool)
    mask[values.long()] = True
    return mask
