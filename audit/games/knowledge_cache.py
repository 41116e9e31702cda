"""Each adversary's knowledge, made once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ...attacks.attack import Attack
from ...randomness import branch
from ...targets.game import Adversary, Game, Grant, Knowledge
from ...targets.target import Run
from ..planning.trial_plan import AttackPlan, TrialPlan
from ..statistics.scored_subjects import ScoredSubjects
from .blind import blind_baselines
from .compared import Compared, compared, finer

if TYPE_CHECKING:
    from torch_geometric.data import Data

Narrowed = Callable[[Game], Game]
"""A game without the subjects that an adversary knows about beforehand."""


@dataclass
class KnowledgeCache:
    """Each adversary's knowledge, made once: attacks with the same knowledge share their shadow models.

    Attributes:
        data: the graph, with features as the target preprocesses them, which are public.
        seed: root of the trial's randomness.
        device: where attacks compute.
    """

    data: Data
    seed: np.random.SeedSequence
    device: str
    made: dict[tuple[object, ...], tuple[Grant, Knowledge, Narrowed]] = field(default_factory=dict)
    blind: dict[tuple[object, ...], dict[str, ScoredSubjects]] = field(default_factory=dict)
    beside: dict[tuple[object, ...], tuple[Compared, Compared]] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: TrialPlan, data: Data) -> Self:
        """What trials of a target on a graph share: features as the target preprocesses them are public."""
        return cls(plan.make_target().prepared(data), plan.root(), plan.device)

    def baselines(self, game: Game) -> dict[str, ScoredSubjects]:
        """What the public graph alone tells, once per game; trials with the same members get the same."""
        if game.key not in self.blind:
            root = np.random.SeedSequence(self.seed.entropy)
            asked = game if game.asked is None else game.without(~game.asked)
            self.blind[game.key] = blind_baselines(self.data.cpu(), asked, branch(root, "baselines"))
        return self.blind[game.key]

    def compared(self, game: Game) -> tuple[Compared, Compared]:
        """With whom each subject of a game is compared: all of them, and those that the result is about."""
        key = (*game.key, None if game.owners is None else game.owners.tobytes())
        if key not in self.beside:
            every = compared(game, self.data.cpu())
            asked = every if game.asked is None else every.where(game.in_order(game.asked))
            strata = finer(asked.strata, self.baselines(game))
            self.beside[key] = every, Compared(strata, asked.clusters, asked.clustered_by)
        return self.beside[key]

    def for_attack(self, attack: Attack[Any], plan: AttackPlan, run: Run) -> tuple[Grant, Knowledge, Game]:
        """What is granted to who mounts an attack on a run, the same on the device, and the game that is left.

        Raises:
            InputError: the target does not say what the game needs, or the adversary knows nothing.
        """
        game = run.secrets[next(name for name in attack.games if name in run.secrets)]
        who = Adversary(attack, plan.neighbours, "client:" in plan.observer, run.recipe, run.own, plan.identity)
        trained = (None if run.recipe is None else run.recipe.model_dump_json(), run.own is not None)
        asks = (who.neighbours, who.knows_defense, attack.auditor, attack.knows_links, trained)
        key: tuple[object, ...] = (*game.key, *asks, *game.grant_key(who))
        if key not in self.made:
            given, left = game.grant(self.data, who, branch(self.seed, "attack", plan.neighbours))
            self.made[key] = (given, given.knowledge.to(self.device), left)
        given, knowledge, left = self.made[key]
        return given, knowledge, left(game)
