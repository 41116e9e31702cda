"""Trials of several seeds and defenses, put together into outcomes: findings with intervals."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...targets.games.named import game_of
from ..planning.trial_plan import AttackPlan
from ..running.trial import Attacked, TrialResult
from ..statistics.accused import accusations
from ..statistics.average_precision import average_precision_finding
from ..statistics.balanced_accuracy import advantage_finding, balanced_accuracy_finding
from ..statistics.finding import Finding
from ..statistics.metrics import accuracy_finding, auc_difference, auc_finding, auc_of_run, mean_difference
from ..statistics.null_control import null_finding
from ..statistics.rates import rate_finding, rate_of_run, roc
from ..statistics.scored_subjects import ScoredSubjects
from ..statistics.top_ranks import beyond_at_top, top_ranks
from ..statistics.vulnerability import by_group, vulnerabilities
from .by_score import by_score
from .game_metrics import LOW_FPR, game_findings
from .outcome import PLAIN_AUC, PLAIN_TPR, AttackOutcome, BlindBaseline, DefenseOutcome

SCHEMA = "gaudit-attack/1"
UTILITY = "utility"
"""The metric where utility is no accuracy."""
ONE_SIDED = 0.9  # both ends of such an interval are one-sided 95 % bounds


def outcomes(
    results: Sequence[TrialResult], control: str = "none", fpr: float = LOW_FPR[0]
) -> list[DefenseOutcome]:
    """Groups trials by defense and its settings (in the order of first appearance) and sums up each group.

    Args:
        results: of one target on one graph.
        control: the defense that the others are compared with.
        fpr: the false-positive rate that verdicts rest on.
    """
    by_defense: dict[tuple[str, str], list[TrialResult]] = {}
    for result in sorted(results, key=lambda r: r.plan.index):
        settings = json.dumps(result.plan.facts.settings, sort_keys=True)
        by_defense.setdefault((_called(result), settings), []).append(result)
    undefended = next((trials for (name, _), trials in by_defense.items() if name == control), None)
    settings_of = [(name, json.loads(settings)) for name, settings in by_defense]
    found = []
    for (name, _), trials in by_defense.items():
        outcome = _outcome(trials, undefended, fpr)
        apart = differing(outcome.settings, [s for other, s in settings_of if other == name])
        label = f"{name}, {apart}" if apart else name
        found.append(replace(outcome, label=label, alternative=trials[0].plan.facts.trivial))
    return found


def _called(result: TrialResult) -> str:
    """The defense of a trial: the planned one, or that of a run that took place elsewhere."""
    return result.plan.defense if result.in_place is None else result.in_place


def _outcome(trials: list[TrialResult], control: list[TrialResult] | None, fpr: float) -> DefenseOutcome:
    first = trials[0]
    defense = first.plan.facts
    chosen = _attacks(trials, True, fpr)
    timeline = _attacks(trials, False, fpr) if first.plan.timeline else ()
    return DefenseOutcome(
        _called(first).partition(", ")[0],
        defense.phrase if first.in_place is None else "as it was found",
        defense.guarantee,
        defense.settings,
        _accuracy(trials, lambda t: t.utility.test),
        _accuracy(trials, lambda t: t.utility.test_before_tuning),
        _cost(trials, control),
        chosen,
        timeline,
        {u.round: _accuracy(trials, _at(i)) for i, u in enumerate(first.utilities)},
        _refused(trials),
        first.exposure,
        _notes(trials),
        {name: _accuracy(trials, _of(name)) for name in first.transfer},
        defense.knob,
        _called(first),
        beside=defense.alternative,
        kept={name: _mean(name, [t.kept[name] for t in trials]) for name in first.kept},
        promise=defense.guaranteed,
        elsewhere=first.in_place is not None,
        figures=_figures(trials),
    )


def _mean(name: str, values: list[float]) -> Finding:
    """Of shares that do not depend on persons that were drawn: the seeds' mean, with Student's t interval."""
    return mean_difference(values, [0.0] * len(values), metric=name, limits=(0.0, 1.0))


def _figures(trials: list[TrialResult]) -> dict[str, Finding]:
    """What runs measured of themselves: the seeds' mean, over those where there was something to measure."""
    told = {name: [t.figures[name] for t in trials if name in t.figures] for name in trials[0].figures}
    there = {name: [v for v in values if not math.isnan(v)] for name, values in told.items()}
    return {n: mean_difference(v, [0.0] * len(v), metric=n) for n, v in there.items() if v}


