"""What is released, as rows of numbers: whatever a mechanism gives out, a score can be learned from it.

Every number in a release is a column, under the path that leads to it. What is no number is one too: whether a
name, a key, an element of a set or an edge is there, how long a list is, that nothing came. From these follow some
more, in which errors are known to show: sums, extremes, how many zeros there are, differences of two numbers (noise
that is shared), what is left of a number beyond the whole one (noise that is rounded).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ...graphs.network import Floats, Network
from ...mechanisms.guarantee import Released

MOST = 256
"""Numbers of one array, and columns in all; of more, evenly spaced ones are read."""
PAIRED = 8
"""Columns up to which differences of each two are read."""
DIGITS = 9
"""Decimals to which numbers are equal: sums in another order differ in the last ones."""
LAST = 2**53
"""Of larger whole numbers the remainder is read."""
UNREAD = ":"
"""Before the type of what nothing is read of."""


@dataclass(frozen=True)
class Columns:
    """What is read of each release.

    Attributes:
        paths: of the numbers, as `leaves` names them.
    """

    paths: tuple[str, ...]

    @classmethod
    def seen(cls, outputs: Sequence[Any]) -> "Columns":
        """Those that occur in these releases, the most frequent first."""
        if (regular := _regular(outputs)) is not None:
            return cls(tuple(regular[0]))
        counts: dict[str, int] = {}
        for output in outputs:
            for path, _ in leaves(output):
                counts[path] = counts.get(path, 0) + 1
        return cls(tuple(sorted(counts, key=lambda path: (-counts[path], path))[:MOST]))

    @property
    def unread(self) -> str | None:
        """The type of what is released, if nothing of it can be read."""
        kinds = [path.removeprefix(UNREAD) for path in self.paths if path.startswith(UNREAD)]
        return kinds[0] if len(kinds) == len(self.paths) > 0 else None

    @property
    def names(self) -> list[str]:
        """Of the columns of `read`."""
        told = [path or "what is released" for path in self.paths]
        return [*told, "unknown parts", *(name for name, _ in self._derived(np.zeros((1, len(self.paths)))))]

    def read(self, outputs: Sequence[Any]) -> Floats:
        """A row for each release: its numbers (NaN where there is none), unknown parts, and what follows."""
        regular = _regular(outputs)
        if regular is not None and regular[0] == list(self.paths):
            told, unknown = regular[1], np.zeros(len(outputs))
        else:
            told, unknown = self._read_each(outputs)
        derived = [values for _, values in self._derived(told)]
        found: Floats = np.round(np.clip(np.column_stack([told, unknown, *derived]), -1e300, 1e300), DIGITS)
        return found

    def _read_each(self, outputs: Sequence[Any]) -> tuple[Floats, Floats]:
        place = {path: i for i, path in enumerate(self.paths)}
        told, unknown = np.full((len(outputs), len(place)), np.nan), np.zeros(len(outputs))
        for row, output in enumerate(outputs):
            for path, value in leaves(output):
                if path in place:
                    told[row, place[path]] = value
                elif not path.endswith(".length"):  # which numbers in an array of one shape go without
                    unknown[row] += 1
        return told, unknown

    def _derived(self, told: Floats) -> Iterator[tuple[str, Floats]]:
        """What follows from the numbers, by name."""
        width = told.shape[1]
        there = np.nan_to_num(np.clip(told, -1e150, 1e150))
        rest = np.round(there - np.floor(there), DIGITS)
        for i in range(min(width, 2 * PAIRED)):
            yield f"the fraction of {self.paths[i]}", rest[:, i] % 1
        if width < 2:
            return
        yield "the sum", there.sum(1)
        yield "the largest", there.max(1)
        yield "the smallest", there.min(1)
        yield "the place of the largest", there.argmax(1).astype(float)
        yield "the length", np.sqrt((there**2).sum(1))
        yield "the number of zeros", (told == 0).sum(1).astype(float)
        yield "the number of whole ones", (rest % 1 == 0).sum(1).astype(float)
        yield "the number of parts", (~np.isnan(told)).sum(1).astype(float)
        pairs = combinations(range(width), 2) if width <= PAIRED else ((i, i + 1) for i in range(width - 1))
        for i, j in pairs:
            yield f"{self.paths[i]} less {self.paths[j]}", there[:, i] - there[:, j]
        if width <= PAIRED // 2:
            for i, j in combinations(range(width), 2):
                yield (
                    f"{self.paths[i]} by {self.paths[j]}",
                    there[:, i] / np.where(there[:, j] == 0, 1, there[:, j]),
                )


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Every number in a value with the path that leads to it; what is no number counts as being there."""
    if value is None or isinstance(value, str | bytes):
        yield f"{path}={value!r}", 1.0
    elif isinstance(value, complex | np.complexfloating):
        yield from _number(value.real, f"{path}.real")
        yield from _number(value.imag, f"{path}.imag")
    elif isinstance(value, bool | int | float | np.generic):
        yield from _number(value, path)
    elif isinstance(value, Released):
        yield from leaves(value.values, path)
    elif isinstance(value, Network):
        yield from _network(value, path)
    elif isinstance(value, Mapping):
        yield f"{path}.length", float(len(value))
        for key, part in value.items():
            yield from leaves(part, f"{path}[{key!r}]")
    elif isinstance(value, Set):
        yield f"{path}.length", float(len(value))
        yield from _there((repr(part) for part in value), path)
    elif isinstance(value, list | tuple):
        yield from _list(value, path)
    else:
        yield from _object(value, path)


