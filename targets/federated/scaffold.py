"""SCAFFOLD: federated averaging corrected for client drift by control variates (Karimireddy et al., ICML 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor

from ..messages import CONTROL_KIND, GLOBAL_CONTROL_KIND
from ..party import Client
from .federated_averaging import Federated, FederatedRun, FederatedSettings
from .local_training import Correction, OptimiserName

if TYPE_CHECKING:
    from torch_geometric.data import Data


class ScaffoldSettings(FederatedSettings):
    """Settings of `Scaffold`: those of `fedavg`, with plain gradient descent, whose steps the variates scale with.

    The rate is FedGCN's for gradient descent on these graphs; SOS' 1e-3 is for Adam. Public code of baselines takes
    Adam's steps: (w_t - w_i) / (K lr) is then about one for each weight, or less, whatever its gradient.
    """

    optimiser: OptimiserName = Field(
        "sgd",
        description="adam is what some public code takes, with optimiser_state=kept; variates are no gradients",
    )
    lr: float = Field(0.5, gt=0)
    upload: Literal["weights"] = "weights"


class _ControlledRun(FederatedRun):
    """Attributes: control variates by client number, and what the server received of them in this round."""

    settings: ScaffoldSettings
    control: dict[int, dict[str, Tensor]]
    received_controls: list[Mapping[str, Tensor]]
    common: Mapping[str, Tensor]

    def before_round(self, round_: int, received: Mapping[str, Tensor]) -> None:
        zero = {name: torch.zeros_like(weight) for name, weight in received.items()}
        if round_ == 0:
            self.control = {c.number: zero for c in self.clients}
        mean = zero if round_ == 0 else self.averaged(self.received_controls)
        self.common = self.channel.send(GLOBAL_CONTROL_KIND, "server", "clients", round_, mean)
        self.received_controls = []

    def correction(self, client: Client, received: Mapping[str, Tensor]) -> Correction:
        own = self.control[client.number]
        return lambda name, weight: self.common[name] - own[name]

    def after_round(
        self, client: Client, received: Mapping[str, Tensor], own: Mapping[str, Tensor], round_: int
    ) -> None:
        """c_i <- c_i - c + (w_t - w_i) / (K lr), option II of the paper's algorithm 1."""
        length = self.settings.local_epochs * self.settings.lr
        before = self.control[client.number]
        after = {name: before[name] - self.common[name] + (received[name] - own[name]) / length for name in own}
        self.control[client.number] = after
        self.received_controls.append(self.channel.send(CONTROL_KIND, client.name, "server", round_, after))


class Scaffold(Federated):
    """Federated averaging in which each client adds c - c_i to its gradients, against drift (SCAFFOLD).

    Algorithm 1 of Karimireddy et al. 2020 with all clients in every round, option II for the control variates and
    a global step of 1, so that the server takes the mean; with ``aggregation = "weighted"`` c is the mean with the
    same weights. A client sends its variate c_i itself: the paper's difference to the one before tells a server
    that has kept those the same. c_i is the mean of the client's gradients over its local steps, weight decay
    included: a second, cleaner look at what the update tells.
    """

    name = "scaffold"
    sends: ClassVar[tuple[str, ...]] = (*Federated.sends, CONTROL_KIND, GLOBAL_CONTROL_KIND)
    Settings = ScaffoldSettings
    settings: ScaffoldSettings
    loop = _ControlledRun

    @classmethod
    def preset(cls, preset: str, data: Data) -> dict[str, Any]:
        settings = super().preset(preset, data)
        settings.pop("lr", None)  # a rate for Adam
        return settings
