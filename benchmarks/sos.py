"""SOS, Tables 2 and 3 and Figure 7: accuracy, and GraphMI against each client, measured beside published.

Each trial (dataset, method, number of clients, seed) is recorded when it is done, and not run again:

    python benchmarks/sos.py run --dataset Cora --seeds 5
    python benchmarks/sos.py show

The attack is mounted where the paper mounts it, with four clients. AUC is over all pairs of a client's nodes (a
uniform sample of those without an edge); average precision is told for as many edges as non-edges, as the paper's
is, and at the true prevalence.
"""

import time
from functools import partial
from typing import Any

import click
import numpy as np
from trial_records import TrialRecords, records_option

DATASETS = ("Cora", "CiteSeer", "PubMed")
METHODS: dict[str, tuple[str, dict[str, Any], str, dict[str, Any]]] = {  # target, settings, defense, settings
    "SOS-NIB": ("fedavg", {}, "none", {}),
    "FedGCN": ("fedgcn", {}, "none", {}),
    "FedSage+": ("fedsage+", {}, "none", {}),
    "GraphSAGE": ("fedavg", {"architecture": "sage"}, "none", {}),  # FedSage+ without generated neighbours
    "SOS-HCW": ("sos", {}, "ib-subgraph", {"keep": "hcw", "smoothness": "mean"}),
    "SOS": ("sos", {}, "ib-subgraph", {"smoothness": "mean"}),
    "SOS, normalised": ("sos", {}, "ib-subgraph", {}),  # the Laplacian that Eq. 12 cites
    "random-subgraph": ("fedavg", {}, "random-subgraph", {}),
    "LDP": ("fedavg", {}, "ldp", {"clip": None, "epsilon": 1.0}),
}
ITERATIONS = 100  # of GraphMI's descent
ATTACKED = 4  # clients in Table 2
NON_EDGES = 100_000
TABLE_2 = {  # AUC %, AP % of clients 1 to 4
    "Cora": {
        "SOS-NIB": ((60.6, 66.1), (61.8, 65.6), (53.6, 57.3), (64.3, 70.4)),
        "FedSage+": ((59.8, 64.5), (61.3, 66.8), (51.8, 54.7), (62.7, 68.9)),
        "FedGCN": ((59.6, 65.0), (62.1, 67.1), (51.7, 54.1), (62.6, 67.2)),
        "SOS": ((49.8, 49.8), (53.4, 51.6), (41.5, 46.1), (50.7, 50.2)),
    },
    "CiteSeer": {
        "SOS-NIB": ((57.2, 67.4), (56.0, 68.4), (61.3, 65.5), (61.6, 66.3)),
        "FedSage+": ((57.4, 67.3), (55.9, 69.8), (61.2, 65.5), (62.0, 68.2)),
        "FedGCN": ((56.9, 65.9), (55.3, 68.8), (60.8, 64.5), (61.5, 67.3)),
        "SOS": ((55.8, 53.7), (54.7, 52.4), (51.9, 50.6), (53.3, 51.7)),
    },
    "PubMed": {
        "SOS-NIB": ((59.2, 60.2), (57.3, 61.8), (55.4, 59.5), (58.4, 61.6)),
        "FedSage+": ((60.1, 60.9), (56.9, 61.4), (55.3, 60.6), (58.9, 62.7)),
        "FedGCN": ((60.6, 61.3), (56.9, 61.2), (55.6, 61.0), (58.4, 62.5)),
        "SOS": ((49.7, 49.8), (54.0, 52.2), (51.9, 50.6), (49.3, 49.6)),
    },
}
TABLE_3 = {  # accuracy % by number of clients, for Cora, CiteSeer, PubMed
    2: {
        "SOS-NIB": (79.3, 79.9, 80.8),
        "FedSage+": (84.2, 85.7, 86.6),
        "FedGCN": (73.0, 61.7, 78.0),
        "SOS-HCW": (79.1, 82.0, 81.3),
        "SOS": (78.6, 78.6, 81.3),
    },
    4: {
        "SOS-NIB": (84.8, 82.2, 75.0),
        "FedSage+": (85.4, 86.2, 82.6),
        "FedGCN": (80.3, 70.6, 72.4),
        "SOS-HCW": (83.7, 81.8, 73.3),
        "SOS": (84.2, 81.6, 74.7),
    },
    8: {
        "SOS-NIB": (81.6, 74.7, 84.3),
        "FedSage+": (85.4, 73.57, 86.2),
        "FedGCN": (76.2, 66.6, 74.8),
        "SOS-HCW": (76.4, 80.1, 81.4),
        "SOS": (78.4, 74.4, 84.2),
    },
}
RECORDS = records_option("sos")


