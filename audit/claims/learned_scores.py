"""Scores that are learned from releases: what speaks for one of two inputs, and from where on.

A score that is good on the runs from which it was learned may be so by luck. So a first half of them shows what
there is to see, a second half says which of many scores is the best and where its threshold lies, and neither is
counted when the bound is made: that needs runs of its own.

Source: Bichsel et al. (S&P 2021) for learning the event; the bound is that of Jagielski et al. (NeurIPS 2020).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ...errors import InputError
from ...graphs.network import Floats
from .released_numbers import Columns

Scores = Callable[[Floats], Floats]
"""From rows of numbers to one score each."""

ATOMS, REPEATS = 200, 5
"""Values of a column that are told apart one by one, and how often one occurs at least."""
TAIL = (0.001, 0.003, 0.01, 0.03)
"""Shares of the runs that bins at both ends hold, beside even ones."""
BINS = 40
KEPT = 24
"""Columns that are looked at one by one, those that differ most."""
LUCK = 1.0
"""Standard errors that events owe to being the best of many."""
CUTS = 200


@dataclass(frozen=True)
class Event:
    """Releases that one input makes likelier than the other.

    Attributes:
        columns: what is read of a release.
        score: of what was read, and of the mechanism's own score, which is the first number.
        threshold: where it begins.
        above: whether scores from there on belong to it, or those below.
        name: what it looks at, in words.
        promise: the epsilon that it showed on the runs that chose it, with little confidence.
    """

    columns: Columns
    score: Scores
    threshold: float
    above: bool
    name: str
    promise: float

    def holds(self, outputs: Sequence[Any], own: Floats) -> NDArray[np.bool_]:
        """Whether each release belongs to it."""
        found: NDArray[np.bool_] = (self.score(_rows(self.columns, outputs, own)) >= self.threshold) == self.above
        return found


@dataclass(frozen=True)
class Runs:
    """Releases on an input, and the mechanism's own scores of them (NaN where it has none), [n]."""

    outputs: Sequence[Any]
    own: Floats

    def __len__(self) -> int:
        return len(self.outputs)

    def part(self, start: int, stop: int | None) -> "Runs":
        """Some of them."""
        return Runs(self.outputs[start:stop], self.own[start:stop])


@dataclass(frozen=True)
class Aim:
    """What an event is chosen for: the bound that it will show on runs of its own.

    Attributes:
        delta: of the claim.
        level: confidence.
        runs: that will be counted, on either side.
    """

    delta: float
    level: float
    runs: int

    def shown(self, hits: Any, members: int, false: Any, others: int) -> Floats:
        """The epsilon to be expected of events that so many of these runs belong to, and that others do not.

        With the limits of Wilson, which cost less than those that the bound is made of. The confidence follows the
        number of runs here: shares are known less well from a few than the bound will know them from many. And
        the best of many is worse than it looks.
        """
        far = -float(ndtri((1 - self.level) / 2)) * np.sqrt(min(members / self.runs, 1.0)) + LUCK
        low = _wilson(hits, members, -far) - self.delta
        found: Floats = np.maximum(np.log(np.maximum(low, 1e-300) / _wilson(false, others, far)), 0.0)
        return found


def _wilson(hits: Any, runs: int, far: float) -> Floats:
    """Limit of a share, so many deviations away from what was counted (Wilson 1927)."""
    share, wide = hits / runs, far**2 / runs
    spread = np.sqrt(share * (1 - share) / runs + wide / (4 * runs))
    limit: Floats = (share + wide / 2 + far * spread) / (1 + wide)
    return limit


