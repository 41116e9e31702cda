"""What became better or worse between two audits, finding by finding and seed by seed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from ..results.audit_result import AttackFinding, Audit
from ..statistics.comparison import Comparison, holm, paired
from .baseline import key_of
from .policy import features

ALPHA = 0.05
"""How often, at most, two audits between which nothing changed have any finding that is called better or worse."""
MATTERS = 0.02
"""A difference of AUCs below this is not called a change, whatever its interval: few seeds with skewed differences
would otherwise make false alarms (see `gate`)."""


class Direction(StrEnum):
    """What became of a finding, the worst first."""

    WORSE = "worse"
    BETTER = "better"
    OPEN = "no change shown"
    SAME = "the same"
    UNKNOWN = "not comparable"


@dataclass(frozen=True)
class Change:
    """One finding in two audits.

    Attributes:
        before: as it was.
        now: as it is.
        auc: its AUC now minus then, over the seeds that both have; None where they have none in common.
        direction: what became of it.
        why: why it cannot be compared; empty where it can.
    """

    before: AttackFinding
    now: AttackFinding
    auc: Comparison | None
    direction: Direction
    why: str = ""


@dataclass(frozen=True)
class Changes:
    """Two audits side by side.

    Attributes:
        found: findings that both have, the worst changes first.
        added: findings of this audit alone.
        dropped: findings of the one before alone.
        remarks: what else differs between them, in sentences.
    """

    found: tuple[Change, ...]
    added: tuple[AttackFinding, ...]
    dropped: tuple[AttackFinding, ...]
    remarks: tuple[str, ...]

    def count(self, direction: Direction) -> int:
        """How many findings went this way."""
        return sum(change.direction is direction for change in self.found)


def changes(now: Audit, before: Audit) -> Changes:
    """Compares two audits; attacks that read nothing are left out.

    A finding became worse where its AUC rose by more than `MATTERS` and the paired t-test over seeds shows a rise,
    better where it fell likewise; all these tests together make a false alarm in one of 1 / `ALPHA` comparisons
    (Holm's step-down rule).
    """
    here, then = _judged(now), _judged(before)
    pairs = _pairs(here, then)
    compared = _directed([_compared(old, new) for old, new in pairs])
    order = list(Direction)
    met = {id(place) for pair in pairs for place in pair}
    return Changes(
        tuple(sorted(compared, key=lambda change: order.index(change.direction))),
        tuple(place for place in here if id(place) not in met),
        tuple(place for place in then if id(place) not in met),
        tuple(_remarks(now, before)),
    )


def _judged(audit: Audit) -> list[AttackFinding]:
    return [place for place in audit.findings() if place.verdict is not None]


def _pairs(
    now: Sequence[AttackFinding], before: Sequence[AttackFinding]
) -> list[tuple[AttackFinding, AttackFinding]]:
    """Then and now. By name where that is clear on both sides, whatever their settings; else with all settings."""
    found = []
    for place in now:
        alike = [other for other in before if features(other) == features(place)]
        if len(alike) != 1 or sum(features(other) == features(place) for other in now) != 1:
            alike = [other for other in alike if key_of(other) == key_of(place)]
        if len(alike) == 1:
            found.append((alike[0], place))
    return found


def _compared(before: AttackFinding, now: AttackFinding) -> Change:
    then, here = before.attack.by_seed, now.attack.by_seed
    seeds = [i for i in sorted(here) if "auc" in here[i] and "auc" in then.get(i, {})]
    if not seeds:
        return Change(before, now, None, Direction.UNKNOWN, "the two audits have no seed in common")
    auc = paired([here[i]["auc"] for i in seeds], [then[i]["auc"] for i in seeds])
    if auc.identical:
        return Change(before, now, auc, Direction.SAME)
    if now.attack.auc.below_chance or before.attack.auc.below_chance:
        why = "an AUC shown to be below 0.5 tells as much turned round"
        return Change(before, now, auc, Direction.UNKNOWN, why)
    if len(seeds) < 2:
        return Change(before, now, auc, Direction.UNKNOWN, "one seed in common has no spread to compare with")
    return Change(before, now, auc, Direction.OPEN)


def _directed(compared: Sequence[Change]) -> list[Change]:
    """With the direction of what is shown to have changed."""
    open_ = [c.auc for c in compared if c.direction is Direction.OPEN and c.auc is not None]
    two_sided = [2 * min(auc.student, 1 - auc.student) for auc in open_]
    shown = iter(zip(open_, two_sided, holm(two_sided, ALPHA), strict=True))
    found = []
    for change in compared:
        if change.direction is Direction.OPEN:
            auc, p, level = next(shown)
            if p <= level and abs(auc.mean) > MATTERS:
                change = replace(change, direction=Direction.WORSE if auc.mean > 0 else Direction.BETTER)  # noqa: PLW2901
        found.append(change)
    return found


def _remarks(now: Audit, before: Audit) -> list[str]:
    said = []
    if now.fingerprint != before.fingerprint:
        said.append(
            "The two audits did not measure the same: plan, graph or settings differ, which may be what changed it."
        )
    if now.plan.seed != before.plan.seed:
        said.append(
            f"Their seeds differ ({before.plan.seed} then, {now.plan.seed} now), so other splits were drawn."
        )
    then, here = before.versions.get("gaudit", "unknown"), now.versions.get("gaudit", "unknown")
    if then != here:
        said.append(f"The trials before ran with gaudit {then}, these with gaudit {here}.")
    if before.missing or before.failures:
        said.append("The audit before is not complete.")
    return said
