"""The tables of a report: words and numbers, ready to be shown in any format."""

from collections.abc import Sequence

from ...audit.results.assemble import named
from ...audit.results.audit_result import AttackFinding, Audit
from ...audit.statistics.severity import Level
from ...targets.game import QUERIES
from ...targets.transcript import Exposure
from .answers import base_for, question, size
from .exposed import readable_bytes, rounds_of
from .sentences import asks_with, attacker, held
from .table import Table

NO_VERDICT = "no verdict"
BASELINE = "baseline, reads nothing"


def findings_table(caption: str, places: Sequence[AttackFinding], audit: Audit) -> Table:
    """What each attack found, the most severe first; without levels where the audit is invalid."""
    base = base_for(0.0, audit.plan.severity.fpr)
    accused = round(audit.plan.severity.fpr * base)
    columns = (
        "attack",
        "defense",
        "level",
        f"named of {base} members, while wrongly accusing {accused} of {base} non-members",
        "told apart (AUC)",
        "without the release (AUC)",
    )
    order = sorted(places, key=lambda p: 0 if p.verdict is None else -p.verdict.level.severity)
    return Table(caption, columns, tuple(_finding(place, audit) for place in order), (3, 4, 5))


def _finding(place: AttackFinding, audit: Audit) -> tuple[str, ...]:
    attack = place.attack
    return (
        named(attack),
        place.outcome.label,
        level_of(place, audit),
        size(attack, audit.plan.severity),
        attack.auc.text(2),
        attack.blind.text(2),
    )


def level_of(place: AttackFinding, audit: Audit) -> str:
    """The level, or why there is none."""
    if place.verdict is None:
        return BASELINE
    return place.verdict.level if audit.valid else NO_VERDICT


def scale_table(audit: Audit) -> Table:
    """What the levels mean."""
    rate = f"{100 * audit.plan.severity.fpr:g} %"
    columns = ("level", "when", "someone who was 1 % likely a member becomes", "excludes epsilon")
    rows = tuple((Level(level), *rest) for level, *rest in audit.plan.severity.meaning())
    caption = (
        "What the levels mean. The ratio says how much likelier a member is flagged than a non-member, "
        f"at {rate} false accusations; the lower end of its interval decides."
    )
    return Table(caption, columns, rows)


def attackers_table(audit: Audit) -> Table:
    """Who could do this: place, knowledge and questions, once for each kind of attacker."""
    rows = dict.fromkeys(
        (
            place.attack.plan.name,
            attacker(place.attack),
            held(place.attack, place.section.release_phrase),
            place.attack.knowledge or "not stated",
            QUERIES[place.attack.plan.neighbours] if asks_with(place.attack) else "",
            question(place.attack.game),
        )
        for place in audit.findings()
    )
    columns = ("attack", "who", "holds", "knows beforehand", "asks with", "to answer")
    return Table("Who could do this, and what it takes", columns, tuple(rows))


def exposure_table(rows: Sequence[Exposure]) -> Table:
    """Who sees what."""
    columns = ("who sees it", "kind of message", "messages", "size", "rounds", "readable")
    cells = tuple(
        (
            row.observer,
            row.kind,
            f"{row.count:,}".replace(",", " "),
            readable_bytes(row.nbytes),
            rounds_of(row),
            "yes" if row.readable else "sealed",
        )
        for row in rows
    )
    return Table("What each observer sees, in the first run without a defense", columns, cells, (2, 3))
