"""What can be read off messages in closed form, beside the truth: gradients of lone nodes, sums of lone rows.

    python benchmarks/readout.py class-gradients --dataset Cora --seeds 5
    python benchmarks/readout.py partitions --dataset Cora
    python benchmarks/readout.py defended --dataset Cora --seeds 2
    python benchmarks/readout.py communication --dataset Cora --seeds 5

All as FedGC partitions the graph: Dirichlet with beta 1, 10 clients. The first runs a few rounds of FedGC with its
published settings and no defense, and reads every class gradient that is uploaded; the second does so with defenses
of uploads; the third sends the partial sums of one-step communication in plain text and reads these.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import click
import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from gaudit.attacks.gradients.gradient_inversion import (
    ReadRow,
    leading_row,
    partial_sums_of,
    read_class_gradients,
    read_partial_sums,
)
from gaudit.defenses.uploads.gaussian_uploads import GaussianUploads, NoiseInstead
from gaudit.defenses.uploads.gradient_compression import QuantisedUploads, TopKUploads
from gaudit.defenses.uploads.laplace_uploads import LaplaceLDP
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.randomness import branch
from gaudit.targets.channel import Channel, keep_kinds
from gaudit.targets.defense import Defense
from gaudit.targets.federated.neighbour_exchange import exchange
from gaudit.targets.federated_condensation.fedgc import FedGC
from gaudit.targets.messages import CLASS_GRADIENTS_KIND, MATCHING_MODEL_KIND
from gaudit.targets.models.backbone import GCN, BackboneName
from gaudit.targets.partition import partition
from gaudit.targets.party import Client, clients_of

EXACT = 1e-3
"""Relative error up to which a vector counts as read."""


def parties(data: Data, seed: np.random.SeedSequence, clients: int, beta: float) -> list[Client]:
    """The clients of FedGC's run with the same seed."""
    return clients_of(data, partition(data, "dirichlet", clients, branch(seed, "partition"), beta=beta))


@dataclass(frozen=True)
class Setup:
    """Of a run of FedGC."""

    clients: int = 10
    beta: float = 1.0
    backbone: BackboneName = "gcn"
    rounds: int = 3
    defense: Defense = field(default_factory=Defense)


DEFENSES = (
    Defense(),
    *(LaplaceLDP(epsilon=epsilon) for epsilon in (100.0, 10.0, 1.0)),
    *(GaussianUploads(multiplier=multiplier) for multiplier in (0.001, 0.01, 0.1)),
    *(QuantisedUploads(bits=bits) for bits in (16, 8)),
    *(TopKUploads(share=share) for share in (0.5, 0.1, 0.01)),
    NoiseInstead(),
)


def uploaded_cells(data: Data, seed: int, setup: Setup) -> dict[str, float]:
    """Counts over all uploaded class gradients of one run."""
    root = np.random.SeedSequence(seed)
    target = FedGC(
        clients=setup.clients,
        beta=setup.beta,
        backbone=setup.backbone,
        rounds=setup.rounds,
        checkpoints=(setup.rounds,),
        test={"epochs": 1, "models": 1},
    )
    kept = keep_kinds(CLASS_GRADIENTS_KIND, MATCHING_MODEL_KIND)
    sent = target(data, setup.defense, root, kept).transcript.messages
    thetas = {m.round: m.tensors for m in sent if m.kind == MATCHING_MODEL_KIND}
    own = parties(data, root, setup.clients, setup.beta)
    near = exchange(own, target.settings.hops, data.num_nodes, Channel(), encrypted=True)
    found = dict.fromkeys(("cells", "lone", "read", "twins", "false", "worst"), 0.0)
    unchecked: list[float] = []
    alone: list[Tensor] = []
    for message in (m for m in sent if m.kind == CLASS_GRADIENTS_KIND):
        theta, number = thetas[message.round], int(message.sender.removeprefix("client:"))
        client = own[number]
        once = near[number].rows
        before = once.to_dense() if setup.backbone == "sgc" else GCN.hidden(theta, once)
        rows = near[number].second @ before
        for label, read in read_class_gradients(message.tensors, theta, setup.backbone).items():
            true = rows[client.train & (client.y_train == label)].double()
            if len(true) == 1:
                unchecked.append(likeness(message.tensors, label, setup.backbone, true[0]))
                alone.append(true[0])
            found["cells"] += 1
            found["lone"] += len(true) == 1
            if read is None:
                continue
            worst = float(relative_error(read.vector, true).max())
            right = read.label == label and worst < EXACT
            found["read"] += right and len(true) == 1
            found["twins"] += right and len(true) > 1
            found["false"] += not right
            found["worst"] = max(found["worst"], worst if right else 0.0)
    others = torch.stack([torch.cosine_similarity(a, b, 0) for a, b in pairwise(alone)])
    return {**found, "likeness": float(np.median(unchecked)), "of others": float(others.median())}


