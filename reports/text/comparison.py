"""What the defenses of an audit do for privacy, and at what cost, in sentences: no more than intervals show."""

import math
from collections.abc import Iterator

from ...audit.results.assemble import named
from ...audit.results.audit_result import AttackFinding, Section
from ...audit.results.outcome import CONTROL
from ...audit.statistics.metrics import takes_seeds_for_normal
from ...audit.statistics.severity import Scale
from .answers import base_for, between, people, rate_at
from .effects import Effects, Identity, Tried, cheapest, clearly_less, effects, more_named, safest, without_defense
from .sentences import cost_phrase, level_called
from .words import gain


def compared(section: Section, identity: Identity) -> list[str]:
    """What the privacy-utility curve of one attack says of the defenses, in sentences."""
    found = effects(section, identity)
    if not found.tried:
        return [none_tried(section)]
    if found.control is None:
        return ["This attack has no result on the pipeline without a defense: there is nothing to compare with."]
    said = [*_of_defenses(found, found.control, section), *_of_alternatives(found)]
    return [*said, *_against(found, found.control, section), *_as_good(found), *_of_costs(found)]


def none_tried(section: Section) -> str:
    """That there is no defense to tell of, and whether any was planned."""
    if any(one.defense != CONTROL for one in section.not_run):
        return "No defense has a result: none of those that were planned has run."
    others = any(not outcome.reference for outcome in section.outcomes)
    return "This attack was run on no defense." if others else "No defense was tried."


def _of_costs(found: Effects) -> Iterator[str]:
    """What the intervals of costs rest on, where there are any."""
    seeds = {
        t.outcome.cost.seeds for t in found.tried if t.outcome.cost is not None and t.outcome.cost.low is not None
    }
    if seeds:
        yield f"The interval of a cost {takes_seeds_for_normal(min(seeds))}."


def _of_defenses(found: Effects, control: Tried, section: Section) -> list[str]:
    better = found.recommended()
    if not better and (found.mixed() or found.doubtful()):
        return [f"No defense that was tried is recommended (without one: {_leak(control)})."]
    if not found.any_defense:
        return [none_tried(section)]
    if not better:
        return [
            f"No defense that was tried is shown to leak less than the pipeline without one ({_leak(control)})."
        ]
    cheap, safe = cheapest(better), safest(better)
    what = f"the {gain(control.point.utility)} is {control.point.utility.text(1, percent=True)}"
    level = level_called(control.verdict.level)
    said = [f"Without a defense the attack reaches {_leak(control)} (level {level}), and {what}."]
    if safe is cheap:
        said.append(f"The defense that leaks least, and costs least of those shown to help, is {_at(safe)}.")
    else:
        said.append(f"The defense that costs least of those shown to help is {_at(cheap)}.")
        said.append(f"The defense that leaks least is {_at(safe)}.")
    return said


def _of_alternatives(found: Effects) -> Iterator[str]:
    better = found.recommended("alternative")
    if better:
        yield f"A trivial alternative is shown to help: {_at(cheapest(better))}."


def _against(found: Effects, control: Tried, section: Section) -> Iterator[str]:
    """What should not be used, and why."""
    harmful = found.harmful()
    if harmful:
        yield " ".join(_raises(t, section) for t in harmful)
    for tried in found.mixed():
        others = ", and ".join(_moved(t, section) for t in found.raised[tried.label])
        yield f"Not recommended: {_at(tried)}. It is shown to raise {others}."
    for tried in found.doubtful():
        yield f"Not recommended: {_at(tried)}. With it {_doubt(found, tried, control)}."
    vain = found.vain()
    if vain:
        listed = "; ".join(f"{t.label}, {_leak(t)}{cost_phrase(t.outcome.cost)}" for t in vain)
        yield f"These are not shown to help, and had a cost in these repetitions: {listed}."


def _doubt(found: Effects, tried: Tried, control: Tried) -> str:
    """Why a defense that lowers the AUC is not recommended."""
    if tried.verdict.level.severity > control.verdict.level.severity:
        after, before = level_called(tried.verdict.level), level_called(control.verdict.level)
        return f"the level is {after}, where it is {before} without it"
    if more_named(tried.attack, control.attack):
        return "the attack is shown to name more people"
    worst = found.strongest[tried.label]
    assert worst.verdict is not None
    return f"the level of {named(worst.attack)} is {level_called(worst.verdict.level)}"


def help_for(place: AttackFinding, scale: Scale) -> list[str]:
    """What the recommended defense, and trivial alternative, leave of a finding.

    What is shown to harm is named whatever the level; else there is nothing to say where nothing is to mend.
    """
    found = effects(place.section, place.attack.plan.identity)
    return [*(_helping(found, scale, place.section) if _to_mend(place) else ()), *_harming(found, place.section)]


def _to_mend(place: AttackFinding) -> bool:
    return place.verdict is not None and place.verdict.level.severity > 0


