"""Who holds whom, who took part and who is linked, from uploads of federated training and from condensed rows.

    python benchmarks/update_ownership.py owners --dataset Cora --dataset CiteSeer --seeds 5
    python benchmarks/update_ownership.py curve --seeds 3
    python benchmarks/update_ownership.py sos --seeds 5
    python benchmarks/update_ownership.py fedc4 --dataset Cora --dataset CiteSeer --seeds 5
    python benchmarks/update_ownership.py fedgm --seeds 3
    python benchmarks/update_ownership.py show

Each trial is recorded when it is done and not run again; every command ends with its table. Settings of the attacks
are their defaults; the ridges were picked on CiteSeer (METIS, 4 clients, seed 0), that condensed rows are compared
whatever their labels on one FedC4 run there (seed 3). AUC and TPR at 1 % false positives are over all pairs of a
node and a client, *within* is the AUC among pairs of the same class and client (links: of the same classes).
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import click
import numpy as np
from trial_records import TrialRecords, records_option

SGD = {"optimiser": "sgd", "lr": 0.5, "local_epochs": 1}
ADAM = {"optimiser": "adam", "lr": 1e-3, "local_epochs": 10}
OWNERS = ("update-codes", "span-ownership", "unmoved-words")
LINKS = "update-links"
CONDENSED = "condensed-ownership"
RATE = 0.01
RECORDS = records_option("update_ownership")
datasets = click.option("--dataset", "names", multiple=True, default=("Cora",), show_default=True)
cases_option = click.option("--case", "only", multiple=True, help="The label of a case; all where none is named.")


@dataclass(frozen=True)
class Case:
    """A way of training: a row, or several where less than all rounds are read.

    Attributes:
        label: of the row.
        target: what trains.
        settings: of the target.
        defense: in place.
        strength: settings of the defense.
        with_uploads: a defense of uploads on top of it, and its settings.
        attacks: which are mounted.
        reads: how many rounds are read; none stands for all that are kept.
        sealed: whether a secure sum of the same uploads is read beside them; training is the same with it.
        observers: for whom messages are kept.
    """

    label: str
    target: str = "fedavg"
    settings: dict[str, Any] = field(default_factory=lambda: SGD)
    defense: str = "none"
    strength: dict[str, Any] = field(default_factory=dict)
    with_uploads: tuple[str, dict[str, Any]] | None = None
    attacks: tuple[str, ...] = (*OWNERS, LINKS)
    reads: tuple[int, ...] = ()
    sealed: bool = False
    observers: tuple[str, ...] = ("server",)


@dataclass(frozen=True)
class Ran:
    """A run of a target, all that attacks read kept."""

    data: Any
    run: Any
    seed: np.random.SeedSequence


def ran(dataset: str, case: Case, index: int) -> Ran:
    """One run, with the randomness that a plan's trial of that index has."""
    from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
    from gaudit.graphs.datasets.loading import load_dataset

    data = load_dataset(dataset)
    plans = tuple(AttackPlan(name, {}, observer) for name in case.attacks for observer in case.observers)
    plan = TrialPlan(case.target, case.settings, case.defense, case.strength, plans, 0, index)
    made, seed, defense = plan.make_target(), plan.root(), plan.make_defense()
    if case.with_uploads is not None:
        defense = beside(defense, *case.with_uploads)
    return Ran(made.prepared(data), made(data, defense, seed, plan.keeps()), seed)


def beside(defense: Any, name: str, strength: dict[str, Any]) -> Any:
    """A defense of the data with one of uploads on top, which plans do not have: a run has one defense there."""
    from gaudit.registry import find

    uploads = find("defenses", name)(**strength)
    defense.on_message = uploads.on_message
    return defense


