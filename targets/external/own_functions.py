"""Functions of the user's own by name, so that settings can hold them.

A function of a module goes by ``module:function``. One of a notebook or of a running script, which no name leads
to, is kept for this process under a name made of its code.
"""

import hashlib
import sys
from collections.abc import Callable
from functools import partial
from types import CodeType
from typing import Any

from ...errors import InputError
from ...registry import own_function

KEPT: dict[str, Callable[..., Any]] = {}
"""Functions that were handed over in this process, by name."""
HERE = "here:"
PLAIN = (int, float, str, bytes, bool, tuple, type(None))


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
    """What tells it from others: what it was compiled to, where, and the plain values that it closes over.

    The source alone would not do: two lambdas may stand on one line.
    """
    if isinstance(function, partial):
        return _code(function.func) + repr((function.args, function.keywords)).encode()
    code = getattr(function, "__code__", None)
    if code is None:  # an object that can be called
        held = getattr(function, "__dict__", {})
        return f"{type(function).__module__}:{type(function).__qualname__}:{held!r}".encode()
    cells = (cell.cell_contents for cell in function.__closure__ or ())  # type: ignore[attr-defined]
    closed = [repr(value) if isinstance(value, PLAIN) else type(value).__qualname__ for value in cells]
    places = list(code.co_positions())
    return bytes(code.co_code) + repr((_constants(code), code.co_names, places, closed)).encode()


def _constants(code: CodeType) -> list[object]:
    """Constants of a code, those of functions within it too: their own texts hold addresses."""
    return [(c.co_code, _constants(c), c.co_names) if isinstance(c, CodeType) else c for c in code.co_consts]
