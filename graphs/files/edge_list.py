"""Networks as text, one edge a row."""

import csv
import gzip
import io
import math
import re
import zlib
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import IO, Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, quoted
from ...untrusted import check_memory
from ..network import Ints, Network
from .data_file import first_line
from .rows import Rows, check_names, unfit

ENDINGS = (".txt", ".tsv", ".csv", ".edges")
BYTE_MEMORY, ROW_MEMORY = 6, 250
"""Bytes of memory that a byte, and beside it a row, of text takes at most."""
WRITTEN_BETWEEN = {".csv": ",", ".tsv": "\t"}
HEADERS = {
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("fromnodeid", "tonodeid"),
    ("node1", "node2"),
    ("node_1", "node_2"),
    ("id1", "id2"),
    ("id_1", "id_2"),
}
"""Names of the first two columns by which a first row is known not to be an edge."""
FEW_ROWS = 5
"""In a file of so few rows it is no wonder that none names the ids of the first one again."""
_SKIPPED = re.compile(rb"^[ \t]*(?:[#%][^\n]*)?(?:\n|\Z)", re.MULTILINE)
_COMMENT = re.compile(rb"^[ \t]*([#%](?!@(?:node|type)[ \t])[^\s][^\n]*)", re.MULTILINE)
_DECLARED = re.compile(rb"^#@(node|type)[ \t]+(\S+)[ \t]*$", re.MULTILINE)
_INTEGER = re.compile(r"-?[0-9]{1,18}")
_MISREAD = re.compile(r'^[#%]|[,"]')
Text = NDArray[np.object_]


def read_edge_list(path: Path) -> Rows:
    """Reads rows of two ids and optionally a third column, between blanks, tabs or commas.

    The third column is a weight where all its entries are numbers, and the name of a type where none is. Ids are
    any text without blanks; nodes stand in numeric order where all ids are whole numbers, otherwise as they first
    appear. Lines that start with # or % are comments, but for ``#@node ID`` and ``#@type NAME``: these put nodes
    (also such as have no edges) and types in this order, before all others. A first row that can only hold column
    names is skipped; one that may hold them is refused, unless a ``#@node`` names one of its ids. Cells may stand
    in quotation marks, and must where the first id starts with # or %: comments that look like edges are counted.

    Raises:
        InputError: the file is no text or too large, a row is no edge (names the line), or the first row may hold
            column names.
    """
    raw = _text(path)
    declared = [(kind, name.decode()) for kind, name in _DECLARED.findall(raw)]
    nodes, kinds = (tuple(name for kind, name in declared if kind == wanted) for wanted in (b"node", b"type"))
    check_names(nodes, "node", str(path))
    check_names(kinds, "type", str(path))
    body = _SKIPPED.sub(b"", raw)
    if not body:
        raise InputError(f"{path}: holds no edges: expected at least one row of two ids")
    first = body[: body.find(b"\n") + 1 or None].decode()
    separator = _separator(path, first)
    width = len(cells_of(first, separator))
    try:
        rows = _rows(_table(body, separator, width), nodes, kinds, path)
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise fault(raw, separator, path, error) from error
    return replace(rows, comments=_edges_in_comments(raw, separator, width, set(rows.ids)))


def write_edge_list(
    stream: IO[bytes], path: Path, network: Network, ids: Sequence[str], types: Sequence[str]
) -> None:
    """Writes a network so that `read_edge_list` reads the same; between commas (.csv), tabs (.tsv) or blanks.

    Raises:
        InputError: ids or names that would be read as something else, or both weights and types.
    """
    import pandas as pd

    _check_writable(path, network, ids, types)
    names = np.array(ids, dtype=object)
    table = {"one": names[network.edges[0]], "other": names[network.edges[1]]}
    if network.types is not None:
        table["third"] = np.array(types, dtype=object)[network.types]
    text = io.StringIO()
    text.writelines(_declarations(table, ids, types))
    if network.weights is not None:
        table["third"] = network.weights
    packed = path.suffix.lower() == ".gz"
    between = WRITTEN_BETWEEN.get(path.suffixes[-1 - packed].lower(), " ")
    pd.DataFrame(table).to_csv(text, sep=between, header=False, index=False, lineterminator="\n")
    content = text.getvalue().encode()
    stream.write(gzip.compress(content, mtime=0) if packed else content)


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


