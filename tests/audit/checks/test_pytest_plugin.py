"""The pytest fixture, in pytest runs of its own."""

import os
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from support.ledgers import write_baseline, write_ledger

pytest_plugins = ["pytester"]

PLUGIN = "gaudit.audit.checks.pytest_plugin"
LOADED = () if any(point.module == PLUGIN for point in entry_points(group="pytest11")) else ("-p", PLUGIN)
POLICY = """
[gate]
ledger = "audit.db"
plan = "plan.toml"

[[check]]
name = "members"
attack = "loss"
margin = 0.03
budget = 0.7

[[check]]
name = "budget only"
attack = "loss"
budget = 0.5

[[check]]
name = "elsewhere"
attack = "lira"
budget = 0.5
"""


@pytest.fixture
def project(pytester, monkeypatch):
    """A folder with a policy, a baseline, and a function that leaves a ledger and runs a test in it."""
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makefile(".toml", gaudit=POLICY)
    write_baseline(pytester.path / ".gaudit-baseline.json", 0.5)

    def run(body: str, *options: str, leak: float | None = 0.5, name: str = "audit.db"):
        if leak is not None:
            write_ledger(pytester.path / name, leak)
        pytester.makepyfile(f"def test_privacy(gaudit):\n    {body}\n")
        return pytester.runpytest_inprocess(*LOADED, "-p", "no:xdist", *options)

    return run


def test_what_has_not_changed_passes(project):
    project('gaudit.assert_no_regression("members")').assert_outcomes(passed=1)


def test_a_regression_fails_with_sentence_interval_and_command(project):
    result = project('gaudit.assert_no_regression("members")', leak=1.2)
    result.assert_outcomes(failed=1)
    said = result.stdout.str()
    assert "gaudit check 'members': regressed. AUC rose by" in said
    assert "Measured: +0." in said
    assert "gaudit audit " in said
    assert "&& gaudit check " in said
    assert "Traceback" not in said


def test_a_budget_is_asserted_apart_from_the_margin(project):
    project('gaudit.assert_within_budget("members")', leak=0.2).assert_outcomes(passed=1)
    over = project('gaudit.assert_within_budget("budget only")', leak=0.5)
    over.assert_outcomes(failed=1)
    assert "over the budget of 0.5" in over.stdout.str()


def test_what_a_check_does_not_say_cannot_be_asserted(project):
    result = project('gaudit.assert_no_regression("budget only")')
    result.assert_outcomes(failed=1)
    assert "use assert_within_budget" in result.stdout.str()


def test_an_unknown_check_is_named_with_the_nearest(project):
    result = project('gaudit.assert_no_regression("member")')
    result.assert_outcomes(failed=1)
    assert "did you mean 'members'?" in result.stdout.str()


def test_a_check_that_does_not_apply_is_skipped_with_the_reason(project):
    result = project('gaudit.assert_within_budget("elsewhere")', "-rs")
    result.assert_outcomes(skipped=1)
    assert "the audit has no finding" in result.stdout.str()


def test_without_a_ledger_it_skips_but_a_named_one_must_be_there(project):
    result = project('gaudit.assert_no_regression("members")', "-rs", leak=None)
    result.assert_outcomes(skipped=1)
    assert "run gaudit audit first" in result.stdout.str()
    named = project('gaudit.assert_no_regression("members")', "--gaudit-ledger", "other.db", leak=None)
    named.assert_outcomes(failed=1)
    assert "there is no ledger" in named.stdout.str()


def test_files_come_from_options_or_settings(project, pytester):
    body = 'gaudit.assert_no_regression("members")'
    project(body, "--gaudit-ledger", "x.db", name="x.db").assert_outcomes(passed=1)
    pytester.makeini("[pytest]\ngaudit_ledger = y.db\ngaudit_policy = gaudit.toml\n")
    project(body, name="y.db").assert_outcomes(passed=1)
    (pytester.path / ".gaudit-baseline.json").rename(pytester.path / "accepted.json")
    assert "there is no baseline" in project(body, name="y.db").stdout.str()
    project(body, "--gaudit-baseline", "accepted.json", name="y.db").assert_outcomes(passed=1)


def test_loading_it_loads_nothing_heavy():
    code = f"import sys, {PLUGIN}; print(sorted({{'torch', 'numpy', 'scipy', 'pydantic'}} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert found.stdout.strip() == "[]"
