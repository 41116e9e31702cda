"""Processes that import nothing from the current folder on their own account.

Workers start as ``python -m ...``, which puts the current folder first on the path: somebody's file ``joblib.py``
would run there. What this process may import, the current folder too where a plan names code in it, workers are
told later.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

VARIABLE = "PYTHONSAFEPATH"
OURS = "gaudit"
"""Any text will do for Python; this one says that it was not the user who wrote it."""


@contextmanager
def safe_path() -> Iterator[None]:
    """Python started within does not look into the current folder, nor beside a script."""
    given = os.environ.get(VARIABLE)
    if not given:
        os.environ[VARIABLE] = OURS
    try:
        yield
    finally:
        usual_path()
        if given is not None:
            os.environ[VARIABLE] = given


def usual_path() -> None:
    """In a worker that has started: what it starts itself, say a script of the user's, looks where Python does."""
    if os.environ.get(VARIABLE) == OURS:
        del os.environ[VARIABLE]
