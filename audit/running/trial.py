"""One trial: one run of a target under one defense, and all attacks on what it let out."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from ...attacks.attack import Attack, Knowledge
from ...attacks.identity.identity_attack import IdentityAttack
from ...errors import InputError
from ...randomness import branch
from ...targets.channel import StoppedError
from ...targets.target import Progress, Run, Secrets, Utility, no_progress
from ...targets.transcript import Exposure
from ..games.blind import blind_baselines
from ..games.cell_knowledge import grant_cells
from ..games.identity_knowledge import grant_identities
from ..games.knowledge import Grant, grant
from ..games.link_knowledge import grant_links, without
from ..games.referee import in_order, in_question, judge, reported_groups
from ..games.subjects import attributes
from ..planning.trial_plan import AttackPlan, TrialPlan
from ..statistics.metrics import ScoredSubjects


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
        samples: the same guesses about other selections of subjects.
        accuracies: of the target and of the shadow models on the same nodes, where there are any.
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


@dataclass(frozen=True)
class TrialResult:
    """What is left of a trial once its run is over."""

    plan: TrialPlan
    utilities: tuple[Utility, ...]
    chosen: int
    attacked: tuple[Attacked, ...]
    refused: dict[str, str]
    exposure: tuple[Exposure, ...]
    notes: tuple[str, ...]
    tested: int
    transfer: dict[str, float] = field(default_factory=dict)
    kept: dict[str, float] = field(default_factory=dict)

    @property
    def utility(self) -> Utility:
        return self.utilities[self.chosen]


def run_trial(
    plan: TrialPlan, data: Data, progress: Progress = no_progress, grants: "Grants | None" = None
) -> TrialResult:
    """Runs the target, attacks its release, and has the referee judge. See `attacks_on` for ``grants``.

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
        error.transcript.save(Path(plan.transcript))
        raise InputError(f"{error}; what was sent until then is in {plan.transcript}") from error
    if plan.transcript is not None:
        run.transcript.save(Path(plan.transcript))
    return attacks_on(plan, run, data, seed, progress, grants)


def attacks_on(
    plan: TrialPlan,
    run: Run,
    data: Data,
    seed: np.random.SeedSequence,
    progress: Progress = no_progress,
    grants: "Grants | None" = None,
) -> TrialResult:
    """All attacks of a plan on one run; those that its views do not allow are noted with the reason.

    ``grants`` may be handed on between runs on the same graph with the same seed: adversaries that know the same
    then share their shadow models.
    """
    attacked: list[Attacked] = []
    refused: dict[str, str] = {}
    grants = grants or Grants.of(plan, data)
    for done, attack_plan in enumerate(plan.attacks):
        attack = attack_plan.make()
        reason = _why_not(attack, attack_plan, run, grants)
        if reason is not None:
            refused[_title(attack_plan, plan)] = reason
            continue
        try:
            attacked += [_attacked(attack, attack_plan, run, round_, grants) for round_ in _rounds(plan, run)]
        except InputError as error:  # what it reads is not there for this way to ask, or is misshapen
            refused[_title(attack_plan, plan)] = str(error)
        progress("attacking", done + 1, len(plan.attacks))
    observers = dict.fromkeys([*run.transcript.onlookers(), *(a.plan.observer for a in attacked)])
    return TrialResult(
        plan,
        run.utilities,
        run.chosen,
        tuple(attacked),
        refused,
        tuple(run.transcript.exposure(observers)),
        run.notes,
        int(data.test_mask.sum()) if run.tested is None else run.tested,
        run.transfer,
        run.kept,
    )


def _rounds(plan: TrialPlan, run: Run) -> list[int]:
    """The release that validation chose; with a timeline all of them."""
    return [u.round for u in run.utilities] if plan.timeline else [run.utility.round]


Narrowed = Callable[[Secrets], Secrets]
"""A game without the subjects that an adversary knows about beforehand."""


