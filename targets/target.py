"""What a target is: a pipeline that computes on a private graph and lets messages out."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, final

import numpy as np

from ..errors import InputError
from ..graphs.preprocessing import preprocessed
from ..graphs.pyg import remarks_of
from ..mechanisms.guarantee import Guarantee
from ..settings import Configured
from .channel import Retention
from .cost import START, Cost, Size, held, training
from .defense import Defense, Watched
from .game import Game
from .models.own_training import OwnTraining
from .models.training_config import TrainingConfig
from .transcript import Transcript
from .undefended import split_by_labels, undefended_answers, untouched

ROUNDED = 1e-6
"""How far rounding may take a share beyond 0 and 1."""

if TYPE_CHECKING:
    from torch_geometric.data import Data

Progress = Callable[[str, int, int], None]
"""Called with the name of a stage, steps done and steps in all."""


def no_progress(stage: str, done: int, total: int) -> None:
    """Reports nothing."""


@dataclass(frozen=True)
class Utility:
    """Accuracy, or another utility in [0, 1], at one release: validation nodes select, test nodes are reported.

    Raises:
        InputError: one of them is no share; what was not measured is no number.
    """

    round: int
    validation: float
    test: float
    test_before_tuning: float

    def __post_init__(self) -> None:
        for value in (self.validation, self.test, self.test_before_tuning):
            if not (math.isnan(value) or -ROUNDED <= value <= 1 + ROUNDED):
                raise InputError(f"a utility is a share between 0 and 1, not {value:g}")

    @classmethod
    def of_test(cls, round: int, test: float = math.nan) -> Self:
        """Of a release that nothing selects and nothing tunes; without a figure it was not measured."""
        return cls(round, math.nan, test, test)


@dataclass(frozen=True)
class Run:
    """What a target returns.

    Attributes:
        transcript: all that left the parties.
        secrets: the truth of each game that it offers, by the game's name.
        utilities: one entry per release, in order.
        chosen: index of the release with the best validation accuracy.
        notes: sentences that a reader of the result must know.
        transfer: test accuracy of other architectures trained on the chosen release, if asked for.
        kept: how much of what a network is used for a published one keeps, from 0 (lost) to 1 (as in the original).
        figures: what else the run measured of itself, by a name that says what it is; no number where it has none.
        tested: nodes that the test accuracy is about; the dataset's test nodes where it is None, and none where
            the utility is no accuracy.
        recipe: how the released model was trained, where one is released; an adversary may know it.
        own: the functions that trained and ask it, where its owner gives these; an adversary's shadow models are
            then made by them.
        promise: the differential privacy of what was released, or None.
        unlike: why models that follow the recipe are not like the target, where they are known not to be.
        recipe_unknown: whether nobody knows how the models were trained that were recorded elsewhere: attacks that
            train models like them are refused.
        in_place: the defense that was in place in a run that took place elsewhere, as far as that is known.
    """

    transcript: Transcript
    secrets: Mapping[str, Game]
    utilities: tuple[Utility, ...]
    chosen: int
    notes: tuple[str, ...] = ()
    transfer: dict[str, float] = field(default_factory=dict)
    kept: dict[str, float] = field(default_factory=dict)
    figures: dict[str, float] = field(default_factory=dict)
    tested: int | None = None
    recipe: TrainingConfig | None = None
    own: OwnTraining | None = None
    promise: Guarantee | None = None
    unlike: str | None = None
    recipe_unknown: bool = False
    in_place: str | None = None

    @property
    def utility(self) -> Utility:
        return self.utilities[self.chosen]


@dataclass(frozen=True)
class Offers:
    """What a target with its settings offers to audits, as it declares it.

    Attributes:
        clients: how many take part in a run; None where it does not know.
        split: who is trained on: ``dataset`` where the masks of the graph say so, else how that is drawn anew.
        features: how features are preprocessed, which is public.
        recipe: how its models are trained, where an adversary may know it.
        game: the one game that its settings chose, where they choose one.
        answer_with: what published answers are computed on: the ``original`` graph, or one that is ``defended``.
    """

    clients: int | None = None
    split: str = "dataset"
    features: str = "given"
    recipe: TrainingConfig | None = None
    game: str | None = None
    answer_with: str = "original"


class Target(Configured, ABC):
    """Base of all targets: settings with published defaults, and one method, `run`."""

    kind = "target"
    published_defense: ClassVar[str] = "none"
    release: ClassVar[str]
    """Kind of the message that the outside gets."""
    release_phrase: ClassVar[str]
    """How a sentence calls what an outsider holds."""
    sends: ClassVar[tuple[str, ...]]
    """Kinds of messages that it may send."""
    dataset: ClassVar[str | None] = None
    """The one graph that it runs on, of a control."""
    matches_gradients: ClassVar[bool] = False
    """Whether it fits a condensed graph to a client's gradients."""
    asks_for_labels: ClassVar[bool] = False
    """Whether a defense may put other labels in the place of the clients' own before anything reads one."""
    one_record: ClassVar[bool] = False
    """Whether it trains privately, and a node's label (in a collection: a graph's) is one record: what noise hides
    the node or the graph hides its label."""
    games: ClassVar[tuple[str, ...]] = ()
    """Games that its runs may offer, by name; a run that offers another is refused."""
    runs_elsewhere: ClassVar[bool] = False
    """Whether its runs took place elsewhere: the graph's own masks are the truth, so that none may be drawn for it,
    and messages are as they were recorded."""
    plain: ClassVar[bool] = False
    """Whether it runs on graphs without features and labels."""
    collections: ClassVar[bool] = False
    """Whether it runs on collections of graphs, one record each, and on nothing else."""
    brings: ClassVar[bool] = False
    """Whether it audits what a user brings, and cannot be made without it."""
    brings_graph: ClassVar[bool] = False
    """Whether the persons that it is about come with it (`own_graph`), and not from a dataset of the plan."""

    def why_not(self, defense: Defense) -> str | None:
        """Why a defense has no place in this pipeline, or None if it has one."""
        if "on_graph" in defense.hooks():
            return f"it changes a graph that is published, and '{self.name}' publishes none"
        if "on_labels" in defense.hooks() and not self.asks_for_labels:
            return f"it supplies labels in the place of true ones, and '{self.name}' asks no defense for labels"
        if "on_gradients" in defense.hooks() and not self.matches_gradients:
            return f"it changes gradients that a condensed graph is fitted to, and '{self.name}' fits none"
        if defense.acts_on and not defense.acts_on.among(self.sends):
            return f"it changes {defense.acts_on}, and '{self.name}' never sends such a message"
        if defense.acts_on and not defense.acts_on.among(self.sent()):
            return f"it changes {defense.acts_on}, and these settings send no such message"
        return None

    def sent(self) -> set[str]:
        """Kinds of messages that it may send with its settings."""
        return set(self.sends)

    @property
    def repetitions(self) -> int | None:
        """How many runs took place elsewhere, or None: as many run as a plan has seeds."""
        return 1 if self.runs_elsewhere else None

    def repetition(self, index: int) -> dict[str, Any]:
        """Its settings for one repetition of a plan."""
        return self.settings.model_dump()

    @property
    def reads(self) -> Mapping[str, str]:
        """Digests of the files that its runs read besides the graph, by path: results depend on them."""
        return {}

    @classmethod
    def imitating(cls, other: type[Target]) -> dict[str, Any]:
        """Settings with which a control lets out what another target lets out."""
        return {}

    @classmethod
    def example(cls, data: Data, folder: Path) -> dict[str, Any]:
        """Settings to try it with on a small graph; what a user would bring is written into a folder."""
        return {}

    @property
    def graph_name(self) -> str:
        """What the graph is called that it brings."""
        raise NotImplementedError

    def own_graph(self) -> Data:
        """The graph that it brings.

        Raises:
            InputError: it cannot be had.
        """
        raise NotImplementedError

    def check(self, data: Data) -> None:
        """Sees to it that what a user brings fits a graph, before anything is run or written.

        Raises:
            InputError: it does not.
        """

    def brought(self) -> tuple[Any, ...]:
        """Functions of the user's own that its results depend on."""
        return ()

    @property
    def like(self) -> type[Target]:
        """The pipeline that controls imitate; another one's where a run took place elsewhere."""
        return type(self)

    @property
    def offers(self) -> Offers:
        """What it offers with its settings; a target that has clients, a split or features of its own says so."""
        return Offers()

    def cost(self, size: Size, models: int = 0) -> Cost:
        """What a run takes on a graph of some size, told before it runs.

        By default: start-up, the graph as training holds it, one model of its recipe, and those that attacks train
        like it. A target that does something larger says so.

        Args:
            size: of the graph.
            models: how many models attacks train by its recipe (`Attack.models`).
        """
        recipe = self.offers.recipe or TrainingConfig()
        return START + held(size) + training(size, recipe, 1 + models)

    @property
    def plays(self) -> frozenset[str]:
        """Names of the games that its runs offer with its settings."""
        return frozenset(self.games if self.offers.game is None else (self.offers.game,))

    def prepared(self, data: Data) -> Data:
        """The graph after public preprocessing: the pipeline reads it, and adversaries know it so."""
        return preprocessed(data, self.offers.features)

    @classmethod
    @abstractmethod
    def preset(cls, preset: str, data: Data) -> dict[str, Any]:
        """The settings of a preset (``quick`` or ``paper``) for a graph."""

    @final
    def __call__(
        self,
        data: Data,
        defense: Defense,
        seed: np.random.SeedSequence,
        retain: Retention,
        progress: Progress = no_progress,
    ) -> Run:
        """Runs the pipeline on a copy of a graph, and sees to it that the defense had its part.

        Raises:
            InputError: graph, settings and defense do not go together, or the pipeline never called the defense:
                what would be measured then is no defense at all.
        """
        reason = self.why_not(defense)
        if reason is not None:
            raise InputError(f"the defense '{defense.name}' has no place in the target '{self.name}': {reason}")
        watched = Watched(defense)
        run = self.run(self.prepared(data).clone(), watched, seed, retain, progress)
        unnamed = {t.kind for t in run.transcript.tallies.values() if t.sender != t.receiver} - set(self.sends)
        if unnamed and not self.runs_elsewhere:
            raise InputError(
                f"the target '{self.name}' sent {', '.join(sorted(unnamed))}, which its 'sends' does not name: "
                "defenses are chosen by that"
            )
        undeclared = set(run.secrets) - set(self.games)
        if undeclared:
            raise InputError(
                f"the target '{self.name}' offers the game {', '.join(sorted(undeclared))}, "
                "which its 'games' does not name"
            )
        idle = [hook for hook in defense.hooks() if hook not in watched.called]
        if idle:
            raise InputError(
                f"the target '{self.name}' never called {' and '.join(idle)} of the defense '{defense.name}': it "
                "ran undefended, which says nothing of the defense: call it in the target's run, or leave it out"
            )
        as_they_are = self.offers.answer_with == "original"
        past = (
            untouched(defense, run.transcript),
            undefended_answers(defense, run.transcript, as_they_are and watched.graphs_changed),
            split_by_labels(defense, self.offers.split),
        )
        read = remarks_of(data)
        return replace(run, notes=(*read, *run.notes, *(note for note in past if note is not None)))

    @abstractmethod
    def run(
        self,
        data: Data,
        defense: Defense,
        seed: np.random.SeedSequence,
        retain: Retention,
        progress: Progress = no_progress,
    ) -> Run:
        """Runs the pipeline once on a checked graph, which is its own.

        Raises:
            InputError: the graph and the settings do not go together.
        """
