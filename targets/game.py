"""What is asked about whom: the noun `Game`, what an adversary knows beforehand, and how both are told.

A game is one class: its subjects and their truth, what adversaries are granted, what the public graph tells without
any release, by what risk is broken down, what is measured, and its words. A new game is a subclass in a file of its
own and a line under ``gaudit.games``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self

import numpy as np

from ..errors import InputError
from ..graphs.network import Floats
from .messages import ANSWERS
from .models.own_training import OwnTraining
from .models.training_config import TrainingConfig
from .transcript import Message, View

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data

Neighbours = Literal["true", "partial", "none", "apart"]
QUERIES = {
    "true": "all edges",
    "partial": "a random half of the edges",
    "none": "no edge",
    "apart": "the edges that do not cross between members and non-members, as only the model's owner can",
}
THIRDS = np.array(["low", "middle", "high"])


@dataclass(frozen=True)
class Words:
    """How a game is told.

    Attributes:
        game: one line for a terminal.
        question: what is asked of each subject.
        members: those of whom the answer is yes, with the article.
        told: who is told from whom.
        other: one of whom the answer is no.
        others: several of them.
        groups: what a table of named groups is about.
        against: what the column of their names is called.
        public: what is told without the release, and by what.
        alike: with whom members are compared where something public is set aside (`Game.compared_within`).
        asks: whether its attacks put questions about nodes, with more or fewer edges.
        background: what its adversaries know beforehand by nature, to follow ``knows``; empty for nothing.
        auditor: what an auditor among them knows.
    """

    game: str
    question: str
    members: str
    told: str = "members from non-members"
    other: str = "non-member"
    others: str = "non-members"
    groups: str = "The same, with some of the members or non-members left out"
    against: str = "left in"
    public: str = "what the public graph alone tells of membership"
    alike: str = "of the same class"
    asks: bool = False
    background: str = ""
    auditor: str = "every edge and the labels of all people in question"


@dataclass(frozen=True, eq=False, kw_only=True)
class Knowledge(ABC):
    """What an adversary knows beforehand. Ids are drawn anew for each trial and say nothing.

    Attributes:
        subjects: those in question, [s].
        members: how many of them are members (their number, not which).
        classes: number of classes.
        knows_defense: whether it adapts to the defense in place.
        game: the game that is played.
        seed: randomness that its attacks share, so that they share shadow models too.
    """

    subjects: Tensor
    members: int
    game: str
    classes: int = 0
    knows_defense: bool = False
    seed: np.random.SeedSequence = field(default_factory=lambda: np.random.SeedSequence(0))

    def to(self, device: str) -> Self:
        """The same on another device."""
        from torch import Tensor

        own: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        moved: dict[str, Any] = {name: v.to(device) for name, v in own.items() if isinstance(v, Tensor)}
        return replace(self, **moved)

    def lacks(self, auditor: bool, own_data: bool) -> str | None:
        """Why an attack that needs an auditor's knowledge, or labelled nodes of its own, cannot do with it."""
        if auditor:
            return "it needs an auditor's knowledge: the labels of the nodes in question and all edges"
        return "it needs labelled nodes of its own, and this game grants none" if own_data else None

    @abstractmethod
    def sentence(self) -> str:
        """What the report prints: the adversary's prior knowledge in words."""

    def _defense(self) -> str:
        return f"{'knows' if self.knows_defense else 'does not know'} the defense"


def no_edges() -> Tensor:
    """Edges [2, 0]."""
    import torch

    return torch.empty((2, 0), dtype=torch.long)


@dataclass(frozen=True, eq=False, kw_only=True)
class GraphKnowledge(Knowledge):
    """Knowledge of nodes, of one who can ask a model about them.

    Attributes:
        x: features of all nodes that it can query, [n, d].
        labels: labels that it knows, -1 elsewhere, [n].
        edges: the edges that it puts into its queries, both directions [2, e].
        neighbours: what these are: the true ones, a random half of them, or none; ``apart`` where it is the
            owner who asks, leaving out edges between members and non-members.
        recipe: how the target's models are trained, where that is known.
        own: the functions that train and ask the target's models, where their owner gives these.
    """

    x: Tensor
    labels: Tensor
    edges: Tensor = field(default_factory=no_edges)
    neighbours: Neighbours = "true"
    recipe: TrainingConfig | None = None
    own: OwnTraining | None = None

    def posed(self, x: Tensor, edges: Tensor) -> Data:
        """A graph of its own making to put to a model, without labels: features [n, d] and edges [2, e]."""
        import torch
        from torch_geometric.data import Data

        return Data(x=x, edge_index=edges, y=torch.zeros(len(x), dtype=torch.long))


