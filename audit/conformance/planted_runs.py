"""Runs of targets that leak on purpose, and what attacks make of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ...attacks.attack import Attack
from ...graphs.datasets.loading import load_dataset
from ...randomness import branch
from ...registry import find
from ...targets.game import Game, Knowledge
from ...targets.games.identities import Identity
from ...targets.games.membership import NODE_GAMES
from ...targets.target import Run, Target
from ...targets.transcript import Transcript, View
from ..games.knowledge_cache import KnowledgeCache
from ..planning.resolve import merged
from ..planning.trial_plan import AttackPlan, TrialPlan
from ..running.trial import Attacked, TrialResult, attacks_on
from .cheap_settings import SHORTER, cheap
from .named import ours

if TYPE_CHECKING:
    from torch_geometric.data import Data

SEED = 0


@dataclass(frozen=True, eq=False)
class PlantedRun:
    """One run of a target, everything kept.

    Attributes:
        name: of the target.
        settings: its settings.
        data: the graph that it ran on.
        run: what came of it.
    """

    name: str
    settings: dict[str, Any]
    data: Data
    run: Run

    def plan(self, *attacks: AttackPlan) -> TrialPlan:
        return TrialPlan(self.name, self.settings, "none", {}, attacks, SEED, 0)

    def attacked(self, attack: AttackPlan, truth: Callable[[Game], Game] = lambda game: game) -> TrialResult:
        """What an attack gets out of that run, where the referee and all that is granted go by another truth."""
        plan = self.plan(attack)
        run = replace(self.run, secrets={game: truth(secrets) for game, secrets in self.run.secrets.items()})
        return attacks_on(plan, run, self.data, plan.root())


@dataclass(frozen=True, eq=False)
class Mounted:
    """An attack as it is called in an audit.

    Attributes:
        attack: with its settings.
        view: what it sees.
        knowledge: what it knows.
        seed: of its randomness.
        ids: our id of each of its subjects, [s].
        audited: what came of it in the audit.
    """

    attack: Attack[Any]
    view: View
    knowledge: Knowledge
    seed: np.random.SeedSequence
    ids: np.ndarray
    audited: Attacked

    def as_audited(self, scores: np.ndarray) -> np.ndarray:
        """Scores of its subjects [s], of those and in the order that the audit has them in."""
        place = {one: k for k, one in enumerate(self.ids.tolist())}
        found: np.ndarray = scores[[place[one] for one in self.audited.judged.subjects.tolist()]]
        return found


def run_of(name: str, settings: dict[str, Any], data: Data) -> PlantedRun:
    """A run of a target, everything kept."""
    made: Target = find("targets", name)(**settings)
    full = made.settings.model_dump()
    root = TrialPlan(name, full, "none", {}, (), SEED, 0).root()
    run = made(data, find("defenses", "none")(), root, lambda message: True)
    return PlantedRun(name, full, data, run)


@cache
def _planted(name: str, asked: tuple[tuple[str, Any], ...]) -> PlantedRun:
    return run_of(name, dict(asked), load_dataset(str(find("targets", name).dataset)))


def planted_runs(attack: str) -> Iterator[PlantedRun]:
    """The runs in which an attack must find what was planted.

    As in an audit, the control plays the game of the target that it stands beside and lets out what that lets out:
    here it plays each game of the attack, and then stands in for each target of gaudit's that makes it do other
    things.
    """
    kind = find("attacks", attack)
    planted: type[Target] = find("targets", kind.planted)
    own = {game: find("games", game).planted for game in kind.games}
    usual = [game for game in kind.games if not own[game]]
    plays = [{"game": game} for game in usual] if "game" in planted.Settings.model_fields else [{}]
    imitated = [planted.imitating(find("targets", target)) for target in ours("targets")]
    others = [one for k, one in enumerate(imitated) if one and one not in imitated[:k]]
    for asked in [*plays, *({**plays[0], **other} for other in others)]:
        yield _planted(kind.planted, tuple(asked.items()))
    for control in filter(None, own.values()):
        yield _planted(control, ())


def attack_plan(attack: str, planted: PlantedRun) -> AttackPlan:
    """The attack as `quick` audits plan it; shorter where it would train models on a release."""
    kind = find("attacks", attack)
    settings = kind.preset("quick")
    if planted.run.recipe is None:
        settings = merged(settings, cheap(kind.Settings, SHORTER))
    return AttackPlan(attack, settings, kind.observer)


@cache
def as_planted(attack: str, planted: PlantedRun) -> TrialResult:
    """What the attack gets out of a run as it was."""
    return planted.attacked(attack_plan(attack, planted))


def mounted(attack: str, planted: PlantedRun) -> Mounted | None:
    """The attack with what it is given of a run; None where it cannot be mounted on it."""
    audited = as_planted(attack, planted).attacked
    if not audited:
        return None
    plan = attack_plan(attack, planted)
    made, run = plan.make(), planted.run
    knows = KnowledgeCache.of(planted.plan(plan), planted.data)
    given, knowledge, _ = knows.for_attack(made, plan, run)
    view = given.renamed(run.transcript.seen_by(plan.observer).until(run.utility.round))
    seed, ids = branch(knows.seed, "attack", plan.neighbours), given.subject_ids(knowledge.subjects.cpu().numpy())
    return Mounted(made, view, knowledge, seed, ids, audited[0])


def redrawn(secrets: Game) -> Game:
    """A truth that has nothing to do with the run: as many members, drawn again from the same subjects.

    Edges are drawn again within each client, since an adversary knows how many each of them has. Of identities it
    is drawn again which published node each person is.
    """
    rng = np.random.default_rng(SEED)
    if isinstance(secrets, Identity):
        of_people, others = np.split(secrets.image, [secrets.people])
        return replace(secrets, image=np.concatenate([rng.permutation(of_people), others]))
    truth = secrets.truth.copy()
    owners = np.zeros(len(truth)) if secrets.owners is None or secrets.pairs_of is None else secrets.owners
    for owner in np.unique(owners):
        truth[owners == owner] = rng.permutation(truth[owners == owner])
    return replace(secrets, truth=truth)


def of_others(planted: PlantedRun) -> PlantedRun | None:
    """The run as it was but for its messages, which come from a run with other members; None in other games.

    What lies in memory or on a disk of the truth, masks of the graph among them, is the truth that is asked for,
    and what was sent has nothing to do with it.
    """
    if not set(planted.run.secrets) <= set(NODE_GAMES):
        return None
    return replace(planted, run=replace(planted.run, transcript=_told_of_others(planted)))


@cache
def _told_of_others(planted: PlantedRun) -> Transcript:
    """Messages of the same pipeline on the same graph with its train and test nodes drawn again."""
    (game,) = planted.run.secrets.values()
    again, data = redrawn(game), planted.data.clone()
    for name, chosen in (("train_mask", again.truth), ("test_mask", ~again.truth)):
        data[name] = torch.zeros(data.num_nodes, dtype=torch.bool)
        data[name][torch.from_numpy(again.subjects[chosen])] = True
    return run_of(planted.name, planted.settings, data).run.transcript
