"""An end to what would go on for ever."""

import faulthandler
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

PATIENCE = 30.0
"""Seconds that native code gets to come back to Python before its process is ended."""


class TooLongError(BaseException):
    """A trial took longer than it may. No `Exception`: what catches those in a pipeline must not keep it alive."""


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raises `TooLongError` in what runs within once it has taken so long.

    Native code that does not come back in `PATIENCE` more seconds takes its process along. Outside of a process's
    main thread, where no signal is heard, nothing is limited.
    """
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLongError(f"it took longer than the {seconds:g} seconds that a trial may (--timeout)")

    before = signal.signal(signal.SIGALRM, stop)
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123
        faulthandler.dump_traceback_later(seconds + PATIENCE, exit=True, file=nowhere)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
        finally:
            try:
                signal.setitimer(signal.ITIMER_REAL, 0)
            finally:  # it may ring at this very moment
                faulthandler.cancel_dump_traceback_later()
                signal.signal(signal.SIGALRM, before)
