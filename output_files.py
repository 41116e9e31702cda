"""Files that appear whole or not at all, and never in place of one that is read."""

import os
from collections.abc import Iterable
from contextlib import suppress
from itertools import combinations
from pathlib import Path

from .errors import InputError


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path | None] = ()) -> None:
    """Refuses before hours of work what would fail after them, or destroy a file.

    Args:
        outputs: files that a command will write; None for those that nobody asked for.
        inputs: files that it reads.

    Raises:
        InputError: an output cannot be written, is an input, or is another output.
    """
    written = [file for file in outputs if file is not None]
    check_apart(written, inputs)
    for file in written:
        _check_writable(file)


def check_apart(outputs: Iterable[Path], inputs: Iterable[Path | None] = ()) -> None:
    """Refuses outputs that are inputs, or one another, by whatever names.

    Raises:
        InputError: one is.
    """
    written = list(outputs)
    for file in written:
        for source in inputs:
            if source is not None and _same(file, source):
                also = "" if file == source else f" as {source}"
                raise InputError(f"cannot write {file}: this command reads it{also}, give another file name")
    for one, other in combinations(written, 2):
        if _same(one, other):
            also = "twice" if one == other else f"and {other}, which are one file"
            raise InputError(f"cannot write {one} {also}: give each output a file name of its own")


def _same(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file: through links too, and where it does not exist yet."""
    try:
        return one.samefile(other)
    except OSError:  # one of them does not exist
        return os.path.realpath(one) == os.path.realpath(other)


def _check_writable(path: Path) -> None:
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a folder, give a file name")
    if not path.absolute().parent.is_dir():
        raise InputError(f"cannot write {path}: the folder {path.absolute().parent} does not exist")
    trial = path.with_name(f".{path.name}.part")
    try:
        trial.touch()
        trial.unlink()
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error


def write(path: Path, text: str) -> None:
    """The file appears whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
