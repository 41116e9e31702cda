"""Looks for the neighbouring inputs, and for the event, that show most of what a mechanism gives away.

Many pairs of inputs get a few runs each, the best of them more, and the best of these as many as it takes to learn
an event well. All of these runs are spent on choosing: what was chosen is measured on new ones.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ...graphs.network import Floats
from ...mechanisms.guarantee import Guarantee
from ...randomness import branch
from .learned_scores import Aim, Event, Runs, best_event
from .near_inputs import Pair, near_inputs
from .released_numbers import Columns
from .repeated_runs import RemembersError, Repeated

PAIRS, SOME, FEW = 40, 8, 2
"""How many pairs are tried at first, then, and at last."""
SHARES = (1 / 50, 1 / 8, 1 / 2)
"""Runs of each at these stages, of those that the measurement takes."""
LEAST = 200
"""Runs of a pair on either side."""
PROBES = 400
"""Runs to see whether releases follow a number that is moved."""
PACE = 10
"""Runs on either given input that say how long one takes."""
OFF_MODE = 5
"""Probes that must differ from the most frequent one: what is nearly always the truth is no noise that moves."""


@dataclass(frozen=True)
class Candidate:
    """A pair of inputs, the event that tells them best apart, and which pair it is: 0 is the given one."""

    pair: Pair
    event: Event
    place: int


def spent(runs: int) -> int:
    """How many runs a search takes at most on either side, beside those that are measured."""
    return PACE + sum(
        count * max(LEAST, int(share * runs)) for count, share in zip((PAIRS, SOME, FEW), SHARES, strict=True)
    )


def searched(
    repeated: Repeated, given: Pair, claim: Guarantee, aim: Aim, root: np.random.SeedSequence
) -> Candidate:
    """The pair and the event to measure.

    Args:
        repeated: runs the mechanism.
        given: its own inputs.
        claim: what is tested.
        aim: what is chosen for: the runs that will be counted.
        root: of all that is drawn.

    Raises:
        InputError: the mechanism fails on its own inputs, on others that are made here it may; or it remembers.
    """
    both(repeated, given, PACE, branch(root, "pace"))
    rng = np.random.default_rng(branch(root, "pairs"))
    left = list(enumerate(near_inputs(given, claim, rng, _follows(repeated, root), PAIRS)))
    for stage, (share, keep) in enumerate(zip(SHARES, (SOME, FEW, 1), strict=True)):
        runs, deep = max(LEAST, int(share * aim.runs)), stage == len(SHARES) - 1
        seeds = branch(root, "search", stage)
        tried = [_tried(repeated, pair, place, aim, runs, deep, branch(seeds, place)) for place, pair in left]
        found = sorted((one for one in tried if one is not None), key=lambda one: -one.event.promise)
        left = [(one.place, one.pair) for one in found[:keep]]
    return found[0]


def _tried(
    repeated: Repeated, pair: Pair, place: int, aim: Aim, runs: int, deep: bool, root: np.random.SeedSequence
) -> Candidate | None:
    """What tells a pair apart; None for one that the mechanism does not take."""
    try:
        with warnings.catch_warnings():
            if place:  # a mechanism may warn of inputs that its author did not think of
                warnings.simplefilter("ignore")
            outside, inside = both(repeated, pair, runs, root, own=place == 0, patient=place == 0)
    except RemembersError:
        raise
    except InputError:
        if place == 0:
            raise
        return None
    return Candidate(pair, best_event(inside, outside, aim, deep=deep), place)


def both(
    repeated: Repeated,
    pair: Pair,
    count: int,
    root: np.random.SeedSequence,
    *,
    own: bool = True,
    patient: bool = True,
) -> tuple[Runs, Runs]:
    """So many runs on either input of a pair."""
    return repeated.on_pair(pair, count, root, own=own, patient=patient)


def _follows(repeated: Repeated, root: np.random.SeedSequence) -> Callable[[Pair, Pair], bool]:
    """Whether some number that is released lies higher on the second pair by as much at either end."""

    def follows(before: Pair, after: Pair) -> bool:
        ends = before[0], after[0]
        try:
            low, high = (
                runs.outputs
                for runs in both(repeated, ends, PROBES, branch(root, "probes"), own=False, patient=False)
            )
        except RemembersError:
            raise
        except InputError:
            return False
        columns = Columns.seen(low)
        if all(path.endswith("=None") for path in columns.paths):
            return True  # nothing is released: nothing speaks against it
        one, other = (columns.read(part)[:, : len(columns.paths)] for part in (low, high))
        span = _span(before)
        return any(_rises(one[:, i], other[:, i], span) for i in range(one.shape[1]))

    return follows


def _span(pair: Pair) -> tuple[float, float]:
    """Within which the numbers of a pair lie."""
    flat = [list(data.values()) if isinstance(data, dict) else data for data in pair]
    try:
        return float(np.min([np.min(data) for data in flat])), float(np.max([np.max(data) for data in flat]))
    except (TypeError, ValueError):
        return np.inf, -np.inf


def _rises(before: Floats, after: Floats, span: tuple[float, float]) -> bool:
    """Whether noise moves along: it varies, leaves the range of the inputs, and both of its ends rise."""
    before, after = before[~np.isnan(before)], after[~np.isnan(after)]
    if len(before) < PROBES // 2 or len(after) < PROBES // 2:
        return False
    _, counts = np.unique(before, return_counts=True)
    within = span[0] <= before.min() and before.max() <= span[1]
    if len(before) - counts.max() < OFF_MODE or within:
        return False
    ends = np.quantile(after, (0, 0.05, 0.95, 1)) - np.quantile(before, (0, 0.05, 0.95, 1))
    return bool(ends.min() > 0.1 * (before.max() - before.min()))
