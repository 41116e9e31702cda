"""What differential privacy costs in graph learning: accuracy and attacks over epsilon, and time beside none.

    python benchmarks/private_training.py run --dataset Cora --seeds 3
    python benchmarks/private_training.py show
    python benchmarks/private_training.py figure --to curves.png
    python benchmarks/private_training.py cost

`run` trains each method at each epsilon and puts two attacks to what is published: membership by the loss,
and links by how alike two nodes' answers are. `cost` compares a step of `dp-gnn` with one of a plain GraphSAGE.
"""

import time
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from trial_records import TrialRecords, percent, records_option

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
ALONE = {
    "clients": 1,
    "rounds": 20,
    "lr": 0.01,
    "hidden": 16,
    "answer_with": "defended",
    "publish": ("posteriors",),
}
METHODS: dict[str, tuple[str, dict[str, Any], str]] = {
    "dp-mlp": ("dp-mlp", {}, "none"),
    "dp-gnn": ("dp-gnn", {}, "none"),
    "gap-ndp": ("gap-ndp", {}, "none"),
    "gap-edp": ("gap-edp", {}, "none"),
    "randomised response": ("fedavg", ALONE, "edge-randomised-response"),
    "degree-preserving response": ("fedavg", ALONE, "degree-preserving-response"),
    "no noise": ("fedavg", ALONE, "none"),
}
UNIT = {"dp-mlp": "node", "dp-gnn": "node", "gap-ndp": "node", "gap-edp": "edge"}
UNIT |= {"randomised response": "edge", "degree-preserving response": "edge"}
DATASETS = ("Cora", "PubMed", "CS")
RECORDS = records_option("private_training")


@click.group()
def main() -> None:
    """Private graph learning, measured."""


@main.command()
@click.option("--dataset", type=click.Choice(DATASETS), required=True)
@click.option("--method", "methods", multiple=True, type=click.Choice(list(METHODS)), default=tuple(METHODS))
@click.option("--seeds", default=3, show_default=True)
@RECORDS
def run(dataset: str, methods: tuple[str, ...], seeds: int, records: TrialRecords) -> None:
    """Run the trials that are not recorded yet, one after another on one thread."""
    from gaudit.audit.running.trial import use_one_thread
    from gaudit.graphs.datasets.loading import load_dataset

    use_one_thread()
    data = load_dataset(dataset)
    for index in range(seeds):
        for method in methods:
            for epsilon in _of(method):
                records.make(
                    f"{_name(dataset, method, epsilon)} {index}", partial(_trial, data, method, epsilon, index)
                )


def _name(dataset: str, method: str, epsilon: float | None) -> str:
    """A trial's name, less its seed."""
    return f"{dataset}: {method}: {'none' if epsilon is None else epsilon}:"


def _trial(data: Any, method: str, epsilon: float | None, index: int) -> dict[str, Any]:
    from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
    from gaudit.audit.running.trial import run_trial
    from gaudit.audit.statistics.metrics import auc
    from gaudit.errors import InputError

    target, settings, defense = METHODS[method]
    asked = {} if epsilon is None else {"epsilon": epsilon}
    of_defense = asked if defense != "none" else {}
    attacks = (AttackPlan("loss", {"artefact": "posteriors"}), AttackPlan("link-posterior"))
    of_target = {**settings, **({} if of_defense else asked)}
    began = time.process_time()
    try:
        result = run_trial(TrialPlan(target, of_target, defense, of_defense, attacks, seed=0, index=index), data)
    except InputError as error:
        return {"refused": str(error)}
    scores = {
        a.plan.name: (auc(a.judged.truth, a.judged.score), auc(a.blind.truth, a.blind.score))
        for a in result.attacked
    }
    return {"accuracy": result.utility.test, "attacks": scores, "seconds": time.process_time() - began}


@main.command()
@RECORDS
def show(records: TrialRecords) -> None:
    """Print what is recorded as Markdown."""
    every = records.trials
    for dataset in DATASETS:
        if not any(name.startswith(f"{dataset}:") for name in every):
            continue
        click.echo(
            f"### {dataset}\n\n| method | promises for one | what | {' | '.join(f'{e:g}' for e in EPSILONS)} |"
        )
        click.echo("|---" * (3 + len(EPSILONS)) + "|")
        for method in METHODS:
            trials = [records.seeds(_name(dataset, method, epsilon)) for epsilon in _of(method)]
            for what, named in NAMED.items():
                cells = [_cell(ran, what) for ran in trials]
                if any(cells):
                    cells = cells if len(cells) > 1 else cells * len(EPSILONS)
                    click.echo(f"| {method} | {UNIT.get(method, '')} | {named} | {' | '.join(cells)} |")
        click.echo("")


