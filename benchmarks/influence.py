"""Links from a service that answers for submitted features (`influence`), over all pairs of nodes.

    python benchmarks/influence.py --dataset Cora --dataset CiteSeer --seeds 3

The target is a GCN with 16 hidden units, trained for 200 epochs on the dataset's own training nodes, or on every
tenth where it has none. All pairs of nodes are scored, so AUC, AP and precision for as many guesses as there are
links are those at true prevalence. Each row of the table is a service: as it is, with fewer queries, with rounded
or noisy answers, with a graph that a defense changed before training and asking. The time is that of one row: all
queries and all scores.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import click
import numpy as np

Change = Callable[[Any], Any]
BUDGETS, STEPS, NOISES, REPEATS, EPSILONS = (0.5, 0.1), (0.01, 0.1, 1.0), (0.001, 0.01), 10, (8.0, 6.0)
FACTOR, LARGE = 2.0, 11.0
"""What features are multiplied by: the default, and an adversary's choice against rounding and noise."""


@click.command()
@click.option("--dataset", "datasets", multiple=True, default=("Cora", "CiteSeer"), show_default=True)
@click.option("--seeds", default=3, show_default=True)
@click.option("--curve/--no-curve", default=True, show_default=True, help="or the service as it is alone")
@click.option("--features", default="given", show_default=True, help="or row-shares, where rows have large sums")
def main(datasets: tuple[str, ...], seeds: int, curve: bool, features: str) -> None:
    """Print one table for each dataset."""
    import torch

    from gaudit.graphs.datasets.loading import load_dataset
    from gaudit.graphs.preprocessing import preprocessed

    torch.set_num_threads(1)
    for name in datasets:
        data = preprocessed(load_dataset(name), features)
        click.echo(f"\n### {name}, {seeds} seed{'s' * (seeds > 1)}\n")
        click.echo("| service | AUC | AP | precision at as many guesses | CPU s |\n" + "| --- " * 5 + "|")
        runs = [dict(_measured(data, np.random.SeedSequence(seed), curve)) for seed in range(seeds)]
        for row in runs[0]:
            cells = " | ".join(_text([run[row][k] for run in runs], 1 if k == 3 else 3) for k in range(4))
            click.echo(f"| {row} | {cells} |")


def _measured(data: Any, seed: np.random.SeedSequence, curve: bool) -> Iterator[tuple[str, tuple[float, ...]]]:
    """Rows of a table: what it is, AUC, AP, precision, seconds."""
    from gaudit.randomness import branch
    from gaudit.targets.models.scaled_rows import scaled_answers

    low, high = np.triu_indices(data.num_nodes, 1)
    truth = np.zeros((data.num_nodes, data.num_nodes), dtype=bool)
    truth[data.edge_index[0], data.edge_index[1]] = True
    linked = truth[low, high]
    blind = _cosines(data.x)[low, high]
    task, weights = _trained(data, "gcn", None, seed)
    yield "blind: cosine of features", (*_figures(linked, blind), 0.0)
    posteriors = scaled_answers(task, weights)(0, 1.0, np.arange(data.num_nodes)).softmax(1)
    yield "posteriors: cosine", (*_figures(linked, _cosines(posteriors)[low, high]), 0.0)

    def row(asked: Any, trained: Any, change: Change = lambda table: table, **how: Any) -> tuple[float, ...]:
        start = time.process_time()
        score = _scores(asked, trained, change, branch(seed, "probing"), **how)[low, high]
        took = time.process_time() - start
        least = score[score > 0].min(initial=1.0)
        score = np.where(np.isnan(score), least * (blind + 2) / 4, score)
        return (*_figures(linked, score), took)

    yield "as it is", row(task, weights)
    if not curve:
        return
    yield "an MLP", row(*_trained(data, "mlp", None, seed))
    for share in BUDGETS:
        yield f"{100 * share:.0f} % of the queries", row(task, weights, share=share)
    for step in STEPS:
        for factor in (FACTOR, LARGE):
            yield f"rounded to {step:g}, factor {factor:g}", row(task, weights, _rounded(step), factor=factor)
    for noise in NOISES:
        for repeats in (1, REPEATS):
            change = _noisy(noise / np.sqrt(repeats), branch(seed, "noise"))
            yield f"noise {noise:g}, mean of {repeats}, factor {LARGE:g}", row(task, weights, change, factor=LARGE)
    for epsilon in EPSILONS:
        yield f"edge randomised response, epsilon {epsilon:g}", row(*_trained(data, "gcn", epsilon, seed))


