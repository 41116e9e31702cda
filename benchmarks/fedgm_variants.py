"""FedGM's cheapest defenses: its first stage alone, a start from noise, a private teacher, and all of them.

    python benchmarks/fedgm_variants.py run --seeds 3
    python benchmarks/fedgm_variants.py show

Trials without a teacher are those of ``gaudit reproduce fedgm:table2``; here are those with one, of the first
stage, with the same seeds, partitions and splits. What `label-pursuit` finds does not depend on the first
stage: it reads the class gradients of one round of the second, after one round of the first, and knows who holds
which node. After the first stage alone none are sent.
"""

import time
from functools import partial
from typing import Any

import click
import numpy as np
from trial_records import TrialRecords, percent, records_option

VARIANTS: dict[str, tuple[str, str]] = {  # first features, defense
    "as published": ("real", "none"),
    "from noise": ("noise", "none"),
    "private teacher": ("real", "private-teacher"),
    "private teacher, from noise": ("noise", "private-teacher"),
}
ONE_ROUND = {"rounds": 1, "refinements": 1, "test": {"epochs": 1, "models": 1}}
SHORT = {
    "as published": "FedGM, released before and after stage 2",
    "from noise": "FedGM, released before and after stage 2, from noise",
}
"""What the table calls those that it has."""
RECORDS = records_option("fedgm_variants")


@click.group()
def main() -> None:
    """Accuracy and attacks by variant and stage."""


@main.command()
@click.option("--dataset", default="Cora", show_default=True)
@click.option("--seeds", default=3, show_default=True)
@click.option("--variant", "variants", multiple=True, type=click.Choice(list(VARIANTS)), default=tuple(VARIANTS))
@RECORDS
def run(dataset: str, seeds: int, variants: tuple[str, ...], records: TrialRecords) -> None:
    """Run the trials that are not recorded yet, one after another on one thread."""
    from gaudit.audit.running.trial import use_one_thread

    use_one_thread()
    for index in range(seeds):
        for variant in variants:
            records.make(f"{dataset}, gradients: {variant}: {index}", partial(pursued, dataset, variant, index))
            if variant not in SHORT:
                records.make(f"{dataset}: {variant}: {index}", partial(first_stage, dataset, variant, index))


def pursued(dataset: str, variant: str, index: int) -> dict[str, Any]:
    """What the server reads in one round of class gradients."""
    found = trial(dataset, variant, index, ONE_ROUND, (("label-pursuit", {"parts": "known"}, "server"),))
    return {key: found[key] for key in ("attacks", "refused", "seconds")}


def first_stage(dataset: str, variant: str, index: int) -> dict[str, Any]:
    """Accuracy and attacks on what is released after the first stage."""
    attacks = (("nearest", {}, "public"), ("condensed-ownership", {}, "server"))
    return trial(dataset, variant, index, {"refinements": 0}, attacks)


def trial(
    dataset: str,
    variant: str,
    index: int,
    settings: dict[str, Any],
    attacks: tuple[tuple[str, dict[str, Any], str], ...],
) -> dict[str, Any]:
    """One trial with the paper preset but for some settings."""
    from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
    from gaudit.audit.running.trial import run_trial
    from gaudit.audit.statistics.metrics import auc_of_run
    from gaudit.graphs.datasets.loading import load_dataset
    from gaudit.registry import find

    init, defense = VARIANTS[variant]
    data = load_dataset(dataset)
    data.name = dataset
    fitting = {**find("targets", "fedgm").preset("paper", data), "init": init, **settings}
    plans = tuple(AttackPlan(*attack) for attack in attacks)
    began = time.process_time()
    result = run_trial(TrialPlan("fedgm", fitting, defense, {}, plans, 0, index), data)
    return {
        "accuracy": result.utility.test,
        "attacks": {a.plan.name: auc_of_run(a.judged) for a in result.attacked},
        "refused": result.refused,
        "seconds": time.process_time() - began,
    }


@main.command()
@click.option("--dataset", default="Cora", show_default=True)
@RECORDS
def show(dataset: str, records: TrialRecords) -> None:
    """Print what is recorded here and in FedGM's Table 2 as Markdown."""
    from gaudit.reproductions.catalogue import experiment_of, records_of

    others = [one for one in records_of(experiment_of("fedgm:table2")) if one.dataset == dataset]
    click.echo("| FedGM | seeds | accuracy % | nearest | mia | label-pursuit |\n" + "|---" * 6 + "|")
    for variant in VARIANTS:
        read = [one["attacks"]["label-pursuit"] for one in records.seeds(f"{dataset}, gradients: {variant}:")]
        if variant in SHORT:
            whole = [one.values for one in others if one.row == SHORT[variant]]
            both = [{"accuracy": one["last"], "attacks": _attacks(one, "last-")} for one in whole]
            first = [{"accuracy": one["first-stage"], "attacks": _attacks(one, "first-")} for one in whole]
            click.echo(row(f"{variant}, both stages", both, percent(read) if read else ""))
            click.echo(row(f"{variant}, stage 1", first, "nothing to read"))
        else:
            told = records.seeds(f"{dataset}: {variant}:")
            after = f"nothing to read (with stage 2: {percent(read)})" if read else ""
            click.echo(row(f"{variant}, stage 1", told, after))


def _attacks(values: Any, release: str) -> dict[str, float]:
    return {name: values[release + name] for name in ("nearest", "mia") if release + name in values}


def row(label: str, trials: list[dict[str, Any]], pursuit: str) -> str:
    """A row of the table, means over seeds with 95 % intervals of accuracy and AUC."""

    def told(name: str) -> str:
        found = [one["attacks"][name] for one in trials if name in one["attacks"]]
        return percent(found) if found else ""

    accuracy = percent([float(np.mean(one["accuracy"])) for one in trials]) if trials else ""
    return f"| {label} | {len(trials)} | {accuracy} | {told('nearest')} | {told('mia')} | {pursuit} |"


if __name__ == "__main__":
    main()
