"""What all commands share: clear errors, and results on a terminal."""

import sys
from collections.abc import Callable
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