class Mounted(Protocol):
    """What a game asks of an attack whose adversary is to be granted knowledge."""

    name: ClassVar[str]
    auditor: ClassVar[bool]
    own_data: ClassVar[bool]
    knows_links: float
    knows_parts: bool


@dataclass(frozen=True)
class Adversary:
    """Who is granted knowledge.

    Attributes:
        attack: what it will mount.
        neighbours: the edges that it asks with.
        knows_defense: whether it adapts to the defense.
        recipe: how the target's models are trained, where it knows that.
        own: the functions that train and ask them, where it has these.
        identity: what tells its attack from others of a plan.
    """

    attack: Mounted
    neighbours: Neighbours = "true"
    knows_defense: bool = False
    recipe: TrainingConfig | None = None
    own: OwnTraining | None = None
    identity: tuple[object, ...] = ()


@dataclass(frozen=True)
class Grant:
    """An adversary's knowledge, and the referee's way back from its ids to ours.

    Attributes:
        knowledge: what it knows.
        ids: our id of each of its own, [n].
    """

    knowledge: Knowledge
    ids: np.ndarray

    def subject_ids(self, granted: np.ndarray) -> np.ndarray:
        """Our ids of subjects that the adversary names."""
        ids: np.ndarray = self.ids[granted]
        return ids

    def renamed(self, view: View) -> View:
        """What an observer sees, with the adversary's node ids in place of ours.

        A tensor called ``nodes`` in a table of answers, or in what goes to the public, names nodes; the message's
        rows are put into the order of the new ids, since the old order may tell.
        """
        import torch

        theirs = torch.empty(len(self.ids), dtype=torch.long)
        theirs[torch.from_numpy(self.ids)] = torch.arange(len(self.ids))
        return replace(view, messages=tuple(_renamed(message, theirs) for message in view.messages))


def _renamed(message: Message, theirs: Tensor) -> Message:
    nodes = message.tensors.get("nodes")
    if nodes is None or (message.receiver != "public" and not ANSWERS.covers(message.kind)):
        return message
    if nodes.dim() != 1 or nodes.is_floating_point() or bool(((nodes < 0) | (nodes >= len(theirs))).any()):
        raise InputError(
            f"the message '{message.kind}' names nodes that the graph does not have: expected ids from 0 to "
            f"{len(theirs) - 1}"
        )
    if any(len(t) != len(nodes) for t in message.tensors.values()):
        raise InputError(f"the message '{message.kind}' must hold one row for each of its {len(nodes)} nodes")
    order = theirs.to(nodes.device)[nodes.long()].argsort()
    rows = {name: tensor[order] for name, tensor in message.tensors.items()}
    return replace(message, tensors={**rows, "nodes": theirs.to(nodes.device)[nodes.long()][order]})


