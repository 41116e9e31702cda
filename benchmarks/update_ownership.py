"""Who holds whom, who took part and who is linked, from uploads of federated training and from condensed rows.

    python benchmarks/update_ownership.py owners --seeds 5
    python benchmarks/update_ownership.py curve
    python benchmarks/update_ownership.py sos --seeds 5
    python benchmarks/update_ownership.py fedc4 --seeds 3

Settings of the attacks are their defaults; the ridges were picked on CiteSeer (METIS, 4 clients, seed 0), that
condensed rows are compared whatever their labels on one FedC4 run there (seed 3). AUC and TPR at 1 % false
positives are over all pairs of a node and a client, *within* is the AUC among pairs of the same class and client.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import click
import numpy as np

SGD = {"optimiser": "sgd", "lr": 0.5, "local_epochs": 1}
UPLOADS = ("update-codes", "span-ownership", "unmoved-words")
LINKS = "update-links"
RATE = 0.01


@dataclass(frozen=True)
class Ran:
    """A run of a target, all that attacks read kept."""

    data: Any
    run: Any
    seed: np.random.SeedSequence


def ran(
    dataset: str,
    target: str,
    settings: dict[str, Any],
    attacks: tuple[str, ...],
    index: int,
    defense: str = "none",
    strength: dict[str, Any] | None = None,
) -> Ran:
    """One run, with the randomness that a plan's trial of that index has."""
    from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
    from gaudit.graphs.datasets.loading import load_dataset

    data = load_dataset(dataset)
    plans = tuple(AttackPlan(name, {}, "server") for name in attacks)
    plan = TrialPlan(target, settings, defense, strength or {}, plans, 0, index)
    made, seed = plan.make_target(), plan.root()
    return Ran(made.prepared(data), made(data, plan.make_defense(), seed, plan.keeps()), seed)


def scored(one: Ran, name: str, observer: str = "server", heard: bool = False) -> dict[str, float]:
    """What one attack reaches: of ownership the share of owners named, of links the average precision."""
    from gaudit.audit.games.knowledge_cache import KnowledgeCache
    from gaudit.audit.games.referee import HEARD, in_question, judge, reported_groups
    from gaudit.audit.planning.trial_plan import AttackPlan
    from gaudit.audit.results.game_metrics import owners_named
    from gaudit.audit.running.trial import Attacked
    from gaudit.audit.statistics.metrics import auc_of_run, average_precision_finding
    from gaudit.audit.statistics.rates import rate_of_run

    plan = AttackPlan(name, {}, observer)
    attack = plan.make()
    given, knowledge, game = KnowledgeCache(one.data, one.seed, "cpu").for_attack(attack, plan, one.run)
    view = given.renamed(one.run.transcript.seen_by(observer))
    began = time.process_time()
    judged = judge(attack(view, knowledge, one.seed), given, game)
    seconds = time.process_time() - began
    asked = in_question(game, observer)
    if heard:
        asked &= reported_groups(game, view, attack.reads())[HEARD]
    asked &= np.ones_like(asked) if game.asked is None else game.in_order(game.asked)
    strata = np.unique(game.compared_within(one.data), return_inverse=True)[1]
    judged = judged.where(asked)
    found = {
        "AUC": auc_of_run(judged),
        "TPR at 1 %": rate_of_run(judged, RATE),
        "within": auc_of_run(replace(judged, strata=strata[asked])),
    }
    if game.name == "edge-presence":
        found["AP"] = average_precision_finding([judged]).estimate
    elif game.name == "node-ownership":
        whole = Attacked(plan, 0, judged, judged, {}, "")
        found["owners named"] = owners_named([whole])["owners named"].estimate
    return {key: float("nan") if value is None else float(value) for key, value in found.items()} | {
        "CPU s": seconds
    }


def blind_links(one: Ran) -> dict[str, float]:
    """What the cosine of features tells of links."""
    from gaudit.audit.games.knowledge_cache import KnowledgeCache
    from gaudit.audit.games.referee import judge
    from gaudit.audit.planning.trial_plan import AttackPlan
    from gaudit.audit.statistics.metrics import auc_of_run, average_precision_finding

    plan = AttackPlan(LINKS, {}, "server")
    attack = plan.make()
    given, knowledge, game = KnowledgeCache(one.data, one.seed, "cpu").for_attack(attack, plan, one.run)
    judged = judge(attack.blind(knowledge, one.seed), given, game).where(game.in_order(game.asked))
    return {"AUC": float(auc_of_run(judged) or 0), "AP": float(average_precision_finding([judged]).estimate or 0)}


def row(label: str, found: list[dict[str, float]]) -> str:
    """A row of a table: means over runs, and their range where there are several."""

    def cell(name: str) -> str:
        values = [one[name] for one in found if name in one and not np.isnan(one[name])]
        if not values:
            return ""
        scale = 1 if name == "CPU s" else 100
        mean = f"{scale * np.mean(values):.1f}"
        low, high = scale * min(values), scale * max(values)
        return mean if len(values) == 1 or name == "CPU s" else f"{mean} ({low:.1f}-{high:.1f})"

    names = ("AUC", "TPR at 1 %", "within", "owners named", "AP", "CPU s")
    return f"| {label} | {' | '.join(cell(name) for name in names)} |"


def head(what: str) -> None:
    click.echo(f"| {what} | AUC | TPR at 1 % | within | owners named | AP | CPU s |")
    click.echo("| --- |" + " --- |" * 6)


