"""How often an audit says *leak* where nothing leaks: simulated null audits, each through the whole verdict."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from coverage_worlds import PERSISTENT, World, by_class, in_communities
from scipy.stats import beta

from gaudit.audit.planning.trial_plan import AttackPlan
from gaudit.audit.results.outcome import AttackOutcome
from gaudit.audit.results.outcomes import attack_outcome
from gaudit.audit.results.verdict import verdict
from gaudit.audit.running.trial import Attacked
from gaudit.audit.statistics.metrics import auc_finding
from gaudit.audit.statistics.scored_subjects import ScoredSubjects
from gaudit.audit.statistics.severity import Scale
from gaudit.audit.statistics.top_ranks import TOP_LEVEL, top_ranks

Runs = Sequence[ScoredSubjects]
Draw = Callable[[np.random.Generator], Runs]
Baselines = Callable[[np.random.Generator, Runs], list[ScoredSubjects]]
SCALE = Scale()
SIZES = ((20, 200), (140, 1000), (1000, 1000))
SEEDS = (1, 3)
KINDS = {"continuous": {}, "ties": {"ties": 1.0}, "rare flags": {"flags": (0.02, 0.02)}}
COLUMNS = ("null audits", "audits", "the baselines are constants", "baselines of their own", "and like the attack")


def worlds() -> dict[str, Draw]:
    """Attacks that know nothing, by what is special about them: with 1 or 3 seeds, and some in three sizes."""
    plain: dict[str, list[Draw]] = {kind: [] for kind in KINDS}
    for kind, options in KINDS.items():
        for members, others in SIZES:
            for runs in SEEDS:
                world = World(kind, members, others, runs, **options).alike()
                plain[kind].append(partial(_sampled, world))
    grouped: list[Draw] = [
        partial(in_communities, groups=groups, size=size, seeds=runs)
        for groups, size in ((30, 33), (10, 100))
        for runs in SEEDS
    ]
    classes: list[Draw] = [partial(by_class, shift=0.0, seeds=runs) for runs in SEEDS]
    every = plain | {"members in clusters": grouped, "within classes": classes}
    return {name: partial(_one_of, draws) for name, draws in every.items()}


def _one_of(draws: Sequence[Draw], rng: np.random.Generator) -> Runs:
    return draws[rng.integers(len(draws))](rng)


def _sampled(world: World, rng: np.random.Generator) -> Runs:
    return world.sample(rng)[0]


def constants(rng: np.random.Generator, runs: Runs) -> list[ScoredSubjects]:
    """A baseline that says the same of everybody: the attack has only chance to beat."""
    return [replace(run, score=np.zeros(len(run.score))) for run in runs]


def independent(rng: np.random.Generator, runs: Runs) -> list[ScoredSubjects]:
    """A baseline that knows nothing either, in its own way."""
    return [replace(run, score=rng.normal(size=len(run.score))) for run in runs]


def alike(rng: np.random.Generator, runs: Runs) -> list[ScoredSubjects]:
    """A baseline that agrees with the attack but for noise, as the same attack without the release often does."""
    spread = [max(float(run.score.std()), PERSISTENT) for run in runs]
    return [
        replace(r, score=r.score + s * rng.normal(size=len(r.score))) for r, s in zip(runs, spread, strict=True)
    ]


BASELINES: tuple[Baselines, ...] = (constants, independent, alike)


def is_leak(rng: np.random.Generator, runs: Runs, baselines: Baselines) -> bool:
    """Whether the verdict is a level, or *leak found*; one blind attack and one public baseline stand beside it."""
    blind, public = baselines(rng, runs), baselines(rng, runs)
    rows = zip(runs, blind, public, strict=True)
    attacked = {
        i: Attacked(AttackPlan("loss"), 1, run, without, {}, "", baselines={"degree": degree})
        for i, (run, without, degree) in enumerate(rows)
    }
    outcome: AttackOutcome = attack_outcome(attacked, SCALE.fpr)
    return verdict(outcome, SCALE).level.severity > 0


def may_be_leak(runs: Runs) -> bool:
    """Whether chance is beaten at all, without which no verdict is a leak, whatever the baselines are."""
    if (auc_finding(runs).low or 0.0) > 0.5:
        return True
    return runs[0].clusters is None and top_ranks(runs, runs, SCALE.fpr).p <= TOP_LEVEL


@dataclass(frozen=True)
class Alarms:
    """False leaks of one kind of null audit, by the kind of its baselines in the order of `BASELINES`."""

    name: str
    audits: int
    leaks: tuple[int, ...]

    def cells(self) -> tuple[str, ...]:
        """As the table shows it."""
        return self.name, f"{self.audits:,}", *(share(count, self.audits) for count in self.leaks)


def share(count: int, trials: int) -> str:
    """A share in percent with Clopper and Pearson's 95 % interval."""
    low = beta.ppf(0.025, count, trials - count + 1) if count else 0.0
    high = beta.isf(0.025, count + 1, trials - count) if count < trials else 1.0
    return f"{100 * count / trials:.2f} % [{100 * low:.2f}, {100 * high:.2f}]"


def alarms(audits: int) -> Iterator[Alarms]:
    """So many null audits in all, equally of each kind; the last row sums them up."""
    kinds = worlds()
    found = []
    for place, (name, draw) in enumerate(kinds.items()):
        rng, each = np.random.default_rng([8, place]), audits // len(kinds)
        leaks = np.zeros(len(BASELINES), dtype=int)
        for _ in range(each):
            runs = draw(rng)
            if may_be_leak(runs):
                leaks += [is_leak(rng, runs, baselines) for baselines in BASELINES]
        found.append(Alarms(name, each, tuple(map(int, leaks))))
        yield found[-1]
    yield Alarms("all", sum(f.audits for f in found), tuple(map(sum, zip(*(f.leaks for f in found), strict=True))))
