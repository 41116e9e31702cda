"""What all commands share: clear errors, results and progress on a terminal."""

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError, one_line

if TYPE_CHECKING:
    from rich.console import Console


def clear_errors(command: Callable[..., None]) -> Callable[..., None]:
    """One line and exit code 2 for what the user can mend."""

    @wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except InputError as error:
            click.echo(f"gaudit: error: {error}", err=True)
            sys.exit(2)

    return wrapped


TRACEBACK = "GAUDIT_TRACEBACK"
"""The environment variable that brings Python's own account of an error that nobody foresaw."""
UNFORESEEN = 70
"""Exit code of such an error (EX_SOFTWARE of sysexits.h): no finding, and no fault of who gave the command."""


trust_code_option = click.option(
    "--trust-code",
    is_flag=True,
    help="Import a module:Class that the ledger names and does not describe: this runs code of whoever wrote it.",
)


class GuardedGroup(click.Group):
    """Commands that end with one line whatever happens in them."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except InputError as error:
            click.echo(f"gaudit: error: {error}", err=True)
            sys.exit(2)
        except Exception as error:
            if os.environ.get(TRACEBACK) or (isinstance(error, OSError) and error.errno == errno.EPIPE):
                raise
            what = one_line(f"{type(error).__name__}: {error}", 300)
            click.echo(
                f"gaudit: error: this was not foreseen, and nothing can be said ({what}): set {TRACEBACK}=1 to see "
                "where it happened, and report it",
                err=True,
            )
            sys.exit(UNFORESEEN)


def console() -> "Console":
    """For results; files and pipes have no width of their own, and tables must not be squeezed there.

    Text is shown as it is: names from files are no markup.
    """
    from rich.console import Console

    screen = Console(markup=False)
    return screen if screen.is_terminal else Console(width=140, markup=False)


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