@dataclass
class Grants:
    """Each adversary's knowledge, made once: attacks with the same knowledge share their shadow models."""

    data: Data
    seed: np.random.SeedSequence
    device: str
    made: dict[tuple[object, ...], tuple[Grant, Knowledge, Narrowed]] = field(default_factory=dict)
    blind: dict[tuple[object, ...], dict[str, ScoredSubjects]] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: TrialPlan, data: Data) -> "Grants":
        """For the trials of a target on a graph: features as the target preprocesses them are public."""
        return cls(plan.make_target().prepared(data), plan.root(), plan.device)

    def baselines(self, secrets: Secrets) -> dict[str, ScoredSubjects]:
        """What the public graph alone tells, once per game; trials with the same members get the same."""
        if secrets.cells is not None or secrets.people is not None:  # it says neither who uploads nor who is who
            return {}
        key = _truth(secrets)
        if key not in self.blind:
            root = np.random.SeedSequence(self.seed.entropy)
            asked = secrets if secrets.asked is None else without(secrets, ~secrets.asked)
            self.blind[key] = blind_baselines(self.data.cpu(), asked, branch(root, "baselines"))
        return self.blind[key]

    def for_attack(self, attack: Attack, plan: AttackPlan, run: Run) -> tuple[Grant, Knowledge, Secrets]:
        game = next(g for g in attack.games if g in run.secrets)
        secrets, adapts = run.secrets[game], "client:" in plan.observer
        recipe = None if run.recipe is None else run.recipe.model_dump_json()
        asks = (plan.neighbours, adapts, attack.auditor, attack.knows_links, recipe)
        key: tuple[object, ...] = (*_truth(secrets), *asks)
        if secrets.image is not None or secrets.original is not None:  # ids, and what each attack knows of persons
            image = None if secrets.image is None else secrets.image.tobytes()
            key = (*key, plan.identity, image, _watched(attack, secrets))
        if key not in self.made:
            given, left = self._grant(attack, plan, run, secrets)
            self.made[key] = (given, given.knowledge.to(self.device), left)
        given, knowledge, left = self.made[key]
        return given, knowledge, left(secrets)

    def _grant(self, attack: Attack, plan: AttackPlan, run: Run, secrets: Secrets) -> tuple[Grant, Narrowed]:
        """Knowledge, and what is left of the game without the subjects that it covers."""
        seed, adapts = branch(self.seed, "attack", plan.neighbours), "client:" in plan.observer
        if secrets.people is not None:
            if not isinstance(attack, IdentityAttack):
                raise InputError(f"the attack '{attack.name}' plays {secrets.game}: derive it from IdentityAttack")
            who, asked = grant_identities(self.data, secrets, attack, adapts, seed)
            return who, lambda game: asked
        if secrets.nodes is not None:
            links, told = grant_links(self.data, secrets, attack.knows_links, adapts, seed, recipe=run.recipe)
            return links, lambda game: without(game, told) if told.any() else game
        if secrets.cells is not None:
            return grant_cells(self.data, secrets, adapts, seed), lambda game: game
        given = grant(self.data, secrets, plan.neighbours, adapts, seed, auditor=attack.auditor, recipe=run.recipe)
        return given, lambda game: game


def _truth(secrets: Secrets) -> tuple[object, ...]:
    """What knowledge and baselines of a game depend on; groups and owners may differ."""
    return secrets.game, secrets.subjects.tobytes(), secrets.truth.tobytes()


def _watched(attack: Attack, secrets: Secrets) -> str | None:
    """A digest of what a defense made of the network, where that is what an adversary learns facts of."""
    published = None if secrets.original is None else secrets.original.published
    watches = isinstance(attack, IdentityAttack) and attack.of == "published"
    return published.digest if watches and published is not None else None


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


def _why_not(attack: Attack, plan: AttackPlan, run: Run, grants: Grants) -> str | None:
    """Why an attack does not apply to a run, or None."""
    if not set(attack.games) & set(run.secrets):
        return f"it plays {' or '.join(attack.games)}, the target offers {', '.join(run.secrets)}"
    try:
        view = run.transcript.seen_by(plan.observer)
        knowledge = grants.for_attack(attack, plan, run)[1]
    except InputError as error:  # who took no part, or what cannot be known here
        return str(error)
    return attack.why_not(view.until(run.utility.round), knowledge)


def _attacked(attack: Attack, plan: AttackPlan, run: Run, round_: int, grants: Grants) -> Attacked:
    given, knowledge, secrets = grants.for_attack(attack, plan, run)
    seed = branch(grants.seed, "attack", plan.neighbours)
    view = given.renamed(run.transcript.seen_by(plan.observer).until(round_))
    scores = attack(view, knowledge, seed)
    blind = attack.blind(knowledge, seed)
    asked = in_question(secrets, plan.observer)
    samples = {name: in_order(secrets, mask) & asked for name, mask in secrets.samples.items()}
    main = np.ones_like(asked) if secrets.asked is None else in_order(secrets, secrets.asked)
    of_main, asked = asked[main], asked & main
    truth = in_order(secrets, secrets.truth)[asked]
    if truth.all() or not truth.any():
        raise InputError(f"the observer '{plan.observer}' holds all members, or all others: nobody is in question")
    judged = judge(scores, given, secrets)
    return Attacked(
        plan,
        round_,
        judged.where(asked),
        judge(blind, given, secrets).where(asked),
        {name: mask[asked] for name, mask in reported_groups(secrets, view, attack.reads()).items()},
        given.knowledge.sentence(),
        secrets.game,
        {name: baseline.where(of_main) for name, baseline in grants.baselines(secrets).items()},
        {name: labels[asked] for name, labels in attributes(grants.data, secrets).items()},
        scores.accuracies,
        {name: replace(judged.where(mask), sampling_weight=1.0) for name, mask in samples.items()},
    )


def use_one_thread() -> None:
    """One thread per worker: parallel over trials, never inside operations, so that numbers do not depend on it."""
    torch.set_num_threads(1)