def scored(
    one: Ran, name: str, observer: str = "server", heard: bool = False, rounds: int | None = None
) -> dict[str, float]:
    """What one attack reaches: of ownership the share of owners named, of links the average precision.

    Args:
        one: the run.
        name: of the attack.
        observer: who mounts it.
        heard: whether it is asked about clients alone that the observer heard from.
        rounds: how many rounds are read of those that are kept; None: all.
    """
    from gaudit.audit.games.knowledge_cache import KnowledgeCache
    from gaudit.audit.games.referee import HEARD, in_question, judge, reported_groups
    from gaudit.audit.planning.trial_plan import AttackPlan
    from gaudit.audit.results.game_metrics import owners_named
    from gaudit.audit.running.trial import Attacked
    from gaudit.audit.statistics.average_precision import average_precision_finding
    from gaudit.audit.statistics.metrics import auc_of_run
    from gaudit.audit.statistics.rates import rate_of_run

    plan = AttackPlan(name, {}, observer)
    attack = plan.make()
    given, knowledge, game = KnowledgeCache(one.data, one.seed, "cpu").for_attack(attack, plan, one.run)
    view = given.renamed(one.run.transcript.seen_by(observer))
    view = view if rounds is None else up_to(view, rounds)
    began = time.process_time()
    judged = judge(attack(view, knowledge, one.seed), given, game)
    seconds = time.process_time() - began
    asked = in_question(game, observer)
    if heard:
        asked &= reported_groups(game, view, attack.reads())[HEARD]
    asked &= np.ones_like(asked) if game.asked is None else game.in_order(game.asked)
    within = game.compared_within(one.data)
    strata = np.zeros(len(asked), int) if within is None else np.unique(within, return_inverse=True)[1]
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
    return {key: float(value) for key, value in found.items() if value is not None} | {"CPU s": seconds}


def up_to(view: Any, rounds: int) -> Any:
    """What was seen of the first rounds, and the common weights that they ended with."""
    from gaudit.targets.messages import GLOBAL_KIND

    last = [m for m in view.messages if m.round == rounds and m.kind == GLOBAL_KIND]
    early = view.until(rounds - 1)
    return replace(early, messages=(*early.messages, *last))


def blind_links(one: Ran) -> dict[str, float]:
    """What the cosine of features tells of links."""
    from gaudit.audit.games.knowledge_cache import KnowledgeCache
    from gaudit.audit.games.referee import judge
    from gaudit.audit.planning.trial_plan import AttackPlan
    from gaudit.audit.statistics.average_precision import average_precision_finding
    from gaudit.audit.statistics.metrics import auc_of_run

    plan = AttackPlan(LINKS, {}, "server")
    attack = plan.make()
    given, knowledge, game = KnowledgeCache(one.data, one.seed, "cpu").for_attack(attack, plan, one.run)
    judged = judge(attack.blind(knowledge, one.seed), given, game).where(game.in_order(game.asked))
    return {"AUC": float(auc_of_run(judged) or 0), "AP": float(average_precision_finding([judged]).estimate or 0)}


FIGURES = ("AUC", "TPR at 1 %", "within", "owners named", "AP", "CPU s")


def row(label: str, accuracy: list[float], found: list[dict[str, float]]) -> str:
    """A row of a table: means over runs, and their range where there are several."""
    cells = [ranged("", accuracy), *(ranged(name, [one[name] for one in found if name in one]) for name in FIGURES)]
    return f"| {label} | {' | '.join(cells)} |"


def ranged(name: str, values: list[float]) -> str:
    """The mean in percent, in brackets the range; seconds as they are."""
    if not values:
        return ""
    scale = 1 if name == "CPU s" else 100
    mean, low, high = (f"{scale * value:.1f}" for value in (np.mean(values), min(values), max(values)))
    return mean if len(values) == 1 or name == "CPU s" else f"{mean} ({low}-{high})"


def attacked(dataset: str, case: Case, index: int) -> dict[str, Any]:
    """One run of a case with all of its attacks, at each number of rounds that are read."""
    one = ran(dataset, case, index)
    found = dict[str, Any]()
    for rounds in case.reads or (None,):
        for name in case.attacks:
            called = f"`{name}`" if rounds is None else f"`{name}`, {rounds} round{'s' * (rounds > 1)} read"
            found[called] = scored(one, name, rounds=rounds)
            if case.sealed:
                found[f"{called}, of a secure sum"] = scored(in_a_sum(one), name, rounds=rounds)
    return {"accuracy": one.run.utility.test, "attacks": found}


def in_a_sum(one: Ran) -> Ran:
    """The same run as the server sees it that has the sum of uploads alone."""
    from gaudit.defenses.uploads.sealed_uploads import sealed
    from gaudit.targets.channel import Channel

    channel = Channel(mods=(sealed,))
    for message in one.run.transcript.messages:
        channel.send(message.kind, message.sender, message.receiver, message.round, message.tensors)
    return replace(one, run=replace(one.run, transcript=channel.transcript))


def owners_attacked(dataset: str, case: Case, index: int) -> dict[str, Any]:
    """The main row, and beside it what the cosine of features tells of links."""
    one = ran(dataset, case, index)
    found = {f"`{name}`": scored(one, name) for name in case.attacks}
    return {"accuracy": one.run.utility.test, "attacks": {**found, "features alone, of links": blind_links(one)}}