def _trained(data: Any, architecture: str, epsilon: float | None, seed: np.random.SeedSequence) -> tuple[Any, Any]:
    """A task and the weights of its model; with an epsilon, of the graph after randomised response."""
    from gaudit.defenses.local_privacy.edge_response import EdgeRandomisedResponse
    from gaudit.randomness import branch
    from gaudit.targets.models.model_ensemble import train_models
    from gaudit.targets.models.training_config import TrainingConfig
    from gaudit.targets.models.training_task import TrainingTask
    from gaudit.targets.partition import Partition
    from gaudit.targets.party import clients_of

    if epsilon is not None:
        (party,) = clients_of(data, Partition.undivided(data.num_nodes))
        made = EdgeRandomisedResponse(epsilon=epsilon)
        data = data.clone()
        data.edge_index = made.on_data(party, None, branch(seed, "flips"), lambda kind, held: None).edges
    recipe = TrainingConfig(architecture=architecture, hidden=16, epochs=200)  # type: ignore[arg-type]
    task = TrainingTask(data, _train(data)[None], recipe, int(data.y.max()) + 1)
    found = train_models(task, [], branch(seed, "target"), keep_weights=True)
    return task, {name: weight[0] for name, weight in found.weights.items()}


def _train(data: Any) -> Any:
    """The dataset's own training nodes, or every tenth node where it has none."""
    every = data.y.new_tensor(np.arange(data.num_nodes))
    return data.train_mask if bool(data.train_mask.any()) else every % 10 == 0


def _cosines(rows: Any) -> np.ndarray:
    """Of all pairs of rows, [n, n]."""
    unit = rows / rows.norm(dim=1, keepdim=True).clamp_min(1e-12)
    found: np.ndarray = (unit @ unit.t()).numpy()
    return found


def _scores(
    task: Any,
    weights: Any,
    change: Change,
    seed: np.random.SeedSequence,
    factor: float = FACTOR,
    share: float = 1.0,
) -> np.ndarray:
    """Scores of all pairs [n, n]: `influence_scores` a few rows at a time, since nobody keeps n x n x C answers."""
    from gaudit.attacks.links.influence import Probe, added_to, influence
    from gaudit.targets.models.scaled_rows import scaled_answers

    nodes = task.data.num_nodes
    answer, every = scaled_answers(task, weights), np.arange(nodes)
    first = change(answer(0, 1.0, every).softmax(1)).double().numpy()
    moved = np.full((nodes, nodes), np.nan, dtype=np.float32)
    for node in np.random.default_rng(seed).permutation(nodes)[: round(share * nodes)].tolist():
        told = change(answer(node, factor, every).softmax(1)).double().numpy()
        moved[node] = influence(Probe(node, factor, every, told), first)
    own = moved.diagonal()
    asked = np.isfinite(own)
    scale = (own[asked] + added_to(own[asked], moved[asked]))[:, None]
    moved[asked] = np.divide(moved[asked], scale, out=np.zeros_like(moved[asked]), where=scale > 0)
    one, other = moved, moved.T
    mean: np.ndarray = np.where(np.isnan(one), other, np.where(np.isnan(other), one, (one + other) / 2))
    return mean


def _rounded(step: float) -> Change:
    """As the defense `rounded-posteriors` tells them; with a step of 1, labels alone."""
    from gaudit.defenses.uploads.rounded_posteriors import RoundedPosteriors
    from gaudit.targets.messages import PROBED_KIND
    from gaudit.targets.transcript import Message

    mod = RoundedPosteriors(step=step).on_message(np.random.SeedSequence(0))
    assert mod is not None

    def changed(table: Any) -> Any:
        return mod(Message(PROBED_KIND, "server", "public", 1, {"posteriors": table})).tensors["posteriors"]

    return changed


def _noisy(scale: float, seed: np.random.SeedSequence) -> Change:
    """Gaussian noise on each probability, nothing below 0; the mean of r answers has noise smaller by sqrt(r)."""
    import torch

    from gaudit.randomness import integer

    coins = torch.Generator().manual_seed(integer(seed))

    def changed(table: Any) -> Any:
        told = (table + scale * torch.randn(table.shape, generator=coins)).clamp_min(0)
        return told / told.sum(1, keepdim=True)

    return changed


def _figures(truth: np.ndarray, score: np.ndarray) -> tuple[float, float, float]:
    """AUC, AP, and precision of as many guesses as there are links, equal scores in random order."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    first = np.lexsort((np.random.default_rng(0).random(len(score)), -score))[: truth.sum()]
    area, precision = roc_auc_score(truth, score), average_precision_score(truth, score)
    return float(area), float(precision), float(truth[first].mean())


def _text(values: list[float], digits: int) -> str:
    """Mean and standard deviation over seeds."""
    spread = f" ± {np.std(values, ddof=1):.{digits}f}" if len(values) > 1 and digits > 1 else ""
    return f"{np.mean(values):.{digits}f}{spread}"


if __name__ == "__main__":
    main()
