"""How often the intervals, bounds and tests that gaudit prints hold, in worlds whose truth is known.

    python benchmarks/interval_coverage.py --draws 200 --write docs/coverage.md

Every row is one measure in one world (`coverage_worlds`). An interval is judged as a whole and by each end alone:
its lower end is above the truth, or its upper end below it, in half of 1 - level of the draws at most. A row
*holds* where none of these shares is more than two standard errors too high, the standard error being that of the
nominal share.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import click
import numpy as np
from coverage_worlds import CLUSTERS, WORLDS, Population, World, by_class, in_communities
from scipy.stats import norm

from gaudit.audit.checks.gate import Status, against_baseline
from gaudit.audit.checks.policy import Gate
from gaudit.audit.statistics.balanced_accuracy import (
    advantage_finding,
    balanced_accuracy_finding,
    crossed_thresholds,
)
from gaudit.audit.statistics.comparison import paired
from gaudit.audit.statistics.epsilon import epsilon_lower_bound
from gaudit.audit.statistics.finding import Finding
from gaudit.audit.statistics.identity_metrics import NAMED, identity_findings
from gaudit.audit.statistics.metrics import (
    accuracy_finding,
    auc_difference,
    auc_finding,
    average_precision_finding,
    mean_difference,
    precision_finding,
)
from gaudit.audit.statistics.null_control import null_finding
from gaudit.audit.statistics.rates import rate_finding
from gaudit.audit.statistics.scored_subjects import ScoredSubjects
from gaudit.audit.statistics.top_ranks import TOP_LEVEL, top_ranks

Runs = list[ScoredSubjects]
Drawn = tuple[float, float, float]  # lower end, upper end, truth
COLUMNS = ("measure", "world", "level", "holds the truth", "lower end too high", "upper end too low", "verdict")
ALPHA = 0.05
RESAMPLES = 300  # of the bootstrap: an audit has 1000


@dataclass(frozen=True)
class Row:
    """One measure in one world.

    Attributes:
        measure: its name.
        world: that it was measured in.
        level: nominal, of the interval; of a bound or a test alone the nominal share of what holds.
        ends: one or two, that can miss.
        drawn: lower end, upper end and truth of each draw [d, 3].
    """

    measure: str
    world: str
    level: float
    ends: int
    drawn: np.ndarray

    def misses(self) -> tuple[float, float]:
        """The share of lower ends above the truth, and of upper ends below it."""
        low, high, truth = self.drawn.T
        return float((low > truth + 1e-9).mean()), float((high < truth - 1e-9).mean())

    def verdict(self) -> str:
        """Whether it holds its level."""
        above, below = self.misses()
        size, error = len(self.drawn), 1 - self.level
        shares = [(above + below, error), *((miss, error / self.ends) for miss in (above, below))]
        if any(share > nominal + 2 * np.sqrt(nominal * (1 - nominal) / size) for share, nominal in shares):
            return "**too narrow**"
        return "conservative" if above + below < error - 2 * np.sqrt(error * (1 - error) / size) else "holds"

    def cells(self) -> tuple[str, ...]:
        """As the table shows it."""
        above, below = self.misses()
        shares = (f"{100 * share:.1f} %" for share in (1 - above - below, above, below))
        return self.measure, self.world, f"{100 * self.level:g} %", *shares, self.verdict()


def _ends(found: Finding) -> tuple[float, float]:
    low = -np.inf if found.low is None else found.low
    return low, np.inf if found.high is None else found.high


@dataclass(frozen=True)
class Measure:
    """A finding about an attack and a baseline beside it, and the truth that it is about.

    Where ``truth`` is None it is the mean of all estimates: what samples of this size give on average.
    """

    find: Callable[[Runs, Runs], Finding]
    truth: Callable[[Population, Runs], float] | None
    level: float = 0.95


def balanced_at(truth: Population, runs: Runs) -> float:
    """The population's balanced accuracy at the thresholds that the halves of the subjects give."""
    cuts = crossed_thresholds(runs) or []
    gains = [
        truth.flagged(True, cut[run.truth]) - truth.flagged(False, cut[~run.truth])
        for run, cut in zip(runs, cuts, strict=True)
    ]
    return float(1 + np.mean(gains)) / 2


