"""Files that appear whole or not at all, and never in place of one that is read."""

import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import combinations
from pathlib import Path

from .errors import InputError

PRIVATE, USUAL = 0o600, 0o666
"""Modes of files: of what tells of single persons, and of all else, where the umask has its say."""


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
    if written_through(path):
        if not os.access(path, os.W_OK):
            raise InputError(f"cannot write {path}: permission denied")
        return
    folder = _target(path).parent
    if not folder.is_dir():
        raise InputError(f"cannot write {path}: the folder {folder} does not exist")
    trial = _beside(_target(path))
    try:
        trial.touch()
        trial.unlink()
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error


def written_through(path: Path) -> bool:
    """Whether a path is no file that another one may take the place of: a device, a pipe, an open stream."""
    with suppress(OSError):
        if not stat.S_ISREG(path.stat().st_mode):
            return True
        return os.path.abspath(path).startswith(("/dev/", "/proc/"))  # noqa: PTH100  # links are the point here
    return False


def write(path: Path, text: str, private: bool = False) -> None:
    """The file appears whole or not at all; ``private`` as in `whole`."""
    with whole(path, private) as part:
        part.write_text(text, encoding="utf-8")


@contextmanager
def whole(path: Path, private: bool = False, kind: str = "") -> Iterator[Path]:
    """A file to write to in the block, which takes the place of ``path`` when the block ends without an error.

    A link stays one, and what it leads to is replaced. Devices, pipes and open streams (``/dev/stdout``) are
    written to, and stay what they are.

    Args:
        path: where the file shall be.
        private: it tells of single persons: nobody but its owner may read it, from its first byte on. Any other
            file keeps the mode of the one that it replaces.
        kind: what it is, for the error.

    Raises:
        InputError: it cannot be written; nothing half-written is left.
    """
    called = f"the {kind} {path}" if kind else f"{path}"
    if path.is_dir():
        raise InputError(f"cannot write {called}: it is a folder, give a file name")
    through, target = written_through(path), _target(path)
    part = _beside(Path(tempfile.gettempdir(), "output") if through else target)
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE if private or through else USUAL))
        if not (private or through) and target.exists():
            part.chmod(stat.S_IMODE(target.stat().st_mode))
        yield part
        if through:
            _pour(part, path)
        else:
            part.replace(target)
    except OSError as error:
        raise InputError(f"cannot write {called}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _target(path: Path) -> Path:
    """What a path leads to, through links."""
    return Path(os.path.realpath(path))


def _beside(path: Path) -> Path:
    """A new name in the same folder."""
    return path.with_name(f".gaudit-{secrets.token_hex(6)}.part")


def _pour(part: Path, path: Path) -> None:
    """Appends, where that has a meaning: what was written to a stream before stays there."""
    with part.open("rb") as source, os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND), "wb") as stream:
        shutil.copyfileobj(source, stream)
