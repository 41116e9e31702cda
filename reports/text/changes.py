"""What became better or worse since another audit, in a sentence and a table."""

from ...audit.checks.changes import MATTERS, Change, Changes, Direction, changes
from ...audit.checks.policy import features
from ...audit.results.assemble import named
from ...audit.results.audit_result import AttackFinding, Audit
from ...audit.statistics.comparison import Comparison
from .table import Table

COLUMNS = (
    "attack",
    "pipeline and graph",
    "defense",
    "what changed",
    "AUC then",
    "AUC now",
    "difference",
    "level then and now",
)

COMPARING = "gaudit report NEW.db --against OLD.db -o report.html"
"""The command that tells what changed, where the ledger of the audit before was kept."""
SHOWN = {
    Direction.OPEN: "No change is shown for {} of them",
    Direction.SAME: "The numbers are the same for {} of them",
    Direction.UNKNOWN: "No comparison is possible for {} of them",
}
"""How many findings of each other kind there are."""
LISTED = 5
"""Findings of one audit alone that are named one by one."""


def changed(audit: Audit) -> tuple[list[str], Table] | None:
    """Sentences and a table on what changed since ``audit.before``; None where there is none."""
    if audit.before is None:
        return None
    for which, one in (("This audit", audit), ("The audit before", audit.before)):
        if not one.valid:
            return [f"{which} is invalid: its numbers cannot be compared."], _table(())
    found = changes(audit, audit.before)
    return [_headline(found), *found.remarks, *_one_sided(found)], _table(found.found)


def moved(audit: Audit) -> bool:
    """Whether any finding is shown to have become worse or better."""
    if audit.before is None or not audit.valid or not audit.before.valid:
        return False
    found = changes(audit, audit.before)
    return any(found.count(way) for way in (Direction.WORSE, Direction.BETTER))


def changes_as_plain(audit: Audit) -> list[dict[str, object]]:
    """What changed since ``audit.before``, as plain types; nothing where an audit is invalid or there is none."""
    if audit.before is None or not audit.valid or not audit.before.valid:
        return []
    return [
        {
            "finding": features(change.now),
            "change": str(change.direction),
            "auc_before": change.before.attack.auc.estimate,
            "auc": change.now.attack.auc.estimate,
            "seeds": 0 if change.auc is None else change.auc.seeds,
            **dict(zip(("difference", "difference_low", "difference_high"), _ends(change.auc), strict=True)),
        }
        for change in changes(audit, audit.before).found
    ]


def _ends(auc: Comparison | None) -> tuple[float | None, ...]:
    """The mean difference and the ends of its paired 95 % interval, where it has one."""
    if auc is None:
        return None, None, None
    if auc.seeds < 2:
        return round(auc.mean, 6), None, None
    reach = auc.reach(0.025)
    return tuple(round(value, 6) for value in (auc.mean, auc.mean - reach, auc.mean + reach))


def _headline(found: Changes) -> str:
    if not found.found:
        return "The two audits have no finding in common."
    worse, better = found.count(Direction.WORSE), found.count(Direction.BETTER)
    rest = {d: found.count(d) for d in (Direction.OPEN, Direction.SAME, Direction.UNKNOWN) if found.count(d)}
    others = "".join(f" {SHOWN[direction].format(count)}." for direction, count in rest.items())
    both = (
        f"Both audits have {len(found.found)} findings in common"
        if len(found.found) > 1
        else "One finding is in both"
    )
    return f"{both}: {worse} became worse, and {better} became better.{others}"


def _one_sided(found: Changes) -> list[str]:
    sides = (("Only in this audit", found.added), ("Only in the audit before", found.dropped))
    return [f"{side}: {_listed(places)}." for side, places in sides if places]


def _listed(places: tuple[AttackFinding, ...]) -> str:
    more = f"; and {len(places) - LISTED} more" if len(places) > LISTED else ""
    return "; ".join(map(_called, places[:LISTED])) + more


def _called(place: AttackFinding) -> str:
    return f"{named(place.attack)} against {place.section.title}, {place.outcome.label}"


def _table(found: tuple[Change, ...]) -> Table:
    note = (
        "Each difference is this audit minus the one before: the mean over the seeds that both have, with its "
        "paired 95 % interval. A finding is called worse or better where a t-test shows it, corrected for the "
        f"number of findings (Holm), and the difference is above {MATTERS:g}. What is the same is left out."
    )
    rows = tuple(_row(change) for change in found if change.direction is not Direction.SAME)
    return Table("What has changed, the worst first", COLUMNS, rows, (4, 5, 6), note if rows else "")


def _row(change: Change) -> tuple[str, ...]:
    now, before = change.now, change.before
    return (
        named(now.attack),
        now.section.title,
        now.outcome.label,
        f"{change.direction}: {change.why}" if change.why else str(change.direction),
        before.attack.auc.text(2),
        now.attack.auc.text(2),
        _difference(change),
        " to ".join(dict.fromkeys(str(v.level) for v in (before.verdict, now.verdict) if v is not None)),
    )


def _difference(change: Change) -> str:
    mean, low, high = _ends(change.auc)
    if mean is None:
        return "not measurable"
    return f"{mean:+.3f}" if low is None or low == high else f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]"
