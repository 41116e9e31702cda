"""`gaudit check` and `gaudit baseline update`: exit codes, files, and nothing half-written."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from gaudit.commands.check import baseline_group, check_command
from support.ledgers import SEEDS, write_baseline, write_ledger

MARGIN = '[[check]]\nname = "members"\nattack = "loss"\nmargin = 0.03\n'
BASELINE = ".gaudit-baseline.json"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The working folder: a policy with one check, and a baseline."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gaudit.toml").write_text(MARGIN)
    write_baseline(tmp_path / BASELINE, 0.5)
    return tmp_path


def ledger(leak: float = 0.5, **how) -> None:
    write_ledger(Path("audit.db"), leak, **how)


def check(*arguments: str):
    return CliRunner().invoke(check_command, [str(a) for a in arguments])


def update(*arguments: str):
    return CliRunner().invoke(baseline_group, ["update", *map(str, arguments)])


def others(folder: Path) -> list[str]:
    """Files beside the ledger and what SQLite keeps with it."""
    return sorted(p.name for p in folder.iterdir() if not p.name.startswith("audit.db"))


def test_no_change_passes(folder):
    ledger()
    result = check("audit.db")
    assert result.exit_code == 0, result.output
    assert "1 check: 1 pass." in result.stdout
    assert others(folder) == [BASELINE, "gaudit.toml"]


def test_a_regression_fails_and_says_which_check_and_how_to_repeat_it(folder):
    ledger(1.2)
    result = check("audit.db")
    assert result.exit_code == 1
    assert "Failed: 'members'." in result.stdout
    assert f"gaudit check audit.db --policy gaudit.toml --baseline {BASELINE}" in result.stdout


def test_inconclusive_warns_or_fails(folder):
    estimate = json.loads((folder / BASELINE).read_text())["findings"]
    (found,) = estimate.values()
    mean = sum(seed["auc"] for seed in found["by_seed"].values()) / len(found["by_seed"])
    (folder / "gaudit.toml").write_text(f'[[check]]\nname = "b"\nattack = "loss"\nbudget = {mean:.3f}\n')
    ledger()
    assert check("audit.db").exit_code == 0
    assert check("audit.db", "--strict").exit_code == 3


def test_an_invalid_audit_is_4(folder):
    ledger(planted=0.0)
    result = check("audit.db")
    assert result.exit_code == 4
    assert "planted leak" in result.stdout


def test_nothing_checked_is_4(folder):
    (folder / "gaudit.toml").write_text('[[check]]\nname = "b"\nattack = "lira"\nbudget = 0.6\n')
    ledger()
    result = check("audit.db")
    assert result.exit_code == 4
    assert "nothing was checked" in result.stdout


def test_an_unfinished_audit_is_4(folder):
    ledger(without=1)
    result = check("audit.db")
    assert result.exit_code == 4
    assert "1 trial has not run" in " ".join(result.stdout.replace("│", " ").split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("none.db",), "there is no ledger"),
        (("audit.db", "--policy", "none.toml"), "cannot read the policy"),
        (("audit.db", "--baseline", "none.json"), "there is no baseline"),
        (("audit.db", "--junit", "nowhere/junit.xml"), "does not exist"),
        ((), "name a ledger"),
    ],
)
def test_what_the_user_can_mend_is_2_in_one_line(folder, arguments, said):
    ledger()
    result = check(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout == ""


def test_the_policy_may_name_the_ledger(folder):
    (folder / "gaudit.toml").write_text('[gate]\nledger = "audit.db"\nplan = "plan.toml"\n\n' + MARGIN)
    ledger(1.2)
    result = check()
    assert result.exit_code == 1
    assert "gaudit audit plan.toml --ledger audit.db && gaudit check audit.db" in result.stdout


def test_without_a_margin_no_baseline_is_needed(folder):
    (folder / "gaudit.toml").write_text('[[check]]\nname = "b"\nattack = "loss"\nbudget = 0.9\n')
    (folder / BASELINE).unlink()
    ledger()
    assert check("audit.db").exit_code == 0


def test_files_are_written_whatever_became_of_the_checks(folder):
    ledger(1.2)
    (folder / "summary.md").write_text("what others wrote\n")
    files = ("--junit", "junit.xml", "--sarif", "gaudit.sarif", "--summary", "summary.md")
    assert check("audit.db", *files).exit_code == 1
    assert ElementTree.parse(folder / "junit.xml").getroot().get("failures") == "1"
    assert json.loads((folder / "gaudit.sarif").read_text())["runs"][0]["results"][0]["kind"] == "fail"
    assert (folder / "summary.md").read_text().startswith("what others wrote\n## gaudit check: failed")


def test_checking_never_touches_the_baseline(folder):
    before = (folder / BASELINE).read_bytes()
    for leak in (0.2, 1.2):
        ledger(leak)
        check("audit.db")
    assert (folder / BASELINE).read_bytes() == before


def test_an_interrupt_is_130(folder, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    ledger()
    monkeypatch.setattr("gaudit.audit.results.assemble.read_audit", interrupted)
    assert check("audit.db").exit_code == 130
    assert update("audit.db", "--reason", "why").exit_code == 130


def test_an_update_accepts_and_keeps_the_history(folder):
    ledger(1.2)
    assert check("audit.db").exit_code == 1
    result = update("audit.db", "--reason", "the new model is worth it")
    assert result.exit_code == 0, result.output
    assert json.loads((folder / BASELINE).read_text())["history"] == ["first", "the new model is worth it"]
    assert check("audit.db").exit_code == 0


def test_a_first_baseline_is_made_where_there_was_none(folder):
    (folder / BASELINE).unlink()
    ledger()
    assert update("audit.db", "--reason", "first").exit_code == 0
    first = (folder / BASELINE).read_bytes()
    (folder / BASELINE).unlink()
    assert update("audit.db", "--reason", "first").exit_code == 0
    assert (folder / BASELINE).read_bytes() == first


@pytest.mark.parametrize(("how", "said"), [({"planted": 0.0}, "invalid audit"), ({"without": 2}, "have not run")])
def test_an_audit_that_says_nothing_becomes_no_baseline(folder, how, said):
    before = (folder / BASELINE).read_bytes()
    ledger(**how)
    result = update("audit.db", "--reason", "why")
    assert result.exit_code == 4
    assert said in result.stderr
    assert (folder / BASELINE).read_bytes() == before


@pytest.mark.parametrize("content", ['{"schema": 99}', "{", ""])
def test_a_baseline_that_cannot_be_read_is_not_overwritten(folder, content):
    (folder / BASELINE).write_text(content)
    ledger()
    for result in (update("audit.db", "--reason", "why"), check("audit.db")):
        assert result.exit_code == 2
        assert BASELINE in result.stderr
    assert (folder / BASELINE).read_text() == content
    assert others(folder) == [BASELINE, "gaudit.toml"]


def test_an_update_needs_a_reason(folder):
    ledger()
    assert update("audit.db").exit_code == 2
    assert update("audit.db", "--reason", "  ").exit_code == 2


def test_what_is_there_does_not_stand_for_what_failed(folder):
    """A check that names no graph would pass on the one whose trials ran."""
    (folder / "gaudit.toml").write_text('[[check]]\nname = "b"\nattack = "loss"\nbudget = 0.9\n')
    ledger(datasets=("citations", "digits"), without=SEEDS)
    result = check("audit.db")
    assert result.exit_code == 4
    assert "it also means classifier on digits, without a defense, whose trials have not run." in result.stdout
    assert "Without a verdict: 'b'." in result.stdout
    (folder / "gaudit.toml").write_text(
        '[[check]]\nname = "b"\nattack = "loss"\nbudget = 0.9\ndataset = "citations"\n'
    )
    assert check("audit.db").exit_code == 0


def test_a_leak_whose_size_cannot_be_measured_fails(folder):
    (folder / "gaudit.toml").write_text('[[check]]\nname = "b"\nattack = "loss"\nmetric = "level"\nmax = "high"\n')
    ledger(2.5, members=60, others=60)
    result = check("audit.db")
    assert result.exit_code == 1
    assert "nothing shows that it is at most high, as is allowed." in result.stdout
    assert "it needs at least 1000 non-members in each run" in result.stdout


def test_a_game_that_was_not_played_is_named(folder):
    (folder / "gaudit.toml").write_text(
        '[[check]]\nname = "b"\nattack = "loss"\ngame = "node-presence"\nbudget = 0.6\n'
    )
    ledger()
    result = check("audit.db")
    assert result.exit_code == 4
    assert "this attack answered label-membership" in result.stdout