def _separator(path: Path, line: str) -> str:
    """What stands between columns: what the file's ending says where it is there, a tab, a comma, or blanks."""
    usual = "," if ".csv" in (ending.lower() for ending in path.suffixes[-2:]) else "\t"
    return next((mark for mark in (usual, "\t", ",") if mark in line.strip()), " ")


def _table(body: bytes, separator: str, width: int) -> list[Text]:
    """The columns.

    Raises:
        ValueError: rows of different widths, or an empty cell.
    """
    import pandas as pd

    if width not in (2, 3):
        raise ValueError(f"{width} columns")
    # one column more than there should be: shorter rows leave cells empty, longer ones fill the last
    read = pd.read_csv(
        io.BytesIO(body),
        sep=r"\s+" if separator == " " else separator,
        header=None,
        names=range(width + 1),
        index_col=False,
        dtype=object,
        na_filter=False,
    )
    columns = [read[k].to_numpy() for k in range(width + 1)]
    if any((column == "").any() for column in columns[:-1]) or (columns[-1] != "").any():
        raise ValueError("rows of different widths")
    return columns[:-1]


def _rows(table: list[Text], nodes: Sequence[str], kinds: Sequence[str], path: Path) -> Rows:
    one, other, names = _ends(table)
    first = _first_row(one, other, names, nodes)
    if first == "unclear":
        raise InputError(
            f"{path}: the first row ({quoted(names[0])}, {quoted(names[1])}) looks like names of columns, as no "
            "other row has these ids: delete it or put # before it; if it is an edge move it behind other rows, or "
            "put lines '#@node ID' with its ids before it"
        )
    header = first == "header"
    if header:
        table = [column[1:] for column in table]
        one, other, names = _ends(table)
    if any(map(unfit, names)):
        raise ValueError("unusable ids")
    ids = _arranged(names, nodes)
    place = _places(names, ids)
    rows = Rows(ids, place[one], place[other], header=header, unlisted=len(ids) - len(nodes))
    return rows if len(table) == 2 else _with_third(rows, table[2], kinds)


def _edges_in_comments(raw: bytes, separator: str, width: int, ids: Set[str]) -> int:
    """Comments that have the columns of an edge, and an end that is a node, as it stands or without the sign."""
    count = 0
    for line in _COMMENT.findall(raw):
        cells = cells_of(line.decode(), separator)
        if len(cells) == width and not any(map(unfit, cells)):
            count += not ids.isdisjoint([cells[0], cells[0][1:], cells[1]])
    return count


def _factorized(values: Text) -> tuple[Ints, list[str]]:
    """Position of each value in the list of different ones, which stand as they first appear, without blanks."""
    import pandas as pd

    codes, found = pd.factorize(values)
    stripped = [name.strip(" \t") for name in found]
    names = list(dict.fromkeys(stripped))
    return _places(stripped, names)[codes], names


def _ends(table: Sequence[Text]) -> tuple[Ints, Ints, list[str]]:
    """Both ends of each row, and the ids whose positions they are."""
    ends, names = _factorized(np.stack(table[:2], axis=1).ravel())
    return ends[0::2], ends[1::2], names


def _places(names: Sequence[str], ids: Sequence[str]) -> Ints:
    """Position of each name in ``ids``."""
    position = {name: k for k, name in enumerate(ids)}
    return np.fromiter((position[name] for name in names), dtype=np.int64, count=len(names))


def _arranged(names: Sequence[str], declared: Sequence[str]) -> tuple[str, ...]:
    """Ids in the order of nodes: declared ones, then by number if all are whole numbers, else as they appear."""
    known = set(declared)
    rest = [name for name in names if name not in known]
    if all(map(_INTEGER.fullmatch, rest)):
        rest.sort(key=lambda name: (int(name), name))
    return (*declared, *rest)


