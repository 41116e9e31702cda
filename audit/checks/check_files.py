"""`gaudit check` and `gaudit baseline update` without their screen: files in, results out."""

import shlex
from dataclasses import replace
from pathlib import Path

from ...errors import InputError
from ..results.audit_result import Audit
from .baseline import NAME, Baseline
from .gate_report import GateReport
from .policy import Policy, PolicyFile
from .policy_checks import checked, failed_controls

POLICY = Path("gaudit.toml")


class RefusedBaselineError(InputError):
    """An audit that must not become a baseline."""


def check_files(
    ledger: Path | None,
    policy: Path = POLICY,
    baseline: Path | None = None,
    strict: bool = False,
    trust_code: bool = False,
) -> GateReport:
    """Checks what a ledger holds; nothing is written.

    Args:
        ledger: of the audit; by default the one that the policy names.
        policy: the policy file.
        baseline: by default `.gaudit-baseline.json` beside the policy; only read where a check has a margin.
        strict: whether an inconclusive check fails, whatever the policy says.
        trust_code: as in `read_audit`.

    Raises:
        InputError: a file cannot be used, or a check means several findings.
    """
    from ..results.assemble import read_audit

    file = Policy.read(policy)
    ledger = ledger_of(ledger, file)
    where = beside(policy) if baseline is None else baseline
    accepted = Baseline.read(where) if file.policy.needs_baseline else None
    report = checked(read_audit(ledger, trust_code), file, accepted, strict)
    words = ["gaudit", "check", str(ledger), "--policy", str(policy)]
    words += [] if accepted is None else ["--baseline", str(where)]
    command = shlex.join([*words, *(["--strict"] if report.strict else [])])
    return replace(report, command=command, rerun=_rerun(file, ledger))


def update_baseline(
    ledger: Path | None,
    reason: str,
    policy: Path = POLICY,
    baseline: Path | None = None,
    trust_code: bool = False,
) -> Path:
    """Accepts what a ledger holds: writes the baseline, whole or not at all, and returns where.

    ``trust_code`` as in `read_audit`.

    Raises:
        RefusedBaselineError: the audit is invalid or incomplete.
        InputError: a file cannot be used, or there is no reason.
    """
    from ...output_files import check_outputs, write
    from ..results.assemble import read_audit

    if not reason.strip():
        raise InputError("a baseline is updated for a reason: --reason 'why these numbers are acceptable'")
    where = beside(policy) if baseline is None else baseline
    file = None if ledger is not None else Policy.read(policy)
    ledger = ledger_of(ledger, file)
    check_outputs([where], [ledger, policy])
    before = Baseline.read(where) if where.exists() else None
    audit = read_audit(ledger, trust_code)
    _refuse(audit)
    write(where, Baseline.of(audit, reason.strip(), before).text())
    return where


def files_of(ledger: Path | None, policy: Path = POLICY, baseline: Path | None = None) -> tuple[Path, ...]:
    """The files that a check rests on, for `check_files` of the same arguments.

    Raises:
        InputError: the policy cannot be used, or nothing names a ledger.
    """
    file = Policy.read(policy)
    plan = file.policy.gate.plan
    named = () if plan is None else (file.beside(plan),)
    return (policy, ledger_of(ledger, file), beside(policy) if baseline is None else baseline, *named)


def beside(policy: Path) -> Path:
    """Where the baseline of a policy lies unless something else is said."""
    return policy.parent / NAME


def ledger_of(ledger: Path | None, file: PolicyFile | None) -> Path:
    """The ledger that was given, or else the one that the policy names."""
    if ledger is not None:
        return ledger
    if file is None or file.policy.gate.ledger is None:
        raise InputError('name a ledger: gaudit check audit.db, or ledger = "audit.db" under [gate] in the policy')
    return file.beside(file.policy.gate.ledger)


def _rerun(file: PolicyFile, ledger: Path) -> str | None:
    if file.policy.gate.plan is None:
        return None
    return shlex.join(["gaudit", "audit", str(file.beside(file.policy.gate.plan)), "--ledger", str(ledger)])


def _refuse(audit: Audit) -> None:
    broken = failed_controls(audit)
    if broken:
        raise RefusedBaselineError(f"an invalid audit is no baseline: {'; '.join(broken)}")
    if audit.failures:
        first = audit.failures[0]
        failed = f"{len(audit.failures)} trials failed ({first.trial}: {first.reason})"
        raise RefusedBaselineError(f"{failed}: no baseline without them")
    if audit.missing:
        raise RefusedBaselineError(f"{audit.missing} trials have not run: finish the audit first")
    if not audit.findings():
        raise RefusedBaselineError("the audit has no finding: there is nothing to accept")
