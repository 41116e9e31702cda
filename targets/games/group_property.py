"""A property of a client's data as the secret: has this client many labels of one class, or few?"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...graphs.network import Ints
from ...randomness import branch
from ..game import Adversary, Game, Grant, Knowledge, Words
from ..models.training_config import TrainingConfig
from ..party import Client
from .class_presence import ClassKnowledge, ClassPresence
from .lone_node import UploadGrant

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data


@dataclass(frozen=True, eq=False, kw_only=True)
class PlayingKnowledge(Knowledge):
    """It has the graph, and the labels of those whom no client trains on: it can play clients of its own.

    It knows both shares and how many clients there are. Which of them holds which node it does not know; since it
    divides the same graph, its parts are like theirs.

    Attributes:
        x: features, [N, d].
        edges: both directions, as they were before any were left out, [2, e].
        labels: -1 where a client may train on the node, [N].
        asked_shares: of those who have little of what is asked about, and of those who have much.
        clients: how many there are.
        recipe: how models are trained, where that is known.
    """

    x: Tensor
    edges: Tensor
    labels: Tensor
    asked_shares: tuple[float, float]
    clients: int
    recipe: TrainingConfig | None = None

    def lacks(self, auditor: bool, own_data: bool) -> str | None:
        return super().lacks(auditor, False)

    @property
    @abstractmethod
    def numbers(self) -> Tensor:
        """The client that each subject is about, [s]."""

    @abstractmethod
    def prior(self) -> Tensor:
        """What is known of each subject without any message, [s]."""

    @abstractmethod
    def given(self, part: Client, many: bool, rng: np.random.Generator) -> Client | None:
        """A part of the graph as a client that has the property or has not; None if it has too little for both.

        Args:
            part: with the labels that are known, -1 elsewhere.
            many: whether it has the property.
            rng: of the lots.
        """

    def _has(self) -> str:
        """What it has, in words."""
        known = int((self.labels >= 0).sum())
        return (
            f"all nodes with their edges and features, and the labels of {known} of {len(self.labels)}, whom "
            "nobody trains on"
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class PropertyKnowledge(ClassKnowledge, PlayingKnowledge):
    """Also how common each class is; the shares are those of the class in question among a client's labels."""

    @property
    def numbers(self) -> Tensor:
        return self.clients_and_classes[0]

    def prior(self) -> Tensor:
        return self.shares[self.clients_and_classes[1]]

    def given(self, part: Client, many: bool, rng: np.random.Generator) -> Client | None:
        import torch

        labels, asked = part.y.cpu().numpy(), int(self.clients_and_classes[1][0])
        inside, others = (np.flatnonzero(mask) for mask in (labels == asked, (labels >= 0) & (labels != asked)))
        taken = of_share(inside, others, self.asked_shares, many, rng)
        if taken is None:
            return None
        train = torch.zeros(len(labels), dtype=torch.bool)
        train[taken] = True
        return replace(part, train=train)

    def sentence(self) -> str:
        few, many = self.asked_shares
        return (
            f"knows how common each of the {self.classes} classes is, {self._has()}, and that each of "
            f"{self.clients} clients has a share of {few:g} or {many:g}; not who holds which node"
        )


@dataclass(frozen=True, kw_only=True)
class GroupProperty(ClassPresence):
    """Has this client many labels of the class in question? A subject is ``client * C + class``, one each client.

    Half of the clients, drawn by lot, have many (`with_property`), so that nothing public says which: the prior is
    one half. Property inference in a federation; Wang and Wang (CCS 2022) ask it of a group in a whole graph.

    Attributes:
        shares: of the class where labels of it are few, and where they are many.
        trained: nodes that clients may train on, whatever the lots: nobody else knows their labels.
    """

    name = "group-property"
    unit = "whether one client has many or few labels of one class"
    words = Words(
        "Group property: has this client many labels of the class in question, or few?",
        "Can it be told what kind of people make up a party's records?",
        "clients with many labels of the class",
        "clients with many labels of the class from those with few",
        "client with few labels of the class",
        "clients with few labels of the class",
        public="what the overall share of the class tells of who has many",
    )
    planted = "planted-property"
    asked_with = "--set asked_class=0"
    empty_where = ""

    shares: tuple[float, float] = (0.0, 1.0)
    trained: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def grant_key(self, adversary: Adversary) -> tuple[object, ...]:
        """Whoever plays clients of its own is granted more."""
        return (adversary.attack.own_data, adversary.recipe, self.trained.tobytes())

    def grant(
        self, data: Data, adversary: Adversary, seed: np.random.SeedSequence
    ) -> tuple[Grant, Callable[[Game], Game]]:
        """How common each class is; to those who need data of their own also the graph (`PropertyKnowledge`)."""
        grant, renamed = super().grant(data, adversary, seed)
        if not adversary.attack.own_data:
            return grant, renamed
        known = grant.knowledge
        assert isinstance(known, ClassKnowledge)
        clients = int(self.subjects.max()) // self.cells + 1
        richer = PropertyKnowledge(
            **vars(known),
            x=data.x.cpu(),
            edges=data.edge_index.cpu(),
            labels=labels_beside(data, self.trained),
            asked_shares=self.shares,
            clients=clients,
            recipe=adversary.recipe,
        )
        return UploadGrant(richer, grant.ids), renamed


