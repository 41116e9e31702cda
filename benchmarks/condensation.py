"""What condensing costs: CPU seconds for each model drawn, beside the textbook loop in the same run.

    python benchmarks/condensation.py speed --dataset Cora
    python benchmarks/condensation.py growth --dataset Cora --nodes 35 --nodes 70 --nodes 140 --nodes 500
    python benchmarks/condensation.py large --dataset PubMed --dataset CS

The textbook loop is as Jin et al. describe it: an MLP on gathered pairs of rows [n'^2, 2 d], models
in autograd, for each class on the nodes within two hops of its labelled ones (found beforehand), derivatives of
derivatives by autograd. Both loops take the same steps from the same state, and the losses are compared.
"""

import resource
import subprocess
import sys
from collections.abc import Callable
from time import process_time
from typing import Any

import click
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gaudit.graphs.datasets.loading import load_dataset
from gaudit.registry import find
from gaudit.targets.condensation.gradient_distance import StructureGenerator
from gaudit.targets.condensation.matching import MatchingServer
from gaudit.targets.models.propagation import dense_gcn_operator, gcn_operator

METHODS = ("gcond", "doscond")
DATASETS = ("Cora", "CiteSeer", "PubMed", "CS")


class GatheredPairs(nn.Module):
    """The structure generator as it is printed: every pair of rows side by side, with another's weights."""

    def __init__(self, own: StructureGenerator) -> None:
        super().__init__()
        self.own = own

    def forward(self, x: Tensor) -> Tensor:
        """Adjacency [n', n']."""
        n = len(x)
        one, other = (index.flatten() for index in torch.meshgrid(torch.arange(n), torch.arange(n), indexing="ij"))
        h = torch.relu(self.own.norms[0](self.own.pair(torch.cat([x[one], x[other]], 1))))
        score = self.own.out(torch.relu(self.own.norms[1](self.own.middle(h)))).reshape(n, n)
        return torch.sigmoid((score + score.t()) / 2) * (1 - torch.eye(n))


