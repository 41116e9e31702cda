"""Condensing without edges beside what noise on sums over neighbours costs: accuracy, attacks on links, curves.

    python benchmarks/edge_free.py condense --dataset Cora --target gcond --seeds 5
    python benchmarks/edge_free.py links --dataset Cora --seeds 3
    python benchmarks/edge_free.py noise --dataset Cora --seeds 3
    python benchmarks/edge_free.py show

`condense` measures a release that is condensed with all edges; with none of them (`edge-free`, asked with edges),
where links between nodes of similar features stand in their place, or nothing; and of the graph without edges, that
is, the same release asked without. `links` puts attacks on links to all that FedC4 sends and publishes; its answers
read what was condensed from. `noise` has private trainings over epsilon; at 1000 noise is next to none. Trials are
recorded, one line each, and are not run again. Condensations run with the preset `quick`, trainings with defaults.
"""

import time
from functools import partial
from typing import Any

import click
import numpy as np
from trial_records import TrialRecords, percent, records_option

from gaudit.graphs.datasets.loading import load_dataset
from gaudit.registry import find
from gaudit.targets.defense import Defense

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0, 1000.0)
ARMS: dict[str, tuple[str, dict[str, Any]]] = {
    "edges everywhere": ("none", {}),
    "edge-free": ("edge-free", {}),
    "nothing in their place": ("edge-free", {"similar": 0}),
    "edges nowhere": ("none", {}),
}
PRIVATE = ("gap-edp", "noisy-votes", "gap-ndp", "dp-mlp")
PROMISES = {"gap-ndp": "node", "dp-mlp": "node"}
LINK_ATTACKS = {"update-links": "server", "graphmi": "server", "link-posterior": "public"}
RECORDS = records_option("edge_free")
OF_DATASET = click.option("--dataset", required=True)
SEEDS = click.option("--seeds", default=5, show_default=True)


@click.group()
def main() -> None:
    """Edge-free condensation, measured."""


@main.command()
@OF_DATASET
@click.option("--target", default="gcond", show_default=True)
@click.option("--split", type=click.Choice(["dataset", "60/20/20"]), default="dataset", show_default=True)
@click.option("--arm", "arms", multiple=True, type=click.Choice(list(ARMS)), default=tuple(ARMS))
@SEEDS
@RECORDS
def condense(
    dataset: str, target: str, split: str, arms: tuple[str, ...], seeds: int, records: TrialRecords
) -> None:
    """Accuracy of a release, with edges and without."""
    _one_thread()
    for index in range(seeds):
        for arm in arms:
            name = f"{dataset}: {target}: {split}: {arm}: {index}"
            records.make(name, partial(_condensed, dataset, target, split, arm, index))


def _condensed(dataset: str, target: str, split: str, arm: str, index: int) -> dict[str, Any]:
    data, seed, began = load_dataset(dataset), np.random.SeedSequence([7, index]), time.process_time()
    kind = find("targets", target)
    settings = kind.preset("quick", data)
    if "split" in kind.Settings.model_fields:
        settings |= {"split": split}
    else:
        data = _divided(data, split, seed)
    if arm == "edges nowhere":
        data.edge_index = data.edge_index[:, :0]
    defense, how = ARMS[arm]
    run = kind(**settings)(data, find("defenses", defense)(**how), seed, lambda message: False)
    warned = any("ask them without edges" in note for note in run.notes)
    return {"accuracy": run.utility.test, "warned": warned, "seconds": time.process_time() - began}


@main.command()
@OF_DATASET
@SEEDS
@RECORDS
def links(dataset: str, seeds: int, records: TrialRecords) -> None:
    """What attacks on links find in all that FedC4 sends and publishes; answers read what was condensed from."""
    _one_thread()
    for index in range(seeds):
        for defense in ("none", "edge-free"):
            records.make(f"{dataset}: links: {defense}: {index}", partial(_attacked, dataset, defense, index))


def _attacked(dataset: str, defense: str, index: int) -> dict[str, Any]:
    from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
    from gaudit.audit.running.trial import run_trial
    from gaudit.audit.statistics.metrics import auc

    data, began = load_dataset(dataset), time.process_time()
    settings = {**find("targets", "fedc4").preset("quick", data), "answer_with": "defended", "non_edges": 4000}
    attacks = tuple(AttackPlan(name, {}, observer) for name, observer in LINK_ATTACKS.items())
    result = run_trial(TrialPlan("fedc4", settings, defense, {}, attacks, seed=7, index=index), data)
    found = {
        a.plan.name: (auc(a.judged.truth, a.judged.score), auc(a.blind.truth, a.blind.score))
        for a in result.attacked
    }
    return {
        "accuracy": result.utility.test,
        "attacks": found,
        "refused": result.refused,
        "seconds": time.process_time() - began,
    }


