"""Other architectures trained on a condensed graph: does it serve more than the model it was made for?

PyG's layers as they are: the six of FedGC's Table 3, and GAT. Beside them stand the MLP, the ChebNet and the SGC
of GCond's released tester, which are not what their names say and whose accuracies FedGC's Table 3 follows. Read
in github.com/ChandlerBang/GCond: ``tester_other_arcs.py`` trains its "MLP" without edges but then asks it, as all
others, with those of the whole graph (``predict(feat_full, adj_full)``); ``models/mycheby.py`` has one weight for
all orders, and self-loops in the whole graph only; ``models/sgc_multi.py`` propagates the answers of a perceptron
with a hidden layer, where an SGC has no such layer. Nothing is tuned there; where a release is tuned on the whole
graph, as FedGC's is, these layers learn on it as on a condensed graph (no edges in the MLP, no loops in the
ChebNet), which is our reading and may cost them accuracy. Its SAGE (``models/mygraphsage.py``) has no weight for
the node itself: that is a GCN which samples neighbours.
"""

from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import APPNP, ChebConv, GATConv, GCNConv, SAGEConv, SGConv, SimpleConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from ...randomness import branch, seeded
from ..models.training import fit
from .condensed import CondensedGraph
from .evaluation import EvaluationSettings

HEADS = 8
STRONG_LINK = 0.5
Answers = tuple[Tensor, Tensor]
"""Nodes by id and their labels, [k] each."""


@dataclass(frozen=True)
class GraphEdges:
    """A graph's edges [2, e] with weights [e]."""

    edges: Tensor
    weights: Tensor


class Downstream(nn.Module):
    """A two-layer network from a pair of PyG layers.

    Args:
        first: d to h, or None where one layer does both.
        second: h to C.
        weighted: whether the layers read edge weights; the others get strong links only.
        dropout: before the second layer.
    """

    def __init__(
        self, first: nn.Module | None, second: nn.Module, weighted: bool = True, dropout: float = 0.5
    ) -> None:
        super().__init__()
        self.first, self.second, self.weighted, self.dropout = first, second, weighted, dropout

    def forward(self, x: Tensor, links: GraphEdges) -> Tensor:
        """Logits of all nodes, [n, C]."""
        if self.first is not None:
            x = F.dropout(torch.relu(self._apply_layer(self.first, x, links)), self.dropout, self.training)
        return self._apply_layer(self.second, x, links)

    def _apply_layer(self, layer: nn.Module, x: Tensor, links: GraphEdges) -> Tensor:
        if isinstance(layer, nn.Linear):
            out: Tensor = layer(x)
        elif self.weighted:
            out = layer(x, links.edges, links.weights)
        else:
            out = layer(x, links.edges)
        return out


class _PersonalisedPageRank(nn.Module):
    """A linear layer, then propagation (Klicpera et al. 2019)."""

    def __init__(self, hidden: int, classes: int) -> None:
        super().__init__()
        self.linear, self.propagate = nn.Linear(hidden, classes), APPNP(K=10, alpha=0.1)

    def forward(self, x: Tensor, edges: Tensor, weights: Tensor) -> Tensor:
        """Logits, [n, C]."""
        out: Tensor = self.propagate(self.linear(x), edges, weights)
        return out


class _AggregatedWhenAsked(nn.Module):
    """A linear layer that learns from rows by themselves and answers with neighbours."""

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.layer = GCNConv(width, out)

    def forward(self, x: Tensor, edges: Tensor, weights: Tensor) -> Tensor:
        if self.training:
            edges, weights = edges[:, :0], weights[:0]
        out: Tensor = self.layer(x, edges, weights)
        return out


class _OneWeight(nn.Module):
    """W(x + Ax) + b: two orders of Chebyshev's polynomials, the Laplacian replaced by the adjacency."""

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.linear, self.sum = nn.Linear(width, out), SimpleConv("sum")

    def forward(self, x: Tensor, edges: Tensor, weights: Tensor) -> Tensor:
        edges, weights = gcn_norm(edges, weights, len(x), add_self_loops=not self.training)
        out: Tensor = self.linear(x + self.sum(x, edges, weights))
        return out


