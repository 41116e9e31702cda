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
"""Called with a trial's title, the name of a stage, steps done and steps in all."""


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
    """One bar per trial."""
    from rich import progress

    columns = (
        progress.TextColumn("{task.fields[trial]}"),
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
    )
    tasks: dict[str, progress.TaskID] = {}
    with progress.Progress(*columns, console=screen, transient=True) as bars:

        def report(trial: str, stage: str, done: int, total: int) -> None:
            if trial not in tasks:
                tasks[trial] = bars.add_task(stage, total=total, trial=trial)
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
    stages: dict[str, str] = {}

    def report(trial: str, stage: str, done: int, total: int) -> None:
        stages.pop(trial, None)
        steps = f", {done} of {total} steps done, {total - done} left" if done < total else " done"
        stages[trial] = f"{trial}: {stage}{steps}"

    def line(seconds: float) -> str:
        return f"after {duration(seconds)}: {'; '.join(list(stages.values())[-SHOWN:]) or 'starting'}"

    with _lines(line):
        yield report


@contextmanager
def _count_lines(what: str, total: int) -> Iterator[Callable[[str], None]]:
    done: list[str] = []

    def line(seconds: float) -> str:
        left = total - len(done)
        text = f"after {duration(seconds)}: {len(done)} of {total} {what} done, {left} left"
        if done and left:
            text += f" (about {duration(seconds / len(done) * left)})"
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
