"""Results as tables on a terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from ...audit.results.assemble import PLANTED
from ...audit.results.audit_result import AuditControl
from ...audit.results.game_metrics import EXCESS
from ...audit.results.outcome import PLAIN_AUC, AttackOutcome, DefenseOutcome
from ...audit.statistics.finding import Finding
from ...audit.statistics.identity_metrics import ALONE, CROWDS, NAMED
from ..text.explanations import APART
from ..text.sentences import asks_with, blind_warning, clustered, conclusion
from ..text.words import gain, words

MAY_BE_EMPTY = ("game", "asks with", "plain AUC", "epsilon (indicative)")
"""Columns that are left out where no attack fills them."""


def print_outcomes(
    console: Console, outcomes: Sequence[DefenseOutcome], release: str, controls: Sequence[AuditControl]
) -> None:
    """Tables of an audit, warnings, and the plain last lines; of an invalid one why it is that."""
    console.print(_main_table(outcomes))
    for game in dict.fromkeys(a.game for o in outcomes for a in o.attacks if a.baselines):
        console.print(_baseline_table(outcomes, game))
    if any(a.groups for o in outcomes for a in o.attacks):
        console.print(_group_table(outcomes))
    if any("precision" in a.more for o in outcomes for a in o.attacks):
        console.print(_links_table(outcomes))
    if any(NAMED in a.more for o in outcomes for a in o.attacks):
        console.print(_identity_table(outcomes))
    if any(o.kept for o in outcomes):
        console.print(_kept_table(outcomes))
    for outcome in outcomes:
        if outcome.timeline:
            console.print(_timeline_table(outcome))
    if any(o.transfer for o in outcomes):
        console.print(_transfer_table(outcomes))
    for line in _remarks(outcomes, controls):
        console.print(line, style="yellow", highlight=False, soft_wrap=True, markup=False)
    broken = [f"FAILED {c.name}: {c.about}: {c.detail}" for c in controls if not c.passed]
    for line in broken:
        console.print(line, style="bold red", highlight=False, soft_wrap=True, markup=False)
    said = conclusion(outcomes, release, valid=not broken)
    console.print(said, highlight=False, soft_wrap=True, style="bold", markup=False)


def _main_table(outcomes: Sequence[DefenseOutcome]) -> Table:
    games = dict.fromkeys(words(a.game).game for o in outcomes for a in o.attacks)
    table = Table(title=" ".join(games) or None, title_justify="left")
    table.add_column("defense")
    table.add_column(f"{gain(outcomes[0].accuracy)} %")
    for column in ("attack", "game", "observer", "asks with", "AUC", "plain AUC", "blind AUC", "TPR at 1 % FPR"):
        table.add_column(column)
    table.add_column("epsilon (indicative)")
    for outcome in outcomes:
        head = (outcome.called, outcome.accuracy.text(1, percent=True))
        for i, attack in enumerate(outcome.attacks):
            table.add_row(*(head if i == 0 else ("", "")), *_cells(attack, len(games) > 1))
        if not outcome.attacks:
            table.add_row(*head, *[""] * 9)
        table.add_section()
    table.columns = [c for c in table.columns if c.header not in MAY_BE_EMPTY or any(map(str, c.cells))]
    return table


def _cells(attack: AttackOutcome, several_games: bool) -> tuple[str, ...]:
    return (
        attack.plan.name,
        words(attack.game).game.partition(":")[0] if several_games else "",
        attack.plan.observer,
        asks_with(attack),
        attack.auc.text(3),
        attack.plain_auc.text(3) if PLAIN_AUC in attack.more else "",
        attack.blind.text(3),
        attack.tpr[0].text(3),
        _bound(attack.more.get("epsilon")),
    )


def _bound(epsilon: Finding | None) -> str:
    return "" if epsilon is None or epsilon.low is None else f"{epsilon.low:.2f}"


def _baseline_table(outcomes: Sequence[DefenseOutcome], game: str) -> Table:
    """The public graph is the same for all attacks of a game and all defenses: one row for each baseline."""
    first = next(a for o in outcomes for a in o.attacks if a.baselines and a.game == game)
    table = Table(title=f"Without any release: {words(first.game).public}", title_justify="left")
    table.add_column("by")
    table.add_column("AUC")
    table.add_column("attacks not shown to tell more")
    for name, baseline in first.baselines.items():
        beside = [(o, a) for o in outcomes for a in o.attacks if a.game == game and name in a.baselines]
        behind = [f"{a.plan.name} ({o.called})" for o, a in beside if not a.baselines[name].beyond.above_zero]
        table.add_row(name, baseline.auc.text(3), _listed(behind, len(beside)))
    return table


def _listed(names: Sequence[str], out_of: int) -> str:
    if len(names) == out_of > 1:
        return "all"
    return ", ".join(names) or "none"


def _group_table(outcomes: Sequence[DefenseOutcome]) -> Table:
    titles = dict.fromkeys(words(a.game).groups for o in outcomes for a in o.attacks if a.groups)
    table = Table(title=". ".join(titles), title_justify="left")
    against = next(words(a.game).against for o in outcomes for a in o.attacks if a.groups)
    for column in ("defense", "attack", against, "AUC"):
        table.add_column(column)
    for outcome in outcomes:
        for attack in outcome.attacks:
            for name, finding in attack.groups.items():
                table.add_row(outcome.called, attack.plan.name, name, finding.text(3))
    return table


LINK_COLUMNS = {
    "precision": "precision at |E| guesses",
    "average_precision": "average precision",
    "degree-matched auc": "AUC, degrees matched",
    "one class auc beyond features": "AUC beyond features, one class",
}
"""Of links, what is told beside AUC and rates, by name of the finding."""


def _links_table(outcomes: Sequence[DefenseOutcome]) -> Table:
    table = Table(title="Links: at the prevalence of all pairs, and of pairs that look alike", title_justify="left")
    told = {
        name: title
        for name, title in LINK_COLUMNS.items()
        if any(name in a.more for o in outcomes for a in o.attacks)
    }
    for column in ("defense", "attack", *told.values(), "by client"):
        table.add_column(column)
    for outcome in outcomes:
        for attack in (a for a in outcome.attacks if "precision" in a.more):
            cells = [attack.more[n].text(3) if n in attack.more else "" for n in told]
            by_client = attack.risk.get("client", {})
            alone = ", ".join(f"{c}: {f.estimate:.3f}" for c, f in by_client.items() if f.estimate is not None)
            table.add_row(outcome.label, attack.plan.name, *cells, alone)
    return table


def _identity_table(outcomes: Sequence[DefenseOutcome]) -> Table:
    title = "Persons by the number of candidates among which their own node is, % (and persons)"
    table = Table(title=title, title_justify="left")
    for column in ("defense", "attack", NAMED, *CROWDS, "missed", "bits left"):
        table.add_column(column)
    for outcome in outcomes:
        for attack in (a for a in outcome.attacks if NAMED in a.more):
            alone, *crowds = (_percent(attack.more[name]) for name in (*CROWDS, "missed"))
            persons = round((attack.more[ALONE].estimate or 0.0) * attack.more[ALONE].members)
            sure = attack.more[NAMED].text(1, percent=True)
            bits = attack.more["entropy"].estimate
            left = "" if bits is None else f"{bits:.1f}"
            head = (outcome.called, attack.plan.name, sure, f"{alone} ({persons:,})")
            table.add_row(*head, *crowds, left)
    return table


def _percent(found: Finding) -> str:
    return "" if found.estimate is None else f"{100 * found.estimate:.1f}"


def _kept_table(outcomes: Sequence[DefenseOutcome]) -> Table:
    table = Table(title="What the published graph keeps, % (100: as in the original)", title_justify="left")
    told = [o for o in outcomes if o.kept]
    table.add_column("measure")
    for outcome in told:
        table.add_column(outcome.called)
    for name in told[0].kept:
        table.add_row(name, *(_percent(o.kept[name]) if name in o.kept else "" for o in told))
    return table


def _timeline_table(outcome: DefenseOutcome) -> Table:
    table = Table(title=f"Over rounds: {outcome.called}", title_justify="left")
    for column in ("round", "accuracy %", "attack", "AUC"):
        table.add_column(column)
    for attack in sorted(outcome.timeline, key=lambda a: (a.round or 0, a.plan.name)):
        accuracy = outcome.curve[attack.round].text(1, percent=True) if attack.round else ""
        table.add_row(str(attack.round), accuracy, attack.plan.name, attack.auc.text(3))
    return table


def _transfer_table(outcomes: Sequence[DefenseOutcome]) -> Table:
    table = Table(title="Other architectures trained on the release: accuracy %", title_justify="left")
    table.add_column("defense")
    names = next(list(o.transfer) for o in outcomes if o.transfer)
    for name in names:
        table.add_column(name)
    for outcome in outcomes:
        table.add_row(outcome.called, *(outcome.transfer[n].text(1, percent=True) for n in names))
    return table


def _remarks(outcomes: Sequence[DefenseOutcome], controls: Sequence[AuditControl]) -> list[str]:
    remarks = []
    for outcome in outcomes:
        called = outcome.called
        remarks += [f"{called}: {note}" for note in outcome.notes]
        if outcome.guarantee is not None:
            remarks.append(f"{outcome.defense} promises: {outcome.guarantee}")
        if outcome.promise is not None:
            remarks.append(f"{called}: {outcome.promise.sentence()}")
        remarks += [f"{called}: {w}" for a in outcome.attacks if (w := blind_warning(a))]
        remarks += [f"{called}: {name} not applicable: {why}" for name, why in outcome.refused.items()]
    remarks = list(dict.fromkeys(remarks))
    attacks = [a for o in outcomes for a in o.attacks]
    if attacks:
        remarks.append(_null_control(attacks))
        remarks += _found_leaks(controls)
        remarks += _same_finding(attacks)
        if any(a.plan.neighbours == "apart" for a in attacks):
            remarks.append(APART)
        remarks += [f"{o.called}: {line}" for o in outcomes for a in o.attacks if (line := _beyond_imputation(a))]
        remarks += [f"Adversary of {names}: {what}." for what, names in _adversaries(attacks).items()]
        remarks += [f"Epsilon: {note}." for note in dict.fromkeys(_epsilon_notes(attacks))]
        remarks += [clustered(a) for a in attacks if a.clustered_by][:1]
        if attacks[0].auc.note:
            remarks.append(f"Intervals: {attacks[0].auc.note}.")
    return remarks


def _beyond_imputation(attack: AttackOutcome) -> str | None:
    """How much more often an attack is right than a guess without the release, where that was measured."""
    found = attack.more.get(EXCESS)
    if found is None or found.estimate is None:
        return None
    more = "" if (found.low or 0) > 0 else ": not shown to be more often"
    return (
        f"{attack.plan.name} is right more often than imputation by {found.text(1, percent=True)} of the cases, "
        f"where both answers count alike{more}"
    )


def _epsilon_notes(attacks: Sequence[AttackOutcome]) -> list[str]:
    found = [a.more["epsilon"] for a in attacks if "epsilon" in a.more]
    return [f"{f.validity}, {f.note}" if f.note else f.validity for f in found]


def _same_finding(attacks: Sequence[AttackOutcome]) -> list[str]:
    """Attacks that rank alike are one finding, however many names they have."""
    found = {(a.plan.name, a.auc.estimate, a.plan.neighbours) for a in attacks}
    ranked = {a.plan.name: a.plan.facts.ranks_as for a in attacks}
    pairs = [(name, ranked[name], *rest) for name, *rest in sorted(found, key=str)]
    alike = [(name, other) for name, other, *rest in pairs if (other, *rest) in found]
    return [f"{name} ranks nodes as {other} does: one finding, not two." for name, other in dict.fromkeys(alike)]


def _adversaries(attacks: Sequence[AttackOutcome]) -> dict[str, str]:
    """Each prior knowledge in words, with the attacks that were granted it."""
    names: dict[str, list[str]] = {}
    for attack in attacks:
        names.setdefault(attack.knowledge, []).append(attack.plan.name)
    return {what: ", ".join(dict.fromkeys(who)) for what, who in names.items()}


def _null_control(attacks: Sequence[AttackOutcome]) -> str:
    broken = [f"{a.plan.name} {a.null.text(2)}" for a in attacks if not a.valid]
    if broken:
        return f"INVALID: permuted truth must give AUC 0.5, but gives {'; '.join(broken)}. Trust no number here."
    unsure = list(dict.fromkeys(a.plan.name for a in attacks if not a.null_tells))
    checked = "Scoring checked: with the truth permuted every AUC is 0.5 within its interval."
    return f"{checked} For {', '.join(unsure)} this control cannot tell." if unsure else checked


def _found_leaks(controls: Sequence[AuditControl]) -> list[str]:
    """Which attacks found the leaks that were planted for them."""
    found = dict.fromkeys(c.about for c in controls if c.name == PLANTED and c.passed)
    return (
        [f"Attacks checked: these found the leaks that were planted for them: {'; '.join(found)}."] if found else []
    )
