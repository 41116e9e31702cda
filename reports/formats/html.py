"""The report of an audit for a data owner: one HTML file that needs no network, and is whole without its script.

The page allows itself that one script, by its hash, and to load nothing. The same audit gives the same bytes.
Everything that comes from outside is escaped.
"""

import base64
import hashlib
from dataclasses import dataclass, replace

from jinja2 import Environment
from markupsafe import Markup

from ...audit.results.audit_result import Audit, Section
from ...audit.statistics.severity import Level
from ..figures.charts import (
    Figure,
    Identity,
    attack_title,
    curve_figure,
    identities,
    of_identity,
    risk_figure,
    roc_figure,
    timeline_figures,
)
from ..figures.evidence_tables import baselines_table, rates_table
from ..text.answers import answers, granted, invalidity, nothing_answered, question, warnings
from ..text.changes import changed, moved
from ..text.check_tables import checks_summary, claims_table, controls_table, failures_table
from ..text.comparison import compared, help_for
from ..text.explanations import GLOSSARY, limits, remarks, untested
from ..text.overview import facts, overall
from ..text.reproduction import plan_text
from ..text.table import Table
from ..text.tables import attackers_table, exposure_table, findings_table, scale_table
from ..text.terms import anchor, linked
from .exports import data_block
from .page_templates import TEMPLATES, set_text, templates

SCRIPT = (TEMPLATES / "report.js").read_text(encoding="utf-8")
"""Sorts and filters tables and shows the meaning of words; the page is whole without it."""
OPEN = 12
"""Rows up to which a table is shown at once."""


@dataclass(frozen=True)
class EvidenceSection:
    """What was measured of one attack.

    Attributes:
        level: without a defense; None where that did not run or the audit is invalid.
        shown: whether it is shown at once: it found something under some defense, or answers a question.
    """

    title: str
    figures: tuple[Figure, ...]
    rates: Table
    baselines: Table
    trade_off: Figure | None
    comparison: tuple[str, ...]
    level: Level | None
    shown: bool


@dataclass(frozen=True)
class Part:
    """One section of the audit, ready to be shown."""

    section: Section
    questions: str
    undefended: Table | None
    defended: Table | None
    untested: tuple[str, ...]
    remarks: tuple[str, ...]
    claims: Table
    unpromised: Table
    exposure: Table | None
    evidence: tuple[EvidenceSection, ...]


def as_html(audit: Audit) -> str:
    """One HTML page with everything in it, for a data owner."""
    page = _environment().get_template("report.html.jinja")
    return page.render(
        audit=audit,
        facts=list(facts(audit)),
        overall=overall(audit),
        changed=changed(audit),
        moved=moved(audit),
        script=Markup(SCRIPT),  # ours, and nothing is put into it
        script_hash=base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode(),
        parts=[_part(index, section, audit) for index, section in enumerate(audit.sections)],
        answers=[(p, text, help_for(p, audit.plan.severity), granted(p)) for p, text in answers(audit)],
        unanswered=nothing_answered(audit),
        warnings=warnings(audit),
        reasons=invalidity(audit),
        attackers=attackers_table(audit),
        scale=scale_table(audit),
        checks=checks_summary(audit),
        controls=controls_table(audit),
        failures=failures_table(audit),
        limits=list(limits(audit)),
        glossary=[(anchor(word), word, meaning) for word, meaning in GLOSSARY],
        plan=plan_text(audit.plan),
        data=Markup(data_block(audit)),  # `<` cannot occur in it
        open_rows=OPEN,
    )


def _environment() -> Environment:
    found = templates()
    found.globals["question"] = question
    found.filters["linked"] = lambda text: Markup(linked(str(set_text(text))))
    return found


def _part(index: int, section: Section, audit: Audit) -> Part:
    places = [p for p in audit.findings() if p.section is section]
    control = [p for p in places if p.outcome.reference]
    others = [p for p in places if not p.outcome.reference and p.verdict is not None]
    exposed = next((o.exposure for o in section.outcomes if o.reference), ())
    promised, unpromised = _claims(section)
    return Part(
        section,
        " ".join(dict.fromkeys(question(p.attack.game) for p in places)),
        findings_table("Without a defense", control, audit) if control else None,
        findings_table("With each defense", others, audit) if others else None,
        tuple(untested(section)),
        tuple(remarks(section)),
        promised,
        unpromised,
        exposure_table(exposed) if exposed else None,
        tuple(
            _evidence(f"f{index}-{place}", section, identity, audit)
            for place, identity in enumerate(identities(section))
        ),
    )


def _claims(section: Section) -> tuple[Table, Table]:
    """What was measured where something is promised, and where nothing is."""
    every = claims_table(section)
    promising = {o.label for o in section.outcomes if o.guarantee is not None}
    kept = tuple(row for row in every.rows if row[0] in promising)
    rest = tuple(row for row in every.rows if row[0] not in promising)
    return replace(every, rows=kept), replace(every, rows=rest, note="")


def _evidence(name: str, section: Section, identity: Identity, audit: Audit) -> EvidenceSection:
    drawn = [
        roc_figure(f"{name}-roc", section, identity, audit.plan.severity.fpr),
        risk_figure(f"{name}-risk", section, identity),
        *timeline_figures(f"{name}-rounds", section, identity),
    ]
    measured = [(outcome.label, attack) for outcome, attack in of_identity(section, identity)]
    title = attack_title(section, identity)
    places = [p for p in audit.findings() if p.section is section and p.attack.plan.identity == identity]
    levels = [p.verdict.level for p in places if p.verdict is not None]
    answering = any(p.attack is place.attack for place, _ in answers(audit) for p in places)
    return EvidenceSection(
        title,
        tuple(figure for figure in drawn if figure is not None),
        rates_table(f"Measured of {title}, under each defense", measured),
        baselines_table(*measured[0]),
        curve_figure(f"{name}-curve", section, identity),
        tuple(compared(section, identity)) if audit.valid else (),
        levels[0] if audit.valid and levels and places[0].outcome.reference else None,
        answering or not audit.valid or any(level.severity for level in levels),
    )