def peers_attacked(dataset: str, case: Case, index: int) -> dict[str, Any]:
    """FedC4: the server, and each client that was sent condensed rows, of all others and of those it heard from."""
    one = ran(dataset, case, index)
    found = {"server": scored(one, CONDENSED)} if "server" in case.observers else {}
    told = {m.receiver for m in one.run.transcript.messages if m.kind == "condensed-rows"}
    for peer in sorted(told.intersection(case.observers)):
        found[f"{peer}, of all others"] = scored(one, CONDENSED, peer)
        found[f"{peer}, of those heard"] = scored(one, CONDENSED, peer, heard=True)
    return {"accuracy": one.run.utility.test, "attacks": found}


Trial = Callable[[str, Case, int], dict[str, Any]]


@click.group()
def main() -> None:
    """Run one family of trials, or print all that are recorded."""
    from gaudit.audit.running.trial import use_one_thread

    use_one_thread()


def run_all(
    family: str,
    names: tuple[str, ...],
    seeds: int,
    records: TrialRecords,
    cases: list[Case],
    trial: Trial,
) -> None:
    """The trials that are not recorded yet, seed by seed, and the table."""
    for name in names:
        for index in range(seeds):
            for case in cases:
                records.make(f"{name}, {family}: {case.label}: {index}", partial(trial, name, case, index))
        table(f"{name}, {family}", TrialRecords(records.file))


def table(family: str, records: TrialRecords) -> None:
    """What is recorded of a family: rows of cases and attacks, over seeds."""
    labels = [name.split(": ")[1] for name in records.trials if name.startswith(f"{family}: ")]
    if not labels:
        return
    click.echo(f"\n| {family} | seeds | accuracy | {' | '.join(FIGURES)} |\n" + "| --- " * (3 + len(FIGURES)) + "|")
    for label in dict.fromkeys(labels):
        trials = records.seeds(f"{family}: {label}:")
        for attack in dict.fromkeys(name for one in trials for name in one["attacks"]):
            found = [one["attacks"][attack] for one in trials if attack in one["attacks"]]
            accuracy = [one["accuracy"] for one in trials if attack in one["attacks"]]
            click.echo(row(f"{label}: {attack} | {len(found)}", accuracy, found))


@main.command()
@datasets
@click.option("--seeds", default=5, show_default=True)
@RECORDS
def owners(names: tuple[str, ...], seeds: int, records: TrialRecords) -> None:
    """Federated averaging with one plain step a round, 50 rounds, METIS, 4 clients."""
    run_all("owners", names, seeds, records, [Case("1 step")], owners_attacked)


def cases_of_the_curve() -> Iterator[Case]:
    """What is changed against one plain step a round for 50 rounds, of which 1, 5 and 20 are read as well."""
    yield Case("1 step", reads=(1, 5, 20, 50), sealed=True)
    for steps in (5, 20):
        yield Case(f"{steps} steps", settings=SGD | {"local_epochs": steps}, reads=(1, 50))
    yield Case("5 steps, decay 5e-4", settings=SGD | {"local_epochs": 5, "weight_decay": 5e-4})
    yield Case("gradients", settings=SGD | {"upload": "gradients"})
    yield Case("GraphSAGE", settings=SGD | {"architecture": "sage", "lr": 0.1})
    yield Case("FedProx, 5 steps", "fedprox", SGD | {"local_epochs": 5, "mu": 0.1})
    yield Case("SCAFFOLD, 5 steps", "scaffold", {"lr": 0.1, "local_epochs": 5})
    yield Case("FedDC, 1 step", "feddc", {"lr": 0.5, "local_epochs": 1}, reads=(1, 5, 50))
    yield Case("FedDC, 5 steps", "feddc", {"lr": 0.1, "local_epochs": 5}, reads=(1, 5, 50))
    yield Case("5 steps, a rate of 0.1", settings=SGD | {"lr": 0.1, "local_epochs": 5}, reads=(1, 5, 50))
    for multiplier in (1e-3, 1e-2):
        noisy: dict[str, Any] = {"defense": "gaussian-uploads", "strength": {"multiplier": multiplier}}
        yield Case(
            f"FedDC, 5 steps, gaussian-uploads {multiplier:g}", "feddc", {"lr": 0.1, "local_epochs": 5}, **noisy
        )
        five = SGD | {"lr": 0.1, "local_epochs": 5}
        yield Case(f"5 steps, a rate of 0.1, gaussian-uploads {multiplier:g}", settings=five, **noisy)
    yield Case("Adam, 1 step", settings=ADAM | {"local_epochs": 1}, reads=(1, 50))
    yield Case("Adam, 10 steps", settings=ADAM, reads=(1, 5, 20, 50))
    for defense, name, strengths in (
        ("gaussian-uploads", "multiplier", (1e-3, 1e-2, 1e-1, 1.0)),
        ("sealed-noise", "multiplier", (1e-3, 1e-2)),
        ("top-k-uploads", "share", (0.1, 0.01)),
        ("quantised-uploads", "bits", (8, 1)),
    ):
        for strength in strengths:
            yield Case(f"{defense} {strength:g}", defense=defense, strength={name: strength})


