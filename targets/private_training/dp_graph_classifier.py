"""A classifier of whole graphs trained with DP-SGD, where one record is one graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from pydantic import Field, field_validator

from ...mechanisms import accounting
from ...mechanisms.guarantee import Guarantee
from ...randomness import branch
from ..channel import Retention
from ..classification.graph_classifier import GraphClassifier, GraphClassifierSettings, TrainedOnGraphs
from ..defense import Defense
from ..models.graph_models import some_graphs
from ..models.graph_recipe import GraphRecipe
from ..models.training_config import initial_weights
from ..models.training_task import TrainingTask
from ..target import Progress, Run, no_progress
from .clipped_training import NoisySteps, train_noisily
from .padded_graphs import GraphNetwork, PaddedGraphs
from .private_classifier import COMPOSES, LARGEST

if TYPE_CHECKING:
    from torch_geometric.data import Data

PUBLIC = ("how many graphs are trained on", "the numbers of graphs, features and classes")
SCALES = "which features lie beyond 0 and 1, and the mean and the deviation of each over all graphs"


class DPGraphClassifierSettings(GraphClassifierSettings):
    """Settings of `DPGraphClassifier`: those of `graph-classifier`, and what is promised, and how."""

    recipe: GraphRecipe = GraphRecipe(hidden=32, epochs=100, lr=0.01)
    features: Literal["given", "scaled"] = Field(
        "given",
        description="as they are, or columns beyond 0 and 1 with mean 0 and deviation 1, which are then public",
    )
    epsilon: float | None = Field(
        4.0, gt=0, description="what is promised; None: no noise and no promise, to see what clipping costs"
    )
    delta: float | None = Field(
        None, gt=0, lt=1, description="of the promise; by default 1 / (10 graphs), rounded down to a power of ten"
    )
    rate: float = Field(0.25, gt=0, le=1, description="with which a step draws each graph, alone")
    clip: float = Field(1.0, gt=0, description="to which the gradient of a graph is shortened")
    at_once: int = Field(
        64, ge=1, description="graphs whose gradients are held at a time: bounds the memory, nodes squared each"
    )

    @field_validator("recipe")
    @classmethod
    def _adds_nothing_to_a_gradient(cls, recipe: GraphRecipe) -> GraphRecipe:
        if recipe.dropout or recipe.weight_decay:
            raise ValueError("dropout and weight_decay have no place in steps with noise: leave them at 0")
        return recipe

    def noise(self, delta: float) -> float:
        """Deviation of the noise in clips, 0 without a promise.

        Raises:
            InputError: no noise reaches epsilon.
        """
        if self.epsilon is None:
            return 0.0
        return accounting.least_noise(
            self.epsilon, delta, lambda noise: accounting.sampled(noise, self.rate, self.recipe.epochs)
        )

    def promise(self, noise: float, delta: float) -> Guarantee | None:
        """What is promised with the noise of `noise`; None without it."""
        if self.epsilon is None:
            return None
        return Guarantee(
            "graph",
            "zero-out",
            "central",
            self.epsilon,
            delta,
            accountant=f"Opacus' RDP: {self.recipe.epochs} steps at rate {self.rate:g}, noise {noise:.3g} clips; "
            "float sampler",
            public=PUBLIC if self.features == "given" else (*PUBLIC, SCALES),
            composes=COMPOSES,
            covers="the model",
        )

    def steps(self, noise: float) -> NoisySteps:
        """How a model is trained with so much noise; the recipe's epochs are steps."""
        return NoisySteps(self.rate, self.recipe.epochs, self.clip, noise, self.recipe.lr, self.at_once)


class DPGraphClassifier(GraphClassifier):
    """DP-SGD where one record is one graph: a classifier of whole graphs that hides whether a graph was there.

    Each step draws each graph with probability ``rate``, alone; the gradient of each graph is shortened to an L2
    norm of ``clip``, all weights together; Gaussian noise of deviation multiplier x clip is added to their sum
    (Abadi et al. 2016, Algorithm 1, with Opacus' gradients and accountant). No layer mixes graphs, so a graph has a
    part in its own gradient alone, and the accountant for rows is right as it is.

    How many graphs there are is public, and says who is drawn for training. So neighbours are collections of as
    many graphs, one of them blank in one: no gradient comes from it. An answer about a graph reads that graph
    without noise, as it does of any graph that is asked about.
    """

    name = "dp-graph-classifier"
    release_phrase = "what is published of the privately trained model"
    one_record = True
    Settings = DPGraphClassifierSettings
    settings: DPGraphClassifierSettings

    def run(
        self,
        data: Data,
        defense: Defense,
        seed: np.random.SeedSequence,
        retain: Retention,
        progress: Progress = no_progress,
    ) -> Run:
        return super().run(bounded(data), defense, seed, retain, progress)

    def trained(self, task: TrainingTask, seed: np.random.SeedSequence, progress: Progress) -> TrainedOnGraphs:
        s, members, count = self.settings, task.members[0], len(task.data.y)
        delta = accounting.default_delta(count) if s.delta is None else s.delta
        noise = s.noise(delta)
        promise = s.promise(noise, delta)
        data = bounded(task.data)
        padded = PaddedGraphs(some_graphs(data, members, s.recipe).to(s.device))
        first = initial_weights(s.recipe, data.x.shape[1], task.classes, branch(seed, "weights"))
        model = GraphNetwork(s.recipe, first).to(s.device)
        train_noisily(
            model,
            padded.of,
            data.y[members].to(s.device),
            padded.by_size(),
            s.steps(noise),
            np.random.default_rng(branch(seed, "noise")),
            lambda done: progress("training", done, s.recipe.epochs),
        )
        weights = {name: weight[None] for name, weight in model.published().items()}
        return TrainedOnGraphs(weights, promise, _notes(promise, count))


def bounded(data: Data) -> Data:
    """A collection whose features are finite and no larger than any training bears: each graph's own matter."""
    found = data.clone()
    found.x = torch.nan_to_num(data.x.float()).clamp(-LARGEST, LARGEST)
    return found


def _notes(promise: Guarantee | None, graphs: int) -> tuple[str, ...]:
    if promise is None:
        return ("no noise is added: no graph is promised anything",)
    return (promise.sentence(), *accounting.what_delta_means(promise.delta, graphs, "graph"))
