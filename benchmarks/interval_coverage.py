"""How often the intervals, bounds and tests that gaudit prints hold, in worlds whose truth is known.

    python benchmarks/interval_coverage.py --draws 200 --write docs/sure/coverage.md

Every row is one measure in one world (`coverage_worlds`). An interval is judged as a whole and by each end alone:
its lower end is above the truth, or its upper end below it, in half of 1 - level of the draws at most. A row
*holds* where none of these shares is more than two standard errors too high, the standard error being that of the
nominal share.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click
import numpy as np
from coverage_groups import of_classes, of_clusters, of_groups, of_low_rates, of_pairs
from coverage_rows import NORMAL_SEEDS, Row, ends_of
from coverage_worlds import WORLDS, Population, World
from null_audits import COLUMNS as ALARM_COLUMNS
from null_audits import Alarms, alarms

from gaudit.audit.checks.gate import Status, against_baseline
from gaudit.audit.checks.policy import Gate
from gaudit.audit.statistics.average_precision import average_precision_finding, precision_finding
from gaudit.audit.statistics.balanced_accuracy import (
    advantage_finding,
    balanced_accuracy_finding,
    crossed_thresholds,
)
from gaudit.audit.statistics.comparison import paired
from gaudit.audit.statistics.epsilon import epsilon_lower_bound, gaussian_epsilon, one_run_epsilon
from gaudit.audit.statistics.finding import Finding
from gaudit.audit.statistics.identity_metrics import NAMED, identity_findings
from gaudit.audit.statistics.metrics import accuracy_finding, auc_difference, auc_finding, mean_difference
from gaudit.audit.statistics.null_control import null_finding
from gaudit.audit.statistics.rates import rate_finding
from gaudit.audit.statistics.scored_subjects import ScoredSubjects
from gaudit.audit.statistics.top_ranks import TOP_LEVEL, top_ranks
from gaudit.mechanisms.gaussian import epsilon_of

Runs = list[ScoredSubjects]
Drawn = tuple[float, float, float]  # lower end, upper end, truth
COLUMNS = ("measure", "world", "level", "holds the truth", "lower end too high", "upper end too low", "verdict")
ALPHA = 0.05
RESAMPLES = 200  # of the bootstrap: an audit has 1000


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
            ends = np.array([(*ends_of(f), truth) for f, truth in made])
            middle = float(np.mean([f.estimate for f, _ in made]))
            ends[:, 2] = np.where(np.isnan(ends[:, 2]), middle, ends[:, 2])
            yield Row(name, world.name, known[name].level, 2, ends, NORMAL_SEEDS if world.skewed else "")


def of_nothing(world: World, draws: int) -> Iterator[Row]:
    """Tests that must not find what is not there: levels are the share of draws in which they find nothing."""
    rng, null = np.random.default_rng(1), world.alike()
    tops, controls = [], []
    for _ in range(draws):
        runs, others = null.sample(rng)
        tops.append(top_ranks(runs, others, 0.01))
        controls.append(ends_of(null_finding(runs, 0.95)))
    for name, ps in (
        ("members at the top, by chance", [top.p for top in tops]),
        ("members at the top, beyond a baseline", [top.beyond_blind for top in tops]),
    ):
        yield Row(
            name, world.name, 1 - TOP_LEVEL, 1, np.array([(0.0 if p > TOP_LEVEL else 1.0, 1.0, 0.5) for p in ps])
        )
    yield Row("null control (at 95 %)", world.name, 0.95, 2, np.array([(*ends, 0.5) for ends in controls]))


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


def of_one_run(draws: int) -> Iterator[Row]:
    """Lower bounds of epsilon from one run with many canaries, and from two normals."""
    rng = np.random.default_rng(9)
    for canaries, epsilon in ((100, 0.0), (1000, 1.0), (1000, 3.0)):
        right, made = 1 / (1 + np.exp(-epsilon)), []
        for _ in range(draws):
            inside = rng.random(canaries) < 0.5
            told = np.where(rng.random(canaries) < right, inside, ~inside)
            half = int(canaries // 4)
            found = one_run_epsilon(inside, told + rng.random(canaries) / 2, half, half)
            made.append((*ends_of(found), epsilon))
        yield Row("epsilon at least, one run", f"epsilon {epsilon:g}, {canaries} canaries", 0.95, 1, np.array(made))
    for runs, distance in ((30, 0.0), (100, 1.0), (1000, 3.0)):
        truth, made = epsilon_of(distance, 1e-5) if distance else 0.0, []
        for _ in range(draws):
            found = gaussian_epsilon(rng.normal(size=runs) + distance, rng.normal(size=runs), 1e-5)
            made.append((*ends_of(found), truth))
        yield Row("epsilon at least, two normals", f"distance {distance:g}, {runs} a side", 0.95, 1, np.array(made))


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
            named.append((*ends_of(found[NAMED]), float(shares[:4] @ chances)))
            missed.append((*ends_of(found["missed"]), shares[4]))
        yield Row("re-identification", f"{persons} persons, {seeds} seeds", 0.95, 2, np.array(named))
        yield Row(
            "candidate set without the person", f"{persons} persons, {seeds} seeds", 0.95, 2, np.array(missed)
        )
    for nodes, seeds, drift in ((200, 1, 0.0), (200, 3, 0.0), (1000, 3, 0.02), (1000, 5, 0.02)):
        made = []
        for _ in range(draws):
            hard = rng.random(nodes)
            right = [(hard < 0.8 + drift * rng.normal()).mean() for _ in range(seeds)]
            made.append((*ends_of(accuracy_finding(right, nodes)), 0.8))
        yield Row("accuracy", f"{nodes} nodes, {seeds} seeds, drift {drift:g}", 0.95, 2, np.array(made))
    for name, draw in (
        ("normal", lambda size: rng.normal(size=size)),
        ("skewed", lambda size: _two_points(rng, size)),
    ):
        for seeds in (3, 5, 20):
            drawn = [mean_difference(draw(seeds), np.zeros(seeds)) for _ in range(draws)]
            ends = np.array([(*ends_of(found), 0.0) for found in drawn])
            assumed = NORMAL_SEEDS if name == "skewed" else ""
            yield Row("mean difference over seeds", f"{name}, {seeds} seeds", 0.95, 2, ends, assumed)


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


def page(rows: Sequence[Row], draws: int, audits: int, told_leaks: Sequence[Alarms]) -> str:
    """The whole page."""
    short = [row for row in rows if "**" in row.verdict()]
    assumed = [row for row in rows if "assumes" in row.verdict()]
    told = (
        f"Of {len(rows)} rows, one for each measure in each world, {len(rows) - len(short) - len(assumed)} hold or "
        f"are conservative. {len(short)} are too narrow, and {len(assumed)} more are too narrow\n"
        "because seeds are not normal there."
    )
    head = HEAD.format(draws=draws, audits=audits, told=told)
    middle = MIDDLE.format(draws=draws, error=100 * np.sqrt(0.05 * 0.95 / draws))
    leaks = [ALARM_COLUMNS, ("---",) * len(ALARM_COLUMNS), *(found.cells() for found in told_leaks)]
    return "\n".join((head, *("| " + " | ".join(cells) + " |" for cells in leaks), middle, *table(rows))) + "\n"


HEAD = """# Coverage: how often the intervals hold

