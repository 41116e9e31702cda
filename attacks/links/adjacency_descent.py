"""Projected gradient descent over all weighted graphs with a budget of edges, tile by tile."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from .projection import PATIENCE, Projection
from .relaxed_model import ModelOnGraph
from .smoothness import Gram, Smoothness
from .weighted_graph import SIDE, Tile, WeightedGraph, tiles_of


@dataclass(eq=False)
class AdjacencyDescent:
    """Looks for the graph under which a model gets the labels right (GraphMI, Algorithm 1, as the code has it).

    It minimises the loss + sparsity * (Euclidean norm of the weights) + smoothness * trace(X' L X), the last from
    the step ``smooth_from`` on, over the weights of all n (n - 1) / 2 pairs, from the empty graph: a gradient step,
    then the projection onto weights in [0, 1] with sum at most ``budget``.

    The gradient of all pairs is never there at once, but for GAT's: the loss's is a product of two narrow matrices,
    made tile by tile. The iterate is a `WeightedGraph`. Where the budget binds, it holds some thousand pairs of a
    graph like Cora. Where it does not bind (all labels known, as many edges as there are), up to a half of all
    pairs have a small weight, and it takes up to 2 n^2 bytes. Inner products for smoothness take as much again up
    to 1 GiB, beyond which they are made anew at each step.

    Attributes:
        model: the model.
        x: features [n, d].
        labels: [n], -1 where unknown.
        budget: largest sum of weights; not positive: the graph stays empty.
        lr: size of a step.
        sparsity: weight of the norm.
        smoothness: weight of the smoothness term.
        smooth_from: step from which on it counts.
        side: nodes along a tile.
        patience: of the projection.
    """

    model: ModelOnGraph
    x: Tensor
    labels: Tensor
    budget: float
    lr: float = 0.1
    sparsity: float = 1e-3
    smoothness: float = 1e-4
    smooth_from: int = 50
    side: int = SIDE
    patience: int = PATIENCE
    _gram: Gram | None = field(default=None, init=False)

    def found(self, iterations: int) -> WeightedGraph:
        """The graph after some steps."""
        graph = self.empty()
        for step in range(iterations if self.budget > 0 else 0):
            graph = self.step(graph, step)
        return graph

    def empty(self) -> WeightedGraph:
        """The graph without edges."""
        return WeightedGraph(self.model.nodes, [], self.model.first)

    def step(self, graph: WeightedGraph, number: int) -> WeightedGraph:
        """The graph after the step with a number, from 0. The one before is used up: its memory is written on."""
        gradient = self.model.gradient(graph, self.labels)
        smooth = Smoothness.of(graph, self.gram) if self._smooths(number) else None
        keep = 1 - self.lr * self.sparsity / graph.norm if graph.norm > 0 else 1.0
        if smooth is not None:
            gradient = gradient.with_ends(self.smoothness * smooth.ends)
        projection = Projection(self.budget, self.patience)
        for rows, cols in tiles_of(graph.nodes, self.side):
            moved = gradient.stepped(graph.taken(rows, cols), rows, cols, keep, self.lr)
            if smooth is not None:
                alike = self.gram.tile(rows, cols) * smooth.scale[cols]
                moved.addcmul_(alike, smooth.scale[rows, None], value=2 * self.lr * self.smoothness)
            if rows == cols:
                moved.triu_(1)
            projection.add(Tile(rows, cols, moved.relu_()))
        return projection.graph(graph.nodes, self.model.first)

    def objective(self, graph: WeightedGraph) -> float:
        """What is minimised, smoothness included."""
        total = self.model.loss(graph, self.labels) + self.sparsity * graph.norm
        return total + self.smoothness * Smoothness.of(graph, self.gram).value if self.smoothness else total

    def drawn(self, graph: WeightedGraph, samples: int) -> WeightedGraph:
        """The best of some graphs whose edges are drawn with the weights as probabilities.

        The best has the smallest objective of those within the budget; where none is, the fewest edges.
        """
        found = [graph.drawn() for _ in range(samples)]
        within = [one for one in found if one.count <= self.budget]
        return min(within, key=self.objective) if within else min(found, key=lambda one: one.count)

    @property
    def gram(self) -> Gram:
        """Inner products of the features, made when they are first needed."""
        if self._gram is None:
            self._gram = Gram(self.x, side=self.side)
        return self._gram

    def _smooths(self, number: int) -> bool:
        return self.smoothness > 0 and number >= self.smooth_from


def refined(weights: Tensor, gradient: Tensor) -> Tensor:
    """Weights [s] with ties at 0 and 1 broken by the loss's gradient: a pair that the loss asks for stands higher.

    Other weights stay as they are, those at 0 fall into [-2, 0], those at 1 into [1, 3].
    """
    largest = gradient.abs().max().clamp_min(torch.finfo(gradient.dtype).tiny) if len(gradient) else 1
    asked = -gradient / largest
    return torch.where(weights <= 0, asked - 1, torch.where(weights >= 1, asked + 2, weights))
