"""Gradient matching of one loss over all classes at once, as FedGM prints it (IJCAI 2025, Eq. 4 to 6)."""

from collections.abc import Iterator, Mapping

from torch import Tensor

from ..defense import GradientChange, LossTerm
from ..federated.self_training import mean_error
from ..models.backbone import Backbone, Factors, Outer, Weights
from ..models.propagation import Factor, Neighbourhood, dense_gcn_operator, sparse_features
from ..party import Client
from .gradient_distance import matching_distance
from .matching import ClassCells, MatchingServer

EVERY = -1
"""In the place of a class: all of them."""


class WholeCell(ClassCells):
    """A client's labelled nodes of all classes together.

    Args:
        client: whose nodes.
        near: what a model reads for them.
        change: what a defense makes of their gradient.
    """

    def __init__(self, client: Client, near: Neighbourhood, change: GradientChange | None = None) -> None:
        super().__init__(client, near, change)
        nodes = client.train.nonzero().flatten()
        part = near.of(nodes)
        self.rows, self.second = Factor.of(sparse_features(part.rows)), Factor.of(part.second)
        self.labels = client.y_train[nodes]

    def _factors(
        self, theta: Weights, backbone: type[Backbone], term: LossTerm | None
    ) -> Iterator[tuple[int, Factors]]:
        hidden = backbone.hidden(theta, self.rows)
        logits = backbone.logits(theta, hidden, self.second)
        error = mean_error(logits, self.labels)
        if term is not None:
            added = self._added(term, {EVERY: logits}, {EVERY: self.labels}, theta, backbone)
            error = error + added[EVERY] / len(error)
        yield EVERY, backbone.factors(theta, self.rows, hidden, self.second, error)


class OneLossServer(MatchingServer):
    """Moves a condensed graph towards the gradient of one loss: no class has a weight of its own."""

    def _distance(self, x: Tensor, theta: Weights, real: Mapping[int, Mapping[str, Tensor | Outer]]) -> Tensor:
        operator = dense_gcn_operator(self.structure(x))
        rows = Factor.of(operator @ x)
        hidden = self.backbone.hidden(theta, rows)
        error = mean_error(self.backbone.logits(theta, hidden, operator), self.y)
        own = self.backbone.factors(theta, rows, hidden, operator, error)
        return matching_distance(real[EVERY], own, self.settings.distance)
