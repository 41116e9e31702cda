"""What is read runs no code, whatever it names and wherever it is read; what runs code says so."""

import json
import sys
from pathlib import Path

import pytest
from joblib.externals.loky import get_reusable_executor

from support.forged import forge, naming
from support.ledgers import write_baseline, write_ledger

MARK = """
from pathlib import Path

Path("imported").touch()
"""
PAYLOAD = f'''{MARK}
from gaudit.attacks.membership.loss import Loss
from gaudit.targets.classification.classifier import Classifier
from gaudit.targets.defense import Defense as Nothing


class Attack(Loss):
    """A payload."""


class Defense(Nothing):
    """A payload."""


class Target(Classifier):
    """A payload."""
'''
STARTING = '''
import subprocess, sys
from gaudit.targets.classification.classifier import Classifier


class Starting(Classifier):
    """A target that starts a script."""

    name = "starting"

    def run(self, *args, **named):
        subprocess.run([sys.executable, "script.py"], check=True)
        return super().run(*args, **named)
'''
PLAN = """
datasets = ["karate"]
seeds = 1
target = [{{ name = "{target}", settings = {{ recipe = {{ hidden = 4, epochs = 2 }} }} }}]
attack = [{{ name = "loss" }}]
"""
POLICY = '[[check]]\nname = "members"\nattack = "payload:Attack"\nmetric = "auc"\nbudget = 0.99\n'
READING = {
    "report": ["report", "audit.db"],
    "Markdown": ["report", "audit.db", "--format", "markdown"],
    "JSON": ["report", "audit.db", "--format", "json"],
    "CSV": ["report", "audit.db", "--format", "csv"],
    "records": ["report", "audit.db", "-o", "a.html", "--records", "members.csv"],
    "check": ["check", "audit.db", "--sarif", "a.sarif", "--junit", "a.xml", "--summary", "a.md"],
    "baseline": ["baseline", "update", "audit.db", "--reason", "theirs"],
}


