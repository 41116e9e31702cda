"""An audit on two workers that is killed in the middle of its trials comes to the exports of an undisturbed one."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "kills.py"


@pytest.mark.dear
def test_two_kills_leave_no_trace_in_any_export():
    options = ["--kills", "2", "--seeds", "1", "--epochs", "2000", "--longest", "0.1"]
    done = subprocess.run([sys.executable, str(SCRIPT), *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    kills, whole, exports = done.stdout.splitlines()
    assert kills.startswith("2 kills (local, 2 workers, audit)")
    assert whole == "1 whole ledgers, 0 trials noted twice"
    assert exports.endswith("json 1, html 1, markdown 1, csv 1")
