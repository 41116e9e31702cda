"""Whom an attack accuses outright, in plain words."""

from collections.abc import Sequence

from ...audit.results.outcome import AttackOutcome
from ...audit.statistics.accused import Accusations


def accusing(attack: AttackOutcome, where: str = "") -> str:
    """Sentences on whom an attack names; empty where it only ranks people.

    ``where`` goes before: ``Without a defense``.
    """
    found = attack.accusations
    if found is None:
        return ""
    runs = len(found.accused)
    start = "It" if runs == 1 else f"In {runs} runs on average it"
    start = start if not where else f"{where}, {start[0].lower()}{start[1:]}"
    if not any(found.accused):
        return f"{start} accuses nobody outright."
    text = (
        f"{start} accuses {_count(found.accused)} people outright, and {_count(found.named)} of the "
        f"{_count(found.members)} members are among them{_with(found)}. {_false(found)}"
    )
    if any(found.proven):
        text += f" {_count(found.proven)} accusations are proven: nothing else explains what was sent."
    if any(found.in_sets):
        text += f" {_count(found.in_sets)} accusations cannot tell the accused from somebody else."
    return text


def also_accusing(attack: AttackOutcome) -> str:
    """The same in a few words, to follow a measured AUC: `` and 49 of 140 members named, 11 others accused``."""
    found = attack.accusations
    if found is None:
        return ""
    named = f"{_count(found.named)} of {_count(found.members)} members named"
    return f" with {named} and {_count(found.false)} others accused"


def named_outright(attack: AttackOutcome) -> str:
    """Whom an attack names and accuses wrongly, as the rest of a sentence: ``names 40 of 40 members ...``."""
    found = attack.accusations
    assert found is not None
    wrongly = f"wrongly accuses {_count(found.false)} others" if any(found.false) else "accuses nobody else"
    return f"names {_count(found.named)} of {_count(found.members)} members outright and {wrongly}"


def _with(found: Accusations) -> str:
    """What is named beside them."""
    said = []
    if found.labelled is not None:
        said.append(f"{_count(found.labelled)} with their own label")
    if found.owned is not None:
        said.append(f"{_count(found.owned)} with the client that holds them")
    return f", {' and '.join(said)}" if said else ""


def _false(found: Accusations) -> str:
    if not any(found.false):
        return "Nobody is accused wrongly."
    alone = set(found.false) == {1}
    return f"{_count(found.false)} accusation{' is' if alone else 's are'} false."


def _count(runs: Sequence[int]) -> str:
    """A count of each run: the number, or the mean with the least and the most."""
    if len(set(runs)) == 1:
        return str(runs[0])
    return f"{sum(runs) / len(runs):.1f} ({min(runs)} to {max(runs)})"
