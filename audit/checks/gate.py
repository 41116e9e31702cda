"""The decision rule of `gaudit check`: a rise is told from none by its interval over seeds, not by a threshold.

A measured AUC varies from seed to seed by more than a change that matters, so "fail where it rose by 0.02" fails on
a third of the changes that change nothing. Here candidate and baseline are compared seed by seed (the same split,
the same randomness), and with d the differences:

- **regressed** where the one-sided lower bound L of their mean is above 0, the mean is above the margin, *and* the
  rise stands against falls in seeds that were not run (`comparison`), as large as the policy's ``largest_fall``;
- **pass** where the one-sided upper bound U is below the margin: no rise that matters is left possible;
- **inconclusive** otherwise: more seeds are needed.

L and U are Student's t bounds at alpha. For L, alpha is divided over the declared margin checks by Holm's step-down
rule (Scandinavian Journal of Statistics 1979), so that alpha is how often a change that changes nothing is called a
regression at all. U needs no such thing: the gate passes only if every check does, which is an intersection-union
test (Berger, Technometrics 1982), each at its own level. The third condition holds its level for any distribution
of differences with no larger falls, skewed ones too; L and U by themselves do not. Simulated on recorded runs and
on skewed differences in benchmarks/gate.py.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from ..results.verdict import Verdict
from ..statistics.comparison import MOST_SEEDS, Comparison
from ..statistics.finding import Finding
from ..statistics.severity import Level


class Status(StrEnum):
    """What became of a check, from the worst on."""

    INVALID = "invalid"
    REGRESSED = "regressed"
    OVER_BUDGET = "over budget"
    INCONCLUSIVE = "inconclusive"
    PASS = "pass"
    NOT_APPLICABLE = "not applicable"

    @property
    def fails(self) -> bool:
        """Whether something was found that must not be."""
        return self in (Status.REGRESSED, Status.OVER_BUDGET)


@dataclass(frozen=True)
class Decision:
    """A status with what it rests on.

    Attributes:
        status: what became of it.
        why: in a sentence.
        size: the number that was judged, with its interval, in words.
        numbers: that were judged, for machines.
        details: sentences for who wants to know more.
    """

    status: Status
    why: str
    size: str = ""
    numbers: Mapping[str, float | int | str] = field(default_factory=dict)
    details: tuple[str, ...] = ()

    def joined(self, other: "Decision") -> "Decision":
        """Of two that are made on the same finding: the worse status, and what both rest on."""
        return Decision(
            min(self.status, other.status, key=list(Status).index),
            f"{self.why}; {other.why}",
            f"{self.size}; {other.size}",
            {**self.numbers, **other.numbers},
            (*self.details, *other.details),
        )


def against_baseline(found: Comparison, metric: str, margin: float, alpha: float, level: float) -> Decision:
    """The decision on a rise over the baseline.

    Args:
        found: the paired differences.
        metric: what was measured.
        margin: the rise that must be told from none.
        alpha: level of the upper bound.
        level: level of the lower bound, which is Holm's share of alpha.
    """
    if found.identical:
        why = f"{shown(metric)} is exactly as in the baseline in all {found.seeds} seeds"
        return Decision(Status.PASS, why, "+0.000", {"seeds": found.seeds, "mean_rise": 0.0})
    low, high = found.mean - found.reach(level), found.mean + found.reach(alpha)
    if low > 0 and found.mean > margin and found.p <= level:
        status = Status.REGRESSED
        why = f"rose by {found.mean:.3f} over the baseline (at least {low:.3f}; the margin is {margin:g})"
    elif high < margin:
        status = Status.PASS
        why = f"{_moved(found.mean)} against the baseline; a rise of {margin:g} is ruled out (at most {high:+.3f})"
    else:
        status = Status.INCONCLUSIVE
        why = f"{_moved(found.mean)} against the baseline; a rise of {margin:g} is neither shown nor ruled out: "
        why += _rare_falls(found, level) if low > 0 and found.mean > margin else _more_seeds(found, margin, alpha)
    size = f"{found.mean:+.3f}" + (f" [{low:+.3f}, {high:+.3f}]" if found.seeds > 1 else "")
    values = {"mean_rise": found.mean, "low": low, "high": high, "margin": margin, "p": found.p}
    values["power"] = found.power(margin, alpha)
    finite = {name: round(value, 6) for name, value in values.items() if math.isfinite(value)}
    details = _details(found, margin, alpha, level)
    return Decision(status, f"{shown(metric)} {why}", size, {"seeds": found.seeds, **finite}, details)


def shown(metric: str) -> str:
    """A metric as a reader knows it."""
    return "AUC" if metric == "auc" else metric


def _moved(mean: float) -> str:
    return f"{'rose' if mean > 0 else 'fell'} by {abs(mean):.3f}" if round(mean, 3) else "hardly moved"


def _more_seeds(found: Comparison, margin: float, alpha: float) -> str:
    if found.seeds < 2:
        return "one seed has no spread to compare with, use at least 5"
    chance = f"with {found.seeds} seeds such a rise is seen {found.power(margin, alpha):.0%} of the time"
    needed = found.seeds_needed(margin, alpha)
    return f"{chance}, {MOST_SEEDS} seeds would not do" if needed is None else f"{chance}, with {needed} seeds 80 %"


def _rare_falls(found: Comparison, level: float) -> str:
    """Why a rise that Student's test shows is not shown to be one."""
    needed = found.seeds_against_falls(level)
    seeds = f"{MOST_SEEDS} seeds would not do" if needed is None else f"{needed} seeds that rise as much show it"
    return (
        f"in seeds that were not run it may fall by up to {found.fall:.3f}, and {found.seeds} seeds cannot rule "
        f"out that such falls are common enough to cancel the rise; {seeds}"
    )


