"""The MLP, the ChebNet and the SGC of GCond's released tester, which are not what their names say.

FedGC's Table 3 follows GCond's. Read in github.com/ChandlerBang/GCond: ``tester_other_arcs.py`` trains its "MLP"
without edges but then asks it, as all others, with those of the whole graph (``predict(feat_full, adj_full)``);
``models/mycheby.py`` has one weight for all orders, and self-loops in the whole graph only;
``models/sgc_multi.py`` propagates the answers of a perceptron with a hidden layer, where an SGC has no such layer.
Nothing is tuned there; where a release is tuned on the whole graph, as FedGC's is, these layers learn on it as on a
condensed graph (no edges in the MLP, no loops in the ChebNet), which is our reading and may cost them accuracy.
Its SAGE (``models/mygraphsage.py``) has no weight for the node itself: that is a GCN which samples neighbours.
"""

from collections.abc import Callable

from torch import Tensor, nn
from torch_geometric.nn import GCNConv, SGConv, SimpleConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from gaudit.targets.condensation.downstream import Downstream


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


GCOND_LAYERS: dict[str, Callable[[int, int, int], Downstream]] = {
    "GCond's MLP": lambda d, h, c: Downstream(_AggregatedWhenAsked(d, h), _AggregatedWhenAsked(h, c)),
    "GCond's Cheby": lambda d, h, c: Downstream(_OneWeight(d, h), _OneWeight(h, c)),
    "GCond's SGC": lambda d, h, c: Downstream(nn.Linear(d, h), SGConv(h, c, K=2)),
}
