"""Files that appear whole or not at all."""

from contextlib import suppress
from pathlib import Path

from ..targets.errors import InputError


def check_writable(path: Path) -> None:
    """Refuses before hours of work what would fail after them."""
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