def _details(found: Comparison, margin: float, alpha: float, level: float) -> tuple[str, ...]:
    lines = ["differences by seed: " + ", ".join(f"{d:+.4f}" for d in found.differences)]
    power = found.power(margin, alpha)
    lines.append(f"power to see a rise of {margin:g} with {found.seeds} seeds: {power:.0%}")
    if found.seeds > 1:
        lines.append(
            f"one-sided test of a rise (Student's t, and falls of up to {found.fall:.3f}): p = {found.p:.2g}, at "
            f"level {level:.3g}"
        )
    flips = found.sign_flips()
    if flips is not None and found.seeds > 1:
        least = 0.5**found.seeds
        lines.append(f"cross-check by flipping signs: p = {flips:.2g} (below {least:.2g} is not possible)")
    return tuple(lines)


def not_below_chance(decision: Decision, found: Finding) -> Decision:
    """The decision on a fall, unless it went below chance: turned round, that may be a rise."""
    if not found.below_chance or decision.status is not Status.PASS:
        return decision
    return replace(decision, status=Status.INCONCLUSIVE, why=f"{decision.why}; but it {_turned_round(found)}")


def _turned_round(found: Finding) -> str:
    return f"is at most {found.high:.3f}, below chance: turned round, it tells as much"


def within_budget(found: Finding, metric: str, budget: float) -> Decision:
    """The decision on a number by its interval; a lower bound alone can only show that it is more."""
    values = {"estimate": found.estimate, "interval_low": found.low, "interval_high": found.high}
    known = {name: round(value, 6) for name, value in values.items() if value is not None}
    status, why = _budgeted(found, budget)
    one_sided = found.high is None and found.low is not None
    size = f"at least {found.text()}" if one_sided else found.text()
    return Decision(status, f"{shown(metric)} {why}", size, {"budget": budget, **known})


def _budgeted(found: Finding, budget: float) -> tuple[Status, str]:
    if found.below_chance:
        return Status.INCONCLUSIVE, f"{_turned_round(found)}, so a budget of {budget:g} says nothing of it"
    if found.estimate is None or found.low is None:
        return Status.INVALID, f"cannot be held against a budget: {found.note or 'it has no interval'}"
    if found.low > budget:
        return Status.OVER_BUDGET, f"is at least {found.low:.3f}, over the budget of {budget:g}"
    if found.high is None:
        least = f"at least {found.low:.3f}, and a lower bound can show no more"
        return Status.PASS, f"is not shown to be over the budget of {budget:g} ({least})"
    if found.high <= budget:
        return Status.PASS, f"is at most {found.high:.3f}, within the budget of {budget:g}"
    why = f"is between {found.low:.3f} and {found.high:.3f}, on either side of the budget of {budget:g}"
    return Status.INCONCLUSIVE, f"{why}: more seeds or more subjects are needed"


def within_level(found: Verdict, allowed: Level) -> Decision:
    """The decision on a level that must not be exceeded."""
    numbers: dict[str, float | int | str] = {"level": str(found.level), "allowed": str(allowed)}
    numbers |= {} if found.low is None else {"ratio_low": round(found.low, 6)}
    size, called = str(found.level), _quoted(allowed)
    if found.level is Level.INCONCLUSIVE:
        return Decision(Status.INCONCLUSIVE, f"no level can be told. {found.reason}", size, numbers)
    if found.level is Level.UNSIZED:
        why = f"a leak is found, and nothing shows that it is at most {called}, as is allowed. {found.reason}"
        return Decision(Status.OVER_BUDGET, why, size, numbers)
    if found.level.severity > allowed.severity:
        why = f"the level is {found.level}, and at most {called} is allowed. {found.reason}"
        return Decision(Status.OVER_BUDGET, why, size, numbers)
    why = f"the level is {_quoted(found.level)}, and at most {called} is allowed. {found.reason}"
    return Decision(Status.PASS, why, size, numbers)


def _quoted(level: Level) -> str:
    """A level within a sentence."""
    return f'"{level}"' if " " in level else str(level)
