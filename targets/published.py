"""Networks as messages, and back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..graphs.network import ATTRIBUTES, MARKS, Network
from ..graphs.tables.node_table import NodeTable
from .transcript import Message

if TYPE_CHECKING:
    from torch import Tensor

ARRAYS = (*MARKS, "groups", "counts")


def tensors_of(network: Network) -> dict[str, Tensor]:
    """The content of a message: ``size`` (n), ``edges`` [2, m], and what else the network tells.

    Of people these are ``attributes`` (`NodeTable.runs`) and ``sensitive`` values, as places in the columns [n, s].
    """
    import torch

    told = {"size": np.array([network.nodes]), "edges": network.edges}
    told |= {name: getattr(network, name) for name in ARRAYS if getattr(network, name) is not None}
    if network.people is not None:
        told[ATTRIBUTES] = network.people.runs
        told |= {} if network.people.sensitive is None else {"sensitive": network.people.sensitive}
    return {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in told.items()}


def network_of(message: Message) -> Network:
    """The network of a message.

    Raises:
        InputError: the message holds no usable network.
    """
    arrays = {name: tensor.cpu().numpy() for name, tensor in message.tensors.items()}
    try:
        edges, nodes = arrays["edges"], int(arrays["size"][0])
        if edges.ndim != 2 or len(edges) != 2:
            raise ValueError(f"edges of shape {edges.shape}, expected (2, m)")
        told = (arrays.get("weights"), arrays.get("types"), arrays.get("groups"))
        read = Network.from_edges(nodes, edges[0], edges[1], *told, directions=arrays.get("directions"))
    except (KeyError, ValueError, IndexError) as error:
        raise InputError(f"the message '{message.kind}' holds no usable network: {error}") from error
    people = None
    if ATTRIBUTES in arrays:
        people = NodeTable(arrays[ATTRIBUTES], _columns(arrays.get("sensitive")))
        if people.runs.ndim != 4 or people.runs.shape[3] != 2 or people.nodes != nodes:
            raise InputError(
                f"the message '{message.kind}': {ATTRIBUTES} of shape {people.runs.shape} for {nodes} nodes"
            )
    return replace(read, counts=arrays.get("counts"), people=people)


def _columns(sensitive: np.ndarray | None) -> np.ndarray | None:
    """Sensitive values by column, [n, s]; older recordings have one column, [n]."""
    return sensitive[:, None] if sensitive is not None and sensitive.ndim == 1 else sensitive
