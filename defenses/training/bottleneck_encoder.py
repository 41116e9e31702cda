"""The network of FedGC's information bottleneck, and what its compression costs."""

import torch
from torch import Tensor, nn

from ...targets.models.encoder import gaussian, spread_bias
from ...targets.models.propagation import Factor

CORAS_FEATURES = 1433
"""Those of the graph on which the default gamma was chosen."""


class Encoder(nn.Module):
    """h = W2 relu(W1 x), then one aggregation: mean and deviation of z per node (FedGC Eq. 9).

    W1 is d x d and W2 is d x 2d: 6.2 million weights on Cora, 41 million on CiteSeer. Bag-of-words features
    go through the first layer as a sparse matrix; the second is aggregated before it is multiplied, which
    is the same as after.
    """

    def __init__(self, features: int, biases: bool = False) -> None:
        super().__init__()
        self.w1 = nn.Parameter(torch.empty(features, features))
        self.w2 = nn.Parameter(torch.empty(features, 2 * features))
        for weight in (self.w1, self.w2):
            nn.init.kaiming_uniform_(weight.T, a=5**0.5)
        if biases:
            bound = features**-0.5
            self.b1 = nn.Parameter(torch.empty(features).uniform_(-bound, bound))
            self.b2 = nn.Parameter(torch.empty(2 * features).uniform_(-bound, bound))
        self.biases = biases

    def forward(self, x: Factor, operator: Factor) -> tuple[Tensor, Tensor]:
        """Mean and deviation, [n, d] each."""
        if not self.biases:
            return gaussian(operator @ torch.relu(x @ self.w1), self.w2)
        added = spread_bias(operator.matrix, self.b2)
        return gaussian(operator @ torch.relu(x @ self.w1 + self.b1), self.w2, added)

    def values(self) -> dict[str, Tensor]:
        """A copy of its weights by name."""
        return {name: p.detach().clone() for name, p in self.named_parameters()}


def compression(mean: Tensor, deviation: Tensor, how: str = "sum") -> Tensor:
    """KL(N(mean, deviation^2) || N(0, 1)), summed over features, averaged over nodes (FedGC Eq. 7).

    ``per-dimension`` is the mean over features times Cora's number of them: the same on Cora, and not larger on a
    graph because it has more features. Features that are all doubled leave it as it is.
    """
    summed = 0.5 * (mean.square() + deviation.square() - 1 - 2 * deviation.log()).sum(1).mean()
    return summed if how == "sum" else summed * (CORAS_FEATURES / mean.shape[1])
