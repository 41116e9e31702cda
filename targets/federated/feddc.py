"""FedDC: federated averaging with local drift, decoupled and corrected (Gao et al., CVPR 2022)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor

from ..messages import COMMON_UPDATE_KIND, DRIFTED_KIND
from ..party import Client
from .federated_averaging import Federated, FederatedRun, FederatedSettings, averaged
from .local_training import Correction

if TYPE_CHECKING:
    from torch_geometric.data import Data


class FedDCSettings(FederatedSettings):
    """Settings of `FedDC`: those of `fedavg` with plain gradient descent, and the weights of the two terms.

    The rate is that of the paper's experiments; SOS' 1e-3 is for Adam.
    """

    optimiser: Literal["sgd"] = "sgd"
    lr: float = Field(0.1, gt=0)
    upload: Literal["weights"] = "weights"
    alpha: float = Field(
        0.1,
        ge=0,
        description="clients add alpha / 2 times the squared distance from the common weights to their own plus "
        "their drift; at 0 there is no drift at all",
    )
    correction: bool = Field(True, description="clients add their last update less the mean one to their gradients")


class _DriftingRun(FederatedRun):
    """Attributes: drifts and last updates by client number, their mean update, and what is averaged next."""

    settings: FedDCSettings
    drift: dict[int, dict[str, Tensor]]
    last: dict[int, dict[str, Tensor]]
    mean: Mapping[str, Tensor]
    began: Mapping[str, Tensor]
    drifted: list[Mapping[str, Tensor]]

    def before_round(self, round_: int, received: Mapping[str, Tensor]) -> None:
        zero = {name: torch.zeros_like(weight) for name, weight in received.items()}
        if round_ == 0:
            self.drift = {c.number: zero for c in self.clients}
            self.last, self.mean = dict(self.drift), zero
        self.began, self.drifted = received, []
        if self.settings.correction:
            self.mean = self.channel.send(COMMON_UPDATE_KIND, "server", "clients", round_, self.mean)

    def correction(self, client: Client, received: Mapping[str, Tensor]) -> Correction:
        s, drift, last, mean = self.settings, self.drift[client.number], self.last[client.number], self.mean
        length = s.lr * s.local_epochs

        def added(name: str, weight: Tensor) -> Tensor:
            pulled = s.alpha * (drift[name] + weight - received[name])
            return pulled + (last[name] - mean[name]) / length if s.correction else pulled

        return added

    def after_round(
        self, client: Client, received: Mapping[str, Tensor], own: Mapping[str, Tensor], round_: int
    ) -> None:
        """h_i <- h_i + w_i - w_t, equation 8 of the paper."""
        update = {name: own[name] - received[name] for name in own}
        self.last[client.number] = update
        if not self.settings.alpha:
            return
        drift = {name: value + update[name] for name, value in self.drift[client.number].items()}
        self.drift[client.number] = drift
        drifted = {name: own[name] + drift[name] for name in own}
        self.drifted.append(self.channel.send(DRIFTED_KIND, client.name, "server", round_, drifted))

    def averaged(self, uploads: list[Mapping[str, Tensor]]) -> dict[str, Tensor]:
        """The mean of weights plus drifts; beside it the mean update is noted for the next round."""
        mean = averaged(uploads, self.shares)
        self.mean = {name: weight - self.began[name] for name, weight in mean.items()}
        return averaged(self.drifted, self.shares) if self.settings.alpha else mean


class FedDC(Federated):
    """Federated averaging in which each client keeps its drift and is corrected by it (FedDC).

    A client's drift h_i is the sum of its updates so far. Its loss has two more terms: alpha / 2 times the squared
    length of h_i + w - w_t, and the product of w with its last update less the mean one, over lr times the local
    steps. The server takes the mean of w_i + h_i (Gao et al. 2022, equations 3 to 9 and algorithm 1, all clients in
    every round). The released code corrects by estimated gradients, as SCAFFOLD does, where the paper says the last
    update; the paper is followed.

    Beside the weights of a round a client sends weights plus drift: all that it ever uploaded, added up. Who reads
    the updates could add them up too. Where noise is drawn for each message, the sum has it once.
    """

    name = "feddc"
    sends: ClassVar[tuple[str, ...]] = (*Federated.sends, DRIFTED_KIND, COMMON_UPDATE_KIND)
    Settings = FedDCSettings
    settings: FedDCSettings
    loop = _DriftingRun

    @classmethod
    def preset(cls, preset: str, data: Data) -> dict[str, Any]:
        settings = super().preset(preset, data)
        settings.pop("lr", None)  # a rate for Adam
        return settings

    def sent(self) -> set[str]:
        """Kinds of messages that are sent with these settings."""
        s = self.settings
        silent = set() if s.alpha else {DRIFTED_KIND}
        return super().sent() - silent - (set() if s.correction else {COMMON_UPDATE_KIND})
