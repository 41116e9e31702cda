"""An audit's results, put together: what every report, curve, verdict and check reads."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..planning.plan import Plan
from ..planning.trial_plan import AttackPlan
from ..statistics.finding import Finding
from .outcome import AttackOutcome, DefenseOutcome
from .verdict import Verdict


@dataclass(frozen=True)
class AuditControl:
    """A check of the audit itself. One that fails makes the audit invalid.

    Attributes:
        name: which check: ``null``, ``planted leak`` or ``shadow accuracy``.
        about: what it was made on.
        passed: whether it holds, or could not be told to fail.
        detail: what was seen, in a sentence.
        tells: whether it could have failed; one that could not is not counted as held.
    """

    name: str
    about: str
    passed: bool
    detail: str
    tells: bool = True


@dataclass(frozen=True)
class Failure:
    """A trial that could not be run."""

    trial: str
    reason: str


@dataclass(frozen=True)
class NotRun:
    """A defense, or the pipeline without one, of which no trial has a result.

    Attributes:
        section: the title of its section (`Section.title`).
        target: its name.
        dataset: the graph's name, as the plan gives it (untrusted text).
        defense: its name.
        strength: or None.
        attacks: that were to be mounted.
        failed: why its first trial that failed could not be run; empty where none failed.
    """

    section: str
    target: str
    dataset: str
    defense: str
    strength: float | None
    attacks: tuple[AttackPlan, ...]
    failed: str = ""

    @property
    def label(self) -> str:
        """The defense with its strength."""
        return self.defense if self.strength is None else f"{self.defense} at {self.strength:g}"


@dataclass(frozen=True)
class Timing:
    """How long a trial took, in CPU seconds, whether it has a result or failed."""

    trial: str
    failed: bool
    seconds: float


@dataclass(frozen=True)
class Section:
    """One target on one graph: every defense over all seeds.

    Attributes:
        target: its name.
        target_settings: its settings, presets resolved.
        dataset: the graph's name, as the plan gives it (untrusted text).
        release_phrase: how a sentence calls what an outsider holds.
        seeds: indices of the repetitions that are there.
        outcomes: the undefended control first.
        verdicts: for each outcome and each of its attacks, in the same order; None for one that reads no message.
        refused: defenses that have no place in the target, with the reason.
        variant: settings that tell it from the same target on the same graph.
        size: the graph's nodes, edges and classes; empty where an older gaudit did not note them.
        not_run: what was planned for it and has no result.
    """

    target: str
    target_settings: dict[str, Any]
    dataset: str
    release_phrase: str
    seeds: tuple[int, ...]
    outcomes: tuple[DefenseOutcome, ...]
    verdicts: tuple[tuple[Verdict | None, ...], ...]
    refused: Mapping[str, str]
    variant: str = ""
    size: Mapping[str, int] = field(default_factory=dict)
    not_run: tuple[NotRun, ...] = ()

    @property
    def title(self) -> str:
        """The target on its graph."""
        return titled(self.target, self.dataset, self.variant)


def titled(target: str, dataset: str, variant: str = "") -> str:
    """How a target on its graph is called."""
    return f"{target} on {dataset}" + (f", {variant}" if variant else "")


@dataclass(frozen=True)
class Audit:
    """All of it.

    Attributes:
        plan: what was to run.
        fingerprint: of what was measured: graphs, targets, defenses, attacks and seeds, without the code.
        sections: one per target and graph.
        controls: checks of the audit itself.
        failures: trials that could not be run.
        missing: trials that have not run yet.
        versions: of gaudit and what it stands on, when the trials ran.
        timings: what each trial that ran took: they differ between two runs of one plan, and no result depends on
            them, so that they stand in an export of their own.
        date: of the report, as whoever asks for it says; empty for none.
        before: an audit that a report compares this one with.
        not_run: everything that was planned and has no result, sections of their own among it.
    """

    plan: Plan
    fingerprint: str
    sections: tuple[Section, ...]
    controls: tuple[AuditControl, ...]
    failures: tuple[Failure, ...]
    missing: int
    versions: dict[str, str]
    timings: tuple["Timing", ...]
    date: str = ""
    before: "Audit | None" = None
    not_run: tuple[NotRun, ...] = ()

    @property
    def seconds(self) -> float:
        """CPU seconds of all trials."""
        return sum(timing.seconds for timing in self.timings)

    @property
    def valid(self) -> bool:
        """Whether every control holds; if not, no number in it means anything."""
        return all(control.passed for control in self.controls)

    def findings(self) -> list["AttackFinding"]:
        """Every attack of every section, in the order of the plan."""
        return [
            AttackFinding(section, outcome, attack, judged)
            for section in self.sections
            for outcome, row in zip(section.outcomes, section.verdicts, strict=True)
            for attack, judged in zip(outcome.attacks, row, strict=True)
        ]


@dataclass(frozen=True)
class AttackFinding:
    """One attack's result with where it stands."""

    section: Section
    outcome: DefenseOutcome
    attack: AttackOutcome
    verdict: Verdict | None


@dataclass(frozen=True)
class Point:
    """A point of a privacy-utility curve.

    Attributes:
        label: the defense with its strength.
        family: the defense's name; the points of a family are one curve, in the order of strength.
        strength: or None.
        utility: accuracy.
        leak: the attack's AUC.
        on_front: whether no other point has more utility and less leak (by the estimates).
        role: ``control``, ``defense`` or ``alternative``.
    """

    label: str
    family: str
    strength: float | None
    utility: Finding
    leak: Finding
    on_front: bool
    role: str
