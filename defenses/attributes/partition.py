"""Classes of people by cutting: everybody is one class, which is cut as long as all parts are good ones.

Mondrian of LeFevre, DeWitt and Ramakrishnan, "Mondrian Multidimensional K-Anonymity", ICDE 2006: a class is cut
along the attribute that it spans most of, numbers at their median, and others by what is told of them at the next
finer level of their hierarchy.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from ...graphs.network import Ints
from ...graphs.tables.column import Column
from .requirement import Requirement


def partitioned(
    columns: Sequence[Column], values: Ints, requirement: Requirement, start: Sequence[Ints] | None = None
) -> Ints:
    """The class of each person, [n], numbered from 0.

    Args:
        columns: attributes to cut along, q.
        values: of each person, places in the columns, [n, q].
        requirement: what every class must be; those to start with are taken as they are.
        start: classes to start with, people by their numbers; one of all by default.
    """
    group, number = np.zeros(len(values), dtype=np.int64), 0
    left = [np.arange(len(values))] if start is None else list(start)
    while left:
        rows = left.pop()
        parts = next(_cuts(columns, values, rows, requirement), None)
        if parts is None:
            group[rows] = number
            number += 1
        else:
            left += parts
    return group


def _cuts(columns: Sequence[Column], values: Ints, rows: Ints, requirement: Requirement) -> Iterator[list[Ints]]:
    """Ways to cut a class into good ones, that of the widest attribute first."""
    if len(rows) < 2 * requirement.settings.k:
        return
    low, high = values[rows].min(0), values[rows].max(0)
    told = [column.told(a, b) for column, a, b in zip(columns, low, high, strict=True)]
    widths = np.array([column.widths(*ends) for column, ends in zip(columns, told, strict=True)])
    for place in np.argsort(-widths, kind="stable").tolist():
        if low[place] == high[place]:
            continue
        own = values[rows, place]
        column, (first, last) = columns[place], told[place]
        starts = _median(own) if column.ranged else column.parts(int(first), int(last))
        part = np.searchsorted(starts, own, "right")
        parts = [rows[part == number] for number in np.unique(part).tolist()]
        if all(map(requirement.met, parts)):
            yield parts


def _median(own: Ints) -> Ints:
    """The first value of the upper half: the nearest to the middle that leaves somebody on either side."""
    middle = np.sort(own)[len(own) // 2]
    return np.array([middle if middle > own.min() else own[own > middle].min()])
