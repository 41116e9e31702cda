"""An audit as Markdown: the order of the HTML report, shortened, for summaries of builds and for mail."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ...audit.results.assemble import curve
from ...audit.results.audit_result import Audit, Section
from ..figures.charts import attack_title, identities
from ..figures.evidence_tables import points_table
from ..text.answers import answers, granted, invalidity, nothing_answered, question, warnings
from ..text.changes import changed
from ..text.check_tables import checks_summary, claims_table, failures_table
from ..text.comparison import compared, help_for
from ..text.explanations import limits, remarks, untested
from ..text.overview import facts, overall
from ..text.table import Table
from ..text.tables import attackers_table, findings_table, scale_table

SPECIAL = re.compile(r"([\\`*_\[\]|~#])")
MOST_ROWS = 60
"""Of a table of findings: a build's summary must stay short; the other formats have all."""


def as_markdown(audit: Audit) -> str:
    """Markdown text; the same audit gives the same bytes."""
    return "\n".join(_lines(audit)).strip() + "\n"


def escaped(text: str) -> str:
    """Text that is shown as it is: no markup, no HTML, one line."""
    shown = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return SPECIAL.sub(r"\\\1", shown)


def _lines(audit: Audit) -> Iterator[str]:
    yield f"# Privacy audit: {escaped(audit.plan.name)}"
    if not audit.valid:
        yield from ("", "## INVALID: this audit gives no verdict", "")
        yield "A check of the audit itself failed, so no number below can be relied on."
        yield from _items(invalidity(audit))
    if warnings(audit):
        yield from ("", "**Read this first**")
        yield from _items(warnings(audit))
    yield from _items(f"{name}: {value}" for name, value in facts(audit))
    for line in overall(audit):
        yield from _items((line.text, *(f"{name}: {value}" for name, value in line.details)))
    yield from _changed(audit)
    yield from ("", "## Answers", "")
    yield from _answers(audit)
    yield from ("", "## Findings")
    for section in audit.sections:
        yield from _findings(section, audit)
    yield from ("", "## Who could do this", *_table(attackers_table(audit)))
    yield from ("", "## Claim and measurement")
    for section in audit.sections:
        yield from _claims(section)
    yield from ("", "## Checks on the audit itself", *_table(checks_summary(audit)))
    if audit.failures:
        yield from _table(failures_table(audit))
    if audit.valid:
        yield from ("", "## What to do")
        for section in audit.sections:
            yield from _remedies(section)
    yield from ("", "## Limits", *_items(limits(audit)))
    yield from ("", "## What the levels mean", *_table(scale_table(audit)))
    versions = ", ".join(f"{name} {version}" for name, version in sorted(audit.versions.items()))
    yield from ("", f"Fingerprint {escaped(audit.fingerprint)}; {escaped(versions)}.")


def _changed(audit: Audit) -> Iterator[str]:
    found = changed(audit)
    if found is not None:
        sentences, table = found
        yield from ("", "## What has changed", *_items(sentences))
        yield from _table(table, MOST_ROWS) if table.rows else ()


def _answers(audit: Audit) -> Iterator[str]:
    found = answers(audit)
    if not found:
        yield nothing_answered(audit)
    for place, text in found:
        assert place.verdict is not None
        title = f"{question(place.attack.game)} ({place.section.title})"
        said = " ".join((text, *help_for(place, audit.plan.severity), granted(place)))
        yield f"- **{escaped(title)}** {str(place.verdict.level).capitalize()}. {escaped(said)}"


def _findings(section: Section, audit: Audit) -> Iterator[str]:
    places = [p for p in audit.findings() if p.section is section]
    table = findings_table(section.title, places, audit)
    yield from ("", f"### {escaped(section.title)}", *_table(table, MOST_ROWS))
    yield from _items([f"Note: {remark}" for remark in remarks(section)])
    yield from _items([f"Not tested: {what}." for what in untested(section)])


def _claims(section: Section) -> Iterator[str]:
    """Promises only: what was measured where nothing is promised is in the other formats."""
    promised = {o.label for o in section.outcomes if o.guarantee is not None}
    table = claims_table(section)
    rows = tuple(row for row in table.rows if row[0] in promised)
    yield from ("", f"### {escaped(section.title)}")
    yield from (
        _table(replace(table, rows=rows)) if rows else ("", "No defense promises anything that can be checked.")
    )


def _remedies(section: Section) -> Iterator[str]:
    outcomes = {o.label: o for o in section.outcomes}
    for identity in identities(section):
        points = curve(section, identity)
        yield from ("", f"### {escaped(f'{attack_title(section, identity)}, {section.title}')}")
        yield from _items(compared(section, identity))
        if len(points) > 1:
            yield from _table(points_table(points, outcomes))


def _items(texts: Iterable[str]) -> Iterator[str]:
    found = [f"- {escaped(text)}" for text in texts]
    if found:
        yield from ("", *found)


def _table(table: Table, most: int | None = None) -> Iterator[str]:
    rule = ("---:" if index in table.numbers else "---" for index in range(len(table.columns)))
    yield from ("", _row(table.columns), f"|{'|'.join(rule)}|")
    yield from (_row(row) for row in table.rows[:most])
    if most is not None and len(table.rows) > most:
        yield from ("", f"{len(table.rows) - most} more, less severe, are left out here.")
    if table.note:
        yield from ("", escaped(table.note))


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(escaped(str(cell)) for cell in cells)} |"
