"""What one party of a federated run holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..graphs.network import Ints
from ..graphs.pair_codes import ends
from .partition import Partition

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data


@dataclass(frozen=True)
class Client:
    """A client's own part of the graph; nothing in it comes from others.

    Attributes:
        number: from 0.
        nodes: global ids of its n nodes, ascending; the position here is the local id.
        x: features [n, d].
        y: true labels [n].
        y_train: the labels that it trains on; other than ``y`` where a defense relabels [n].
        train, val, test: masks [n].
        used: nodes whose label, true or guessed, was trained on anywhere, [n].
        edges: edges between own nodes, local ids, both directions [2, e].
        cut: edges to other clients' nodes, known to both ends: local id, then global id [2, f].
        classes: number of classes of the whole task.
        reckoned: how many labels it is taken to have where that number is secret; None where it is not.
    """

    number: int
    nodes: Tensor
    x: Tensor
    y: Tensor
    y_train: Tensor
    train: Tensor
    val: Tensor
    test: Tensor
    used: Tensor
    edges: Tensor
    cut: Tensor
    classes: int
    reckoned: int | None = None

    @property
    def name(self) -> str:
        return f"client:{self.number}"

    @property
    def labelled(self) -> int:
        """How many labels it has, or is reckoned to have: sizes of what is released may follow from that."""
        return int(self.train.sum()) if self.reckoned is None else self.reckoned

    def degrees(self) -> Tensor:
        """Degree of each own node with the edges to other clients, [n]."""
        import torch

        ends = torch.cat([self.edges[0], self.cut[0]])
        return torch.bincount(ends, minlength=len(self.nodes))

    def class_counts(self) -> Tensor:
        """Labelled nodes per class, [C]."""
        import torch

        return torch.bincount(self.y_train[self.train], minlength=self.classes)

    def with_edges(self, coded: Ints) -> Client:
        """The same with other edges among its own nodes, from the codes of their pairs (`pair_codes.codes`)."""
        import torch

        low, high = (torch.from_numpy(part) for part in ends(coded, len(self.nodes)))
        both = torch.stack([torch.cat([low, high]), torch.cat([high, low])])
        return replace(self, edges=both.to(self.edges.device))

    def to(self, device: str) -> Client:
        from torch import Tensor

        own: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        moved: dict[str, Any] = {k: v.to(device) if isinstance(v, Tensor) else v for k, v in own.items()}
        return Client(**moved)


def clients_of(
    data: Data, partition: Partition, only: Sequence[int] | None = None, labelled: bool = True
) -> list[Client]:
    """Hands each client its part of the graph.

    Args:
        data: the whole graph.
        partition: who holds which node.
        only: the clients to make, of whom none need hold a labelled node: of a run that took place already.
        labelled: whether each must hold a labelled node. A target that asks a defense for labels looks afterwards
            (`all_labelled`): whether a client holds one must not show where a defense hides that.

    Raises:
        InputError: a client would hold no labelled node.
    """
    import torch

    classes = int(data.y.max()) + 1
    local = torch.empty(data.num_nodes, dtype=torch.long)
    row, col = data.edge_index
    own_row, own_col = partition.owner[row], partition.owner[col]
    parts = []
    for number in range(partition.clients) if only is None else only:
        nodes = (partition.owner == number).nonzero().flatten()
        local[nodes] = torch.arange(len(nodes))
        inside = (own_row == number) & (own_col == number)
        leaving = (own_row == number) & (own_col != number)
        parts.append(
            Client(
                number=number,
                nodes=nodes,
                x=data.x[nodes],
                y=data.y[nodes],
                y_train=data.y[nodes],
                train=data.train_mask[nodes],
                val=data.val_mask[nodes],
                test=data.test_mask[nodes],
                used=data.train_mask[nodes],
                edges=torch.stack([local[row[inside]], local[col[inside]]]),
                cut=torch.stack([local[row[leaving]], col[leaving]]),
                classes=classes,
            )
        )
    return all_labelled(parts) if only is None and labelled else parts


def all_labelled(clients: list[Client]) -> list[Client]:
    """The same clients.

    Raises:
        InputError: one of them holds no node that it could train on.
    """
    for client in clients:
        if not bool(client.train.any()):
            nodes = sum(len(c.nodes) for c in clients)
            raise InputError(
                f"{client.name} holds no labelled node ({len(client.nodes)} nodes of {nodes}): "
                "use fewer clients, another partition or seed, or label more nodes"
            )
    return clients