@main.command()
@datasets
@click.option("--seeds", default=3, show_default=True)
@cases_option
@RECORDS
def curve(names: tuple[str, ...], seeds: int, only: tuple[str, ...], records: TrialRecords) -> None:
    """Other steps, optimisers, rounds, pipelines, noise, compression and secure sums."""
    run_all(
        "curve", names, seeds, records, [c for c in cases_of_the_curve() if not only or c.label in only], attacked
    )


@main.command()
@datasets
@click.option("--seeds", default=5, show_default=True)
@cases_option
@RECORDS
def sos(names: tuple[str, ...], seeds: int, only: tuple[str, ...], records: TrialRecords) -> None:
    """Which of a client's nodes SOS' bottleneck dropped, from its updates, and from a secure sum of these."""
    adam: dict[str, Any] = {
        "target": "sos",
        "settings": {},
        "defense": "ib-subgraph",
        "attacks": ("unmoved-words",),
    }
    cases = [
        Case("Adam, 10 steps", reads=(1, 5, 20, 50), sealed=True, **adam),
        *(
            Case(f"noise {m:g} in a secure sum", with_uploads=("sealed-noise", {"multiplier": m}), **adam)
            for m in (1e-3, 1e-2)
        ),
    ]
    run_all("SOS", names, seeds, records, [c for c in cases if not only or c.label in only], attacked)


@main.command()
@datasets
@click.option("--seeds", default=5, show_default=True)
@cases_option
@RECORDS
def fedc4(names: tuple[str, ...], seeds: int, only: tuple[str, ...], records: TrialRecords) -> None:
    """FedC4, paper preset: each client as a peer, and the server, which reads the first 50 rounds."""
    base: dict[str, Any] = {"target": "fedc4", "attacks": (CONDENSED,)}
    peers = tuple(f"client:{number}" for number in range(5))
    cases = [
        Case("clients talk", settings={}, observers=peers, **base),
        Case("clients talk, the server reads", settings={}, **base),
        Case("nobody sends rows", settings={"tau": 1.0}, **base),
        Case("nobody sends rows, secure sum", settings={"tau": 1.0}, defense="sealed-uploads", **base),
        *(
            Case(
                f"nobody sends rows, noise {m:g}",
                settings={"tau": 1.0},
                defense="gaussian-uploads",
                strength={"multiplier": m},
                **base,
            )
            for m in (1e-3, 1e-2)
        ),
        *(
            Case(
                f"nobody sends rows, noise {m:g} in a secure sum",
                settings={"tau": 1.0},
                defense="sealed-noise",
                strength={"multiplier": m},
                **base,
            )
            for m in (1e-3, 1e-2)
        ),
    ]
    run_all("FedC4", names, seeds, records, [c for c in cases if not only or c.label in only], peers_attacked)


@main.command()
@datasets
@click.option("--seeds", default=3, show_default=True)
@RECORDS
def fedgm(names: tuple[str, ...], seeds: int, records: TrialRecords) -> None:
    """FedGM's uploads after 300 of the first stage's 1000 rounds; of accuracy there is that of one epoch alone."""
    short = {"rounds": 300, "refinements": 0, "test": {"epochs": 1, "models": 1}}
    cases = [
        Case(f"started from {init}", "fedgm", short | {"init": start}, attacks=(CONDENSED,))
        for init, start in (("real rows", "real"), ("noise", "noise"))
    ]
    run_all("FedGM", names, seeds, records, cases, attacked)


@main.command()
@RECORDS
def show(records: TrialRecords) -> None:
    """Print all that is recorded."""
    for family in dict.fromkeys(name.split(": ")[0] for name in records.trials):
        table(family, records)


if __name__ == "__main__":
    main()