ARCHITECTURES: dict[str, Callable[[int, int, int], Downstream]] = {
    "MLP": lambda d, h, c: Downstream(nn.Linear(d, h), nn.Linear(h, c)),
    "APPNP": lambda d, h, c: Downstream(nn.Linear(d, h), _PersonalisedPageRank(h, c)),
    "Cheby": lambda d, h, c: Downstream(ChebConv(d, h, K=2), ChebConv(h, c, K=2)),
    "GCN": lambda d, h, c: Downstream(GCNConv(d, h), GCNConv(h, c)),
    "SAGE": lambda d, h, c: Downstream(SAGEConv(d, h), SAGEConv(h, c), weighted=False),
    "SGC": lambda d, h, c: Downstream(None, SGConv(d, c, K=2)),
    "GAT": lambda d, h, c: Downstream(
        GATConv(d, max(h // HEADS, 1), heads=HEADS), GATConv(max(h // HEADS, 1) * HEADS, c), weighted=False
    ),
    "GCond's MLP": lambda d, h, c: Downstream(_AggregatedWhenAsked(d, h), _AggregatedWhenAsked(h, c)),
    "GCond's Cheby": lambda d, h, c: Downstream(_OneWeight(d, h), _OneWeight(h, c)),
    "GCond's SGC": lambda d, h, c: Downstream(nn.Linear(d, h), SGConv(h, c, K=2)),
}


def links_of(release: CondensedGraph, weighted: bool) -> GraphEdges:
    """A condensed graph's links: all with their weights, or the strong ones for layers that know no weights."""
    kept = release.adjacency if weighted else (release.adjacency > STRONG_LINK).float()
    edges = kept.nonzero().t().contiguous()
    return GraphEdges(edges, kept[edges[0], edges[1]])


@dataclass(frozen=True)
class Share:
    """One holder's nodes of the whole graph, by id, with labels [k]: to tune on, to choose by, to be tested on."""

    train: Answers
    val: Answers
    test: Answers


@dataclass(frozen=True)
class WholeGraph:
    """The undivided graph [N nodes] that models are tested on, and whose node is which."""

    x: Tensor
    edges: Tensor
    shares: tuple[Share, ...]

    def logits(self, model: Downstream) -> Tensor:
        """Logits of all nodes, [N, C]."""
        out: Tensor = model(self.x, GraphEdges(self.edges, torch.ones(self.edges.shape[1]).to(self.x)))
        return out

    def right(self, model: Downstream, asked: Iterable[Answers]) -> int:
        """How many of some nodes a model gets right."""
        with torch.no_grad():
            told = self.logits(model).argmax(1)
        return sum(int((told[nodes] == y).sum()) for nodes, y in asked)


def transfer(
    release: CondensedGraph,
    graph: WholeGraph,
    classes: int,
    phase: EvaluationSettings,
    seed: np.random.SeedSequence,
    progress: Callable[[int], None],
) -> dict[str, float]:
    """Test accuracy of each architecture trained on a release, and tuned by each holder if the phase says so.

    The mean of as many models as the phase has. The epoch with the best validation accuracy is kept, of tuning
    that on the holder's own validation nodes. Dropout is half.
    """
    found, tested = {}, sum(len(share.test[1]) for share in graph.shares)
    for done, (name, build) in enumerate(ARCHITECTURES.items()):
        counts = []
        for number in range(phase.models):
            with seeded(branch(seed, name, number)):
                model = build(release.x.shape[1], phase.hidden, classes).to(release.x.device)
                counts.append(_right_after_training(model, release, graph, phase))
        found[name] = float(np.mean(counts)) / tested
        progress(done + 1)
    return found


def _right_after_training(
    model: Downstream, release: CondensedGraph, graph: WholeGraph, phase: EvaluationSettings
) -> int:
    """Right answers at test nodes of a model trained on a release."""
    links = links_of(release, model.weighted)
    fit(
        model,
        lambda: F.cross_entropy(model(release.x, links), release.y),
        epochs=phase.epochs,
        lr=phase.lr,
        weight_decay=phase.weight_decay,
        drop_lr_at=0.5,
        check=lambda: graph.right(model, (share.val for share in graph.shares)),
    )
    if phase.fine_tune:
        return sum(_tuned(model, share, graph, phase) for share in graph.shares)
    return graph.right(model, (share.test for share in graph.shares))


def _tuned(model: Downstream, share: Share, graph: WholeGraph, phase: EvaluationSettings) -> int:
    """Right answers at a holder's test nodes by a copy of the model that the holder tuned."""
    own, (nodes, y) = deepcopy(model), share.train
    fit(
        own,
        lambda: F.cross_entropy(graph.logits(own)[nodes], y),
        epochs=phase.tune_epochs,
        lr=phase.lr,
        weight_decay=phase.weight_decay,
        check=(lambda: graph.right(own, [share.val])) if len(share.val[1]) else None,
        every=5,
    )
    return graph.right(own, [share.test])
