"""Tests that take turns all get theirs, and others always run."""

import os
import re
import subprocess
import sys

import pytest

from support.places import ROOT
from support.turns import TURNS

FILE = """
import pytest

@pytest.mark.dear
@pytest.mark.parametrize("number", range(60))
def test_long(number):
    pass

def test_short():
    pass
"""


@pytest.fixture
def passed(tmp_path):
    """Names of the tests that pass with some options."""
    (tmp_path / "test_it.py").write_text(FILE)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {ROOT / 'tests'}\nmarkers = dear: takes long\n")

    # PYTEST_ADDOPTS may name a turn
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}

    def run(*options):
        command = [sys.executable, "-m", "pytest", "-p", "support.turns", "-p", "no:xdist", "-rp", *options]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        return re.findall(r"^PASSED \S+::(\S+)$", done.stdout, re.MULTILINE)

    return run


@pytest.mark.parametrize("first", [0, 1001])
def test_turns_in_a_row_see_each_long_test_once(passed, first):
    runs = [passed("--turn", str(turn)) for turn in range(first, first + TURNS)]
    assert all("test_short" in run for run in runs)
    assert sorted(name for run in runs for name in run if name != "test_short") == sorted(
        f"test_long[{number}]" for number in range(60)
    )
    assert max(map(len, runs)) < 40


def test_without_a_turn_all_run(passed):
    assert len(passed()) == 61
