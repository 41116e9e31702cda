"""Links from a service that answers for submitted features (`influence`), over all pairs of nodes.

    python benchmarks/influence.py --dataset Cora --dataset CiteSeer --seeds 5

The target is a GCN with 16 hidden units, trained for 200 epochs on the dataset's own training nodes, or on every
tenth where it has none. All pairs of nodes are scored, so AUC, AP and precision for as many guesses as there are
links are those at true prevalence. A row is a service: as it is and asked less often, with coarse answers, with
noisy ones, with a graph that a defense changed before training and asking. Where answers are noisy 200 nodes drawn
at random are changed, and their pairs with all nodes are scored. Finished rows are kept in a file.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
from all_pairs import Kept, Row, cosines, figures, linked, upper

Change = Callable[[Any], Any]
"""A message, as a defense of answers leaves it."""
BUDGETS, CHANGED = (0.5, 0.2, 0.1), 200
FACTOR, NEGATIVE = 2.0, -10.0
"""What features are multiplied by: the default, and an adversary's choice against coarse or noisy answers."""
COARSE: dict[str, tuple[str, dict[str, Any]]] = {
    "3 decimals": ("rounded-posteriors", {"step": 0.001}),
    "2 decimals": ("rounded-posteriors", {"step": 0.01}),
    "1 decimal": ("rounded-posteriors", {"step": 0.1}),
    "labels alone": ("rounded-posteriors", {"step": 1.0}),
    "likeliest class and its probability": ("top-answers", {"classes": 1}),
}
FRESH, FROZEN = {"frozen": False}, {"frozen": True}
NOISY: dict[str, tuple[dict[str, Any] | None, int, float]] = {  # the defense, repeats, spread
    "no noise": (None, 1, 0.0),
    "0.001 on posteriors": ({"scale": 0.001}, 1, 0.0),
    "0.01 on posteriors": ({"scale": 0.01}, 1, 0.0),
    "0.1 on posteriors": ({"scale": 0.1}, 1, 0.0),
    "0.1, fresh, asked 10 times": ({"scale": 0.1, **FRESH}, 10, 0.0),
    "0.1, frozen, 10 factors from -8 to -12": ({"scale": 0.1, **FROZEN}, 10, 0.2),
    "0.1 on logits": ({"scale": 0.1, "on": "logits"}, 1, 0.0),
    "1 on logits": ({"scale": 1.0, "on": "logits"}, 1, 0.0),
}
GRAPHS: tuple[tuple[str, tuple[float, ...]], ...] = (
    ("edge-randomised-response", (8.0, 6.0, 4.0)),
    ("degree-preserving-response", (8.0, 6.0, 4.0)),
    ("lapgraph", (8.0, 6.0, 4.0)),
    ("fewer-edges", (0.5, 0.25)),
)
PARTS = ("asked", "coarse", "noisy", "graph")


@click.command()
@click.option("--dataset", "datasets", multiple=True, default=("Cora", "CiteSeer"), show_default=True)
@click.option("--seeds", default=5, show_default=True)
@click.option("--part", "parts", multiple=True, type=click.Choice(PARTS), default=PARTS, show_default=True)
@click.option("--features", default="given", show_default=True, help="or row-shares, where rows have large sums")
@click.option("--file", type=click.Path(path_type=Path), default=Path("influence.jsonl"), show_default=True)
def main(datasets: tuple[str, ...], seeds: int, parts: tuple[str, ...], features: str, file: Path) -> None:
    """Measures what the file does not hold yet, and prints one table for each dataset and part."""
    import torch

    from gaudit.graphs.datasets.loading import load_dataset
    from gaudit.graphs.preprocessing import preprocessed

    torch.set_num_threads(1)
    kept = Kept(file)
    for name in datasets:
        data = preprocessed(load_dataset(name), features)
        for seed in range(seeds):
            world = World(data, np.random.SeedSequence(seed))
            for part in parts:
                for row, measure in getattr(world, part)():
                    kept.measure((name, part, row, str(seed)), measure)
    for name in datasets:
        for part in parts:
            kept.show((name, part), "service")


