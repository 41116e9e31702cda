"""Training without a server: neighbours in a topology send each other their weights (decentralised SGD)."""

from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field
from torch import Tensor

from ...randomness import branch
from ..messages import FIRST_KIND, FIRST_PART_KIND, MIXING_KIND, PEER_KIND, PEER_PART_KIND
from ..mixing import mixed
from ..party import Client
from .communication import Topology, metropolis, topology
from .federated_averaging import POSTERIORS_KIND
from .shared_part import PartlyFederated, PartRun, PartSettings

WHOLE, PARTLY = (FIRST_KIND, PEER_KIND), (FIRST_PART_KIND, PEER_PART_KIND)


class DecentralisedSettings(PartSettings):
    """Settings of `Decentralised`: those of `fedavg`, and who talks with whom."""

    topology: Topology = Field("ring", description="who sends weights to whom; complete: all to all")
    degree: int = Field(3, ge=1, le=5, description="neighbours of each client in the topology random-regular")
    upload: Literal["weights"] = "weights"
    aggregation: Literal["uniform"] = Field(
        "uniform", description="nothing goes by numbers of labels: shares follow from the topology"
    )
    publish: tuple[Literal["posteriors"], ...] = Field(
        ("posteriors",), description="what the public gets in the end: there is no common model"
    )


class MixingRun(PartRun):
    """A run in which clients mix what their neighbours send them. A subclass may change `mixture`.

    Attributes:
        near: who is whose neighbour, [K, K].
        mixing: the share of each in what each makes of all, [K, K].
        got: the weights that each client has in a round, its own among them, by receiver and sender.
        mixtures: what each goes on with.
    """

    settings: DecentralisedSettings
    near: Tensor
    mixing: Tensor
    got: dict[int, dict[int, Mapping[str, Tensor]]]
    mixtures: list[dict[str, Tensor]]

    def handed_out(self, weights: Mapping[str, Tensor], round_: int) -> list[Mapping[str, Tensor]]:
        if round_ == 0:
            self._begin(weights)
        self.got = {client.number: {} for client in self.clients}
        kept = [self.kept.get(client.number, {}) for client in self.clients]
        return [{**mixture, **own} for mixture, own in zip(self.mixtures, kept, strict=True)]

    def sent_on(self, client: Client, sent: Mapping[str, Tensor], round_: int) -> Mapping[str, Tensor]:
        kind, number = self._kinds()[1], client.number
        self.got[number][number] = sent
        for neighbour in self.near[number].nonzero().flatten().tolist():
            receiver = f"client:{neighbour}"
            self.got[neighbour][number] = self.channel.send(kind, client.name, receiver, round_, sent)
        return sent

    def averaged(self, uploads: list[Mapping[str, Tensor]]) -> dict[str, Tensor]:
        """Every client's mixture; returned is their mean, which nobody has."""
        self.mixtures = [self.mixture(client) for client in self.clients]
        return super().averaged(uploads)

    def mixture(self, client: Client) -> dict[str, Tensor]:
        """What a client makes of its own weights and of those that it got."""
        return mixed(self.mixing[client.number], self.got[client.number])

    def tell_shares(self) -> None:
        """Tells all clients how much of each other they take; whoever sees that can reckon mixtures."""
        shares = {"shares": metropolis(self.near)}
        self.mixing = self.channel.send(MIXING_KIND, "client:0", "clients", 0, shares)["shares"]

    def final_models(self, weights: Mapping[str, Tensor]) -> list[Mapping[str, Tensor]]:
        return self.handed_out(weights, self.settings.rounds)

    def _begin(self, weights: Mapping[str, Tensor]) -> None:
        """The first client tells all the first weights and the shares; what is not shared each draws by itself."""
        s = self.settings
        coins = np.random.default_rng(branch(self.seed, "topology"))
        self.near = topology(s.topology, len(self.clients), s.degree, coins)
        self.tell_shares()
        first = self.channel.send(self._kinds()[0], "client:0", "clients", 0, self._part(weights))
        self.mixtures = [dict(first) for _ in self.clients]
        self.kept = {c.number: self._drawn(c) for c in self.clients} if s.shared != "all" else {}

    def _kinds(self) -> tuple[str, str]:
        return WHOLE if self.settings.shared == "all" else PARTLY

    def _publish(self, weights: Mapping[str, Tensor], answers: Tensor) -> None:
        if "posteriors" in self.settings.publish:
            self._publish_answers(answers, "client:0")


class Decentralised(PartlyFederated):
    """Training without a server: each client sends its weights to its neighbours, and mixes what it gets.

    A round: every client takes ``local_epochs`` full-batch steps from its own weights, sends the result to its
    neighbours in the topology, and goes on with sum_j A_kj w_j, where A are the Metropolis weights of the topology
    (decentralised SGD, Lian et al. 2017, algorithm 1, with local steps; Lalitha et al. 2019; D-FedGNN, Pei et al.
    2021). All begin with the same weights, which the first client tells them, beside A. With ``shared=extractor``
    every client has a last layer of its own, as in SpreadGNN (He et al. 2022), without its coupling of tasks.

    There is no server, so every neighbour is the adversary: an observer ``client:j`` sees the weights of its
    neighbours one by one, and its own. Answers are published as one table by the first client.
    """

    name = "decentralised"
    release = POSTERIORS_KIND
    release_phrase = "what each client's own model says of its nodes"
    sends: ClassVar[tuple[str, ...]] = (POSTERIORS_KIND, MIXING_KIND, *WHOLE, *PARTLY)
    asks_for_labels = False
    Settings = DecentralisedSettings
    settings: DecentralisedSettings
    loop: ClassVar[type[MixingRun]] = MixingRun

    def sent(self) -> set[str]:
        """Kinds of messages that are sent with these settings."""
        kinds = WHOLE if self.settings.shared == "all" else PARTLY
        told = {POSTERIORS_KIND} if self.settings.publish else set()
        return {MIXING_KIND, *kinds, *told}
