"""Progress of long work on the error stream: bars on a terminal, a line every half minute anywhere else."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console

EVERY = 30.0
"""Seconds between two lines where there is no terminal: a build's log should show life, and stay short."""

SHOWN = 2
"""Trials in such a line, those that moved last."""

StageReport = Callable[[str, str, int, int], None]
"""Called with a trial's title, the name of a stage, steps done and steps in all.

When a trial has ended it is called with an empty title, the title of the trial that ended, and how many trials have
ended of how many.
"""


@contextmanager
def staged() -> Iterator[StageReport]:
    """Yields ``report(trial, stage, done, total)`` for trials that may run side by side."""
    screen = _screen()
    with _bars(screen) if screen.is_terminal else _stage_lines() as report:
        yield report


@contextmanager
def counted(what: str, total: int) -> Iterator[Callable[[str], None]]:
    """Yields ``step(title)``, to be called when one more of ``total`` is done."""
    screen = _screen()
    with _bar(screen, what, total) if screen.is_terminal else _count_lines(what, total) as step:
        yield step


def _screen() -> "Console":
    from rich.console import Console

    return Console(stderr=True)


@contextmanager
def _bars(screen: "Console") -> Iterator[StageReport]:
    """One bar for each trial that runs, and one for all trials, each with the time left."""
    from rich import progress

    columns = (
        progress.TextColumn("{task.fields[trial]}"),
        progress.TextColumn("{task.description}"),
        progress.BarColumn(bar_width=20),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn("left:"),
        progress.TimeRemainingColumn(),
    )
    tasks: dict[str, progress.TaskID] = {}
    stages: dict[str, str] = {}
    with progress.Progress(*columns, console=screen, transient=True) as bars:

        def report(trial: str, stage: str, done: int, total: int) -> None:
            if not trial:
                if stage in tasks:
                    bars.remove_task(tasks.pop(stage))
                trial, stage = "all trials", "done"
            if trial not in tasks:
                tasks[trial] = bars.add_task(stage, total=total, trial=trial)
            elif stages[trial] != stage:  # the time left is that of the stage
                bars.reset(tasks[trial], total=total)
            stages[trial] = stage
            bars.update(tasks[trial], description=stage, completed=done, total=total)

        yield report


@contextmanager
def _bar(screen: "Console", what: str, total: int) -> Iterator[Callable[[str], None]]:
    """One bar with the time left."""
    from rich import progress

    columns = (
        progress.TextColumn(what),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn("left:"),
        progress.TimeRemainingColumn(),
        progress.TextColumn("{task.fields[last]}"),
    )
    with progress.Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task(what, total=total, last="")
        yield lambda title: bar.update(task, advance=1, last=title)


@contextmanager
def _stage_lines() -> Iterator[StageReport]:
    start = time.monotonic()
    running: dict[str, str] = {}
    began: dict[tuple[str, str], float] = {}
    ended: tuple[int, int, float] | None = None

    def report(trial: str, stage: str, done: int, total: int) -> None:
        nonlocal ended
        now = time.monotonic()
        if not trial:
            running.pop(stage, None)
            ended = done, total, now - start
            return
        running.pop(trial, None)
        steps = _done(done, total, "steps", now - began.setdefault((trial, stage), now))
        running[trial] = f"{trial}: {stage}, {steps}"

    def line(seconds: float) -> str:
        now = "; ".join(list(running.values())[-SHOWN:])
        if ended is not None:
            done, total, then = ended
            now = now or ("putting the results together" if done == total else "starting the next")
            now = f"{_done(done, total, 'trials', then, seconds - then)}; now {now}"
        now = now or "starting"
        return f"after {duration(seconds)}: {now}"

    with _lines(line):
        yield report


def _done(done: int, total: int, what: str, seconds: float, since: float = 0.0) -> str:
    """What is done and left of some steps, and how long the rest may take.

    Args:
        done: steps.
        total: steps.
        what: how they are called.
        seconds: that these steps took.
        since: seconds that have passed since the last of them.
    """
    left = total - done
    if not left:
        return f"all {total} {what} done"
    rest = seconds / done * left - since if done else 0.0
    eta = f" (about {duration(rest)})" if rest > 0 else ""
    return f"{done} of {total} {what} done, {left} left{eta}"


@contextmanager
def _count_lines(what: str, total: int) -> Iterator[Callable[[str], None]]:
    done: list[str] = []

    def line(seconds: float) -> str:
        text = f"after {duration(seconds)}: {_done(len(done), total, what, seconds)}"
        return f"{text}; last done: {done[-1]}" if done and done[-1] else text

    with _lines(line):
        yield done.append


@contextmanager
def _lines(line: Callable[[float], str]) -> Iterator[None]:
    """Writes ``line(seconds since the start)`` every `EVERY` seconds until the block ends."""
    ended, start = threading.Event(), time.monotonic()

    def write() -> None:
        while not ended.wait(EVERY):
            click.echo(f"gaudit: {line(time.monotonic() - start)}", err=True)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        yield
    finally:
        ended.set()
        writer.join()


def duration(seconds: float) -> str:
    """``45 s``, ``3 min 5 s`` or ``2 h 10 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
