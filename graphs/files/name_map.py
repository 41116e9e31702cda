"""Who is who in a published network, as a table of its owner."""

import csv
import io
from collections.abc import Iterable
from pathlib import Path

from ...errors import InputError
from ...output_files import write

COLUMNS = ("original", "published")
"""A row without an ``original`` names a published node that stands for nobody."""
SUFFIX = ".csv"


def check_map_name(path: Path) -> None:
    """Refuses a name that a table could not be read from again.

    Raises:
        InputError: it does not end in ``.csv``.
    """
    if path.suffix.lower() != SUFFIX:
        raise InputError(f"{path}: who is who is written as a table: choose a name that ends in {SUFFIX}")


def write_map(path: Path, rows: Iterable[tuple[str, str]]) -> None:
    """Writes rows of a name in the original and a name in the published network; only the owner may read them.

    Raises:
        InputError: it cannot be written, or its name does not end in ``.csv``.
    """
    check_map_name(path)
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    table.writerow(COLUMNS)
    table.writerows(rows)
    write(path, text.getvalue(), private=True)