@main.command()
@OF_DATASET
@click.option("--split", type=click.Choice(["dataset", "60/20/20"]), default="60/20/20", show_default=True)
@click.option("--method", "methods", multiple=True, default=PRIVATE, show_default=True)
@SEEDS
@RECORDS
def noise(dataset: str, split: str, methods: tuple[str, ...], seeds: int, records: TrialRecords) -> None:
    """Accuracy over epsilon of private trainings."""
    _one_thread()
    for index in range(seeds):
        for method in methods:
            for epsilon in EPSILONS:
                name = f"{dataset}: {method}: {split}: {epsilon:g}: {index}"
                records.make(name, partial(_private, method, dataset, split, epsilon, index))


def _private(method: str, dataset: str, split: str, epsilon: float, index: int) -> dict[str, Any]:
    target = find("targets", method)(epsilon=epsilon, split=split)
    run = target(load_dataset(dataset), Defense(), np.random.SeedSequence([7, index]), lambda message: False)
    return {"accuracy": run.utility.test}


def _divided(data: Any, split: str, seed: np.random.SeedSequence) -> Any:
    from gaudit.targets.partition import Partition
    from gaudit.targets.splits import divided

    whole = Partition.undivided(int(data.num_nodes or 0))
    return divided(data.clone(), whole.owner, split, seed)  # type: ignore[arg-type]


def _one_thread() -> None:
    from gaudit.audit.running.trial import use_one_thread

    use_one_thread()


@main.command()
@RECORDS
def show(records: TrialRecords) -> None:
    """Print what is recorded as Markdown."""
    found = list(dict.fromkeys(name.rsplit(": ", 1)[0] for name in records.trials))
    links, epsilons = [n for n in found if ": links: " in n], {f"{e:g}" for e in EPSILONS}
    _show_releases([n for n in found if n.rsplit(": ", 1)[1] in ARMS and n not in links], records)
    _show_links(links, records)
    _show_noise([n for n in found if n.rsplit(": ", 1)[1] in epsilons], records)


def _seeds(records: TrialRecords, name: str) -> list[dict[str, Any]]:
    return records.seeds(f"{name}:")


def _show_releases(names: list[str], records: TrialRecords) -> None:
    click.echo(f"| graph | target | split | seeds | {' | '.join(ARMS)} | warned |" + "\n" + "|---" * 9 + "|")
    for head in dict.fromkeys(name.rsplit(": ", 1)[0] for name in names):
        arms = {arm: _seeds(records, f"{head}: {arm}") for arm in ARMS}
        cells = [percent([r["accuracy"] for r in rows]) if rows else "" for rows in arms.values()]
        free = arms["edge-free"]
        seeds = "/".join(str(len(rows)) for rows in arms.values())
        warned = f"{sum(r['warned'] for r in free)} of {len(free)}"
        click.echo(f"| {head.replace(': ', ' | ')} | {seeds} | {' | '.join(cells)} | {warned} |")


def _show_links(names: list[str], records: TrialRecords) -> None:
    click.echo("\n| graph | defense | seeds | accuracy | " + " | ".join(LINK_ATTACKS) + " |\n" + "|---" * 7 + "|")
    for name in names:
        rows, (graph, _, defense) = _seeds(records, name), name.split(": ")
        cells = []
        for attack in LINK_ATTACKS:
            pairs = [r["attacks"][attack] for r in rows if attack in r["attacks"]]
            told = np.mean(pairs, axis=0) * 100 if pairs else None
            cells.append("" if told is None else f"{told[0]:.1f} ({told[1]:.1f})")
        accuracy = percent([r["accuracy"] for r in rows])
        click.echo(f"| {graph} | {defense} | {len(rows)} | {accuracy} | {' | '.join(cells)} |")


def _show_noise(names: list[str], records: TrialRecords) -> None:
    epsilons = [f"{e:g}" for e in EPSILONS]
    click.echo("\n| graph | method | split | promise for | " + " | ".join(epsilons) + " |\n" + "|---" * 10 + "|")
    for head in dict.fromkeys(name.rsplit(": ", 1)[0] for name in names):
        rows = [_seeds(records, f"{head}: {epsilon}") for epsilon in epsilons]
        cells = [percent([r["accuracy"] for r in some]) if some else "" for some in rows]
        graph, method, split = head.split(": ")
        unit = PROMISES.get(method, "edge")
        click.echo(f"| {graph} | {method} | {split} | {unit} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
