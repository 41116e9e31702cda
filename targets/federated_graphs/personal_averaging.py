"""Averaging for each client apart: the server sends every client a mixture of its own."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field
from torch import Tensor

from ..federated.federated_averaging import (
    POSTERIORS_KIND,
    Federated,
    FederatedRun,
    averaged,
    must_read_uploads,
)
from ..federated.no_common_model import NoCommonModelSettings
from ..messages import GLOBAL_KIND, LABELLED_COUNT_KIND, MODEL_KIND
from ..party import Client


class PersonalSettings(NoCommonModelSettings):
    """Settings of training in which every client has a model of its own."""

    aggregation: Literal["uniform"] = Field(
        "uniform", description="nothing goes by numbers of labels: mixtures have weights of their own"
    )
    answers: Literal["own", "mixture"] = Field(
        "own",
        description="what a client answers with in the end: its own weights after its last local training, or the "
        "mixture that the server then makes for it",
    )


class PersonalRun(FederatedRun):
    """A run in which the server hands each client a mixture of all uploads. A subclass writes `mixing`.

    The first weights are common. The mean of the uploads goes nowhere.

    Attributes:
        own: each client's weights after its last local training, by its number.
        mixtures: what the server made of the last uploads, one for each client.
    """

    settings: PersonalSettings
    own: dict[int, Mapping[str, Tensor]]
    mixtures: list[dict[str, Tensor]]

    @abstractmethod
    def mixing(self) -> Tensor:
        """The share of each upload in what each client gets, by what clients told in this round [K, K]."""

    def handed_out(self, weights: Mapping[str, Tensor], round_: int) -> list[Mapping[str, Tensor]]:
        if round_ == 0:
            self.own = {}
            return super().handed_out(weights, round_)
        return self._sent(round_)

    def after_round(
        self, client: Client, received: Mapping[str, Tensor], own: Mapping[str, Tensor], round_: int
    ) -> None:
        self.own[client.number] = own

    def averaged(self, uploads: list[Mapping[str, Tensor]]) -> dict[str, Tensor]:
        must_read_uploads(self.channel)
        self.mixtures = [averaged(uploads, row) for row in self.mixing().tolist()]
        return super().averaged(uploads)

    def final_models(self, weights: Mapping[str, Tensor]) -> list[Mapping[str, Tensor]]:
        if self.settings.answers == "own":
            return [self.own[client.number] for client in self.clients]
        return self._sent(self.settings.rounds)

    def _sent(self, round_: int) -> list[Mapping[str, Tensor]]:
        return [
            self.channel.send(GLOBAL_KIND, "server", client.name, round_, mixture)
            for client, mixture in zip(self.clients, self.mixtures, strict=True)
        ]


class PersonalAveraging(Federated):
    """Base of targets in which every client has a model of its own; posteriors are published, and no model."""

    release = POSTERIORS_KIND
    release_phrase = "what each client's own model says of its nodes"
    sends: ClassVar[tuple[str, ...]] = tuple(
        kind for kind in Federated.sends if kind not in (MODEL_KIND, LABELLED_COUNT_KIND)
    )
    Settings = PersonalSettings
    settings: PersonalSettings
    loop: ClassVar[type[FederatedRun]] = PersonalRun
