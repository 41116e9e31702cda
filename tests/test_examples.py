"""Examples run as they are, and do what they say."""

import difflib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gaudit

OWN = Path(__file__).parents[1] / "examples" / "own_script"


@pytest.mark.dear
def test_a_training_script_is_audited_by_at_most_five_lines(tmp_path):
    before, after = ((OWN / name).read_text().splitlines()[1:] for name in ("train_gcn.py", "audited.py"))
    changed = [line for line in difflib.ndiff(before, after) if line[0] in "+-"]
    assert not [line for line in changed if line[0] == "-"]
    assert len([line for line in changed if line[2:].strip()]) <= 5
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, OWN / "audited.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "people whose labels were trained on" in done.stdout
    audit = gaudit.read_audit(tmp_path / "audit.db")
    assert audit.valid
    assert {place.attack.plan.name for place in audit.findings()} == {"lira", "rmia", "loss"}
    assert "<html" in (tmp_path / "report.html").read_text()
