"""Whom an attack accuses outright, in plain words."""

from collections.abc import Iterator, Sequence

from ...audit.results.outcome import AttackOutcome
from ...audit.statistics.accused import Accusations


def accusing(attack: AttackOutcome, where: str = "") -> str:
    """Sentences on whom an attack names; empty where it only ranks people.

    ``where`` goes before: ``Without a defense``.
    """
    found = attack.accusations
    if found is None:
        return ""
    told = f"{accusing_clause(attack)}." if any(found.accused) else f"{_subject(attack)} accuses nobody outright."
    start = f"{where}, {told}" if where else f"{told[0].upper()}{told[1:]}"
    return " ".join([start, *_with(found), *_sure(found)])


def accusing_clause(attack: AttackOutcome) -> str:
    """The attack, over how many runs, and whom it names: a sentence without its capital and full stop."""
    return f"{_subject(attack)} {naming(attack)}"


def _subject(attack: AttackOutcome) -> str:
    assert attack.accusations is not None
    return f"{_over(attack.accusations)}the attack {attack.plan.name}"


def also_accusing(attack: AttackOutcome) -> str:
    """The same in a few words, to follow a measured AUC: `` and 49 of 140 members named, 11 others accused``."""
    found = attack.accusations
    if found is None:
        return ""
    named = f"{_count(found.named)} of {_count(found.members)} members named"
    return f" with {named} and {_count(found.false)} others accused"


def naming(attack: AttackOutcome) -> str:
    """Whom an attack names and accuses wrongly, to end a sentence: ``names 40 of 40 members outright ...``."""
    found = attack.accusations
    assert found is not None
    wrongly = f"wrongly accuses {_counted(found.false, 'other')}" if any(found.false) else "accuses nobody else"
    return f"names {_count(found.named)} of {_count(found.members)} members outright and {wrongly}"


def named_outright(attack: AttackOutcome) -> str:
    """The same as a sentence that follows another: `` It names 40 ...``; empty where nothing is accused."""
    return f" It {naming(attack)}." if attack.accusations is not None else ""


def _over(found: Accusations) -> str:
    """Of how many runs the counts are, to go before a sentence; empty for one."""
    runs = len(found.accused)
    if runs == 1:
        return ""
    alike = all(len(set(counts)) == 1 for counts in (found.named, found.false))
    return f"in each of {runs} runs " if alike else f"on average over {runs} runs "


def _with(found: Accusations) -> Iterator[str]:
    """What is named beside the members."""
    if not any(found.named):
        return
    for counts, what in ((found.labelled, "label"), (found.owned, "client")):
        if counts is not None:
            of = "each of these members" if counts == found.named else f"{_count(counts)} of these members"
            yield f"It also tells the right {what} of {of}."


def _sure(found: Accusations) -> Iterator[str]:
    """How far accusations can be doubted."""
    if any(found.proven):
        are = "is" if _one(found.proven) else "are"
        why = "nobody else who is asked about explains what was sent"
        yield f"{_counted(found.proven, 'accusation')} {are} proven: {why}."
    if any(found.in_sets):
        stand = "stands" if _one(found.in_sets) else "stand"
        group = "for a group of people whom the attack cannot tell apart"
        yield f"{_counted(found.in_sets, 'accusation')} {stand} {group}."


def _one(runs: Sequence[int]) -> bool:
    """Whether a count is one thing in every run."""
    return set(runs) == {1}


def _counted(runs: Sequence[int], what: str) -> str:
    """A count with its noun."""
    return f"{_count(runs)} {what}{'' if _one(runs) else 's'}"


def _count(runs: Sequence[int]) -> str:
    """A count of each run: the number, or the mean with the least and the most."""
    if len(set(runs)) == 1:
        return str(runs[0])
    return f"{sum(runs) / len(runs):.1f} ({min(runs)} to {max(runs)})"
