"""Results on a terminal: the answer first, then a table of 80 columns, then what must be known to read it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from rich.console import Console
from rich.table import Table

from ...audit.results.audit_result import AuditControl
from ...audit.results.outcome import AttackOutcome, DefenseOutcome
from ...audit.results.verdict import verdict
from ...audit.statistics.identity_metrics import NAMED
from ...audit.statistics.severity import Level, Scale
from ..text.sentences import INVALID
from ..text.short_answer import SCALE, leak, short_answer
from ..text.words import gain, words
from .outcome_console import print_outcomes
from .plain_console import say_on

MOST_NOTES = 3
"""Of what a run noted, and of what did not apply, as many lines each; the rest is counted."""
MORE = (
    "With -v it also prints how many are named at few false accusations, what the public graph tells alone, "
    "epsilon, groups, and what each adversary knew."
)
SCALE_OF_AUC = "An AUC of 0.50 is guessing, and 1.00 is certainty. Blind is the same attack without the release."


@dataclass(frozen=True)
class Shown:
    """What came out of one target on one graph.

    Attributes:
        headline: what was audited, in a line.
        outcomes: the undefended control first.
        release: how a sentence calls what an outsider holds.
        controls: checks of the audit itself.
        remarks: what else must be known of how it was run.
    """

    headline: str
    outcomes: Sequence[DefenseOutcome]
    release: str
    controls: Sequence[AuditControl]
    remarks: Sequence[str] = ()


def print_results(console: Console, shown: Shown, verbose: bool = False) -> None:
    """The answer, then the findings and whether they can be relied on; all there is to know if ``verbose``."""

    say = partial(say_on, console)
    broken = [c for c in shown.controls if not c.passed]
    for control in broken:
        say(f"FAILED {control.name}: {control.about}: {control.detail}", "bold red")
    for line in [INVALID] if broken else short_answer(shown.outcomes, shown.release):
        say(line, "bold red" if broken else "bold")
    say("")
    say(shown.headline)
    if verbose:
        print_outcomes(console, shown.outcomes, shown.release, shown.controls)
    else:
        console.print(findings_table(shown.outcomes))
        if any(NAMED not in a.more for o in shown.outcomes for a in o.attacks):
            say(SCALE_OF_AUC, "dim")
        for line in notes(shown.outcomes):
            say(line, "yellow")
    for line in shown.remarks:
        say(line)
    if not broken and not verbose:
        say(held(shown.controls))
    if not verbose:
        say(MORE, "dim")


def findings_table(outcomes: Sequence[DefenseOutcome], scale: Scale = SCALE) -> Table:
    """A row for each attack on each defense: how well it tells, without the release, and what it costs."""
    attacks = [a for o in outcomes for a in o.attacks]
    several = len({a.game for a in attacks}) > 1
    named = {NAMED in a.more for a in attacks}
    table = Table(box=None, pad_edge=False, header_style="underline")
    table.add_column("defense", overflow="fold")
    table.add_column("attack", overflow="fold")
    table.add_column("named or AUC" if len(named) > 1 else "named" if True in named else "AUC", justify="right")
    table.add_column("95 %", no_wrap=True)
    table.add_column("blind", justify="right")
    table.add_column("leak", overflow="fold")
    if any(o.accuracy.estimate is not None for o in outcomes):
        table.add_column(f"{gain(outcomes[0].accuracy)} %", justify="right")
    for outcome in outcomes:
        cost = _utility(outcome)
        for place, attack in enumerate(outcome.attacks or [None]):
            head = outcome.called if place == 0 else ""
            cells = ("no attack applies", "", "", "", "") if attack is None else _cells(attack, several, scale)
            table.add_row(*(head, *cells, cost if place == 0 else "")[: len(table.columns)])
    return table


def _cells(attack: AttackOutcome, several: bool, scale: Scale) -> tuple[str, ...]:
    found, name = leak(attack), attack.plan.name
    people = NAMED in attack.more
    title = f"{name}, {attack.variant}" if attack.variant else name
    question = f" ({words(attack.game).game.partition(':')[0].lower()})" if several else ""
    interval = "" if found.low is None else f"{_number(found.low, people)} to {_number(found.high, people)}"
    blind = "" if people else _number(attack.blind.turned.estimate, people)
    return title + question, _number(found.estimate, people), interval, blind, _level(attack, scale)


def _number(value: float | None, people: bool) -> str:
    """A share of persons, or an AUC."""
    if value is None:
        return ""
    return f"{100 * value:.1f} %" if people else f"{value:.2f}"


def _level(attack: AttackOutcome, scale: Scale) -> str:
    if not attack.plan.facts.reads:
        return "reads nothing"
    level = verdict(attack, scale).level
    return "found" if level is Level.UNSIZED else str(level)


def _utility(outcome: DefenseOutcome) -> str:
    """Accuracy, and by how many points it differs from the undefended control."""
    if outcome.accuracy.estimate is None:
        return ""
    text = f"{100 * outcome.accuracy.estimate:.1f}"
    if outcome.cost is None or outcome.cost.estimate is None:
        return text
    return f"{text} ({-100 * outcome.cost.estimate:+.1f})"


def notes(outcomes: Sequence[DefenseOutcome]) -> Iterator[str]:
    """What the runs noted, promises, and what did not apply."""
    noted: dict[str, list[str]] = {}
    for outcome in outcomes:
        for note in outcome.notes:
            noted.setdefault(note, []).append(outcome.called)
    yield from _first(noted, "notes")
    yield from dict.fromkeys(_promise(outcome) for outcome in outcomes if _promise(outcome))
    refused: dict[str, list[str]] = {}
    for outcome in outcomes:
        for name, why in outcome.refused.items():
            refused.setdefault(f"{name} does not apply: {why}", []).append(outcome.called)
    yield from _first(refused, "attacks that do not apply")


def _promise(outcome: DefenseOutcome) -> str:
    """What a defense promises; the same for each strength where it promises no differential privacy."""
    if outcome.promise is not None:
        return f"{outcome.called}: {outcome.promise.sentence()}"
    return "" if outcome.guarantee is None else f"{outcome.defense} promises: {outcome.guarantee}"


def _first(said: Mapping[str, Sequence[str]], what: str) -> Iterator[str]:
    """The first few of what is said of some defenses, and how many there are more."""
    for text, where in list(said.items())[:MOST_NOTES]:
        yield f"{', '.join(where)}: {text}"
    if len(said) > MOST_NOTES:
        yield f"-v lists the other {what} as well ({len(said) - MOST_NOTES})."


def held(controls: Sequence[AuditControl]) -> str:
    """That the checks of the audit itself hold."""
    able = [c for c in controls if c.tells]
    kinds = " and ".join(dict.fromkeys(CHECKED.get(c.name, c.name) for c in able))
    return f"Checked: {len(able)} of {len(able)} controls hold ({kinds})." if able else "No control could tell."


CHECKED = {
    "null": "permuted truth gives nothing",
    "planted leak": "planted leaks are found",
    "shadow accuracy": "shadow models are as good as the target",
}
"""Controls in words."""