def _first_row(
    one: Ints, other: Ints, names: Sequence[str], declared: Sequence[str]
) -> Literal["edge", "header", "unclear"]:
    """What the first row is: an edge, column names, or one of the two.

    It can only hold column names if its entries appear nowhere else, and are usual names of columns or the only
    ones that are no whole numbers. Other words that appear nowhere else are not guessed at: column names that pass
    for an edge are two people who do not exist, and their third one is a type of its own.
    """
    first, rest = names[:2], names[2:]
    if one[0] == other[0] or not rest or not set(first).isdisjoint(declared):
        return "edge"
    if min(one[1:].min(), other[1:].min()) < 2:
        return "edge"
    if (first[0].casefold(), first[1].casefold()) in HEADERS:
        return "header"
    if not any(map(_INTEGER.fullmatch, first)) and all(map(_INTEGER.fullmatch, rest)):
        return "header"
    words = all(number_of(name) is None for name in first)
    return "unclear" if words and len(one) > FEW_ROWS else "edge"


def _with_third(rows: Rows, column: Text, kinds: Sequence[str]) -> Rows:
    """The rows with weights or types."""
    codes, names = _factorized(column)
    numbers = [number_of(name) for name in names]
    if all(number is not None and math.isfinite(number) for number in numbers):
        return replace(rows, weights=np.array(numbers, dtype=np.float64)[codes])
    if any(number is not None for number in numbers) or any(map(unfit, names)):
        raise ValueError("a third column that is neither weights nor types")
    called = tuple(dict.fromkeys([*kinds, *names]))
    return replace(rows, types=_places(names, called)[codes], type_names=called)


def _check_writable(path: Path, network: Network, ids: Sequence[str], types: Sequence[str]) -> None:
    if network.weights is not None and network.types is not None:
        raise InputError(f"{path}: a row holds a weight or a type, and the edges have both: write .npz or .graphml")
    for name in (*ids, *types):
        if _MISREAD.search(name):
            raise InputError(
                f"{path}: {quoted(name)} would be misread in an edge list (commas, quotation marks, # or % at the "
                "start): rename it, or write .npz or .graphml"
            )
    numeric = next((name for name in types if number_of(name) is not None), None)
    if network.types is not None and numeric is not None:
        raise InputError(f"{path}: the type {numeric!r} would be read as a weight: rename it, or write .npz")


def _declarations(table: dict[str, Text], ids: Sequence[str], types: Sequence[str]) -> Iterator[str]:
    """Comments that name all nodes, or all types, where reading the rows alone would order them otherwise.

    All nodes also where the first row would not be taken for an edge.
    """
    one, other, names = _ends([table["one"], table["other"]])
    if _arranged(names, ()) != tuple(ids) or _first_row(one, other, names, ()) != "edge":
        yield from (f"#@node {name}\n" for name in ids)
    if "third" in table and list(dict.fromkeys(table["third"])) != list(types):
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


def number_of(text: str) -> float | None:
    """The number that a text stands for, or None."""
    try:
        return float(text)
    except ValueError:
        return None


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
    if len(cells) not in (2, 3):
        return f"{len(cells)} columns: expected two ids, and a weight or a type if there is one"
    if len(cells) != width:
        return f"{len(cells)} columns: expected {width}, as in the first row"
    bad = next((cell for cell in cells if unfit(cell)), None)
    if bad is not None:
        return f"entry {bad[:50]!r} is {unfit(bad)}: expected an id, a weight or a type without"
    number = number_of(cells[2]) if width == 3 else None
    return "" if number is None or math.isfinite(number) else f"weight {quoted(cells[2])}: expected a finite number"


def _mixed(rows: Sequence[Row]) -> str:
    """Names the first of the fewer entries where some third columns are numbers and some are words."""
    numbers = [row for row in rows if number_of(row[1][2]) is not None]
    words = [row for row in rows if number_of(row[1][2]) is None]
    if not numbers or not words:
        return ""
    (line, cells), (other, _) = (words[0], numbers[0]) if len(words) <= len(numbers) else (numbers[0], words[0])
    expected = "a number" if len(words) <= len(numbers) else "the name of a type"
    return f"line {line}: third column {quoted(cells[2])}: expected {expected}, as in line {other}"