class World:
    """A graph and a model that was trained on it, on demand."""

    def __init__(self, data: Any, seed: np.random.SeedSequence) -> None:
        self.data, self.seed, self.links = data, seed, linked(data)
        self._made: tuple[Any, Any] | None = None
        self._moved: np.ndarray | None = None

    @property
    def model(self) -> tuple[Any, Any]:
        """The task and the weights, without a defense."""
        self._made = self._made or trained(self.data, None, self.seed)
        return self._made

    @property
    def moved(self) -> np.ndarray:
        """Influence of each node on each, without a defense."""
        self._moved = moves(*self.model) if self._moved is None else self._moved
        return self._moved

    def judged(self, table: Any) -> dict[str, float]:
        """Figures of scores of all pairs, [n, n]; pairs that nobody asked about by the cosine of their features."""
        score = upper(table)
        if np.isnan(score).any():
            least = score[score > 0].min(initial=1.0)
            score = np.where(np.isnan(score), least * (upper(cosines(self.data.x)) + 2) / 4, score)
        return figures(upper(self.links), score)

    def asked(self) -> Iterator[tuple[str, Row]]:
        """What is known without a service, and the service as it is, asked about fewer and fewer nodes."""
        y, nodes = self.data.y, self.data.num_nodes
        yield "blind: same class", lambda: self.judged((y[:, None] == y[None]).numpy().astype(np.float32))
        yield "blind: cosine of features", lambda: self.judged(cosines(self.data.x))
        yield "posteriors, asked once", lambda: self.judged(cosines(answers(*self.model)))
        yield "all queries", lambda: self.judged(scores(self.moved))
        order = self._order()
        for share in BUDGETS:
            row, some = f"{100 * share:.0f} % of the queries", order[: round(share * nodes)]
            yield row, lambda some=some: self.judged(scores(self.moved, some))

    def coarse(self) -> Iterator[tuple[str, Row]]:
        """Rounding and first guesses, before an adversary with usual and with unusual features."""
        for row, (name, settings) in COARSE.items():
            for factor in (FACTOR, NEGATIVE):
                yield f"{row}, factor {factor:g}", lambda n=name, s=settings, f=factor: self._of_coarse(n, s, f)

    def noisy(self) -> Iterator[tuple[str, Row]]:
        """Noise, and adversaries who average; pairs of some nodes alone."""
        for row, (settings, repeats, spread) in NOISY.items():
            yield row, lambda s=settings, r=repeats, w=spread: self._of_noise(s, r, w)

    def graph(self) -> Iterator[tuple[str, Row]]:
        """Graphs that a defense changed, with the accuracy of the answers."""
        yield "as it is", lambda: self._of_graph(None)
        for name, strengths in GRAPHS:
            for strength in strengths:
                yield f"{name}, {strength:g}", lambda n=name, s=strength: self._of_graph((n, s))

    def _order(self) -> np.ndarray:
        from gaudit.randomness import branch

        return np.random.default_rng(branch(self.seed, "probing")).permutation(self.data.num_nodes)

    def _mod(self, name: str, settings: dict[str, Any]) -> Change:
        from gaudit.randomness import branch
        from gaudit.registry import find

        mod = find("defenses", name)(**settings).on_message(branch(self.seed, "messages"))
        assert mod is not None
        return mod

    def _of_coarse(self, name: str, settings: dict[str, Any], factor: float) -> dict[str, float]:
        return self.judged(scores(moves(*self.model, self._mod(name, settings), factor)))

    def _of_noise(self, settings: dict[str, Any] | None, repeats: int, spread: float) -> dict[str, float]:
        """Through the defense's messages and the attack's own reading of them."""
        from gaudit.attacks.links.influence import influence_scores, probes_of
        from gaudit.targets.channel import Channel
        from gaudit.targets.messages import PROBED_KIND
        from gaudit.targets.models.scaled_rows import scaled_answers
        from gaudit.targets.probing import ProbingSettings, sent

        noise = "none" if settings is None else settings.get("on", "posteriors")
        mods = () if settings is None else (self._mod("noisy-answers", settings),)
        channel, nodes = Channel(mods=mods), np.sort(self._order()[:CHANGED])
        every = np.arange(self.data.num_nodes)
        asked = ProbingSettings(factor=NEGATIVE, repeats=repeats, spread=spread)
        sent(channel, scaled_answers(*self.model), [(-1, every), *((v, every) for v in nodes.tolist())], asked, 1)
        probes = probes_of(channel.transcript.seen_by("public").of_kind(PROBED_KIND), len(every))
        pairs = np.concatenate([np.stack([np.full_like(every, v), every], 1) for v in nodes])
        table = np.zeros((len(every), len(every)), dtype=np.float32)
        table[nodes] = influence_scores(probes, pairs, len(every), noise).reshape(len(nodes), -1)
        right = channel.transcript.messages[0].tensors["posteriors"].argmax(1) == self.data.y
        found = figures(upper(self.links, nodes), upper(table, nodes))
        return {"accuracy": float(right[testing(self.data)].float().mean()), **found}

    def _of_graph(self, defense: tuple[str, float] | None) -> dict[str, float]:
        task, weights = self.model if defense is None else trained(self.data, defense, self.seed)
        right = answers(task, weights).argmax(1) == self.data.y
        found = self.judged(scores(moves(task, weights)))
        return {"accuracy": float(right[testing(self.data)].float().mean()), **found}


