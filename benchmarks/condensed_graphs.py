"""Condensed graphs by every method: accuracy beside membership, measured beside published.

Each trial (dataset, method, first features, seed) is recorded when it is done, and not run again:

    python benchmarks/condensed_graphs.py run --dataset Cora --seeds 3
    python benchmarks/condensed_graphs.py run --dataset Cora --method "fedgc, ib" --transfer
    python benchmarks/condensed_graphs.py show
    python benchmarks/condensed_graphs.py differences
    python benchmarks/condensed_graphs.py figure --dataset Cora --to cora.svg

Attacks hold the released graph and the features of the nodes in question. ``nearest`` is told for all members, and
for those whose rows a release starts from and the others apart; its blind baseline compares with other nodes' rows.
Beside them stands a classifier of the whole graph that answers questions about nodes: nothing is condensed.
"""

import time
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from trial_records import TrialRecords, percent, points, records_option

ALONGSIDE: dict[str, Any] = {  # FedGM, section 4.1, and OpenFGL's defaults for what it does not say
    "clients": 10,
    "partition": "louvain",
    "split": "20/40/40",
    "hidden": 64,
    "dropout": 0.5,
    "optimiser": "adam",
    "lr": (1e-3, 3e-3, 1e-2),  # OpenFGL keeps Adam's state from round to round and has 1e-2
    "weight_decay": 5e-4,
    "rounds": 100,
    "local_epochs": 3,
    "aggregation": "weighted",
}
BESIDE_FEDC4 = ALONGSIDE | {  # FedC4, section 5.1
    "clients": 5,
    "split": "60/20/20",
    "optimiser": "sgd",
    "lr": 0.1,
    "rounds": 200,
    "local_epochs": 5,
}
BY_GRADIENT = {"optimiser": "sgd", "lr": (0.02, 0.1, 0.5)}
BOTH_STAGES: dict[str, Any] = {"release_every": 100}
"""FedGM is released before and after stage 2 alone."""
WHOLE = "whole graph"
METHODS: dict[str, tuple[str, dict[str, Any]]] = {  # target, settings besides the paper preset
    WHOLE: (
        "classifier",
        {
            "game": "label-membership",
            "split": "dataset",
            "features": "row-shares",
            "publish": ("posteriors",),
            "recipe": {},
        },
    ),
    "random": ("random", {}),
    "herding": ("herding", {}),
    "k-center": ("k-center", {}),
    "coarsening": ("coarsening", {}),
    "gcond": ("gcond", {}),
    "gcond, noise": ("gcond", {"init": "noise"}),
    "sfgc": ("sfgc", {}),
    "sfgc, noise": ("sfgc", {"init": "noise"}),
    "doscond": ("doscond", {}),
    "doscond, noise": ("doscond", {"init": "noise"}),
    "fedgc": ("fedgc", {"init": "real"}),
    "fedgc, noise": ("fedgc", {}),
    "fedgc, ib": ("fedgc", {}),
    "fedgc, all self-trained, ib": ("fedgc", {"held_out": 0.0}),  # as in the paper: no test node sits out
    "fedgm": ("fedgm", BOTH_STAGES),
    "fedgm, noise": ("fedgm", BOTH_STAGES | {"init": "noise"}),
    "fedgm, best round": ("fedgm", {}),
    "fedgm, one loss": ("fedgm", {"losses": "all classes"}),
    "fedc4": ("fedc4", {}),
    "fedc4, half": ("fedc4", {}),
    "fedc4, quarter": ("fedc4", {}),
    "fedc4, all told": ("fedc4", {"broadcast": "full"}),
    "fedc4, alone": ("fedc4", {"delta": 0.0}),
    "fedavg, 5": ("fedavg", BESIDE_FEDC4),
    "fedavg": ("fedavg", ALONGSIDE),
    "fedavg, sgd": ("fedavg", ALONGSIDE | BY_GRADIENT),
    "fedprox": ("fedprox", ALONGSIDE),
    "fedprox, sgd": ("fedprox", ALONGSIDE | BY_GRADIENT),
    "scaffold": ("scaffold", ALONGSIDE | BY_GRADIENT),
}


