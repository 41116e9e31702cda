"""Federated averaging of a part of the model: the other part never leaves a client (FedPer, LG-FedAvg)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field, model_validator
from torch import Tensor

from ...randomness import branch
from ..game import Game
from ..games.class_presence import ClassPresence, class_presence
from ..messages import GLOBAL_KIND, MODEL_KIND, PART_KIND, PART_UPDATE_KIND, UPDATE_KIND
from ..models.training_config import initial_weights
from ..party import Client
from .federated_averaging import Federated, FederatedRun, FederatedSettings

Shared = Literal["all", "extractor", "head"]
LAYERS: dict[Shared, tuple[str, ...]] = {"all": ("1", "2"), "extractor": ("1",), "head": ("2",)}
"""What the names of weights end with that are shared: of the first layer, or of the second."""


class PartSettings(FederatedSettings):
    """Settings of federated training in which a part of the model may stay at home."""

    shared: Shared = Field(
        "all",
        description="what leaves a client: the whole model; the first layer alone (FedPer); or the last one alone "
        "(LG-FedAvg). There is no common model then, and none is published",
    )

    @model_validator(mode="after")
    def _a_part_is_of_weights(self) -> PartSettings:
        if self.shared != "all" and self.upload == "gradients":
            raise ValueError("a part of the model is shared as weights: use upload=weights, or shared=all")
        return self


class PartRun(FederatedRun):
    """A run in which each client may keep some weights.

    Attributes:
        kept: what each client keeps, by its number; nothing where all is shared.
    """

    settings: PartSettings
    kept: dict[int, dict[str, Tensor]]

    @property
    def update_kind(self) -> str:
        return UPDATE_KIND if self.settings.shared == "all" else PART_UPDATE_KIND

    def handed_out(self, weights: Mapping[str, Tensor], round_: int) -> list[Mapping[str, Tensor]]:
        if self.settings.shared == "all":
            return super().handed_out(weights, round_)
        if round_ == 0:
            self.kept = {client.number: self._drawn(client) for client in self.clients}
        received = self.channel.send(PART_KIND, "server", "clients", round_, self._part(weights))
        return [{**received, **self.kept[client.number]} for client in self.clients]

    def uploaded(self, received: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        return self._part(super().uploaded(received, own))

    def after_round(
        self, client: Client, received: Mapping[str, Tensor], own: Mapping[str, Tensor], round_: int
    ) -> None:
        super().after_round(client, received, own, round_)
        if self.settings.shared != "all":
            self.kept[client.number] = {name: own[name] for name in own if not self._leaves(name)}

    def final_models(self, weights: Mapping[str, Tensor]) -> list[Mapping[str, Tensor]]:
        if self.settings.shared == "all":
            return super().final_models(weights)
        return self.handed_out(weights, self.settings.rounds)

    def secrets(self) -> dict[str, Game]:
        return super().secrets() | class_presence(self.original)

    def _publish(self, weights: Mapping[str, Tensor], answers: Tensor) -> None:
        if self.settings.shared == "all":
            super()._publish(weights, answers)
        elif "posteriors" in self.settings.publish:
            self._publish_answers(answers)

    def _leaves(self, name: str) -> bool:
        return name.endswith(LAYERS[self.settings.shared])

    def _part(self, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name: weight for name, weight in weights.items() if self._leaves(name)}

    def _drawn(self, client: Client) -> dict[str, Tensor]:
        """The first weights that a client keeps: drawn by itself, so that nobody else knows them."""
        seed = branch(self.seed, "kept weights", client.number)
        own = initial_weights(self.recipe, self.width(), client.classes, seed)
        return {name: w.to(self.settings.device) for name, w in own.items() if not self._leaves(name)}


class PartlyFederated(Federated):
    """Base of targets of which a part of the model may stay at home."""

    sends: ClassVar[tuple[str, ...]] = (*Federated.sends, PART_KIND, PART_UPDATE_KIND)
    games: ClassVar[tuple[str, ...]] = (*Federated.games, ClassPresence.name)
    loop: ClassVar[type[FederatedRun]] = PartRun
    Settings = PartSettings
    settings: PartSettings

    def sent(self) -> set[str]:
        whole = self.settings.shared == "all"
        return super().sent() - ({PART_KIND, PART_UPDATE_KIND} if whole else {GLOBAL_KIND, UPDATE_KIND, MODEL_KIND})