def trained(data: Any, defense: tuple[str, float] | None, seed: np.random.SeedSequence) -> tuple[Any, Any]:
    """A task and the weights of its model; with a defense of some strength, of the graph that it makes."""
    from gaudit.randomness import branch
    from gaudit.registry import find
    from gaudit.targets.models.model_ensemble import train_models
    from gaudit.targets.models.training_config import TrainingConfig
    from gaudit.targets.models.training_task import TrainingTask
    from gaudit.targets.partition import Partition
    from gaudit.targets.party import clients_of

    if defense is not None:
        (party,) = clients_of(data, Partition.undivided(data.num_nodes))
        kind = find("defenses", defense[0])
        made = kind(**{kind.strength: defense[1]})
        data = data.clone()
        data.edge_index = made.on_data(party, None, branch(seed, "defense"), lambda kind, held: None).edges
    recipe = TrainingConfig(architecture="gcn", hidden=16, epochs=200)
    task = TrainingTask(data, training(data)[None], recipe, int(data.y.max()) + 1)
    found = train_models(task, [], branch(seed, "target"), keep_weights=True)
    return task, {name: weight[0] for name, weight in found.weights.items()}


def training(data: Any) -> Any:
    """The dataset's own training nodes, or every tenth node where it has none."""
    every = data.y.new_tensor(np.arange(data.num_nodes))
    return data.train_mask if "train_mask" in data and bool(data.train_mask.any()) else every % 10 == 0


def testing(data: Any) -> Any:
    """The dataset's own test nodes, or all that are not trained on where it has none."""
    own = "test_mask" in data and bool(data.test_mask.any())
    return data.test_mask if own else ~training(data)


def answers(task: Any, weights: Any) -> Any:
    """Posteriors of all nodes, [n, C]."""
    from gaudit.targets.models.scaled_rows import scaled_answers

    return scaled_answers(task, weights)(0, 1.0, np.arange(task.data.num_nodes)).softmax(1)


def moves(task: Any, weights: Any, change: Change = lambda message: message, factor: float = FACTOR) -> np.ndarray:
    """The influence of each node on each [n, n], of answers that are changed row by row and without coins.

    Only nodes within two steps are asked about: other answers are the same bits.
    """
    import torch

    from gaudit.attacks.links.influence import Probe, influence
    from gaudit.targets.messages import PROBED_KIND
    from gaudit.targets.models.scaled_rows import operator_of, scaled_answers
    from gaudit.targets.transcript import Message

    nodes, step = task.data.num_nodes, operator_of(task)
    answer, near = scaled_answers(task, weights), (step @ step).tocsc()

    def told(node: int, by: float, asked: np.ndarray) -> np.ndarray:
        tensors = {"nodes": torch.from_numpy(asked), "posteriors": answer(node, by, asked).softmax(1)}
        changed = change(Message(PROBED_KIND, "server", "public", 1, tensors)).tensors["posteriors"]
        found: np.ndarray = changed.double().numpy()
        return found

    usual, moved = told(0, 1.0, np.arange(nodes)), np.zeros((nodes, nodes), dtype=np.float32)
    for node in range(nodes):
        asked = near.indices[near.indptr[node] : near.indptr[node + 1]].astype(np.int64)
        moved[node, asked] = influence([Probe(node, factor, asked, told(node, factor, asked))], usual)
    return moved


def scores(moved: np.ndarray, chosen: np.ndarray | None = None) -> np.ndarray:
    """Scores of all pairs [n, n] as `influence_scores` makes them; not a number where neither node was chosen."""
    from gaudit.attacks.links.influence import added_to

    own = moved.diagonal()
    chosen = np.arange(len(own)) if chosen is None else chosen
    scale = own[chosen] + added_to(own[chosen], moved[chosen])
    shares = np.full_like(moved, np.nan)
    rows = moved[chosen]
    shares[chosen] = np.divide(rows, scale[:, None], out=np.zeros_like(rows), where=scale[:, None] > 0)
    one, other = shares, shares.T
    found: np.ndarray = np.where(np.isnan(one), other, np.where(np.isnan(other), one, (one + other) / 2))
    return found


if __name__ == "__main__":
    main()
