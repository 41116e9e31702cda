"""What tells the content of files: a trial is run anew where one that it reads has changed."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from ...errors import InputError


def digests(files: Iterable[str]) -> dict[str, str]:
    """The SHA-256 of each file, by path.

    Raises:
        InputError: one cannot be read.
    """
    found = {}
    for file in files:
        try:
            with Path(file).open("rb") as stream:
                found[file] = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise InputError(f"cannot read {file}: {error.strerror or error}") from error
    return found
