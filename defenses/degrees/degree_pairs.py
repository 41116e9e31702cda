"""Pairs of out- and in-degree of which each occurs at least k times, near to those of a network, with equal sums.

Liu and Terzi (2008) cut nodes sorted by degree into groups and raise each to its largest degree. Pairs have no
order, so that groups are grown here: from the node with most links, by the node whose joining is cheapest, until k
are together (greedy k-member clustering, Byun et al. 2007, of two numbers). All members get the group's largest
out-degree and its largest in-degree. Who can join a group that is there for no more than a member of a new group
pays does so.

Every arc leaves one node and enters another, so that both sums must be equal. What is missing on one side is given
to people who move from a frequent pair to another that is there, or k of them to a new one, which costs just what
is missing; where nobody can, all pairs get their larger degree on both sides.
"""

from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ...graphs.network import Ints


def k_anonymous_pairs(pairs: Ints, k: int) -> Ints:
    """Raised pairs of degrees [n, 2] of which each occurs k times or never; the sums of both columns may differ.

    Raises:
        InputError: there are fewer than k nodes.
    """
    if k > len(pairs):
        raise InputError(f"k is {k} but there are only {len(pairs)} nodes: choose k of at most {len(pairs)}")
    if not len(pairs):
        return pairs
    known, kind, count = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    groups = _Groups.of(known, count, k)
    for place in np.flatnonzero(count < k)[np.argsort(-known[count < k].sum(1), kind="stable")].tolist():
        while groups.free[place]:
            groups.place_one(place)
    while len(left := groups.left_behind(np.flatnonzero(count >= k))):
        groups.place_one(int(left[0]))
    return groups.dealt(kind.ravel(), count)


def balanced(pairs: Ints, k: int) -> Ints:
    """The pairs with as much out-degree as in-degree in all, of which each still occurs k times or never, [n, 2].

    Args:
        pairs: of which each occurs k times or never [n, 2].
        k: nodes of each pair, at least.
    """
    lacking = int(pairs[:, 0].sum() - pairs[:, 1].sum())
    if not lacking:
        return pairs
    side, missing, moved = int(lacking > 0), abs(lacking), pairs.copy()
    while missing:
        given = _one_move(moved, side, missing, k)
        if not given:
            return np.repeat(pairs.max(1)[:, None], 2, axis=1)
        missing -= given
    return moved


def _one_move(pairs: Ints, side: int, missing: int, k: int) -> int:
    """Raises one side of some people's pairs by one, in place, so that all occur k times still; returns how many's.

    Those move of whom most share a pair, if the next pair is there, or k of them or all go.
    """
    known, kind, count = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    step = np.eye(2, dtype=np.int64)[side]
    there = {(int(out), int(back)) for out, back in known}
    for place in np.argsort(-count, kind="stable").tolist():
        target = known[place] + step
        most = int(count[place]) - k
        number = min(missing, most) if missing < count[place] else int(count[place])
        found = (int(target[0]), int(target[1])) in there
        if target[side] < len(pairs) and number > 0 and (found or number >= k):
            pairs[np.flatnonzero(kind.ravel() == place)[:number]] = target
            return number
    return 0


@dataclass
class _Groups:
    """Groups of nodes while they are made; nodes with the same pair are alike.

    Attributes:
        known: the different pairs [c, 2].
        k: nodes of a group, at least.
        free: nodes with each pair that have no group yet [c].
        targets: the pair that members of each group get, [n // k, 2].
        sizes: of the groups, [n // k]; 0 where there is none yet.
        shares: pairs, groups, and numbers of nodes with the pair that are in the group.
    """

    known: Ints
    k: int
    free: Ints
    targets: Ints
    sizes: Ints
    shares: list[tuple[int, int, int]]

    @classmethod
    def of(cls, known: Ints, count: Ints, k: int) -> "_Groups":
        """A group of its own for each pair that k nodes have; who is more than k there may fill other groups."""
        most = int(count.sum()) // k
        found = cls(known, k, count.copy(), np.zeros((most, 2), dtype=np.int64), np.zeros(most, dtype=np.int64), [])
        for group, place in enumerate(np.flatnonzero(count >= k).tolist()):
            found._take(place, group, k)
        return found

    def place_one(self, place: int) -> None:
        """Puts a node of a rare pair into a group that is there, or into a new one with others."""
        group, cost = self._nearest(place)
        members, target = self._grown(place)
        price = sum(number * int((target - self.known[member]).sum()) for member, number in members)
        if members and cost * self.k <= price:
            members = []
        if not members:
            self._take(place, group, 1)
        new = int(np.count_nonzero(self.sizes))
        for member, number in members:
            self._take(member, new, number)

    def left_behind(self, frequent: Ints) -> Ints:
        """Pairs of the first groups whose group was raised, with nodes that have none and are fewer than k."""
        raised = (self.targets[: len(frequent)] != self.known[frequent]).any(1)
        free = self.free[frequent]
        found: Ints = frequent[raised & (free > 0) & (free < self.k)]
        return found

    def dealt(self, kind: Ints, count: Ints) -> Ints:
        """The new pair of each node, by the place of its old one [n]; who has no group yet keeps it."""
        first, found = np.cumsum(count) - count, self.known[kind]
        order = np.argsort(kind, kind="stable")
        for place, group, number in self.shares:
            found[order[first[place] : first[place] + number]] = self.targets[group]
            first[place] += number
        return found

    def _take(self, place: int, group: int, number: int) -> None:
        self.free[place] -= number
        self.sizes[group] += number
        self.targets[group] = np.maximum(self.targets[group], self.known[place])
        self.shares.append((place, group, number))

    def _nearest(self, place: int) -> tuple[int, int]:
        """The group that one node can join most cheaply, all others of it raised where need be, and the cost."""
        there = self.sizes > 0
        if not there.any():
            return 0, 2**40
        raised = np.maximum(self.targets[there], self.known[place])
        cost = self.sizes[there] * (raised - self.targets[there]).sum(1) + (raised - self.known[place]).sum(1)
        group = int(cost.argmin())
        return group, int(cost[group])

    def _grown(self, place: int) -> tuple[list[tuple[int, int]], Ints]:
        """k free nodes around one, as pairs and numbers of nodes, and the pair that all of them can be raised to.

        No nodes where there are fewer.
        """
        if self.free.sum() < self.k:
            return [], self.known[place]
        members, target, free = [(place, 1)], self.known[place], self.free.copy()
        free[place] -= 1
        for size in range(1, self.k):
            raised = np.maximum(self.known, target)
            cost = size * (raised - target).sum(1) + (raised - self.known).sum(1)
            cost[free == 0] = 2**40
            best = int(cost.argmin())
            members.append((best, 1))
            free[best] -= 1
            target = raised[best]
        return members, target
