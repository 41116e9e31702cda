"""Projected gradient descent over all weighted graphs with a budget of edges, tile by tile."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor

from .projection import PATIENCE, Projection
from .relaxed_model import Gradient, ModelOnGraph
from .smoothness import Gram, GramOfSome, Smoothness
from .weighted_graph import SIDE, Tile, WeightedGraph, drawn_pairs, tiles_of, tiles_with


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

    With ``candidates`` only some pairs, drawn at random, may get a weight. Each stands for s pairs, where all are s
    times as many: derivatives count s times, so that weights add up to what they would, and the norm is taken for
    that of all. A step then costs what these pairs cost.

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
        candidates: pairs of each node that may get a weight; 0, or as many as half of all: all.
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
    candidates: int = 0
    _gram: Gram | GramOfSome | None = field(default=None, init=False)
    _chosen: list[Tile] | None = field(default=None, init=False)

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
        keep = 1 - self.lr * self.sparsity / self._norm(graph) if graph.norm > 0 else 1.0
        if smooth is not None:
            gradient = gradient.with_ends(self.smoothness * smooth.ends)
        projection = Projection(self.budget, self.patience)
        moved = self._moved_some if self._draws else self._moved_all
        for tile in moved(graph, gradient, keep, smooth):
            projection.add(tile)
        return projection.graph(graph.nodes, self.model.first)

    def _moved_all(
        self, graph: WeightedGraph, gradient: Gradient, keep: float, smooth: Smoothness | None
    ) -> Iterator[Tile]:
        """All pairs after a gradient step, cut off at 0."""
        for rows, cols in tiles_of(graph.nodes, self.side):
            moved = gradient.stepped(graph.taken(rows, cols), rows, cols, keep, self.lr)
            if smooth is not None:
                alike = self.gram.tile(rows, cols) * smooth.scale[cols]
                moved.addcmul_(alike, smooth.scale[rows, None], value=2 * self.lr * self.smoothness)
            if rows == cols:
                moved.triu_(1)
            yield Tile(rows, cols, moved.relu_())

    def _moved_some(
        self, graph: WeightedGraph, gradient: Gradient, keep: float, smooth: Smoothness | None
    ) -> Iterator[Tile]:
        """The candidates after a gradient step, cut off at 0."""
        for tile in self.chosen:
            low, high = (ends.long() for ends in tile.ends())
            before = graph.tiles.get((tile.rows.start, tile.cols.start))
            moved = -self._rate * gradient.at(torch.stack([low, high], 1))
            if before is not None:
                moved += keep * before.like(tile)
            if smooth is not None:
                alike = self.gram.inner(tile) * smooth.scale[low] * smooth.scale[high]
                moved += 2 * self._rate * self.smoothness * alike
            yield Tile(tile.rows, tile.cols, moved.relu_(), tile.places)

    @property
    def chosen(self) -> list[Tile]:
        """The candidates: tiles with a place for each, drawn when they are first needed."""
        if self._chosen is None:
            drawn = drawn_pairs(self.model.nodes, self.candidates).to(self.model.first.device)
            self._chosen = tiles_with(drawn, self.model.nodes, self.model.first)
        return self._chosen

    @property
    def _draws(self) -> bool:
        return 0 < self.candidates < (self.model.nodes - 1) / 2

    @property
    def stands_for(self) -> float:
        """How many pairs one that may get a weight stands for."""
        if not self._draws:
            return 1.0
        return self.model.nodes * (self.model.nodes - 1) / 2 / sum(len(tile.values) for tile in self.chosen)

    @property
    def _rate(self) -> float:
        return self.lr * self.stands_for

    def _norm(self, graph: WeightedGraph) -> float:
        """That of all weights: s equal parts of a weight have its norm over the root of s."""
        return graph.norm / math.sqrt(self.stands_for)

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
    def gram(self) -> Gram | GramOfSome:
        """Inner products of the features, made when they are first needed."""
        if self._gram is None:
            self._gram = GramOfSome(self.x, self.chosen) if self._draws else Gram(self.x, side=self.side)
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