def _table_1(*accuracies: float) -> dict[str, float]:
    """A row of FedC4's Table 1, with the largest ratio first."""
    return dict(zip(("fedc4", "fedc4, half", "fedc4, quarter", "fedavg, 5"), accuracies, strict=True))


def _table_2(*accuracies: float) -> dict[str, float]:
    """A column of FedGM's Table 2."""
    return dict(zip(("fedgm", "fedgm, stage 1", "fedavg", "fedprox", "scaffold"), accuracies, strict=True))


def _table_3(*accuracies: float) -> dict[str, float]:
    """A row of FedGC's Table 3."""
    return dict(zip(("MLP", "APPNP", "Cheby", "GCN", "SAGE", "SGC"), accuracies, strict=True))


ATTACKS: dict[str, tuple[str, ...]] = {  # on targets that publish no condensed graph
    "classifier": ("mia",),
    "fedc4": ("nearest", "nearest-embedding"),  # on what clients tell each other
    "fedavg": (),
    "fedprox": (),
    "scaffold": (),
}
PUBLISHED = {  # accuracy %; GCond: Table 2 at the ratio of the preset; FedGC and FedGM: their Tables 2
    "Cora": {
        "gcond": 80.1,
        "sfgc": 81.7,
        "fedgc, noise": 79.4,
        **_table_2(83.23, 82.54, 79.66, 80.08, 79.31),
        **_table_1(86.02, 84.98, 84.33, 84.70),
    },
    "CiteSeer": {
        "gcond": 70.5,
        "sfgc": 72.4,
        "fedgc, noise": 71.3,
        **_table_2(73.95, 72.62, 73.34, 73.11, 73.48),
        **_table_1(75.95, 74.84, 73.91, 72.11),
    },
    "Photo": _table_2(90.85, 84.91, 90.24, 90.07, 84.99),
    "Actor": _table_2(31.33, 30.42, 30.84, 30.72, 28.90),
    "Tolokers": _table_2(78.49, 78.07, 77.99, 78.01, 78.21),
    "CS": _table_2(89.51, 88.97, 87.61, 88.42, 86.60),
    "Physics": _table_1(94.61, 93.65, 93.41, 92.74),
}
TRANSFERRED = {  # accuracy % by architecture
    "Cora": {
        "gcond": _table_3(73.1, 78.5, 76.0, 80.1, 78.2, 79.3),
        "fedgc, all self-trained, ib": _table_3(77.6, 81.2, 79.2, 80.8, 81.9, 81.6),
    },
    "CiteSeer": {
        "gcond": _table_3(63.9, 69.6, 68.3, 70.5, 66.2, 70.3),
        "fedgc, all self-trained, ib": _table_3(66.1, 71.2, 70.5, 70.5, 71.1, 70.2),
    },
}
TRANSFER = ", transfer"
STAGE_1 = ", stage 1"
HEARD = "nodes of clients that it heard from"
RECORDS = records_option("condensed_graphs")


@click.group()
def main() -> None:
    """Utility and leakage of condensed graphs."""


@main.command()
@click.option("--dataset", type=click.Choice(list(PUBLISHED)), required=True)
@click.option("--method", "methods", multiple=True, type=click.Choice(list(METHODS)), default=tuple(METHODS))
@click.option("--seeds", default=3, show_default=True)
@click.option("--first-seed", default=0, show_default=True)
@click.option("--transfer", is_flag=True, help="Also train other architectures; without attacks.")
@RECORDS
def run(
    dataset: str, methods: tuple[str, ...], seeds: int, first_seed: int, transfer: bool, records: TrialRecords
) -> None:
    """Run the trials that are not recorded yet, one after another on one thread."""
    from gaudit.audit.running.trial import use_one_thread
    from gaudit.errors import InputError
    from gaudit.graphs.datasets.loading import load_dataset

    use_one_thread()
    data = load_dataset(dataset)
    data.name = dataset
    if transfer:  # of what publishes condensed graphs
        methods = tuple(m for m in methods if METHODS[m][0] not in ATTACKS)
        _add_gcond_layers()
    for index in range(first_seed, seeds):
        for method in methods:
            name = f"{dataset}{TRANSFER if transfer else ''}: {method}: {index}"
            try:
                records.make(name, partial(_trial, data, method, index, transfer))
            except InputError as error:  # this dataset has no place for the method: the others go on
                click.echo(f"{name} cannot be made: {error}", err=True)