def _helping(found: Effects, scale: Scale, section: Section) -> Iterator[str]:
    defense, alternative = found.advised(), found.advised("alternative")
    if defense is not None:
        left = f"{_leaves(defense, found, scale)}{_cheaper(defense, found)}"
        yield f"The recommended defense is {defense.label}. {left}"
    elif found.any_defense:
        yield "None of the defenses that were tried is shown to help."
    else:
        yield none_tried(section)
    if alternative is not None:
        yield f"The trivial alternative {alternative.label} is shown to help. {_leaves(alternative, found, scale)}"


def left_and_now(tried: Tried, found: Effects) -> tuple[str, str]:
    """The level that the strongest of all attacks has with a defense, and how it is called without one.

    The attack is named where it is not the one that the defense is compared by.
    """
    assert found.control is not None  # nothing helps without one
    after, now = found.strongest[tried.label], found.strongest[found.control.label]
    assert after.verdict is not None
    assert now.verdict is not None
    by = "" if after.attack.plan.identity == tried.attack.plan.identity else f" ({named(after.attack)})"
    return f"{level_called(after.verdict.level)}{by}", level_called(now.verdict.level)


def _leaves(tried: Tried, found: Effects, scale: Scale) -> str:
    """What a defense that helps leaves, beside what there is now."""
    control = found.control
    assert control is not None  # nothing helps without one
    after, now = left_and_now(tried, found)
    level = f"the level stays {now}" if after == now else f"the level is {after}, where it is {now} now"
    least = math.floor(100 * ((control.leak.low or 0.0) - (tried.leak.high or 0.0))) / 100
    return (
        f"With it {level}{cost_phrase(tried.outcome.cost)}. The AUC falls from {control.leak.text(2)} to "
        f"{tried.leak.text(2)}{f', by at least {least:.2f}' if least > 0 else ''}."
        f"{_named(tried, control, scale)}"
    )


def _cheaper(best: Tried, found: Effects) -> str:
    """The cheapest that helps, where another is recommended since it leaves less."""
    cheap = cheapest(found.recommended())
    if cheap is best:
        return ""
    after, now = left_and_now(cheap, found)
    level = f"the level stays {now}" if after == now else f"the level is {after}"
    return f" {cheap.label} also helps{cost_phrase(cheap.outcome.cost)}; with it {level}."


def _named(tried: Tried, control: Tried, scale: Scale) -> str:
    """How many are named with and without a defense, and whether these are shown to be fewer."""
    after, now = rate_at(tried.attack, scale.fpr), rate_at(control.attack, scale.fpr)
    if after is None or now is None or after.estimate is None or now.estimate is None:
        return ""
    base = base_for(min(after.estimate, now.estimate), scale.fpr)
    counts = [f"{people(rate.estimate, base)} in {base}{between(rate, base)}" for rate in (after, now)]
    if clearly_less(after, now):
        return f" It leaves {counts[0]} named, where {counts[1]} are named now."
    return (
        f" That fewer people are named at few false accusations is not shown: {counts[0]} with it, {counts[1]} now."
    )


def _harming(found: Effects, section: Section) -> Iterator[str]:
    """Defenses that raise what some attack on the question tells, each once."""
    worst = {t.label: t for others in found.raised.values() for t in others}
    worst |= {t.label: t for t in found.harmful()}
    if worst:
        yield " ".join(_raises(t, section) for t in worst.values())


def _raises(tried: Tried, section: Section) -> str:
    return f"Do not use {tried.label}: it raises {_moved(tried, section)}{cost_phrase(tried.outcome.cost)}."


def _moved(tried: Tried, section: Section) -> str:
    """``the AUC of mia by public from 0.58 [0.55, 0.60] to 0.68 [0.67, 0.70]``."""
    control = without_defense(section, tried)
    before = "" if control is None else f"from {control.point.leak.text(2)} "
    return f"the AUC of {named(tried.attack)} {before}to {tried.point.leak.text(2)}"


def _leak(tried: Tried) -> str:
    return f"AUC {tried.point.leak.text(2)}"


def _at(tried: Tried) -> str:
    level = level_called(tried.verdict.level)
    return f"{tried.label} ({_leak(tried)}, level {level}){cost_phrase(tried.outcome.cost)}"


def _as_good(found: Effects) -> Iterator[str]:
    """Defenses that a trivial alternative equals in the estimates: their idea is not shown to protect."""
    defenses = [t for t in found.tried if t.point.role == "defense"]
    for family in dict.fromkeys(t.point.family for t in defenses):
        name = next(t.outcome.beside for t in defenses if t.point.family == family)
        trivial = [t for t in found.tried if t.point.family == name]
        own = [t for t in defenses if t.point.family == family]
        beaten = [t for t in own if any(_at_least_as_good(a, t) for a in trivial)]
        if beaten:
            labels, what = ", ".join(t.label for t in beaten), gain(beaten[0].point.utility)
            yield (
                f"Not shown to do better than the trivial alternative {name} (as much {what}, as little leak): "
                f"{labels}."
            )


def _at_least_as_good(one: Tried, other: Tried) -> bool:
    more = (one.point.utility.estimate or 0.0) >= (other.point.utility.estimate or 0.0)
    return more and (one.leak.estimate or 0.0) <= (other.leak.estimate or 0.0)
