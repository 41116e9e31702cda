"""Training one node classifier by several clients who upload weights or gradients: what all such targets share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field, field_validator, model_validator
from torch import Tensor

from ...errors import InputError, unknown_name
from ...graphs.preprocessing import FeatureSettings
from ...graphs.pyg import name_of
from ...randomness import branch, integer
from ..channel import Channel, Retention
from ..defense import Defense
from ..device import Device
from ..game import Game
from ..games.group_density import GroupDensity, group_density, with_density
from ..games.group_property import GroupProperty, group_property, with_property
from ..games.links import NON_EDGES, edge_presence
from ..games.membership import label_membership
from ..games.ownership import Contribution, NodeOwnership, ownership_secrets
from ..messages import (
    GLOBAL_KIND,
    GRADIENT_KIND,
    GRADIENT_SUM_KIND,
    LABELLED_COUNT_KIND,
    MODEL_KIND,
    UPDATE_KIND,
    posteriors_kind,
)
from ..models.propagation import Neighbourhood
from ..models.training_config import TrainingConfig, initial_weights
from ..partition import partition
from ..party import Client, all_labelled, clients_of
from ..splits import SPLIT, SplitName, divided
from ..target import Offers, Progress, Run, Target, Utility, no_progress
from .kept_nodes import accuracies_by_fate, kept_nodes
from .label_statistic import STATISTIC_KINDS
from .local_training import (
    Correction,
    Forward,
    LocalTask,
    OptimiserName,
    OptimiserState,
    Subgraph,
    as_parameters,
    dropout,
    optimiser_of,
)
from .neighbour_exchange import exchange

if TYPE_CHECKING:
    from torch_geometric.data import Data

POSTERIORS_KIND = posteriors_kind("full")
PUBLISHED = {"model": MODEL_KIND, "posteriors": POSTERIORS_KIND}


class FederatedSettings(FeatureSettings):
    """Settings of federated training. Defaults: SOS (AsiaCCS 2023, section 5.1).

    It names neither dropout nor weight decay: here half of the hidden units, as Kipf and Welling, and none, as
    torch's Adam; with 5e-4 the accuracy on Cora falls short of the paper's.
    """

    clients: int = Field(4, ge=1)
    partition: str = Field("metis", description="metis, louvain or dirichlet")
    beta: float = Field(1.0, gt=0, description="concentration of the Dirichlet partition")
    split: SplitName = Field("60/20/20", description=SPLIT)
    architecture: Literal["gcn", "sage", "gat"] = "gcn"
    hidden: int = Field(16, ge=1)
    heads: int = Field(4, ge=1, description="attention heads of GAT's first layer")
    dropout: float = Field(0.5, ge=0, lt=1, description="of hidden units")
    optimiser: OptimiserName = "adam"
    optimiser_state: Literal["fresh", "kept"] = Field(
        "fresh", description="at the beginning of a client's round; kept: as it stood at the end of its last one"
    )
    lr: float = Field(1e-3, gt=0)
    weight_decay: float = Field(0.0, ge=0)
    rounds: int = Field(50, ge=1)
    local_epochs: int = Field(10, ge=1, description="local steps of each round; no matter where gradients are sent")
    upload: Literal["weights", "gradients"] = Field(
        "weights",
        description="weights after local steps; or one gradient per round, at the common weights and without "
        "dropout, with which the server takes one step of the optimiser (its state is kept)",
    )
    aggregation: Literal["uniform", "weighted"] = Field(
        "uniform", description="the mean over clients, or that weighted by their labelled nodes"
    )
    answer_with: Literal["original", "defended"] = Field(
        "original",
        description="the graph on which clients use the trained model, for accuracy and published posteriors: "
        "their own, or what a defense of the data made of it",
    )
    publish: tuple[Literal["model", "posteriors"], ...] = Field(
        ("model", "posteriors"), description="what the public gets in the end"
    )
    asked_class: int | None = Field(
        None,
        ge=0,
        description="asks the game group-property alone: half of the clients, by lot, have many labels of this "
        "class, the others few",
    )
    asked_shares: tuple[float, float] = Field(
        (0.1, 0.5), description="of this class among a client's labels, where they are few and where they are many"
    )
    asked_links: tuple[float, float] | None = Field(
        None,
        description="asks the game group-density alone: half of the clients, by lot, keep the larger share of the "
        "links among their people, the others the smaller, as [0.3, 0.9]",
    )
    non_edges: int = Field(NON_EDGES, ge=1, description="pairs without an edge that are in question, at most")
    device: Device = "cpu"

    @model_validator(mode="after")
    def _recipe_fits(self) -> FederatedSettings:
        self.recipe()
        return self

    @model_validator(mode="after")
    def _one_question(self) -> FederatedSettings:
        if self.asked_class is not None and self.asked_links is not None:
            raise ValueError("asked_class and asked_links are two questions: ask one of them at a time")
        return self

    @field_validator("asked_shares")
    @classmethod
    def _shares_differ(cls, shares: tuple[float, float]) -> tuple[float, float]:
        if not 0 <= shares[0] < shares[1] < 1:
            raise ValueError("expected two shares below 1, the smaller one first")
        return shares

    @field_validator("asked_links")
    @classmethod
    def _links_differ(cls, shares: tuple[float, float] | None) -> tuple[float, float] | None:
        if shares is not None and not 0 <= shares[0] < shares[1] <= 1:
            raise ValueError("expected two shares up to 1, the smaller one first")
        return shares

    @property
    def steps(self) -> int:
        """Steps that a weight sees in a run."""
        return self.rounds * (1 if self.upload == "gradients" else self.local_epochs)

    def recipe(self) -> TrainingConfig:
        """What an adversary who trains shadow models would use: it knows Adam only, so its default rate for SGD."""
        return TrainingConfig(
            architecture=self.architecture,
            hidden=self.hidden,
            heads=self.heads,
            epochs=self.steps,
            lr=self.lr if self.optimiser == "adam" else 0.01,
            weight_decay=self.weight_decay,
            dropout=0.0 if self.upload == "gradients" else self.dropout,
        )


class FederatedRun:
    """One run; the attributes are what the server and the clients hold while it lasts.

    Subclasses change what clients read (`forwards`, `answering`), what they train for (`tasks_of`), what is added
    to their gradients (`correction`), what goes along with the weights (`before_round`, `after_round`), who trains
    in a round (`takes_part`), how they train (`trained_by`), what they send of their weights (`uploaded`), what the
    server makes of it (`averaged`), and what each client gets of that (`handed_out`, `final_models`: one common
    model by default).

    Attributes:
        settings: of the target.
        channel: what all messages go through.
        original: the clients as they are.
        clients: the clients after the defense had its hand on their data.
        trainable: nodes that clients may train on, before labels are left out for a question, [t].
        having: which clients have much of what is in question, labels of a class or links, where something is.
        recipe: of the model.
        states: what each client's optimiser remembers of its last round, by number, where that is kept.
        notes: sentences that a reader of the result must know.
    """

    settings: FederatedSettings

    def __init__(
        self,
        settings: FederatedSettings,
        data: Data,
        defense: Defense,
        seed: np.random.SeedSequence,
        retain: Retention,
        progress: Progress,
    ) -> None:
        self.settings, self.defense, self.seed, self.progress = settings, defense, seed, progress
        mod = defense.on_message(branch(seed, "messages"))
        self.channel = Channel(retain=retain, mods=() if mod is None else (mod,))
        s = settings
        parts = partition(data, s.partition, s.clients, branch(seed, "partition"), beta=s.beta)
        self.data = divided(data, parts.owner, s.split, branch(seed, "split"))
        self.trainable = self.data.train_mask.nonzero().flatten().cpu().numpy()
        self.having: dict[int, bool] | None = None
        coins = branch(seed, "property")
        if s.asked_class is not None:
            self.data, self.having = with_property(self.data, parts.owner, s.asked_class, s.asked_shares, coins)
        elif s.asked_links is not None:
            self.data, self.having = with_density(self.data, parts.owner, s.asked_links, coins)
        clients = [c.to(s.device) for c in clients_of(self.data, parts, labelled=False)]
        told = defense.on_labels(clients, self._exchange, self.channel, branch(seed, "labels"))
        self.original = all_labelled(self.present(told))
        self.clients = [self._defended(c) for c in self.original]
        self.recipe = s.recipe()
        self.states: dict[int, OptimiserState] = {}
        self.notes = [self._partition_note(int(parts.cut_edges.shape[1]))]

    # what subclasses change

    @property
    def update_kind(self) -> str:
        """The kind of message that a client's weights after its local training are."""
        return UPDATE_KIND

    def present(self, clients: list[Client]) -> list[Client]:
        """The clients as far as they take part; called once, before any defense of the data."""
        return clients

    def handed_out(self, weights: Mapping[str, Tensor], round_: int) -> list[Mapping[str, Tensor]]:
        """What each client begins a round with, in their order: the common ``weights``, which all are sent."""
        received = self.channel.send(GLOBAL_KIND, "server", "clients", round_, weights)
        return [received] * len(self.clients)

    def final_models(self, weights: Mapping[str, Tensor]) -> list[Mapping[str, Tensor]]:
        """What each client answers with in the end: the common ``weights``, which all are sent once more."""
        received = self.channel.send(GLOBAL_KIND, "server", "clients", self.settings.rounds, weights)
        return [received] * len(self.clients)

    def forwards(self, clients: list[Client], channel: Channel) -> list[Forward]:
        """What each client's model reads, of all its nodes in their order."""
        return [Subgraph.of(self.recipe, c.x, c.edges) for c in clients]

    def width(self) -> int:
        """How many features the model reads."""
        return int(self.data.num_features)

    def answering(self, clients: list[Client]) -> list[Forward]:
        """What each client's model reads when the trained model is used; nothing is learned or recorded here."""
        return self.forwards(clients, Channel(retain=lambda message: False))

    def tasks_of(self, tasks: list[LocalTask], received: Mapping[str, Tensor], round_: int) -> list[LocalTask]:
        """What clients train for in a round that began with ``received``, if not for their own ``tasks``.

        Where clients receive different weights, this is what the first of them received.
        """
        return tasks

    def before_round(self, round_: int, received: Mapping[str, Tensor]) -> None:
        """Called after the common weights were sent, and ``received`` by the clients (`tasks_of`)."""

    def correction(self, client: Client, received: Mapping[str, Tensor]) -> Correction | None:
        """What a client adds to its gradients in a round that began with ``received``."""
        return None

    def takes_part(self, client: Client, round_: int) -> bool:
        """Whether a client trains and sends weights in a round; if some do not, `averaged` must allow for it."""
        return True

    def trained_by(
        self, client: Client, task: LocalTask, received: Mapping[str, Tensor], coins: torch.Generator
    ) -> Mapping[str, Tensor]:
        """A client's weights after its training in a round that began with ``received``."""
        s = self.settings
        return task.trained(
            received,
            steps=s.local_epochs,
            optimiser=s.optimiser,
            lr=s.lr,
            weight_decay=s.weight_decay,
            drop=dropout(s.dropout, coins),
            correction=self.correction(client, received),
            state=self.states.setdefault(client.number, {}) if s.optimiser_state == "kept" else None,
        )

    def uploaded(self, received: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """What a client sends of its ``own`` weights after a round that began with ``received``."""
        return own

    def sent_on(self, client: Client, sent: Mapping[str, Tensor], round_: int) -> Mapping[str, Tensor]:
        """Sends what a client sends of its weights after a round; what the server receives."""
        return self.channel.send(self.update_kind, client.name, "server", round_, sent)

    def members(self) -> Game:
        """The truth about whose label was trained on."""
        return label_membership(self.data, self.original)

    def secrets(self) -> dict[str, Game]:
        """The truth of each game that the run offers."""
        nodes, non_edges = self.data.num_nodes, self.settings.non_edges
        return {
            "edge-presence": edge_presence(
                self.original, nodes, branch(self.seed, "links"), non_edges, self.clients
            ),
            "label-membership": self.members(),
            **ownership_secrets(self.original, nodes, branch(self.seed, "ownership"), self.clients),
        }

    def after_round(
        self, client: Client, received: Mapping[str, Tensor], own: Mapping[str, Tensor], round_: int
    ) -> None:
        """Called when a client has sent its ``own`` weights of a round."""

    def figures(self) -> dict[str, float]:
        """What the run measured of itself besides accuracy, by name."""
        return {}

    # the run

    def run(self) -> Run:
        terms = [self.defense.on_training(c, branch(self.seed, "term", c.number)) for c in self.clients]
        forwards = self.forwards(self.clients, self.channel)
        tasks = [LocalTask.of(c, f, t) for c, f, t in zip(self.clients, forwards, terms, strict=True)]
        self.shares = self._shares()
        weights = self._rounds(tasks)
        models = self.final_models(weights)
        whole = self.settings.answer_with == "original"
        answers = self._answers(models, self.original if whole else self.clients)
        self._publish(weights, answers)
        utility = self._utility(answers)
        tested, secrets = int(self.data.test_mask.sum()), self._asked() or self.secrets()
        return Run(
            self.channel.transcript,
            secrets,
            (utility,),
            0,
            tuple(self.notes),
            figures=self._by_fate(models, answers) | self.figures(),
            tested=tested,
            recipe=self.recipe,
        )

    def _asked(self) -> dict[str, Game]:
        """The game that was asked for alone, if one was."""
        s, classes = self.settings, self.original[0].classes
        if self.having is None:
            return {}
        if s.asked_links is not None:
            return group_density(self.having, s.asked_links, self.trainable, classes)
        assert s.asked_class is not None
        return group_property(self.having, s.asked_class, classes, s.asked_shares, self.trainable)

    def _rounds(self, tasks: list[LocalTask]) -> dict[str, Tensor]:
        """The common weights after all rounds; the server averages what it received."""
        s = self.settings
        drawn = initial_weights(self.recipe, self.width(), self.original[0].classes, branch(self.seed, "weights"))
        weights = {name: weight.to(s.device) for name, weight in drawn.items()}
        server = _Server(s, weights) if s.upload == "gradients" else None
        for t in range(s.rounds):
            with self.channel.keeping():
                must_be_finite(weights, t)
            received = self.handed_out(weights, t)
            if server is None:
                weights = self.averaged(self._trained(tasks, received, t))
            else:
                weights = server.stepped(self.averaged(self._gradients(tasks, received[0], t)))
            self.progress("training", t + 1, s.rounds)
        with self.channel.keeping():
            must_be_finite(weights, s.rounds)
        return weights

    def _trained(
        self, tasks: list[LocalTask], begun: list[Mapping[str, Tensor]], t: int
    ) -> list[Mapping[str, Tensor]]:
        uploads = []
        self.before_round(t, begun[0])
        each = zip(self.clients, self.tasks_of(tasks, begun[0], t), begun, strict=True)
        for client, task, received in each:
            if not self.takes_part(client, t):
                continue
            seed = branch(self.seed, "dropout", client.number, t)
            coins = torch.Generator(self.settings.device).manual_seed(integer(seed))
            own = self.trained_by(client, task, received, coins)
            sent = self.uploaded(received, own)
            uploads.append(self.sent_on(client, sent, t))
            self.after_round(client, received, own, t)
        return uploads

    def _gradients(
        self, tasks: list[LocalTask], received: Mapping[str, Tensor], t: int
    ) -> list[Mapping[str, Tensor]]:
        uploads = [
            self.channel.send(GRADIENT_KIND, client.name, "server", t, task.gradient(received))
            for client, task in zip(self.clients, tasks, strict=True)
        ]
        if self.channel.seals(GRADIENT_KIND):
            self.channel.hold(GRADIENT_SUM_KIND, "server", t, self.averaged(uploads))
        return uploads

    def averaged(self, uploads: list[Mapping[str, Tensor]]) -> dict[str, Tensor]:
        """The mean that the server takes of what the clients sent."""
        return averaged(uploads, self.shares)

    def _shares(self) -> list[float]:
        """Each client's weight in the mean; to weight by labels the server must be told how many there are."""
        if self.settings.aggregation == "uniform":
            return [1 / len(self.clients)] * len(self.clients)
        told = labelled_counts(self.clients, self.channel)
        return [count / sum(told) for count in told]

    def _exchange(self, clients: list[Client]) -> list[Neighbourhood]:
        """What clients read of each other before they train together: nothing."""
        return exchange(clients, 0, self.data.num_nodes, self.channel, False)

    def _defended(self, client: Client) -> Client:
        seed = branch(self.seed, "defense", client.number)
        defended = self.defense.on_data(client, None, seed, self.channel.holder(client.name))
        if not bool(defended.train.any()):
            raise InputError(
                f"the defense '{self.defense.name}' leaves {client.name} no label to train on: use a weaker one or "
                "fewer clients"
            )
        self.progress("preparing local graphs", client.number + 1, self.settings.clients)
        return defended

    def _by_fate(self, models: list[Mapping[str, Tensor]], answers: Tensor) -> dict[str, float]:
        """Accuracy by what became of a node, where the defense dropped some; ``answers`` are those published."""
        kept = kept_nodes(self.original, self.clients, int(self.data.num_nodes))
        if kept is None:
            return {}
        whole = self.settings.answer_with == "original"
        others = self._answers(models, self.clients if whole else self.original)
        both = (answers, others) if whole else (others, answers)
        return accuracies_by_fate(*both, self.data.y, self.data.test_mask, kept)

    def _answers(self, models: list[Mapping[str, Tensor]], asked: list[Client]) -> Tensor:
        """Logits of all nodes [N, C]: each of the clients ``asked`` answers for its own nodes with its model."""
        found = torch.empty(self.data.num_nodes, self.original[0].classes)
        with torch.no_grad():
            for client, forward, weights in zip(asked, self.answering(asked), models, strict=True):
                found[client.nodes.cpu()] = forward(weights).cpu()
        return found

    def _publish(self, weights: Mapping[str, Tensor], answers: Tensor) -> None:
        s = self.settings
        if "model" in s.publish:
            self.channel.send(MODEL_KIND, "server", "public", s.rounds, weights)
        if "posteriors" in s.publish:
            self._publish_answers(answers)

    def _publish_answers(self, answers: Tensor, sender: str = "server") -> None:
        table = {"nodes": torch.arange(len(answers)), "posteriors": answers.softmax(1)}
        self.channel.send(POSTERIORS_KIND, sender, "public", self.settings.rounds, table)

    def _utility(self, answers: Tensor) -> Utility:
        right = (answers.argmax(1) == self.data.y).float()
        val, test = (float(right[mask].mean()) for mask in (self.data.val_mask, self.data.test_mask))
        return Utility(self.settings.rounds, val, test, test)

    def _partition_note(self, cut: int) -> str:
        sizes = [len(c.nodes) for c in self.original]
        inside = sum(c.edges.shape[1] for c in self.original) // 2
        if len(sizes) == 1:
            return f"one client with {sizes[0]} nodes and {inside} edges"
        return (
            f"{len(sizes)} clients with {min(sizes)} to {max(sizes)} nodes; {cut} of {cut + inside} edges run "
            "between clients"
        )


class _Server:
    """Takes steps with averaged gradients; its optimiser is kept from round to round."""

    def __init__(self, settings: FederatedSettings, weights: Mapping[str, Tensor]) -> None:
        self.weights = as_parameters(weights)
        self.walker = optimiser_of(settings.optimiser, self.weights, settings.lr, settings.weight_decay)

    def stepped(self, gradient: Mapping[str, Tensor]) -> dict[str, Tensor]:
        for name, weight in self.weights.items():
            weight.grad = gradient[name]
        self.walker.step()
        return {name: weight.detach().clone() for name, weight in self.weights.items()}


def must_be_finite(weights: Mapping[str, Tensor], rounds: int) -> None:
    """Raises InputError where training diverged: nothing that follows would mean anything."""
    if not all(bool(torch.isfinite(weight).all()) for weight in weights.values()):
        raise InputError(f"training diverges: after {rounds} rounds the common weights are not finite; lower lr")


def must_read_uploads(channel: Channel, kind: str = UPDATE_KIND) -> None:
    """Raises InputError where a server that needs uploads one by one gets their sum alone."""
    if channel.seals(kind):
        raise InputError("the server must read each client's update by itself: uploads in a secure sum do not do")


def averaged(uploads: list[Mapping[str, Tensor]], shares: list[float]) -> dict[str, Tensor]:
    """The mean of uploads with the same names, weighted by ``shares``, which sum to one."""
    return {
        name: torch.stack([share * upload[name] for share, upload in zip(shares, uploads, strict=True)]).sum(0)
        for name in uploads[0]
    }


class Federated(Target):
    """Base of targets in which several clients train one node classifier together.

    Attributes:
        loop: what a run of it does.
    """

    release = MODEL_KIND
    release_phrase = "what is published of the jointly trained model"
    sends: ClassVar[tuple[str, ...]] = (
        MODEL_KIND,
        POSTERIORS_KIND,
        GLOBAL_KIND,
        UPDATE_KIND,
        GRADIENT_KIND,
        LABELLED_COUNT_KIND,
        *STATISTIC_KINDS,
    )
    asks_for_labels = True
    loop: ClassVar[type[FederatedRun]] = FederatedRun
    games: ClassVar[tuple[str, ...]] = (
        "edge-presence",
        "label-membership",
        NodeOwnership.name,
        Contribution.name,
        GroupProperty.name,
        GroupDensity.name,
    )
    Settings = FederatedSettings
    settings: FederatedSettings

    @property
    def offers(self) -> Offers:
        """What its settings say of clients, splits, features and answers."""
        s = self.settings
        return Offers(s.clients, s.split, s.features, answer_with=s.answer_with)

    @property
    def plays(self) -> frozenset[str]:
        s, asked = self.settings, {GroupProperty.name, GroupDensity.name}
        if s.asked_class is None and s.asked_links is None:
            return super().plays - asked
        return frozenset({GroupDensity.name if s.asked_class is None else GroupProperty.name})

    def why_not(self, defense: Defense) -> str | None:
        if defense.needs_shared_model:
            return "it needs a model that clients trained together before"
        return super().why_not(defense)

    def sent(self) -> set[str]:
        """Kinds of messages that are sent with these settings."""
        s = self.settings
        silent = {UPDATE_KIND if s.upload == "gradients" else GRADIENT_KIND}
        silent |= {LABELLED_COUNT_KIND} if s.aggregation == "uniform" else set()
        silent |= {kind for what, kind in PUBLISHED.items() if what not in s.publish}
        return set(self.sends) - silent

    @classmethod
    def preset(cls, preset: str, data: Data) -> dict[str, Any]:
        if preset == "paper":  # SOS, section 5.1
            return {"local_epochs": 2} if name_of(data) == "pubmed" else {}
        if preset == "quick":
            return {"rounds": 20, "lr": 5e-3}
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


def labelled_counts(clients: Sequence[Client], channel: Channel) -> list[float]:
    """What the server is told, one number for each client."""
    told = [
        channel.send(LABELLED_COUNT_KIND, client.name, "server", -1, {"count": client.train.sum().cpu()})
        for client in clients
    ]
    return [float(message["count"]) for message in told]
