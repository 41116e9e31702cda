"""How often the 95 % intervals hold the truth, in worlds whose truth is known.

    python benchmarks/interval_coverage.py --metric auc --metric tpr@1% --simulations 2000

Binormal runs: the score of a subject is its own property (half of the variance, the same in all runs), noise of
the run, and for members a shift that varies from run to run ("drift", its standard deviation); "exposed" is the
share of members, drawn with the subjects, who stand out in every run. Membership is
the same in all runs, drawn anew in each ("redrawn"), or that of new subjects in each ("fresh"). The standard
error of a share of 2,000 is 0.5 points.
"""

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from functools import partial

import click
import numpy as np
from scipy.stats import norm

from gaudit.audit.statistics.balanced_accuracy import (
    advantage_finding,
    balanced_accuracy_finding,
    crossed_thresholds,
)
from gaudit.audit.statistics.finding import Finding
from gaudit.audit.statistics.metrics import ScoredSubjects, auc_finding, average_precision_finding
from gaudit.audit.statistics.rates import tpr_at_fpr_finding

PERSISTENT = np.sqrt(0.5)
EXPOSED = 6.0


@dataclass(frozen=True)
class World:
    """One setting: subjects, runs, how well members are told, and how much that varies from run to run."""

    members: int = 140
    others: int = 1000
    runs: int = 1
    shift: float = 0.9
    drift: float = 0.0
    subjects: str = "same"
    exposed: float = 0.0

    def sample(self, rng: np.random.Generator) -> list[ScoredSubjects]:
        size, out = self.members + self.others, []
        own = PERSISTENT * rng.normal(size=size)
        own += EXPOSED * (rng.random(size) < self.exposed) * (np.arange(size) < self.members)
        for run in range(self.runs):
            truth, ids = np.arange(size) < self.members, np.arange(size)
            if self.subjects == "fresh":
                own, ids = PERSISTENT * rng.normal(size=size), ids + run * size
            if self.subjects == "redrawn":
                truth = rng.permutation(truth)
            noise = np.sqrt(1 - PERSISTENT**2) * rng.normal(size=size)
            out.append(ScoredSubjects(ids, own + noise + truth * (self.shift + self.drift * rng.normal()), truth))
        return out

    def auc(self) -> float:
        spread = np.sqrt(2 + self.drift**2)
        return float(self._mixed(*(norm.cdf(shift / spread) for shift in (self.shift, self.shift + EXPOSED))))

    def tpr(self, threshold: float | np.ndarray) -> np.ndarray:
        spread = np.sqrt(1 + self.drift**2)
        return self._mixed(*(norm.sf((threshold - shift) / spread) for shift in (self.shift, self.shift + EXPOSED)))

    def _mixed(self, most: np.ndarray, exposed: np.ndarray) -> np.ndarray:
        mixed: np.ndarray = (1 - self.exposed) * most + self.exposed * exposed
        return mixed


@dataclass(frozen=True)
class Measure:
    """A finding and the truth that it is about; None: the mean of all estimates."""

    find: Callable[[list[ScoredSubjects]], Finding]
    truth: Callable[[World, list[ScoredSubjects]], float] | None = None


def advantage_at(world: World, runs: list[ScoredSubjects], threshold: float | None = None) -> float:
    """The population's advantage, at a threshold or at those that the halves of the subjects give."""
    cuts = crossed_thresholds(runs) if threshold is None else [np.full(len(run.truth), threshold) for run in runs]
    gains = []
    for run, cut in zip(runs, cuts or [], strict=True):
        flagged = np.where(run.truth, world.tpr(cut), norm.sf(cut))
        flagged[np.isnan(cut)] = 0.0  # nobody is flagged
        gains.append(flagged[run.truth].mean() - flagged[~run.truth].mean())
    return float(np.mean(gains))


def _measures(resamples: int) -> dict[str, Measure]:
    tpr = partial(tpr_at_fpr_finding, resamples=resamples)
    return {
        "auc": Measure(auc_finding, lambda world, runs: world.auc()),
        "average precision": Measure(average_precision_finding),
        "advantage": Measure(advantage_finding, advantage_at),
        "balanced accuracy": Measure(
            balanced_accuracy_finding, lambda world, runs: (1 + advantage_at(world, runs)) / 2
        ),
        "advantage at 0.5": Measure(
            partial(advantage_finding, threshold=0.5), lambda world, runs: advantage_at(world, runs, 0.5)
        ),
        "tpr@5%": Measure(partial(tpr, fpr=0.05), lambda world, runs: float(world.tpr(norm.isf(0.05)))),
        "tpr@1%": Measure(partial(tpr, fpr=0.01), lambda world, runs: float(world.tpr(norm.isf(0.01)))),
    }


def _worlds(quick: bool) -> list[World]:
    worlds = []
    for members, others in ((140, 1000), (600, 600)):
        worlds += [World(members, others, shift=shift) for shift in (0.0, 0.9, 2.5)]
        for subjects in ("same", "redrawn") if quick else ("same", "redrawn", "fresh"):
            for runs in (2, 5) if quick else (2, 3, 5):
                worlds += [World(members, others, runs, 0.9, drift, subjects) for drift in (0.0, 0.4)]
    return worlds + [World(members, 1000, 10, 0.0, exposed=0.03) for members in (30, 60, 140)]


def coverage(
    measure: Measure, world: World, simulations: int, seed: int = 0
) -> tuple[float, float, float, float] | None:
    """Share of intervals that hold the truth, that lie above it, that lie below it, and their mean width."""
    rng = np.random.default_rng(seed)
    found, truths = [], []
    for _ in range(simulations):
        runs = world.sample(rng)
        found.append(measure.find(runs))
        if found[-1].low is None:
            return None
        truths.append(np.nan if measure.truth is None else measure.truth(world, runs))
    low, high, estimate = (
        np.array([getattr(f, name) for f in found], float) for name in ("low", "high", "estimate")
    )
    truth = np.full(simulations, estimate.mean()) if measure.truth is None else np.array(truths)
    above, below = float((low > truth).mean()), float((high < truth).mean())
    return 1 - above - below, above, below, float((high - low).mean())


@click.command()
@click.option("--metric", "metrics", multiple=True, type=click.Choice(sorted(_measures(1))), help="Default: all.")
@click.option("--simulations", default=2000, show_default=True)
@click.option("--resamples", default=200, show_default=True, help="Of the bootstrap.")
@click.option("--quick", is_flag=True, help="Fewer settings.")
def main(metrics: Sequence[str], simulations: int, resamples: int, quick: bool) -> None:
    """Print a Markdown table of coverage."""
    measures = _measures(resamples)
    click.echo(
        "| metric | members | non-members | runs | shift | drift | subjects | exposed "
        "| covers | too high | too low | width |"
    )
    click.echo("| --- " * 12 + "|")
    for name in metrics or measures:
        for world in _worlds(quick):
            share = coverage(measures[name], world, simulations)
            shown = ["not measurable"] * 4 if share is None else [*(f"{100 * x:.1f} %" for x in share[:3])]
            shown += [] if share is None else [f"{share[3]:.3f}"]
            cells = [name, *astuple(world), *shown]
            click.echo("| " + " | ".join(map(str, cells)) + " |")


if __name__ == "__main__":
    main()