def labels_beside(data: Data, trained: Ints) -> Tensor:
    """The labels of all but those whom a client may train on, who have -1."""
    labels: Tensor = data.y.cpu().clone()
    labels[trained] = -1
    return labels


def with_property(
    data: Data, owner: Tensor, asked: int, shares: tuple[float, float], seed: np.random.SeedSequence
) -> tuple[Data, dict[int, bool]]:
    """The graph with fewer training nodes: of each client's, the class in question makes up one of two shares.

    Half of the clients, drawn by lot, get the larger share; of an odd number a coin says which half is larger. The
    number of labels that are left does not depend on it.

    Args:
        data: with masks.
        owner: the client of each node, [N].
        asked: the class.
        shares: of those who have few, and of those who have many.
        seed: of all lots.

    Returns:
        The graph with another ``train_mask``, and who has many, by number.

    Raises:
        InputError: there is one client alone, or one has not enough labels for both shares.
    """
    rng = np.random.default_rng(branch(seed, "lots"))
    train, y, owners = data.train_mask.cpu().numpy(), data.y.cpu().numpy(), owner.cpu().numpy()
    left, having = np.zeros(data.num_nodes, dtype=bool), drawn_half(int(owners.max()) + 1, rng)
    for number in having:
        own = train & (owners == number)
        inside, others = np.flatnonzero(own & (y == asked)), np.flatnonzero(own & (y != asked))
        taken = of_share(inside, others, shares, having[number], rng)
        if taken is None:
            raise InputError(
                f"client:{number} has {len(inside)} labels of class {asked} and {len(others)} others: too few to "
                f"have them in shares of {shares[0]:g} and {shares[1]:g}; use fewer clients, another class or more "
                "labels"
            )
        left[taken] = True
    thinned = copy(data)
    thinned.train_mask = data.train_mask.new_tensor(left.tolist())
    return thinned, having


def of_share(
    inside: Ints, others: Ints, shares: tuple[float, float], many: bool, rng: np.random.Generator
) -> Ints | None:
    """Labelled nodes, by lot, of whom a class makes up one of two shares, and as many for either; None if too few.

    Args:
        inside: labelled nodes of the class.
        others: labelled nodes of other classes.
        shares: of the class where they are few, and where they are many.
        many: which of the two.
        rng: of the lots.
    """
    size = min(len(inside) / shares[1], len(others) / (1 - shares[0]))
    counts = [round(share * size) for share in shares]
    if counts[0] == counts[1] or counts[1] > min(len(inside), int(size)):
        return None
    taken = counts[many]
    return np.concatenate([rng.permutation(inside)[:taken], rng.permutation(others)[: int(size) - taken]])


def drawn_half(clients: int, rng: np.random.Generator) -> dict[int, bool]:
    """Which clients are in one half of them, drawn by lot."""
    if clients < 2:
        raise InputError("a property of clients tells them from each other: use two or more")
    size = (clients + int(rng.random() < 0.5)) // 2
    drawn = set(rng.permutation(clients)[:size].tolist())
    return {number: number in drawn for number in range(clients)}


def told_apart(having: dict[int, bool]) -> tuple[Ints, NDArray[np.bool_]]:
    """The numbers of the clients in ascending order, and which of them have it; nobody where all are alike."""
    numbers = np.array(sorted(having), dtype=np.int64)
    truth = np.array([having[number] for number in numbers.tolist()], dtype=bool)
    alike = truth.all() or not truth.any()
    return (numbers[:0], truth[:0]) if alike else (numbers, truth)


def group_property(
    having: dict[int, bool], asked: int, classes: int, shares: tuple[float, float], trained: Ints
) -> dict[str, Game]:
    """The game by its name; nothing where all clients are alike.

    Args:
        having: who has many labels of the class, by number.
        asked: the class.
        classes: C.
        shares: of the class where labels of it are few, and where they are many.
        trained: nodes that clients may train on, whatever the lots.
    """
    numbers, truth = told_apart(having)
    if not len(numbers):
        return {}
    game = GroupProperty(
        subjects=numbers * classes + asked,
        truth=truth,
        owners=numbers,
        cells=classes,
        shares=shares,
        trained=trained,
    )
    return {game.name: game}
