"""Worlds whose truth is known, from which attacks, baselines and repetitions are drawn."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gaudit.audit.statistics.metrics import auc
from gaudit.audit.statistics.scored_subjects import ScoredSubjects

PERSISTENT = np.sqrt(0.5)
EXPOSED = 6.0
POPULATION = 400_000  # members, and as many non-members, from which a truth is measured


@dataclass(frozen=True)
class World:
    """One setting.

    The score of a subject is its own property (half of the variance, the same in all runs), noise of the run, and
    for members a shift. A baseline's scores beside it share the property and have a shift of their own.

    Attributes:
        name: how the table calls it.
        members: subjects that are members.
        others: and that are none.
        runs: seeds.
        shift: of members' scores, in standard deviations.
        baseline: the same of the baseline's.
        drift: standard deviation of the shift from run to run; ``skewed`` makes it rare and large instead.
        skewed: whether the shift falls by four drifts in one run of ten, and is a little higher in the others.
        subjects: ``same`` in all runs, with membership ``redrawn`` in each, or ``fresh`` ones.
        exposed: share of the members who stand out in every run.
        ties: scores are rounded to multiples of it; 0 for none.
        flags: shares of members and of others who are flagged (score 1, all else 0) in place of all that.
    """

    name: str
    members: int = 140
    others: int = 1000
    runs: int = 1
    shift: float = 0.9
    baseline: float = 0.5
    drift: float = 0.0
    skewed: bool = False
    subjects: str = "same"
    exposed: float = 0.0
    ties: float = 0.0
    flags: tuple[float, float] | None = None

    def sample(self, rng: np.random.Generator) -> tuple[list[ScoredSubjects], list[ScoredSubjects]]:
        """An attack's runs and a baseline's."""
        size = self.members + self.others
        truth, ids = np.arange(size) < self.members, np.arange(size)
        own, out = self._own(rng, truth), []
        for run in range(self.runs):
            if self.subjects == "fresh":
                own, ids = self._own(rng, truth), np.arange(size) + run * size
            if self.subjects == "redrawn":
                truth = rng.permutation(truth)
            out.append(self._run(rng, own, ids, truth, self._moved(rng, 1)))
        return [attack for attack, _ in out], [other for _, other in out]

    def _own(self, rng: np.random.Generator, truth: np.ndarray) -> np.ndarray:
        own = PERSISTENT * rng.normal(size=len(truth))
        stands_out: np.ndarray = own + EXPOSED * (rng.random(len(truth)) < self.exposed) * truth
        return stands_out

    def _moved(self, rng: np.random.Generator, size: int) -> np.ndarray:
        if not self.skewed:
            return self.drift * rng.normal(size=size)
        return self.drift * np.where(rng.random(size) < 0.1, -4.0, 4 / 9)

    def _run(
        self, rng: np.random.Generator, own: np.ndarray, ids: np.ndarray, truth: np.ndarray, moved: np.ndarray
    ) -> tuple[ScoredSubjects, ScoredSubjects]:
        if self.flags is not None:
            inside, outside = self.flags
            chances = np.where(truth, inside, outside), np.full(len(truth), outside)
            scores = [(rng.random(len(truth)) < chance).astype(float) for chance in chances]
        else:
            noise = np.sqrt(1 - PERSISTENT**2) * rng.normal(size=(2, len(truth)))
            scores = [own + noise[0] + truth * (self.shift + moved), own + noise[1] + truth * self.baseline]
        if self.ties:
            scores = [np.round(score / self.ties) * self.ties for score in scores]
        attack, other = (ScoredSubjects(ids, score, truth) for score in scores)
        return attack, other

    def population(self) -> "Population":
        """The attack and the baseline on very many subjects, each with a run of its own."""
        rng, truth = np.random.default_rng(99), np.arange(2 * POPULATION) < POPULATION
        runs = self._run(rng, self._own(rng, truth), np.arange(len(truth)), truth, self._moved(rng, len(truth)))
        first, second = (auc(run.truth, run.score) for run in runs)
        inside, outside = (np.sort(runs[0].score[side]) for side in (truth, ~truth))
        return Population(inside, outside, first, first - second)

    def alike(self) -> "World":
        """The same where nothing leaks."""
        chance = None if self.flags is None else (self.flags[1], self.flags[1])
        return replace(self, shift=0.0, baseline=0.0, drift=0.0, exposed=0.0, flags=chance)


@dataclass(frozen=True, eq=False)
class Population:
    """The truth about a world.

    Attributes:
        inside: scores of members, ascending.
        outside: and of others.
        auc: of the attack.
        difference: that minus the baseline's.
    """

    inside: np.ndarray
    outside: np.ndarray
    auc: float
    difference: float

    def tpr(self, fpr: float) -> float:
        """TPR at the threshold with that FPR; equal scores in a random order."""
        border = self.outside[-int(fpr * len(self.outside))]
        above, tied = (self.outside > border).mean(), (self.outside == border).mean()
        return float((self.inside > border).mean() + (fpr - above) / tied * (self.inside == border).mean())

    def flagged(self, members: bool, cuts: np.ndarray) -> float:
        """The share of members, or of others, who reach thresholds, mean over these; NaN flags nobody."""
        scores = self.inside if members else self.outside
        below = np.searchsorted(scores, np.nan_to_num(cuts, nan=np.inf), side="left")
        return float(1 - below.mean() / len(scores))


WORLDS = (
    World("nothing leaks", shift=0.0, baseline=0.0),
    World("one run"),
    World("balanced", 1000, 1000),
    World("strong", 140, 1000, shift=2.5, baseline=1.5),
    World("nearly perfect", 50, 2000, shift=4.0, baseline=3.5),
    World("small", 20, 200),
    World("tiny", 10, 100),
    World("ties", 140, 1000, ties=1.0),
    World("rare flags, small", 20, 200, flags=(0.1, 0.02)),
    World("rare flags", 200, 2000, flags=(0.02, 0.005)),
    World("few exposed", 140, 1000, shift=0.0, baseline=0.0, exposed=0.05),
    World("three seeds, same people", 140, 1000, 3),
    World("three seeds that differ", 140, 1000, 3, drift=0.3),
    World("three seeds, members redrawn", 140, 1000, 3, drift=0.3, subjects="redrawn"),
    World("three seeds, new people", 140, 1000, 3, drift=0.3, subjects="fresh"),
    World("three seeds, skewed", 140, 1000, 3, drift=0.1, skewed=True),
    World("five seeds, skewed", 140, 1000, 5, drift=0.1, skewed=True),
)

CLUSTERS = ((30, 33), (30, 50), (10, 100), (5, 200), (3, 300))
"""Communities that are members, as many that are not, and people in each."""
CLASSES = (64, 77, 120, 180, 200, 359)
"""Non-members of each class, of which twenty are members: as in the splits of citation graphs."""
FEW_CLASSES = (2, 3, 3, 4, 5, 5, 6, 8, 10, 12, 15, 20)
"""Strata in which few are no members, beside five members each."""
CORRELATION = 0.3


def in_communities(rng: np.random.Generator, groups: int, size: int, seeds: int = 1) -> list[ScoredSubjects]:
    """Nobody is told, but people of one community have scores alike, and whole communities are members."""
    cluster = np.repeat(np.arange(2 * groups), size)
    own = np.sqrt(CORRELATION) * rng.normal(size=2 * groups)[cluster]
    own += np.sqrt(1 - CORRELATION) * rng.normal(size=len(cluster))
    scores = [own + (seeds > 1) * rng.normal(size=len(own)) for _ in range(seeds)]
    return [ScoredSubjects(np.arange(len(own)), score, cluster < groups, clusters=cluster) for score in scores]


def by_class(
    rng: np.random.Generator, shift: float, seeds: int = 1, sizes: Sequence[int] = CLASSES, members: int = 20
) -> list[ScoredSubjects]:
    """Scores that tell the class too, members being as many of each."""
    strata = np.concatenate([np.full(size + members, label) for label, size in enumerate(sizes)])
    truth = np.concatenate([np.arange(size + members) < members for size in sizes])
    own = PERSISTENT * rng.normal(size=len(truth)) + shift * truth - 1.5 * strata
    scores = [own + np.sqrt(1 - PERSISTENT**2) * rng.normal(size=len(own)) for _ in range(seeds)]
    return [ScoredSubjects(np.arange(len(own)), score, truth, strata=strata) for score in scores]
