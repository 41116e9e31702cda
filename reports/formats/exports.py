"""An audit as JSON, as CSV, and record by record: for programs, not for people."""

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

from ...audit.results.audit_result import AttackFinding, Audit, Section
from ...audit.results.outcome import AttackOutcome
from ...audit.statistics.finding import Finding
from ...audit.statistics.vulnerability import as_csv
from ...errors import InputError
from ..text.answers import answers, rate_at
from ..text.changes import changes_as_plain

SCHEMA = "gaudit-audit/1"
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What makes a spreadsheet compute the text of a cell."""
COLUMNS = (
    "target",
    "dataset",
    "defense",
    "strength",
    "attack",
    "observer",
    "neighbours",
    "variant",
    "game",
    "valid",
    "level",
    "ratio",
    "ratio_low",
    "ratio_high",
    "fpr",
    "tpr",
    "tpr_low",
    "tpr_high",
    "auc",
    "auc_low",
    "auc_high",
    "blind_auc",
    "epsilon_low",
    "accuracy",
    "accuracy_low",
    "accuracy_high",
    "members",
    "non_members",
    "seeds",
)


def as_json(audit: Audit) -> str:
    """Everything but single records and times; no verdict where it is invalid.

    Two audits of one plan give the same bytes.
    """
    return json.dumps(as_plain(audit), indent=2, sort_keys=True, allow_nan=False) + "\n"


def as_plain(audit: Audit) -> dict[str, Any]:
    """The audit as plain types."""
    return {
        "schema": SCHEMA,
        "plan": audit.plan.model_dump(mode="json"),
        "fingerprint": audit.fingerprint,
        "valid": audit.valid,
        "answers": [text for _, text in answers(audit)],
        "sections": [_section(section, audit) for section in audit.sections],
        "controls": [vars(control) for control in audit.controls],
        "failures": [vars(failure) for failure in audit.failures],
        "missing": audit.missing,
        "versions": audit.versions,
        **({"date": audit.date} if audit.date else {}),
        **({} if audit.before is None else {"changes": changes_as_plain(audit)}),
    }


def _section(section: Section, audit: Audit) -> dict[str, Any]:
    outcomes = []
    for outcome, row in zip(section.outcomes, section.verdicts, strict=True):
        content = outcome.as_dict()
        for attack, verdict in zip(content["attacks"], row, strict=True):
            attack["verdict"] = verdict.as_dict() if verdict is not None and audit.valid else None
        outcomes.append({**content, "alternative": outcome.alternative})
    return {
        "target": section.target,
        "target_settings": section.target_settings,
        "dataset": section.dataset,
        "graph": dict(section.size),
        "release": section.release_phrase,
        "seeds": list(section.seeds),
        "outcomes": outcomes,
        "refused": dict(section.refused),
    }


def as_table(audit: Audit) -> str:
    """A CSV row for each finding.

    Raises:
        InputError: two audits are to be compared, for which there are no columns.
    """
    if audit.before is not None:
        raise InputError("csv has a row for each finding of one audit: compare two in html, markdown or json")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([_cell(value) for value in _row(place, audit)] for place in audit.findings())
    return out.getvalue()


def as_timings(audit: Audit) -> str:
    """A CSV row for each trial with its CPU seconds: what two runs of one plan do not have in common."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("trial", "ended", "cpu_seconds"))
    for timing in audit.timings:
        writer.writerow((_cell(timing.trial), "failed" if timing.failed else "done", f"{timing.seconds:.3f}"))
    return out.getvalue()


def _row(place: AttackFinding, audit: Audit) -> Iterator[object]:
    section, outcome, attack, verdict = place.section, place.outcome, place.attack, place.verdict
    yield from (section.target, section.dataset, outcome.defense, outcome.strength)
    yield from (attack.plan.name, attack.plan.observer, attack.plan.neighbours)
    yield from ("; ".join(filter(None, (section.variant, attack.variant))), attack.game, audit.valid)
    judged = verdict if audit.valid else None
    yield from (None,) * 4 if judged is None else (str(judged.level), judged.ratio, judged.low, judged.high)
    fpr = audit.plan.severity.fpr
    yield fpr
    yield from _ends(rate_at(attack, fpr))
    yield from _ends(attack.auc)
    yield from (attack.blind.estimate, _epsilon(attack))
    yield from _ends(outcome.accuracy)
    yield from (attack.auc.members, attack.auc.non_members, attack.auc.seeds)


def _ends(finding: Finding | None) -> tuple[float | None, ...]:
    return (None,) * 3 if finding is None else (finding.estimate, finding.low, finding.high)


def _epsilon(attack: AttackOutcome) -> float | None:
    return attack.more["epsilon"].low if "epsilon" in attack.more else None


def _cell(value: object) -> str:
    """Numbers rounded; text never as a formula."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def records(audit: Audit) -> str:
    """How exposed each member is, as CSV: an attack's product itself, as sensitive as the graph."""
    return as_csv(
        (
            {
                "target": _cell(place.section.target),
                "dataset": _cell(place.section.dataset),
                "defense": _cell(place.outcome.label),
                "attack": _cell(place.attack.plan.name),
                "observer": _cell(place.attack.plan.observer),
                "neighbours": place.attack.plan.neighbours,
            },
            place.attack.exposed,
        )
        for place in audit.findings()
    )


def data_block(audit: Audit) -> str:
    """The numbers of a report as short JSON that may stand within a page.

    Findings are [estimate, low, high] with 4 decimals; curves are drawn in the report and complete in the JSON
    format. ``<`` is written as an escape, so that no text within can end the block.
    """
    content = {
        "schema": "gaudit-report/1",
        "audit": {
            "name": audit.plan.name,
            "fingerprint": audit.fingerprint,
            "valid": audit.valid,
            "missing": audit.missing,
            "failures": len(audit.failures),
        },
        "findings": [_short(place, audit) for place in audit.findings()],
    }
    text = json.dumps(content, sort_keys=True, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _short(place: AttackFinding, audit: Audit) -> dict[str, Any]:
    attack, outcome = place.attack, place.outcome
    judged = place.verdict if audit.valid else None
    return {
        "target": place.section.target,
        "dataset": place.section.dataset,
        "defense": outcome.defense,
        "strength": outcome.strength,
        "attack": list(attack.plan.identity),
        "game": attack.game,
        "level": None if judged is None else str(judged.level),
        "auc": _rounded(attack.auc),
        "blind_auc": _rounded(attack.blind),
        "auc_beyond_blind": _rounded(attack.beyond_blind),
        "null_auc": _rounded(attack.null),
        "accuracy": _rounded(outcome.accuracy),
        "accuracy_cost": None if outcome.cost is None else _rounded(outcome.cost),
        **{f.metric: _rounded(f) for f in attack.tpr},
        **{name: _rounded(f) for name, f in attack.more.items()},
        "auc_by_seed": {str(index): round(m["auc"], 4) for index, m in attack.by_seed.items() if "auc" in m},
    }


def _rounded(finding: Finding) -> list[float | None]:
    return [None if v is None else round(float(v), 4) for v in _ends(finding)]
