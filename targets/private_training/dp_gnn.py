"""A graph network trained with DP-SGD on bounded neighbourhoods (Daigavane et al. 2021)."""

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from ...graphs.network import Floats
from ...mechanisms import accounting
from ...mechanisms.guarantee import Guarantee
from ...mechanisms.renyi import terms_of
from ..models.model_ensemble import ask_models
from ..models.propagation import mean_operator
from ..models.training_config import TrainingConfig
from ..models.training_task import Query, TrainingTask
from .bounded_neighbours import Bounded, bounded, what_was_dropped
from .clipped_training import draw_first_weights, train_noisily
from .private_classifier import COMPOSES, PUBLIC, PrivateClassifier, PrivateSettings, Trained, TrainingNodes


class DPGNNSettings(PrivateSettings):
    """Settings of `DPGNN`."""

    layers: Literal[1, 2] = Field(1, description="hops that an answer reads")
    max_degree: int = Field(
        5, ge=1, le=100, description="public bound of the neighbours of a node; further ones are dropped"
    )


class DPGNN(PrivateClassifier):
    """GraphSAGE (mean) whose loss terms read bounded neighbourhoods, clipped one by one (Daigavane et al. 2021).

    A node has a part in the loss of every node that reads it: in 1 + K of them with one layer, in 1 + K + K^2 with
    two. Noise and accountant are for that many, not for one: a plain DP-SGD accountant on the same model would be
    wrong by that factor.

    The bound K must be public. Where a node has more neighbours, a fixed order of ids says which edges stay
    (`bounded`); then the promise covers nodes' features and labels, and nodes with their edges only as long as the
    graphs that are compared keep the bound. The sampling of the paper does not repair this: its chances depend on
    degrees, and a node that goes changes those of its neighbours.

    What is promised is promised of the weights. An answer reads the true neighbours without noise: published
    answers give edges away (`edge-presence`), and are outside of the promise.
    """

    name = "dp-gnn"
    Settings = DPGNNSettings
    settings: DPGNNSettings

    @property
    def terms(self) -> int:
        """Loss terms that one node has a part in, at most: 1 + K + ... + K^r (Daigavane et al. 2021, Lemma 1)."""
        return terms_of(self.settings.max_degree, self.settings.layers)

    def recipe(self) -> TrainingConfig:
        s = self.settings
        return TrainingConfig(
            architecture="sage", hidden=s.hidden, epochs=s.steps, lr=s.lr, weight_decay=0, dropout=0
        )

    def trained(self, training: TrainingNodes) -> Trained:
        s, party, nodes = self.settings, training.party, len(training.x)

        def divergence(noise: float) -> Floats:
            return accounting.sampled_terms(noise, s.rate, s.steps, self.terms)

        noise = accounting.least_noise(s.epsilon, training.delta, divergence)
        graph = bounded(party.edges, nodes, s.max_degree)
        if graph.dropped:
            training.notes.append(
                f"{what_was_dropped(graph, s.max_degree)}, and of their features and labels in any case"
            )
        reading = Reading(training.x, graph, s.max_degree, s.layers)
        model = Sage(training.x.shape[1], s.hidden, training.classes, s.layers).to(training.x.device)
        draw_first_weights(model, training.rng("weights"))
        records = party.train.nonzero().flatten()
        train_noisily(
            model,
            reading.of,
            party.y_train,
            records,
            s.noisy_steps(noise),
            training.rng("noise"),
            training.steps_done("training the model", s.steps),
        )
        weights = model.published(training)
        return Trained(self._answers(training, weights), self._guarantee(training, noise), weights)

    def _guarantee(self, training: TrainingNodes, noise: float) -> Guarantee:
        s = self.settings
        return Guarantee(
            "node",
            "zero-out",
            "central",
            s.epsilon,
            training.delta,
            accountant=f"Daigavane et al. 2021, Theorem 1: {s.steps} steps at rate {s.rate:g}, noise {noise:.3g} "
            f"clips for {self.terms} terms per node; float sampler",
            public=(*PUBLIC, f"that no node has more than {s.max_degree} neighbours"),
            composes=COMPOSES,
            covers="the model",
        )

    def _answers(self, training: TrainingNodes, weights: dict[str, Tensor]) -> Tensor:
        """Logits of all nodes by the model as published, on the graph as it is."""
        from torch_geometric.data import Data

        party = training.party
        everybody = torch.arange(len(party.x))
        data = Data(x=party.x.cpu().float(), edge_index=party.edges.cpu(), y=party.y.cpu())
        task = TrainingTask(
            data, torch.ones((1, len(everybody)), dtype=torch.bool), self.recipe(), training.classes
        )
        stacked = {name: weight[None] for name, weight in weights.items()}
        return ask_models(task, [Query(everybody, data.edge_index)], stacked)[0][0]


class Reading:
    """What the model reads of some nodes: their rows, their neighbours', and means over the neighbours of each."""

    def __init__(self, x: Tensor, graph: Bounded, most: int, layers: int) -> None:
        self.x, self.layers = x, layers
        self.means = mean_operator(graph.edges, len(x)) @ x
        self.lists = graph.lists(len(x), most)

    def of(self, nodes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Rows and means [b, 1 + K, p] (K is 0 with one layer), and each neighbour's share in a mean [b, K]."""
        if self.layers == 1:
            return (
                self.x[nodes][:, None],
                self.means[nodes][:, None],
                torch.zeros(len(nodes), 0, device=self.x.device),
            )
        near = self.lists[nodes]
        there = near >= 0
        read = torch.cat([nodes[:, None], near.clamp(min=0)], 1)
        return self.x[read], self.means[read], there / there.sum(1, keepdim=True).clamp(min=1)


class Sage(nn.Module):
    """Two layers of GraphSAGE, the second of which reads neighbours only if there are two hops."""

    def __init__(self, width: int, hidden: int, classes: int, layers: int) -> None:
        super().__init__()
        self.near1, self.own1 = nn.Linear(width, hidden), nn.Linear(width, hidden, bias=False)
        self.own2 = nn.Linear(hidden, classes)
        self.near2 = nn.Linear(hidden, classes, bias=False) if layers == 2 else None

    def forward(self, rows: Tensor, means: Tensor, shares: Tensor) -> Tensor:
        hidden = torch.relu(self.near1(means) + self.own1(rows))
        found: Tensor = self.own2(hidden[:, 0])
        if self.near2 is not None:
            found = found + self.near2((shares[:, :, None] * hidden[:, 1:]).sum(1))
        return found

    def published(self, training: TrainingNodes) -> dict[str, Tensor]:
        """Its weights as `TrainingConfig` names them."""
        second = torch.zeros_like(self.own2.weight) if self.near2 is None else self.near2.weight
        weights = {
            "w1": training.first_layer(self.near1.weight),
            "r1": training.first_layer(self.own1.weight),
            "b1": self.near1.bias,
            "w2": second.t(),
            "r2": self.own2.weight.t(),
            "b2": self.own2.bias,
        }
        return {name: weight.detach().clone().contiguous().cpu() for name, weight in weights.items()}
