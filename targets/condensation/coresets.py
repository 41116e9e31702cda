"""Real labelled nodes as a release: baselines of graph condensation, and the most that a release gives away."""

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from ...errors import InputError
from ...randomness import branch, seeded
from ..models.backbone import GCN
from ..models.training import fit
from .central import CentralCondensation, OwnGraph
from .condensed import CondensedGraph
from .gradient_distance import allocate_labels


class Coreset(CentralCondensation):
    """Base of coresets: labelled nodes with their features, and the edges among them.

    How many of each class follows the labelled nodes' classes. Herding and k-center look at the logits of a GCN
    that was trained on the labelled nodes (validation chooses its epoch), as GCond's baselines do.
    """

    trains = False

    @staticmethod
    @abstractmethod
    def picked(embeddings: Tensor, count: int, rng: np.random.Generator) -> list[int]:
        """``count`` different rows of the embeddings [m, C] of one class's labelled nodes."""

    def embedded(self, graph: OwnGraph, seed: np.random.SeedSequence) -> Tensor:
        """What the choice looks at: a row for each node, [n, C]."""
        return logits(graph, seed)

    def releases(self, graph: OwnGraph, seed: np.random.SeedSequence) -> Iterator[tuple[int, CondensedGraph]]:
        owner, rng = graph.owner, np.random.default_rng(branch(seed, "picked"))
        counts = owner.class_counts().cpu()
        asked = torch.bincount(allocate_labels(counts, graph.size), minlength=len(counts))
        if bool((asked > counts).any()):
            label = int((asked - counts).argmax())
            raise InputError(
                f"a coreset of {graph.size} nodes needs {int(asked[label])} labelled nodes of class {label}, "
                f"there are {int(counts[label])}: lower the ratio"
            )
        embeddings = self.embedded(graph, branch(seed, "embeddings"))
        chosen: list[Tensor] = []
        for label, count in enumerate(asked.tolist()):
            own = (owner.train & (owner.y_train == label)).nonzero().flatten()
            if count:
                chosen.append(own[torch.tensor(self.picked(embeddings[own], count, rng), device=own.device)])
        graph.copied = torch.cat(chosen)
        graph.progress("choosing nodes", 1, 1)
        yield 1, induced(graph, graph.copied)


def logits(graph: OwnGraph, seed: np.random.SeedSequence) -> Tensor:
    """What a GCN trained on the labelled nodes says of all nodes, [n, C]."""
    owner, near = graph.owner, graph.near
    train, val = near.of(owner.train.nonzero().flatten()), near.of(owner.val.nonzero().flatten())
    with seeded(seed):
        model = GCN(owner.x.shape[1], 256, owner.classes).to(owner.x.device)
        fit(
            model,
            lambda: F.cross_entropy(model(train), owner.y_train[owner.train]),
            epochs=200,
            lr=0.01,
            check=lambda: float((model(val).argmax(1) == owner.y[owner.val]).float().mean()),
        )
    with torch.no_grad():
        found: Tensor = model(near)
    return found


def induced(graph: OwnGraph, nodes: Tensor) -> CondensedGraph:
    """Some nodes as they are, and the edges among them."""
    owner = graph.owner
    place = torch.full((len(owner.nodes),), -1, device=nodes.device)
    place[nodes] = torch.arange(len(nodes), device=nodes.device)
    row, col = place[owner.edges]
    inside = (row >= 0) & (col >= 0)
    adjacency = torch.zeros(len(nodes), len(nodes), device=nodes.device)
    adjacency[row[inside], col[inside]] = 1
    return CondensedGraph(owner.x[nodes], owner.y_train[nodes], adjacency)


class RandomCoreset(Coreset):
    """Labelled nodes drawn at random within their classes."""

    name = "random"

    def embedded(self, graph: OwnGraph, seed: np.random.SeedSequence) -> Tensor:
        return graph.owner.x[:, :0]  # chance looks at nothing

    @staticmethod
    def picked(embeddings: Tensor, count: int, rng: np.random.Generator) -> list[int]:
        drawn: list[int] = rng.permutation(len(embeddings))[:count].tolist()
        return drawn


class Herding(Coreset):
    """Labelled nodes whose mean is near that of their class, taken one by one (Welling, ICML 2009)."""

    name = "herding"

    @staticmethod
    def picked(embeddings: Tensor, count: int, rng: np.random.Generator) -> list[int]:
        mean, total = embeddings.mean(0), torch.zeros_like(embeddings[0])
        free, chosen = torch.ones(len(embeddings), dtype=torch.bool, device=embeddings.device), list[int]()
        for number in range(1, count + 1):
            away = (mean - (total + embeddings) / number).norm(dim=1).masked_fill(~free, torch.inf)
            chosen.append(int(away.argmin()))
            free[chosen[-1]] = False
            total = total + embeddings[chosen[-1]]
        return chosen


class KCenter(Coreset):
    """Labelled nodes to which all of their class are near: each next one is farthest from those taken.

    Starts with the node nearest to the class's mean (Sener and Savarese, ICLR 2018, greedy).
    """

    name = "k-center"

    @staticmethod
    def picked(embeddings: Tensor, count: int, rng: np.random.Generator) -> list[int]:
        chosen = [int((embeddings - embeddings.mean(0)).norm(dim=1).argmin())]
        away = (embeddings - embeddings[chosen[0]]).norm(dim=1)
        while len(chosen) < count:
            away[chosen] = -1  # several nodes may be the same: none is taken twice
            chosen.append(int(away.argmax()))
            away = torch.minimum(away, (embeddings - embeddings[chosen[-1]]).norm(dim=1))
        return chosen