def _notes(trials: list[TrialResult]) -> tuple[str, ...]:
    """Those of the first seed, marked where another does not say the same: findings are means over all seeds."""
    told = [set(t.notes) for t in trials]
    return tuple(n if all(n in notes for notes in told) else f"first repetition: {n}" for n in trials[0].notes)


def _refused(trials: list[TrialResult]) -> dict[str, str]:
    """Attacks that did not apply, with the reason, and in how many seeds if not in all."""
    found: dict[str, list[str]] = {}
    for trial in trials:
        for name, reason in trial.refused.items():
            found.setdefault(name, []).append(reason)
    some = {
        name: f" (in {len(r)} of {len(trials)} seeds)" if len(r) < len(trials) else "" for name, r in found.items()
    }
    return {name: reasons[0] + some[name] for name, reasons in found.items()}


def _at(release: int) -> Callable[[TrialResult], float]:
    return lambda trial: trial.utilities[release].test


def _of(architecture: str) -> Callable[[TrialResult], float]:
    return lambda trial: trial.transfer[architecture]


def _accuracy(trials: list[TrialResult], read: Callable[[TrialResult], float]) -> Finding:
    values = [read(t) for t in trials]
    if any(math.isnan(v) for v in values):
        return Finding("accuracy", None, None, None, 0.95, "none", "indicative", "a recorded run has no accuracy")
    if not trials[0].tested:  # not a share of nodes but what is kept of a structure
        return _mean(UTILITY, values)
    return accuracy_finding(values, trials[0].tested)


def _cost(trials: list[TrialResult], control: list[TrialResult] | None) -> Finding | None:
    if control is None or _called(control[0]) == _called(trials[0]):
        return None
    without = {t.plan.index: t.utility.test for t in control}
    pairs = [(without[t.plan.index], t.utility.test) for t in trials if t.plan.index in without]
    if not pairs or any(math.isnan(value) for pair in pairs for value in pair):
        return None
    found = mean_difference([c for c, _ in pairs], [d for _, d in pairs], limits=(-1.0, 1.0))
    return found if trials[0].tested else replace(found, metric=UTILITY)


def _attacks(trials: list[TrialResult], at_choice: bool, fpr: float) -> tuple[AttackOutcome, ...]:
    """Attacks grouped over seeds: at the release that validation chose, or at each release."""
    found: dict[tuple[str, str, str, str, int | None], dict[int, Attacked]] = {}
    for trial in trials:
        for a in trial.attacked:
            if at_choice and a.round != trial.utility.round:
                continue
            key = (*a.plan.identity, None if at_choice else a.round)
            found.setdefault(key, {})[trial.plan.index] = a
    plans = [next(iter(by_seed.values())).plan for by_seed in found.values()]
    return tuple(
        replace(attack_outcome(by_seed, fpr), variant=_variant(plan, plans))
        for plan, by_seed in zip(plans, found.values(), strict=True)
    )


def _variant(plan: AttackPlan, plans: Sequence[AttackPlan]) -> str:
    """Settings that tell an attack from others of the same name, observer and way to ask."""
    alike = [p.settings for p in plans if p.identity[:3] == plan.identity[:3]]
    return differing(plan.settings, alike)


