"""Rounds of several clients who hold whole graphs and train one classifier, or one for each cluster of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor

from ...errors import unknown_name
from ...randomness import branch, integer
from ...settings import Settings
from ..channel import Channel, Retention
from ..classification.graph_classifier import no_place_among_graphs
from ..defense import Defense
from ..device import Device
from ..federated.federated_averaging import averaged, must_be_finite
from ..federated.local_training import Correction, LocalTask, OptimiserName, OptimiserState, dropout
from ..game import Game
from ..games.class_presence import ClassPresence, class_presence
from ..games.graph_membership import GraphMembership
from ..messages import (
    CONVOLUTIONS_KIND,
    CONVOLUTIONS_UPDATE_KIND,
    GLOBAL_KIND,
    LABELLED_COUNT_KIND,
    MODEL_KIND,
    UPDATE_KIND,
    VALIDATED_KIND,
    posteriors_kind,
)
from ..models.graph_recipe import GraphRecipe
from ..target import Offers, Progress, Run, Target, Utility, no_progress
from .chosen_round import ChosenRound, right_of
from .graph_clients import Division, GraphClient, graph_clients, membership_of
from .model_parts import GraphModel

if TYPE_CHECKING:
    from torch_geometric.data import Data

POSTERIORS_KIND = posteriors_kind("full")
Shared = Literal["all", "convolutions", "nothing"]
NOTHING = torch.empty(0, dtype=torch.long)


class GraphFederationSettings(Settings):
    """Settings of training by clients who hold graphs. Defaults: GCFL's release (Xie et al., NeurIPS 2021).

    Its 80 % of graphs to train on and 10 % to test leave few graphs to ask about: here these are 50 % and 40 %.
    Clients share the whole model, since all hold graphs of one collection.
    """

    clients: int = Field(4, ge=1)
    partition: Division = Field(
        "random", description="of graphs: random, dirichlet (by class), or size (small graphs to the first client)"
    )
    beta: float = Field(1.0, gt=0, description="concentration of the Dirichlet partition")
    train: float = Field(0.5, gt=0, lt=1, description="share of a client's graphs that it trains on")
    test: float = Field(0.4, gt=0, lt=1, description="share that it tests on; the others are for validation")
    features: Literal["given", "scaled"] = Field(
        "scaled", description="as they are, or columns beyond 0 and 1 with mean 0 and deviation 1"
    )
    shared: Shared = Field(
        "all",
        description="what leaves a client: the whole model; all but the first map and the last one; or nothing, so "
        "that each client trains alone",
    )
    architecture: Literal["gin", "gcn"] = "gin"
    layers: int = Field(3, ge=2, le=8, description="rounds of message passing")
    hidden: int = Field(64, ge=1)
    dropout: float = Field(0.5, ge=0, lt=1, description="of a graph's row before the last map")
    optimiser: OptimiserName = "adam"
    optimiser_state: Literal["fresh", "kept"] = Field("kept", description="at the beginning of a client's round")
    lr: float = Field(1e-3, gt=0)
    weight_decay: float = Field(5e-4, ge=0)
    batch: int = Field(128, ge=1, description="graphs of a local step; batches are cut once")
    rounds: int = Field(200, ge=1)
    local_epochs: int = Field(1, ge=1)
    aggregation: Literal["uniform", "weighted"] = Field(
        "weighted", description="the mean over clients, or that weighted by the graphs that they train on"
    )
    answers: Literal["validation", "last"] = Field(
        "validation",
        description="models that answer: of the round with most validation graphs right (the last of such), or the "
        "last ones",
    )
    publish: tuple[Literal["model", "posteriors"], ...] = Field(
        ("model", "posteriors"), description="what the public gets in the end; a model only where one is common"
    )
    device: Device = "cpu"

    @model_validator(mode="after")
    def _shares_leave_some(self) -> GraphFederationSettings:
        if self.train + self.test >= 1:
            raise ValueError("train and test must leave graphs for validation: make them sum to less than 1")
        return self

    def recipe(self, steps: int) -> GraphRecipe:
        """How a model is built, and trained by an adversary who trains one for so many steps."""
        return GraphRecipe(
            architecture=self.architecture,
            layers=self.layers,
            hidden=self.hidden,
            dropout=self.dropout,
            epochs=steps,
            lr=self.lr if self.optimiser == "adam" else GraphRecipe().lr,  # its models are trained with Adam
            weight_decay=self.weight_decay,
        )


class GraphFederationRun:
    """One run; the attributes are what the server and the clients hold while it lasts.

    Each round: every cluster's common weights go to its clients; each trains on its own graphs and uploads the
    shared part; the server may divide clusters (`regrouped`) and takes the weighted mean in each. Subclasses change
    the model (`model_of`), what is added to gradients (`correction`), what else a client tells (`after_training`)
    and who is in one cluster.

    Attributes:
        settings: of the target.
        channel: what all messages go through.
        clients: all of them.
        model: what they train.
        numbers: the graphs of each client's batches, by number.
        batches: each client's graphs to train on, in batches.
        clusters: numbers of the clients of each cluster; one cluster at first.
        common: the shared weights of each cluster.
        kept: what each client keeps to itself, by its number.
        common_model: whether all clients have one model in the end, if they share all of it.
        in_common: whether they do with these settings.
        asked: what a model says of each client's validation graphs.
        chosen: the model that each client answers with, so far.
    """

    common_model: ClassVar[bool] = True
    settings: GraphFederationSettings

    def __init__(
        self,
        settings: GraphFederationSettings,
        data: Data,
        defense: Defense,
        seed: np.random.SeedSequence,
        retain: Retention,
        progress: Progress,
    ) -> None:
        self.settings, self.seed, self.progress, self.data = settings, seed, progress, data.cpu()
        mod, s = defense.on_message(branch(seed, "messages")), settings
        self.channel = Channel(retain=retain, mods=() if mod is None else (mod,))
        shares = (s.train, s.test)
        self.clients = graph_clients(self.data, s.clients, s.partition, s.beta, shares, branch(seed, "clients"))
        self.recipe = self.recipe_of(max(_batches(client, s.batch) for client in self.clients))
        self.model = self.model_of(self.clients[0].classes)
        self.numbers = [self._divided(client) for client in self.clients]
        self.batches = [self._cut(*both) for both in zip(self.clients, self.numbers, strict=True)]
        self.states: list[OptimiserState] = [{} for _ in self.clients]
        first = self.model.first(branch(seed, "weights"))
        self.clusters = [list(range(len(self.clients)))]
        self.common: list[Mapping[str, Tensor]] = [{n: w for n, w in first.items() if self.travels(n)}]
        self.kept = [self._drawn(client) for client in self.clients]
        self.in_common = s.shared == "all" and self.common_model
        self.asked = [self.model.reading(client.val, s.device) for client in self.clients]
        self.chosen = [ChosenRound() for _ in self.clients]

    # what subclasses change

    def model_of(self, classes: int) -> GraphModel:
        """What clients train."""
        return GraphModel(self.recipe, self.data, classes)

    def recipe_of(self, batches: int) -> GraphRecipe:
        """How the model is trained, where the client with most graphs has so many batches."""
        return self.settings.recipe(self.settings.rounds * self.settings.local_epochs * batches)

    def correction(self, received: Mapping[str, Tensor]) -> Correction | None:
        """What a client adds to its gradients in a round that began with ``received``."""
        return None

    def after_training(self, client: GraphClient, own: Mapping[str, Tensor], round_: int) -> None:
        """Called when a client has uploaded its part of its ``own`` weights."""

    def regrouped(
        self, uploads: list[Mapping[str, Tensor]], received: list[Mapping[str, Tensor]], round_: int
    ) -> list[list[int]]:
        """The clusters after a round, by what the server got from each client and had sent to it."""
        return self.clusters

    def figures(self) -> dict[str, float]:
        """What the run measured of itself besides accuracy, by name."""
        return {}

    def together(self, shares: list[float]) -> None:
        """All rounds of clients who share something.

        Args:
            shares: each client's weight in the mean, not yet divided by their sum.
        """
        for t in range(self.settings.rounds):
            received = self.handed_out(t)
            self.considered(received, t)
            uploads = [self._uploaded(c, got, t) for c, got in zip(self.clients, received, strict=True)]
            before = self.clusters
            self.clusters = self.regrouped(uploads, received, t)
            if self.clusters != before:
                self.hold_clusters(t)
            self.common = [_mean(uploads, shares, cluster) for cluster in self.clusters]
            self.progress("training", t + 1, self.settings.rounds)

    def secrets(self) -> dict[str, Game]:
        """The truth of each game that the run offers."""
        return {GraphMembership.name: membership_of(self.clients)} | class_presence(self.clients)

    # the run

    def run(self) -> Run:
        s = self.settings
        if s.shared == "nothing":
            self._alone()
        else:
            self.together(self._shares())
        self.considered(self.handed_out(s.rounds), s.rounds)
        models = [chosen.model for chosen in self.chosen]
        with self.channel.keeping():
            for model in models:
                must_be_finite(model, s.rounds)
        logits = self._answers(models)
        self._publish(models[0], logits)
        return Run(
            self.channel.transcript,
            self.secrets(),
            (self._utility(logits),),
            0,
            self._notes(),
            figures=self.figures(),
            tested=sum(int(c.test.sum()) for c in self.clients),
            recipe=self.recipe,
        )

    def considered(self, received: list[Mapping[str, Tensor]], t: int) -> None:
        """Keeps the models of round t where they have more validation graphs right than those before.

        Who shares all chooses the round together, and tells the server how many graphs are right. Who has a model
        of its own chooses alone, by its own graphs, and tells nobody.
        """
        s, last = self.settings, t == self.settings.rounds
        if s.answers == "last" and not last:
            return
        models = [{**got, **kept} for got, kept in zip(received, self.kept, strict=True)]
        every = zip(models, self.clients, self.asked, strict=True)
        right = [right_of(model, client, asked, s.device) for model, client, asked in every]
        if self.in_common and s.answers == "validation":
            counts = [(c.name, {"count": torch.tensor(n)}) for c, n in zip(self.clients, right, strict=True)]
            told = [self.channel.send(VALIDATED_KIND, name, "server", t, count) for name, count in counts]
            right = [sum(float(message["count"]) for message in told)] * len(told)
        for chosen, model, count in zip(self.chosen, models, right, strict=True):
            chosen.consider(model, count, t)

    def travels(self, name: str) -> bool:
        """Whether a weight leaves its client."""
        how = self.settings.shared
        return how == "all" or (how == "convolutions" and self.model.travels(name))

    def hold_clusters(self, round_: int) -> None:
        """Notes what the server knows of who is in one cluster with whom; no one else is told."""

    def handed_out(self, t: int) -> list[Mapping[str, Tensor]]:
        """What each client begins round t with of the shared weights."""
        kind = GLOBAL_KIND if self.settings.shared == "all" else CONVOLUTIONS_KIND
        if self.settings.shared == "nothing":
            return [{}] * len(self.clients)
        with self.channel.keeping():
            for weights in self.common:
                must_be_finite(weights, t)
        if len(self.clusters) == 1:
            return [self.channel.send(kind, "server", "clients", t, self.common[0])] * len(self.clients)
        found: dict[int, Mapping[str, Tensor]] = {}
        for cluster, weights in zip(self.clusters, self.common, strict=True):
            for number in cluster:
                found[number] = self.channel.send(kind, "server", f"client:{number}", t, weights)
        return [found[client.number] for client in self.clients]

    def _uploaded(self, client: GraphClient, received: Mapping[str, Tensor], t: int) -> Mapping[str, Tensor]:
        own = self._trained(client, received, t)
        self.kept[client.number] = {name: weight for name, weight in own.items() if not self.travels(name)}
        part = {name: own[name].cpu() for name in received}  # where the server is, whatever a client computes on
        kind = UPDATE_KIND if self.settings.shared == "all" else CONVOLUTIONS_UPDATE_KIND
        sent = self.channel.send(kind, client.name, "server", t, part)
        self.after_training(client, own, t)
        return sent

    def _trained(self, client: GraphClient, received: Mapping[str, Tensor], t: int) -> dict[str, Tensor]:
        """A client's weights after its local epochs, a step for each batch."""
        s, kept = self.settings, self.settings.optimiser_state == "kept"
        weights = {name: w.to(s.device) for name, w in {**self.kept[client.number], **received}.items()}
        state = self.states[client.number] if kept else {}
        coins = torch.Generator(s.device).manual_seed(integer(branch(self.seed, "dropout", client.number, t)))
        for _ in range(s.local_epochs):
            for task in self.batches[client.number]:
                weights = task.trained(
                    weights,
                    steps=1,
                    optimiser=s.optimiser,
                    lr=s.lr,
                    weight_decay=s.weight_decay,
                    drop=dropout(s.dropout, coins),
                    correction=self.correction(received),
                    state=state,
                )
        return weights

    def _alone(self) -> None:
        """Each client trains by itself for as many epochs as the others do in all rounds."""
        for t in range(self.settings.rounds):
            self.considered(self.handed_out(t), t)
            for client in self.clients:
                self.kept[client.number] = self._trained(client, {}, t)
            self.progress("training alone", t + 1, self.settings.rounds)

    def _divided(self, client: GraphClient) -> list[np.ndarray]:
        order = torch.from_numpy(
            np.random.default_rng(branch(self.seed, "batches", client.number)).permutation(int(client.train.sum()))
        )
        own = client.train.nonzero().flatten()
        return [own[part].numpy() for part in order.chunk(_batches(client, self.settings.batch))]

    def _cut(self, client: GraphClient, numbers: list[np.ndarray]) -> list[LocalTask]:
        s, found = self.settings, list[LocalTask]()
        for batch in numbers:
            wanted = torch.zeros_like(client.train)
            wanted[torch.from_numpy(batch)] = True
            labels = client.labels[wanted].to(s.device)
            everyone = torch.arange(len(labels), device=s.device)
            found.append(LocalTask(self.model.reading(wanted, s.device), everyone, labels, NOTHING, NOTHING))
        return found

    def _drawn(self, client: GraphClient) -> dict[str, Tensor]:
        """The first weights that a client keeps: drawn by itself, so that nobody else knows them."""
        own = self.model.first(branch(self.seed, "kept weights", client.number))
        return {name: weight for name, weight in own.items() if not self.travels(name)}

    def _shares(self) -> list[float]:
        """Each client's weight; to weight by graphs the server must be told how many there are."""
        if self.settings.aggregation == "uniform" or self.settings.shared == "nothing":
            return [1.0] * len(self.clients)
        counts = [(c.name, {"count": c.train.sum()}) for c in self.clients]
        told = [self.channel.send(LABELLED_COUNT_KIND, name, "server", -1, count) for name, count in counts]
        return [float(message["count"]) for message in told]

    def _answers(self, models: list[Mapping[str, Tensor]]) -> Tensor:
        """Logits of all graphs [G, C]: each client answers for its own."""
        found = torch.empty(len(self.clients[0].labels), self.clients[0].classes)
        with torch.no_grad():
            for client, model in zip(self.clients, models, strict=True):
                there = {name: weight.to(self.settings.device) for name, weight in model.items()}
                found[client.held] = self.model.reading(client.held, self.settings.device)(there).cpu()
        return found

    def _publish(self, model: Mapping[str, Tensor], logits: Tensor) -> None:
        s = self.settings
        if "model" in s.publish and self.in_common:
            self.channel.send(MODEL_KIND, "server", "public", s.rounds, model)
        if "posteriors" in s.publish:
            table = {"nodes": torch.arange(len(logits)), "posteriors": logits.softmax(1)}
            self.channel.send(POSTERIORS_KIND, "server", "public", s.rounds, table)

    def _utility(self, logits: Tensor) -> Utility:
        right = (logits.argmax(1) == self.clients[0].labels).float()
        val, test = (
            float(right[torch.stack([getattr(c, use) for c in self.clients]).any(0)].mean())
            for use in ("val", "test")
        )
        return Utility(self.settings.rounds, val, test, test)

    def _notes(self) -> tuple[str, ...]:
        counts = [int(c.held.sum()) for c in self.clients]
        rounds = sorted({chosen.round for chosen in self.chosen})
        found = (
            f"{len(counts)} client{'' if len(counts) == 1 else 's'} with {_span(counts)} graphs each",
            f"answers come from the weights of round{'' if len(rounds) == 1 else 's'} {_span(rounds)} of "
            f"{self.settings.rounds}",
        )
        if len(self.clusters) == 1:
            return found
        together = ", ".join("{" + " ".join(map(str, sorted(c))) + "}" for c in self.clusters)
        return (*found, f"clients in one cluster at the end: {together}")


