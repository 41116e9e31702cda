"""Networks as text, one edge a row."""

import csv
import gzip
import io
import math
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, quoted
from ...untrusted import check_memory
from ..network import Floats, Ints, Network
from ..pair_codes import distinct
from .cells import PART, Cells, ends_in, places_of, table_of
from .columns import DATE, HEADERS, MOST_UNNAMED, Column, column_of, ends_of, number_of
from .data_file import first_line
from .rows import RowDirections, Rows, as_whole, check_names, rows_of, unfit
from .times import LARGEST, UnreadableTimeError, times_of

ENDINGS = (".txt", ".tsv", ".csv", ".edges")
BYTE_MEMORY, ROW_MEMORY = 6, 250
"""Bytes of memory that a byte, and beside it a row, of text takes at most."""
WRITTEN_BETWEEN = {".csv": ",", ".tsv": "\t"}
FEW_ROWS = 5
"""In a file of so few rows it is no wonder that none names the ids of the first one again."""
_SKIPPED = re.compile(rb"^[ \t]*(?:[#%][^\n]*)?(?:\n|\Z)", re.MULTILINE)
_COMMENT = re.compile(rb"^[ \t]*([#%](?!@(?:node|type)[ \t])[^\s][^\n]*)", re.MULTILINE)
_DECLARED = re.compile(rb"^#@(node|type)[ \t]+([^\n]*[^\s])[ \t]*$", re.MULTILINE)
_DIRECTED = re.compile(rb"^[ \t]*(?:[#%][^\n]*\bdirected\b|% asym\b)", re.MULTILINE | re.IGNORECASE)
_INTEGER = re.compile(r"-?[0-9]{1,18}")
_QUOTED = re.compile(r'"[^"]*"')
_TO_QUOTE = re.compile(r'^[#%]|[\s,;"]')


def read_edge_list(path: Path, timed: bool = False) -> Rows:
    """Reads rows of two ids and optionally other columns, between blanks, tabs, commas or semicolons.

    Another column is a time where all its entries look like one (seconds since 1970 or parts of them, or dates),
    else a weight where all are numbers, and the name of a type where none is. Where the first row names columns,
    these names decide: of several columns behind the ends those without a known name are not read.
    In a list with semicolons a comma may stand before the decimals. Ids are any text; those with blanks need
    quotation marks in a list with blanks between columns. Nodes stand in numeric order where all ids are whole
    numbers, otherwise as they first appear. Lines that start with # or % are comments, but for ``#@node ID`` and
    ``#@type NAME``: these put nodes (also such as have no edges) and types in this order, before all others. A
    first row that can only hold column names is skipped, and refused where no row follows; one that may hold them
    is refused, unless a ``#@node`` names one of its ids. Cells may stand in quotation marks, and must where the
    first id starts with # or %: comments that look like edges are counted.

    Args:
        path: of the file.
        timed: whether a lone third column of numbers without a name holds times.

    Raises:
        InputError: the file is no text or too large, a row is no edge (names the line), or the first row may hold
            column names.
    """
    raw = _text(path)
    marked = b"#" in raw or b"%" in raw
    declared = [(kind, name.decode()) for kind, name in _DECLARED.findall(raw)] if marked else []
    nodes, kinds = (tuple(name for kind, name in declared if kind == wanted) for wanted in (b"node", b"type"))
    check_names(nodes, "node", str(path))
    check_names(kinds, "type", str(path))
    comments, in_words = (_COMMENT.findall(raw), _DIRECTED.search(raw) is not None) if marked else ([], False)
    body = _SKIPPED.sub(b"", raw)
    del raw  # it is read again where an error must name a line
    if not body:
        raise InputError(f"{path}: holds no edges: expected at least one row of two ids")
    first = body[: body.find(b"\n") + 1 or None].decode()
    separator = _separator(path, first)
    width = len(cells_of(first, separator))
    try:
        decimal = "," if separator == ";" else "."
        cells, table = table_of(body, separator, width)
        del body
        rows = _rows(cells, table, nodes, kinds, decimal, path, timed)
    except NoTimeError as error:
        line = next(islice(_lines(_text(path)), error.row, None))[0]
        raise InputError(f"{path}: line {line}: time {quoted(error.text)}: {error.expected}") from error
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise fault(_text(path), separator, path, error) from error
    directed: RowDirections = "in-words" if rows.directed == "unsaid" and in_words else rows.directed
    edges = _edges_in_comments(comments, separator, width, rows.ids)
    return replace(rows, comments=edges, directed=directed)


