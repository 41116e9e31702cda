"""GraphMI against a centrally trained GCN, measured beside published figures; and what it costs.

    python benchmarks/graphmi.py protocol --dataset Cora --seeds 5
    python benchmarks/graphmi.py agreement
    python benchmarks/graphmi.py cost --nodes 700 --nodes 2708 --nodes 5000 --nodes 19717

The published protocol attacks a tenth of the nodes: AUC over all pairs of these, average precision over as many
non-edges as edges. The honest one takes all pairs at their true prevalence.
"""

import json
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

import click
import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

PUBLISHED = {"Cora": (0.868, 0.883), "CiteSeer": (0.878, 0.885)}  # Zhang et al. 2021, AUC, AP at 1:1, one in ten
# The authors' code on their npz files: AUC and AP at 1:1 of one in ten, AUC and AP of all pairs. Five seeds (three
# with all nodes attacked), one of each by the code as it stands, the others by one that equals it to 0.001.
AUTHORS: dict[tuple[str, str], dict[str, tuple[float, ...]]] = {
    ("Cora", "tenth"): {
        "GraphMI": (0.876, 0.856, 0.818, 0.0088),
        "A = I": (0.813, 0.791, 0.813, 0.0085),
        "adjacency, ties at half": (0.572, 0.574, 0.514, 0.0050),
        "feature cosine": (0.806, 0.808, 0.803, 0.0361),
        "same label": (0.817, 0.762, 0.816, 0.0055),
    },
    ("CiteSeer", "tenth"): {
        "GraphMI": (0.859, 0.843, 0.835, 0.0071),
        "A = I": (0.818, 0.804, 0.833, 0.0070),
        "adjacency, ties at half": (0.574, 0.578, 0.509, 0.0034),
        "feature cosine": (0.896, 0.906, 0.889, 0.1185),
        "same label": (0.771, 0.717, 0.780, 0.0027),
    },
    ("Cora", "all"): {
        "GraphMI": (0.870, 0.845, 0.870, 0.0107),
        "A = I": (0.813, 0.800, 0.813, 0.0087),
        "adjacency, ties at half": (0.777, 0.778, 0.777, 0.0459),
        "feature cosine": (0.803, 0.821, 0.803, 0.0361),
    },
    ("CiteSeer", "all"): {
        "GraphMI": (0.869, 0.855, 0.869, 0.0092),
        "A = I": (0.830, 0.819, 0.830, 0.0071),
        "adjacency, ties at half": (0.768, 0.774, 0.768, 0.104),
        "feature cosine": (0.889, 0.903, 0.889, 0.1185),
    },
}
PUBMED = 19_717  # nodes
DRAWS = 20  # of non-edges for the average precision at 1:1


@click.group()
def main() -> None:
    """GraphMI, measured."""


# --- how well -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Victim:
    """A GCN as the authors train it, and its graph."""

    data: Any
    weights: dict[str, Tensor]
    first: dict[str, Tensor]
    accuracy: float

    @classmethod
    def trained(cls, data: Any, seed: int) -> "Victim":
        """16 hidden units, dropout .5, Adam .01, decay 5e-4, 200 epochs, best validation checkpoint, full graph."""
        from gaudit.randomness import branch
        from gaudit.targets.models.model_ensemble import train_models
        from gaudit.targets.models.training_config import TrainingConfig, initial_weights
        from gaudit.targets.models.training_task import Query, TrainingTask

        recipe = TrainingConfig(
            hidden=16, epochs=200, lr=0.01, weight_decay=5e-4, dropout=0.5, init="pygcn", every=1
        )
        root, classes = np.random.SeedSequence(seed), int(data.y.max()) + 1
        first = initial_weights(recipe, data.num_features, classes, branch(root, "weights"))
        task = TrainingTask(data, data.train_mask[None], recipe, classes, validation=data.val_mask)
        ask = Query(torch.arange(data.num_nodes), data.edge_index)
        found = train_models(task, [ask], root, first=[first], keep_weights=True)
        right = found.answers[0][0].argmax(1)[data.test_mask] == data.y[data.test_mask]
        weights = {name: weight[0] for name, weight in found.weights.items()}
        return cls(data, weights, first, float(right.float().mean()))

    @property
    def edges(self) -> int:
        return int(self.data.edge_index.shape[1]) // 2

    def descent(self, attacked: Tensor, weights: dict[str, Tensor] | None = None, **settings: Any) -> Any:
        """The descent with the labels of attacked nodes, and as many edges as the authors allow for."""
        from gaudit.attacks.links.adjacency_descent import AdjacencyDescent
        from gaudit.attacks.links.relaxed_model import RelaxedModel

        n, labels = self.data.num_nodes, torch.full_like(self.data.y, -1)
        labels[attacked] = self.data.y[attacked]
        budget = int(self.edges * (len(attacked) / n) ** 2)
        model = RelaxedModel("gcn", self.weights if weights is None else weights, self.data.x)
        return AdjacencyDescent(model, self.data.x, labels, budget, **settings)


