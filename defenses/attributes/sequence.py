"""Classes of people over snapshots: by attributes first, and in each snapshot within those who were alike before.

Who is alike in a window of w snapshots was alike in the first w - 1 of them. So people may be parted in a snapshot
only within the classes that the w - 1 snapshots before have left, and every such class is itself large enough. What
is required of a class must hold of two classes together wherever it holds of each: so it is of numbers of people
and of diversity, and whole classes can be joined until it holds.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ...graphs.network import Floats, Ints
from ...graphs.tables.node_table import NodeTable
from .clusters import clustered
from .requirement import members

Met = Callable[[Ints], bool]
"""Whether people, by their numbers, may be a class."""


def numbered(*keys: Ints) -> Ints:
    """A number for each row, from 0, shared by rows that are equal in all keys, [n] or [n, d] each; [n]."""
    return np.unique(np.column_stack(keys), axis=0, return_inverse=True)[1].ravel().astype(np.int64)


def enough(points: Floats, group: Ints, met: Met) -> Ints:
    """Classes joined until all are met: one that is not, to the one with the nearest mean by city-block distance.

    Args:
        points: of each person, [n, d].
        group: the class of each, [n]; all people together are met.
        met: what is required.
    """
    group = numbered(group)
    while group.max(initial=0):
        rows = list(members(group))
        bad = next((number for number, own in enumerate(rows) if not met(own)), None)
        if bad is None:
            break
        means = np.stack([points[own].mean(0) for own in rows])
        apart = np.abs(means - means[bad]).sum(1)
        apart[bad] = np.inf
        group = numbered(np.where(group == bad, int(apart.argmin()), group))
    return group


def parted(points: Floats, whole: Ints, k: int, met: Met) -> Ints:
    """Each class cut into clusters of k people or more who are near to each other, [n].

    Args:
        points: of each person, [n, d].
        whole: the class of each, [n], all of which are met.
        k: people of a cluster, at least.
        met: what is required of it.
    """
    group, found = np.zeros(len(whole), dtype=np.int64), 0
    for rows in members(whole):
        own = enough(points[rows], clustered(points[rows], k), lambda part, rows=rows: met(rows[part]))  # type: ignore[misc]
        group[rows] = found + own
        found += int(own.max(initial=0)) + 1
    return group


def by_attributes(table: NodeTable, points: Floats, k: int, met: Met) -> Ints:
    """Classes of people of whom the same attributes can be told, [n].

    People who have all attributes in common are a class if they are enough, and lose nothing. The others are put
    into clusters; where these are too few, they take the smallest class that was enough with them.

    Args:
        table: what is true of people.
        points: whose city-block distance is what uniting two people loses, [n, d].
        k: people of a class, at least.
        met: what is required of it.
    """
    same = table.classes
    good = np.array([met(rows) for rows in members(same)], dtype=bool)
    left = ~good[same]
    if left.any() and good.any() and not met(np.flatnonzero(left)):
        size = np.where(good, np.bincount(same), len(same) + 1)
        left |= same == size.argmin()
    group = same.copy()
    group[left] = same.max(initial=0) + 1 + clustered(points[left], k)
    return enough(points, group, met)


def signatures(told: Ints, sides: Sequence[Ints], first: int, last: int) -> Ints:
    """A number for each person, shared by those alike in attributes, and in degrees of some relations, [n].

    Args:
        told: a number for what is told of attributes, [n].
        sides: out- and in-degrees [n, relations] each, or degrees alone.
        first: the first relation.
        last: the one behind the last; there may be none.
    """
    return numbered(told, *(side[:, first:last] for side in sides))
