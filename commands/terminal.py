"""What all commands share: clear errors, results and progress on a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError
from .interrupts import interruptible

if TYPE_CHECKING:
    from rich.console import Console


def clear_errors(command: Callable[..., None]) -> Callable[..., None]:
    """One line and exit code 2 for what the user can mend; one line for whoever stops the command."""

    @wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        try:
            with interruptible():
                command(*args, **kwargs)
        except InputError as error:
            click.echo(f"gaudit: error: {error}", err=True)
            sys.exit(2)

    return wrapped


def console() -> "Console":
    """For results; files and pipes have no width of their own, and tables must not be squeezed there."""
    from rich.console import Console

    screen = Console()
    return screen if screen.is_terminal else Console(width=140)


@contextmanager
def progress() -> Iterator[Callable[[str, str, int, int], None]]:
    """Bars on the error stream, one per trial; yields ``report(trial, stage, done, total)``."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.fields[trial]}"),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    tasks: dict[str, Any] = {}
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:

        def report(trial: str, stage: str, done: int, total: int) -> None:
            if trial not in tasks:
                tasks[trial] = bars.add_task(stage, total=total, trial=trial)
            bars.update(tasks[trial], description=stage, completed=done, total=total)

        yield report


@contextmanager
def counted(what: str, total: int) -> Iterator[Callable[[str], None]]:
    """One bar on the error stream with the time left; yields ``step(title)``, called when one more is done."""
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn(what),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn("left:"),
        progress.TimeRemainingColumn(),
        progress.TextColumn("{task.fields[last]}"),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total, last="")
        yield lambda title: bar.update(task, advance=1, last=title)
