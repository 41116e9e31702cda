"""Holds an audit against a policy: finds what each check means, refuses what says nothing, and decides."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import count, islice

from ...errors import InputError, unknown_name
from ..results.applied import nothing_attacked
from ..results.assemble import PLANTED
from ..results.audit_result import AttackFinding, Audit
from ..results.outcome import CONTROL
from ..results.verdict import verdict
from ..statistics.comparison import Comparison, holm, paired
from ..statistics.finding import Finding
from ..statistics.rates import FALSE_POSITIVES
from ..statistics.severity import Scale
from .baseline import Accepted, Baseline, key_of, rounded
from .gate import Decision, Status, against_baseline, not_below_chance, within_budget, within_level
from .gate_report import CheckResult, GateReport
from .policy import LEVEL, TPR, Check, PolicyFile, misspelt, planned, told_apart

AGAIN = "Run gaudit audit again, with --retry where a trial failed"
NAMED = 10
"""Seeds that are named where some are not there."""


@dataclass(frozen=True)
class _Case:
    """A check with what it is about: settled already, or with what a decision needs."""

    check: Check
    place: AttackFinding | None = None
    settled: Decision | None = None
    comparison: Comparison | None = None


def checked(audit: Audit, file: PolicyFile, accepted: Baseline | None, strict: bool = False) -> GateReport:
    """What becomes of every check of a policy.

    Args:
        audit: what was measured.
        file: the policy.
        accepted: the baseline; needed where a check has a margin.
        strict: whether an inconclusive check fails, whatever the policy says.

    Raises:
        InputError: a check means several findings, or names a metric that is not measured.
    """
    policy = file.policy
    scale = policy.scale(audit.plan.severity)
    problems = tuple(_problems(audit, accepted))
    cases = [_case(check, audit, accepted, policy.gate.largest_fall) for check in policy.check]
    if problems:
        refused = Decision(Status.INVALID, "; ".join(problems))
        cases = [replace(case, settled=refused) for case in cases]
    levels = _levels(cases, policy.gate.alpha)
    results = []
    for case, line in zip(cases, file.lines, strict=True):
        place = case.place
        parts = {} if case.settled else _parts(case, policy.gate.alpha, levels.get(case.check.name, 0.0), scale)
        decision = case.settled or reduce(Decision.joined, parts.values())
        amounts = None if place is None or place.verdict is None else verdict(place.attack, scale)
        results.append(CheckResult(case.check, line, decision, parts, place, amounts, _state(place, accepted)))
    return GateReport(audit, tuple(results), problems, strict or policy.gate.strict, file.path)


def _levels(cases: Sequence[_Case], alpha: float) -> dict[str, float]:
    """The level of each comparison with the baseline, by the check's name."""
    p_values = {c.check.name: c.comparison.p for c in cases if c.settled is None and c.comparison is not None}
    return dict(zip(p_values, holm(list(p_values.values()), alpha), strict=True))


def failed_controls(audit: Audit) -> list[str]:
    """What makes every number of an audit mean nothing, in sentences."""
    return [f"the control '{c.name}' failed on {c.about}: {c.detail}" for c in audit.controls if not c.passed]


def _problems(audit: Audit, accepted: Baseline | None) -> list[str]:
    """What leaves nothing to be said about any check."""
    found = failed_controls(audit)
    judged = any(place.verdict is not None for place in audit.findings())
    if judged and not any(c.name == PLANTED for c in audit.controls):
        found.append("the planted leak was not attacked: finish the audit")
    nothing = nothing_attacked(audit)
    if nothing is not None:
        found.append(nothing)
    if accepted is not None and accepted.fingerprint != audit.fingerprint:
        found.append(
            f"the baseline belongs to another plan: it has fingerprint {accepted.fingerprint}, this audit "
            f"{audit.fingerprint}; audit the plan of the baseline, or accept this one with gaudit baseline update"
        )
    return found


def _state(place: AttackFinding | None, accepted: Baseline | None) -> str | None:
    if accepted is None:
        return None
    return "unchanged" if place is None else accepted.state(place)


