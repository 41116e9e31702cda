"""A private graph for each client, then federated training: accuracy and what uploads tell of links, by epsilon.

    python benchmarks/private_client_graph.py run --seeds 3
    python benchmarks/private_client_graph.py show

Cora in 4 parts by METIS, `fedavg`, one plain step (0.5) a round, 50 rounds. Each client answers in the end on its
own graph as it is, or on the private one. Beside it stand randomised response at the same epsilon, and training
without any edges, which costs no epsilon. Each trial is recorded when it is done and not run again.
"""

from functools import partial
from typing import Any

import click
from trial_records import TrialRecords, records_option
from update_ownership import Case, ran, ranged, scored

STEPS = {"optimiser": "sgd", "lr": 0.5, "local_epochs": 1, "rounds": 50, "publish": ("model",)}
ATTACK = "update-links"
RECORDS = records_option("private_client_graph")


def defenses() -> dict[str, tuple[str, dict[str, Any]]]:
    """What stands beside what, by its label."""
    found: dict[str, tuple[str, dict[str, Any]]] = {
        "none": ("none", {}),
        "no edges": ("fewer-edges", {"share": 0.0}),
    }
    for epsilon in (8.0, 4.0, 2.0):
        for mechanism in ("tmf", "ldpgen"):
            settings = {"epsilon": epsilon, "mechanism": mechanism}
            found[f"`private-client-graph`, `{mechanism}`, {epsilon:g}"] = ("private-client-graph", settings)
        for name in ("edge-randomised-response", "degree-preserving-response"):
            found[f"`{name}`, {epsilon:g}"] = (name, {"epsilon": epsilon})
    return found


def trial(defense: tuple[str, dict[str, Any]], index: int) -> dict[str, Any]:
    """Accuracy on both graphs, and the AUC of the attack on links."""
    name, settings = defense
    found = {}
    for graph in ("original", "defended"):
        one = Case(name, "fedavg", STEPS | {"answer_with": graph}, name, settings, attacks=(ATTACK,))
        done = ran("Cora", one, index)
        found[graph] = done.run.utility.test
    return found | {"AUC": scored(done, ATTACK, "server")["AUC"]}


@click.group()
def main() -> None:
    """Run what is not recorded yet, or print what is."""
    from gaudit.audit.running.trial import use_one_thread

    use_one_thread()


@main.command()
@click.option("--seeds", default=3, show_default=True)
@RECORDS
def run(seeds: int, records: TrialRecords) -> None:
    """Each defense."""
    for index in range(seeds):
        for label, defense in defenses().items():
            records.make(f"{label}: {index}", partial(trial, defense, index))
    table(TrialRecords(records.file))


@main.command()
@RECORDS
def show(records: TrialRecords) -> None:
    """What is recorded."""
    table(records)


def table(records: TrialRecords) -> None:
    """A row for each defense: means over seeds in percent, with their range."""
    click.echo("| | accuracy, own graph | accuracy, private graph | `update-links` |\n| --- | --- | --- | --- |")
    for label in defenses():
        found = records.seeds(f"{label}:")
        cells = [ranged("", [one[key] for one in found]) for key in ("original", "defended", "AUC")]
        click.echo(f"| {label} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
