"""What the defenses of an audit do for privacy, and at what cost, in sentences: no more than intervals show."""

import math
from collections.abc import Iterator

from ...audit.results.assemble import named
from ...audit.results.audit_result import AttackFinding, Section
from ...audit.statistics.metrics import takes_seeds_for_normal
from ...audit.statistics.severity import Scale
from .answers import base_for, between, people, rate_at
from .effects import Effects, Identity, Tried, cheapest, clearly_less, effects, safest, without_defense
from .sentences import cost_phrase
from .words import gain


def compared(section: Section, identity: Identity) -> list[str]:
    """What the privacy-utility curve of one attack says of the defenses, in sentences."""
    found = effects(section, identity)
    if found.control is None and not found.tried:
        return ["No defense was tried."]
    if found.control is None:
        return ["The undefended pipeline did not run: there is nothing to compare with."]
    if not found.tried:
        return ["No defense was tried."]
    said = [*_of_defenses(found, found.control), *_of_alternatives(found)]
    return [*said, *_against(found, found.control, section), *_as_good(found), *_of_costs(found)]


def _of_costs(found: Effects) -> Iterator[str]:
    """What the intervals of costs rest on, where there are any."""
    seeds = {
        t.outcome.cost.seeds for t in found.tried if t.outcome.cost is not None and t.outcome.cost.low is not None
    }
    if seeds:
        yield f"The interval of a cost {takes_seeds_for_normal(min(seeds))}."


def _of_defenses(found: Effects, control: Tried) -> list[str]:
    better = found.recommended()
    if not better and (found.mixed() or found.doubtful()):
        return [f"No defense that was tried is recommended (without one: {_leak(control)})."]
    if not better:
        return [
            f"No defense that was tried is shown to leak less than the pipeline without one ({_leak(control)})."
        ]
    cheap, safe = cheapest(better), safest(better)
    what = f"{gain(control.point.utility)} {control.point.utility.text(1, percent=True)}"
    said = [f"Without a defense: {_leak(control)}, level {control.verdict.level}, {what}."]
    if safe is cheap:
        said.append(f"Leaks least, and costs least of those that are shown to help: {_at(safe)}.")
    else:
        said.append(f"Costs least of those that are shown to help: {_at(cheap)}.")
        said.append(f"Leaks least: {_at(safe)}.")
    return said


def _of_alternatives(found: Effects) -> Iterator[str]:
    better = found.recommended("alternative")
    if better:
        yield f"A trivial alternative is shown to help: {_at(cheapest(better))}."


def _against(found: Effects, control: Tried, section: Section) -> Iterator[str]:
    """What should not be used, and why."""
    harmful = found.harmful()
    if harmful:
        yield f"Harmful: {'; '.join(_raises(t, section) for t in harmful)}."
    for tried in found.mixed():
        others = "; ".join(_moved(t, section) for t in found.raised[tried.label])
        yield f"Not recommended: {_at(tried)}, for it is shown to raise what another attack tells ({others})."
    for tried in found.doubtful():
        yield (
            f"Not recommended: {_at(tried)}, for the level is {control.verdict.level} without it, or it names more "
            "people at few false accusations."
        )
    vain = found.vain()
    if vain:
        listed = "; ".join(f"{t.label}, {_leak(t)}{cost_phrase(t.outcome.cost)}" for t in vain)
        yield f"Not shown to help, and at a cost in these repetitions: {listed}."


def help_for(place: AttackFinding, scale: Scale) -> list[str]:
    """What the cheapest defense, and trivial alternative, that are shown to help leave of a finding.

    What is shown to harm is named whatever the level; else there is nothing to say where nothing is to mend.
    """
    found = effects(place.section, place.attack.plan.identity)
    return [*(_helping(found, scale) if _to_mend(place) else ()), *_harming(found, place.section)]


def _to_mend(place: AttackFinding) -> bool:
    return place.verdict is not None and place.verdict.level.severity > 0


def _helping(found: Effects, scale: Scale) -> Iterator[str]:
    defenses, alternatives = found.recommended(), found.recommended("alternative")
    if defenses:
        yield f"What helps and costs least: {_leaves(cheapest(defenses), found.control, scale)}"
    elif found.tried:
        yield "None of the defenses that were tried is shown to help."
    else:
        yield "No defense was tried."
    if alternatives:
        yield f"A trivial alternative is shown to help: {_leaves(cheapest(alternatives), found.control, scale)}"


def _leaves(tried: Tried, control: Tried | None, scale: Scale) -> str:
    """What a defense that helps leaves, beside what there is now."""
    assert control is not None  # nothing helps without one
    least = math.floor(100 * ((control.leak.low or 0.0) - (tried.leak.high or 0.0))) / 100
    return (
        f"{tried.label} leaves the level at {tried.verdict.level}, where it is {control.verdict.level} "
        f"now{cost_phrase(tried.outcome.cost)}. The AUC falls from {control.leak.text(2)} to {tried.leak.text(2)}"
        f"{f', by at least {least:.2f}' if least > 0 else ''}.{_named(tried, control, scale)}"
    )


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
        yield f"Harmful: {'; '.join(_raises(t, section) for t in worst.values())}."


def _raises(tried: Tried, section: Section) -> str:
    return f"{tried.label} raises what {_moved(tried, section)}{cost_phrase(tried.outcome.cost)}"


def _moved(tried: Tried, section: Section) -> str:
    """``mia by public tells from AUC 0.58 [0.55, 0.60] to 0.68 [0.67, 0.70]``."""
    control = without_defense(section, tried)
    before = "" if control is None else f"from {_leak(control)} "
    return f"{named(tried.attack)} tells {before}to {tried.point.leak.text(2)}"


def _leak(tried: Tried) -> str:
    return f"AUC {tried.point.leak.text(2)}"


def _at(tried: Tried) -> str:
    return f"{tried.label}, {_leak(tried)}, level {tried.verdict.level}{cost_phrase(tried.outcome.cost)}"


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