@click.group()
def main() -> None:
    """Print one of the tables."""
    from gaudit.audit.running.trial import use_one_thread

    use_one_thread()


@main.command()
@click.option("--dataset", default="Cora", show_default=True)
@click.option("--seeds", default=5, show_default=True)
def owners(dataset: str, seeds: int) -> None:
    """Federated averaging with one plain step a round, 50 rounds, METIS, 4 clients."""
    names, found, accuracies = (*UPLOADS, LINKS, "features alone, of links"), dict[str, list[Any]](), []
    for index in range(seeds):
        one = ran(dataset, "fedavg", SGD, (*UPLOADS, LINKS), index)
        accuracies.append(one.run.utility.test)
        for name in names:
            told = scored(one, name) if name in (*UPLOADS, LINKS) else blind_links(one)
            found.setdefault(name, []).append(told)
    head(f"{dataset}, {seeds} seeds, accuracy {100 * np.mean(accuracies):.1f} %")
    for name in names:
        click.echo(row(f"`{name}`" if "-" in name else name, found[name]))


def settings_of_the_curve() -> Iterator[tuple[str, str, dict[str, Any], str, dict[str, Any]]]:
    """What is changed against one plain step a round for 50 rounds: label, target, settings, defense, strength."""
    adam = {"optimiser": "adam", "lr": 1e-3}
    for label, change in (
        ("1 step, 50 rounds", {}),
        ("1 step, 1 round", {"rounds": 1}),
        ("1 step, 5 rounds", {"rounds": 5}),
        ("10 steps, 1 round", {"local_epochs": 10, "rounds": 1}),
        ("10 steps, 50 rounds", {"local_epochs": 10}),
        ("10 steps, decay 5e-4", {"local_epochs": 10, "weight_decay": 5e-4}),
        ("Adam, 1 step, 1 round", {**adam, "rounds": 1}),
        ("Adam, 10 steps, 1 round", {**adam, "local_epochs": 10, "rounds": 1}),
        ("Adam, 10 steps, 50 rounds", {**adam, "local_epochs": 10}),
        ("gradients, 50 rounds", {"upload": "gradients"}),
        ("GraphSAGE, 50 rounds", {"architecture": "sage", "lr": 0.1}),
    ):
        yield label, "fedavg", SGD | change, "none", {}
    yield "FedProx, 10 steps", "fedprox", SGD | {"local_epochs": 10, "mu": 0.1}, "none", {}
    yield "SCAFFOLD, 10 steps", "scaffold", {"lr": 0.1, "local_epochs": 10}, "none", {}
    for defense, name, strengths in (
        ("gaussian-uploads", "multiplier", (1e-3, 1e-2, 1e-1)),
        ("top-k-uploads", "share", (0.1, 0.01)),
        ("quantised-uploads", "bits", (8,)),
    ):
        for strength in strengths:
            yield f"{defense} {strength:g}", "fedavg", SGD, defense, {name: strength}


@main.command()
@click.option("--dataset", default="Cora", show_default=True)
@click.option("--index", default=0, show_default=True)
@click.option("--only", default="", help="settings whose label has this in it")
def curve(dataset: str, index: int, only: str) -> None:
    """One run each of other steps, optimisers, rounds, pipelines, noise and compression."""
    head(f"{dataset}, seed {index}")
    for label, target, settings, defense, strength in settings_of_the_curve():
        if only not in label:
            continue
        one = ran(dataset, target, settings, (*UPLOADS, LINKS), index, defense, strength)
        called = f"{label} ({100 * one.run.utility.test:.1f} %)"
        for name in (*UPLOADS, LINKS):
            click.echo(row(f"{called}: `{name}`", [scored(one, name)]))


@main.command()
@click.option("--dataset", default="Cora", show_default=True)
@click.option("--seeds", default=5, show_default=True)
def sos(dataset: str, seeds: int) -> None:
    """Which of a client's nodes SOS' bottleneck dropped, from its Adam updates."""
    found = [
        scored(ran(dataset, "sos", {}, ("unmoved-words",), index, "ib-subgraph"), "unmoved-words")
        for index in range(seeds)
    ]
    head(f"{dataset}, {seeds} seeds")
    click.echo(row("`unmoved-words`, who took part", found))


@main.command()
@click.option("--dataset", default="Cora", show_default=True)
@click.option("--seeds", default=3, show_default=True)
def fedc4(dataset: str, seeds: int) -> None:
    """FedC4's first 50 rounds, which are all that is read: each client as a peer, and the server."""
    found = dict[str, list[Any]]()
    name = "condensed-ownership"
    for index in range(seeds):
        one = ran(dataset, "fedc4", {"rounds": 50}, (name,), index)
        peers = [f"client:{number}" for number in range(5)]
        told = {m.receiver for m in one.run.transcript.messages if m.kind == "condensed-rows"}
        found.setdefault("a peer, of those that it heard from", []).extend(
            scored(one, name, peer, heard=True) for peer in peers if peer in told
        )
        found.setdefault("the server, clients talk", []).append(scored(one, name))
        alone = ran(dataset, "fedc4", {"rounds": 50, "tau": 1.0}, (name,), index)
        found.setdefault("the server, nobody sends rows", []).append(scored(alone, name))
    head(f"{dataset}, {seeds} seeds")
    for label, rows in found.items():
        click.echo(row(label, rows))


if __name__ == "__main__":
    main()