def best_event(inside: Runs, outside: Runs, aim: Aim, *, own_alone: bool = False, deep: bool = True) -> Event:
    """The event that tells two inputs best apart, by these runs.

    Args:
        inside: runs on one of them.
        outside: as many on the other.
        aim: what it is for.
        own_alone: look at the mechanism's own score only.
        deep: fit trees too, which take longest.

    Raises:
        InputError: there is neither a score nor anything in the releases that can be read.
    """
    half = len(inside) // 2
    columns = Columns(()) if own_alone else Columns.seen([*inside.outputs[:half], *outside.outputs[:half]])
    if columns.unread is not None and np.isnan([inside.own, outside.own]).all():
        raise InputError(
            f"nothing can be read of what is released (type {columns.unread}), so that nothing could be refuted: "
            "release numbers, text, arrays, lists, dictionaries or graphs, or give the mechanism a score"
        )
    one, other = (_rows(columns, runs.outputs, runs.own) for runs in (inside, outside))
    names = ["its own score"] if own_alone else ["its own score", *columns.names]
    found = []
    for name, score, learned in _scores(one[:half], other[:half], names, deep):
        start = half if learned else 0  # a column as it is was not learned from anything
        threshold, above, promise = _best_cut(score(one[start:]), score(other[start:]), aim)
        found.append(Event(columns, score, threshold, above, name, promise))
    return max(found, key=lambda event: event.promise)


def _rows(columns: Columns, outputs: Sequence[Any], own: Floats) -> Floats:
    return np.column_stack([own, columns.read(outputs)]) if columns.paths else own[:, None]


def _scores(one: Floats, other: Floats, names: list[str], deep: bool) -> Iterator[tuple[str, Scores, bool]]:
    """Scores by name, and whether each was learned."""
    changing = np.flatnonzero([_changes(one[:, i], other[:, i]) for i in range(one.shape[1])])
    if not len(changing):
        changing = np.zeros(1, dtype=int)
    bins = {int(i): Bins.of(one[:, i], other[:, i]) for i in changing}
    by_gap = sorted(bins, key=lambda i: -bins[i].gap)[:KEPT]
    for i in by_gap:
        yield names[i], _column(i), False
        if len(one) >= BINS:
            yield f"{names[i]}, by what is likelier", _binned(i, bins[i]), True
    if len(by_gap) > 1 and len(one) >= BINS:
        numbers = np.array([i for i in by_gap if not np.isnan(one[:, i]).all()], dtype=int)
        yield "all numbers, weighed", _weighed(one, other, numbers), True
        yield "all numbers, weighed one by one", _weighed(one, other, numbers, apart=True), True
        yield "all numbers, by what is likelier", lambda rows: _sum_of(bins, by_gap, rows), True
        if deep:
            yield "all numbers, by trees", _trees(one, other, by_gap), True


def _changes(one: Floats, other: Floats) -> bool:
    """Whether a column has more than one value."""
    both = np.concatenate([one, other])
    empty = np.isnan(both)
    return not empty.all() and (bool(empty.any()) or bool((both != both[0]).any()))


def _column(i: int) -> Scores:
    return lambda rows: np.nan_to_num(rows[:, i], nan=-1e300)


def _binned(i: int, bins: "Bins") -> Scores:
    return lambda rows: bins.told(rows[:, i])


def _sum_of(bins: dict[int, "Bins"], which: list[int], rows: Floats) -> Floats:
    found: Floats = np.sum([bins[i].told(rows[:, i]) for i in which], axis=0)
    return found


