"""Files from outside: how much reading one may take, and text and tables that are harmless once they are read."""

import json
import math
import os
import tomllib
from pathlib import Path
from typing import Any, NoReturn

from .errors import InputError, visible

MEMORY = "GAUDIT_MEMORY"
"""The environment variable that holds how many GiB of memory reading one file may take."""
USUAL_MEMORY = 1.5
"""GiB; with what the program itself takes it stays below 2."""
MOST_DOTS = 200
"""In a line of TOML: the time that nested keys take grows with the square of their depth."""
JSON_MEMORY = 30
"""Bytes of memory that a byte of JSON takes at most, as it does in ``[[],[],[]]``."""


def allowed_memory() -> float:
    """Bytes that reading one file may take.

    Raises:
        InputError: the environment asks for something else than a number of GiB.
    """
    asked = os.environ.get(MEMORY, "")
    try:
        gib = float(asked or USUAL_MEMORY)
    except ValueError:
        gib = math.nan
    if not 0 < gib < math.inf:
        raise InputError(f"{MEMORY} is {asked!r}: expected how many GiB reading a file may take, such as 8")
    return gib * 2**30


def check_memory(what: str, needed: float) -> None:
    """Refuses, before it is done, what would take more memory than is allowed.

    Args:
        what: the file and what is large in it, as the subject of a sentence.
        needed: bytes, estimated from above.

    Raises:
        InputError: it would.
    """
    allowed = allowed_memory()
    if needed > allowed:
        raise InputError(
            f"{what}: too large: reading it may take {needed / 2**30:.1f} GiB of memory, and {allowed / 2**30:g} "
            f"are allowed: set {MEMORY}={math.ceil(needed / 2**30)} to read it all the same"
        )


def read_text(path: Path, kind: str, most: int) -> str:
    """The text of a small file.

    Args:
        path: of the file.
        kind: what it is: ``plan``, ``policy``, ...
        most: bytes that it may have.

    Raises:
        InputError: it cannot be read, is too large, or no text.
    """
    try:
        with path.open("rb") as stream:
            raw = stream.read(most + 1)
        if len(raw) > most:
            raise InputError(f"{kind} {path}: larger than {most >> 20} MiB")
        return raw.decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InputError(f"cannot read the {kind} {path}: not text in UTF-8") from error
    except OSError as error:
        raise InputError(f"cannot read the {kind} {path}: {error.strerror or error}") from error


def toml_of(text: str, what: str) -> dict[str, Any]:
    """The tables of a TOML text, with `cleaned` names and values.

    Raises:
        InputError: it is none.
    """
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > MOST_DOTS:
            raise InputError(f"{what} is not TOML that can be read: line {number} has more than {MOST_DOTS} dots")
    try:
        content: dict[str, Any] = cleaned(tomllib.loads(text))
    except RecursionError as error:
        raise InputError(f"{what} is not TOML that can be read: its lists are nested too deep") from error
    except ValueError as error:  # of TOML, or of a number with thousands of digits
        raise InputError(f"{what} is not TOML: {error}") from error
    return content


def json_of(text: str | bytes) -> Any:
    """The values of a JSON text, with `cleaned` names and values and finite numbers alone.

    Raises:
        ValueError: it is none, or nested too deep.
    """
    try:
        return cleaned(json.loads(text, parse_constant=_refused, parse_float=_finite))
    except RecursionError as error:
        raise ValueError("its lists are nested too deep") from error


def _refused(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError("a number is too large")
    return number


def cleaned(value: Any) -> Any:
    """Plain values with `visible` text alone: it goes to terminals, pages and other programs.

    Raises:
        RecursionError: nested too deep.
    """
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, list):
        return [cleaned(part) for part in value]
    if isinstance(value, dict):
        return {visible(name): cleaned(part) for name, part in value.items()}
    return value
