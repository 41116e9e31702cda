"""Clusters of k to 2k - 1 people who lose little by looking alike: their values united, their degrees raised.

The distance of two people is what uniting them loses (Hoang, Carminati and Ferrari, "Cluster-Based Anonymization of
Knowledge Graphs", ACNS 2020, with the weights of their code): of attributes the mean share of values added, of
degrees the mean difference over the number of people. Clusters are those of maximum distance to average vector
(MDAV: Domingo-Ferrer and Mateo-Sanz, IEEE TKDE 2002), whose sizes need no repair.
"""

from collections.abc import Sequence

import numpy as np

from ...graphs.network import Floats, Ints
from ...graphs.tables.column import Column
from ...graphs.tables.node_table import NodeTable
from .requirement import members


def coordinates(table: NodeTable, sides: Sequence[Ints], alpha: float, beta: float) -> Floats:
    """Points whose city-block distance is what uniting two people loses, [n, d].

    Args:
        table: values of each person.
        sides: out- and in-degrees in each relation [n, relations] each, or degrees alone.
        alpha: weight of attributes beside degrees, 0 to 1.
        beta: weight of out-degrees beside in-degrees, 0 to 1.
    """
    parts: list[Floats] = []
    share = alpha / max(len(table.columns), 1)
    for column, own in zip(table.columns, table.values.T, strict=True):
        if column.numbers is not None:
            span = float(np.ptp(column.numbers)) or 1.0
            parts.append(share * column.numbers[own, None] / span)
        else:
            parts.append(share * np.eye(column.size)[own] / (2 * column.size))
    weights = (1.0,) if len(sides) == 1 else (beta, 1 - beta)
    for weight, degrees in zip(weights, sides, strict=True):
        parts.append((1 - alpha) * weight * degrees / (len(degrees) * max(degrees.shape[1], 1)))
    return np.hstack(parts)


def clustered(points: Floats, k: int) -> Ints:
    """The cluster of each point [n], of k to 2k - 1 points, numbered from 0; of fewer than k points one."""
    group, left, number = np.zeros(len(points), dtype=np.int64), np.arange(len(points)), 0
    far = points.mean(0) if len(points) else points
    while len(left) >= 2 * k:
        own = points[left]
        if number % 2 == 0:
            far = own.mean(0)
        first = int(np.abs(own - far).sum(1).argmax())
        near = np.argsort(np.abs(own - own[first]).sum(1), kind="stable")[:k]
        group[left[near]], far = number, own[first]
        left, number = np.delete(left, near), number + 1
    group[left] = number
    return group


def united(columns: Sequence[Column], values: Ints, group: Ints) -> Ints:
    """What is told of each person where clusters tell all their values, [n, q, r, 2].

    Of numbers their range; with a hierarchy the finest part of it that all are in.
    """
    told: list[tuple[Ints, int, Ints]] = []
    for rows in members(group):
        for place, column in enumerate(columns):
            own = np.unique(values[rows, place])
            whole = column.numbers is not None or column.levels
            pairs = np.stack(column.told(own[:1], own[-1:]) if whole else (own, own), 1)
            told.append((rows, place, pairs))
    runs = np.tile(np.array([1, 0]), (*values.shape, max((len(pairs) for *_, pairs in told), default=1), 1))
    for rows, place, pairs in told:
        runs[rows, place, : len(pairs)] = pairs
    return runs
