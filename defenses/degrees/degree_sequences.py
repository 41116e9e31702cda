"""The cheapest k-anonymous degree sequence (Liu and Terzi 2008), and which sequences simple graphs have.

A sequence is k-anonymous if each value in it occurs at least k times. Nodes sorted by degree are cut into groups of
consecutive ones, and every node of a group is given the same new degree: the group's largest where degrees may only
grow, else its median. A dynamic programme finds the cheapest cut. Three observations make it small:

- No group need be larger than 2k. A group of 2k + 1 or more can be cut in two parts of at least k nodes, one of
  them of even size. Moving all nodes of the even part to its own best degree makes it no dearer and changes the
  sum of the degrees by an even number; the other part then moves by an even number to its best degree of that
  parity.
- A sum is made even by moving one group of odd size one step off its best degree: moving two groups, or one group
  by two steps, could be undone without changing the parity.
- Of more than 7k nodes with one degree some always stay as they are (at most 2k - 1 of them are in a group with
  larger degrees, as many with smaller ones, 2k are in a group that is moved by a step, and k are enough for a group
  of the rest), so that the nodes beyond 7k need not be looked at.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...graphs.network import Ints

LOOKED_AT = 7
"""Nodes of one degree that are looked at, in multiples of k."""
UNREACHABLE = 2**60


def k_anonymous(degrees: Ints, k: int, deletions: bool = False, even: bool = False) -> Ints:
    """The k-anonymous sequence that is nearest to ``degrees``: the sum of absolute differences is least.

    Args:
        degrees: of each node [n], 0 to n - 1, in any order.
        k: how often each value must occur at least.
        deletions: whether degrees may also shrink.
        even: whether the sum must be even, as that of a graph is (without, about every other result is odd).

    Returns:
        The new degree of each node, in the order of ``degrees``, [n]. Between equally near sequences the choice is
        arbitrary but always the same.

    Raises:
        InputError: there are fewer than k nodes.

    Source:
        Liu and Terzi, "Towards Identity Anonymization on Graphs", SIGMOD 2008, section 5 (degree anonymisation);
        the even sum is this module's own.
    """
    degrees, count = np.asarray(degrees, dtype=np.int64), len(degrees)
    if k > count:
        raise InputError(f"k is {k} but there are only {count} nodes: choose k of at most {count}")
    order = np.argsort(-degrees, kind="stable")
    falling = degrees[order]
    looked = _place_in_run(falling) < LOOKED_AT * k
    found = falling.copy()
    found[looked] = _cheapest(_Groups.of(falling[looked], count - 1, deletions), k, int(degrees.sum()) % 2, even)
    result = np.empty_like(found)
    result[order] = found
    return result


def greedy_k_anonymous(degrees: Ints, k: int) -> Ints:
    """A k-anonymous sequence with degrees that only grow, by the greedy rule of Liu and Terzi (2008, section 5).

    A node joins the group before it if that costs less than to let the next k nodes be a group of their own.
    Arguments, result and errors are those of `k_anonymous`, but the result is not always the nearest.
    """
    degrees, count = np.asarray(degrees, dtype=np.int64), len(degrees)
    if k > count:
        raise InputError(f"k is {k} but there are only {count} nodes: choose k of at most {count}")
    order = np.argsort(-degrees, kind="stable")
    falling = degrees[order]
    before = np.concatenate([[0], np.cumsum(falling)])

    def cost(start: int) -> int:
        stop = min(start + k, count)
        return int((stop - start) * falling[min(start, count - 1)] - (before[stop] - before[start]))

    result, first, place = np.empty_like(falling), 0, 0
    while place < count:
        full, rest = place - first >= k, count - place
        if full and rest >= k and int(falling[first] - falling[place]) + cost(place + 1) > cost(place):
            first = place
        result[order[place]] = falling[first]
        place += 1
    return result


def is_graphic(degrees: Ints) -> bool:
    """Whether a simple graph has these degrees: an even sum, and the inequalities of Erdos and Gallai (1960)."""
    falling = np.sort(np.asarray(degrees, dtype=np.int64))[::-1]
    count = len(falling)
    if count == 0:
        return True
    if falling[-1] < 0 or falling[0] >= count or falling.sum() % 2:
        return False
    first = np.arange(1, count + 1)
    before = np.concatenate([[0], np.cumsum(falling)])
    large = np.maximum(count - np.searchsorted(falling[::-1], first), first)  # nodes up to here have degree >= r
    room = first * (first - 1) + first * (large - first) + before[-1] - before[large]
    return bool((before[1:] <= room).all())


def _place_in_run(falling: Ints) -> Ints:
    """How many equal values stand before each."""
    starts = np.flatnonzero(np.concatenate([[True], falling[1:] != falling[:-1]]))
    lengths = np.diff(np.append(starts, len(falling)))
    place: Ints = np.arange(len(falling)) - np.repeat(starts, lengths)
    return place


@dataclass(frozen=True)
class _Groups:
    """What groups of nodes start to stop - 1 cost, nodes sorted by falling degree.

    Attributes:
        falling: the degrees [N].
        before: sum of the degrees before each place, [N + 1].
        run: where the run of equal degrees around each place begins and ends, [2, N].
        most: the largest degree that a node may have.
        deletions: whether degrees may shrink.
    """

    falling: Ints
    before: Ints
    run: Ints
    most: int
    deletions: bool

    @classmethod
    def of(cls, falling: Ints, most: int, deletions: bool) -> "_Groups":
        before = np.concatenate([[0], np.cumsum(falling)])
        run = np.stack([np.searchsorted(-falling, -falling, side) for side in ("left", "right")])  # type: ignore[call-overload]
        return cls(falling, before, run, most, deletions)

    def best(self, start: Ints, stop: Ints) -> tuple[Ints, Ints]:
        """A cheapest common degree, and the cost."""
        if not self.deletions:
            degree = self.falling[start]
            return degree, (stop - start) * degree - (self.before[stop] - self.before[start])
        middle = (start + stop) // 2
        degree = self.falling[middle]
        above = self.before[middle] - self.before[start] - (middle - start) * degree
        return degree, above + (stop - middle) * degree - (self.before[stop] - self.before[middle])

    def off_by_one(self, start: Ints, stop: Ints) -> tuple[Ints, Ints]:
        """The cheaper of the two degrees beside the best, and by how much it is dearer, for groups of odd size."""
        size = stop - start
        if not self.deletions:
            return self.falling[start] + 1, np.where(self.falling[start] < self.most, size, UNREACHABLE)
        middle = (start + stop) // 2
        degree = self.falling[middle]
        larger = np.maximum(self.run[0][middle] - start, 0)
        smaller = np.maximum(stop - self.run[1][middle], 0)
        up = np.where(degree < self.most, size - 2 * larger, UNREACHABLE)
        down = np.where(degree > 0, size - 2 * smaller, UNREACHABLE)
        return degree + np.where(up <= down, 1, -1), np.minimum(up, down)


def _cheapest(groups: _Groups, k: int, odd: int, even: bool) -> Ints:
    """New degrees of nodes sorted by falling degree; ``odd``: whether all degrees together have an odd sum.

    ``least[p, j]`` is the least cost of the first j nodes among costs of parity p, which is that of the change of
    the sum. Rows j to j + k - 1 depend on rows before j alone and are filled at once.
    """
    count, sizes = len(groups.falling), np.arange(k, 2 * k + 1)
    least = np.full((2, count + 1), UNREACHABLE)
    least[0, 0] = 0
    choice = np.zeros((2, count + 1), dtype=np.int32)
    for first in range(k, count + 1, k):
        stop = np.arange(first, min(first + k, count + 1))[:, None]
        start = stop - sizes
        inside = np.maximum(start, 0)
        cost = groups.best(inside, stop)[1]
        costs = np.concatenate([cost, cost + _step(groups, inside, stop)], 1)
        parity, start = costs & 1, np.concatenate([inside, inside], 1)
        costs[np.concatenate([stop < sizes, stop < sizes], 1)] = UNREACHABLE
        for wanted in (0, 1):
            total = np.minimum(least[parity ^ wanted, start] + costs, UNREACHABLE)
            choice[wanted, stop[:, 0]] = chosen = total.argmin(1)
            least[wanted, stop[:, 0]] = total[np.arange(len(total)), chosen]
    last = odd if even else int(least[:, count].argmin())
    return _traced(groups, k, least, choice, last)


def _step(groups: _Groups, start: Ints, stop: Ints) -> Ints:
    """What it costs to change the parity of a group's sum."""
    dearer: Ints = np.where((stop - start) % 2 == 1, groups.off_by_one(start, stop)[1], UNREACHABLE)
    return dearer


def _traced(groups: _Groups, k: int, least: Ints, choice: NDArray[np.int32], parity: int) -> Ints:
    """The new degrees that the dynamic programme chose."""
    stop, found = len(groups.falling), np.empty_like(groups.falling)
    while stop > 0:
        stepped, size = divmod(int(choice[parity, stop]), k + 1)
        start = stop - size - k
        ends = np.array([start]), np.array([stop])
        (degree,), (cost,) = groups.best(*ends)
        if stepped:
            (degree,), (dearer,) = groups.off_by_one(*ends)
            cost += dearer
        found[start:stop] = degree
        parity, stop = parity ^ int(cost & 1), start
    return found
