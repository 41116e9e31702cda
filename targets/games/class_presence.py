"""Classes that a client has labels of, as secrets: has this client any labelled node of this class?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ...graphs.collection import by_graph, is_collection
from ...graphs.network import Floats
from ...randomness import branch
from ..game import Adversary, Game, Grant, Knowledge, Words, as_it_is, without_ancestry
from .lone_node import UploadGrant

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassKnowledge(Knowledge):
    """It knows how common each class is in the whole graph, and no node; a subject is ``client * C + class``.

    Attributes:
        shares: of the classes among all nodes, or all graphs of a collection, [C].
    """

    shares: Tensor

    @property
    def clients_and_classes(self) -> tuple[Tensor, Tensor]:
        """The client's number and the class of each subject, [s] each."""
        return self.subjects // self.classes, self.subjects % self.classes

    def sentence(self) -> str:
        return f"knows how common each of the {self.classes} classes is among all nodes, and no node"


@dataclass(frozen=True, kw_only=True)
class ClassPresence(Game):
    """Has this client any labelled node of this class? A subject is ``client * C + class``.

    Attributes:
        cells: C, the number of classes.
    """

    name = "class-presence"
    unit = "whether one client has a label of one class"
    words = Words(
        "Class presence: has this client any labelled node of this class?",
        "Can it be told which kinds of people a party has records of?",
        "the classes that clients have labels of",
        "classes that a client has labels of from those that it has none of",
        "class that the client has no label of",
        "classes that clients have no label of",
        public="what the overall shares of the classes alone tell of who has them",
    )
    metrics = ()
    empty_where = "every client has labels of every class"

    cells: int

    def grant_key(self, adversary: Adversary) -> tuple[object, ...]:
        """Everybody knows the same."""
        return ()

    def grant(
        self, data: Data, adversary: Adversary, seed: np.random.SeedSequence
    ) -> tuple[Grant, Callable[[Game], Game]]:
        """How common each class is; clients and classes are called what they are."""
        import torch

        knowledge = ClassKnowledge(
            subjects=torch.from_numpy(np.sort(self.subjects)),
            members=int(self.truth.sum()),
            classes=self.cells,
            knows_defense=adversary.knows_defense,
            game=self.name,
            seed=without_ancestry(branch(seed, "coins")),
            shares=torch.from_numpy(self._shares(data)),
        )
        return UploadGrant(knowledge, np.arange(data.num_nodes)), as_it_is

    def public_columns(self, data: Data, seed: np.random.SeedSequence) -> dict[str, Floats]:
        """``class share``: how common the class is in the whole graph."""
        return {"class share": self._shares(data)[np.sort(self.subjects) % self.cells, None]}

    def attributes(self, data: Data) -> dict[str, np.ndarray]:
        """``client`` and ``class`` of each cell."""
        client, label = np.divmod(np.sort(self.subjects), self.cells)
        return {"client": client.astype(str), "class": label.astype(str)}

    def _shares(self, data: Data) -> Floats:
        labels = by_graph(data, "y") if is_collection(data) else data.y
        counts = np.bincount(labels.cpu().numpy(), minlength=self.cells)
        found: Floats = counts / counts.sum()
        return found


class HasClasses(Protocol):
    """One who trains on labels."""

    @property
    def number(self) -> int: ...

    def class_counts(self) -> Tensor: ...


def class_presence(clients: Sequence[HasClasses]) -> dict[str, Game]:
    """The game by its name; nothing where every client has labels of every class.

    Args:
        clients: with their own labels, before any defense.
    """
    present = np.stack([c.class_counts().cpu().numpy() > 0 for c in clients])
    if present.all():
        return {}
    classes, number = present.shape[1], np.array([c.number for c in clients])
    subjects = (number[:, None] * classes + np.arange(classes)).ravel()
    owners = np.repeat(number, classes)
    game = ClassPresence(subjects=subjects, truth=present.ravel(), owners=owners, cells=classes)
    return {game.name: game}