@pytest.fixture
def poisoned(tmp_path, monkeypatch) -> Path:
    """A folder with a module that leaves a mark when it is imported, and a ledger and a policy that name it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])  # the most that a forger may hope for
    Path("payload.py").write_text(PAYLOAD)
    Path("gaudit.toml").write_text(POLICY)
    write_ledger(tmp_path / "audit.db", 1.5)
    yield tmp_path
    sys.modules.pop("payload", None)


@pytest.mark.parametrize("command", READING.values(), ids=READING.keys())
def test_reading_a_forged_ledger_imports_nothing(gaudit, poisoned, command):
    forge(Path("audit.db"), naming("payload", told=False))
    result = gaudit(*command)
    assert result.exit_code == 2
    assert "is not installed here" in result.stderr
    assert "--trust-code" in result.stderr
    assert result.stderr.count("\n") == 1
    assert not Path("imported").exists()
    assert "payload" not in sys.modules


@pytest.mark.parametrize("command", READING.values(), ids=READING.keys())
def test_a_ledger_that_describes_its_classes_is_read_without_them(gaudit, poisoned, command):
    forge(Path("audit.db"), naming("payload", told=True))
    result = gaudit(*command)
    assert result.exit_code in (0, 1, 4), result.output  # a check may well fail
    assert not Path("imported").exists()
    assert "payload" not in sys.modules


def test_what_is_described_is_shown(gaudit, poisoned):
    forge(Path("audit.db"), naming("payload", told=True))
    content = json.loads(gaudit("report", "audit.db", "--format", "json").stdout)
    (section,) = content["sections"]
    assert [o["defense"] for o in section["outcomes"]] == ["payload:Defense"]
    assert {a["attack"] for a in section["outcomes"][0]["attacks"]} == {"payload:Attack"}


def test_who_is_trusted_is_imported(gaudit, poisoned):
    forge(Path("audit.db"), naming("payload", told=False))
    result = gaudit("report", "audit.db", "--format", "json", "--trust-code")
    assert result.exit_code == 0, result.output
    assert Path("imported").exists()


def test_a_baseline_and_a_policy_name_no_code(gaudit, poisoned):
    write_baseline(Path(".gaudit-baseline.json"), 1.5)
    text = Path(".gaudit-baseline.json").read_text().replace("loss", "payload:Attack")
    Path(".gaudit-baseline.json").write_text(text)
    Path("gaudit.toml").write_text(POLICY.replace("budget = 0.99", "margin = 0.1"))
    result = gaudit("check", "audit.db", "--sarif", "a.sarif")
    assert result.exit_code in (0, 4), result.output
    assert not Path("imported").exists()


def test_a_plan_with_a_class_of_its_own_says_that_it_runs_code(gaudit, poisoned):
    Path("plan.toml").write_text(
        'datasets = ["karate"]\n[[target]]\nname = "payload:Target"\n[[attack]]\nname = "nothing-of-this-name"\n'
    )
    result = gaudit("audit", "plan.toml")
    assert result.exit_code == 2
    assert Path("imported").exists()
    assert f"this plan runs code: payload:Target from {poisoned / 'payload.py'}" in result.stderr.splitlines()[0]


@pytest.mark.parametrize("name", ["payload:{}", "payload.py:{}"])
def test_a_plan_with_functions_of_its_own_says_so_before_they_run(gaudit, poisoned, name):
    own = {part: name.format(part) for part in ("fit", "predict")}
    Path("plan.toml").write_text(
        'datasets = ["karate"]\n[[target]]\nname = "own"\n[target.settings]\n'
        f'fit = "{own["fit"]}"\npredict = "{own["predict"]}"\n[[attack]]\nname = "loss"\n'
    )
    Path("payload.py").write_text(f'import sys\n\nprint("it runs", file=sys.stderr)\n{MARK}')
    result = gaudit("audit", "plan.toml", "--dry-run")
    assert result.exit_code == 2
    assert Path("imported").exists()
    said, ran, *_ = result.stderr.splitlines()
    assert said == f"gaudit: this plan runs code: {own['fit']} from {poisoned / 'payload.py'}"
    assert ran == "it runs"


def test_classes_of_ones_own_are_described_in_the_ledger_of_their_run(gaudit, poisoned):
    """What runs with ``module:Class`` is read where nobody has that module."""
    Path("plan.toml").write_text(
        'datasets = ["karate"]\nseeds = 1\n[[target]]\nname = "classifier"\n'
        "[target.settings]\nin_question = 1.0\nrecipe = {hidden = 4, epochs = 2}\n"
        '[[attack]]\nname = "payload:Attack"\n'
    )
    ran = gaudit("audit", "plan.toml", "--ledger", "own.db", "--workers", 1)
    assert ran.exit_code in (0, 4), ran.output
    Path("imported").unlink()
    sys.modules.pop("payload")
    Path("payload.py").rename("gone.txt")
    result = gaudit("report", "own.db", "--format", "json")
    assert result.exit_code == 0, result.output
    assert '"payload:Attack"' in result.stdout
    assert not Path("imported").exists()


@pytest.fixture
def no_workers():
    """Those that other tests have left would be used again."""
    get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=True)


@pytest.mark.dear
@pytest.mark.usefixtures("no_workers")
def test_workers_import_nothing_from_the_current_folder(gaudit, tmp_path, monkeypatch):
    """They start as ``python -m joblib...``, which would take a file of that name from there."""
    monkeypatch.chdir(tmp_path)
    Path("joblib.py").write_text(MARK)
    Path("plan.toml").write_text(PLAN.format(target="classifier"))
    result = gaudit("audit", "plan.toml", "--ledger", "audit.db", "--workers", 2)
    assert result.exit_code in (0, 4), result.output
    assert not Path("imported").exists()


@pytest.mark.dear
def test_workers_on_ray_import_nothing_from_the_current_folder(gaudit, tmp_path, monkeypatch):
    """Ray puts this folder first on their path."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'graph-gaudit[ray]'")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder])
    Path("joblib.py").write_text(MARK)
    Path("plan.toml").write_text(PLAN.format(target="classifier"))
    result = gaudit("audit", "plan.toml", "--ledger", "audit.db", "--workers", 1, "--executor", "ray")
    if "cannot connect to a Ray cluster" in result.output:
        pytest.skip(f"Ray did not start here: {result.output}")
    assert result.exit_code in (0, 4), result.output
    assert not Path("imported").exists()


@pytest.mark.dear
@pytest.mark.usefixtures("no_workers")
def test_workers_import_what_a_plan_names_and_pass_nothing_on(gaudit, tmp_path, monkeypatch):
    """Scripts that a target of one's own starts are free to import what stands beside them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    Path("starting.py").write_text(STARTING)
    Path("script.py").write_text("import beside\n")
    Path("beside.py").write_text(MARK)
    Path("plan.toml").write_text(PLAN.format(target="starting:Starting"))
    result = gaudit("audit", "plan.toml", "--ledger", "audit.db", "--workers", 2)
    sys.modules.pop("starting", None)
    assert result.exit_code in (0, 4), result.output
    assert Path("imported").exists()
