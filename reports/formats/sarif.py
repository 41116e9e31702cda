"""SARIF 2.1.0: findings that code scanning shows beside the line of the policy that they break."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ...audit.checks.gate import Status
from ...audit.checks.gate_report import CheckResult, GateReport
from ...audit.statistics.severity import Level
from ...registry import installed, is_installed, summary
from ..text.words import words

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
SEVERITIES = {Level.UNSIZED: "3.0", Level.LOW: "3.0", Level.MODERATE: "5.5", Level.HIGH: "8.0", Level.SEVERE: "9.5"}
KINDS = {
    Status.REGRESSED: "fail",
    Status.OVER_BUDGET: "fail",
    Status.INCONCLUSIVE: "open",
    Status.INVALID: "open",
    Status.PASS: "pass",
    Status.NOT_APPLICABLE: "notApplicable",
}


def sarif(report: GateReport) -> str:
    """The report as SARIF. A rule is an attack in a game; a result is a check.

    What identifies a result has no measured number in it, so that an alert stays the same alert from run to run.
    """
    rules: dict[str, list[CheckResult]] = {}
    for result in report.results:
        rules.setdefault(_rule_id(result), []).append(result)
    driver = {
        "name": "gaudit",
        "version": report.audit.versions.get("gaudit", "unknown"),
        "rules": [_rule(name, results) for name, results in rules.items()],
    }
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"gaudit/{report.audit.plan.name}/"},
        "invocations": [_invocation(report)],
        "results": [_result(result, list(rules), report) for result in report.results],
        "properties": {"fingerprint": report.audit.fingerprint, "reproduce": report.reproduction},
        "columnKind": "unicodeCodePoints",
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1, ensure_ascii=False) + "\n"


def _game(result: CheckResult) -> str:
    return (result.place.attack.game if result.place else result.check.game) or "any-game"


def _rule_id(result: CheckResult) -> str:
    return f"{result.check.attack}/{_game(result)}"


def _rule(name: str, results: list[CheckResult]) -> dict[str, Any]:
    attack, game = results[0].check.attack, _game(results[0])
    what = _about_attack(results[0])
    question = words(game).game
    rule = {
        "id": name,
        "name": "".join(part.title() for part in f"{attack}-{game}".replace(":", "-").split("-")),
        "shortDescription": {"text": f"{attack}: {question}"},
        "fullDescription": {"text": what},
        "help": {"text": f"{question} {what}.", "markdown": _help(attack, question, what)},
    }
    worst = max(
        (SEVERITIES[r.verdict.level] for r in results if r.verdict and r.verdict.level in SEVERITIES), default=None
    )
    severity = {} if worst is None else {"security-severity": worst}
    return {**rule, "properties": {"tags": ["security", "privacy"], **severity}}


def _about_attack(result: CheckResult) -> str:
    """The policy and the ledger are data: neither names code that is imported here."""
    attack = result.check.attack
    if result.place is not None:
        return result.place.attack.plan.facts.about
    return summary(installed("attacks", attack)) if is_installed("attacks", attack) else f"the attack {attack}"


def _help(attack: str, question: str, what: str) -> str:
    return (
        f"## {attack}\n\n{question}\n\n{what}.\n\n"
        "The attack was run against the pipeline with several seeds and compared, seed by seed, with the accepted "
        "baseline, or held against a budget. A failing check means that the release tells more about who is in the "
        "training data than was accepted.\n\n"
        "- Find the change that did it and undo it, or add a defense (`gaudit list defenses`).\n"
        '- If it is meant, accept it: `gaudit baseline update audit.db --reason "why"`, and commit the baseline.\n'
    )


def _invocation(report: GateReport) -> dict[str, Any]:
    said = [{"level": "error", "message": {"text": problem}} for problem in report.problems]
    return {
        "executionSuccessful": report.exit_code in (0, 1, 3),
        "exitCode": report.exit_code,
        "toolExecutionNotifications": said,
    }


def _result(result: CheckResult, rules: list[str], report: GateReport) -> dict[str, Any]:
    kind = KINDS[result.status]
    message = f"{result.check.name}: {result.status}. {result.decision.why}."
    found = {
        "ruleId": _rule_id(result),
        "ruleIndex": rules.index(_rule_id(result)),
        "kind": kind,
        "level": "error" if kind == "fail" else "none",
        "message": {"text": message},
        "locations": [{"physicalLocation": _location(report.policy, result.line)}],
        "partialFingerprints": {"gaudit/v1": _fingerprint(result)},
        "properties": _properties(result),
    }
    return found if result.state is None else {**found, "baselineState": result.state}


def _location(policy: Path, line: int) -> dict[str, Any]:
    """Relative to where the command runs, which is the repository's root, as code scanning wants it."""
    relative = Path(os.path.relpath(policy))
    outside = ".." in relative.parts
    uri = policy.absolute().as_uri() if outside else quote(relative.as_posix())
    return {"artifactLocation": {"uri": uri}, "region": {"startLine": line}}


def _fingerprint(result: CheckResult) -> str:
    """Of what was checked, not of what came out."""
    check = result.check.model_dump(mode="json", exclude={"margin", "budget", "max"})
    return hashlib.sha256(json.dumps([check, _rule_id(result)], sort_keys=True).encode()).hexdigest()


def _properties(result: CheckResult) -> dict[str, Any]:
    level = None if result.verdict is None else str(result.verdict.level)
    found = {"check": result.check.name, "metric": result.check.metric, "status": str(result.status)}
    found |= {} if level is None else {"leak": level}
    return {**found, **result.decision.numbers, "details": list(result.decision.details)}