class NoTimeError(Exception):
    """A row whose time cannot be read.

    Attributes:
        row: its position, with that of column names.
        text: what stands there.
        expected: what should, in words.
    """

    def __init__(self, row: int, text: str, expected: str) -> None:
        super().__init__(text)
        self.row, self.text, self.expected = row, text, expected


def write_edge_list(
    stream: IO[bytes], path: Path, network: Network, ids: Sequence[str], types: Sequence[str]
) -> None:
    """Writes a network so that `read_edge_list` reads the same; between commas (.csv), tabs (.tsv) or blanks.

    There is a row for each event where edges have times, and for each way that an edge leads where they have
    directions, below a comment that says so. A first row names the columns where there are several, or where they
    look like something else.

    Raises:
        InputError: there would have to be such a row, and an id is one of its names.
    """
    import pandas as pd

    ends, row, times = rows_of(network)
    table: dict[str, NDArray[Any]] = dict(zip(("source", "target"), ends, strict=True))
    kinds = None if network.types is None else network.types[row]
    if kinds is not None:
        table["type"] = kinds
    if network.weights is not None:
        table["weight"] = as_whole(network.weights[row])
    if times is not None:
        table["time"] = times
    named = _needs_names(table, types)
    if named and not {"source", "target"}.isdisjoint(ids):
        raise InputError(f"{path}: not written: an id is 'source' or 'target', a column's name: write .npz")
    packed = path.suffix.lower() == ".gz"
    between = WRITTEN_BETWEEN.get(path.suffixes[-1 - packed].lower(), " ")
    quoting = csv.QUOTE_ALL if any(map(_TO_QUOTE.search, (*ids, *types))) else csv.QUOTE_MINIMAL
    called = {"source": ids, "target": ids, "type": types}
    with _as_text(stream, packed) as text:
        if network.directions is not None:
            text.write("# directed: from the first column to the second\n")
        text.writelines(_declarations(ends, kinds, ids, types))
        for start in range(0, len(row), PART):  # texts of a part of the rows are held at once
            part = {name: own[start : start + PART] for name, own in table.items()}
            frame = pd.DataFrame({name: _named(own, called.get(name)) for name, own in part.items()})
            header = named and start == 0
            frame.to_csv(text, sep=between, header=header, index=False, lineterminator="\n", quoting=quoting)


@contextmanager
def _as_text(stream: IO[bytes], packed: bool) -> Iterator[io.TextIOWrapper]:
    """Text that goes into a stream as it is written, packed or not; the stream stays open."""
    inner = gzip.GzipFile("", "wb", fileobj=stream, mtime=0) if packed else stream
    text = io.TextIOWrapper(inner, encoding="utf-8", newline="")
    try:
        yield text
    finally:
        text.detach()
        if packed:
            inner.close()


def _named(values: NDArray[Any], names: Sequence[str] | None) -> NDArray[Any]:
    """Names at some places of their list; values themselves where they have none."""
    return values if names is None else np.array([names[place] for place in values.tolist()], dtype=object)


def _needs_names(table: Mapping[str, NDArray[Any]], types: Sequence[str]) -> bool:
    """Whether columns would be read as something else without their names."""
    others = [name for name in table if name not in ("source", "target")]
    if len(others) != 1:
        return bool(others)
    held = table[others[0]]
    values = {held.min(), held.max()} if others[0] in ("weight", "time") else {types[k] for k in distinct(held)}
    looks = column_of(2, None, [str(value) for value in values], ".", True)
    return looks is None or looks.role != others[0]


def _text(path: Path) -> bytes:
    """The whole file, unpacked, with plain ends of lines."""
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as stream:
            raw = _read(stream, path)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: truncated or not a gzip file: {first_line(error)}") from error
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    if b"\r" in raw:
        raw = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    where = raw.find(b"\0")
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        where = error.start if where < 0 else min(where, error.start)
    if where >= 0:
        line = raw.count(b"\n", 0, where) + 1
        raise InputError(f"{path}: line {line}: not text in UTF-8: expected an edge list, rows of two ids")
    return raw


