"""Audits that are killed at random moments in the middle of trials, and whether they come to the same exports.

    python benchmarks/kills.py                              # kills an audit on two workers 30 times
    python benchmarks/kills.py --what worker                # kills one of its workers instead
    python benchmarks/kills.py --executor ray               # the same on a Ray cluster of this machine
    python benchmarks/kills.py --executor ray --what worker

All are killed with SIGKILL: an audit by turns alone and with all of its processes, a worker by itself. The audit is
started again until its ledger is whole; that is put aside, and another one begun. The exports of every ledger are
held against those of an audit that nobody disturbed, byte for byte.
"""

import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

import click

from gaudit.audit.planning.grid import Grid, laid_out
from gaudit.audit.planning.plan import Plan
from gaudit.audit.results.assemble import read_audit
from gaudit.audit.running.ledger import Ledger
from gaudit.audit.running.runner import Executor, run_audit
from gaudit.audit.running.trial import run_trial  # noqa: F401  (imported before processes are forked)
from gaudit.registry import find

FORMATS = ("json", "html", "markdown", "csv")
MARKED = '''
import os
from pathlib import Path

from gaudit.targets.classification.classifier import Classifier

MARKS = Path(__file__).parent / "marks"


class Marked(Classifier):
    """A classifier that leaves a file, named after its process, for as long as it runs."""

    name = "marked"

    def run(self, *given):
        mark = MARKS / str(os.getpid())
        mark.touch()
        try:
            return super().run(*given)
        finally:
            mark.unlink()
'''
PAUSE = 0.02


def plan_of(seeds: int, epochs: int) -> Plan:
    """A control, two strengths of a defense and a planted leak, on a graph of 34 nodes."""
    settings = {"recipe": {"hidden": 16, "epochs": epochs}, "in_question": 1.0}
    content = {
        "name": "kills",
        "datasets": ["karate"],
        "seeds": seeds,
        "alternatives": False,
        "target": [{"name": "marked_target:Marked", "settings": settings}],
        "defense": [{"name": "label-noise", "strengths": [1.0, 4.0]}],
        "attack": [{"name": "loss"}, {"name": "lira", "settings": {"shadows": 4}}],
    }
    return Plan.of(content, "kills")


class Killing:
    """Audits of one plan, and processes of them that are killed.

    Attributes:
        killed: processes, or audits with all of their processes.
        midst: how many of them while a trial's target was running.
        noted: how often each trial of each ledger was noted.
        whole: ledgers that came to their end.
    """

    def __init__(self, folder: Path, plan: Plan, workers: int, executor: Executor, longest: float) -> None:
        self.folder, self.plan, self.grid = folder, plan, laid_out(plan)
        self.workers, self.executor, self.longest = workers, executor, longest
        self.draw = random.Random(0)
        self.killed = self.midst = 0
        self.noted = Counter[tuple[str, str]]()
        self.whole: list[Path] = []

    def audits(self, kills: int) -> None:
        """Kills audits until there were so many kills and the last ledger is whole."""
        while self.killed < kills or self.ledger.exists():
            self._start(self._kill_audit if self.killed < kills else None)

    def workers_alone(self, kills: int) -> None:
        """Kills single workers, none before the last one has cost an audit its trial."""
        while self.killed < kills:
            self._start(lambda child: self.killed < kills and self._kill_worker())

    @property
    def ledger(self) -> Path:
        return self.folder / f"{len(self.whole)}.db"

    def _start(self, kill: Callable[[int], bool] | None) -> None:
        """Runs the audit; ``kill`` is called after random pauses in the middle of trials, until it is done."""
        for mark in self._marks():
            mark.unlink()
        child = os.fork()
        if child == 0:
            os.setsid()
            self._run()
        while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
            time.sleep(PAUSE)
            if kill is not None and self._in_hand():
                time.sleep(self.draw.uniform(0, self.longest))
                if kill(child):
                    kill = None
        self._count()
        if ended[1] == 0:
            self.whole.append(self.ledger)
        elif not os.WIFSIGNALED(ended[1]):
            raise click.ClickException(f"an audit ended by itself with status {ended[1]}")

    def _run(self) -> None:
        """In the process that may be killed: what it has noted stands in a file."""
        with self.ledger.with_suffix(".keys").open("a") as keys, Ledger(self.ledger, write=True) as ledger:

            def note(task: object, done: object) -> None:
                print(getattr(done, "key", ""), file=keys, flush=True)

            run_audit(self.plan, self.grid, ledger, note, self.workers, self.executor)
        os._exit(0)

    def _count(self) -> None:
        keys = self.ledger.with_suffix(".keys")
        for key in keys.read_text().split() if keys.exists() else ():
            self.noted[self.ledger.name, key] += 1
        keys.unlink(missing_ok=True)

    def _kill_audit(self, child: int) -> bool:
        self.midst += bool(self._in_hand())
        with_all = self.killed % 2 == 1
        (os.killpg if with_all else os.kill)(child, signal.SIGKILL)
        self.killed += 1
        for place in Path("/dev/shm").glob(f"*loky-{child}-*") if with_all else ():
            place.unlink()  # nobody is left who could
        return True

    def _kill_worker(self) -> bool:
        """Kills one, if none has ended its trial in the meantime; others may follow in the same audit."""
        found = self._in_hand()
        if not found:
            return False
        before = self._rows()
        os.kill(self.draw.choice(found), signal.SIGKILL)
        self.killed += 1
        self.midst += 1
        end = time.monotonic() + 600
        while self._rows() == before and time.monotonic() < end:  # nobody kills one trial thrice
            time.sleep(PAUSE)
        return False

    def _rows(self) -> int:
        with Ledger(self.ledger) as ledger:
            return len(ledger.done())

    def _marks(self) -> list[Path]:
        return list((self.folder / "marks").iterdir())

    def _in_hand(self) -> list[int]:
        """Processes that run a target."""
        return [int(mark.name) for mark in self._marks() if Path(f"/proc/{mark.name}").exists()]