def _number(value: Any, path: str) -> Iterator[tuple[str, float]]:
    try:
        told = float(value)
    except OverflowError:  # a whole number that no float holds
        yield f"{path}.log", math.copysign(math.log(abs(value)), value > 0 or -1)
        yield f"{path}.last", float(value % LAST)
        return
    except (TypeError, ValueError):
        yield f"{path}={value!r}", 1.0
        return
    yield (f"{path}=nan", 1.0) if np.isnan(told) else (path, told)


def _network(value: Network, path: str) -> Iterator[tuple[str, float]]:
    yield f"{path}.nodes", float(value.nodes)
    yield f"{path}.size", float(value.size)
    yield from _array(value.degrees, f"{path}.degrees")
    yield from _there((f"{u}-{v}" for u, v in value.edges.T.tolist()[:MOST]), path)


def _list(value: Sequence[Any], path: str) -> Iterator[tuple[str, float]]:
    yield f"{path}.length", float(len(value))
    for i, part in enumerate(value[:MOST]):
        yield from leaves(part, f"{path}[{i}]")
    if value and all(isinstance(part, str | tuple) for part in value):
        yield from _there((repr(part) for part in value[:MOST]), path)


def _object(value: Any, path: str) -> Iterator[tuple[str, float]]:
    """Arrays, tensors, sparse matrices, other graphs, and whatever has attributes."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    value = value.toarray() if issparse(value) else value  # type: ignore[attr-defined]
    if isinstance(value, np.ndarray):
        yield from _array(value, path)
    elif callable(getattr(value, "to_numpy", None)):  # tables
        yield from _array(value.to_numpy(), path)
    elif hasattr(value, "edges") and callable(value.edges):
        edges = sorted(tuple(sorted(map(repr, edge))) for edge in value.edges())
        yield f"{path}.size", float(len(edges))
        yield from _there(("-".join(edge) for edge in edges[:MOST]), path)
    elif is_dataclass(value):
        for field in fields(value):
            yield from leaves(getattr(value, field.name), f"{path}.{field.name}")
    elif hasattr(value, "__dict__"):
        yield from leaves(vars(value), path)
    else:
        yield f"{path}{UNREAD}{type(value).__name__}", 1.0


def _array(value: np.ndarray, path: str) -> Iterator[tuple[str, float]]:
    if value.dtype.kind not in "biuf":
        yield from leaves(value.tolist(), path)
        return
    yield f"{path}.length", float(value.size)
    flat = value.ravel().astype(float)
    for i in _read(flat.size):
        yield from _number(flat[i], f"{path}[{i}]")


def _there(names: Iterable[str], path: str) -> Iterator[tuple[str, float]]:
    for name in names:
        yield f"{path} has {name}", 1.0


def _read(size: int) -> list[int]:
    """Which numbers of an array are read."""
    return list(range(size)) if size <= MOST else np.linspace(0, size - 1, MOST).astype(int).tolist()


def _regular(outputs: Sequence[Any]) -> tuple[list[str], Floats] | None:
    """Paths and numbers [n, p] of releases that are all alike: numbers, arrays of one shape, or lists of these.

    As `leaves` would name and give them, and much faster; None where releases are anything else.
    """
    first, kind = outputs[0], type(outputs[0])
    if any(type(output) is not kind for output in outputs):
        return None
    if isinstance(first, bool | int | float | np.number | np.bool_) and not isinstance(first, complex):
        try:
            paths, found = [""], np.array([[float(output)] for output in outputs])
        except OverflowError:
            return None
    elif kind is np.ndarray:
        if any(output.shape != first.shape or output.dtype.kind not in "biuf" for output in outputs):
            return None
        some = _read(first.size)
        paths, found = [f"[{i}]" for i in some], np.stack(outputs).reshape(len(outputs), -1)[:, some].astype(float)
    elif kind in (list, tuple) and 0 < len(first) <= MOST and all(len(output) == len(first) for output in outputs):
        parts = [_regular([output[i] for output in outputs]) for i in range(len(first))]
        alike = [part for part in parts if part is not None]
        if len(alike) < len(parts) or sum(len(part[0]) for part in alike) > MOST:
            return None
        paths = [f"[{i}]{path}" for i, part in enumerate(alike) for path in part[0]]
        found = np.hstack([part[1] for part in alike])
    else:
        return None
    return (paths, found) if np.isfinite(found).all() else None
