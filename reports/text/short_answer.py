"""The answer to what was asked, in short sentences: what leaks to whom, and what defenses leave of it."""

from collections.abc import Iterator, Sequence

from ...audit.results.outcome import CONTROL, AttackOutcome, DefenseOutcome
from ...audit.results.verdict import crowded, verdict
from ...audit.statistics.finding import Finding
from ...audit.statistics.identity_metrics import NAMED
from ...audit.statistics.severity import Level, Scale
from .accusations import named_outright
from .sentences import actor, capital, cost_phrase, strength_of
from .words import words

SHOWN = 3
"""Defenses of which a sentence tells; a table tells of all."""
SCALE = Scale()


def short_answer(outcomes: Sequence[DefenseOutcome], release: str, scale: Scale = SCALE) -> list[str]:
    """For each question what the strongest attack finds, and what each of the first few defenses changes.

    Each line is a sentence or two: who can tell what, how well, and then a line for each defense.

    Args:
        outcomes: of one target on one graph.
        release: how a sentence calls what an outsider holds.
        scale: where the levels begin.
    """
    base = next((o for o in outcomes if o.reference), outcomes[0])
    games = dict.fromkeys(a.game for a in base.attacks if a.plan.facts.reads)
    said: list[str] = []
    for game in games:
        said += _found(strongest(base, game, scale), base, release, scale)
        said += _left(game, [o for o in outcomes if o is not base], scale)
    return said


def strongest(outcome: DefenseOutcome, game: str, scale: Scale = SCALE) -> AttackOutcome:
    """The attack on one question that found most: by its level, then by its AUC."""
    attacks = [a for a in outcome.attacks if a.game == game and a.plan.facts.reads]
    return max(attacks, key=lambda a: (verdict(a, scale).level.severity, a.auc.turned.estimate or 0.0))


def leak(attack: AttackOutcome) -> Finding:
    """What is told of an attack first: the share of persons who are named, or the AUC."""
    return attack.more.get(NAMED, attack.auc.turned)


def _found(attack: AttackOutcome, base: DefenseOutcome, release: str, scale: Scale) -> tuple[str, str]:
    """Who can tell what, and how well."""
    level, somebody = verdict(attack, scale).level, actor(attack, release)
    where = "" if base.defense == CONTROL else f"{capital(base.phrase)}, "
    if where:
        somebody = _in_a_sentence(somebody)
    if NAMED in attack.more:
        named = leak(attack).text(1, percent=True)
        return f"{where}{somebody} names {named} of the persons.", f"The strongest attack is {attack.plan.name}."
    if level.severity or level is Level.NOT_ATTRIBUTABLE:
        but = " But what is public tells most of that." if level is Level.NOT_ATTRIBUTABLE else ""
        return (
            f"{where}{somebody} tells {_whom(attack)}.",
            f"{_picks(attack)}{_at_the_top(attack)}{but}{named_outright(attack)}",
        )
    doubt = "Nothing shows that" if level is Level.NOT_FOUND else "It is open whether"
    doubt = _in_a_sentence(doubt) if where else doubt
    return f"{where}{doubt} {_in_a_sentence(somebody)} can tell {_whom(attack)}.", _picks(attack)


def _in_a_sentence(start: str) -> str:
    """The start of a sentence where another word comes first."""
    return start[0].lower() + start[1:]


def _whom(attack: AttackOutcome) -> str:
    told = words(attack.game)
    return f"{told.told} {told.alike}" if attack.auc != attack.plain_auc else told.told


def _picks(attack: AttackOutcome) -> str:
    """The AUC as a share of cases, in a sentence."""
    auc, name = leak(attack), attack.plan.name
    if auc.estimate is None:
        return f"The attack {name} was tried on too few to say how well it does ({auc.note})."
    interval = _interval(auc, f"{100 * auc.level:g} %: ")
    return (
        f"Shown one of each, the attack {name} picks the right one in {_cases(auc)} of 100 cases{interval}, where "
        "guessing gets 50."
    )


def _at_the_top(attack: AttackOutcome) -> str:
    """What a leak rests on that few people make, which the AUC does not show."""
    return f" {crowded(attack)}." if attack.of_few else ""


def _cases(auc: Finding) -> str:
    return f"{100 * (auc.estimate or 0.0):.0f}"


def _interval(auc: Finding, start: str = "") -> str:
    if auc.low is None or auc.high is None:
        return ""
    return f" ({start}{100 * auc.low:.0f} to {100 * auc.high:.0f})"


def _left(game: str, others: Sequence[DefenseOutcome], scale: Scale) -> Iterator[str]:
    """What the strongest attack on each of the first few defenses still finds."""
    tried = [o for o in others if any(a.game == game and a.plan.facts.reads for a in o.attacks)]
    for outcome in tried[:SHOWN]:
        attack = strongest(outcome, game, scale)
        found, name = leak(attack), attack.plan.name
        picks = f"the attack {name} picks the right one in {_cases(found)} of 100 cases{_interval(found)}"
        more = named_outright(attack)
        if NAMED in attack.more:
            left = f"the attack {name} names {found.text(1, percent=True)} of the persons"
        elif found.estimate is None:
            left = f"the attack {name} was tried on too few to say how well it does"
        elif verdict(attack, scale).level.severity:
            left = picks
        else:
            left, more = "no leak is shown", f" {capital(picks)}.{more}"
        yield f"{capital(outcome.phrase)}{strength_of(outcome)} {left}{cost_phrase(outcome.cost)}.{more}"
    if len(tried) > SHOWN:
        left_out = len(tried) - SHOWN
        yield f"The table has {left_out} more {'defense' if left_out == 1 else 'defenses'}."
