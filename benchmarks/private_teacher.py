"""A release with a private teacher: what it is worth, and what every attack finds beside what theory allows.

    python benchmarks/private_teacher.py --dataset Cora --epsilon 4 --epsilon 2 --epsilon 1 --seeds 5
    python benchmarks/private_teacher.py --dataset CiteSeer --epsilon 4 --attack nearest --attack statistic-reading

Each row is one run of the whole pipeline; finished rows are kept in a file and not run again. Accuracies are of
test nodes in per cent: of the teacher's guesses, of the release with models tuned on these, and without tuning.
Attacks are told by their AUC in per cent, within classes; the bound is Phi(1 / (sigma sqrt 2)). Edges between
clients and all labels of the subjects are known to the direct attack on the statistic.
"""

import json
import time
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch

from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.running.trial import attacks_on, use_one_thread
from gaudit.audit.statistics.metrics import auc_finding
from gaudit.defenses.training.private_teacher import PrivateTeacher
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.registry import find
from gaudit.targets.party import Client

ATTACKS = ("nearest", "mia", "base-offline", "statistic-reading")


class Marked(PrivateTeacher):
    """The defense, with a note of how many guesses at test nodes are right."""

    right = float("nan")

    def on_labels(self, *given: Any) -> list[Client]:
        taught = super().on_labels(*given)
        guessed = torch.cat([c.y_train[c.test] == c.y[c.test] for c in taught])
        self.right = float(guessed.float().mean())
        return taught


def measured(
    dataset: str, target: str, epsilon: float, seed: int, rounds: int, attacks: tuple[str, ...]
) -> dict[str, Any]:
    """One run and all attacks on it."""
    began, data, kind = time.process_time(), load_dataset(dataset), find("targets", target)
    settings = kind.preset("paper", data)
    if rounds:
        settings |= {"rounds": rounds}
        if "checkpoints" in kind.Settings.model_fields:
            settings |= {"checkpoints": (rounds // 2, rounds)}
    plans = tuple(AttackPlan(name, {}, find("attacks", name).observer) for name in attacks)
    plan = TrialPlan(target, settings, "private-teacher", {"epsilon": epsilon}, plans, seed=0, index=seed)
    defense = Marked(epsilon=epsilon)
    run = plan.make_target()(data, defense, plan.root(), plan.keeps())
    result = attacks_on(plan, run, data, plan.root())
    found = {a.plan.name: auc_finding([a.judged]) for a in result.attacked}
    return {
        "graph": dataset,
        "target": target,
        "epsilon": epsilon,
        "seed": seed,
        "teacher": defense.right,
        "accuracy": run.utility.test,
        "untuned": run.utility.test_before_tuning,
        "bound": defense.curve().most_auc(),
        "auc": {name: [one.estimate, one.low, one.high] for name, one in found.items()},
        "refused": result.refused,
        "rounds": rounds,
        "cpu": time.process_time() - began,
    }


def shown(row: dict[str, Any]) -> str:
    """A row as a line."""
    told = [f"{100 * row[name]:.1f}" for name in ("teacher", "accuracy", "untuned")]
    aucs = [
        f"{name} {100 * auc:.1f} [{100 * low:.1f}, {100 * high:.1f}]"
        for name, (auc, low, high) in row["auc"].items()
    ]
    head = f"{row['graph']} {row['target']} epsilon {row['epsilon']:g} seed {row['seed']}"
    accuracy = "teacher {}, accuracy {}, untuned {}".format(*told)
    return f"{head}: {accuracy}; {', '.join(aucs)}; bound {100 * row['bound']:.1f}; {row['cpu']:.0f} CPU s"


@click.command()
@click.option("--dataset", default="Cora", show_default=True)
@click.option("--target", default="fedgc", show_default=True)
@click.option("--epsilon", "epsilons", type=float, multiple=True, default=(4.0, 2.0, 1.0), show_default=True)
@click.option("--seeds", default=5, show_default=True)
@click.option("--first-seed", default=0, show_default=True)
@click.option("--rounds", default=0, show_default=True, help="0: as published")
@click.option("--attack", "attacks", multiple=True, default=ATTACKS, show_default=True)
@click.option("--file", type=click.Path(path_type=Path), default=Path("private_teacher.jsonl"), show_default=True)
def main(
    dataset: str,
    target: str,
    epsilons: tuple[float, ...],
    seeds: int,
    first_seed: int,
    rounds: int,
    attacks: tuple[str, ...],
    file: Path,
) -> None:
    """Runs what the file does not hold yet, and shows each row and the means."""
    use_one_thread()
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    for seed in range(first_seed, first_seed + seeds):
        for epsilon in epsilons:
            if any(_key(row) == (dataset, target, epsilon, seed, rounds) for row in rows):
                continue
            rows.append(measured(dataset, target, epsilon, seed, rounds, attacks))
            with file.open("a") as stream:
                stream.write(json.dumps(rows[-1]) + "\n")
            click.echo(shown(rows[-1]))
    for epsilon in epsilons:
        own = [row for row in rows if _key(row)[:3] == (dataset, target, epsilon) and row["rounds"] == rounds]
        click.echo(f"epsilon {epsilon:g}, {len(own)} seeds: {_means(own)}")


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["graph"], row["target"], row["epsilon"], row["seed"], row["rounds"]


def _means(rows: list[dict[str, Any]]) -> str:
    columns = {name: [row[name] for row in rows] for name in ("teacher", "accuracy", "untuned")}
    columns |= {name: [row["auc"][name][0] for row in rows if name in row["auc"]] for name in ATTACKS}
    told = [(name, 100 * np.array(values)) for name, values in columns.items() if values]
    return ", ".join(f"{name} {values.mean():.1f} +- {values.std():.1f}" for name, values in told)


if __name__ == "__main__":
    main()