def _add_gcond_layers() -> None:
    from gcond_layers import GCOND_LAYERS

    from gaudit.targets.condensation.downstream import ARCHITECTURES

    ARCHITECTURES.update(GCOND_LAYERS)


def _trial(data: Any, method: str, index: int, transfer: bool) -> dict[str, Any]:
    """One trial; of a method with several rates, that of the best validation accuracy."""
    stages = METHODS[method][0] == "fedgm"  # its first stage is a release of its own
    began = time.process_time()
    tried = _tried(_plans(data, method, index, transfer, stages), data)
    result = max(tried, key=lambda one: one.utility.validation)
    spent = {"seconds": (time.process_time() - began) / len(tried), "notes": result.notes}
    spent |= {"transfer": result.transfer, "lr": result.plan.target_settings.get("lr")}
    at = [_at(result, place) for place in range(len(result.utilities))]
    return {**at[result.chosen], **spent, "stage 1": at[0] if stages else None}


def _tried(plans: list[Any], data: Any) -> list[Any]:
    """Results of those that do not diverge; InputError if all of several rates do."""
    from gaudit.audit.running.trial import run_trial
    from gaudit.targets.channel import StoppedError

    found: list[Any] = []
    for place, plan in enumerate(plans):
        try:
            found.append(run_trial(plan, data))
        except StoppedError:
            if not found and place == len(plans) - 1:
                raise
    return found


def _plans(data: Any, method: str, index: int, transfer: bool, stages: bool) -> list[Any]:
    from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
    from gaudit.registry import find

    name, settings = METHODS[method]
    fitting = {
        **find("targets", name).preset("paper", data),
        **settings,
        **({"transfer": True} if transfer else {}),
    }
    if name == "fedc4":
        size = {"fedc4, half": 2, "fedc4, quarter": 4}.get(method, 1)
        fitting["condensing"] = {**fitting["condensing"], "ratio": fitting["condensing"]["ratio"] / size}
    observer = "client:0" if name == "fedc4" else "public"
    names = () if transfer else ATTACKS.get(name, ("nearest", "mia"))
    attacks = tuple(AttackPlan(attack, {}, observer) for attack in names)
    defense, rates = "ib" if method.endswith(", ib") else "none", fitting.get("lr")
    every = [{**fitting, "lr": rate} for rate in rates] if isinstance(rates, tuple) else [fitting]
    return [TrialPlan(name, one, defense, {}, attacks, seed=0, index=index, timeline=stages) for one in every]


def _at(result: Any, place: int) -> dict[str, Any]:
    """Accuracy and attacks of one release."""
    utility = result.utilities[place]
    attacked = [a for a in result.attacked if a.round == utility.round]
    return {"accuracy": utility.test, "attacks": {a.plan.name: _scored(a) for a in attacked}}


def _scored(attacked: Any) -> dict[str, Any]:
    from gaudit.audit.statistics.metrics import auc

    judged, blind = attacked.judged, attacked.blind
    null = judged.scrambled(np.random.default_rng(0))  # one permutation, the same for all trials
    return {
        "auc": auc(judged.truth, judged.score),
        "tpr": _named_at_one_percent(judged),
        "blind": auc(blind.truth, blind.score),
        "null": auc(null.truth, null.score),
        "groups": {name: _auc_within(judged, mask) for name, mask in attacked.groups.items()},
        "groups blind": {name: _auc_within(blind, mask) for name, mask in attacked.groups.items()},
    }


def _auc_within(judged: Any, mask: Any) -> float | None:
    """Of a group; None where it lacks members or others."""
    from gaudit.audit.statistics.metrics import auc

    part = judged.where(mask)
    return None if part.truth.all() or not part.truth.any() else auc(part.truth, part.score)