@click.group()
def main() -> None:
    """The tables of the paper, measured."""


@main.command()
@click.option("--dataset", type=click.Choice(DATASETS), required=True)
@click.option("--method", "methods", multiple=True, type=click.Choice(list(METHODS)), default=tuple(METHODS))
@click.option("--clients", multiple=True, type=int, default=(4, 2, 8), show_default=True)
@click.option("--seeds", default=5, show_default=True)
@click.option("--first-seed", default=0, show_default=True)
@click.option("--iterations", default=ITERATIONS, show_default=True, help="of GraphMI's descent")
@RECORDS
def run(
    dataset: str,
    methods: tuple[str, ...],
    clients: tuple[int, ...],
    seeds: int,
    first_seed: int,
    iterations: int,
    records: TrialRecords,
) -> None:
    """Run the trials that are not recorded yet, one after another on one thread."""
    from gaudit.audit.running.trial import use_one_thread
    from gaudit.graphs.datasets.loading import load_dataset

    use_one_thread()
    data = load_dataset(dataset)
    data.name = dataset
    for index in range(first_seed, seeds):
        for count in clients:
            for method in methods:
                steps = "" if iterations == ITERATIONS else f", {iterations} steps"
                name = f"{dataset}: {method}{steps}: {count}: {index}"
                records.make(name, partial(_trial_or_refusal, data, method, count, index, iterations))


def _trial_or_refusal(data: Any, method: str, count: int, index: int, iterations: int) -> dict[str, Any]:
    from gaudit.errors import InputError

    try:
        return _trial(data, method, count, index, iterations)
    except InputError as error:  # SOS-HCW may keep nobody, as the paper says
        return {"failed": str(error), "attacks": []}


def _trial(data: Any, method: str, count: int, index: int, iterations: int) -> dict[str, Any]:
    from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
    from gaudit.audit.running.trial import run_trial
    from gaudit.registry import find

    name, settings, defense, strength = METHODS[method]
    kind = find("targets", name)
    fitting = {**kind.preset("paper", data), **settings, "clients": count, "non_edges": NON_EDGES}
    attacks = (AttackPlan("graphmi", {"iterations": iterations}, "server"),) if count == ATTACKED else ()
    began = time.process_time()
    plan = TrialPlan(name, fitting, defense, strength, attacks, seed=0, index=index)
    result = run_trial(plan, data)
    found = {"accuracy": result.utility.test, "seconds": time.process_time() - began, "notes": result.notes}
    found |= {"figures": result.figures, "refused": result.refused}
    return {**found, "attacks": [_scored(a) for a in result.attacked]}


def _scored(attacked: Any) -> dict[str, Any]:
    """By client: AUC, average precision at 1:1 and at the true prevalence, and what features alone tell."""
    client, features = attacked.attributes["client"], attacked.baselines["features"]
    found = {}
    for name in np.unique(client).tolist():
        here = client == name
        found[name] = _metrics(attacked.judged.where(here))
        found[name]["features"] = _metrics(attacked.blind.where(here))["auc"]
    groups = {n: _metrics(attacked.judged.where(mask))["auc"] for n, mask in attacked.groups.items()}
    matched = {n: _metrics(sample)["auc"] for n, sample in attacked.samples.items()}
    return {"clients": found, "groups": groups, "samples": matched, "fitted": _metrics(features)["auc"]}


