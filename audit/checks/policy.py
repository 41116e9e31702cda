"""What must hold of an audit before a change may go in: `gaudit.toml`, read by `gaudit check`."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field, field_validator, model_validator

from ...errors import LONGEST_QUOTED, InputError, shortened, unknown_name
from ...registry import registered
from ...settings import Settings
from ...targets.game import Neighbours
from ...targets.recording import UNKNOWN
from ...targets.transcript import observer_members
from ...untrusted import read_text, toml_of
from ..planning.plan import Plan, is_file
from ..planning.trial_plan import AttackPlan
from ..results.audit_result import AttackFinding, NotRun
from ..statistics.severity import Level, Scale
from .metric_range import beyond_range

LARGEST_POLICY = 2**20
LEVEL, EPSILON, TPR = "level", "epsilon", "tpr@fpr="
SELECTORS = ("attack", "target", "dataset", "defense", "strength", "observer", "neighbours", "game")
"""What tells one finding from another, in the order in which a reader is asked for it."""
AllowedLevel = Literal["not found", "low", "moderate", "high"]


class Gate(Settings):
    """What holds for all checks."""

    alpha: float = Field(
        0.05, strict=True, gt=0, lt=0.5, description="how often, at most, no change may be called a regression"
    )
    largest_fall: float = Field(
        0.1,
        strict=True,
        gt=0,
        le=1,
        description="the most that a change may lower the leak in one seed while it raises others",
    )
    strict: bool = Field(False, strict=True, description="whether an inconclusive check fails")
    ledger: str | None = Field(None, description="of the audit, beside the policy; used where none is given")
    plan: str | None = Field(None, description="of the audit; named where a reader is told how to repeat it")


class Check(Settings):
    """One check: which finding, which number of it, and what it must keep to."""

    name: str = Field(min_length=1, max_length=200)
    attack: str
    target: str | None = None
    dataset: str | None = None
    defense: str | None = Field(None, description="its name, or its label where it ran at several strengths")
    strength: float | None = Field(None, strict=True)
    observer: str | None = None
    neighbours: Neighbours | None = None
    game: str | None = None
    metric: str = Field("auc", description="auc, tpr@fpr=0.01, epsilon, level, ...")
    margin: float | None = Field(
        None, strict=True, gt=0, description="a rise over the baseline that must be told from none"
    )
    budget: float | None = Field(None, strict=True, ge=0, description="the most that it may be")
    max: AllowedLevel | None = Field(None, description="the worst level that is allowed; for the metric 'level'")

    @field_validator("metric")
    @classmethod
    def _one_spelling(cls, metric: str) -> str:
        """``tpr@fpr=0.010`` is ``tpr@fpr=0.01``."""
        if not metric.startswith(TPR):
            return metric
        try:
            rate = float(metric.removeprefix(TPR))
        except ValueError as error:
            raise ValueError("a false-positive rate is a number, as in tpr@fpr=0.01") from error
        if not 0 < rate < 1:
            raise ValueError("a false-positive rate lies between 0 and 1, as in tpr@fpr=0.01")
        return f"{TPR}{rate:g}"

    def contradiction(self) -> str | None:
        """What makes it no check, or None."""
        if self.metric == LEVEL:
            if self.max is None or self.margin is not None or self.budget is not None:
                allowed = ", ".join(f"'{level}'" for level in get_args(AllowedLevel))
                return f"the metric 'level' goes with 'max' ({allowed}) alone"
            return None
        if self.max is not None:
            return "'max' goes with metric = \"level\"; a number has a 'budget'"
        if self.margin is None and self.budget is None:
            return "nothing would be checked: give a 'margin', a 'budget', or both"
        if self.metric == EPSILON and self.margin is not None:
            return "epsilon is one bound over all seeds: give a 'budget', no 'margin'"
        return beyond_range(self.metric, self.budget, self.margin)

    def matches(self, place: AttackFinding) -> bool:
        """Whether a finding is the one that is meant, as far as the check says."""
        return self.means(features(place), place.outcome.defense, place.outcome.label)

    def means(self, have: Mapping[str, object], *defenses: object) -> bool:
        """The same for what is known of a finding by name, and the names that its defense goes by."""
        wanted = {name: getattr(self, name) for name in SELECTORS}
        by_name = wanted.pop("defense")
        return by_name in (None, *defenses) and all(v is None or v == have.get(name) for name, v in wanted.items())

    def may_mean(self, one: NotRun) -> bool:
        """Whether a finding of what has not run may be the one that is meant, as far as a plan tells."""
        dataset = Path(one.dataset).name if is_file(one.dataset) else one.dataset
        have = {"target": one.target, "dataset": dataset, "strength": one.strength}
        alike = all(getattr(self, name) in (None, value) for name, value in have.items())
        defense = None if self.defense is None else self.defense.partition(",")[0]
        return alike and defense in (None, one.defense) and any(map(self._mounts, one.attacks))

    def _mounts(self, plan: AttackPlan) -> bool:
        have = {"attack": plan.name, "observer": plan.observer, "neighbours": plan.neighbours}
        return all(getattr(self, name) in (None, value) for name, value in have.items())

    @property
    def selection(self) -> str:
        """What the check asks for, as a reader writes it."""
        given = {name: getattr(self, name) for name in SELECTORS if getattr(self, name) is not None}
        return ", ".join(f"{name} {value!r}" for name, value in given.items())

    def has(self, part: str) -> bool:
        """Whether it has a ``margin``, or a ``budget`` (a highest level is one)."""
        return self.margin is not None if part == "margin" else (self.budget, self.max) != (None, None)

    @property
    def level(self) -> Level | None:
        """The worst level that is allowed."""
        return None if self.max is None else Level(self.max)


class Policy(Settings):
    """A policy file."""

    gate: Gate = Gate()
    severity: Scale | None = Field(None, description="cut-offs that replace those of the plan")
    check: tuple[Check, ...] = ()

    @model_validator(mode="after")
    def _checks_make_sense(self) -> "Policy":
        names = [check.name for check in self.check]
        for check in self.check:
            wrong = check.contradiction()
            if wrong is not None:
                raise ValueError(f"check '{check.name}': {wrong}")
            if names.count(check.name) > 1:
                raise ValueError(f"two checks are called '{check.name}'")
        return self

    @classmethod
    def read(cls, path: Path) -> "PolicyFile":
        """From a TOML file.

        Raises:
            InputError: it cannot be read, has unknown keys or names, values out of range, or no check.
        """
        text = read_text(path, "policy", LARGEST_POLICY)
        policy = cls.of(toml_of(text, f"policy {path}"), str(path))
        return PolicyFile(policy, path, _lines_of_checks(text, len(policy.check)))

    @classmethod
    def of(cls, content: dict[str, Any], where: str) -> "Policy":
        """From plain values.

        Raises:
            InputError: unknown keys or names, values out of range, or no check.
        """
        policy = cls.checked(f"policy {where}", content)
        if not policy.check:
            raise InputError(f"policy {where} has no [[check]]: nothing would be checked")
        for check in policy.check:
            _known("attack", check.attack, "attacks", check)
            _known("target", check.target, "targets", check)
            _known("game", check.game, "games", check)
            _known("defense", check.defense and check.defense.partition(",")[0], "defenses", check)
            if check.observer is not None:
                observer_members(check.observer)
        return policy

    def scale(self, planned: Scale) -> Scale:
        """The cut-offs of levels: the plan's, those replaced that the policy names.

        Raises:
            InputError: another false-positive rate than the audit was made with, or cut-offs out of order.
        """
        if self.severity is None:
            return planned
        given = self.severity.model_dump(include=self.severity.model_fields_set)
        if given.get("fpr", planned.fpr) != planned.fpr:
            raise InputError(
                f"policy: verdicts of this audit rest on a false-positive rate of {planned.fpr:g}, which is chosen "
                f"before an audit: set fpr = {given['fpr']:g} under [severity] in the plan and audit again"
            )
        return Scale.checked("severity of the policy", {**planned.model_dump(), **given})

    @property
    def needs_baseline(self) -> bool:
        """Whether any check compares with a baseline."""
        return any(check.margin is not None for check in self.check)


@dataclass(frozen=True)
class PolicyFile:
    """A policy with the file that it comes from.

    Attributes:
        policy: what it says.
        path: of the file.
        lines: where each check begins, from 1.
    """

    policy: Policy
    path: Path
    lines: tuple[int, ...]

    def beside(self, name: str) -> Path:
        """A file that the policy names, which is looked for beside it."""
        return self.path.parent / name


def features(place: AttackFinding) -> dict[str, str | float | None]:
    """By what a check can pick a finding. A graph file goes by its name, wherever it lies."""
    attack, dataset = place.attack, place.section.dataset
    return {
        "attack": attack.plan.name,
        "target": place.section.target,
        "dataset": Path(dataset).name if is_file(dataset) else dataset,
        "defense": place.outcome.label,
        "strength": place.outcome.strength,
        "observer": attack.plan.observer,
        "neighbours": attack.plan.neighbours,
        "game": attack.game,
    }


def misspelt(check: Check, places: Iterable[AttackFinding]) -> InputError | None:
    """Why a check that means no finding was meant to: without one selector, which is nearly right, it means some.

    A policy may speak of graphs and defenses that an audit has not; a wrong letter must not switch a check off.
    """
    every = list(places)
    for name in SELECTORS:
        wanted = getattr(check, name)
        if wanted is None:
            continue
        others = check.model_copy(update={name: None})
        have = {str(features(place)[name]) for place in every if others.matches(place)}
        if have and (
            name == "strength"
            or get_close_matches(
                shortened(str(wanted), LONGEST_QUOTED), [h for h in have if len(h) <= LONGEST_QUOTED]
            )
        ):
            return unknown_name(f"{name} in check '{check.name}':", str(wanted), have)
    return None


def planned(check: Check, plan: Plan) -> bool:
    """Whether a plan, run in full, may have the finding that is meant."""
    datasets = {Path(name).name if is_file(name) else name for name in plan.datasets}
    defense = None if check.defense is None else check.defense.partition(",")[0]
    named = (
        (check.attack, {attack.name for attack in plan.attack}),
        (check.target, {target.name for target in plan.target}),
        (check.dataset, datasets),
        (defense, plan.defense_names()),
    )
    return all(name is None or name in known for name, known in named)


def told_apart(places: Iterable[AttackFinding]) -> dict[str, list[str]]:
    """By which selectors findings differ, with the values that there are."""
    have = [features(place) for place in places]
    values = {name: sorted({f"{found[name]!r}" for found in have if found[name] is not None}) for name in SELECTORS}
    return {name: found for name, found in values.items() if len(found) > 1}


def _known(kind: str, name: str | None, group: str, check: Check) -> None:
    """A name that nothing answers to would make a check that never applies."""
    if (group, name) == ("defenses", UNKNOWN):  # of a run that took place elsewhere
        return
    if name is not None and ":" not in name and name not in registered(group):
        raise unknown_name(f"{kind} in check '{check.name}':", name, registered(group))


def _lines_of_checks(text: str, checks: int) -> tuple[int, ...]:
    """Where each check begins; the file's first line where that cannot be told."""
    header = re.compile(r"^\s*\[\[\s*check\s*\]\]")
    found = tuple(number for number, line in enumerate(text.splitlines(), 1) if header.match(line))
    return found if len(found) == checks else (1,) * checks
