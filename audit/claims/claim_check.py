"""Claims of differential privacy beside what was measured: does a mechanism keep the epsilon that it promises?"""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ...errors import InputError
from ...mechanisms.guarantee import Guarantee
from ...mechanisms.mechanism import Mechanism
from ...randomness import branch
from ...registry import find
from ..statistics.epsilon import epsilon_lower_bound, gaussian_epsilon
from ..statistics.finding import Finding

FEWEST = 50
"""Runs with the unit and as many without it, below which nothing would be shown."""


@dataclass(frozen=True)
class ClaimCheck:
    """A claim and what came out of testing it.

    Attributes:
        mechanism: its name.
        guarantee: what is claimed.
        measured: epsilon that is exceeded with the stated confidence: a proof, since each run is one of the
            mechanism, on an input that was fixed before.
        seconds: of CPU time that it took.
    """

    mechanism: str
    guarantee: Guarantee
    measured: Finding
    seconds: float

    @property
    def refuted(self) -> bool:
        """Whether more was given away than claimed."""
        return self.measured.low is not None and self.measured.low > float(self.guarantee.epsilon)

    def json(self) -> str:
        """All of it but the time, the same byte for byte for the same seed."""
        found = {"mechanism": self.mechanism, "claim": self.guarantee.as_dict(), "measured": asdict(self.measured)}
        return json.dumps({**found, "refuted": self.refuted, "sentence": self.sentence()}, indent=2) + "\n"

    def sentence(self) -> str:
        """The verdict in words."""
        claimed, bound = float(self.guarantee.epsilon), self.measured.low
        if bound is None:
            return f"{self.mechanism}: nothing could be measured ({self.measured.note})"
        confidence = f"{100 * self.measured.level:g} % confidence"
        if self.refuted:
            return f"{self.mechanism}: refuted: epsilon is above {bound:.2f}, claimed is {claimed:g} ({confidence})"
        return (
            f"{self.mechanism}: not refuted: epsilon is at least {bound:.2f} of the {claimed:g} claimed "
            f"({confidence}); a lower bound proves no claim, it can only fail to break it"
        )


def asked_claim(
    name: str, settings: dict[str, Any], epsilon: float | None, claimed: float | None
) -> tuple[Mechanism, Guarantee]:
    """A mechanism by name with settings, and what is claimed of it: its own promise, or another epsilon.

    Raises:
        InputError: no such mechanism or setting, or a value out of its range.
    """
    if epsilon is not None:
        settings = {**settings, "epsilon": epsilon}
    made: Mechanism = find("mechanisms", name)(**settings)
    promise = made.guarantee
    return made, promise if claimed is None else replace(promise, epsilon=claimed, accountant="as claimed")


def check_claim(
    mechanism: Mechanism,
    runs: int,
    seed: int,
    *,
    level: float = 0.95,
    claimed: Guarantee | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> ClaimCheck:
    """Runs a mechanism with and without a unit, many times, and compares what scores tell with what is claimed.

    Half of the runs choose where a score begins to speak for the unit, the other half are counted
    (`epsilon_lower_bound`). A sound claim is called refuted in at most one of 1 / (1 - level) checks.

    Args:
        mechanism: with its settings.
        runs: with the unit, and as many without it.
        seed: of its noise.
        level: confidence.
        claimed: what is claimed, by default what the mechanism says.
        progress: called with runs done and runs in all.

    Raises:
        InputError: too few runs, a level or a seed out of its range, a score that is NaN, or the claim is for
            another unit than the inputs differ in; or the mechanism fails.
    """
    guarantee = mechanism.guarantee if claimed is None else claimed
    _must_be_in_range(runs, seed, level)
    _must_fit(guarantee, mechanism)
    began = time.process_time()
    without, inside = _scores(mechanism, runs, seed, progress)
    if mechanism.gaussian:
        found = gaussian_epsilon(inside, without, guarantee.delta, level)
    else:
        found = epsilon_lower_bound(
            inside, without, delta=guarantee.delta, level=level, validity="valid", seed=seed
        )
    return ClaimCheck(mechanism.name, guarantee, found, time.process_time() - began)


def _must_be_in_range(runs: int, seed: int, level: float) -> None:
    """Raises InputError for what no check can be made with."""
    if not 0 < level < 1:
        raise InputError(f"the level of confidence is {level:g}: expected one above 0 and below 1, such as 0.99")
    if seed < 0:
        raise InputError(f"the seed is {seed}: expected a whole number of 0 or more")
    if runs < FEWEST:
        raise InputError(f"{runs} runs show next to nothing: use {FEWEST} at least, 1000 for a claim of 4")


def _must_fit(guarantee: Guarantee, mechanism: Mechanism) -> None:
    """Raises InputError if a mechanism's inputs are not neighbours in the sense of the claim."""
    if not guarantee.compares_with(mechanism.differ_in):
        raise InputError(
            f"the claim is for one {guarantee.unit}, the inputs of '{mechanism.name}' differ in one "
            f"{mechanism.differ_in}: an epsilon of one says nothing of the other; check it on inputs that differ "
            f"in one {guarantee.unit}"
        )
    if guarantee.adjacency != mechanism.differ_by:
        raise InputError(
            f"the claim is for neighbours by {guarantee.adjacency}, inputs of '{mechanism.name}' are neighbours "
            f"by {mechanism.differ_by}: state the claim for these"
        )


def _scores(
    mechanism: Mechanism, runs: int, seed: int, progress: Callable[[int, int], None]
) -> tuple[list[float], list[float]]:
    """Of runs without the unit and of as many with it."""
    root = np.random.SeedSequence(seed)
    found: tuple[list[float], list[float]] = ([], [])
    for side, data in enumerate(mechanism.inputs()):
        rng = np.random.default_rng(branch(root, "runs", side))
        for run in range(runs):
            found[side].append(_score(mechanism, data, rng))
            progress(side * runs + run + 1, 2 * runs)
    if np.isnan(found).any():
        raise InputError(f"'{mechanism.name}' scored a run as NaN: expected a number, the higher the likelier")
    return found


def _score(mechanism: Mechanism, data: Any, rng: np.random.Generator) -> float:
    """One run; what goes wrong in a mechanism of the user's is no verdict on it."""
    try:
        return mechanism.score(mechanism.release(data, rng))
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"the mechanism '{mechanism.name}' failed: {type(error).__name__}: {error}") from error
