"""Who was trained on, read off gradients: how many are named with owner and label, beside the truth.

    python benchmarks/label_pursuit.py targets --dataset Cora --dataset CiteSeer --seeds 5
    python benchmarks/label_pursuit.py noise --dataset Cora --seeds 5
    python benchmarks/label_pursuit.py noise --dataset Cora --seeds 1 --rounds 40
    python benchmarks/label_pursuit.py null --dataset Cora --seeds 5

Targets run with their published settings, and no longer than the rounds that are read: what is sent in round 0 does
not depend on what follows. FedGC trains itself before any bottleneck is fitted, so that its self-training gradients
under ``ib`` are those under ``pseudo-labels``, which is what runs here. Times are of the attack, on one thread.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import click
import numpy as np
import torch
from scipy.sparse import csr_array
from sklearn.metrics import roc_auc_score

from gaudit.attacks.gradients.label_accusations import accusations
from gaudit.attacks.gradients.label_pursuit import LabelPursuit, decoys_of, pursued, surroundings
from gaudit.attacks.gradients.node_gradients import Atoms, Tensors, node_gradients
from gaudit.defenses.training.pseudo_labels import PseudoLabels
from gaudit.defenses.uploads.gaussian_uploads import GaussianUploads
from gaudit.defenses.uploads.sealed_uploads import SealedNoise, SealedUploads
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.graphs.network import Ints
from gaudit.randomness import branch
from gaudit.registry import find
from gaudit.targets.channel import Mod
from gaudit.targets.defense import Defense
from gaudit.targets.game import Adversary
from gaudit.targets.games.membership import LabelMembership, NodeKnowledge
from gaudit.targets.messages import (
    CLASS_GRADIENTS_KIND,
    CLASS_GRADIENTS_SUM_KIND,
    LABELLED_COUNT_KIND,
    SELF_TRAINING_GRADIENTS_KIND,
    SELF_TRAINING_MODEL_KIND,
)
from gaudit.targets.transcript import Message, View

ONCE = {"epochs": 1, "models": 1}
PLAIN: dict[str, Any] = {"optimiser": "sgd", "lr": 0.5, "local_epochs": 1, "dropout": 0.0}
PUBLIC = PLAIN | {"split": "dataset"}
SETTINGS: dict[str, dict[str, Any]] = {
    "fedgc": {"test": ONCE},
    "fedgm": {"test": ONCE, "rounds": 1},
    "fedavg": {"upload": "gradients"},
    "fedavg sgd": PLAIN,
    "fedavg one": PUBLIC,
    "fedavg five": PUBLIC | {"local_epochs": 5},
    "fedavg dropout": PUBLIC | {"dropout": 0.5},
    "fedavg adam": PUBLIC | {"optimiser": "adam", "lr": 0.01},
}
"""As published but for what comes after the messages that are read, and for FedGM's first stage, which they do not
depend on. One plain step of federated averaging is not published: gradients are, or many steps of Adam."""
MULTIPLIERS = (0.001, 0.003, 0.01, 0.03, 0.1, 1.0)


class Beside(PseudoLabels):
    """Self-training with a defense of uploads on top: the messages of FedGC under any defense that needs labels."""

    def __init__(self, uploads: Defense) -> None:
        super().__init__()
        self.uploads = uploads

    def on_message(self, seed: np.random.SeedSequence) -> Mod | None:
        return self.uploads.on_message(seed)


@dataclass(frozen=True)
class Case:
    """A target, the defense in place, and what the adversary knows and reads."""

    target: str
    defense: Defense
    parts: str = "unknown"
    rounds: int = 1


def made(case: Case) -> dict[str, Any]:
    settings = dict(SETTINGS[case.target])
    read: dict[str, dict[str, Any]] = {
        "fedgc": {"rounds": case.rounds, "checkpoints": (case.rounds,), "self_training_rounds": case.rounds},
        "fedgm": {"refinements": case.rounds},
    }
    settings.update(read.get(case.target, {"rounds": case.rounds}))
    return settings


Change = Callable[[View, NodeKnowledge, Ints, np.random.Generator], View]
"""What is done to what the server sees: the view, what it knows, the nodes' classes, a source of randomness."""


