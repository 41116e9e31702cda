"""FedProx of whole graphs: averaging with a proximal term (Li et al., MLSys 2020)."""

from collections.abc import Mapping

import torch
from pydantic import Field
from torch import Tensor

from ..federated.local_training import Correction
from ..messages import MODEL_KIND
from .graph_averaging import GraphFederation, GraphFederationRun, GraphFederationSettings


class GraphFedProxSettings(GraphFederationSettings):
    """Settings of `GraphFedProx`: those of `graph-fedavg`, and the weight of the proximal term, as in `fedprox`."""

    mu: float = Field(1e-3, ge=0, description="clients add mu / 2 times the squared distance to the common weights")


class _ProximalRun(GraphFederationRun):
    settings: GraphFedProxSettings

    def correction(self, received: Mapping[str, Tensor]) -> Correction:
        def pull(name: str, weight: Tensor) -> Tensor:
            common = received.get(name)
            return torch.zeros_like(weight) if common is None else self.settings.mu * (weight - common.to(weight))

        return pull


class GraphFedProx(GraphFederation):
    """Federated averaging whose clients are held near the common weights: loss + mu / 2 |w - w_t|^2.

    Li et al. 2020, equation 2, on what is shared; with all clients in every round and as many steps as asked for.
    The messages are those of `graph-fedavg`, and with one local step a round so are its weights: the term pulls
    from the second step on.
    """

    name = "graph-fedprox"
    release = MODEL_KIND
    release_phrase = "what is published of the jointly trained model"
    sends = (*GraphFederation.sends, MODEL_KIND)
    Settings = GraphFedProxSettings
    settings: GraphFedProxSettings
    loop = _ProximalRun