def measures() -> dict[str, Measure]:
    """Everything that is told of an attack's scores."""
    rates = {
        f"TPR at {100 * fpr:g} % FPR": Measure(
            lambda runs, _, fpr=fpr: rate_finding(runs, fpr, resamples=RESAMPLES),
            lambda truth, _, fpr=fpr: truth.tpr(fpr),
        )
        for fpr in (0.05, 0.01)
    }
    return {
        "AUC": Measure(lambda runs, _: auc_finding(runs), lambda truth, _: truth.auc),
        "AUC beyond a baseline": Measure(auc_difference, lambda truth, _: truth.difference),
        **rates,
        "ratio that levels rest on, each end": Measure(
            lambda runs, _: rate_finding(runs, 0.01, 0.9, RESAMPLES), lambda truth, _: truth.tpr(0.01), 0.9
        ),
        "average precision": Measure(lambda runs, _: average_precision_finding(runs), None),
        "precision of as many guesses as members": Measure(lambda runs, _: precision_finding(runs), None),
        "balanced accuracy": Measure(lambda runs, _: balanced_accuracy_finding(runs), balanced_at),
        "advantage": Measure(
            lambda runs, _: advantage_finding(runs), lambda truth, runs: 2 * balanced_at(truth, runs) - 1
        ),
    }


def of_scores(world: World, draws: int) -> Iterator[Row]:
    """Every measure of an attack's scores in one world; those that its subjects cannot resolve are left out."""
    known, rng, population = measures(), np.random.default_rng(0), world.population()
    found: dict[str, list[tuple[Finding, float]]] = {name: [] for name in known}
    for _ in range(draws):
        runs, others = world.sample(rng)
        for name, measure in known.items():
            made = measure.find(runs, others)
            if made.low is not None:
                found[name].append((made, np.nan if measure.truth is None else measure.truth(population, runs)))
    for name, made in found.items():
        if made:
            ends = np.array([(*_ends(f), truth) for f, truth in made])
            middle = float(np.mean([f.estimate for f, _ in made]))
            ends[:, 2] = np.where(np.isnan(ends[:, 2]), middle, ends[:, 2])
            yield Row(name, world.name, known[name].level, 2, ends)


def of_nothing(world: World, draws: int) -> Iterator[Row]:
    """Tests that must not find what is not there: levels are the share of draws in which they find nothing."""
    rng, null = np.random.default_rng(1), world.alike()
    tops, controls = [], []
    for _ in range(draws):
        runs, others = null.sample(rng)
        tops.append(top_ranks(runs, others, 0.01))
        controls.append(_ends(null_finding(runs, 0.95)))
    for name, ps in (
        ("members at the top, by chance", [top.p for top in tops]),
        ("members at the top, beyond a baseline", [top.beyond_blind for top in tops]),
    ):
        yield Row(
            name, world.name, 1 - TOP_LEVEL, 1, np.array([(0.0 if p > TOP_LEVEL else 1.0, 1.0, 0.5) for p in ps])
        )
    yield Row("null control (at 95 %)", world.name, 0.95, 2, np.array([(*ends, 0.5) for ends in controls]))


def of_clusters(draws: int) -> Iterator[Row]:
    """Members that are whole communities: nothing leaks, and people of one community are alike."""
    rng = np.random.default_rng(5)
    for groups, size in CLUSTERS:
        for seeds in (1, 3) if groups == CLUSTERS[0][0] else (1,):
            found: dict[str, list[tuple[float, float, float]]] = {}
            for _ in range(draws):
                runs = in_communities(rng, groups, size, seeds)
                noise = [replace(run, score=rng.normal(size=len(run.score))) for run in runs]
                for name, made, truth in (
                    ("AUC", auc_finding(runs), 0.5),
                    ("AUC beyond a baseline", auc_difference(runs, noise), 0.0),
                    ("TPR at 5 % FPR", rate_finding(runs, 0.05, resamples=RESAMPLES), 0.05),
                    ("balanced accuracy", balanced_accuracy_finding(runs), 0.5),
                ):
                    found.setdefault(name, []).append((*_ends(made), truth))
            world = f"{groups} communities of {size} are members, {seeds} seed{'s' if seeds > 1 else ''}"
            yield from (Row(name, world, 0.95, 2, np.array(made)) for name, made in found.items())


