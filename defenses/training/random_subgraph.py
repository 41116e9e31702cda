"""Training on a random subgraph: the trivial alternative to finding a subgraph worth keeping."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from ...errors import InputError
from ...settings import Settings
from ...targets.defense import Defense, SharedModel
from ...targets.party import Client

if TYPE_CHECKING:
    from torch import Tensor


class SubgraphSettings(Settings):
    """Settings of `RandomSubgraph`."""

    rho: float = Field(0.5, gt=0, le=1, description="share of a client's nodes that is kept, rounded down")


class RandomSubgraph(Defense):
    """Trains each client on the subgraph of int(rho n) of its nodes drawn at random.

    An edge that is trained on nowhere cannot leak, so leakage falls with the edges dropped, and accuracy falls
    with the labels that go with them. A subgraph found with effort has to do better than this one of the same
    size.
    """

    name = "random-subgraph"
    phrase = "with random subgraphs"
    strength = "rho"
    sweep = (0.7, 0.5, 0.3, 0.1)
    trivial = True
    Settings = SubgraphSettings
    settings: SubgraphSettings

    def on_data(
        self,
        client: Client,
        shared: SharedModel | None,
        seed: np.random.SeedSequence,
        hold: Callable[[str, dict[str, Tensor]], None],
    ) -> Client:
        size = subgraph_size(client, self.settings.rho)
        drawn = np.random.default_rng(seed).permutation(len(client.nodes))[:size]
        return confined(client, mask_of(drawn, client))


def subgraph_size(client: Client, rho: float) -> int:
    """int(rho n), the nodes to keep (SOS, section 4.3).

    Raises:
        InputError: fewer than two, which no edge fits between, or there is no edge in the first place.
    """
    check_edges(client)
    n = len(client.nodes)
    size = int(rho * n)
    if size < 2:
        raise InputError(
            f"rho {rho:g} leaves {size} of the {n} nodes of {client.name}, and an edge needs 2: raise rho or use "
            "fewer clients"
        )
    return size


def check_edges(client: Client) -> None:
    """Refuses a client without edges.

    Raises:
        InputError: it has none.
    """
    if not client.edges.shape[1]:
        raise InputError(
            f"{client.name} has no edge between its {len(client.nodes)} nodes, so it has no subgraph: use fewer "
            "clients or another partition"
        )


def mask_of(nodes: np.ndarray, client: Client) -> Tensor:
    """A mask [n] that is true at some local ids."""
    import torch

    mask = torch.zeros(len(client.nodes), dtype=torch.bool)
    mask[torch.from_numpy(nodes)] = True
    return mask.to(client.nodes.device)


def confined(client: Client, kept: Tensor) -> Client:
    """A client that trains on the subgraph of some of its nodes, [n] bool.

    A kept node without an edge to another one is dropped as well (SOS, section 4.3). Dropped nodes lose all edges,
    those to other clients too, and their training label, so that the loss is that of the subgraph. Their ids,
    features and true labels stay in place: validation and test nodes are predicted as before, and the adversary's
    question stays the same. An edge to another client stays with the end that is kept.

    Raises:
        InputError: no labelled node is left.
    """
    import torch

    edges = client.edges[:, kept[client.edges].all(0)]
    left = torch.zeros_like(kept)
    left[edges.flatten()] = True
    train = client.train & left
    if not bool(train.any()):
        raise InputError(
            f"none of the {int(client.train.sum())} labelled nodes of {client.name} is left in its subgraph of "
            f"{int(left.sum())} nodes: keep more nodes (rho), label more, or use fewer clients"
        )
    cut = client.cut[:, left[client.cut[0]]]
    return replace(client, train=train, used=client.used & left, edges=edges, cut=cut)