def exports(ledger: Path) -> dict[str, str]:
    """What is written of a ledger for people and programs."""
    audit = read_audit(ledger)
    return {name: find("formats", name)(audit) for name in FORMATS}


def undisturbed(folder: Path, plan: Plan, grid: Grid) -> dict[str, str]:
    with Ledger(folder / "undisturbed.db", write=True) as ledger:
        run_audit(plan, grid, ledger, lambda task, done: None, workers=1)
    return exports(folder / "undisturbed.db")


@click.command()
@click.option("--kills", default=30, show_default=True)
@click.option("--what", type=click.Choice(["audit", "worker"]), default="audit", show_default=True)
@click.option("--executor", type=click.Choice(get_args(Executor)), default="local", show_default=True)
@click.option("--workers", default=2, show_default=True)
@click.option("--seeds", default=3, show_default=True, help="Repetitions of each audit: three trials each.")
@click.option("--epochs", default=20_000, show_default=True, help="Of the target: how long a trial takes.")
@click.option("--longest", default=1.0, show_default=True, help="Seconds to wait in a trial at most.")
def main(kills: int, what: str, executor: Executor, workers: int, seeds: int, epochs: int, longest: float) -> None:
    """Kill, resume, compare, and print what was found."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "marks").mkdir()
        (folder / "marked_target.py").write_text(MARKED)
        sys.path.insert(0, name)
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [name, os.environ.get("PYTHONPATH")]))
        plan = plan_of(seeds, epochs)
        killing = Killing(folder, plan, workers, executor, longest)
        expected = undisturbed(folder, plan, killing.grid)
        (killing.audits if what == "audit" else killing.workers_alone)(kills)
        found = [exports(ledger) for ledger in killing.whole]
    same = {form: sum(one[form] == expected[form] for one in found) for form in FORMATS}
    again = sum(times - 1 for times in killing.noted.values())
    click.echo(f"{killing.killed} kills ({executor}, {workers} workers, {what}), {killing.midst} in a trial")
    click.echo(f"{len(found)} whole ledgers, {again} trials noted twice")
    click.echo("exports as of an undisturbed audit: " + ", ".join(f"{form} {n}" for form, n in same.items()))
    sys.exit(0 if again == 0 and set(same.values()) == {len(found)} else 1)


if __name__ == "__main__":
    main()
