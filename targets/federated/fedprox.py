"""FedProx: federated averaging with a proximal term (Li et al., MLSys 2020)."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field
from torch import Tensor

from ..party import Client
from .local_training import Correction
from .shared_part import PartlyFederated, PartRun, PartSettings


class FedProxSettings(PartSettings):
    """Settings of `FedProx`: those of `fedavg`, and the weight of the proximal term (1e-3 as in OpenFGL)."""

    mu: float = Field(1e-3, ge=0, description="clients add mu / 2 times the squared distance to the common weights")
    upload: Literal["weights"] = "weights"


class _ProximalRun(PartRun):
    settings: FedProxSettings

    def correction(self, client: Client, received: Mapping[str, Tensor]) -> Correction:
        return lambda name, weight: self.settings.mu * (weight - received[name])


class FedProx(PartlyFederated):
    """Federated averaging whose clients are held near the common weights: loss + mu / 2 |w - w_t|^2.

    Li et al. 2020, equation 2, with all clients in every round and exactly ``local_epochs`` steps each. The
    messages are those of `fedavg`; an update is pulled towards weights that the server knows, and what a client
    keeps to itself (``shared``) towards what it was at the beginning of the round.
    """

    name = "fedprox"
    Settings = FedProxSettings
    settings: FedProxSettings
    loop = _ProximalRun