def _read(stream: io.BufferedIOBase, path: Path) -> bytes:
    """The content, in parts: a small packed file may hold gigabytes, which are refused before they are there."""
    parts: list[bytes] = []
    size = rows = 0
    while part := stream.read(1 << 20):
        parts.append(part)
        size, rows = size + len(part), rows + part.count(b"\n") + part.count(b"\r")
        check_memory(f"{path}: its text", BYTE_MEMORY * size + ROW_MEMORY * rows)
    return b"".join(parts)


def is_konect(path: Path) -> bool:
    """Whether a file is called as KONECT calls edge lists, ``out.NAME``; blanks and tabs are mixed there."""
    return path.name.startswith("out.") and path.suffix.lower() not in ("", ".", ".gz", *ENDINGS)


def _separator(path: Path, line: str) -> str:
    """What stands between columns: what the file's ending says where it is there, a tab, a comma, or blanks.

    Semicolons come first, as a comma may stand in their cells, but in a list that may have blanks between columns
    only if it has none.
    """
    if is_konect(path):
        return " "
    bare = _QUOTED.sub("", line).strip()
    between_commas = ".csv" in (ending.lower() for ending in path.suffixes[-2:])
    if ";" in bare and (between_commas or not re.search(r"[ \t]", bare)):
        return ";"
    return next((mark for mark in ("," if between_commas else "\t", "\t", ",") if mark in bare), " ")


def _rows(
    cells: Sequence[str],
    table: list[Cells],
    nodes: Sequence[str],
    kinds: Sequence[str],
    decimal: str,
    path: Path,
    timed: bool,
) -> Rows:
    """The rows of the first row's cells, which may be names of columns, and of the columns below it."""
    first_end, second_end = ends_of(cells) or (0, 1)
    one, other, names = ends_in(*(table[end].under(cells[end]) for end in (first_end, second_end)))
    first = _first_row(one, other, names, nodes)
    if first == "unclear":
        raise InputError(
            f"{path}: the first row ({quoted(names[0])}, {quoted(names[1])}) looks like names of columns, as no "
            "other row has these ids: delete it or put # before it; if it is an edge move it behind other rows, or "
            "put lines '#@node ID' with its ids before it"
        )
    header = first == "header"
    if header and len(one) == 1:
        raise InputError(
            f"{path}: holds the names of columns ({quoted(names[0])}, {quoted(names[1])}) and no edges: expected "
            "rows of two ids below them; if this row is an edge put lines '#@node ID' with its ids before it"
        )
    if header:
        one, other, names = ends_in(table[first_end], table[second_end])
    else:
        table = [column.under(cell) for column, cell in zip(table, cells, strict=True)]
    if any(map(unfit, names)) or (len(table) > MOST_UNNAMED and not header):
        raise ValueError("unusable ids, or columns without names")
    ids = arranged(names, nodes)
    place = places_of(names, ids)
    rows = Rows(ids, place[one], place[other], directed="unsaid", header=header, unlisted=len(ids) - len(nodes))
    if first == "doubtful":
        rows = replace(rows, columns=f"first row read as an edge, of {names[0]} and {names[1]}")
    others = {k: cells[k] if header else None for k in range(len(table)) if k not in (first_end, second_end)}
    return with_columns(rows, table, others, kinds, decimal, path, timed)


