"""Links from explanations (`explanation-similarity`), over the pairs of some nodes with all nodes.

    python benchmarks/explanations.py --dataset Cora --dataset CiteSeer --seeds 5

The target is a GCN with 16 hidden units, trained on the dataset's own training nodes for 200 epochs. Pairs of 500
nodes drawn at random with all nodes are scored (``--nodes 0``: all pairs), so AUC, AP and precision for as many
guesses as there are links are those at true prevalence. Each row is a defense of explanations; the same ones are
read as ExplainSim does, and denoised. Fidelity is the share of the ten most important words that are among the
ten that the told explanation ranks first, equal ones in random order: what a reader who looks at ten words gets
right. Finished rows are kept in a file.
"""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import click
import numpy as np
from all_pairs import Kept, Row, cosines, figures, linked, upper
from influence import trained

READ = 10
"""Words that a reader looks at."""
DEFENSES: tuple[tuple[str, tuple[float, ...]], ...] = (
    ("top-explanations", (30, 10, 3)),
    ("random-explanations", (30, 10, 3)),
    ("explanation-response", (160.0, 80.0, 40.0, 20.0)),
)


@click.command()
@click.option("--dataset", "datasets", multiple=True, default=("Cora", "CiteSeer"), show_default=True)
@click.option("--seeds", default=5, show_default=True)
@click.option("--nodes", default=500, show_default=True, help="whose pairs are scored; 0: all")
@click.option("--curve/--no-curve", default=True, show_default=True, help="or the explanations as they are alone")
@click.option("--file", type=click.Path(path_type=Path), default=Path("explanations.jsonl"), show_default=True)
def main(datasets: tuple[str, ...], seeds: int, nodes: int, curve: bool, file: Path) -> None:
    """Measures what the file does not hold yet, and prints one table for each dataset."""
    import torch

    from gaudit.graphs.datasets.loading import load_dataset

    torch.set_num_threads(1)
    kept, part = Kept(file), f"{nodes or 'all'} nodes"
    for name in datasets:
        data = load_dataset(name)
        for seed in range(seeds):
            for row, measure in Explained(data, np.random.SeedSequence(seed), nodes).rows(curve):
                kept.measure((name, part, row, str(seed)), measure)
    for name in datasets:
        kept.show((name, part), "explanations")


class Explained:
    """A graph, and explanations of a model that was trained on it."""

    def __init__(self, data: Any, seed: np.random.SeedSequence, nodes: int) -> None:
        self.data, self.seed = data, seed
        drawn = np.random.default_rng(seed).permutation(data.num_nodes)
        self.nodes = np.sort(drawn[:nodes]) if nodes else np.arange(data.num_nodes)
        self.truth = upper(linked(data), self.nodes)

    @cached_property
    def exact(self) -> Any:
        from gaudit.targets.models.explanations import explanations

        return explanations(*trained(self.data, None, self.seed))

    def rows(self, curve: bool) -> Iterator[tuple[str, Row]]:
        y = self.data.y
        yield "blind: same class", lambda: self._judged((y[self.nodes, None] == y[None]).float())
        yield "blind: cosine of features", lambda: self._judged(self._cosines(self.data.x))
        yield "as they are", lambda: self._told(None)
        for name, strengths in DEFENSES if curve else ():
            for strength in strengths:
                yield f"{name}, {strength:g}", lambda n=name, s=strength: self._told((n, s))

    def _told(self, defense: tuple[str, float] | None) -> dict[str, float]:
        from gaudit.attacks.links.explanation_similarity import ExplanationSimilarity, named

        told = self.exact if defense is None else self._defended(*defense)
        bits, x = named(told, ExplanationSimilarity().settings.entries), self.data.x
        crossed = self._cosines(bits, x) + self._cosines(x, bits)
        plain, denoised = self._judged(self._cosines(told)), self._judged(self._cosines(bits) + crossed)
        return {
            "fidelity": fidelity(self.exact, told),
            **plain,
            **{f"{name}, denoised": value for name, value in denoised.items()},
        }

    def _defended(self, name: str, strength: float) -> Any:
        """As the defense's own message tells them."""
        import torch

        from gaudit.randomness import branch
        from gaudit.registry import find
        from gaudit.targets.messages import EXPLANATIONS_KIND
        from gaudit.targets.transcript import Message

        kind = find("defenses", name)
        mod = kind(**{kind.strength: strength}).on_message(branch(self.seed, "messages"))
        tensors = {"nodes": torch.arange(len(self.exact)), "explanations": self.exact}
        return mod(Message(EXPLANATIONS_KIND, "server", "public", 1, tensors)).tensors["explanations"]

    def _cosines(self, rows: Any, others: Any = None) -> np.ndarray:
        """Of some nodes' rows with all nodes' other rows."""
        return cosines(rows[self.nodes], rows if others is None else others)

    def _judged(self, table: Any) -> dict[str, float]:
        """Figures of scores [m, n] of some nodes with all."""
        whole = np.zeros((self.data.num_nodes,) * 2, dtype=np.float32)
        whole[self.nodes] = table
        return figures(self.truth, upper(whole, self.nodes))


def fidelity(exact: Any, told: Any) -> float:
    """Share of the most important words of each explanation that a reader of the told one looks at."""
    import torch

    coins = torch.rand(told.shape, generator=torch.Generator().manual_seed(0))
    order = (told.double() + 1e-9 * told.max() * coins).topk(READ, dim=1).indices
    best = exact.topk(READ, dim=1).indices
    hit = torch.zeros_like(exact, dtype=torch.bool).scatter_(1, order, True).gather(1, best)
    real = exact.gather(1, best) > 0
    return float((hit & real).sum() / real.sum())


if __name__ == "__main__":
    main()
