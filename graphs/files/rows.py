"""Edges as a file tells them, and the network that they make."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, quoted
from ..directions import BACKWARD, FORWARD, as_rows
from ..events import Events
from ..network import Floats, Ints, Network
from ..pair_codes import distinct

Directed = Literal["refuse", "merge", "told", "keep"]
RowDirections = Literal["yes", "no", "if-mixed", "unsaid", "in-words"]
MOST_NODES = 5_000_000
MOST_EDGES = 200_000_000
LONGEST_ID = 256
"""Characters of a node's id, or of a type's name: arrays of text are as wide as their longest entry."""
_QUOTED = "ids that start with # or % need quotation marks"
_UNFIT = re.compile(
    r"[^\S ]|[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufffe\uffff\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069]"
)


@dataclass(frozen=True, eq=False)
class Rows:
    """What a file tells, each row one edge or one direction of it.

    Attributes:
        ids: of the nodes, [n].
        one: position in ``ids`` of the end that comes first in each row, [r].
        other: of the other end, [r].
        weights: of each row, or None, [r].
        types: of each row, or None, [r].
        times: of each row, whole numbers of any unit, or None, [r]; rows of one edge are its events then.
        type_names: what each type is called, or nothing.
        types_in_order: whether the file itself says in which order types come.
        directed: whether a row stands for one direction: ``yes``, ``no``, ``if-mixed`` (where some rows, but not
            all, have their reverse), or, where it is told but not refused, ``unsaid`` (the same) and ``in-words``.
        mutual: rows that stand for both directions where others stand for one, a mask [r], or None.
        header: whether the first row was taken for column names.
        comments: lines that were skipped as comments and look like edges.
        x: features [n, d], or None.
        y: classes [n], or None.
        groups: the class of each node that the release tells, or None, [n].
        counts: numbers of edges between classes, or None, [c, 4].
        unlisted: nodes that the file names as ends of edges alone.
        attributes: what else the file tells of nodes, by name; it is not read.
        columns: what was made of columns that are not used, or in doubt, in words.
    """

    ids: tuple[str, ...]
    one: Ints
    other: Ints
    weights: Floats | None = None
    types: Ints | None = None
    times: Ints | None = None
    type_names: tuple[str, ...] = ()
    types_in_order: bool = False
    directed: RowDirections = "no"
    mutual: NDArray[np.bool_] | None = None
    header: bool = False
    comments: int = 0
    x: NDArray[Any] | None = None
    y: Ints | None = None
    groups: Ints | None = None
    counts: Ints | None = None
    unlisted: int = 0
    attributes: tuple[str, ...] = ()
    columns: str = ""


@dataclass(frozen=True)
class Dropped:
    """What a file told more than once, or what a network cannot hold.

    Attributes:
        loops: rows from a node to itself.
        parallel: rows that repeat another one (same direction and type).
        both_ways: edges that were told in both directions.
        merged: directed edges without their reverse, made undirected.
        uneven: edges whose rows differ in weight; that of the first row is kept.
        header: rows taken for column names, 0 or 1.
        comments: lines skipped as comments that look like edges.
        columns: what was made of columns that are not used, or in doubt, in words.
        timed: whether rows have times, so that those which repeat an edge are further events of it.
    """

    loops: int = 0
    parallel: int = 0
    both_ways: int = 0
    merged: int = 0
    uneven: int = 0
    header: int = 0
    comments: int = 0
    columns: str = ""
    timed: bool = False

    @property
    def sentence(self) -> str:
        """In words, without a full stop; empty where there is nothing to tell."""
        repeated = "rows that repeat an edge at some time" if self.timed else "repeated edges dropped"
        told = (
            (self.header, "first row read as column names"),
            (len(self.columns), self.columns),
            (self.comments, f"lines skipped as comments that look like edges: {self.comments:,} ({_QUOTED})"),
            (self.loops, f"self-loops dropped: {self.loops:,}"),
            (self.parallel, f"{repeated}: {self.parallel:,}"),
            (self.both_ways, f"edges told in both directions: {self.both_ways:,}"),
            (self.merged, f"directed edges made undirected: {self.merged:,}"),
            (self.uneven, f"edges of which the first of several weights is kept: {self.uneven:,}"),
        )
        return "; ".join(words for count, words in told if count)


def network_of(rows: Rows, source: str, directed: Directed) -> tuple[Network, Dropped]:
    """The network of a file's rows; what becomes of their directions, `network_file.read_network` says.

    Raises:
        InputError: no edge is left, there are too many nodes or edges, or directed edges lack their reverse and
            ``directed`` is ``refuse``.
    """
    if len(rows.ids) > MOST_NODES or len(rows.one) > 2 * MOST_EDGES:
        raise InputError(f"{source}: too large: at most {MOST_NODES} nodes and {MOST_EDGES} edges are read")
    rows, loops = _without_loops(rows)
    if not len(rows.one) and rows.counts is None:
        raise InputError(f"{source}: holds no edges{' but self-loops' if loops else ''}: expected at least one")
    low, high = np.minimum(rows.one, rows.other), np.maximum(rows.one, rows.other)
    order, starts = _by_edge(low, high, rows.types)
    edge, first = np.cumsum(starts) - 1, order[starts]
    mutual = False if rows.mutual is None else rows.mutual[order]
    first_way = rows.one[order] < rows.other[order]
    forward, backward = np.bincount(edge, first_way | mutual) > 0, np.bincount(edge, ~first_way | mutual) > 0
    both, reverses = forward & backward, len(distinct(2 * edge + first_way)) - len(first)
    mixed = rows.directed in ("if-mixed", "unsaid") and both.any()
    led = bool(rows.directed in ("yes", "in-words") or mixed) and not both.all()
    ways = None
    if (led and directed == "told") or (rows.directed != "no" and directed == "keep"):
        ways = FORWARD * forward + BACKWARD * backward
    merged = int((~both).sum()) if led and ways is None else 0
    if merged and directed == "refuse" and rows.directed in ("yes", "if-mixed"):
        _refuse_directed(rows, first[~both][0], merged, len(both), source)
    weights, uneven = (None, 0) if rows.weights is None else _first_weights(rows.weights[order], edge, starts)
    types = None if rows.types is None else rows.types[first]
    events = None if rows.times is None else Events.of(edge, rows.times[order])
    ends = np.stack([low[first], high[first]])
    network = Network(len(rows.ids), ends, weights, types, rows.groups, rows.counts, ways, events)
    parallel = len(edge) - len(both) - reverses
    read = int(rows.header), rows.comments, rows.columns, rows.times is not None
    return network, Dropped(loops, parallel, int(both.sum()), merged, uneven, *read)


def _without_loops(rows: Rows) -> tuple[Rows, int]:
    """The rows between different nodes, and the number of others."""
    proper = rows.one != rows.other

    def part(values: Any) -> Any:
        return None if values is None else values[proper]

    ends = {"one": rows.one[proper], "other": rows.other[proper]}
    parts = {name: part(getattr(rows, name)) for name in ("weights", "types", "times", "mutual")}
    return replace(rows, **ends, **parts), int((~proper).sum())


def _by_edge(low: Ints, high: Ints, types: Ints | None) -> tuple[Ints, NDArray[np.bool_]]:
    """Rows by ends and type, those of one edge in the file's order [r]; which of these are an edge's first [r]."""
    keys = (high, low) if types is None else (types, high, low)
    order = np.lexsort(keys)
    starts = np.ones(len(low), dtype=bool)
    starts[1:] = False
    for key in keys:
        starts[1:] |= key[order[1:]] != key[order[:-1]]
    return order, starts


def _first_weights(weights: Floats, edge: Ints, starts: NDArray[np.bool_]) -> tuple[Floats, int]:
    """The weight of each edge's first row, and the number of edges that have other weights as well."""
    first = weights[starts]
    return first, len(np.unique(edge[weights != first[edge]]))


