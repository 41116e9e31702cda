"""One trial: one run of a target under one defense, and all attacks on what it let out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...attacks.attack import Attack
from ...attacks.membership.kept_pools import told_to
from ...errors import InputError
from ...randomness import branch
from ...registry import find
from ...targets.channel import StoppedError
from ...targets.games.links import EdgePresence
from ...targets.games.membership import NODE_GAMES
from ...targets.games.named import game_of
from ...targets.recorder import checked_about, members_of, save_recording
from ...targets.recording import About
from ...targets.target import Progress, Run, Target, Utility, no_progress
from ...targets.transcript import Exposure
from ..games.knowledge_cache import KnowledgeCache
from ..games.referee import accused, in_question, judge, reported_groups
from ..planning.trial_plan import AttackPlan, TrialPlan
from ..statistics.accused import Accused
from ..statistics.scored_subjects import ScoredSubjects

if TYPE_CHECKING:
    from torch_geometric.data import Data

LESS_ALIKE = (
    "Shadow models train without the noise of this target, and are better models than it: who "
    "trains them with the noise may find more."
)
NO_RECIPE = (
    "it trains models as the audited ones were trained, and nobody declared how: give the training function, or "
    "declare the recipe, in a recording or with --set recipe.architecture=gcn --set recipe.hidden=64 and what else "
    "is not gaudit's default"
)


@dataclass(frozen=True)
class Attacked:
    """One attack at one release: guesses with truth, and what belongs to the subjects.

    Attributes:
        plan: the attack.
        round: of the release.
        judged: its guesses with the truth.
        blind: those of the same attack without the release.
        groups: named subsets of the subjects that are reported apart, masks [s].
        knowledge: what the adversary knew, in words.
        game: the game that was played.
        baselines: how well the public graph alone tells members, see `blind_baselines`.
        attributes: by which risk is broken down, one label per subject [s] each.
        accuracies: of the target and of the shadow models on the same nodes, where there are any.
        samples: the same guesses about other selections of subjects.
        clustered_by: the known grouping that membership follows, or nothing.
        accused: whom it accuses outright, where it does more than rank.
    """

    plan: AttackPlan
    round: int
    judged: ScoredSubjects
    blind: ScoredSubjects
    groups: dict[str, np.ndarray]
    knowledge: str
    game: str = "label-membership"
    baselines: dict[str, ScoredSubjects] = field(default_factory=dict)
    attributes: dict[str, np.ndarray] = field(default_factory=dict)
    accuracies: tuple[float, float] | None = None
    samples: dict[str, ScoredSubjects] = field(default_factory=dict)
    clustered_by: str = ""
    accused: Accused | None = None


@dataclass(frozen=True)
class TrialResult:
    """What is left of a trial once its run is over."""

    plan: TrialPlan
    utilities: tuple[Utility, ...]
    chosen: int
    attacked: Sequence[Attacked]
    refused: dict[str, str]
    exposure: tuple[Exposure, ...]
    notes: tuple[str, ...]
    tested: int
    transfer: dict[str, float] = field(default_factory=dict)
    kept: dict[str, float] = field(default_factory=dict)
    in_place: str | None = None
    figures: dict[str, float] = field(default_factory=dict)

    @property
    def utility(self) -> Utility:
        return self.utilities[self.chosen]


def run_trial(
    plan: TrialPlan, data: Data, progress: Progress = no_progress, cache: KnowledgeCache | None = None
) -> TrialResult:
    """Runs the target, attacks its release, and has the referee judge. See `attacks_on` for ``cache``.

    Raises:
        InputError: graph, settings, defense and attacks do not go together.
    """
    target, defense = plan.make_target(), plan.make_defense()
    seed = plan.root()
    try:
        run = target(data, defense, seed, plan.keeps(), progress)
    except StoppedError as error:
        if plan.transcript is None:
            raise
        save_recording(plan.transcript, error.transcript, _known(plan, target, None))
        raise InputError(f"{error}; what was sent until then is in {plan.transcript}") from error
    if plan.transcript is not None:
        save_recording(plan.transcript, run.transcript, _known(plan, target, run))
    return attacks_on(plan, run, data, seed, progress, cache)


def _known(plan: TrialPlan, target: Target, run: Run | None) -> About:
    """What is known of a run of our own, for those who attack its record later."""
    defense, secrets = plan.make_defense(), {} if run is None else run.secrets
    game = next((secrets[name] for name in NODE_GAMES if name in secrets), None)
    links = secrets.get(EdgePresence.name)
    by_client = isinstance(links, EdgePresence) and links.image is None
    recipe = None if run is None or target.collections else run.recipe  # no recorded run is attacked of graphs
    return checked_about(
        {
            "game": None if game is None else game.name,
            "recipe": None if recipe is None else recipe.model_dump(),
            "defense": {"name": plan.defense, "settings": defense.settings.model_dump(mode="json")},
            "members": None if game is None else members_of(game.subjects, game.truth),
            "holders": links.holders.tolist() if isinstance(links, EdgePresence) and by_client else None,
            "pipeline": plan.target,
            "features": None if target.collections else target.offers.features,
        }
    )


def attacks_on(
    plan: TrialPlan,
    run: Run,
    data: Data,
    seed: np.random.SeedSequence,
    progress: Progress = no_progress,
    cache: KnowledgeCache | None = None,
) -> TrialResult:
    """All attacks of a plan on one run; those that its views do not allow are noted with the reason.

    ``cache`` may be handed on between runs on the same graph with the same seed: adversaries that know the same
    then share their shadow models.
    """
    attacked: list[Attacked] = []
    refused: dict[str, str] = {}
    cache = cache or KnowledgeCache.of(plan, data)
    shadows = partial(progress, "training shadow models")
    for done, attack_plan in enumerate(plan.attacks):
        attack = attack_plan.make()
        reason = _why_not(attack, attack_plan, find("targets", plan.target).games, run, cache)
        if reason is not None:
            refused[_title(attack_plan, plan)] = reason
            continue
        try:
            with told_to(shadows):
                attacked += [_attacked(attack, attack_plan, run, round_, cache) for round_ in _rounds(plan, run)]
        except InputError as error:  # what it reads is not there for this way to ask, or is misshapen
            refused[_title(attack_plan, plan)] = str(error)
        progress("attacking", done + 1, len(plan.attacks))
    observers = dict.fromkeys([*run.transcript.onlookers(), *(a.plan.observer for a in attacked)])
    notes, unlike = run.notes, run.unlike or (LESS_ALIKE if run.promise is not None else None)
    if unlike is not None and any(a.accuracies for a in attacked):  # as it is with a defended target
        attacked, notes = [replace(a, accuracies=None) for a in attacked], (*notes, unlike)
    return TrialResult(
        plan,
        run.utilities,
        run.chosen,
        tuple(attacked),
        refused,
        tuple(run.transcript.exposure(observers)),
        notes,
        int(data.test_mask.sum()) if run.tested is None else run.tested,
        run.transfer,
        run.kept,
        run.in_place,
        run.figures,
    )


def _rounds(plan: TrialPlan, run: Run) -> list[int]:
    """The release that validation chose; with a timeline all of them."""
    return [u.round for u in run.utilities] if plan.timeline else [run.utility.round]


def _title(attack: AttackPlan, plan: TrialPlan) -> str:
    """The attack's name, with what tells it from others of that name in the plan."""
    alike = [a for a in plan.attacks if a.name == attack.name]
    parts: dict[str, tuple[set[str], str]] = {
        "observer": ({a.observer for a in alike}, attack.observer),
        "neighbours": ({a.neighbours for a in alike}, attack.neighbours),
        "settings": ({a.identity[3] for a in alike}, attack.identity[3]),
    }
    apart = [f"{name} {own}" for name, (values, own) in parts.items() if len(values) > 1]
    return f"{attack.name} ({', '.join(apart)})" if apart else attack.name