def row(dataset: str, seed: int, case: Case, change: Change | None = None) -> list[str]:
    """One run, attacked: what the table says of it, where what the server sees may be changed."""
    attack = LabelPursuit(rounds=case.rounds, parts=case.parts)
    kinds = set(attack.kinds())
    if isinstance(case.defense, PseudoLabels):  # what clients condense is another question
        kinds -= {CLASS_GRADIENTS_KIND, CLASS_GRADIENTS_SUM_KIND}
    target = find("targets", case.target.partition(" ")[0])(**made(case))
    data, root = load_dataset(dataset), np.random.SeedSequence(seed)
    run = target(data, case.defense, root, lambda m: m.kind in kinds and m.round < attack.first_rounds)
    game = run.secrets[LabelMembership.name]
    grant, _ = game.grant(target.prepared(data), Adversary(attack), branch(root, "adversary"))
    knowledge = grant.knowledge
    assert isinstance(knowledge, NodeKnowledge)
    view = grant.renamed(run.transcript.seen_by("server"))
    if change is not None:
        classes = data.y.numpy()[grant.subject_ids(np.arange(data.num_nodes))]
        view = change(view, knowledge, classes, np.random.default_rng(seed))
    began = time.process_time()
    found = pursued(view, knowledge, case.rounds)
    accused = accusations(found.found)
    spent = time.process_time() - began
    ids = grant.subject_ids(knowledge.subjects.numpy())
    place = {node: k for k, node in enumerate(game.subjects.tolist())}
    order = np.array([place[node] for node in ids.tolist()])
    truth, owner = game.truth[order], game.owners[order] if game.owners is not None else None
    y = data.y.numpy()[ids]
    hits = [c for c in accused if truth[c.subject]]
    owned = [c for c in hits if c.owner is not None and owner is not None and c.owner == owner[c.subject]]
    others = np.sort(found.score[~truth])[::-1]
    return [
        case.target,
        found.kind,
        dataset,
        str(seed),
        f"{len(hits)} of {truth.sum()}",
        str(len(owned)) if any(c.owner is not None for c in accused) else "-",
        str(sum(c.label == y[c.subject] for c in hits)),
        str(len(accused)),
        str(len(accused) - len(hits)),
        str(sum(bool(c.alike) for c in accused)),
        str(sum(not c.alike for c in accused if not truth[c.subject])),
        f"{sum(one.solution.exact for one in found.found)} of {len(found.found)}",
        f"{100 * roc_auc_score(truth, found.score):.1f}",
        f"{100 * (found.score[truth] > others[int(0.01 * len(others))]).mean():.1f}",
        f"{spent:.1f}",
    ]


COLUMNS = (
    *("target", "message", "dataset", "seed", "named", "with owner", "right label", "accused", "false"),
    *("in a set of twins", "false alone", "proven", "AUC", "TPR at 1 % FPR", "CPU s"),
)


def table(extra: str, rows: Iterator[tuple[str, list[str]]]) -> None:
    click.echo(f"| {extra} | " + " | ".join(COLUMNS) + " |")
    click.echo("| --- " * (len(COLUMNS) + 1) + "|")
    for name, cells in rows:
        click.echo(f"| {name} | " + " | ".join(cells) + " |")


@click.group()
def main() -> None:
    """Label pursuit beside the truth."""
    torch.set_num_threads(1)


datasets = click.option("--dataset", "names", multiple=True, default=("Cora",), show_default=True)
seeds = click.option("--seeds", default=5, show_default=True)

CASES = {
    "fedgc, self-training": Case("fedgc", PseudoLabels()),
    "fedgc, self-training, secure sum": Case("fedgc", Beside(SealedUploads())),
    "fedgc, no defense": Case("fedgc", Defense()),
    "fedgc, secure sum": Case("fedgc", SealedUploads()),
    "fedgm, parts known": Case("fedgm", Defense(), "known"),
    "fedgm, parts known, secure sum": Case("fedgm", SealedUploads(), "known"),
    "fedgm, parts unknown": Case("fedgm", Defense()),
    "fedavg, gradients, parts known": Case("fedavg", Defense(), "known"),
    "fedavg, one plain step, parts known": Case("fedavg sgd", Defense(), "known"),
    "fedavg, one plain step, secure sum": Case("fedavg sgd", SealedUploads(), "known"),
    "public split, one plain step": Case("fedavg one", Defense(), "known"),
    "public split, one plain step, parts unknown": Case("fedavg one", Defense()),
    "public split, five plain steps": Case("fedavg five", Defense(), "known"),
    "public split, one plain step with dropout": Case("fedavg dropout", Defense(), "known"),
    "public split, one step of Adam": Case("fedavg adam", Defense(), "known"),
}


