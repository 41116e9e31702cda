"""Progress where there is no terminal: lines at intervals, with what is done and what is left."""

import os
import subprocess
import sys
import time
from io import StringIO

import pytest
from rich.console import Console

from gaudit.reports.console import progress
from gaudit.reports.console.progress import counted, duration, staged


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0.05)


def until(capsys, what: str) -> str:
    """What was written to the error stream until it held some text, or for ten seconds."""
    heard, end = "", time.monotonic() + 10
    while what not in heard and time.monotonic() < end:
        time.sleep(0.02)
        heard += capsys.readouterr().err
    return heard


def test_a_line_says_what_is_done_and_what_is_left(capsys):
    with counted("trials", 3) as step:
        assert "0 of 3 trials done, 3 left\n" in until(capsys, "0 of 3")
        step("fedgc, seed 0")
        heard = until(capsys, "1 of 3")
    assert "gaudit: after 0 s: 1 of 3 trials done, 2 left (about " in heard
    assert heard.rstrip().endswith("last done: fedgc, seed 0")


def test_stages_of_trials_are_told(capsys):
    with staged() as report:
        report("fedgc, seed 0", "condensing", 40, 100)
        heard = until(capsys, "fedgc")
        assert "fedgc, seed 0: condensing, 40 of 100 steps done, 60 left\n" in heard
        time.sleep(0.01)
        report("fedgc, seed 0", "condensing", 50, 100)
        assert "50 of 100 steps done, 50 left (about " in until(capsys, "50 of 100")


def test_a_trial_that_has_ended_is_counted_and_told_no_more(capsys):
    with staged() as report:
        report("fedgc, seed 0", "attacking", 1, 1)
        report("fedgc, seed 1", "condensing", 1, 100)
        time.sleep(0.3)  # the other one may take as long
        report("", "fedgc, seed 0", 1, 2)
        heard = until(capsys, "1 of 2")
    (line,) = {line.partition(": ")[2] for line in heard.splitlines() if "1 of 2" in line}
    assert line.endswith("now fedgc, seed 1: condensing, 1 of 100 steps done, 99 left")
    assert "seed 0" not in line
    assert "trials done, 1 left (about " in line


def test_the_time_left_falls_while_nothing_ends():
    assert progress._done(1, 3, "trials", 40.0) == "1 of 3 trials done, 2 left (about 1 min 20 s)"
    assert progress._done(1, 3, "trials", 40.0, since=30.0) == "1 of 3 trials done, 2 left (about 50 s)"
    assert progress._done(1, 3, "trials", 40.0, since=90.0) == "1 of 3 trials done, 2 left"


def test_bars_tell_each_trial_that_runs_and_all():
    screen = Console(file=StringIO(), force_terminal=True, width=150)
    with progress._bars(screen) as report:
        report("fedgc, seed 0", "condensing", 1, 2)
        report("fedgc, seed 0", "attacking", 1, 1)
        report("", "fedgc, seed 0", 1, 2)
        report("", "unheard of", 2, 2)
    assert "all trials" in screen.file.getvalue()


def test_nothing_is_written_once_the_work_is_done(capsys):
    with counted("trials", 1) as step:
        step("it")
    capsys.readouterr()
    time.sleep(0.2)
    assert capsys.readouterr().err == ""


def test_short_work_is_silent(capsys, monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 30.0)
    with counted("trials", 1) as step:
        step("it")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (185, "3 min 5 s"), (7800, "2 h 10 min")],
)
def test_durations_are_read_at_a_glance(seconds, said):
    assert duration(seconds) == said


def test_listing_attacks_starts_neither_torch_nor_long():
    """It takes .2 CPU seconds; 4.6 were those of importing every attack."""
    code = "import sys; from gaudit.commands.main import main; main(['list', 'attacks'], standalone_mode=False); "
    code += "assert 'torch' not in sys.modules"
    before = os.times()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    after = os.times()
    assert done.returncode == 0, done.stderr
    assert "mia-adaptive" in done.stdout
    assert after.children_user + after.children_system - before.children_user - before.children_system < 2