@main.command()
@click.option("--to", type=click.Path(path_type=Path), required=True)
@RECORDS
def figure(to: Path, records: TrialRecords) -> None:
    """Draw accuracy over epsilon: the mean of the seeds, and each of them."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    sheet, panes = pyplot.subplots(1, len(DATASETS), figsize=(12, 4.2), sharey=True, layout="constrained")
    for pane, dataset in zip(panes, DATASETS, strict=True):
        for number, method in enumerate(METHODS):
            colour = pyplot.get_cmap("tab10")(number)
            found = {e: _accuracies(records, _name(dataset, method, e)) for e in _of(method)}
            drawn = [e for e, values in found.items() if values]
            if method == "no noise":
                if drawn:
                    pane.axhline(np.mean(found[None]), color="grey", linestyle="dashed", linewidth=1, label=method)
                continue
            pane.plot(drawn, [np.mean(found[e]) for e in drawn], color=colour, label=f"{method} ({UNIT[method]})")
            for e in drawn:
                pane.scatter([e] * len(found[e]), found[e], color=colour, s=10)
        pane.set(
            xscale="log", xlabel="epsilon", title=dataset, xticks=EPSILONS, xticklabels=[f"{e:g}" for e in EPSILONS]
        )
        pane.minorticks_off()
    panes[0].set_ylabel("test accuracy %")
    sheet.legend(*panes[0].get_legend_handles_labels(), fontsize=8, loc="outside right center")
    sheet.savefig(to, dpi=110)


def _accuracies(records: TrialRecords, name: str) -> list[float]:
    return [100 * one["accuracy"] for one in records.seeds(name) if "accuracy" in one]


NAMED = {"accuracy": "accuracy, %", "loss": "membership, AUC % (blind)", "link-posterior": "links, AUC % (blind)"}


def _of(method: str) -> tuple[float | None, ...]:
    return (None,) if method == "no noise" else EPSILONS


def _cell(trials: list[dict[str, Any]], what: str) -> str:
    done = [one for one in trials if "refused" not in one]
    if not done:
        return "refused" if trials else ""
    if what == "accuracy":
        return percent([one["accuracy"] for one in done])
    if what not in done[0]["attacks"]:
        return ""
    scores, blind = zip(*(one["attacks"][what] for one in done), strict=True)
    return f"{100 * np.mean(scores):.1f} ({100 * np.mean(blind):.1f})"


@main.command()
@click.option("--steps", default=5, show_default=True)
def cost(steps: int) -> None:
    """CPU seconds of a step over all training nodes, private and plain, in one run; and memory by micro-batch."""
    import torch

    from gaudit.audit.running.trial import use_one_thread
    from gaudit.graphs.datasets.loading import load_dataset
    from gaudit.targets.models.model_ensemble import train_models
    from gaudit.targets.models.training_config import TrainingConfig
    from gaudit.targets.models.training_task import TrainingTask

    use_one_thread()
    click.echo(
        "| dataset | layers | at once | private step, s | plain step, s | times | model x at once, MB |\n"
        + "|---" * 7
        + "|"
    )
    for dataset in ("Cora", "PubMed"):
        data = load_dataset(dataset)
        everybody = torch.ones((1, data.num_nodes), dtype=torch.bool)
        recipe = TrainingConfig(architecture="sage", hidden=16, epochs=steps, dropout=0.0)
        task = TrainingTask(data, everybody, recipe, int(data.y.max()) + 1)
        train_models(task, [], np.random.SeedSequence(0))  # compiles
        plain = _seconds(partial(train_models, task, [], np.random.SeedSequence(0))) / steps
        for layers in (1, 2):
            for at_once in (64, 256, 1024):
                asked = {"layers": layers, "at_once": at_once, "project": 0}
                step = (
                    _private(data, {**asked, "steps": 1 + steps}) - _private(data, {**asked, "steps": 1})
                ) / steps
                weights = 2 * data.num_features * 16 + 16 * task.classes * layers
                click.echo(
                    f"| {dataset} | {layers} | {at_once} | {step:.3f} | {plain:.3f} | {step / plain:.1f} "
                    f"| {4e-6 * weights * at_once:.0f} |"
                )


def _private(data: Any, settings: dict[str, Any]) -> float:
    from gaudit.registry import find
    from gaudit.targets.defense import Defense

    target = find("targets", "dp-gnn")(**settings)
    return _seconds(lambda: target(data, Defense(), np.random.SeedSequence(0), lambda message: False))


def _seconds(work: Any) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


if __name__ == "__main__":
    main()