@main.command()
@click.option("--dataset", type=click.Choice(["Cora", "CiteSeer"]), required=True)
@click.option("--seeds", default=5, show_default=True)
@click.option("--iterations", default=100, show_default=True)
def protocol(dataset: str, seeds: int, iterations: int) -> None:
    """GraphMI and what it is compared with, by the published and by the honest protocol."""
    from gaudit.graphs.datasets.loading import load_dataset

    torch.set_num_threads(1)
    data = load_dataset(dataset)
    found: dict[str, list[dict[str, tuple[float, ...]]]] = {"tenth": [], "all": []}
    accuracies = []
    for seed in range(seeds):
        victim = Victim.trained(data, seed)
        accuracies.append(victim.accuracy)
        some = np.random.default_rng([seed, 1]).permutation(data.num_nodes)[: data.num_nodes // 10]
        groups = {"tenth": torch.from_numpy(np.sort(some)), "all": torch.arange(data.num_nodes)}
        for name, attacked in groups.items():
            torch.manual_seed(seed)
            found[name].append(_judged(data, attacked, _scores(victim, attacked, iterations), seed))
            click.echo(f"seed {seed}, {name}: GraphMI {found[name][-1]['GraphMI'][0]:.3f}", err=True)
    accuracy = f"test accuracy {min(accuracies):.3f} to {max(accuracies):.3f}"
    click.echo(f"{dataset}, {seeds} seeds, {data.num_nodes} nodes, {victim.edges} edges, {accuracy}")
    _print_table(dataset, "tenth", "a random tenth of the nodes attacked", found["tenth"])
    _print_table(dataset, "all", "all nodes attacked", found["all"])


def _scores(victim: Victim, attacked: Tensor, iterations: int) -> dict[str, Tensor]:
    """Scores of all pairs i < j by name, [n (n - 1) / 2]."""
    from gaudit.attacks.links.adjacency_descent import refined

    n = victim.data.num_nodes
    low, high = torch.triu_indices(n, n, 1)
    pairs = torch.stack([low, high], 1)

    def cosine(rows: Tensor) -> Tensor:
        unit = F.normalize(rows, dim=1)
        return (unit @ unit.t())[low, high]

    descent, untrained = victim.descent(attacked), victim.descent(attacked, victim.first)
    graph, soon = descent.found(iterations), descent.found(min(iterations, 10))
    relaxed, slope = graph.at(pairs), descent.model.gradient(graph, descent.labels).at(pairs)
    return {
        "GraphMI": cosine(descent.model.hidden(graph)),
        "GraphMI, 10 steps": cosine(descent.model.hidden(soon)),
        "A = I": cosine(descent.model.hidden(descent.empty())),
        "adjacency, ties at half": relaxed,
        "adjacency, ties by gradient": refined(relaxed, slope),
        "adjacency, best of 20 draws": descent.drawn(graph, 20).at(pairs),
        "GraphMI, untrained weights": cosine(untrained.model.hidden(untrained.found(iterations))),
        "feature cosine": cosine(victim.data.x),
        "same label": (victim.data.y[low] == victim.data.y[high]).float(),
    }


def _judged(data: Any, attacked: Tensor, scores: dict[str, Tensor], seed: int) -> dict[str, tuple[float, ...]]:
    """AUC, AP at 1:1 and AP over pairs of attacked nodes, AUC and AP over all pairs."""
    from gaudit.audit.statistics.average_precision import average_precision
    from gaudit.audit.statistics.metrics import auc

    n = data.num_nodes
    low, high = torch.triu_indices(n, n, 1)
    linked = torch.zeros(n, n, dtype=torch.bool)
    linked[data.edge_index[0], data.edge_index[1]] = True
    truth, chosen = linked[low, high].numpy(), torch.zeros(n, dtype=torch.bool)
    chosen[attacked] = True
    inside = (chosen[low] & chosen[high]).numpy()
    members, others = np.flatnonzero(truth & inside), np.flatnonzero(~truth & inside)
    rng, judged = np.random.default_rng([seed, 2]), {}
    drawn = [np.concatenate([members, rng.choice(others, len(members), replace=False)]) for _ in range(DRAWS)]
    for name, score in scores.items():
        told = score.double().numpy()
        even = float(np.mean([average_precision(truth[d], told[d]) for d in drawn]))
        within = auc(truth[inside], told[inside]), even, average_precision(truth[inside], told[inside])
        judged[name] = (*within, auc(truth, told), average_precision(truth, told))
    return judged


def _print_table(dataset: str, group: str, title: str, runs: list[dict[str, tuple[float, ...]]]) -> None:
    tenth = group == "tenth"
    published = PUBLISHED[dataset] if tenth else ("", "")
    columns = ["AUC", "published", "authors' code", "AP 1:1", "published", "authors' code"]
    columns += ["AP, true prevalence"] if tenth else []
    columns += ["AUC, all pairs", "authors' code"] if tenth else []
    columns += [f"AP{', all pairs' if tenth else ', true prevalence'}", "authors' code"]
    click.echo(f"\n{title}\n\n| score | {' | '.join(columns)} |\n|{' --- |' * (len(columns) + 1)}")
    for name in runs[0]:
        values = np.array([run[name] for run in runs])
        mean, old = values.mean(0), AUTHORS[dataset, group].get(name, ("",) * 4)
        spread = values.std(0, ddof=1) if len(values) > 1 else 0 * mean
        told = [f"{m:.3f} ± {s:.3f}" for m, s in zip(mean, spread, strict=True)]
        claimed = published if name == "GraphMI" else ("", "")
        cells = [told[0], claimed[0], old[0], told[1], claimed[1], old[1]]
        cells += [f"{mean[2]:.4f}", told[3], old[2]] if tenth else []
        cells += [f"{mean[4]:.4f}", old[3]]
        click.echo(f"| {name} | {' | '.join(map(str, cells))} |")


# --- at what cost -------------------------------------------------------------------------------------------------


@main.command()
@click.option("--nodes", multiple=True, type=int, default=(700, 2708, 5000, 19717), show_default=True)
@click.option("--dense-up-to", default=5000, show_default=True, help="nodes up to which the dense descent is run")
@click.option("--dense-steps", default=2, show_default=True, help="of each kind, without and with smoothness")
def cost(nodes: tuple[int, ...], dense_up_to: int, dense_steps: int) -> None:
    """CPU seconds and peak memory of 100 steps on one thread, beside dense autograd, each in a fresh process.

    Random nodes of Cora (PubMed above 2708) with a GCN trained on them. `all`: all labels are attacked, with as
    many edges as there are, `tenth`: a tenth of the nodes, with a hundredth of the edges. The dense descent makes a
    few steps of each kind, its 100 are extrapolated.
    """
    click.echo(
        "| nodes | attacked | pairs with a weight | s / step, first 50 | last 50 | 100 steps, s | peak GiB "
        "| before | dense, s / step, first 50 | last 50 | 100 steps, s | peak GiB | ratio |"
    )
    click.echo("|" + " --- |" * 13)
    for size in nodes:
        for group in ("all", "tenth"):
            tiles = _measured("tiles", size, group, 50)
            dense = _measured("dense", size, group, dense_steps) if size <= dense_up_to else None
            click.echo(
                f"| {size} | {group} | {tiles['count']} {_cells(tiles)} {tiles['base']:.2f} {_beside(tiles, dense)}"
            )


def _cells(found: dict[str, Any]) -> str:
    rough, smooth = found["seconds"]
    return f"| {rough:.3g} | {smooth:.3g} | {50 * (rough + smooth):.3g} | {found['peak']:.2f} |"


def _beside(tiles: dict[str, Any], dense: dict[str, Any] | None) -> str:
    if dense is None:
        return "| | | | | |"
    return f"{_cells(dense)} {sum(dense['seconds']) / sum(tiles['seconds']):.0f} |"


def _measured(how: str, nodes: int, group: str, steps: int) -> dict[str, Any]:
    arguments = ["one", "--how", how, "--nodes", str(nodes), "--group", group, "--steps", str(steps)]
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@main.command()
@click.option("--nodes", default=700, show_default=True)
@click.option("--steps", default=15, show_default=True, help="of each kind, without and with smoothness")
def agreement(nodes: int, steps: int) -> None:
    """The largest difference between the adjacencies that the tiled and the dense descent end in."""
    torch.set_num_threads(1)
    victim = Victim.trained(_some_nodes(nodes), 0)
    for count in (nodes, nodes // 10):
        attacked = torch.from_numpy(np.random.default_rng(1).permutation(nodes)[:count])
        descent = victim.descent(attacked, smooth_from=steps)
        graph, plain = descent.found(2 * steps), PlainDescent.like(descent)
        for step in range(2 * steps):
            plain.step(step >= steps)
        off = float((graph.at(plain.places.t()) - plain.entries).abs().max())
        click.echo(f"{count} of {nodes} nodes attacked: {off:.1e}, largest entry {float(plain.entries.max()):.3f}")


@main.command()
@click.option("--nodes", default=10_000, show_default=True, help="above PubMed's: a random graph (large_graphs.py)")
@click.option("--count", "counts", type=int, multiple=True, default=(0, 16, 32, 64), show_default=True)
@click.option("--iterations", default=10, show_default=True)
def candidates(nodes: int, counts: tuple[int, ...], iterations: int) -> None:
    """AUC of edges against non-edges with some candidates for each node, or (0) all pairs; what share of the edges
    is among them; CPU seconds of one thread; and the AUC without any step. Each in a process of its own."""
    click.echo(
        "| candidates | edges among them | AUC | 95 % | without a step | CPU s | peak GiB |\n|" + " --- |" * 7
    )
    for count in counts:
        arguments = ["some", "--nodes", str(nodes), "--count", str(count), "--iterations", str(iterations)]
        done = subprocess.run([sys.executable, __file__, *arguments], stdout=subprocess.PIPE, text=True, check=True)
        click.echo(done.stdout.splitlines()[-1])


@main.command(hidden=True)
@click.option("--nodes", type=int)
@click.option("--count", type=int)
@click.option("--iterations", type=int)
def some(nodes: int, count: int, iterations: int) -> None:
    """One row of `candidates`."""
    from gaudit.attacks.links.link_attack import cosine_of_pairs
    from gaudit.audit.statistics.metrics import auc

    torch.set_num_threads(1)
    victim = Victim.trained(_some_nodes(nodes) if nodes <= PUBMED else _made(nodes), 0)
    low, high = victim.data.edge_index
    edges = victim.data.edge_index[:, low < high].t()
    others = _non_edges(edges, nodes, 100_000)
    pairs, truth = torch.cat([edges, others]), np.arange(len(edges) + len(others)) < len(edges)
    begin = time.process_time()
    descent = victim.descent(torch.arange(nodes), candidates=count)
    graph = descent.found(iterations)
    told = cosine_of_pairs(descent.model.hidden(graph), pairs).double().numpy()
    took = time.process_time() - begin
    alone = cosine_of_pairs(descent.model.hidden(descent.empty()), pairs).double().numpy()
    reached, within = auc(truth, told), 1.96 * _deviation(truth, told)
    cells = (
        count or "all",
        f"{_recall(descent, edges) if count else 1:.3f}",
        f"{reached:.4f}",
        f"{reached - within:.4f} to {reached + within:.4f}",
        f"{auc(truth, alone):.4f}",
        f"{took:.0f}",
        f"{_peak():.2f}",
    )
    click.echo("| " + " | ".join(map(str, cells)) + " |")


def _deviation(truth: np.ndarray, told: np.ndarray) -> float:
    """Of an AUC (DeLong et al. 1988), as if pairs were drawn independently."""
    shares = []
    for own, others in ((told[truth], np.sort(told[~truth])), (told[~truth], np.sort(told[truth]))):
        below, upto = (np.searchsorted(others, own, side) for side in ("left", "right"))
        shares.append(((below + upto) / (2 * len(others))).var(ddof=1) / len(own))
    return float(np.sqrt(sum(shares)))


def _recall(descent: Any, edges: Tensor) -> float:
    """The share of edges that are candidates."""
    nodes = descent.model.nodes
    found = [low.long() * nodes + high.long() for low, high in (tile.ends() for tile in descent.chosen)]
    return float(torch.isin(edges[:, 0] * nodes + edges[:, 1], torch.cat(found)).float().mean())


def _non_edges(edges: Tensor, nodes: int, count: int) -> Tensor:
    """Pairs without an edge, drawn at random [count, 2]."""
    rng = np.random.default_rng(3)
    pairs = np.sort(rng.integers(0, nodes, (2 * count, 2)), axis=1)
    codes = np.unique(pairs[pairs[:, 0] < pairs[:, 1]] @ np.array([nodes, 1]))
    kept = rng.permutation(np.setdiff1d(codes, edges.numpy() @ np.array([nodes, 1])))[:count]
    return torch.from_numpy(np.stack(np.divmod(kept, nodes), 1))


def _made(nodes: int) -> Any:
    """A random graph with seven edges a node, half of whose nodes a GCN is trained on."""
    from large_graphs import made
    from torch_geometric.data import Data

    parts = {name: torch.from_numpy(part) for name, part in made(nodes, 7 * nodes, 100, 40, 0).items()}
    once, draw = parts["edge_index"], torch.rand(nodes, generator=torch.Generator().manual_seed(0))
    data = Data(x=parts["x"], edge_index=torch.cat([once, once.flip(0)], 1), y=parts["y"])
    data.train_mask, data.val_mask, data.test_mask = draw < 0.5, (draw >= 0.5) & (draw < 0.6), draw >= 0.6
    return data


@main.command(hidden=True)
@click.option("--how", type=click.Choice(["tiles", "dense"]))
@click.option("--nodes", type=int)
@click.option("--group", type=click.Choice(["all", "tenth"]))
@click.option("--steps", type=int)
def one(how: str, nodes: int, group: str, steps: int) -> None:
    """One measurement, as JSON: CPU seconds per step without and with smoothness, peak memory."""
    torch.set_num_threads(1)
    victim = Victim.trained(_some_nodes(nodes), 0)
    count = nodes if group == "all" else nodes // 10
    attacked = torch.from_numpy(np.random.default_rng(1).permutation(nodes)[:count])
    descent = victim.descent(attacked, smooth_from=steps)
    base = _peak()
    run = _tiled if how == "tiles" else _dense
    seconds, pairs = run(descent, steps)
    click.echo(json.dumps({"seconds": seconds, "peak": _peak(), "base": base, "count": pairs}))


def _tiled(descent: Any, steps: int) -> tuple[list[float], int]:
    graph, seconds, most = descent.empty(), [], 0
    for part in range(2):
        begin = time.process_time()
        for step in range(steps):
            graph = descent.step(graph, part * steps + step)
        seconds.append((time.process_time() - begin) / steps)
        most = max(most, graph.count)
    return seconds, most


def _dense(descent: Any, steps: int) -> tuple[list[float], int]:
    plain = PlainDescent.like(descent)
    seconds = []
    for smooth in (False, True):
        begin = time.process_time()
        for _ in range(steps):
            plain.step(smooth)
        seconds.append((time.process_time() - begin) / steps)
    return seconds, int((plain.entries > 0).sum())


class PlainDescent:
    """The algorithm as it is written down: a vector of all pairs, dense n x n matrices, autograd."""

    def __init__(
        self,
        weights: dict[str, Tensor],
        x: Tensor,
        labels: Tensor,
        budget: float,
        rates: tuple[float, float, float],
    ) -> None:
        self.weights, self.x, self.labels, self.budget = weights, x, labels, budget
        self.lr, self.sparsity, self.smoothness = rates
        self.nodes = len(x)
        self.known = labels >= 0
        self.places = torch.tril_indices(self.nodes, self.nodes, -1)
        self.entries = torch.zeros(self.places.shape[1])

    @classmethod
    def like(cls, descent: Any) -> "PlainDescent":
        rates = descent.lr, descent.sparsity, descent.smoothness
        return cls(descent.model.weights, descent.x, descent.labels, descent.budget, rates)

    def step(self, smooth: bool) -> None:
        """One step of gradient descent, and the projection."""
        entries = self.entries.clone().requires_grad_()
        (slope,) = torch.autograd.grad(self.objective(entries, smooth), entries)
        moved = (entries - self.lr * slope).detach()
        if moved.clamp(0, 1).sum() > self.budget:
            moved = moved - self.shift(moved)
        self.entries = moved.clamp(0, 1)

    def objective(self, entries: Tensor, smooth: bool) -> Tensor:
        half = torch.zeros(self.nodes, self.nodes)
        half[self.places[0], self.places[1]] = entries
        adjacency, w = half + half.t(), self.weights
        with_loops = adjacency + torch.eye(self.nodes)
        root = torch.diag(with_loops.sum(1).pow(-0.5))
        operator = root @ with_loops @ root
        hidden = torch.relu(operator @ (self.x @ w["w1"]) + w["b1"])
        logits = operator @ (hidden @ w["w2"]) + w["b2"]
        loss = F.nll_loss(logits.log_softmax(1)[self.known], self.labels[self.known])
        loss = loss + self.sparsity * torch.linalg.vector_norm(entries)
        return loss + self.smoothness * self.unlike(adjacency) if smooth else loss

    def unlike(self, adjacency: Tensor) -> Tensor:
        degrees = adjacency.sum(1)
        root = torch.diag((degrees + 1e-3).pow(-0.5))
        laplacian = root @ (torch.diag(degrees) - adjacency) @ root
        return torch.trace(self.x.t() @ laplacian @ self.x)

    def shift(self, moved: Tensor) -> float:
        low, high = float(moved.min()) - 1, float(moved.max())
        while high - low >= 1e-5:
            middle = (low + high) / 2
            over = (moved - middle).clamp(0, 1).sum() > self.budget
            low, high = (middle, high) if over else (low, middle)
        return (low + high) / 2


def _some_nodes(nodes: int) -> Any:
    from torch_geometric.utils import subgraph

    from gaudit.graphs.datasets.loading import load_dataset

    data = load_dataset("Cora" if nodes <= 2708 else "PubMed")
    if nodes == data.num_nodes:
        return data
    kept = torch.from_numpy(np.sort(np.random.default_rng(0).permutation(data.num_nodes)[:nodes]))
    edges, _ = subgraph(kept, data.edge_index, relabel_nodes=True, num_nodes=data.num_nodes)
    some = data.clone()
    some.x, some.y, some.edge_index, some.num_nodes = data.x[kept], data.y[kept], edges, nodes
    for mask in ("train_mask", "val_mask", "test_mask"):
        some[mask] = data[mask][kept]
    return some


def _peak() -> float:
    """GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main()
