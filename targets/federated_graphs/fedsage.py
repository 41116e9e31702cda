"""FedSage+: federated averaging on subgraphs mended with generated neighbours (Zhang et al., NeurIPS 2021)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch
from torch import Tensor

from ...randomness import branch
from ..channel import Channel
from ..federated.federated_averaging import Federated, FederatedRun, FederatedSettings
from ..federated.local_training import Drop, Forward, Subgraph, Weights, nothing_dropped
from ..messages import GENERATOR_GRADIENT_KIND, GENERATOR_KIND
from ..party import Client
from .neighbour_generation import Generator, GeneratorSettings, Others

if TYPE_CHECKING:
    from torch_geometric.data import Data


class FedSageSettings(FederatedSettings):
    """Settings of `FedSage`: those of `fedavg`, a GraphSAGE by default, and of the generators."""

    architecture: Literal["gcn", "sage", "gat"] = "sage"
    generator: GeneratorSettings = GeneratorSettings()


@dataclass(frozen=True)
class OwnOf:
    """What a model says of the first nodes of a graph, which are the client's own."""

    graph: Subgraph
    own: int

    def __call__(self, weights: Weights, drop: Drop = nothing_dropped) -> Tensor:
        return self.graph(weights, drop)[: self.own]


class _MendingRun(FederatedRun):
    """Attributes: each client's generator."""

    settings: FedSageSettings
    generators: list[Generator]

    def forwards(self, clients: list[Client], channel: Channel) -> list[Forward]:
        g, seed = self.settings.generator, branch(self.seed, "generator")
        self.generators = [Generator(c, g, branch(seed, c.number)) for c in clients]
        for generator in self.generators:
            for _ in range(g.epochs):
                generator.step()
        others = [Others(c) for c in clients]
        for round_ in range(g.rounds):
            answers = self._answers_to_all(clients, others, channel, round_)
            for generator, answer in zip(self.generators, answers, strict=True):
                generator.step({name: g.cross_weight * gradient for name, gradient in answer.items()})
            self.progress("training neighbour generators", round_ + 1, g.rounds)
        self.notes.append(self._mending_note(clients))
        return self.answering(clients)

    def answering(self, clients: list[Client]) -> list[Forward]:
        return [self._mended(g, c) for g, c in zip(self.generators, clients, strict=True)]

    def _mended(self, generator: Generator, client: Client) -> Forward:
        return OwnOf(Subgraph.of(self.recipe, *generator.mended(client)), len(client.nodes))

    def _answers_to_all(
        self, clients: list[Client], others: list[Others], channel: Channel, round_: int
    ) -> list[Mapping[str, Tensor]]:
        """For each client the sum of the others' gradients at its generator; the server relays and adds."""
        if len(clients) == 1:
            return [{}]
        answers: list[Mapping[str, Tensor]] = []
        for asking, generator in zip(clients, self.generators, strict=True):
            told = channel.send(GENERATOR_KIND, asking.name, "server", round_, generator.question())
            relayed = {**told, "client": torch.tensor(asking.number)}
            question = channel.send(GENERATOR_KIND, "server", "clients", round_, relayed)
            got = [
                channel.send(GENERATOR_GRADIENT_KIND, other.name, "server", round_, nodes.gradient(question))
                for other, nodes in zip(clients, others, strict=True)
                if other is not asking
            ]
            total = {name: torch.stack([answer[name] for answer in got]).sum(0) for name in got[0]}
            answers.append(channel.send(GENERATOR_GRADIENT_KIND, "server", asking.name, round_, total))
        return answers

    def _mending_note(self, clients: list[Client]) -> str:
        added = sum(len(g.mended(c)[0]) - len(c.nodes) for g, c in zip(self.generators, clients, strict=True))
        return f"{added} neighbours generated for {sum(len(c.nodes) for c in clients)} nodes"


class FedSage(Federated):
    """Federated averaging on subgraphs that generated neighbours mend (FedSage+).

    Each client hides half of its nodes and learns to generate the features of hidden neighbours (`Generator`).
    Then, in each of some rounds, it sends the feature generator's weights, its nodes' noisy embeddings and their
    predicted numbers of missing neighbours to the others; each returns the gradient, by these weights, of the
    squared distances from the predicted neighbours to its own nearest nodes (Zhang et al. 2021, equation 5 and
    algorithm 1; what is sent is read as FederatedScope does it: weights, embeddings and numbers there, gradients
    back, through the server). At last each client generates neighbours for all its nodes, and training is that of
    `fedavg` on the mended subgraphs, with the same settings.

    Released codes compare predictions with neighbours of randomly drawn nodes, here it is the nearest of all nodes,
    as in the paper. No raw row is sent, but that hides less than it seems: the gradient of one prediction, divided
    by what the asking client knows, is the difference between the predicted row and a raw one. A slot with no more
    predictions than the embedding is wide can be solved for them: by the server for each client, and by a client
    for the sum of the others.
    """

    name = "fedsage+"
    sends: ClassVar[tuple[str, ...]] = (*Federated.sends, GENERATOR_KIND, GENERATOR_GRADIENT_KIND)
    Settings = FedSageSettings
    settings: FedSageSettings
    loop = _MendingRun

    @classmethod
    def preset(cls, preset: str, data: Data) -> dict[str, Any]:
        settings = super().preset(preset, data)
        return settings | ({"generator": {"rounds": 5}} if preset == "quick" else {})

    def sent(self) -> set[str]:
        """Kinds of messages that are sent with these settings."""
        s = self.settings
        talk = s.generator.rounds > 0 and s.clients > 1
        return super().sent() - (set() if talk else {GENERATOR_KIND, GENERATOR_GRADIENT_KIND})