def _no_game(attack: Attack[Any], played: Sequence[str], run: Run) -> str:
    """That a run plays none of an attack's games, how to ask for one, and which had nobody to tell apart."""
    ways = dict.fromkeys(filter(None, (game_of(name).asked_with for name in attack.games)))
    asked = f" (ask for it with {', or with '.join(ways)})" if ways else ""
    empty = [f"{name}: {why}" for name in attack.games if name in played and (why := game_of(name).empty_where)]
    nobody = f"; there is nobody to tell apart in {', nor in '.join(empty)}" if empty else ""
    return f"it plays {' or '.join(attack.games)}, the target offers {', '.join(run.secrets)}{asked}{nobody}"


def _why_not(
    attack: Attack[Any], plan: AttackPlan, played: Sequence[str], run: Run, cache: KnowledgeCache
) -> str | None:
    """Why an attack does not apply to a run of a target that plays these games, or None."""
    if not set(attack.games) & set(run.secrets):
        return _no_game(attack, played, run)
    try:
        view = run.transcript.seen_by(plan.observer)
        knowledge = cache.for_attack(attack, plan, run)[1]
    except InputError as error:  # who took no part, or what cannot be known here
        return str(error)
    seen = view.until(run.utility.round)
    reason = attack.why_not(seen, knowledge)
    if reason is None and run.recipe_unknown and attack.trains_alike(seen, knowledge):
        return NO_RECIPE
    return reason


def _attacked(attack: Attack[Any], plan: AttackPlan, run: Run, round_: int, cache: KnowledgeCache) -> Attacked:
    given, knowledge, game = cache.for_attack(attack, plan, run)
    seed = branch(cache.seed, "attack", plan.neighbours)
    view = given.renamed(run.transcript.seen_by(plan.observer).until(round_))
    scores = attack(view, knowledge, seed)
    groups = reported_groups(game, view, attack.reads())
    del view  # large, and all that follows is the referee's
    blind = attack.blind(knowledge, seed)
    asked = in_question(game, plan.observer)
    samples = {name: game.in_order(mask) & asked for name, mask in game.samples.items()}
    main = np.ones_like(asked) if game.asked is None else game.in_order(game.asked)
    of_main, asked = asked[main], asked & main
    truth = game.in_order(game.truth)[asked]
    if truth.all() or not truth.any():
        raise InputError(f"the observer '{plan.observer}' holds all members, or all others: nobody is in question")
    judged = judge(scores, given, game)
    every, about = cache.compared(game)
    return Attacked(
        plan,
        round_,
        about.where(of_main).put_into(judged.where(asked)),
        about.where(of_main).put_into(judge(blind, given, game).where(asked)),
        {name: mask[asked] for name, mask in groups.items()},
        given.knowledge.sentence(),
        game.name,
        {name: about.put_into(told).where(of_main) for name, told in cache.baselines(game).items()},
        {name: labels[asked] for name, labels in game.attributes(cache.data).items()},
        scores.accuracies,
        {name: replace(every.put_into(judged).where(mask), sampling_weight=1.0) for name, mask in samples.items()},
        about.clustered_by,
        accused(scores, given, game, cache.data, asked),
    )


def use_one_thread() -> None:
    """One thread per worker: parallel over trials, never inside operations, so that numbers do not depend on it."""
    import torch

    torch.set_num_threads(1)
