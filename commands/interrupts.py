"""Ctrl-C and SIGTERM: a command ends in order, and says in one line what it leaves behind."""

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import click

GRACE = 5.0
"""Seconds after a signal in which others are not heard: who is told twice to stop still cleans up."""


class Terminated(KeyboardInterrupt):
    """SIGTERM: whoever started the command wants it to end, as with Ctrl-C."""


STOPS: dict[int, type[KeyboardInterrupt]] = {signal.SIGINT: KeyboardInterrupt, signal.SIGTERM: Terminated}


@contextmanager
def interruptible() -> Iterator[None]:
    """Exit code 130 for Ctrl-C and 143 for SIGTERM, and one line; what is within ends its workers and files first.

    A command that knows what it leaves behind raises the interrupt again with that as its text.
    """
    handlers = _heard()
    try:
        yield
    except KeyboardInterrupt as stop:
        what, code = ("terminated", 143) if isinstance(stop, Terminated) else ("interrupted", 130)
        click.echo(f"gaudit: {what}: {stop}" if str(stop) else f"gaudit: {what}", err=True)
        sys.exit(code)
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _heard() -> dict[int, Any]:
    """Both signals raise from now on; returns what was done about them before."""
    if threading.current_thread() is not threading.main_thread():  # signals are heard there alone
        return {}
    last = -GRACE

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal last
        before, last = last, time.monotonic()
        if last - before >= GRACE:
            raise STOPS[number]

    heard = [number for number in STOPS if signal.getsignal(number) != signal.SIG_IGN]  # nohup and the like
    return {number: signal.signal(number, stop) for number in heard}