def _case(check: Check, audit: Audit, accepted: Baseline | None, largest_fall: float) -> _Case:
    places = [place for place in audit.findings() if check.matches(place)]
    if len(places) > 1:
        raise _ambiguous(check, places)
    if not places:
        return _Case(check, settled=_nothing(check, audit, accepted))
    (place,) = places
    incomplete = _unsettled(check, audit) or _incomplete(place, audit)
    if incomplete is not None:
        return _Case(check, place, Decision(Status.INVALID, incomplete))
    if check.metric == LEVEL and place.verdict is None:
        reason = "this attack reads nothing of the release: it has no level"
        return _Case(check, place, Decision(Status.NOT_APPLICABLE, reason))
    _refuse_unmeasured(check, place)
    if check.margin is None:
        return _Case(check, place)
    comparison = _comparison(check, place, accepted, largest_fall)
    if isinstance(comparison, Decision):
        return _Case(check, place, comparison)
    return _Case(check, place, comparison=comparison)


def _unsettled(check: Check, audit: Audit) -> str | None:
    """That a check may mean findings which are not there: one that is there must not stand for these."""
    others = [one for one in audit.not_run if check.may_mean(one)]
    if not others:
        return None
    first = others[0]
    more = f" (and {len(others) - 1} more)" if len(others) > 1 else ""
    why = f"failed: {first.failed.rstrip('.')}" if first.failed else "have not run"
    where = f"{first.section}, {'without a defense' if first.defense == CONTROL else first.label}"
    return (
        f"it also means {where}{more}, whose trials {why}. {AGAIN}, or say in the check which finding it means (by "
        "target, dataset or defense)"
    )


def _ambiguous(check: Check, places: Sequence[AttackFinding]) -> InputError:
    apart = told_apart(places)
    more = "; ".join(f"{name} ({', '.join(values)})" for name, values in apart.items())
    mend = (
        f"say which by one or more of: {more}" if more else "they differ in settings alone, which no check can name"
    )
    return InputError(f"check '{check.name}' means {len(places)} findings: {mend}")


def _nothing(check: Check, audit: Audit, accepted: Baseline | None) -> Decision:
    """Why no finding is meant: it was never asked for, refused, or its trials are not there."""
    if (audit.missing or audit.failures) and planned(check, audit.plan):
        return Decision(Status.INVALID, f"none of its trials has a result: {_shortfall(audit)}. {AGAIN}")
    wrong = misspelt(check, audit.findings())
    if wrong is not None:
        raise wrong
    why = _not_applicable(check, audit)
    known = () if accepted is None else tuple(accepted.findings.values())
    if any(check.means(old.where, old.where["defense"], _family(old)) for old in known):
        return Decision(Status.INVALID, f"the baseline holds this finding, the audit does not: {why.why}")
    return why


def _not_applicable(check: Check, audit: Audit) -> Decision:
    """Nobody could have expected it: it was never planned, or refused."""
    for section in audit.sections:
        refused = {**section.refused} if check.defense in section.refused else {}
        for outcome in section.outcomes:
            refused |= {a: r for a, r in outcome.refused.items() if a.split(" (")[0] == check.attack}
        if refused:
            name, reason = next(iter(refused.items()))
            return Decision(Status.NOT_APPLICABLE, f"{name} does not apply to {section.title}: {reason}")
    games = sorted({place.attack.game for place in audit.findings() if place.attack.plan.name == check.attack})
    played = f"; this attack answered {' and '.join(games)}" if check.game and games else ""
    return Decision(Status.NOT_APPLICABLE, f"the audit has no finding with {check.selection}{played}")


def _family(old: Accepted) -> str:
    """The name of its defense without the strength."""
    return str(old.where["defense"]).partition(",")[0]


def _shortfall(audit: Audit) -> str:
    parts = [f"{_trials(audit.missing, 'has', 'have')} not run"] if audit.missing else []
    failed = len(audit.failures)
    parts += [f"{_trials(failed)} failed ({f.trial}: {f.reason})" for f in audit.failures[:1]]
    return " and ".join(parts) or "the attack did not apply in them"


