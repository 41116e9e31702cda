"""An end to what does not come back: what draws until noise lies in a range may draw for ever elsewhere."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class TookTooLong(BaseException):
    """No Exception, so that no mechanism that is run takes it for an error of its own."""


@contextmanager
def at_most(seconds: float | None) -> Iterator[None]:
    """Lets the block take so many seconds of CPU time, which a busy machine does not change.

    Without end where nothing can interrupt: outside of the main thread, on systems without such a clock, and where
    somebody else's clock runs already. A single call into compiled code is not interrupted.

    Raises:
        TookTooLong: the time is over.
    """
    free = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if seconds is None or not free or signal.getitimer(signal.ITIMER_PROF)[0]:
        yield
        return
    before = signal.signal(signal.SIGPROF, _stop)
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _stop(*_: Any) -> None:
    raise TookTooLong