@dataclass(frozen=True)
class Bins:
    """Values of a column, each that is frequent by itself and the others by ranges, and what each speaks for.

    Attributes:
        atoms: frequent values, ascending.
        edges: of the ranges.
        ratios: log likelihood ratio of a missing value, of each atom and of each range.
        gap: how far the column parts the two inputs, from 0 to 1.
    """

    atoms: Floats
    edges: Floats
    ratios: Floats
    gap: float

    @classmethod
    def of(cls, one: Floats, other: Floats) -> "Bins":
        """From values under one input and under the other."""
        both = np.concatenate([one, other])
        values, counts = np.unique(both[~np.isnan(both)], return_counts=True)
        frequent = np.sort(values[np.argsort(-counts, kind="stable")][: min(ATOMS, int((counts >= REPEATS).sum()))])
        rest = both[~np.isnan(both) & ~np.isin(both, frequent)]
        count = int(np.clip(len(rest) / 25, 1, BINS))
        shares = np.unique([*np.linspace(0, 1, count + 1)[1:-1], *TAIL, *(1 - np.array(TAIL))])
        with np.errstate(over="ignore", invalid="ignore"):  # infinite releases are read as huge
            edges = np.unique(np.quantile(rest, shares)) if len(rest) >= BINS else np.empty(0)
        empty = cls(frequent, edges, np.empty(0), 0.0)
        size = 2 + len(frequent) + len(edges)
        mine, theirs = (np.bincount(empty.place(part), minlength=size) for part in (one, other))
        gap = float(np.abs(mine / len(one) - theirs / len(other)).sum() / 2)
        return cls(frequent, edges, np.log((mine + 1) / (theirs + 1)), gap)

    def place(self, values: Floats) -> NDArray[np.int64]:
        """In which atom or range each value lies."""
        ranges = 1 + len(self.atoms) + np.searchsorted(self.edges, values, side="right")
        if len(self.atoms):
            near = np.clip(np.searchsorted(self.atoms, values), 0, len(self.atoms) - 1)
            ranges = np.where(self.atoms[near] == values, 1 + near, ranges)
        found: NDArray[np.int64] = np.where(np.isnan(values), 0, ranges)
        return found

    def told(self, values: Floats) -> Floats:
        """What each value speaks for."""
        found: Floats = self.ratios[self.place(values)]
        return found


def _weighed(one: Floats, other: Floats, which: NDArray[np.int64], apart: bool = False) -> Scores:
    """A linear score: the best for noise that is normal, with or without regard to what numbers share."""
    middle = np.nan_to_num(np.nanmean(np.concatenate([one, other])[:, which], axis=0))
    one, other = (np.where(np.isnan(part[:, which]), middle, part[:, which]) for part in (one, other))
    size = np.concatenate([one, other]).std(0)
    size[size == 0] = 1.0
    noise = np.concatenate([one - one.mean(0), other - other.mean(0)]) / size
    spread = np.atleast_2d(np.cov(noise.T)) + 1e-6 * np.eye(len(which))
    if apart:
        spread = np.diag(np.diag(spread))
    weights = np.linalg.solve(spread, (one.mean(0) - other.mean(0)) / size) / size
    return lambda rows: np.where(np.isnan(rows[:, which]), middle, rows[:, which]) @ weights


def _trees(one: Floats, other: Floats, which: list[int]) -> Scores:
    """Boosted trees, for what numbers tell together."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    trees = HistGradientBoostingClassifier(max_iter=50, max_leaf_nodes=8, early_stopping=False, random_state=0)
    truth = np.repeat([1, 0], [len(one), len(other)])
    trees.fit(np.concatenate([one, other])[:, which], truth)
    return lambda rows: trees.decision_function(rows[:, which])


def _best_cut(one: Floats, other: Floats, aim: Aim) -> tuple[float, bool, float]:
    """The threshold, the side of it that is flagged, and the epsilon that this shows."""
    cuts = np.unique(np.concatenate([one, other]))
    if len(cuts) > CUTS:
        even = np.linspace(0, len(cuts) - 1, CUTS).astype(int)
        ends = np.arange(20)
        cuts = cuts[np.unique(np.concatenate([even, ends, len(cuts) - 1 - ends]))]
    hits, false = ((len(part) - np.searchsorted(np.sort(part), cuts)).astype(float) for part in (one, other))
    misses, right = len(one) - hits, len(other) - false
    apart = 1e-6 * np.abs(hits / len(one) - false / len(other))  # where nothing shows, the largest advantage
    up = np.maximum(aim.shown(hits, len(one), false, len(other)), aim.shown(right, len(other), misses, len(one)))
    down = np.maximum(aim.shown(misses, len(one), right, len(other)), aim.shown(false, len(other), hits, len(one)))
    best = int(np.argmax(np.maximum(up, down) + apart))
    return float(cuts[best]), bool(up[best] >= down[best]), float(max(up[best], down[best]) + apart[best])
