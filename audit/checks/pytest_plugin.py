"""A pytest fixture that asks for the checks of a policy; nothing is trained, an audit's ledger is read.

    def test_nobody_new_is_exposed(gaudit):
        gaudit.assert_no_regression("membership")

pytest loads this module in every run where gaudit is installed: all else is imported when the fixture is used.
"""

import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

if TYPE_CHECKING:
    from .gate import Decision
    from .gate_report import GateReport

OPTIONS = {
    "ledger": "the ledger of an audit; by default the one that the policy names",
    "policy": "the policy; by default gaudit.toml in the root folder",
    "baseline": "what was accepted; by default .gaudit-baseline.json beside the policy",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options and settings of the same names: ``--gaudit-ledger`` and ``gaudit_ledger``, and so on."""
    group = parser.getgroup("gaudit", "privacy checks of gaudit")
    for name, what in OPTIONS.items():
        group.addoption(f"--gaudit-{name}", metavar="FILE", help=what)
        parser.addini(f"gaudit_{name}", what)


@pytest.fixture(scope="session")
def gaudit(pytestconfig: pytest.Config) -> "Gaudit":
    """The checks of a policy, to be asserted by name."""
    return Gaudit(_file(pytestconfig, "ledger"), _file(pytestconfig, "policy"), _file(pytestconfig, "baseline"))


def _file(config: pytest.Config, option: str) -> Path | None:
    """From the command line, or from the settings, which are about the root folder; None where neither names it."""
    given = config.getoption(f"--gaudit-{option}")
    if given:
        return config.invocation_params.dir / str(given)
    setting = config.getini(f"gaudit_{option}")
    if setting:
        return config.rootpath / str(setting)
    return config.rootpath / "gaudit.toml" if option == "policy" else None


class UnsureWarning(UserWarning):
    """A check could not be decided."""


@dataclass(frozen=True)
class Gaudit:
    """The checks of a policy on one ledger.

    Attributes:
        ledger: of the audit; None for the one that the policy names.
        policy: the policy file.
        baseline: what was accepted; None for the file beside the policy.
    """

    ledger: Path | None
    policy: Path | None
    baseline: Path | None

    def assert_no_regression(self, check: str) -> None:
        """Fails if a check with a margin has regressed, or nothing can be said about it."""
        self._assert(check, "margin", "has no margin: use assert_within_budget")

    def assert_within_budget(self, check: str) -> None:
        """Fails if a check with a budget (or a highest level) is over it, or nothing can be said about it."""
        self._assert(check, "budget", "has neither a budget nor a highest level: use assert_no_regression")

    @cached_property
    def report(self) -> "GateReport":
        """What became of all checks; read once."""
        from .check_files import POLICY, check_files

        return check_files(self.ledger, self.policy or POLICY, self.baseline)

    def _assert(self, check: str, part: str, otherwise: str) -> None:
        from ...errors import InputError

        self._skip_without_ledger()
        try:
            result = self.report.named(check)
        except InputError as error:
            _fail(f"gaudit: {error}")
        if not result.check.has(part):
            _fail(f"gaudit: the check '{check}' {otherwise}")
        self._judge(check, result.parts.get(part, result.decision))

    def _judge(self, check: str, decision: "Decision") -> None:
        from .gate import Status

        status = decision.status
        said = f"gaudit check '{check}': {status}. {decision.why}."
        if status is Status.NOT_APPLICABLE:
            pytest.skip(said)
        if status is Status.PASS:
            return
        if status is Status.INCONCLUSIVE and not self.report.strict:
            warnings.warn(UnsureWarning(said), stacklevel=4)
            return
        size = [f"Measured: {decision.size}"] if decision.size else []
        _fail("\n".join([said, *size, *decision.details, f"To repeat it: {self.report.reproduction}"]))

    def _skip_without_ledger(self) -> None:
        """Whoever names no ledger may not have run an audit; one that is named must be there."""
        from ...errors import InputError
        from .check_files import POLICY, ledger_of
        from .policy import Policy

        if self.ledger is not None:
            return
        try:
            ledger = ledger_of(None, Policy.read(self.policy or POLICY))
        except InputError as error:
            _fail(f"gaudit: {error}")
        if not ledger.is_file():
            pytest.skip(f"there is no ledger {ledger}: run gaudit audit first")


def _fail(message: str) -> NoReturn:
    pytest.fail(message, pytrace=False)