def _span(counts: list[int]) -> str:
    return str(counts[0]) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def _batches(client: GraphClient, size: int) -> int:
    return math.ceil(int(client.train.sum()) / size)


def _mean(uploads: list[Mapping[str, Tensor]], shares: list[float], cluster: list[int]) -> dict[str, Tensor]:
    total = sum(shares[k] for k in cluster)
    return averaged([uploads[k] for k in cluster], [shares[k] / total for k in cluster])


class GraphFederation(Target):
    """Base of targets in which clients who hold whole graphs train together.

    Attributes:
        loop: what a run of it does.
    """

    release = POSTERIORS_KIND
    release_phrase = "what each client's own model says of its graphs"
    sends: ClassVar[tuple[str, ...]] = (
        POSTERIORS_KIND,
        GLOBAL_KIND,
        UPDATE_KIND,
        CONVOLUTIONS_KIND,
        CONVOLUTIONS_UPDATE_KIND,
        LABELLED_COUNT_KIND,
        VALIDATED_KIND,
    )
    games: ClassVar[tuple[str, ...]] = (GraphMembership.name, ClassPresence.name)
    collections = True
    loop: ClassVar[type[GraphFederationRun]] = GraphFederationRun
    Settings = GraphFederationSettings
    settings: GraphFederationSettings

    @property
    def offers(self) -> Offers:
        """What its settings say of clients and features; who is trained on is drawn anew."""
        return Offers(self.settings.clients, "random", self.settings.features)

    def why_not(self, defense: Defense) -> str | None:
        return no_place_among_graphs(defense) or super().why_not(defense)

    def sent(self) -> set[str]:
        s, whole, part = self.settings, {GLOBAL_KIND, UPDATE_KIND}, {CONVOLUTIONS_KIND, CONVOLUTIONS_UPDATE_KIND}
        silent = {"all": part, "convolutions": whole | {MODEL_KIND}, "nothing": whole | part | {MODEL_KIND}}[
            s.shared
        ]
        silent |= {LABELLED_COUNT_KIND} if s.aggregation == "uniform" or s.shared == "nothing" else set()
        in_common = s.shared == "all" and self.loop.common_model
        silent |= set() if in_common and s.answers == "validation" else {VALIDATED_KIND}
        named = {"model": MODEL_KIND, "posteriors": POSTERIORS_KIND}
        return set(self.sends) - silent - {kind for what, kind in named.items() if what not in s.publish}

    @classmethod
    def preset(cls, preset: str, data: Data) -> dict[str, Any]:
        if preset == "paper":
            return {"train": 0.8, "test": 0.1}
        if preset == "quick":
            return {"rounds": 60, "lr": 3e-3}
        raise unknown_name("preset", preset, ("quick", "paper"))

    def run(
        self,
        data: Data,
        defense: Defense,
        seed: np.random.SeedSequence,
        retain: Retention,
        progress: Progress = no_progress,
    ) -> Run:
        return self.loop(self.settings, data, defense, seed, retain, progress).run()
