"""False alarms and power of the decision rule of `gaudit check`, on recorded runs of a real graph.

    GAUDIT_DATA=... python benchmarks/gate.py record    # trains; writes recorded/cora_classifier_auc.json
    python benchmarks/gate.py simulate                  # draws gates from it
    python benchmarks/gate.py skew                      # false alarms where rare falls make up for many rises
    python benchmarks/gate.py reach                     # the smallest rise that is shown, by seeds and baseline

Recorded are AUCs of the attack `loss` on the target `classifier` on Cora: two trainings on each of many splits into
members and non-members, that differ in nothing but the training's random numbers. Two trainings on one split are
what a change of code looks like that changes no privacy; one that does is the same plus 0.05 on the candidate.

A simulated gate draws K splits for the baseline. The paired rule measures the candidate on the same splits (what
gaudit does); the unpaired rules measure it on others, as whoever does not pin the seeds.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_ind

from gaudit.audit.checks.gate import Status, against_baseline
from gaudit.audit.checks.policy import Gate
from gaudit.audit.statistics.comparison import Comparison, paired

if TYPE_CHECKING:
    from torch_geometric.data import Data

FILE = Path(__file__).parent / "recorded" / "cora_classifier_auc.json"
MARGIN, RISE, ALPHA = 0.02, 0.05, 0.05
TRAININGS = 2
FALL = Gate().largest_fall
Floats = NDArray[np.float64]


@click.group()
def main() -> None:
    """The gate's false alarms and power."""


@main.command()
@click.option("--splits", default=100, show_default=True)
def record(splits: int) -> None:
    """Train on every split twice, with many and with few members, and write the AUCs."""
    from gaudit.graphs.datasets.loading import load_dataset

    data = load_dataset("Cora")
    content = {
        "what": "AUC of 'loss' on 'classifier', quick preset, Cora: a row per split, a column per training",
        "command": f"python benchmarks/gate.py record --splits {splits}",
        "runs": [recorded(data, share, splits) for share in (0.8, 0.1)],
    }
    FILE.parent.mkdir(exist_ok=True)
    text = re.sub(r"\[\s+([\d.]+),\s+([\d.]+)\s+\]", r"[\1, \2]", json.dumps(content, indent=1))  # a split, a line
    FILE.write_text(text + "\n", encoding="utf-8")


def recorded(data: "Data", in_question: float, splits: int) -> dict[str, object]:
    """AUCs of all splits with one share of nodes in question."""
    import torch

    torch.set_num_threads(1)
    rows, members = [], 0
    with click.progressbar(range(splits), label=f"{in_question:g} of the nodes") as bar:
        for split in bar:
            row = []
            for training in range(TRAININGS):
                value, members = attacked(data, in_question, split, training)
                row.append(round(value, 6))
            rows.append(row)
    return {"in_question": in_question, "members": members, "auc": rows}


def attacked(data: "Data", in_question: float, split: int, training: int) -> tuple[float, int]:
    """The AUC of one training on one split, and the number of members."""
    from gaudit.attacks.membership.loss import Loss
    from gaudit.audit.games.referee import judge
    from gaudit.audit.statistics.metrics import auc
    from gaudit.randomness import branch
    from gaudit.targets.classification.classifier import Classifier
    from gaudit.targets.defense import Defense
    from gaudit.targets.game import Adversary

    class Redrawn(Classifier):
        """Members drawn by the split alone, whatever the seed of the run."""

        def _secrets(self, data, seed):  # noqa: ANN001, ANN202
            return super()._secrets(data, branch(np.random.SeedSequence(0), split))

    seed = branch(np.random.SeedSequence(1), split, training)
    run = Redrawn(in_question=in_question, publish=["posteriors"]).run(data, Defense(), seed, lambda message: True)
    secrets = run.secrets["label-membership"]
    attack = Loss()
    given, _ = secrets.grant(data, Adversary(attack, recipe=run.recipe), seed)
    scores = attack(given.renamed(run.transcript.seen_by("public")), given.knowledge, seed)
    judged = judge(scores, given, secrets)
    return auc(judged.truth, judged.score), int(secrets.truth.sum())


def decided(candidate: Floats, baseline: Floats) -> Status:
    """What `gaudit check` says."""
    return against_baseline(paired(candidate, baseline, most=FALL), "auc", MARGIN, ALPHA, ALPHA).status


def gate(candidate: Floats, baseline: Floats) -> bool:
    return decided(candidate, baseline) is Status.REGRESSED


def passed(candidate: Floats, baseline: Floats) -> bool:
    return decided(candidate, baseline) is Status.PASS


def welch(candidate: Floats, baseline: Floats) -> bool:
    rose = candidate.mean() - baseline.mean() > MARGIN
    return bool(rose and ttest_ind(candidate, baseline, equal_var=False, alternative="greater").pvalue < ALPHA)


def mean_above(candidate: Floats, baseline: Floats) -> bool:
    return bool(candidate.mean() - baseline.mean() > MARGIN)


def one_run_above(candidate: Floats, baseline: Floats) -> bool:
    return bool(candidate[0] - baseline[0] > MARGIN)