def _named_at_one_percent(judged: Any) -> float:
    """Share of members above the score that one non-member in a hundred reaches."""
    limit = np.quantile(judged.score[~judged.truth], 0.99, method="higher")
    return float((judged.score[judged.truth] > limit).mean())


@main.command()
@RECORDS
def show(records: TrialRecords) -> None:
    """Print what is recorded as Markdown."""
    for dataset, published in PUBLISHED.items():
        found = _read(records, dataset)
        if found:
            click.echo(
                f"### {dataset}\n\n| method | seeds | accuracy % | published | nearest, AUC % (blind) "
                "| copied first | never copied | TPR % at 1 % FPR | mia (fedc4: nearest-embedding), AUC % (blind) "
                "| TPR % at 1 % FPR | CPU s |\n" + "|---" * 11 + "|"
            )
            for method, trials in found.items():
                click.echo(f"| {_row(method, trials, published.get(method))} |")
            click.echo("")
    for dataset in PUBLISHED:
        if found := _read(records, dataset + TRANSFER):
            _show_transfer(dataset, found)


def _show_transfer(dataset: str, found: dict[str, list[dict[str, Any]]]) -> None:
    names = list(max((t["transfer"] for ts in found.values() for t in ts), key=len))  # some were added later
    click.echo(f"### {dataset}: other architectures on the released graph, accuracy % (published)\n")
    click.echo(f"| method | seeds | {' | '.join(names)} |\n" + "|---" * (len(names) + 2) + "|")
    for method, trials in found.items():
        told = TRANSFERRED.get(dataset, {}).get(method, {})
        cells = [_beside(_transferred(name, trials), told.get(name)) for name in names]
        click.echo(f"| {method} | {len(trials)} | {' | '.join(cells)} |")
    click.echo("")


def _transferred(name: str, trials: list[dict[str, Any]]) -> str:
    """Accuracy of an architecture over the trials that have it."""
    found = [trial["transfer"][name] for trial in trials if name in trial["transfer"]]
    if not found:
        return ""
    return percent(found) + (f" ({len(found)} seeds)" if len(found) < len(trials) else "")


def _beside(measured: str, published: float | None) -> str:
    return measured if published is None else f"{measured} ({published})"


def _row(method: str, trials: list[dict[str, Any]], published: float | None) -> str:
    def attack(name: str, key: str) -> list[float]:
        return [trial["attacks"][name][key] for trial in trials]

    def told(name: str) -> str:
        all_told = f"{percent(attack(name, 'auc'))} ({_mean(attack(name, 'blind'))})"
        heard = group(HEARD, name)
        return f"{all_told}; heard: {heard} ({group(HEARD, name, 'groups blind')})" if heard else all_told

    def group(name: str, attack: str = "nearest", key: str = "groups") -> str:
        every = [trial["attacks"][attack].get(key, {}).get(name) for trial in trials]
        return _mean([value for value in every if value is not None and np.isfinite(value)])

    attacks = trials[0]["attacks"]
    cells = [method, len(trials), percent([t["accuracy"] for t in trials]), published or ""]
    if "nearest" in attacks:
        cells += [told("nearest"), group("members copied at first"), group("members never copied")]
        cells += [_mean(attack("nearest", "tpr"))]
    else:  # nothing condensed was seen by anybody
        cells += [""] * 4
    other = [name for name in attacks if name != "nearest"]
    cells += [told(other[0]), _mean(attack(other[0], "tpr"))] if other else [""] * 2
    cells += [f"{np.mean([t['seconds'] for t in trials]):.0f}"]
    return " | ".join(map(str, cells))


def _mean(values: list[float]) -> str:
    return f"{100 * np.mean(values):.1f}" if values else ""


DIFFERENCES = (
    *((name, f"{name}, noise") for name in ("gcond", "sfgc", "doscond", "fedgm")),
    *(("fedgm", other) for other in ("fedgm, stage 1", "fedavg", "fedavg, sgd", "scaffold")),
    ("scaffold", "fedavg, sgd"),
    *(
        ("fedc4", other)
        for other in ("fedc4, alone", "fedc4, all told", "fedc4, half", "fedc4, quarter", "fedavg, 5")
    ),
)


