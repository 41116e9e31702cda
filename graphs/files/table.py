"""Tables with one row for each person: CSV, TSV, Parquet, or arrays of one length in an npz archive."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, quoted
from ...untrusted import check_memory, cleaned
from .data_file import Shape, arrays_of, first_line

MOST_COLUMNS = 5000
CELL_MEMORY = 120
"""Bytes of memory that a cell of text takes, while it is read too."""
PARQUET_MEMORY = 20
"""Bytes of memory that a byte of a Parquet file takes: it is packed."""
KINDS = {"b", "i", "u", "f", "U"}
MOST_WHOLE = 2**53
SUFFIXES = (".csv", ".tsv", ".parquet", ".npz")


@dataclass(frozen=True)
class Table:
    """Columns by name.

    Attributes:
        source: the file, for errors.
        columns: each [n], of numbers or of text.
    """

    source: str
    columns: dict[str, NDArray[Any]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def called(self, name: str) -> str | None:
        """How a column is written here, whether letters are large or small; None where there is none.

        Raises:
            InputError: it may be one or another.
        """
        if name in self.columns:
            return name
        alike = [own for own in self.columns if own.lower() == name.lower()]
        if len(alike) > 1:
            raise InputError(f"{self.source}: the column '{name}' may be {' or '.join(alike)}: write it as it is")
        return alike[0] if alike else None

    def __contains__(self, name: str) -> bool:
        return self.called(name) is not None

    def require(self, names: Iterable[str]) -> None:
        """Raises an InputError that lists what is there, if a column is missing."""
        missing = [name for name in names if name not in self]
        if missing:
            there = ", ".join(list(self.columns)[:30]) or "none"
            raise InputError(f"{self.source}: the column '{missing[0]}' is missing: its columns are {there}")

    def numbers(self, name: str) -> NDArray[np.float64]:
        """A column of finite numbers [n], float64.

        Raises:
            InputError: it is missing, or a row holds something else (the row is named).
        """
        values = self._values(name)
        try:
            found = values.astype(np.float64)
        except ValueError:
            found = np.array([_number(value) for value in values])
        _check_told_apart(self.source, name, values, found)
        bad = ~np.isfinite(found)
        if bad.any():
            row = int(bad.argmax())
            held = quoted(str(values[row]))
            raise InputError(f"{self.source}: row {row + 1} holds {held} as '{name}': expected a finite number")
        return found

    def flags(self, name: str) -> NDArray[np.bool_]:
        """A column of yes and no [n]: 1 and 0, true and false, or yes and no.

        Raises:
            InputError: it is missing, or a row holds something else.
        """
        told = {
            "1": True,
            "true": True,
            "yes": True,
            "1.0": True,
            "0": False,
            "false": False,
            "no": False,
            "0.0": False,
        }
        values = [str(value).strip().lower() for value in self._values(name)]
        for row, value in enumerate(values):
            if value not in told:
                raise InputError(f"{self.source}: row {row + 1} holds {quoted(value)} as '{name}': expected 1 or 0")
        return np.array([told[value] for value in values], dtype=bool)

    def text(self, name: str, empty: bool = False) -> NDArray[np.str_]:
        """A column as text [n]; whole numbers without a decimal point.

        Args:
            name: of the column.
            empty: whether entries may be empty.

        Raises:
            InputError: it is missing, or a row is empty that must not be.
        """
        values = self._values(name)
        if values.dtype.kind == "f" and np.isfinite(values).all() and (values == np.round(values)).all():
            values = values.astype(np.int64)
        found = np.array([str(cleaned(str(value))).strip() for value in values], dtype=np.str_)
        lacking = found == ""
        if lacking.any() and not empty:
            raise InputError(f"{self.source}: row {int(lacking.argmax()) + 1} has no '{name}'")
        return found

    def starting(self, prefix: str) -> list[str]:
        """Names of the columns that start so and go on with a number: p0, p1, ... in their order.

        Raises:
            InputError: numbers are left out.
        """
        numbered = {int(n.lower().removeprefix(prefix)): n for n in self.columns if _counts(n.lower(), prefix)}
        missing = [k for k in range(len(numbered)) if k not in numbered]
        if missing:
            raise InputError(
                f"{self.source}: the column '{prefix}{missing[0]}' is missing: give {prefix}0, {prefix}1, ..."
            )
        return [numbered[k] for k in range(len(numbered))]

    def _values(self, name: str) -> NDArray[Any]:
        self.require([name])
        return self.columns[str(self.called(name))]


def read_table(path: str | Path) -> Table:
    """A table from a file: ``.csv`` (commas, semicolons or tabs), ``.tsv``, ``.parquet`` or ``.npz``.

    In an archive an array of two dimensions called ``posteriors`` (or ``p``) stands for the columns p0, p1, ...

    Raises:
        InputError: it cannot be read, is too large, empty, or no such table.
    """
    file = Path(path)
    reader = {".csv": _read_text, ".tsv": _read_text, ".parquet": _read_parquet, ".npz": _read_arrays}.get(
        file.suffix.lower()
    )
    if reader is None:
        raise InputError(f"{file}: a table ends in {', '.join(SUFFIXES)}, not in '{file.suffix}'")
    try:
        columns = reader(file)
    except OSError as error:
        raise InputError(f"cannot read the table {file}: {error.strerror or error}") from error
    if not columns or not len(next(iter(columns.values()))):
        raise InputError(f"{file}: the table has no rows")
    return Table(str(file), columns)


def _read_text(path: Path) -> dict[str, NDArray[Any]]:
    import pandas as pd

    with path.open("rb") as stream:
        head = stream.readline(1 << 20).decode("utf-8-sig", errors="replace")
        rows = 1 + sum(block.count(b"\n") for block in iter(lambda: stream.read(1 << 20), b""))
    separator = "\t" if path.suffix.lower() == ".tsv" else max(",;\t", key=head.count)
    if not head.strip():
        raise InputError(f"{path}: the table has no row of column names")
    named = next(csv.reader([head], delimiter=separator, skipinitialspace=True))
    twice = next((name for name in named if name and named.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{path}: several columns are called '{twice}': give each a name of its own")
    width = head.count(separator) + 1
    if width > MOST_COLUMNS:
        raise InputError(f"{path}: {width} columns, and at most {MOST_COLUMNS} are read")
    check_memory(f"the table {path}", CELL_MEMORY * rows * width + 4 * path.stat().st_size)
    try:
        frame = pd.read_csv(
            path, sep=separator, dtype=str, keep_default_na=False, encoding="utf-8-sig", skipinitialspace=True
        )
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not text in UTF-8: expected rows of columns") from error
    except (ValueError, pd.errors.ParserError) as error:
        raise InputError(f"{path}: no table that can be read: {first_line(error)}") from error
    return _named(path, frame.columns, [frame[name].to_numpy(dtype=object) for name in frame.columns])


def _read_parquet(path: Path) -> dict[str, NDArray[Any]]:
    import pandas as pd

    check_memory(f"the table {path}", PARQUET_MEMORY * path.stat().st_size)
    try:
        from pyarrow.parquet import read_metadata

        told = read_metadata(path)
        if told.num_columns > MOST_COLUMNS:
            raise InputError(f"{path}: {told.num_columns} columns, and at most {MOST_COLUMNS} are read")
        check_memory(f"the table {path}", CELL_MEMORY * told.num_rows * told.num_columns)
        frame = pd.read_parquet(path)
    except ImportError as error:
        raise InputError(f"{path}: Parquet needs pyarrow: pip install pyarrow, or write a CSV file") from error
    except (InputError, OSError):
        raise
    except Exception as error:  # the library has errors of its own for damaged files
        raise InputError(f"{path}: no Parquet file that can be read: {first_line(error)}") from error
    return _named(path, frame.columns, [frame[name].to_numpy() for name in frame.columns])


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    def check(name: str, shape: Shape, dtype: np.dtype[Any]) -> None:
        if dtype.kind not in KINDS or not 1 <= len(shape) <= 2 or (len(shape) == 2 and shape[1] > MOST_COLUMNS):
            raise InputError(
                f"{path}: array '{name}' {dtype} {tuple(shape)}: expected numbers or text [n] or [n, c]"
            )

    columns: dict[str, NDArray[Any]] = {}
    for name, array in arrays_of(path, _arrays_in(path), check).items():
        if array.ndim == 1:
            columns[name] = array
        else:
            prefix = "p" if name in ("posteriors", "p") else name
            columns |= {f"{prefix}{k}": array[:, k] for k in range(array.shape[1])}
    if len({len(column) for column in columns.values()}) > 1:
        sizes = ", ".join(f"{name} {len(column)}" for name, column in list(columns.items())[:10])
        raise InputError(f"{path}: arrays must have one row for each person, and have {sizes}")
    return columns


def _arrays_in(path: Path) -> list[str]:
    """Names of an archive's arrays."""
    import zipfile

    from .data_file import damage_refused

    with damage_refused(path), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    if len(names) > MOST_COLUMNS:
        raise InputError(f"{path}: {len(names)} arrays, and at most {MOST_COLUMNS} are read")
    return [name.removesuffix(".npy") for name in names if name.endswith(".npy")]


def _named(path: Path, names: Iterable[Any], columns: Sequence[NDArray[Any]]) -> dict[str, NDArray[Any]]:
    called = [str(cleaned(str(name))).strip() for name in names]
    twice = [name for name in called if called.count(name) > 1]
    if twice:
        raise InputError(f"{path}: two columns are called {quoted(twice[0])}")
    return dict(zip(called, columns, strict=True))


def _counts(name: str, prefix: str) -> bool:
    return name.startswith(prefix) and name.removeprefix(prefix).isascii() and name.removeprefix(prefix).isdigit()


def _check_told_apart(source: str, name: str, values: NDArray[Any], found: NDArray[np.float64]) -> None:
    """Refuses whole numbers with more digits than float64 holds: scores that differ would be equal."""
    large = np.flatnonzero(np.isfinite(found) & (np.abs(found) >= MOST_WHOLE))
    for row in large.tolist():
        written = str(values[row]).strip().lstrip("+-")
        if written.isdecimal() and int(written) != int(abs(found[row])):
            raise InputError(
                f"{source}: row {row + 1} holds {quoted(written)} as '{name}': whole numbers above 2^53 cannot be "
                "told apart: give ranks, or divide them"
            )


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")
