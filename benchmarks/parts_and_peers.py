"""What is told by a part of the model, and by neighbours without a server: exposure and accuracy.

    python benchmarks/parts_and_peers.py run --seeds 3
    python benchmarks/parts_and_peers.py show

Cora in 10 parts by Louvain, 20 % of the nodes labelled, one plain step (0.5) a round, 50 rounds. Each trial is
recorded when it is done and not run again. AUC is over the subjects of whom the observer heard from the client;
`all` counts those of clients that it does not hear too. Settings of the attacks are their defaults.
"""

from functools import partial
from typing import Any

import click
from trial_records import TrialRecords, records_option
from update_ownership import Case, ran, ranged, scored

STEPS = {"optimiser": "sgd", "lr": 0.5, "local_epochs": 1, "rounds": 50}
PARTS = {"clients": 10, "partition": "louvain", "split": "20/40/40"}
ATTACKS = ("label-pursuit", "update-codes", "update-links", "class-shares", "loss")
OWNERS = "update-codes"
RECORDS = records_option("parts_and_peers")


def cases() -> dict[str, Case]:
    """The ways of training, by their label."""
    parts = ("all", "extractor", "head")
    found = {f"`fedavg`, `shared={part}`": case("fedavg", "server", shared=part) for part in parts}
    for name in ("complete", "random-regular", "ring"):
        found[f"`decentralised`, {name}"] = case("decentralised", "client:0", topology=name)
    found["`fedfomo`"] = case("fedfomo", "client:0")
    found["`per-fedavg`, `alpha=0.5`"] = case("per-fedavg", "server", alpha=0.5)
    found["`pfedme`"] = case("pfedme", "server")
    found["`ifca`"] = case("ifca", "server")
    found["`fedem`"] = case("fedem", "server")
    found["`decentralised`, ring, `shared=head`"] = case(
        "decentralised", "client:0", topology="ring", shared="head"
    )
    return found


def case(target: str, observer: str, **more: Any) -> Case:
    """One way of training, and who looks on."""
    settings = {**STEPS, **PARTS, **more}
    return Case(target, target, settings, attacks=ATTACKS, observers=(observer,))


def trial(one: Case, index: int) -> dict[str, Any]:
    """Accuracy, and what each attack reaches; None where it finds nothing to read."""
    from gaudit.errors import InputError

    done, (observer,) = ran("Cora", one, index), one.observers
    found: dict[str, Any] = {}
    for name in ATTACKS:
        try:
            every = scored(done, name, observer)
            near = scored(done, name, observer, heard=True) if name == OWNERS and observer != "server" else every
        except InputError:
            found[name] = None
            continue
        found[name] = {"AUC": near["AUC"], "all": every["AUC"]} | {
            key: near[key] for key in ("owners named", "AP") if key in near
        }
    return {"accuracy": done.run.utility.test, "attacks": found}


@click.group()
def main() -> None:
    """Run what is not recorded yet, or print what is."""
    from gaudit.audit.running.trial import use_one_thread

    use_one_thread()


@main.command()
@click.option("--seeds", default=3, show_default=True)
@RECORDS
def run(seeds: int, records: TrialRecords) -> None:
    """Each way of training."""
    for index in range(seeds):
        for label, one in cases().items():
            records.make(f"Cora, {label}: {index}", partial(trial, one, index))
    table(TrialRecords(records.file))


@main.command()
@RECORDS
def show(records: TrialRecords) -> None:
    """What is recorded."""
    table(records)


def table(records: TrialRecords) -> None:
    """A row for each way of training: means over seeds in percent, with their range."""
    click.echo(f"| | accuracy | {' | '.join(f'`{name}`' for name in ATTACKS)} | owners named |")
    click.echo("| --- " * (len(ATTACKS) + 3) + "|")
    for label in cases():
        found = records.seeds(f"Cora, {label}:")
        cells = [_cell([one["attacks"][name] for one in found], "AUC") for name in ATTACKS]
        cells.append(_cell([one["attacks"][OWNERS] for one in found], "owners named"))
        click.echo(f"| {label} | {ranged('', [one['accuracy'] for one in found])} | {' | '.join(cells)} |")


def _cell(found: list[dict[str, float] | None], key: str) -> str:
    told = [one[key] for one in found if one is not None and key in one]
    return ranged("", told) or "nothing to read"


if __name__ == "__main__":
    main()
