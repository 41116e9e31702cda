"""What all commands share: clear errors, and results on a terminal."""

import errno
import os
import re
import sys
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError, nearest, one_line
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


TRACEBACK = "GAUDIT_TRACEBACK"
"""The environment variable that brings Python's own account of an error that nobody foresaw."""
UNFORESEEN = 70
"""Exit code of such an error (EX_SOFTWARE of sysexits.h): no finding, and no fault of who gave the command."""


verbose_option = click.option(
    "--verbose", "-v", is_flag=True, help="Print every table and remark, not the answer alone."
)
trust_code_option = click.option(
    "--trust-code",
    is_flag=True,
    help="Import a module:Class that the ledger names and does not describe: this runs code of whoever wrote it.",
)


def several(*options: Callable[..., Any]) -> Callable[..., Any]:
    """Options that several commands have, as one decorator."""

    def apply(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return apply


windows_options = several(
    click.option(
        "--windows", type=click.IntRange(1), metavar="T", help="Publish as many windows of the times of edges."
    ),
    click.option(
        "--windows-by",
        type=click.Choice(["time", "count"]),
        help="Windows of equal length (time, the default), or with equally many events (count).",
    ),
)
"""Of networks that are published by windows of time: ``windows`` and ``windows_by``."""
auxiliary_options = several(
    click.option(
        "--auxiliary",
        type=click.Path(),
        metavar="FILE",
        help="A second network of some of the same people, held with names by attacks that match.",
    ),
    click.option(
        "--auxiliary-same",
        type=click.Path(),
        metavar="FILE",
        help="Who is who there: a table with the columns original and auxiliary. Without it names are the same.",
    ),
)
"""Of networks that are published: ``auxiliary`` and ``auxiliary_same``."""
anyway_option = click.option(
    "--anyway", is_flag=True, help="Run trials too that will not fit into the memory there is, as estimated."
)
running_options = several(
    click.option("--workers", type=click.IntRange(1), help="Trials at a time. Default: one per core."),
    click.option(
        "--executor",
        type=click.Choice(["local", "ray"]),
        default="local",
        show_default=True,
        help="Where trials run: processes here, or a Ray cluster (pip install 'graph-gaudit[ray]').",
    ),
    click.option("--retry", is_flag=True, help="Run trials again that failed before."),
    click.option(
        "--timeout",
        type=click.FloatRange(0, min_open=True),
        metavar="SECONDS",
        help="Give a trial up that takes longer; it is noted as failed. Default: trials may take as long as they "
        "do.",
    ),
)
"""How trials are run: ``workers``, ``executor``, ``retry`` and ``timeout``, as `run_audit` has them."""


def _usage(error: click.UsageError) -> str:
    """What is wrong with a command as it was written, in a line, with the nearest right word and where to look."""
    said = one_line(error.format_message()).removesuffix(".")
    said = said[:1].lower() + said[1:]
    found = re.search(r"'([^']*)' is not one of (.*)", said)
    near = nearest(found[1], re.findall("'([^']*)'", found[2])) if found else []
    guess = f": did you mean '{near[0]}'?" if near else "" if said.endswith("?") else "."
    path = "gaudit" if error.ctx is None else error.ctx.command_path
    return f"{said}{guess} '{path} --help' tells what there is"


class GuardedGroup(click.Group):
    """Commands that end with one line whatever happens in them."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            click.echo(f"gaudit: error: {_usage(error)}", err=True)
            sys.exit(2)
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

    Text is shown as it is: names from files are no markup. Where there is no terminal tables have no lines.
    """
    from rich.console import Console

    screen = Console(markup=False)
    if screen.is_terminal:
        return screen
    from ..reports.console.plain_console import PlainConsole

    return PlainConsole(width=140, markup=False)