How often do the [intervals](../glossary.md#confidence-interval), bounds and tests that gaudit prints hold the
truth? How often does an audit say *leak* where nothing leaks? This page measures both, in simulated worlds
whose truth is known.

**In short.** {told}
[Limits](limits.md) says what that means for a reader.

One command makes this page, in some twenty minutes of CPU time:

```
python benchmarks/interval_coverage.py --draws {draws} --audits {audits} --write docs/sure/coverage.md
```

## How often an audit says *leak* where nothing leaks

A leak is called significant in two cases: the [AUC](../glossary.md#auc) is shown to be above 0.5, or members
are shown to crowd the first ranks. Each case is tested at 2.5 %. Each has to go beyond the attack without the
release, and beyond every public [baseline](../glossary.md#blind-baseline). So an innocent attack is called a
leak in 5 % of audits at most. An audit of several attacks says *leak* at most that many times as often.

The table shows audits of an attack that knows nothing. Each audit has one attack and goes through the whole
verdict. It has 20 members beside 200 others, 140 beside 1,000, or 1,000 beside 1,000, and one
[seed](../glossary.md#seed) or three. In some audits members come in clusters, and some compare within classes.
A cell is the share of audits whose verdict was a level, or *leak found, size not measurable*, with Clopper and
Pearson's 95 % interval. Constant baselines are the worst case, because then the attack has nothing but chance
to beat.
"""

MIDDLE = """
## How often intervals hold

Each row of the table is one measure in one world, with {draws} draws. A share of 5 % is therefore known to
{error:.1f} points (one standard error). With so many rows, about one in forty ends that hold exactly is called
too narrow by chance.

- A row *holds* if the interval misses the truth as rarely as its level says, and if each end alone misses it in
  at most half of these cases. Two standard errors are allowed.
- A row is *conservative* if the interval misses the truth more rarely than that. Otherwise it is *too narrow*.
- *Assumes normal seeds*: every interval over seeds assumes that differences between seeds are normal. In these
  worlds one seed in ten is far off on purpose, and a few seeds often include no such seed. Means over seeds
  alone are called indicative for that reason. Their notes say how often so few seeds miss one.
- Ends count one by one, because one end alone decides. The lower end decides that a leak is found, and the
  upper end that it is small. The ratio that levels rest on has an interval of 90 %, so each end alone is a
  bound of 95 %.
- A test stands in the table as an interval of 0.5. It counts as a miss if the test finds what is not there.
"""


def _listed(part: Callable[[int], Iterator[Row]], draws: int) -> list[Row]:
    return list(part(draws))


@click.command()
@click.option("--draws", default=200, show_default=True, help="Of each world.")
@click.option("--audits", default=5000, show_default=True, help="Null audits in all.")
@click.option("--workers", default=1, show_default=True, help="Processes. The page does not depend on it.")
@click.option("--world", "worlds", multiple=True, help="Only these worlds. Default: all.")
@click.option("--write", type=click.Path(dir_okay=False, path_type=Path), help="The page to write. Default: print.")
def main(draws: int, audits: int, workers: int, worlds: Sequence[str], write: Path | None) -> None:
    """Measure all coverage and print it as a Markdown table."""
    parts = [partial(of_scores, world) for world in WORLDS if not worlds or world.name in worlds]
    parts += [partial(of_nothing, world) for world in WORLDS if not worlds or world.name in worlds]
    grouped = [of_low_rates, of_clusters, of_classes, of_groups, of_pairs]
    parts += [] if worlds else [*grouped, of_epsilon, of_one_run, of_shares, of_gate]
    rows: list[Row] = []
    with ProcessPoolExecutor(workers) as pool:
        done = pool.map(partial(_listed, draws=draws), parts)
        with click.progressbar(done, length=len(parts), label="worlds", file=sys.stderr) as bar:
            for made in bar:
                rows += made
    order = list(dict.fromkeys(row.measure for row in rows))
    told_leaks = [] if worlds else list(alarms(audits))
    content = page(sorted(rows, key=lambda row: order.index(row.measure)), draws, audits, told_leaks)
    if write is None:
        click.echo(content)
    else:
        write.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