def with_columns(
    rows: Rows,
    table: list[Cells],
    others: dict[int, str | None],
    kinds: Sequence[str],
    decimal: str,
    path: Path,
    timed: bool,
) -> Rows:
    """The rows with what the columns behind the ends tell.

    Raises:
        InputError: two columns are weights, or types, or a named column holds what it should not.
        ValueError: a column is neither weights nor types.
    """
    found: dict[str, Column] = {}
    remarks = [rows.columns]
    for k, name in others.items():
        column = column_of(k, name, _telling(table[k]), decimal, len(others) == 1, timed)
        if column is None:
            raise ValueError("a column that is neither weights nor types")
        remarks.append(column.remark)
        if column.role in found and column.role in ("weight", "type", "time"):
            raise InputError(
                f"{path}: {found[column.role].called} and {column.called} both look like {column.role}s of edges: "
                "name the columns in a first row, as in source,target,weight,time"
            )
        found[column.role] = column
        if column.role == "weight":
            rows = replace(rows, weights=_numbers(table[k], column, decimal, path))
        elif column.role == "type":
            codes, values = table[k].codes, table[k].names
            if any(map(unfit, values)):
                raise ValueError("unusable names of types")
            called = tuple(dict.fromkeys([*kinds, *values]))
            places, known = places_of(values, called)[codes], set(values) <= set(kinds)
            rows = replace(rows, types=places, type_names=called, types_in_order=known)
        elif column.role == "time":
            rows = replace(rows, times=_times(table[k], decimal, rows.header))
        elif column.role == "direction":
            led = np.array([value.casefold() == "directed" for value in table[k].names])
            rows = (
                replace(rows, directed="yes", mutual=~led[table[k].codes])
                if led.any()
                else replace(rows, directed="no")
            )
    return replace(rows, columns="; ".join(filter(None, remarks)))


def _telling(cells: Cells) -> list[str]:
    """Cells that tell what a column is: of whole numbers the least and the largest do."""
    numbers = cells.numbers
    return cells.names if numbers is None else [str(numbers.min()), str(numbers.max())]


def _times(cells: Cells, decimal: str, header: bool) -> Ints:
    """The time of each row, [r]."""
    whole = cells.numbers
    if whole is not None and np.abs(whole).max() <= LARGEST:
        return whole[cells.codes]
    try:
        times: Ints = times_of(cells.names, decimal)[cells.codes]
        return times
    except UnreadableTimeError as error:
        row = int((cells.codes == error.place).argmax())
        raise NoTimeError(row + header, cells.names[error.place], error.expected) from error


def _numbers(cells: Cells, column: Column, decimal: str, path: Path) -> Floats:
    """The finite number that each row's cell stands for, [r]."""
    if cells.numbers is not None:
        return cells.numbers.astype(np.float64)[cells.codes]
    values = cells.names
    numbers = [number_of(value, decimal) for value in values]
    bad = next((v for v, number in zip(values, numbers, strict=True) if number is None), None)
    if bad is not None:
        raise InputError(f"{path}: {column.called} holds {bad[:50]!r}: expected numbers")
    found = np.array(numbers, dtype=np.float64)
    if not np.isfinite(found).all():
        raise ValueError("a weight that is not finite")
    return found[cells.codes]


def _edges_in_comments(comments: Sequence[bytes], separator: str, width: int, ids: Sequence[str]) -> int:
    """Comments that have the columns of an edge, and an end that is a node, as it stands or without the sign."""
    count, known = 0, frozenset(ids) if comments else frozenset()
    for line in comments:
        cells = cells_of(line.decode(), separator)
        if len(cells) == width and not any(map(unfit, cells)):
            count += not known.isdisjoint([cells[0], cells[0][1:], cells[1]])
    return count


def arranged(names: Sequence[str], declared: Sequence[str]) -> tuple[str, ...]:
    """Ids in the order of nodes: declared ones, then by number if all are whole numbers, else as they appear."""
    known = set(declared)
    rest = [name for name in names if name not in known]
    if all(map(_INTEGER.fullmatch, rest)):
        rest.sort(key=lambda name: (int(name), name))
    return (*declared, *rest)


def _first_row(
    one: Ints, other: Ints, names: Sequence[str], declared: Sequence[str]
) -> Literal["edge", "header", "doubtful", "unclear"]:
    """What the first row is: an edge, column names, one of the two, or that in a file too short to refuse.

    It can only hold column names if its entries appear nowhere else, and are usual names of columns or the only
    ones that are no whole numbers. Other words that appear nowhere else are not guessed at: column names that pass
    for an edge are two people who do not exist, and their third one is a type of its own. The same goes for a first
    row that is the only one: its entries are column names if they are usual ones.
    """
    first, rest = names[:2], names[2:]
    if one[0] == other[0] or not set(first).isdisjoint(declared):
        return "edge"
    if len(one) > 1 and min(one[1:].min(), other[1:].min()) < 2:
        return "edge"
    if (first[0].casefold(), first[1].casefold()) in HEADERS:
        return "header"
    if rest and not any(map(_INTEGER.fullmatch, first)) and all(map(_INTEGER.fullmatch, rest)):
        return "header"
    words = all(number_of(name) is None for name in first)
    if not words:
        return "edge"
    return "unclear" if len(one) > FEW_ROWS else "doubtful"


