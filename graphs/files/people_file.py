"""Tables of people: a row for each node, with an id and attributes."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...errors import InputError, quoted
from ...output_files import write
from ..tables.column import ANY, Column, Ints
from ..tables.levels import built_in, column_of, places
from ..tables.node_table import UNTOLD, NodeTable
from .people_rows import read_rows

SUFFIX = ".csv"


@dataclass(frozen=True)
class PeopleFile:
    """Where attributes of people are, and which of them are published.

    Attributes:
        path: of a table, CSV or Parquet, whose first row names the columns and whose first column has the ids of
            nodes.
        attributes: columns by which people are known.
        sensitive: columns that are told as they are.
        hierarchies: how columns are told more coarsely, by name: a rule (`levels.built_in`) or a file.
    """

    path: Path
    attributes: tuple[str, ...]
    sensitive: tuple[str, ...] = ()
    hierarchies: Mapping[str, str] | None = None


def read_people(asked: PeopleFile, ids: Sequence[str]) -> tuple[NodeTable, tuple[str, ...]]:
    """The attributes of nodes with some ids, and the names of columns that are not used.

    Raises:
        InputError: the file cannot be read, lacks a column or a person or has one that is no node, or a hierarchy
            does not fit; one line that names the file.
    """
    path, (header, rows) = asked.path, read_rows(asked.path)
    _check_columns(asked, header)
    own = _by_id(rows, ids, path)
    hierarchies = asked.hierarchies or {}
    try:
        columns = [_column(name, header, own, hierarchies.get(name)) for name in asked.attributes]
        secrets = [_sensitive(name, header, own) for name in asked.sensitive]
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    values = (
        np.column_stack([place for _, place in columns]) if columns else np.empty((len(ids), 0), dtype=np.int64)
    )
    told = tuple(column for column, _ in columns)
    sensitive = np.column_stack([place for _, place in secrets]) if secrets else None
    used = {header[0], *asked.attributes, *asked.sensitive}
    return NodeTable.of_values(told, values, tuple(column for column, _ in secrets), sensitive), tuple(
        name for name in header if name not in used
    )


def write_people(path: Path, ids: Sequence[str], table: NodeTable) -> None:
    """Writes what is told of people, a row for each, in the order of the ids.

    Raises:
        InputError: it cannot be written, or its name does not end in ``.csv``.
    """
    check_people_name(path)
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
    lines.writerow(["id", *(column.name for column in (*table.columns, *table.secrets))])
    for node, name in enumerate(ids):
        cells = [column.text(runs) for column, runs in zip(table.columns, table.runs[node].tolist(), strict=True)]
        own = () if table.sensitive is None else table.sensitive[node].tolist()
        cells += [
            secret.values[place] if place >= 0 else ANY for secret, place in zip(table.secrets, own, strict=True)
        ]
        lines.writerow([name, *cells])
    write(path, text.getvalue())


def check_people_name(path: Path) -> None:
    """Refuses a name that is none of a table.

    Raises:
        InputError: it does not end in ``.csv``.
    """
    if path.suffix.lower() != SUFFIX:
        raise InputError(f"{path}: attributes are written as a table: choose a name that ends in {SUFFIX}")


def _check_columns(asked: PeopleFile, header: Sequence[str]) -> None:
    """Refuses columns that are not there, there twice, or named for two uses."""
    path, named = asked.path, [*asked.attributes, *asked.sensitive]
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{path}: two columns are called {quoted(twice)}: rename one")
    for name in [*named, *(asked.hierarchies or {})]:
        if name not in header:
            raise InputError(f"{path}: no column is called {quoted(name)}: it has {', '.join(map(quoted, header))}")
        if name == header[0]:
            raise InputError(f"{path}: the first column, {quoted(name)}, has the ids of nodes: name another column")
    both = next((name for name in asked.sensitive if name in asked.attributes), None)
    if both is not None:
        raise InputError(
            f"{quoted(both)} is named as an attribute and as the sensitive one: what people are known "
            "by cannot be what is protected, leave it out of one of them"
        )
    again = next((name for name in named if named.count(name) > 1), None)
    if again is not None:
        raise InputError(f"the attribute {quoted(again)} is named twice: name it once")
    spare = next((name for name in asked.hierarchies or {} if name not in asked.attributes), None)
    if spare is not None:
        raise InputError(
            f"there is a hierarchy of {quoted(spare)}, which is no published attribute: name it as one"
        )


def _by_id(rows: Sequence[Sequence[str]], ids: Sequence[str], path: Path) -> list[Sequence[str]]:
    """The row of each node."""
    found: dict[str, Sequence[str]] = {}
    for row in rows:
        if found.setdefault(row[0], row) is not row:
            raise InputError(f"{path}: two rows have the id {quoted(row[0])}: leave one out")
    missing = [name for name in ids if name not in found]
    if missing:
        raise InputError(
            f"{path}: no row for {len(missing):,} of {len(ids):,} nodes, such as {quoted(missing[0])}: add one each"
        )
    if len(found) > len(ids):
        known = set(ids)
        other = next(name for name in found if name not in known)
        raise InputError(
            f"{path}: {len(found) - len(ids):,} people are no nodes of the network, such as {quoted(other)}: leave "
            "them out, or list them in the network's file, '#@node ID' in an edge list"
        )
    return [found[name] for name in ids]


def _column(
    name: str, header: Sequence[str], rows: Sequence[Sequence[str]], how: str | None
) -> tuple[Column, Ints]:
    """A column, and the place of each person's value in it."""
    cells = [row[header.index(name)] for row in rows]
    tree: Mapping[str, Sequence[str]] | None = None
    if how is not None:
        path = Path(how)
        tree = read_hierarchy(path) if path.suffix.lower() == SUFFIX else built_in(how, name, cells)
    column = column_of(name, cells, tree)
    return column, places(column, cells)


def _sensitive(name: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[Column, Ints]:
    """A sensitive column, and the place of each person's value in it; `UNTOLD` where the cell is empty."""
    cells = [row[header.index(name)] for row in rows]
    known = [cell for cell in cells if cell]
    column = column_of(name, known)
    found = np.full(len(cells), UNTOLD, dtype=np.int64)
    found[[place for place, cell in enumerate(cells) if cell]] = places(column, known)
    return column, found


def read_hierarchy(path: Path) -> dict[str, tuple[str, ...]]:
    """What is told of each value at each level: rows of a value and what is told of it, from fine to coarse.

    There is no row of names, as ARX writes hierarchies.

    Raises:
        InputError: it cannot be read, or has a value twice.
    """
    found: dict[str, tuple[str, ...]] = {}
    for row in read_rows(path, header=False)[1]:
        if row[0] in found:
            raise InputError(f"{path}: two rows have the value {quoted(row[0])}: leave one out")
        found[row[0]] = tuple(row[1:])
    return found
