"""Plans, runs, judges, remembers. It can be called: ``gaudit.audit(data, ...)`` audits a model of the user's own.

A function of that name would hide the package, or the package the function, by who was imported last.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Room(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """`api.models.audit`, which is imported now: nothing in this package needs it."""
        return import_module("..api.models", __name__).audit(*args, **kwargs)


room = sys.modules[__name__]
room.__class__ = _Room