@main.command()
@datasets
@seeds
@click.option("--only", multiple=True, help="Cases, by the start of their names.")
def targets(names: Sequence[str], seeds: int, only: Sequence[str]) -> None:
    """One round of each target."""
    chosen = {name: case for name, case in CASES.items() if not only or name.startswith(tuple(only))}
    table(
        "case",
        ((name, row(dataset, s, case)) for dataset in names for name, case in chosen.items() for s in range(seeds)),
    )


@main.command()
@datasets
@seeds
@click.option("--rounds", default=1, show_default=True)
@click.option("--multiplier", "multipliers", multiple=True, type=float, default=MULTIPLIERS, show_default=True)
def noise(names: Sequence[str], seeds: int, rounds: int, multipliers: Sequence[float]) -> None:
    """FedGC's self-training gradients, clipped and noisy, one by one and in a secure sum."""

    def rows() -> Iterator[tuple[str, list[str]]]:
        for dataset in names:
            for multiplier in multipliers:
                for kind in (GaussianUploads, SealedNoise):
                    case = Case("fedgc", Beside(kind(multiplier=multiplier)), rounds=rounds)
                    for seed in range(seeds):
                        yield f"{kind.name} {multiplier:g}, rounds {rounds}", row(dataset, seed, case)

    table("defense", rows())


def uploads(view: View, sent: Callable[[Message], Tensors]) -> View:
    """The view with other self-training gradients, as long as those that they stand for."""

    def changed(message: Message) -> Message:
        if message.kind != SELF_TRAINING_GRADIENTS_KIND:
            return message
        new = {name: torch.as_tensor(value).float() for name, value in sent(message).items()}
        size, own = (float(sum(t.double().square().sum() for t in one.values())) for one in (new, message.tensors))
        return replace(message, tensors={name: value * np.sqrt(own / size) for name, value in new.items()})

    return replace(view, messages=tuple(map(changed, view.messages)))


def of_others(view: View, knowledge: NodeKnowledge, classes: Ints, draw: np.random.Generator) -> View:
    """Gradients of as many people as each client has labels of, whom nobody asks about and who are no decoys."""
    apart = np.concatenate([knowledge.subjects.numpy(), decoys_of(knowledge)])
    others = np.setdiff1d(np.arange(len(knowledge.x)), apart)
    near = surroundings(csr_array(knowledge.x.double().numpy()), knowledge.edges.numpy(), others)
    at = next(m for m in view.messages if m.kind == SELF_TRAINING_MODEL_KIND)
    gradients = node_gradients(near, {name: value.double().numpy() for name, value in at.tensors.items()})
    counts = {m.sender: int(m.tensors["count"]) for m in view.messages if m.kind == LABELLED_COUNT_KIND}

    def sent(message: Message) -> Tensors:
        members = counts[message.sender]
        some = draw.choice(len(others), members, replace=False)
        atoms = Atoms(some, classes[others[some]])
        return gradients.of(gradients.summed_errors(atoms, np.full(members, 1 / members)))

    return uploads(view, sent)


def heavy(tails: float, view: View, _: NodeKnowledge, __: Ints, draw: np.random.Generator) -> View:
    """Noise with Student's t of some degrees of freedom: 1 is Cauchy's."""
    return uploads(view, lambda m: {n: draw.standard_t(tails, tuple(t.shape)) for n, t in m.tensors.items()})


def turned(view: View, _: NodeKnowledge, __: Ints, ___: np.random.Generator) -> View:
    """The sign turned."""
    return uploads(view, lambda m: {n: -t.double().numpy() for n, t in m.tensors.items()})


NULLS: dict[str, Change] = {
    "gradients of others": of_others,
    "noise, Cauchy": partial(heavy, 1.0),
    "noise, Student's t with 2 degrees": partial(heavy, 2.0),
    "the sign turned": turned,
}


@main.command()
@datasets
@seeds
@click.option("--only", multiple=True, help="Nulls, by the start of their names.")
def null(names: Sequence[str], seeds: int, only: Sequence[str]) -> None:
    """What FedGC's server would see if it did not depend on who is asked about: nobody should be accused."""
    case = CASES["fedgc, self-training"]
    chosen = {name: one for name, one in NULLS.items() if not only or name.startswith(tuple(only))}
    table(
        "null",
        (
            (name, row(dataset, s, case, one))
            for dataset in names
            for name, one in chosen.items()
            for s in range(seeds)
        ),
    )


if __name__ == "__main__":
    main()
