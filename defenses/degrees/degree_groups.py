"""Groups of at least k people with degrees alike in all windows of time, and degrees that simple graphs have.

Rossi, Musolesi and Torsello (2015) look for groups of at least k nodes whose vectors of degrees are near to a
common one, the median of the group in each window. That is microaggregation: here hubs come first, each with the
nearest people that are left, and nodes move to nearer groups afterwards. Large networks are cut along the first
principal component of the vectors instead, after those with k equals.
"""

import numpy as np

from ...errors import InputError
from ...graphs.network import Ints
from .degree_sequences import is_graphic

LARGE = 10_000
"""Nodes above which groups are cut along the first principal component."""
DEARER = 1.5
"""A node joins a group that is there where that costs at most so many times its share of a new group."""
ROUNDS = 10
"""Times that nodes move to nearer groups."""


def grouped(vectors: Ints, k: int) -> Ints:
    """The group of each node [n], numbered from 0, each of at least k nodes.

    Args:
        vectors: degrees of each node in each window [n, T].
        k: how large a group is at least.

    Raises:
        InputError: there are fewer than k nodes.
    """
    count = len(vectors)
    if k > count:
        raise InputError(f"k is {k} but there are only {count} nodes: choose k of at most {count}")
    found = _along_component(vectors, k) if count > LARGE else _hubs_first(vectors, k)
    return _moved(vectors, found, k)


def medians_of(vectors: Ints, group: Ints) -> Ints:
    """The median of each group in each window, [g, T]: of even size the lower and the upper one by turns.

    Both are as near to the group's degrees, and the number of edges stays about what it was.
    """
    size = np.bincount(group)
    middle = np.cumsum(size) - size + (size - 1 + np.arange(len(size)) % 2) // 2
    return np.column_stack([own[np.lexsort((own, group))][middle] for own in vectors.T])


def realisable(degrees: Ints, group: Ints, common: Ints) -> Ints:
    """The common degrees [g] of groups in one window, moved as little as is easy until a simple graph has them.

    Where their sum is odd a group of odd size moves by one, the one that this costs least. Where hubs would need
    more neighbours than there are the largest degrees fall, the sum staying even.

    Args:
        degrees: of the nodes before, [n].
        group: of each node, [n].
        common: the degree that each group shall have, 0 to n - 1, [g].
    """
    common, size = common.copy(), np.bincount(group)
    if int((common * size).sum()) % 2:
        step, chosen = _cheapest_step(degrees, group, common)
        common[chosen] += step
    while not is_graphic(common[group]):
        falls = np.where(size % 2 == 0, 1, 2)
        largest = int(np.where(common >= falls, common, -1).argmax())
        common[largest] -= falls[largest]
    return common


def _cheapest_step(degrees: Ints, group: Ints, common: Ints) -> tuple[int, int]:
    """Up or down by one, and the group of odd size whose degrees this changes least beyond what they are."""
    odd, own = np.bincount(group) % 2 == 1, common[group]
    before, most = np.abs(degrees - own), len(degrees) - 1
    found: list[tuple[float, int, int]] = []
    for step in (1, -1):
        dearer = np.bincount(group, np.abs(degrees - own - step) - before)
        dearer[~odd | (common + step < 0) | (common + step > most)] = np.inf
        chosen = int(dearer.argmin())
        found.append((float(dearer[chosen]), step, chosen))
    return min(found)[1:]


def _hubs_first(vectors: Ints, k: int) -> Ints:
    """Each node, from the largest sum of degrees on, in a new group with the nearest left, or in an old one."""
    group = np.full(len(vectors), -1)
    left = np.lexsort((*vectors.T, -vectors.sum(1)))
    own, common, groups = vectors[left], np.empty_like(vectors), 0
    while len(left) >= k:
        apart = np.abs(own - own[0]).sum(1)
        near = _nearest(apart, k)
        middle = np.sort(own[near], axis=0)[(k - 1) // 2]
        stays = np.ones(len(left), dtype=bool)
        there = np.abs(common[:groups] - own[0]).sum(1)
        if groups and k * there.min() <= DEARER * np.abs(own[near] - middle).sum():
            group[left[0]] = there.argmin()
            stays[0] = False
        else:
            group[left[near]], common[groups] = groups, middle
            stays[near] = False
            groups += 1
        left, own = left[stays], own[stays]
    for node in left:
        group[node] = np.abs(common[:groups] - vectors[node]).sum(1).argmin()
    return group


def _nearest(apart: Ints, k: int) -> Ints:
    """Places of the k smallest, of equals the first: a partition by numpy chooses by what the processor can do."""
    border = np.partition(apart, k - 1)[k - 1]
    nearer = np.flatnonzero(apart < border)
    return np.concatenate([nearer, np.flatnonzero(apart == border)[: k - len(nearer)]])


def _along_component(vectors: Ints, k: int) -> Ints:
    """Nodes with k equals or more in groups of these, the others k by k along the first principal component."""
    same, times = np.unique(vectors, axis=0, return_inverse=True, return_counts=True)[1:]
    many, same = times >= k, same.ravel()
    group = (np.cumsum(many) - 1)[same]
    others = np.flatnonzero(~many[same])
    if not len(others):
        return group
    if len(others) < k:
        others = np.concatenate([others, np.flatnonzero(same == times.argmax())])  # one of the large groups too
    own = np.log1p(vectors[others])
    axis = np.linalg.svd(np.cov(own.T).reshape(own.shape[1], -1))[0][:, 0]
    order = others[np.argsort(own @ axis, kind="stable")]
    fresh = np.minimum(np.arange(len(order)) // k, len(order) // k - 1)
    group[order] = int(many.sum()) + fresh
    numbered: Ints = np.unique(group, return_inverse=True)[1].ravel()
    return numbered


def _moved(vectors: Ints, group: Ints, k: int) -> Ints:
    """The groups after nodes of those with more than k have moved to nearer medians, until hardly any does."""
    from scipy.spatial import cKDTree

    group, size = group.copy(), np.bincount(group)
    for _ in range(ROUNDS):
        common = medians_of(vectors, group)
        free = np.flatnonzero(size[group] > k)
        apart, nearest = map(np.asarray, cKDTree(common).query(vectors[free], p=1))
        gain = np.abs(common[group[free]] - vectors[free]).sum(1) - apart
        moves = np.flatnonzero(gain > 0)
        for place in moves[np.argsort(-gain[moves], kind="stable")].tolist():
            old, new = group[free[place]], nearest[place]
            if size[old] > k:
                group[free[place]] = new
                size[old], size[new] = size[old] - 1, size[new] + 1
        if not len(moves):
            break
    return group