@main.command()
@RECORDS
def differences(records: TrialRecords) -> None:
    """Print what some methods are more accurate than others by, seed by seed: these share partition and split."""
    found = {dataset: _read(records, dataset) for dataset in PUBLISHED}
    shown = [name for name in PUBLISHED if any(_less(found[name], *pair) for pair in DIFFERENCES)]
    click.echo(f"| accuracy, in points | {' | '.join(shown)} |\n" + "|---" * (len(shown) + 1) + "|")
    for one, other in DIFFERENCES:
        cells = [_less(found[name], one, other) for name in shown]
        click.echo(f"| {one}, less {other} | {' | '.join(points(c) if c else '' for c in cells)} |")


def _less(found: dict[str, list[dict[str, Any]]], one: str, other: str) -> list[float]:
    """Differences by seed, where both methods have all of their seeds."""
    pair = [[trial["accuracy"] for trial in found.get(name, [])] for name in (one, other)]
    return [a - b for a, b in zip(*pair, strict=True)] if len(pair[0]) == len(pair[1]) else []


@main.command()
@click.option("--dataset", type=click.Choice(list(PUBLISHED)), required=True)
@click.option("--to", type=click.Path(path_type=Path), required=True)
@RECORDS
def figure(dataset: str, to: Path, records: TrialRecords) -> None:
    """Draw accuracy against membership, one point for each seed."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    sheet, panes = pyplot.subplots(1, 2, figsize=(11, 4.5), sharey=True, layout="constrained")
    every = {name: trials for name, trials in _read(records, dataset).items() if trials[0]["attacks"]}
    for number, (method, trials) in enumerate(every.items()):
        colour, marker = _look(number, method)
        for pane, key in zip(panes, ("auc", "tpr"), strict=True):
            told = [100 * max(a[key] for a in trial["attacks"].values()) for trial in trials]
            accuracy = [100 * trial["accuracy"] for trial in trials]
            pane.scatter(told, accuracy, label=method, color=colour, marker=marker, s=28)
    for key, label, colour in (("blind", "blind baselines", "grey"), ("null", "truth permuted", "gold")):
        found = [100 * a[key] for ts in every.values() for t in ts for a in t["attacks"].values() if key in a]
        if found:
            panes[0].axvspan(min(found), max(found), alpha=0.15, color=colour, label=label)
    for pane, chance in zip(panes, (50, 1), strict=True):
        pane.axvline(chance, color="grey", linestyle="dashed", linewidth=1, label="chance")
    panes[0].set_xlabel("membership, AUC % of the better attack")
    panes[1].set_xlabel("members named at 1 % false accusations, %")
    panes[0].set_ylabel("test accuracy %")
    sheet.legend(*panes[0].get_legend_handles_labels(), fontsize=7, loc="outside right center")
    sheet.suptitle(f"{dataset}: what condensed graphs are worth and what they tell")
    sheet.savefig(to, dpi=110)


def _look(number: int, method: str) -> tuple[Any, str]:
    """Colour and marker: circles started from noise, squares from real rows, the star condensed nothing."""
    from matplotlib import pyplot

    target, settings = METHODS[method.removesuffix(STAGE_1)]
    init = settings.get("init", "noise" if target in ("fedgc", "fedc4") else "real")
    marker = "*" if method == WHOLE else "o" if init == "noise" else "s"
    return pyplot.get_cmap("tab20")(number % 20), marker


def _read(records: TrialRecords, dataset: str) -> dict[str, list[dict[str, Any]]]:
    """Trials by method, in the order of `METHODS`."""
    found: dict[str, list[dict[str, Any]]] = {}
    for method in METHODS:
        if trials := records.seeds(f"{dataset}: {method}:"):
            found[method] = trials
            if trials[0].get("stage 1") and not trials[0].get("transfer"):
                found[method + STAGE_1] = [{**trial, **trial["stage 1"]} for trial in trials]
    return found


if __name__ == "__main__":
    main()
