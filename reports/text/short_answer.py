"""The answer to what was asked, in a sentence or two: what leaks to whom, and what defenses leave of it."""

from collections.abc import Iterator, Sequence

from ...audit.results.outcome import CONTROL, AttackOutcome, DefenseOutcome
from ...audit.results.verdict import verdict
from ...audit.statistics.finding import Finding
from ...audit.statistics.identity_metrics import NAMED
from ...audit.statistics.severity import Level, Scale
from .accusations import also_accusing
from .sentences import actor, capital, cost_phrase, strength_of
from .words import words

SHOWN = 3
"""Defenses of which a sentence tells; a table tells of all."""
SCALE = Scale()


def short_answer(outcomes: Sequence[DefenseOutcome], release: str, scale: Scale = SCALE) -> list[str]:
    """For each question what the strongest attack finds, and what each of the first few defenses changes.

    Args:
        outcomes: of one target on one graph.
        release: how a sentence calls what an outsider holds.
        scale: where the levels begin.
    """
    base = next((o for o in outcomes if o.reference), outcomes[0])
    games = dict.fromkeys(a.game for a in base.attacks if a.plan.facts.reads)
    said: list[str] = []
    for game in games:
        said.append(_found(strongest(base, game, scale), base, release, scale))
        said += _left(game, [o for o in outcomes if o is not base], scale)
    return said


def strongest(outcome: DefenseOutcome, game: str, scale: Scale = SCALE) -> AttackOutcome:
    """The attack on one question that found most: by its level, then by its AUC."""
    attacks = [a for a in outcome.attacks if a.game == game and a.plan.facts.reads]
    return max(attacks, key=lambda a: (verdict(a, scale).level.severity, a.auc.turned.estimate or 0.0))


def leak(attack: AttackOutcome) -> Finding:
    """What is told of an attack first: the share of persons who are named, or the AUC."""
    return attack.more.get(NAMED, attack.auc.turned)


def _found(attack: AttackOutcome, base: DefenseOutcome, release: str, scale: Scale) -> str:
    told, level, by = words(attack.game), verdict(attack, scale).level, f" ({attack.plan.name})"
    where = "" if base.defense == CONTROL else f"{capital(base.phrase)}, "
    somebody = actor(attack, release)
    somebody = somebody if not where else somebody[0].lower() + somebody[1:]
    if NAMED in attack.more:
        return f"{where}{somebody} names {leak(attack).text(1, percent=True)} of the persons{by}."
    if level.severity:
        return f"{where}{somebody} tells {_whom(attack)}: {_picks(attack)}{also_accusing(attack)}{by}."
    if level is Level.NOT_ATTRIBUTABLE:
        return (
            f"{where}{somebody} tells {_whom(attack)}: {_picks(attack)}, but what is public tells most of it{by}."
        )
    doubt = "Nothing shows that" if level is Level.NOT_FOUND else "It is open whether"
    less = f"{somebody[0].lower()}{somebody[1:]}"
    if where:
        doubt = f"{where}{doubt[0].lower()}{doubt[1:]}"
    return f"{doubt} {less} can tell {told.told}: {_picks(attack, 'the strongest attack')}{by}."


def _whom(attack: AttackOutcome) -> str:
    told = words(attack.game)
    return f"{told.told} {told.alike}" if attack.auc != attack.plain_auc else told.told


def _picks(attack: AttackOutcome, who: str = "it") -> str:
    """The AUC as a share of cases."""
    auc = leak(attack)
    if auc.estimate is None:
        return f"too few were asked to say how well ({auc.note})"
    return f"of two {who} picks the right one in {_cases(auc)} of 100 cases{_interval(auc)}, where guessing gets 50"


def _cases(auc: Finding) -> str:
    return f"{100 * (auc.estimate or 0.0):.0f}"


def _interval(auc: Finding) -> str:
    if auc.low is None or auc.high is None:
        return ""
    return f" ({100 * auc.low:.0f} to {100 * auc.high:.0f})"


def _left(game: str, others: Sequence[DefenseOutcome], scale: Scale) -> Iterator[str]:
    """What the strongest attack on each of the first few defenses still finds."""
    tried = [o for o in others if any(a.game == game and a.plan.facts.reads for a in o.attacks)]
    for outcome in tried[:SHOWN]:
        attack = strongest(outcome, game, scale)
        found = leak(attack)
        if NAMED in attack.more:
            left = f"{found.text(1, percent=True)} of the persons are named"
        elif found.estimate is None:
            left = "how much is told cannot be measured"
        elif verdict(attack, scale).level.severity:
            left = f"it is {_cases(found)} of 100{_interval(found)}"
        else:
            left = f"no leak is shown: {_cases(found)} of 100{_interval(found)}"
        start = f"{capital(outcome.phrase)}{strength_of(outcome)} {left}"
        yield f"{start}{also_accusing(attack)}{cost_phrase(outcome.cost)} ({attack.plan.name})."
    if len(tried) > SHOWN:
        yield f"The table has {len(tried) - SHOWN} more defenses."