def _declarations(ends: Ints, kinds: Ints | None, ids: Sequence[str], types: Sequence[str]) -> Iterator[str]:
    """Comments that name all nodes, or all types, where reading the rows alone would order them otherwise.

    All nodes also where the first row would not be taken for an edge.
    """
    import pandas as pd

    codes, known = pd.factorize(ends.T.ravel())
    names = [ids[place] for place in known.tolist()]
    if arranged(names, ()) != tuple(ids) or _first_row(codes[0::2], codes[1::2], names, ()) != "edge":
        yield from (f"#@node {name}\n" for name in ids)
    if kinds is not None and [types[place] for place in pd.unique(kinds).tolist()] != list(types):
        yield from (f"#@type {name}\n" for name in types)


Row = tuple[int, list[str]]


def cells_of(line: str, separator: str) -> list[str]:
    """The columns of a line; a separator that is a blank stands for any number of blanks and tabs."""
    text = re.sub(r"[ \t]+", " ", line.strip(" \t\n")) if separator == " " else line.strip("\n")
    try:
        cells = next(csv.reader([text], delimiter=separator), [])
    except csv.Error:  # a cell longer than the reader's limit
        cells = text.split(separator)
    return [cell.strip(" \t") for cell in cells]


def fault(raw: bytes, separator: str, path: Path, cause: Exception) -> InputError:
    """The error of a list of edges that could not be read at once, found by reading it line by line.

    Args:
        raw: the whole text.
        separator: what stands between its columns.
        path: of the file.
        cause: what reading it at once ended with.
    """
    rows: list[Row] = []
    width = 0
    for number, line in _lines(raw):
        cells = cells_of(line, separator)
        width = width or len(cells)
        wrong = "an unclosed quotation mark" if line.count('"') % 2 else _wrong(cells, width)
        if wrong:
            return InputError(f"{path}: line {number}: {wrong}")
        rows.append((number, cells))
    mixed = _mixed([(number, cells) for number, cells in rows if len(cells) == 3])
    return InputError(f"{path}: {mixed or f'not a readable edge list: {first_line(cause)}'}")


def _lines(raw: bytes) -> Iterator[tuple[int, str]]:
    """Lines that are neither empty nor comments, counted from 1."""
    for number, line in enumerate(raw.decode().split("\n"), 1):
        text = line.strip(" \t")
        if text and text[0] not in "#%":
            yield number, line


def _wrong(cells: Sequence[str], width: int) -> str:
    """What is wrong with one row beside others of so many columns."""
    if not 2 <= len(cells) <= MOST_UNNAMED and len(cells) == width:
        return (
            f"{len(cells)} columns: expected two ids, and a weight, a type or a time if there is one; more columns "
            "need names in the first row, as in source,target,weight,time"
        )
    if len(cells) != width:
        return f"{len(cells)} columns: expected {width}, as in the first row"
    bad = next((cell for cell in cells if unfit(cell)), None)
    if bad is not None:
        return f"entry {bad[:50]!r} is {unfit(bad)}: expected an id, a weight or a type that is not"
    number = number_of(cells[2]) if width == 3 else None
    return "" if number is None or math.isfinite(number) else f"weight {quoted(cells[2])}: expected a finite number"


def _mixed(rows: Sequence[Row]) -> str:
    """Names the first of the fewer entries where some third columns are numbers and some are words."""
    numbers = [row for row in rows if number_of(row[1][2]) is not None]
    words = [row for row in rows if number_of(row[1][2]) is None]
    if not numbers or not words:
        return ""
    (line, cells), (other, usual) = (words[0], numbers[0]) if len(words) <= len(numbers) else (numbers[0], words[0])
    dated = "a date" if DATE.fullmatch(usual[2]) else "the name of a type"
    expected = "a number" if len(words) <= len(numbers) else dated
    return f"line {line}: third column {quoted(cells[2])}: expected {expected}, as in line {other}"