def of_classes(draws: int) -> Iterator[Row]:
    """Members are twenty of each class, scores tell the class, and like is compared with like."""
    rng = np.random.default_rng(6)
    for shift in (0.0, 0.9, 2.5):
        for seeds in (1, 3):
            found: dict[str, list[tuple[float, float, float]]] = {}
            for _ in range(draws):
                runs = by_class(rng, shift, seeds)
                scaled = [run.standardised() for run in runs]
                found.setdefault("AUC", []).append((*_ends(auc_finding(runs)), norm.cdf(shift / np.sqrt(2))))
                for fpr in (0.05, 0.01):
                    made = rate_finding(scaled, fpr, resamples=RESAMPLES)
                    truth = norm.sf(norm.isf(fpr) - shift)
                    found.setdefault(f"TPR at {100 * fpr:g} % FPR", []).append((*_ends(made), truth))
            world = f"within classes, shift {shift:g}, {seeds} seed{'s' if seeds > 1 else ''}"
            yield from (Row(name, world, 0.95, 2, np.array(made)) for name, made in found.items())


def of_epsilon(draws: int) -> Iterator[Row]:
    """The lower bound of epsilon, on flags of a mechanism whose epsilon is known."""
    rng = np.random.default_rng(2)
    for trials, epsilon in ((100, 0.0), (100, 1.0), (1000, 1.0), (1000, 4.0)):
        right = 1 / (1 + np.exp(-epsilon))
        made = []
        for seed in range(draws):
            inside, outside = rng.random(trials) < right, rng.random(trials) >= right
            found = epsilon_lower_bound(inside, outside, seed=seed)
            made.append((found.low, np.inf, epsilon))
        yield Row(
            "epsilon at least",
            f"randomised response, epsilon {epsilon:g}, {trials} a side",
            0.95,
            1,
            np.array(made),
        )


def of_shares(draws: int) -> Iterator[Row]:
    """Shares of persons and of test nodes, and means over seeds."""
    rng = np.random.default_rng(3)
    for persons, seeds in ((30, 1), (300, 1), (300, 3)):
        chances = 1 / np.array([1, 3, 8, 30])
        named, missed, shares = [], [], np.array([0.1, 0.3, 0.3, 0.2, 0.1])
        for _ in range(draws):
            kinds = rng.choice(5, persons, p=shares)
            runs = [_identities(rng, kinds, chances) for _ in range(seeds)]
            found = identity_findings(runs)
            named.append((*_ends(found[NAMED]), float(shares[:4] @ chances)))
            missed.append((*_ends(found["missed"]), shares[4]))
        yield Row("re-identification", f"{persons} persons, {seeds} seeds", 0.95, 2, np.array(named))
        yield Row(
            "candidate set without the person", f"{persons} persons, {seeds} seeds", 0.95, 2, np.array(missed)
        )
    for nodes, seeds, drift in ((200, 1, 0.0), (200, 3, 0.0), (1000, 3, 0.02)):
        made = []
        for _ in range(draws):
            hard = rng.random(nodes)
            right = [(hard < 0.8 + drift * rng.normal()).mean() for _ in range(seeds)]
            made.append((*_ends(accuracy_finding(right, nodes)), 0.8))
        yield Row("accuracy", f"{nodes} nodes, {seeds} seeds, drift {drift:g}", 0.95, 2, np.array(made))
    for name, draw in (
        ("normal", lambda size: rng.normal(size=size)),
        ("skewed", lambda size: _two_points(rng, size)),
    ):
        for seeds in (3, 5, 20):
            drawn = [mean_difference(draw(seeds), np.zeros(seeds)) for _ in range(draws)]
            ends = np.array([(*_ends(found), 0.0) for found in drawn])
            yield Row("mean difference over seeds", f"{name}, {seeds} seeds", 0.95, 2, ends)


