"""Claims of differential privacy beside what was measured: does a mechanism keep the epsilon that it promises?"""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ...errors import InputError
from ...graphs.network import Network
from ...mechanisms.guarantee import Guarantee
from ...mechanisms.mechanism import Mechanism
from ...randomness import branch
from ...registry import find
from ..statistics.epsilon import (
    METRIC,
    ceiling_of_counts,
    epsilon_of_counts,
    gaussian_epsilon,
    not_normal,
    trials_needed,
)
from ..statistics.finding import Finding
from .input_search import Candidate, both, searched, spent
from .learned_scores import Aim, Event, Runs, best_event
from .near_inputs import Pair
from .repeated_runs import Repeated, called, guarantee_of, inputs_of

FEWEST = 50
"""Runs with the unit and as many without it, below which nothing would be shown."""
USUAL, USUAL_IN_SEARCH, USUAL_IF_NORMAL, MOST = 10_000, 20_000, 2_000, 400_000
"""Runs where none are asked for: at least, with a search, of scores that are normal, and at most."""
ROOM = 1.0
"""How far above the claim those runs could show an epsilon."""
SHOWN = 200
"""Letters of an input that are printed."""


@dataclass(frozen=True)
class ClaimCheck:
    """A claim and what came out of testing it.

    Attributes:
        mechanism: its name.
        guarantee: what is claimed.
        measured: epsilon that is exceeded with the stated confidence: a proof, since each run is one of the
            mechanism, on an input that was fixed before.
        seconds: of CPU time that it took.
        ceiling: the epsilon that would be measured if every trial were told apart; None where nothing limits it.
        inputs: the two inputs that were told apart, in short, where a search chose them.
    """

    mechanism: str
    guarantee: Guarantee
    measured: Finding
    seconds: float
    ceiling: float | None = None
    inputs: str | None = None

    @property
    def refuted(self) -> bool:
        """Whether more was given away than claimed."""
        return self.measured.low is not None and self.measured.low > float(self.guarantee.epsilon)

    def json(self) -> str:
        """All of it but the time, the same byte for byte for the same seed."""
        found = {"mechanism": self.mechanism, "claim": self.guarantee.as_dict(), "measured": asdict(self.measured)}
        told = {"ceiling": self.ceiling, "inputs": self.inputs, "refuted": self.refuted}
        return json.dumps({**found, **told, "sentence": self.sentence()}, indent=2) + "\n"

    def sentence(self) -> str:
        """The verdict in words."""
        claimed, bound = float(self.guarantee.epsilon), self.measured.low
        if bound is None:
            return f"{self.mechanism}: nothing could be measured ({self.measured.note})"
        confidence = f"{100 * self.measured.level:g} % confidence"
        if self.refuted:
            told = f"{self.mechanism}: refuted: epsilon is above {bound:.2f}, claimed is {claimed:g} ({confidence})"
            return told if self.inputs is None else f"{told}. Shown on these inputs: {self.inputs}"
        most = "" if self.ceiling is None else f"; these runs cannot show more than {self.ceiling:.2f}"
        return (
            f"{self.mechanism}: not refuted: epsilon is at least {bound:.2f} of the {claimed:g} claimed "
            f"({confidence}){most}; a lower bound proves no claim, it can only fail to break it"
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
    kind = find("mechanisms", name)
    made: Mechanism = called(f"making the mechanism '{name}'", lambda: kind(**settings))
    promise = guarantee_of(made)
    return made, promise if claimed is None else replace(promise, epsilon=claimed, accountant="as claimed")


def check_claim(
    mechanism: Mechanism,
    runs: int | None = None,
    seed: int = 0,
    *,
    level: float = 0.95,
    claimed: Guarantee | None = None,
    search: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> ClaimCheck:
    """Runs a mechanism with and without a unit, many times, and compares what is seen with what is claimed.

    Half of the runs choose an event that speaks for the unit: the mechanism's own score from some value on, or
    where it has none a score that is learned from its releases. The other half are counted. With ``search`` other
    neighbouring inputs and learned scores are tried too, in runs of their own, and all ``runs`` are counted. A
    sound claim is called refuted in at most one of 1 / (1 - level) checks.

    Args:
        mechanism: with its settings.
        runs: with the unit, and as many without it; by default as many as can show more than is claimed.
        seed: of its noise.
        level: confidence.
        claimed: what is claimed, by default what the mechanism says.
        search: look for neighbouring inputs that show most.
        progress: called with runs done and runs in all, at most.

    Raises:
        InputError: too few runs to refute the claim, a level or a seed out of its range, a score that is not one
            number, Gaussian noise with a delta of 0, or the claim is for another unit than the inputs differ in; or
            the mechanism fails.
    """
    guarantee = guarantee_of(mechanism.another()) if claimed is None else claimed
    must_be_in_range(runs, seed, level)
    _must_fit(guarantee, mechanism)
    began, done = time.process_time(), 0
    runs = usual_runs(mechanism, guarantee, level, search) if runs is None else runs
    total = runs_in_all(runs, search)

    def ran() -> None:
        nonlocal done
        done += 1
        progress(done, max(done, total))

    check = _Check(Repeated(mechanism.another(), ran), guarantee, runs, seed, level)
    if not mechanism.gaussian:
        check.must_reach(runs if search else runs - runs // 2)
    found = check.searched() if search else check.on_own_inputs()
    return replace(found, seconds=time.process_time() - began)


def runs_in_all(runs: int, search: bool) -> int:
    """How many runs a check makes at most, of both inputs and with those that a search takes."""
    return 2 * (runs + (spent(runs) if search else 0))


def usual_runs(mechanism: Mechanism, claim: Guarantee, level: float, search: bool) -> int:
    """So many runs that, if all were told apart, clearly more than the claim would be shown.

    The bound of normal scores has no such limit, and takes fewer.

    Raises:
        InputError: there would have to be too many.
    """
    if mechanism.gaussian and not search:
        return USUAL_IF_NORMAL
    epsilon = float(claim.epsilon)
    wanted = trials_needed(epsilon + ROOM, float(claim.delta), level) * (1 if search else 2)
    if wanted > MOST:
        raise InputError(
            f"an epsilon of {epsilon:g} takes {wanted:,} runs to show clearly more than it allows; no more than "
            f"{MOST:,} are made unless asked for: ask for them (--runs), or claim a smaller epsilon"
        )
    return max(wanted, USUAL_IN_SEARCH if search else USUAL)


@dataclass(frozen=True)
class _Check:
    """What a check is made of, once all that was asked is in order."""

    repeated: Repeated
    claim: Guarantee
    runs: int
    seed: int
    level: float

    @property
    def delta(self) -> float:
        return float(self.claim.delta)

    @property
    def root(self) -> np.random.SeedSequence:
        return np.random.SeedSequence(self.seed)

    @property
    def given(self) -> Pair:
        return inputs_of(self.repeated.mechanism)

    def must_reach(self, counted: int, why: str = "") -> float:
        """The ceiling of so many trials.

        Raises:
            InputError: it is not above the claim: what they show could not refute it.
        """
        ceiling, epsilon = ceiling_of_counts(counted, counted, self.delta, self.level), float(self.claim.epsilon)
        if ceiling > epsilon:
            return ceiling
        factor = self.runs / counted
        least = round(factor * trials_needed(epsilon, self.delta, self.level))
        raise InputError(
            f"the claim of '{self.repeated.name}' cannot be tested{why}: {self.runs} runs cannot show more than "
            f"epsilon {ceiling:.2f}, and {epsilon:g} is claimed; use more than {least:,} runs"
        )

    def on_own_inputs(self) -> ClaimCheck:
        """By the mechanism's own inputs, and its own score if it has one."""
        outside, inside = both(self.repeated, self.given, self.runs, self.root)
        why = ""
        if self.repeated.mechanism.gaussian and self.repeated.scores_itself:
            if (reason := not_normal(inside.own, outside.own)) is None:
                found = gaussian_epsilon(inside.own, outside.own, self.delta, self.each)
                return self.check(replace(found, level=self.level), None)
            why = f" ({reason}, though it is said to be Gaussian)"
        half = self.runs // 2
        ceiling = self.must_reach(self.runs - half, why)
        aim = Aim(self.delta, self.each, self.runs - half)
        event = best_event(inside.part(0, half), outside.part(0, half), aim, own_alone=self.repeated.scores_itself)
        found = self.measured(event, inside.part(half, None), outside.part(half, None), why)
        return self.check(found, ceiling)

    def searched(self) -> ClaimCheck:
        """By the inputs and the event that a search finds, on runs of their own."""
        ceiling = self.must_reach(self.runs)
        best = searched(self.repeated, self.given, self.claim, Aim(self.delta, self.each, self.runs), self.root)
        outside, inside = both(
            self.repeated, best.pair, self.runs, branch(self.root, "measured"), own=best.place == 0
        )
        found = self.measured(best.event, inside, outside)
        return replace(self.check(found, ceiling), inputs=_shown(best))

    @property
    def each(self) -> float:
        """Confidence of one bound: where the scores decide which of two is made, both share the error."""
        return (1 + self.level) / 2 if self.repeated.mechanism.gaussian else self.level

    def measured(self, event: Event, inside: Runs, outside: Runs, why: str = "") -> Finding:
        """The bound that runs show which did not choose the event."""
        hits, false = (int(event.holds(runs.outputs, runs.own).sum()) for runs in (inside, outside))
        sizes = len(inside), len(outside)
        bound = float(epsilon_of_counts(hits, sizes[0], false, sizes[1], delta=self.delta, level=self.each))
        note = f"{sizes[0]} + {sizes[1]} trials measured; told by {event.name}{why}"
        method = "Clopper-Pearson for both rates, event chosen on other runs"
        return Finding(METRIC, bound, bound, None, self.level, method, "valid", note, *sizes, sum(sizes))

    def check(self, found: Finding, ceiling: float | None) -> ClaimCheck:
        return ClaimCheck(self.repeated.name, self.claim, found, 0.0, ceiling)


def _shown(best: Candidate) -> str:
    """The two inputs in a line of bounded length."""
    first, second = (_in_short(data) for data in best.pair)
    whose = "the given ones" if best.place == 0 else "made from the given ones"
    return f"{first} and {second} ({whose})"


def _in_short(data: Any) -> str:
    """An input as a reader sees it."""
    if isinstance(data, Network):
        data = f"{data.nodes} nodes with edges {', '.join(f'{u}-{v}' for u, v in data.edges.T.tolist()) or 'none'}"
    told = " ".join(str(data).split())
    return told if len(told) <= SHOWN else f"{told[: SHOWN - 3]}..."


def must_be_in_range(runs: int | None, seed: int, level: float) -> None:
    """Raises InputError for what no check can be made with."""
    if not 0 < level < 1:
        raise InputError(f"the level of confidence is {level:g}: expected one above 0 and below 1, such as 0.99")
    if seed < 0:
        raise InputError(f"the seed is {seed}: expected a whole number of 0 or more")
    if runs is not None and runs < FEWEST:
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
    if mechanism.gaussian and guarantee.delta == 0:
        raise InputError(
            f"'{mechanism.name}' is said to add Gaussian noise and claims delta 0: Gaussian noise keeps no epsilon "
            "at delta 0, however strong it is; claim a delta above 0, or remove gaussian = True"
        )
