"""Uploaded gradients as secrets: is the gradient of one class of one client that of a single node?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...randomness import branch
from ..game import Adversary, Game, Grant, Knowledge, Words, as_it_is, without_ancestry
from ..party import Client

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataclass(frozen=True, eq=False, kw_only=True)
class UploadKnowledge(Knowledge):
    """It knows which client uploaded which class's gradient, as the upload says, and no node at all."""

    def sentence(self) -> str:
        return "knows no node, only what each upload says of itself"


@dataclass(frozen=True, kw_only=True)
class LoneNode(Game):
    """Which cells, a client and a class that it has labels of, hold exactly one labelled node.

    A subject is ``client * C + class``.

    Attributes:
        cells: C, the number of classes.
    """

    name = "lone-node"
    unit = "the label and the hidden row of one labelled node"
    words = Words(
        "Lone node: is this uploaded gradient that of one labelled node alone?",
        "Can one person's label and row be read off an upload?",
        "the uploads that one person alone is behind",
        "gradients of one node from others",
        "upload of several people",
        "uploads of several people",
    )

    cells: int

    def grant_key(self, adversary: Adversary) -> tuple[object, ...]:
        """Everybody knows the same."""
        return ()

    def grant(
        self, data: Data, adversary: Adversary, seed: np.random.SeedSequence
    ) -> tuple[Grant, Callable[[Game], Game]]:
        """Next to nothing: which upload is whose."""
        import torch

        knowledge = UploadKnowledge(
            subjects=torch.from_numpy(np.sort(self.subjects)),
            members=int(self.truth.sum()),
            classes=self.cells,
            knows_defense=adversary.knows_defense,
            game=self.name,
            seed=without_ancestry(branch(seed, "coins")),
        )
        return UploadGrant(knowledge, np.arange(data.num_nodes)), as_it_is

    def attributes(self, data: Data) -> dict[str, np.ndarray]:
        """``client`` and ``class`` of each cell."""
        client, label = np.divmod(np.sort(self.subjects), self.cells)
        return {"client": client.astype(str), "class": label.astype(str)}


class UploadGrant(Grant):
    """Cells are told by client and class as they are."""

    def subject_ids(self, granted: np.ndarray) -> np.ndarray:
        return granted


def lone_nodes(clients: Sequence[Client]) -> LoneNode:
    """The game about what clients upload of each class that they have labels of."""
    classes = clients[0].classes
    counts = np.stack([c.class_counts().cpu().numpy() for c in clients])
    place, label = counts.nonzero()
    owner = np.array([client.number for client in clients])[place]
    return LoneNode(subjects=owner * classes + label, truth=counts[place, label] == 1, owners=owner, cells=classes)
