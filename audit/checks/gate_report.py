"""What became of the checks of a policy: what the screen, JUnit, SARIF and the step summary are made from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ...errors import unknown_name
from ..results.audit_result import AttackFinding, Audit
from ..results.verdict import Verdict
from .gate import Decision, Status
from .policy import Check

PASSED, FAILED, UNSURE, UNUSABLE = 0, 1, 3, 4
"""Exit codes; 2 is for what the user can mend in a command or a file."""


@dataclass(frozen=True)
class CheckResult:
    """What became of one check.

    Attributes:
        check: as the policy says it.
        line: where it begins in the policy file.
        decision: the status and what it rests on.
        parts: what was decided by its ``margin`` and by its ``budget``, where it was decided by them.
        place: the finding, where exactly one is meant.
        verdict: what the finding amounts to, by the policy's cut-offs; None for one that reads no message.
        state: ``new``, ``unchanged`` or ``updated`` against the baseline; None where there is no baseline.
    """

    check: Check
    line: int
    decision: Decision
    parts: Mapping[str, Decision] = field(default_factory=dict)
    place: AttackFinding | None = None
    verdict: Verdict | None = None
    state: str | None = None

    @property
    def status(self) -> Status:
        return self.decision.status


@dataclass(frozen=True)
class GateReport:
    """What became of all checks.

    Attributes:
        audit: that was checked.
        results: in the order of the policy.
        problems: why nothing at all can be said, if so.
        strict: whether what is inconclusive fails.
        policy: the policy file.
        command: that checks again.
        rerun: the command that measures again, where the plan's file is known.
    """

    audit: Audit
    results: tuple[CheckResult, ...]
    problems: tuple[str, ...]
    strict: bool
    policy: Path
    command: str = "gaudit check"
    rerun: str | None = None

    @property
    def statuses(self) -> list[Status]:
        """Of all checks."""
        return [result.status for result in self.results]

    @property
    def nothing_applies(self) -> bool:
        """Whether not one check has been made."""
        return set(self.statuses) <= {Status.NOT_APPLICABLE}

    @property
    def exit_code(self) -> int:
        """0 pass, 1 regressed or over budget, 3 inconclusive where that fails, 4 nothing can be said."""
        if self.problems or Status.INVALID in self.statuses or self.nothing_applies:
            return UNUSABLE
        if any(status.fails for status in self.statuses):
            return FAILED
        return UNSURE if self.strict and Status.INCONCLUSIVE in self.statuses else PASSED

    @property
    def reproduction(self) -> str:
        """The commands that repeat it."""
        return self.command if self.rerun is None else f"{self.rerun} && {self.command}"

    def named(self, name: str) -> CheckResult:
        """One check's result.

        Raises:
            InputError: the policy has no such check.
        """
        found = {result.check.name: result for result in self.results}
        if name not in found:
            raise unknown_name("check", name, found)
        return found[name]

    def headline(self) -> str:
        """All of it in a line."""
        if self.problems:
            return f"This audit is invalid, so no check was made: {'; '.join(self.problems)}."
        counts = [f"{self.statuses.count(status)} {status}" for status in Status if status in self.statuses]
        failing = [f"'{result.check.name}'" for result in self.results if result.status.fails]
        more = f" Failed: {', '.join(failing)}." if failing else ""
        invalid = [f"'{result.check.name}'" for result in self.results if result.status is Status.INVALID]
        more += f" Without a verdict: {', '.join(invalid)}." if invalid else ""
        more += " No check applies to this audit, so nothing was checked." if self.nothing_applies else ""
        number = f"{len(self.results)} {'check' if len(self.results) == 1 else 'checks'}"
        return f"{number}: {', '.join(counts)}.{more}"