def _metrics(judged: Any) -> dict[str, float]:
    from dataclasses import replace

    from gaudit.audit.statistics.metrics import auc, average_precision_finding, precision_at_members

    edges, others = int(judged.truth.sum()), int((~judged.truth).sum())
    if not edges or not others:
        return {"auc": float("nan")}
    even = replace(judged, sampling_weight=edges / others)
    return {
        "auc": auc(judged.truth, judged.score),
        "ap_even": float(average_precision_finding([even]).estimate or 0),
        "ap": float(average_precision_finding([judged]).estimate or 0),
        "precision": precision_at_members(judged),
    }


@main.command()
@RECORDS
def show(records: TrialRecords) -> None:
    """Print what is recorded as Markdown, measured beside published."""
    for dataset in DATASETS:
        found = _read(records, dataset)
        if found:
            click.echo(f"### {dataset}\n")
            _show_accuracy(dataset, found)
            _show_attack(dataset, found)


def _read(records: TrialRecords, dataset: str) -> dict[tuple[str, int], list[dict[str, Any]]]:
    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for name, trial in records.trials.items():
        of, method, count, _ = name.split(": ")
        if of == dataset:
            found.setdefault((method, int(count)), []).append(trial)
    return found


def _show_accuracy(dataset: str, found: dict[tuple[str, int], list[dict[str, Any]]]) -> None:
    counts = sorted(TABLE_3)
    click.echo("| accuracy % | " + " | ".join(f"K = {k} | published" for k in counts) + " |")
    click.echo("| --- |" + " --- |" * (2 * len(counts)))
    place = DATASETS.index(dataset)
    for method in METHODS:
        cells = []
        for k in counts:
            printed = TABLE_3[k].get(method)
            trials = found.get((method, k), [])
            ran = [100 * t["accuracy"] for t in trials if "accuracy" in t]
            cells.append(
                _spread(ran) + (f" ({len(ran)} of {len(trials)} seeds ran)" if len(ran) < len(trials) else "")
            )
            cells.append("" if printed is None else f"{printed[place]}")
        click.echo(f"| {method} | " + " | ".join(cells) + " |")
    click.echo()


def _show_attack(dataset: str, found: dict[tuple[str, int], list[dict[str, Any]]]) -> None:
    click.echo(
        "| GraphMI, K = 4 | AUC %, clients 1 to 4 | published | AP % (1:1) | published | features alone | "
        "degrees matched | an end dropped | both kept | precision % at all edges guessed |"
    )
    click.echo("| --- |" + " --- |" * 9)
    for method in METHODS:
        trials = [t["attacks"][0] for t in found.get((method, ATTACKED), []) if t["attacks"]]
        if not trials:
            continue
        printed = TABLE_2[dataset].get(method)
        cells = [
            " / ".join(_mean([t["clients"][str(k)]["auc"] for t in trials]) for k in range(ATTACKED)),
            "" if printed is None else " / ".join(f"{p[0]}" for p in printed),
            " / ".join(_mean([t["clients"][str(k)]["ap_even"] for t in trials]) for k in range(ATTACKED)),
            "" if printed is None else " / ".join(f"{p[1]}" for p in printed),
            _mean([c["features"] for t in trials for c in t["clients"].values()]),
            _mean([t["samples"]["degree-matched"] for t in trials]),
            _mean([t["groups"].get("an end dropped by the defense", float("nan")) for t in trials]),
            _mean([t["groups"].get("both ends kept by the defense", float("nan")) for t in trials]),
            _mean([c["precision"] for t in trials for c in t["clients"].values()]),
        ]
        click.echo(f"| {method} ({len(trials)} seeds) | " + " | ".join(cells) + " |")
    click.echo()


def _mean(values: list[float]) -> str:
    known = [v for v in values if not np.isnan(v)]
    return f"{100 * float(np.mean(known)):.1f}" if known else ""


def _spread(values: list[float]) -> str:
    """Mean with its 95 % interval over seeds."""
    from gaudit.audit.statistics.metrics import mean_difference

    if not values:
        return ""
    found = mean_difference(values, [0.0] * len(values))
    interval = "" if found.low is None or found.high is None else f" [{found.low:.1f}, {found.high:.1f}]"
    return f"{np.mean(values):.1f}{interval}"


if __name__ == "__main__":
    main()
