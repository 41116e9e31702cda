"""Attacks on a run that was recorded before, by us or by a user's own pipeline."""

import numpy as np
from torch_geometric.data import Data

from ...errors import InputError
from ...targets.games.membership import NODE_GAMES
from ...targets.models.training_config import TrainingConfig
from ...targets.target import Run, Target, Utility
from ...targets.transcript import Transcript
from ..games.knowledge_cache import KnowledgeCache
from ..planning.trial_plan import AttackPlan, TrialPlan
from .trial import TrialResult, attacks_on


def attack_recorded(
    path: str, attacks: tuple[AttackPlan, ...], data: Data, target: Target, seed: int
) -> TrialResult:
    """Plays a membership game on a transcript: the dataset's masks are the truth.

    Members are the train nodes, non-members the test nodes. Accuracy is not measured: the result holds
    no utility of its own. The game and how models were trained are what ``target`` is set to, where it says so.

    Raises:
        InputError: the transcript cannot be read, or holds nothing that an attack reads.
    """
    transcript = Transcript.load(path)
    train, test = data.train_mask.numpy(), data.test_mask.numpy()
    subjects = np.flatnonzero(train | test)
    game = getattr(target.settings, "game", "label-membership")
    secrets = NODE_GAMES[game](subjects=subjects, truth=train[subjects])
    rounds = [m.round for m in transcript.messages if m.receiver == "public"]
    if not rounds:
        raise InputError(f"the transcript {path} holds no released message: record the run with its release")
    nothing = Utility(max(rounds), float("nan"), float("nan"), float("nan"))
    recipe = getattr(target.settings, "recipe", None)
    if not isinstance(recipe, TrainingConfig):
        recipe = None
    run = Run(transcript, {game: secrets}, (nothing,), 0, recipe=recipe)
    plan = TrialPlan(target.name, {}, "none", {}, attacks, seed, 0)
    cache = KnowledgeCache(
        target.prepared(data), plan.root(), plan.device
    )  # the plan does not hold the target's settings
    return attacks_on(plan, run, data, plan.root(), cache=cache)