class Textbook:
    """Condensation with autograd alone, from the state of a `MatchingServer`."""

    def __init__(self, server: MatchingServer, data: Any) -> None:
        self.settings, self.server, self.data = server.settings, server, data
        self.parts = {label: self._around(label) for label in server.y.unique().tolist()}
        self.x = server.x.detach().clone().requires_grad_(True)
        self.structure = GatheredPairs(server.structure)  # type: ignore[arg-type]
        self.adam_x = torch.optim.Adam([self.x], lr=self.settings.lr_features)
        self.adam_structure = torch.optim.Adam(self.structure.parameters(), lr=self.settings.lr_structure)

    def _around(self, label: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Operator, features, labels and who is labelled among the nodes near one class's labelled nodes."""
        from torch_geometric.utils import k_hop_subgraph

        data, own = self.data, self.data.train_mask & (self.data.y == label)
        near, *_ = k_hop_subgraph(own.nonzero().flatten(), 2, data.edge_index, num_nodes=data.num_nodes)
        operator = gcn_operator(data.edge_index, data.num_nodes).to_dense()[near][:, near].to_sparse_csr()
        return operator, data.x[near], data.y[near], own[near]

    def round(self, number: int) -> float:
        """One model drawn, and all steps with it; the loss of the last."""
        s, y = self.settings, self.server.y
        theta = {n: w.clone().requires_grad_(True) for n, w in self.server.draw_model(number).items()}
        adam_theta = torch.optim.Adam(theta.values(), lr=s.lr_model)  # type: ignore[attr-defined]
        on_structure = number % (s.structure_steps + s.feature_steps) < s.structure_steps
        for step in range(s.outer):  # type: ignore[attr-defined]
            operator = dense_gcn_operator(self.structure(self.x))
            loss = torch.zeros(())
            for label in y.unique().tolist():
                real = self._gradients(theta, *self.parts[label], False)
                made = self._gradients(theta, operator, self.x, y, y == label, True)
                weight = (y == label).sum() / torch.bincount(y).max()
                loss = loss + weight * self._distance(real, made)
            adam = self.adam_structure if on_structure else self.adam_x
            self.adam_structure.zero_grad()
            self.adam_x.zero_grad()
            loss.backward()
            adam.step()
            if step + 1 == s.outer:  # type: ignore[attr-defined]
                break
            with torch.no_grad():
                operator = dense_gcn_operator(self.structure(self.x))
            for _ in range(s.inner):  # type: ignore[attr-defined]
                adam_theta.zero_grad()
                F.cross_entropy(self._logits(theta, operator, self.x.detach()), y).backward()
                adam_theta.step()
        return float(loss)

    def _logits(self, theta: dict[str, Tensor], operator: Tensor, x: Tensor) -> Tensor:
        if "w" in theta:
            return operator @ (operator @ (x @ theta["w"])) + theta["b"]
        hidden = torch.relu(operator @ (x @ theta["w1"]) + theta["b1"])
        return operator @ (hidden @ theta["w2"]) + theta["b2"]

    def _gradients(
        self, theta: dict[str, Tensor], operator: Tensor, x: Tensor, y: Tensor, own: Tensor, again: bool
    ) -> dict[str, Tensor]:
        loss = F.cross_entropy(self._logits(theta, operator, x)[own], y[own])
        found = torch.autograd.grad(loss, list(theta.values()), create_graph=again)
        return {name: g if again else g.detach() for name, g in zip(theta, found, strict=True)}

    def _distance(self, real: dict[str, Tensor], made: dict[str, Tensor]) -> Tensor:
        if self.settings.distance == "mse":
            return torch.stack([(real[n] - made[n]).square().sum() for n in real]).sum()
        two = [n for n in real if real[n].dim() == 2]
        return torch.stack([(1 - F.cosine_similarity(real[n], made[n], dim=0, eps=1e-6)).sum() for n in two]).sum()


@click.group()
def main() -> None:
    """The cost of condensation."""
    torch.set_num_threads(1)


@main.command()
@click.option("--dataset", type=click.Choice(DATASETS), default="Cora", show_default=True)
@click.option("--method", "methods", multiple=True, type=click.Choice(METHODS), default=METHODS)
@click.option("--rounds", default=20, show_default=True, help="Models drawn, of each loop.")
def speed(dataset: str, methods: tuple[str, ...], rounds: int) -> None:
    """CPU seconds for each model drawn, and the losses of both loops."""
    line("method", "gaudit, CPU s", "textbook, CPU s", "times", "last losses")
    for method in methods:
        data = load_dataset(dataset)
        data.name = dataset
        fast, slow = loops(method, data, rounds)
        ours, own = timed(fast, rounds)
        theirs, other = timed(slow, rounds)
        line(method, f"{ours:.3f}", f"{theirs:.2f}", f"{theirs / ours:.1f}", f"{own:.6f} / {other:.6f}")


def loops(method: str, data: Any, rounds: int) -> tuple[Callable[[int], float], Callable[[int], float]]:
    """One round of either loop; both start from the same features, structure and models."""
    from gaudit.targets.condensation.matching import ClassCells
    from gaudit.targets.federated.neighbour_exchange import exchange
    from gaudit.targets.models.backbone import BACKBONES
    from gaudit.targets.partition import Partition
    from gaudit.targets.party import clients_of

    kind = find("targets", method)
    s = kind(**{**kind.preset("paper", data), "rounds": rounds, "checkpoints": (rounds,)}).settings
    (owner,) = clients_of(data, Partition.undivided(data.num_nodes))
    (near,) = exchange([owner], 0, data.num_nodes, None, False)  # type: ignore[arg-type]  # nothing is sent
    cells, rows = ClassCells(owner, near), (owner.x[owner.train], owner.y[owner.train])
    size = round(s.ratio * data.num_nodes)

    def server() -> MatchingServer:
        counts = owner.class_counts()[None]
        return MatchingServer.starting(s, data.num_features, counts, size, np.random.SeedSequence(0), rows)

    own, losses = server(), []
    distance = own._distance
    own._distance = lambda *parts: losses.append(distance(*parts)) or losses[-1]  # type: ignore[func-returns-value,method-assign]

    def fast(number: int) -> float:
        theta = own.draw_model(number)
        learner = own.learner(theta, s.lr_model)
        for step in range(s.outer):
            own.match(theta, cells.to_match(theta, BACKBONES[s.backbone], None), number)
            if step + 1 < s.outer and s.inner:
                theta = own.taught(learner, s.inner)
        return float(losses[-1])

    return fast, Textbook(server(), data).round


def timed(loop: Callable[[int], float], rounds: int) -> tuple[float, float]:
    """CPU seconds a round, and the last loss."""
    began = process_time()
    last = [loop(number) for number in range(rounds)][-1]
    return (process_time() - began) / rounds, last


@main.command()
@click.option("--dataset", type=click.Choice(DATASETS), default="Cora", show_default=True)
@click.option("--nodes", multiple=True, type=int, default=(35, 70, 140, 500), show_default=True)
@click.option("--method", "methods", multiple=True, type=click.Choice(METHODS), default=METHODS)
@click.option("--rounds", default=5, show_default=True)
def growth(dataset: str, nodes: tuple[int, ...], methods: tuple[str, ...], rounds: int) -> None:
    """CPU seconds for each model drawn and peak memory by condensed nodes, each in a process of its own."""
    line("method", "condensed nodes", "CPU s a model", "peak memory, MiB", "before condensing, MiB")
    for method in methods:
        for count in nodes:
            line(method, count, *apart("one", dataset, method, str(count), str(rounds)))


@main.command()
@click.option("--dataset", "datasets", multiple=True, type=click.Choice(DATASETS), default=("PubMed", "CS"))
@click.option("--method", "methods", multiple=True, type=click.Choice(METHODS), default=METHODS)
@click.option("--ratio", default=0.003, show_default=True)
@click.option("--rounds", default=5, show_default=True)
def large(datasets: tuple[str, ...], methods: tuple[str, ...], ratio: float, rounds: int) -> None:
    """The same for large graphs."""
    line("dataset", "method", "condensed nodes", "CPU s a model", "peak memory, MiB", "before condensing, MiB")
    for dataset in datasets:
        count = round(ratio * load_dataset(dataset).num_nodes)
        for method in methods:
            line(dataset, method, count, *apart("one", dataset, method, str(count), str(rounds)))


@main.command(hidden=True)
@click.argument("dataset")
@click.argument("method")
@click.argument("nodes", type=int)
@click.argument("rounds", type=int)
def one(dataset: str, method: str, nodes: int, rounds: int) -> None:
    """One condensation of so many rounds; prints what it took."""
    data = load_dataset(dataset)
    before = peak()
    target = find("targets", method)(
        ratio=nodes / data.num_nodes, rounds=rounds, checkpoints=(rounds,), test={"epochs": 1, "models": 1}
    )
    marks: list[float] = []

    def progress(stage: str, done: int, total: int) -> None:
        if stage == "condensing":
            marks.append(process_time())

    target(data, find("defenses", "none")(), np.random.SeedSequence(0), lambda message: False, progress)
    click.echo(f"{(marks[-1] - marks[0]) / (rounds - 1):.3f};{peak():.0f};{before:.0f}")


def apart(*arguments: str) -> list[str]:
    """What a command of this file prints in a process of its own."""
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip().splitlines()[-1].split(";")


def peak() -> float:
    """Most memory held so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def line(*cells: object) -> None:
    click.echo("| " + " | ".join(map(str, cells)) + " |")


if __name__ == "__main__":
    main()
