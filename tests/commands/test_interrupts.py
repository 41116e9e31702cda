"""Ctrl-C and SIGTERM: what is kept is said in a line, and nothing else is left."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support.waiting import wait_for

WAITING = '''
import os, time
from pathlib import Path
from gaudit.targets.classification.classifier import Classifier


class Waiting(Classifier):
    """A target that waits to be stopped, from its second seed on."""

    name = "waiting"

    def run(self, data, defense, seed, retain, progress=lambda *a: None):
        if seed.spawn_key[0] > 0:
            (Path(__file__).parent / f"in_hand.{os.getpid()}").touch()
            time.sleep(600)
        return super().run(data, defense, seed, retain, progress)
'''
PLAN = """
name = "interrupted"
datasets = ["karate"]
seeds = 4
target = [{ name = "waiting_target:Waiting", settings = { recipe = { epochs = 2 } } }]
attack = [{ name = "loss" }]
"""
HEEDED = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
"""As from a terminal: what a shell starts in the background ignores Ctrl-C, and its children inherit that."""
GAUDIT = (sys.executable, "-c", f"{HEEDED}; from gaudit.commands.main import main; main()")
AUDIT = ("audit", "plan.toml", "--ledger", "audit.db")
ATTACK = ("attack", "--target", "waiting_target:Waiting", "--attack", "loss", "--dataset", "karate", "--seeds", "4")
KEPT = "2 of 5 trials are in audit.db. Start the same command again to run the rest."
LOST = "2 of 5 trials had run. No result is kept: only 'gaudit audit' keeps them."


@pytest.fixture
def temporary():
    """A folder with a short name: addresses of sockets in it may have some hundred letters."""
    with TemporaryDirectory(prefix="g") as folder:
        yield Path(folder)


@pytest.mark.dear
@pytest.mark.parametrize(
    ("command", "workers", "stop", "all_at_once", "code", "says"),
    [
        pytest.param(AUDIT, 2, signal.SIGINT, True, 130, f"interrupted: {KEPT}", id="audit, Ctrl-C"),
        pytest.param(AUDIT, 1, signal.SIGTERM, False, 143, f"terminated: {KEPT}", id="audit, SIGTERM"),
        pytest.param(ATTACK, 2, signal.SIGTERM, True, 143, f"terminated: {LOST}", id="attack, SIGTERM"),
    ],
)
def test_a_command_that_is_stopped_ends_in_order(
    tmp_path, temporary, command, workers, stop, all_at_once, code, says
):
    """The signal goes to the command or, as from a terminal, to all processes of its group."""
    (tmp_path / "waiting_target.py").write_text(WAITING)
    (tmp_path / "plan.toml").write_text(PLAN)
    places = {"TMPDIR": str(temporary), "PYTHONPATH": str(tmp_path)}
    process = subprocess.Popen(
        [*GAUDIT, *command, "--workers", str(workers)],
        cwd=tmp_path,
        env={**os.environ, **places},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        in_hand = wait_for(
            lambda: len(list(tmp_path.glob("in_hand.*"))) == workers or process.poll() is not None, 300
        )
        assert in_hand
        assert process.poll() is None, process.stderr.read()
        (os.killpg if all_at_once else os.kill)(process.pid, stop)
        _, error = process.communicate(timeout=120)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == code
    lines = error.strip().split("\n")
    *ours, last = [line for line in lines if not line.startswith("gaudit: after ")]  # where it took half a minute
    assert last == f"gaudit: {says}"
    assert [line[:28] for line in ours] == ["gaudit: this plan runs code:"] * (command == AUDIT)
    assert wait_for(lambda: not _alive(process.pid), 30)
    assert list(temporary.iterdir()) == []
    assert not list(Path("/dev/shm").glob(f"*loky-{process.pid}-*"))
    assert not list(Path("/dev/shm").glob(f"joblib_memmapping_folder_{process.pid}_*"))


def _alive(session: int) -> list[str]:
    """Processes of a session that have not ended."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(stat.parent.name)
    return found
