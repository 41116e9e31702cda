"""Functions of the user's own by name, so that settings can hold them.

A function of a module goes by ``module:function``. One of a notebook or of a running script, which no name leads
to, is kept for this process under a name made of its code.
"""

import hashlib
import inspect
import sys
from collections.abc import Callable
from typing import Any

from ...errors import InputError
from ...registry import own_function

KEPT: dict[str, Callable[..., Any]] = {}
"""Functions that were handed over in this process, by name."""
HERE = "here:"


def name_of(function: Callable[..., Any]) -> str:
    """The name by which `named` finds a function in this process."""
    module, called = getattr(function, "__module__", None), getattr(function, "__qualname__", "function")
    if module not in (None, "__main__") and getattr(sys.modules.get(str(module)), called, None) is function:
        return f"{module}:{called}"
    name = f"{HERE}{called.rpartition('.')[2]}-{hashlib.sha256(_code(function)).hexdigest()[:12]}"
    KEPT[name] = function
    return name


def named(name: str) -> Callable[..., Any]:
    """The function that goes by a name.

    Raises:
        InputError: there is none.
    """
    if name.startswith(HERE):
        if name not in KEPT:
            raise InputError(f"the function '{name.removeprefix(HERE)}' belonged to another process: run it there")
        return KEPT[name]
    return own_function(name)


def _code(function: Callable[..., Any]) -> bytes:
    """What tells it from others: its source, or what it was compiled to where there is none."""
    try:
        return inspect.getsource(function).encode()
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        return repr(function).encode() if code is None else code.co_code + repr(code.co_consts).encode()
