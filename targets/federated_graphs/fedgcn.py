"""FedGCN: federated averaging after one exchange of neighbour sums (Yao et al., NeurIPS 2023)."""

from typing import ClassVar, Literal

from pydantic import Field

from ..channel import Channel
from ..federated.federated_averaging import Federated, FederatedRun, FederatedSettings
from ..federated.local_training import Aggregated, Forward
from ..federated.neighbour_exchange import EXCHANGED_KINDS, exchange
from ..party import Client


class FedGCNSettings(FederatedSettings):
    """Settings of `FedGCN`: those of `fedavg`, and of the exchange. The model is a GCN."""

    architecture: Literal["gcn"] = "gcn"
    hops: Literal[0, 1, 2] = Field(
        2, description="neighbourhood that sums are exchanged of; 0 is federated averaging"
    )
    secure: bool = Field(True, description="sums are encrypted: the server adds up what it cannot read")


class _ExchangingRun(FederatedRun):
    settings: FedGCNSettings

    def forwards(self, clients: list[Client], channel: Channel) -> list[Forward]:
        s = self.settings
        return [Aggregated.of(n) for n in exchange(clients, s.hops, self.data.num_nodes, channel, s.secure)]


class FedGCN(Federated):
    """Federated averaging of a GCN whose first layer sees across clients' borders.

    Before training each client sends, for every node that it touches, the sum of its own neighbours' features; the
    server adds these up and hands each client the totals for its nodes (1 hop) and for their neighbours (2 hops),
    see `exchange`; after that training is that of `fedavg` (Yao et al. 2023, algorithm 1). With 2 hops the clients
    compute what the undivided graph would give. Weights are GCN's, 1 / sqrt(d_u d_v); a degree counts edges to
    other clients too. SOS' settings are kept where the released code differs (gradient descent with rate 0.5, three
    local steps, 100 rounds), so that the target stands beside `fedavg`.
    """

    name = "fedgcn"
    sends: ClassVar[tuple[str, ...]] = (*Federated.sends, *EXCHANGED_KINDS)
    Settings = FedGCNSettings
    settings: FedGCNSettings
    loop = _ExchangingRun

    def sent(self) -> set[str]:
        """Kinds of messages that are sent with these settings."""
        silent = set(EXCHANGED_KINDS) if self.settings.hops == 0 else set()
        return super().sent() - silent