@dataclass(frozen=True, kw_only=True)
class Game(ABC):
    """The truth of one game of one run; the referee alone gets to see it.

    Attributes:
        name: as targets, attacks and checks call it.
        unit: what is protected.
        words: how it is told.
        metrics: what is told of it beside AUC and rates: names of `audit.results.game_metrics`, or functions of
            one's own as ``module:function``.
        asked_with: how a target is made to play it, where it does so on request alone; else empty.
        empty_where: when a target that plays it has nobody to tell apart in a run; empty where that cannot be.
        private_baselines: names of `public_columns` that no adversary knows: they explain no attack away.
        subjects: ids of those in question, [s] int64.
        truth: whether each is a member, [s] bool.
        groups: named subsets of the subjects that are reported apart, [s] bool each.
        owners: the client that holds each subject, [s]; a client is not asked about its own.
        sampling_weight: how many non-members each one in question was drawn from, where these are a sample of many.
        asked: subjects that the result is about, [s] bool; all of them where it is None.
        samples: other selections of subjects, reported beside it, [s] bool each.
        planted: the control that leaks this game, where the one that an attack names cannot play it; else empty.
    """

    name: ClassVar[str]
    unit: ClassVar[str]
    words: ClassVar[Words]
    planted: ClassVar[str] = ""
    metrics: ClassVar[tuple[str, ...]] = ("epsilon",)
    asked_with: ClassVar[str] = ""
    empty_where: ClassVar[str] = ""
    private_baselines: ClassVar[tuple[str, ...]] = ()

    subjects: np.ndarray
    truth: np.ndarray
    groups: Mapping[str, np.ndarray] = field(default_factory=dict)
    owners: np.ndarray | None = None
    sampling_weight: float = 1.0
    asked: np.ndarray | None = None
    samples: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def pairs_of(self) -> int | None:
        """N where subjects are pairs of nodes (`pair_codes.codes`): two that share a node are not independent."""
        return None

    @property
    def key(self) -> tuple[object, ...]:
        """What knowledge and baselines of a game depend on; groups and owners may differ."""
        return self.name, self.subjects.tobytes(), self.truth.tobytes()

    def grant_key(self, adversary: Adversary) -> tuple[object, ...]:
        """What else of a run knowledge depends on; adversaries of whom it is the same share it, and shadow models.

        By default each attack has knowledge of its own. A game that grants all the same thing returns ``()``.
        """
        return (adversary.identity,)

    @abstractmethod
    def grant(
        self, data: Data, adversary: Adversary, seed: np.random.SeedSequence
    ) -> tuple[Grant, Callable[[Game], Game]]:
        """What an adversary is granted, and how a game like this one is left without what it knows beforehand.

        Args:
            data: the public graph with all nodes.
            adversary: who is granted it.
            seed: of the ids that it is told, and of all that is drawn for it.

        Raises:
            InputError: the target does not say what the game needs.
        """

    def public_columns(self, data: Data, seed: np.random.SeedSequence) -> dict[str, Floats]:
        """What the public graph tells of each subject in ascending order, [s, c] by name; nothing by default."""
        return {}

    def compared_within(self, data: Data) -> np.ndarray | None:
        """What is public of each subject in ascending order, one label each [s], that members are quoted by.

        Subjects are compared with those of their own label alone: of 20 members of each class and as many others as
        there happen to be, the class alone tells some. None: everybody is compared with everybody.
        """
        return None

    def groupings(self, data: Data) -> dict[str, np.ndarray]:
        """Known groups of subjects that have much in common, by name: a number for each in ascending order, [s].

        Where membership follows one of them, members are not independent of each other.
        """
        return {}

    def attributes(self, data: Data) -> dict[str, np.ndarray]:
        """By what risk is broken down: one label for each subject in ascending order, [s] each."""
        return {}

    @classmethod
    def called(cls, subject: int | str, pairs_of: int | None) -> int | str:
        """How a member is called where subjects are listed one by one."""
        return subject

    def known_to(self, clients: Sequence[int]) -> np.ndarray:
        """Of which subjects some clients know the truth themselves, [s] bool: by default those that they hold."""
        if self.owners is None:
            return np.zeros(len(self.subjects), dtype=bool)
        own: np.ndarray = np.isin(self.owners, clients)
        return own

    def in_order(self, values: np.ndarray) -> np.ndarray:
        """Values of the subjects [s], in ascending order of id."""
        ordered: np.ndarray = values[np.argsort(self.subjects)]
        return ordered

    def without(self, told: np.ndarray) -> Self:
        """The game without some subjects, [s] bool: those that an adversary knows about beforehand."""
        left = ~told
        return replace(
            self,
            subjects=self.subjects[left],
            truth=self.truth[left],
            groups={name: mask[left] for name, mask in self.groups.items()},
            owners=None if self.owners is None else self.owners[left],
            asked=None if self.asked is None else self.asked[left],
            samples={name: mask[left] for name, mask in self.samples.items()},
            sampling_weight=self.sampling_weight * self._thinned(left),
        )

    def _thinned(self, left: np.ndarray) -> float:
        """How many of the asked non-members each of those left stands for."""
        asked = ~self.truth if self.asked is None else self.asked & ~self.truth
        return float(asked.sum() / max((asked & left).sum(), 1))


def as_it_is(game: Game) -> Game:
    """The game of adversaries who know nothing of any subject beforehand."""
    return game


def without_ancestry(seed: np.random.SeedSequence) -> np.random.SeedSequence:
    """Fresh entropy: a branch would carry the plan's seed along, from which the members could be drawn again."""
    return np.random.SeedSequence(seed.generate_state(4).tolist())


def in_thirds(values: np.ndarray) -> np.ndarray:
    """``low``, ``middle`` or ``high`` for each value; equal values are in one third, so thirds may be unequal."""
    lower, upper = np.quantile(values, [1 / 3, 2 / 3])
    named: np.ndarray = THIRDS[(values > lower).astype(int) + (values > upper)]
    return named