def _identities(rng: np.random.Generator, kinds: np.ndarray, chances: np.ndarray) -> ScoredSubjects:
    """Every person of a kind has its own node among as many candidates; those of the last kind are missed."""
    score = np.append(np.append(chances, 0.0)[kinds], 0.0)
    return ScoredSubjects(np.arange(len(score)), score, np.arange(len(score)) < len(kinds))


def _two_points(rng: np.random.Generator, size: int) -> np.ndarray:
    """Nine of ten are 1, the tenth -9: their mean is 0."""
    return np.where(rng.random(size) < 0.1, -9.0, 1.0)


def of_gate(draws: int) -> Iterator[Row]:
    """How often `gaudit check` calls no rise of the mean a regression."""
    rng = np.random.default_rng(4)
    for name, draw in (
        ("normal", lambda size: 0.01 * rng.normal(size=size)),
        ("nine of ten rise, the tenth falls", lambda size: 0.01 * _two_points(rng, size)),
    ):
        for seeds in (3, 5, 10):
            made = []
            for _ in range(draws):
                found = paired(0.7 + draw(seeds), np.full(seeds, 0.7), most=Gate().largest_fall)
                alarm = against_baseline(found, "auc", 1e-9, ALPHA, ALPHA).status is Status.REGRESSED
                made.append((float(alarm), 1.0, 0.5))
            yield Row("regressed (`gaudit check`)", f"{name}, {seeds} seeds", 1 - ALPHA, 1, np.array(made))


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Markdown lines."""
    yield "| " + " | ".join(COLUMNS) + " |"
    yield "|" + " --- |" * len(COLUMNS)
    for row in rows:
        yield "| " + " | ".join(row.cells()) + " |"


def page(rows: Sequence[Row], draws: int) -> str:
    """The whole page."""
    short = [row for row in rows if "narrow" in row.verdict()]
    told = f"{len(rows) - len(short)} of {len(rows)} rows hold or are conservative"
    head = HEAD.format(draws=draws, error=100 * np.sqrt(0.05 * 0.95 / draws), told=told)
    return head + "\n".join(table(rows)) + "\n"


HEAD = """# Coverage: how often the intervals hold

This page measures every interval, bound and test that gaudit prints, in simulated worlds whose truth is known. One
command makes it, in some ten minutes of CPU time:

```
python benchmarks/interval_coverage.py --draws {draws} --write docs/coverage.md
```

{told}. Each row has {draws} draws, so that a share of 5 % is known to {error:.1f} points (one standard error). With
so many rows, about one in forty ends that hold exactly is called too narrow by chance.

- A row *holds* if the interval misses the truth as rarely as its level says, and each of its ends alone in at most
  half of these cases, up to two standard errors.
- It is *conservative* if it misses more rarely than that, and *too narrow* otherwise.
- Ends count one by one, because one end alone decides: the lower one that a leak is found, the upper one that it is
  small. The ratio that levels rest on has an interval of 90 %, so that each end alone is a bound of 95 %.
- Tests stand here as intervals of 0.5 that are missed where the test finds what is not there.

What the rows that are too narrow mean for a reader is told in [limits](limits.md).

"""


@click.command()
@click.option("--draws", default=200, show_default=True, help="Of each world.")
@click.option("--world", "worlds", multiple=True, help="Only these worlds. Default: all.")
@click.option("--write", type=click.Path(dir_okay=False, path_type=Path), help="The page to write. Default: print.")
def main(draws: int, worlds: Sequence[str], write: Path | None) -> None:
    """Measure all coverage and print it as a Markdown table."""
    parts = [partial(of_scores, world) for world in WORLDS if not worlds or world.name in worlds]
    parts += [partial(of_nothing, world) for world in WORLDS if not worlds or world.name in worlds]
    parts += [] if worlds else [of_clusters, of_classes, of_epsilon, of_shares, of_gate]
    rows: list[Row] = []
    with click.progressbar(parts, label="worlds", file=sys.stderr) as bar:
        for part in bar:
            rows += part(draws)
    order = list(dict.fromkeys(row.measure for row in rows))
    content = page(sorted(rows, key=lambda row: order.index(row.measure)), draws)
    if write is None:
        click.echo(content)
    else:
        write.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