def _trials(count: int, one: str = "", several: str = "") -> str:
    return f"1 trial {one}".rstrip() if count == 1 else f"{count} trials {several}".rstrip()


def _incomplete(place: AttackFinding, audit: Audit) -> str | None:
    there = place.attack.by_seed
    lacking = audit.plan.seeds - sum(0 <= index < audit.plan.seeds for index in there)
    if not lacking:
        return None
    first = islice((index for index in count() if index not in there), min(lacking, NAMED))
    seeds = ", ".join(map(str, first)) + (", ..." if lacking > NAMED else "")
    are = "is" if lacking == 1 else "are"
    return f"{lacking} of {audit.plan.seeds} seeds {are} missing (index {seeds}): {_shortfall(audit)}. {AGAIN}"


def _findings(place: AttackFinding) -> dict[str, Finding]:
    """Every number of a finding that has an interval, by the name of its metric."""
    attack = place.attack
    decisive = {} if attack.decisive is None else {attack.decisive.metric: attack.decisive}
    return {**decisive, "auc": attack.auc, **{f.metric: f for f in attack.tpr}, **attack.more}


def _refuse_unmeasured(check: Check, place: AttackFinding) -> None:
    """A metric that the audit does not measure is a mistake in the policy.

    One that it measures, but not here for want of subjects, is not.
    """
    by_seed = {name for values in place.attack.by_seed.values() for name in values}
    overall = _findings(place)
    rates = {name for name in overall if name.startswith(TPR)}
    for wanted, known in ((check.margin, by_seed | rates), (check.budget, set(overall))):
        if wanted is not None and check.metric not in known:
            raise unknown_name(f"metric in check '{check.name}':", check.metric, known)


def _comparison(
    check: Check, place: AttackFinding, accepted: Baseline | None, largest_fall: float
) -> Comparison | Decision:
    old = None if accepted is None else accepted.findings.get(key_of(place))
    if accepted is None or old is None:
        missing = "there is no baseline" if accepted is None else "the baseline has no such finding"
        return Decision(Status.INVALID, f"{missing}: make one with gaudit baseline update")
    lacking = [index for index in old.by_seed if index not in place.attack.by_seed]
    if lacking or not old.by_seed:
        named = ", ".join(map(str, lacking)) or "it has none"
        return Decision(Status.INVALID, f"seeds of the baseline are not in the audit: {named}")
    now = {index: rounded(place.attack.by_seed[index]) for index in old.by_seed}
    if any(check.metric not in values for part in (now, old.by_seed) for values in part.values()):
        return Decision(Status.INVALID, _too_few(check, old))
    seeds = sorted(old.by_seed)
    new, before = ([values[i][check.metric] for i in seeds] for values in (now, old.by_seed))
    nothing = 0.5 if check.metric == "auc" else 0.0
    return paired(new, before, nothing, largest_fall)


def _too_few(check: Check, old: Accepted) -> str:
    if not check.metric.startswith(TPR):
        return f"{check.metric} was not measured in every seed"
    needed = math.ceil(FALSE_POSITIVES / float(check.metric.removeprefix(TPR)) - 1e-6)
    return (
        f"{check.metric} needs at least {needed} non-members in every seed to be compared seed by seed; all seeds "
        f"together have {old.non_members}: use a higher rate, or a larger graph"
    )


def _parts(case: _Case, alpha: float, level: float, scale: Scale) -> dict[str, Decision]:
    """What one check that can be made decides, by its margin and by its budget."""
    check, place, parts = case.check, case.place, {}
    if case.comparison is not None and check.margin is not None:
        decision = against_baseline(case.comparison, check.metric, check.margin, alpha, level)
        now = None if place is None else _findings(place).get(check.metric)
        parts["margin"] = decision if now is None or case.comparison.identical else not_below_chance(decision, now)
    if place is not None and check.budget is not None:
        parts["budget"] = within_budget(_findings(place)[check.metric], check.metric, check.budget)
    if place is not None and check.level is not None:
        parts["budget"] = within_level(verdict(place.attack, scale), check.level)
    return parts