def _refuse_directed(rows: Rows, example: int, merged: int, edges: int, source: str) -> None:
    one, other = rows.ids[rows.one[example]], rows.ids[rows.other[example]]
    raise InputError(
        f"{source}: directed: {merged} of {edges} edges lack their reverse, for example {one} -> {other}: "
        "give both directions, have them merged (directed=merge, gaudit anonymize --merge-directions), or kept "
        "(directed=keep, gaudit anonymize --keep directions)"
    )


def rows_of(network: Network) -> tuple[Ints, Ints, Ints | None]:
    """Rows of a file: the ends of each [2, r], the edge that it tells [r], and its time, or None.

    A row for each event where edges have times, and for each way that an edge leads where it is directed; times of
    directed edges are not told by way, so that both ways have all of them.
    """
    ends, edge = as_rows(network.edges, network.directions)
    if network.events is None:
        return ends, edge, None
    first = np.searchsorted(network.events.edge, edge)
    many = np.searchsorted(network.events.edge, edge, side="right") - first
    row = np.repeat(np.arange(len(edge)), many)
    event = np.arange(len(row)) - np.repeat(np.cumsum(many) - many, many) + np.repeat(first, many)
    return ends[:, row], edge[row], network.events.time[event]


def as_whole(weights: Floats) -> NDArray[Any]:
    """The weights as whole numbers where all are, so that they are written as they were read."""
    whole = weights.size and (np.abs(weights) < 2**53).all() and (weights == np.round(weights)).all()
    return weights.astype(np.int64) if whole else weights


def check_names(names: Sequence[str], what: str, source: str) -> None:
    """Refuses ids of nodes or names of types that no file could hold, or that are there twice.

    Raises:
        InputError: one is empty, very long, there twice, or has blanks or control characters.
    """
    bad = next((name for name in names if unfit(name)), None)
    if bad is not None:
        raise InputError(f"{source}: {what} {quoted(bad)} is {unfit(bad)}: rename it")
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise InputError(f"{source}: {what} {quoted(twice)} is there twice: expected each once")


def unfit(name: str) -> str:
    """What keeps a text from being an id or a name; empty where nothing does."""
    if not name:
        return "empty"
    if len(name) > LONGEST_ID:
        return f"longer than {LONGEST_ID} characters"
    if name != name.strip(" "):
        return "with blanks at its ends"
    found = _UNFIT.search(name)
    if found is None:
        return ""
    return "with blanks" if found[0].isspace() else "with control characters"