def likeness(message: Mapping[str, Tensor], label: int, backbone: str, true: Tensor) -> float:
    """Cosine of the true row and the leading one of a class's gradient, whatever the checks say."""
    gradient = {name.partition("/")[2]: t for name, t in message.items() if name.startswith(f"{label}/")}
    return float(torch.cosine_similarity(leading_row(gradient, backbone), true, 0))


def relative_error(vector: Tensor, rows: Tensor) -> Tensor:
    distance: Tensor = (rows - vector).norm(dim=1) / rows.norm(dim=1)
    return distance


def contributors(data: Data, owner: Tensor) -> dict[tuple[int, int], list[int]]:
    """The nodes in each partial sum, by client and node that the sum is about."""
    loops = torch.arange(data.num_nodes).repeat(2, 1)
    found = defaultdict(list)
    for source, goal in torch.cat([loops, data.edge_index], 1).t().tolist():
        found[int(owner[source]), goal].append(source)
    return found


def communicated(data: Data, seed: int, clients: int, beta: float) -> dict[str, float]:
    """Counts over all nodes, and over all rows that are claimed."""
    own = parties(data, np.random.SeedSequence(seed), clients, beta)
    channel = Channel(retain=keep_kinds("neighbour-ids", "neighbour-sums"))
    exchange(own, 2, data.num_nodes, channel, encrypted=False)
    binary = bool(((data.x == 0) | (data.x == 1)).all())
    (sums,) = partial_sums_of(channel.transcript.messages)
    claims = read_partial_sums(sums, binary)
    owner = torch.empty(data.num_nodes, dtype=torch.long)
    for client in own:
        owner[client.nodes] = client.number
    behind = contributors(data, owner)
    lone = {(key, nodes[0]) for key, nodes in behind.items() if len(nodes) == 1}
    judged = [(claim, truth_of(claim, behind, data.x)) for claim in claims]
    return {
        "nodes": data.num_nodes,
        "alone": len({node for _, node in lone}),
        "alone across": len({node for (client, goal), node in lone if int(owner[goal]) != client}),
        "read": len({node for _, node in judged if node is not None}),
        "named": len({node for claim, node in judged if node is not None and node == claim.node}),
        "claims": sum(claim.degree is not None for claim in claims),
        "false": sum(node is None and claim.degree is not None for claim, node in judged),
        "misnamed": sum(claim.node not in (None, node) for claim, node in judged if node is not None),
    }


def truth_of(claim: ReadRow, behind: dict[tuple[int, int], list[int]], x: Tensor) -> int | None:
    """The contributor that has the claimed row, if there is one (others may have no word at all)."""
    if claim.degree is None:
        return None
    everybody = behind[int(claim.sender.removeprefix("client:")), claim.place]
    inside = everybody if len(everybody) == 1 else [u for u in everybody if bool(x[u].any())]
    if len(inside) == 1 and torch.allclose(claim.row, x[inside[0]], rtol=1e-4, atol=1e-6):
        return inside[0]
    return None


def share(parts: Sequence[dict[str, float]], what: str, of: str) -> str:
    """Mean and range over seeds, in percent."""
    shares = [100 * part[what] / part[of] for part in parts]
    return f"{np.mean(shares):.1f} % ({min(shares):.1f}-{max(shares):.1f})"


def total(parts: Sequence[dict[str, float]], what: str) -> str:
    return f"{sum(part[what] for part in parts):.0f}"


CELL_COLUMNS = ("gradients", "from one node", "of these read", "worst error", "from twins", "false")
LIKENESS_COLUMNS = ("likeness unchecked", "of two nodes")