def differing(settings: Mapping[str, Any], alike: Sequence[Mapping[str, Any]]) -> str:
    """Those of ``settings`` that are not the same in all of ``alike``, as a reader writes them."""
    names = sorted({name for other in alike for name in other if any(o.get(name) != other[name] for o in alike)})
    return ", ".join(f"{name} {_short(settings.get(name, 'by default'))}" for name in names)


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def attack_outcome(by_seed: Mapping[int, Attacked], fpr: float = LOW_FPR[0]) -> AttackOutcome:
    """One attack over the seeds of one defense, by the seeds' indices."""
    as_called = [by_seed[index] for index in sorted(by_seed)]
    named, accused = [a.judged for a in as_called], [a.accused for a in as_called if a.accused is not None]
    by_seed = by_score(by_seed)
    attacked = list(by_seed.values())
    first = attacked[0]
    runs, blind = [a.judged for a in attacked], [a.blind for a in attacked]
    scaled = _standardised(runs)
    rounds = {a.round for a in attacked}
    return AttackOutcome(
        first.plan,
        rounds.pop() if len(rounds) == 1 else None,
        first.knowledge,
        _turned(auc_finding(runs)),
        auc_finding(blind),
        auc_difference(runs, blind),
        tuple(rate_finding(scaled, rate) for rate in dict.fromkeys((*LOW_FPR, fpr))),
        null_finding(named),
        {name: _in_group(attacked, name) for name in dict.fromkeys(name for a in attacked for name in a.groups)},
        first.game,
        {
            "average_precision": average_precision_finding(runs),
            "balanced_accuracy": balanced_accuracy_finding(runs),
            "advantage": advantage_finding(runs),
            **_plain(runs),
            **game_findings(as_called, attacked),
        },
        {name: _baseline(runs, [a.baselines[name] for a in attacked], fpr) for name in first.baselines},
        {name: _risk(attacked, name) for name in first.attributes},
        roc(scaled),
        tuple(vulnerabilities(_standardised(named), game_of(first.game).called)),
        rate_finding(scaled, fpr, ONE_SIDED),
        {index: _alone(a.judged, (*LOW_FPR, fpr)) for index, a in by_seed.items()},
        _accuracies(attacked),
        clustered_by=next((a.clustered_by for a in attacked if a.clustered_by), ""),
        top=None if runs[0].clusters is not None else top_ranks(runs, blind, fpr),
        accusations=accusations(accused) if accused else None,
    )


def _standardised(runs: Sequence[ScoredSubjects]) -> list[ScoredSubjects]:
    """Runs on one scale for all strata, or plainly where some run has nobody who can be compared."""
    scaled = [run.standardised() for run in runs]
    return scaled if all(len(run.score) for run in scaled) else [run.plainly() for run in runs]


def _plain(runs: Sequence[ScoredSubjects]) -> dict[str, Finding]:
    """AUC and rate as others quote them, everybody compared with everybody; nothing where the headline is that."""
    if all(run.strata is None for run in runs):
        return {}
    plain = [run.plainly() for run in runs]
    return {PLAIN_AUC: _turned(auc_finding(plain)), PLAIN_TPR: rate_finding(plain, LOW_FPR[0])}


def _turned(found: Finding) -> Finding:
    """An AUC below 0.5 tells as much as one above, to whoever knows that it is below."""
    if not found.below_chance:
        return found
    return replace(found, note="; ".join(filter(None, (found.note, "below 0.5: turned round, it tells as much"))))


def _alone(run: ScoredSubjects, rates: Sequence[float]) -> dict[str, float]:
    """Metrics of one run that its subjects resolve."""
    (scaled,) = _standardised([run])
    found = {f"tpr@fpr={fpr:g}": rate_of_run(scaled, fpr) for fpr in rates}
    measured = {name: value for name, value in found.items() if value is not None}
    area = auc_of_run(run)
    return ({} if area is None else {"auc": area}) | measured


def _accuracies(attacked: Sequence[Attacked]) -> tuple[float, float] | None:
    pairs = [a.accuracies for a in attacked if a.accuracies is not None]
    if not pairs:
        return None
    target, shadow = np.mean(pairs, axis=0)
    return float(target), float(shadow)


def _baseline(runs: list[ScoredSubjects], blind: list[ScoredSubjects], fpr: float) -> BlindBaseline:
    return BlindBaseline(auc_finding(blind), auc_difference(runs, blind), beyond_at_top(runs, blind, fpr))


def _risk(attacked: Sequence[Attacked], attribute: str) -> dict[str, Finding]:
    found = by_group([a.judged for a in attacked], [a.attributes[attribute] for a in attacked])
    return {str(value): finding for value, finding in found.items()}


def _in_group(attacked: Sequence[Attacked], name: str) -> Finding:
    nobody = [np.zeros(len(a.judged.truth), dtype=bool) for a in attacked]
    masks = [a.groups.get(name, none) for a, none in zip(attacked, nobody, strict=True)]
    runs = [a.judged.where(mask) for a, mask in zip(attacked, masks, strict=True)]
    for what, side in (("non-member", False), ("member", True)):
        if not all((run.truth == side).any() for run in runs):
            return Finding("auc", None, None, None, 0.95, "none", "valid", f"no {what} of this group")
    return auc_finding(runs)
