"""Networks as graphs of PyG, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .directions import turned
from .events import Events
from .network import Network

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data


def data_of(network: Network) -> Data:
    """A graph with the edges of a network, and nothing that could be learned.

    Returns:
        ``edge_index`` in both directions, ``edge_weight``, ``edge_type`` and ``edge_direction`` where the network
        has them (the latter as codes of `directions`, seen from each entry's first node), one constant feature, one
        class, and masks of which only the last holds anybody; ``plain`` is True. Where it has times also
        ``event_of`` [s], the edge of each event in the order of ends, and ``event_time`` [s].
    """
    import torch
    from torch_geometric.data import Data

    count = network.nodes
    both = torch.from_numpy(np.concatenate([network.edges, network.edges[::-1]], axis=1))
    nobody = torch.zeros(count, dtype=torch.bool)
    data = Data(
        x=torch.ones(count, 1),
        y=torch.zeros(count, dtype=torch.long),
        edge_index=both,
        train_mask=nobody,
        val_mask=nobody.clone(),
        test_mask=~nobody,
    )
    if network.weights is not None:
        data.edge_weight = torch.from_numpy(np.concatenate([network.weights] * 2))
    if network.types is not None:
        data.edge_type = torch.from_numpy(np.concatenate([network.types] * 2))
    if network.directions is not None:
        ways = network.directions
        back = turned(ways, np.ones(len(ways), dtype=bool))
        data.edge_direction = torch.from_numpy(np.concatenate([ways, back]))
    if network.events is not None:
        data.event_of, data.event_time = map(torch.from_numpy, (network.events.edge, network.events.time))
    data.plain = True
    return data


def network_of_data(data: Data) -> Network:
    """The network of a checked graph, whose edges are there in both directions."""
    row, col = data.edge_index.cpu().numpy()
    once = row < col

    def told(name: str) -> np.ndarray | None:
        values: Tensor | None = getattr(data, name, None)
        return None if values is None else values.cpu().numpy()[once]

    ways = told("edge_direction")
    network = Network.from_edges(
        int(data.num_nodes or 0), row[once], col[once], told("edge_weight"), told("edge_type"), directions=ways
    )
    if "event_of" not in data:
        return network
    return replace(network, events=Events(data.event_of.cpu().numpy(), data.event_time.cpu().numpy()))


def is_plain(data: Data) -> bool:
    """Whether a graph has neither features nor labels of its own: one made by `data_of`."""
    return bool(data.to_dict().get("plain", False))


def size_of(data: Data) -> dict[str, int]:
    """How many ``nodes``, ``edges`` and ``classes`` a checked graph has; no classes where it has no labels."""
    row, col = data.edge_index
    size = {"nodes": int(data.num_nodes or 0), "edges": int((row < col).sum())}
    return size if is_plain(data) else {**size, "classes": int(data.y.unique().numel())}


def remarks_of(data: Data) -> tuple[str, ...]:
    """What a reader dropped of the file that a graph came from, in sentences."""
    return tuple(data["remarks"]) if "remarks" in data else ()


def with_names(data: Data, ids: Sequence[str], type_names: Sequence[str] = ()) -> Data:
    """The graph, which tells what its file calls its nodes [n] and types of edges, where these are no numbers."""
    if list(ids) != _counted(len(ids)):
        data.called = np.array(ids, dtype=object)
    if type_names:
        data.types_called = np.array(type_names, dtype=object)
    return data


def node_names(data: Data) -> tuple[str, ...]:
    """What nodes are called where the graph came from, [n]; their numbers where nobody called them anything."""
    return tuple(data["called"]) if "called" in data else tuple(_counted(int(data.num_nodes or 0)))


def type_names(data: Data) -> tuple[str, ...]:
    """What types of edges are called there, or nothing."""
    return tuple(data["types_called"]) if "types_called" in data else ()


def _counted(nodes: int) -> list[str]:
    return [str(number) for number in range(nodes)]


def name_of(data: Data) -> str:
    """The name that a graph goes by, in lower case; empty where nobody gave it one."""
    return str(data["name"]).casefold() if "name" in data else ""