def cells_row(data: Data, seeds: int, setup: Setup) -> list[str]:
    parts = [uploaded_cells(data, s, setup) for s in range(seeds)]
    return [
        total(parts, "cells"),
        share(parts, "lone", "cells"),
        share(parts, "read", "lone"),
        f"{max(part['worst'] for part in parts):.0e}" if any(part["read"] for part in parts) else "",
        total(parts, "twins"),
        total(parts, "false"),
        *(f"{np.mean([part[what] for part in parts]):.3f}" for what in ("likeness", "of others")),
    ]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    click.echo("| " + " | ".join(head) + " |")
    click.echo("| --- " * len(head) + "|")
    for row in rows:
        click.echo("| " + " | ".join(row) + " |")


@click.group()
def main() -> None:
    """Closed-form read-outs beside the truth."""
    torch.set_num_threads(1)


datasets = click.option("--dataset", "names", multiple=True, default=("Cora",), show_default=True)
seeds = click.option("--seeds", default=5, show_default=True)
sizes = click.option("--clients", default=10, show_default=True)
betas = click.option("--beta", default=1.0, show_default=True, help="Concentration of the Dirichlet partition.")


@main.command()
@datasets
@seeds
@sizes
@betas
@click.option("--backbone", "backbones", multiple=True, default=("gcn", "sgc"), show_default=True)
@click.option("--rounds", default=3, show_default=True)
def class_gradients(
    names: Sequence[str], seeds: int, clients: int, beta: float, backbones: Sequence[BackboneName], rounds: int
) -> None:
    """Gradients that come from one labelled node, and what is read off them."""
    rows = []
    for name in names:
        for backbone in backbones:
            setup = Setup(clients, beta, backbone, rounds)
            rows.append([name, backbone, *cells_row(load_dataset(name), seeds, setup)[:-2]])
    table(["dataset", "model", *CELL_COLUMNS], rows)


@main.command()
@datasets
@click.option("--seeds", default=200, show_default=True)
@sizes
@betas
def partitions(names: Sequence[str], seeds: int, clients: int, beta: float) -> None:
    """How many class gradients one labelled node is behind, over many partitions; nothing is trained."""
    click.echo("| dataset | of one node | standard error | cells without a label | labels per gradient |")
    click.echo("| --- | --- | --- | --- | --- |")
    for name in names:
        data = load_dataset(name)
        y, train = data.y.numpy(), data.train_mask.numpy()
        counts = np.zeros((seeds, clients, y.max() + 1))
        for seed in range(seeds):
            owner = partition(data, "dirichlet", clients, np.random.SeedSequence(seed), beta=beta).owner.numpy()
            np.add.at(counts[seed], (owner[train], y[train]), 1)
        shares = np.array([(c[c > 0] == 1).mean() for c in counts])
        error = shares.std(ddof=1) / np.sqrt(seeds)
        click.echo(
            f"| {name} | {100 * shares.mean():.1f} % | {100 * error:.1f} | {100 * (counts == 0).mean():.0f} % | "
            f"{counts[counts > 0].mean():.1f} |"
        )


@main.command()
@datasets
@click.option("--seeds", default=2, show_default=True)
@sizes
@betas
def defended(names: Sequence[str], seeds: int, clients: int, beta: float) -> None:
    """The same with defenses of uploads; the reader does not know of them."""
    rows = []
    for name in names:
        for defense in DEFENSES:
            setup = Setup(clients, beta, rounds=1, defense=defense)
            knob = f" {getattr(defense.settings, defense.strength):g}" if defense.strength else ""
            rows.append([name, defense.name + knob, *cells_row(load_dataset(name), seeds, setup)])
    table(["dataset", "defense", *CELL_COLUMNS, *LIKENESS_COLUMNS], rows)


@main.command()
@datasets
@seeds
@sizes
@betas
def communication(names: Sequence[str], seeds: int, clients: int, beta: float) -> None:
    """Nodes whose raw row is read off plain one-step communication."""
    rows = []
    for name in names:
        data = load_dataset(name)
        parts = [communicated(data, s, clients, beta) for s in range(seeds)]
        shares = [share(parts, what, "nodes") for what in ("alone", "alone across", "read", "named")]
        rows.append([name, *shares, *(total(parts, what) for what in ("claims", "false", "misnamed"))])
    head = "dataset,alone in a sum,in one for another client's node,row read,and named,claims,false,misnamed"
    table(head.split(","), rows)


if __name__ == "__main__":
    main()
