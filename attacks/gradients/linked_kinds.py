"""A connected graph whose nodes are of given kinds, by depth-first search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from ...graphs.network import Ints
from .kinds_of_nodes import Kinds

STEPS = 50_000
"""Links that are tried until a search is given up."""


@dataclass(eq=False)
class _Linking:
    """Who is linked to whom so far, and what is still to be linked.

    Attributes:
        own: the kind, in the layer before, of each node.
        open: how many neighbours of which kind each node lacks.
        links: neighbours of each node.
        steps: links that may still be tried.
        order: nodes in the order in which they were reached.
    """

    own: list[int]
    open: list[Counter[int]]
    links: list[set[int]]
    steps: int = STEPS
    order: list[int] = field(default_factory=list)

    def next_open(self) -> int | None:
        """The node to go on with: the one reached first that lacks a neighbour; None where none of those does."""
        return next((node for node in self.order if self.open[node]), None)

    def tie(self, one: int, other: int) -> bool:
        """Links two nodes; whether the second was reached so."""
        for node, far in ((one, other), (other, one)):
            self.links[node].add(far)
            self.open[node][self.own[far]] -= 1
            self.open[node] = +self.open[node]
        if other in self.order:
            return False
        self.order.append(other)
        return True

    def untie(self, one: int, other: int, reached: bool) -> None:
        """Takes back a link, the last one that was made."""
        for node, far in ((one, other), (other, one)):
            self.links[node].remove(far)
            self.open[node][self.own[far]] += 1
        if reached:
            self.order.pop()

    def choices(self, node: int) -> Iterator[int]:
        """Whom a node may be linked to: of those that were not reached yet, one of each kind of openings."""
        wanted, seen = next(iter(self.open[node])), set[tuple[tuple[int, int], ...]]()
        reached = set(self.order)
        for other in range(len(self.own)):
            fits = self.own[other] == wanted and self.open[other][self.own[node]] > 0
            if other == node or not fits or other in self.links[node]:
                continue
            if other not in reached:
                told = tuple(sorted(self.open[other].items()))
                if told in seen:
                    continue
                seen.add(told)
            yield other


def linked(last: Kinds, node_kinds: Ints) -> Ints | None:
    """Edges [e, 2] of a connected graph whose nodes are of these kinds; None where none was found in `STEPS`.

    Args:
        last: kinds of the last layer.
        node_kinds: which of them each node is of, [n].
    """
    if not len(node_kinds):
        return None
    own = [last.own[kind] for kind in node_kinds.tolist()]
    state = _Linking(own, [Counter(last.around[kind]) for kind in node_kinds.tolist()], [set() for _ in own])
    state.order.append(0)
    if not _completed(state):
        return None
    found = [(one, other) for one, other in combinations(range(len(own)), 2) if other in state.links[one]]
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def _completed(state: _Linking) -> bool:
    """Whether all that is to be linked could be, which it then is."""
    trail = list[tuple[int, Iterator[int], int | None, bool]]()
    node = state.next_open()
    if node is None:
        return len(state.order) == len(state.own)
    trail.append((node, iter(list(state.choices(node))), None, False))
    while trail and state.steps:
        node, left, tied, reached = trail.pop()
        if tied is not None:
            state.untie(node, tied, reached)
        other = next(left, None)
        if other is None:
            continue
        state.steps -= 1
        trail.append((node, left, other, state.tie(node, other)))
        onward = state.next_open()
        if onward is not None:
            trail.append((onward, iter(list(state.choices(onward))), None, False))
        elif len(state.order) == len(state.own):
            return True
    return False