RULES: dict[str, tuple[Callable[[Floats, Floats], bool], bool]] = {
    "gaudit check: paired, interval and margin": (gate, True),
    "the same rule where nothing is shared: other splits": (gate, False),
    "unpaired Welch and margin": (welch, False),
    "mean above margin, other splits": (mean_above, False),
    "one run above margin, other split": (one_run_above, False),
}


def alarms(
    auc: Floats, rule: Callable[[Floats, Floats], bool], same_splits: bool, seeds: int, rise: float, gates: int
) -> float:
    """How often a rule answers yes to a candidate that leaks ``rise`` more."""
    rng, found = np.random.default_rng([seeds, int(same_splits)]), 0
    for _ in range(gates):
        drawn = rng.choice(len(auc), 2 * seeds, replace=False)
        splits, others = drawn[:seeds], drawn[seeds:]
        first = rng.integers(0, 2, seeds)
        baseline = auc[splits, first]
        candidate = auc[splits, 1 - first] if same_splits else auc[others, first]
        found += rule(candidate + rise, baseline)
    return found / gates


@main.command()
@click.option("--gates", default=2000, show_default=True, help="Simulated, for each cell of the table.")
def simulate(gates: int) -> None:
    """Print a Markdown table."""
    content = json.loads(FILE.read_text(encoding="utf-8"))
    click.echo(
        f"Margin {MARGIN:g}, alpha {ALPHA:g}, {gates} gates each; the standard error of 5 % is {spread(gates)}.\n"
    )
    click.echo(f"| members | rule | seeds | false alarms | power for +{RISE:g} |")
    click.echo("| --- " * 5 + "|")
    for run in content["runs"]:
        auc = np.array(run["auc"])
        for name, (rule, same_splits) in RULES.items():
            for seeds in (5, 10):
                shares = [alarms(auc, rule, same_splits, seeds, rise, gates) for rise in (0.0, RISE)]
                shown = " | ".join(f"{100 * share:.1f} %" for share in shares)
                click.echo(f"| {run['members']} | {name} | {seeds} | {shown} |")
        for seeds in (5, 10):
            share = alarms(auc, passed, True, seeds, 0.0, gates)
            click.echo(f"\nWithout a change gaudit check passes {100 * share:.1f} % with {seeds} seeds.")
        apart, within = auc.mean(1).std(ddof=1), np.diff(auc, axis=1).std() / np.sqrt(2)
        click.echo(
            f"\n{run['members']} members: SD over splits {apart:.4f}, over trainings on one split {within:.4f}.\n"
        )


@main.command()
@click.option("--gates", default=4000, show_default=True, help="Simulated, for each cell of the table.")
def skew(gates: int) -> None:
    """Print false alarms on differences whose mean is 0: most rise a little, a rare one falls far."""
    seeds = (3, 5, 10, 20)
    click.echo(f"| rare | rise | test | {' | '.join(f'{k} seeds' for k in seeds)} |\n" + "| --- " * 7 + "|")
    for rare, rise in ((0.1, 0.01), (0.1, 0.03), (0.2, 0.03), (0.2, 0.05)):
        for name, rule, most in (
            ("Student's t alone", student, FALL),
            (f"`largest_fall = {FALL:g}`", shown, FALL),
            ("`largest_fall = 1`", shown, 1.0),
        ):
            shares = [skewed(rare, rise, k, gates, rule, most) for k in seeds]
            click.echo(f"| {rare:.0%} | +{rise:g} | {name} | {' | '.join(f'{s:.1%}' for s in shares)} |")


def skewed(
    rare: float, rise: float, seeds: int, gates: int, rule: Callable[[Comparison], bool], most: float
) -> float:
    """False alarms over a baseline of 0.8, at hardly any margin."""
    rng, found = np.random.default_rng([seeds, round(100 * rare)]), 0
    for _ in range(gates):
        falls = rng.random(seeds) < rare
        found += rule(
            paired(0.8 + np.where(falls, -rise * (1 - rare) / rare, rise), np.full(seeds, 0.8), most=most)
        )
    return found / gates


def student(found: Comparison) -> bool:
    return found.mean > found.reach(ALPHA)


def shown(found: Comparison) -> bool:
    return against_baseline(found, "auc", 1e-9, ALPHA, ALPHA).status is Status.REGRESSED


@main.command()
def reach() -> None:
    """Print the smallest rise of an AUC, the same in every seed, that is called a regression."""
    seeds, rises = (5, 8, 10, 20, 40), np.arange(0.005, 0.5, 0.001)
    click.echo(
        f"| baseline | `largest_fall` | {' | '.join(f'{k} seeds' for k in seeds)} |\n"
        + "| --- " * (len(seeds) + 2)
        + "|"
    )
    for start, most in ((0.55, FALL), (0.6, FALL), (0.8, FALL), (0.8, 1.0), (0.8, 0.03)):
        even = [(np.full(k, start), [r for r in rises if start + r <= 1]) for k in seeds]
        seen = [[r for r in possible if shown(paired(old + r, old, most=most))] for old, possible in even]
        least = " | ".join(f"+{min(part):.3f}" if part else "none" for part in seen)
        click.echo(f"| {start:g} | {most:g} | {least} |")


def spread(gates: int) -> str:
    """The standard error of a share of 5 %."""
    return f"{100 * np.sqrt(0.05 * 0.95 / gates):.1f} points"


if __name__ == "__main__":
    main()
