"""Rounds in which clients who hold whole graphs upload the gradient of one batch each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
from pydantic import Field, model_validator
from torch import Tensor

from ...randomness import branch
from ..federated.federated_averaging import averaged
from ..federated.local_training import as_parameters, optimiser_of
from ..game import Game
from ..games.neighbourhood_presence import neighbourhood_presence
from ..messages import GRADIENT_KIND, GRADIENT_SUM_KIND
from ..models.graph_recipe import GraphRecipe
from .graph_averaging import GraphFederationRun, GraphFederationSettings


class GraphGradientSettings(GraphFederationSettings):
    """Settings of targets whose clients may upload gradients."""

    upload: Literal["weights", "gradients"] = Field(
        "weights",
        description="weights after local epochs; or the gradient of one batch per round, batch after batch, at the "
        "common weights and without dropout, with which the server takes one step of the optimiser",
    )
    asked_radius: int = Field(
        2, ge=1, le=8, description="of gradients: how many steps the neighbourhoods in question reach"
    )

    @model_validator(mode="after")
    def _gradients_of_all(self) -> GraphGradientSettings:
        if self.upload == "gradients" and self.shared != "all":
            raise ValueError("gradients are uploaded of the whole model: leave shared=all")
        if self.upload == "gradients" and self.asked_radius > self.layers:
            raise ValueError(
                f"a model of {self.layers} layers reads no further: asked_radius is {self.layers} at most"
            )
        return self


class GraphGradientRun(GraphFederationRun):
    """A run whose clients upload weights, or gradients where the settings say so."""

    settings: GraphGradientSettings

    def recipe_of(self, batches: int) -> GraphRecipe:
        if self.settings.upload == "weights":
            return super().recipe_of(batches)
        return self.settings.recipe(self.settings.rounds).model_copy(update={"dropout": 0.0})

    def together(self, shares: list[float]) -> None:
        if self.settings.upload == "weights":
            super().together(shares)
            return
        s, whole = self.settings, [share / sum(shares) for share in shares]
        free = as_parameters({name: weight.to(s.device) for name, weight in self.common[0].items()})
        walker = optimiser_of(s.optimiser, free, s.lr, s.weight_decay)
        for t in range(s.rounds):
            received = self.handed_out(t)
            self.considered(received, t)
            mean = averaged(self._gradients(received[0], whole, t), whole)
            for name, weight in free.items():
                weight.grad = mean[name].to(weight.device)
            walker.step()
            self.common = [{name: weight.detach().clone() for name, weight in free.items()}]
            self.progress("training", t + 1, s.rounds)

    def secrets(self) -> dict[str, Game]:
        """What all such federations know, and where gradients are uploaded what is in each client's first batch."""
        s = self.settings
        if s.upload == "weights":
            return super().secrets()
        seed = branch(self.seed, "neighbourhoods")
        asked = neighbourhood_presence(
            self.data, self.first_batches(), s.asked_radius, s.architecture == "gcn", seed
        )
        return super().secrets() | asked

    def first_batches(self) -> list[np.ndarray]:
        """Numbers of the graphs that each client's first gradient is of."""
        return [numbers[0] for numbers in self.numbers]

    def _gradients(self, received: Mapping[str, Tensor], shares: list[float], t: int) -> list[Mapping[str, Tensor]]:
        weights = {name: weight.to(self.settings.device) for name, weight in received.items()}
        uploads = [
            self.channel.send(GRADIENT_KIND, client.name, "server", t, own[t % len(own)].gradient(weights))
            for client, own in zip(self.clients, self.batches, strict=True)
        ]
        if self.channel.seals(GRADIENT_KIND):
            self.channel.hold(GRADIENT_SUM_KIND, "server", t, averaged(uploads, shares))
        return uploads
