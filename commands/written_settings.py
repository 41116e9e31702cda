"""Settings as they are written on a command line."""

import json
from collections.abc import Iterable
from typing import Any

from ..errors import InputError
from ..registry import is_installed


def read_value(text: str) -> Any:
    """Numbers, booleans and lists as such, anything else as text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def read_pairs(values: Iterable[str], option: str = "--set") -> dict[str, Any]:
    """``a=1 b.c=x`` as nested settings; of two values of one setting the later counts.

    Raises:
        InputError: something that is no pair, or a setting that is given a value and settings of its own.
    """
    settings: dict[str, Any] = {}
    for item in values:
        key, equals, text = item.partition("=")
        if not equals:
            raise InputError(f"{option} '{item}': expected KEY=VALUE, for example hops=0")
        into = settings
        *path, last = key.split(".")
        for part in path:
            into = into.setdefault(part, {})
            if not isinstance(into, dict):
                raise InputError(f"{option} '{item}': '{part}' was given a value of its own before")
        into[last] = read_value(text)
    return settings


def _is_module(name: str) -> bool:
    """Whether what stands before a colon names a module, and no defense that is installed."""
    return all(part.isidentifier() for part in name.split(".")) and not is_installed("defenses", name)


def read_defense(text: str) -> tuple[str, dict[str, Any]]:
    """The name of a defense and its settings, from ``name`` or ``name:key=value,key=value``.

    A name may be ``module:Class`` of the user's own, so that settings come after a second colon.

    Raises:
        InputError: something after the colon that is no setting, or a setting that stands there twice.
    """
    name, colon, rest = text.partition(":")
    if _is_module(name) and rest.partition(":")[0].isidentifier():
        attribute, colon, rest = rest.partition(":")
        name = f"{name}:{attribute}"
    if colon and not rest:
        raise InputError(f"--defense '{text}': expected settings after the colon, for example k-degree:k=10")
    pairs = rest.split(",") if rest else []
    keys = [pair.partition("=")[0] for pair in pairs]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise InputError(f"--defense '{text}': '{twice}' is given twice: leave one of them")
    return name, read_pairs(pairs, "--defense")
