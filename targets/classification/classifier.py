"""A trained node classifier: published, asked, or trained by several clients who upload their weights."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor

from ...errors import InputError, unknown_name
from ...graphs.pair_codes import ends
from ...graphs.preprocessing import FeatureSettings
from ...graphs.pyg import name_of
from ...randomness import branch
from ..channel import Channel, Retention
from ..defense import Defense
from ..device import Device
from ..game import Game
from ..games.attributes import Attribute, AttributeSettings, hidden_attribute
from ..games.links import NON_EDGES, EdgePresence, edge_presence
from ..games.membership import NODE_GAMES, LabelMembership, NodeGame, by_masks
from ..messages import (
    EXPLANATIONS_KIND,
    GLOBAL_KIND,
    HIDDEN_ROWS_KIND,
    MODEL_KIND,
    PROBED_KIND,
    QUERY_NAMES,
    SUBMITTED_KIND,
    TABLE_KINDS,
    UPDATE_KIND,
    labels_kind,
    posteriors_kind,
)
from ..models.explanations import explanations
from ..models.model_ensemble import ask_models, train_models
from ..models.own_rows import answers_to_own_rows, hidden_rows
from ..models.scaled_rows import scaled_answers
from ..models.training_config import TrainingConfig, initial_weights
from ..models.training_task import Query, TrainingTask
from ..partition import Partition
from ..party import clients_of
from ..probing import ProbingSettings, probe
from ..target import Offers, Progress, Run, Target, Utility, no_progress

if TYPE_CHECKING:
    from torch_geometric.data import Data

TUNED: dict[str, dict[str, Any]] = {  # Lassila et al. 2025, released configuration, GCN
    "cora": {"lr": 1e-3, "weight_decay": 1e-5, "dropout": 0.5, "hidden": 64, "epochs": 200},
    "citeseer": {"lr": 1e-3, "weight_decay": 1e-4, "dropout": 0.5, "hidden": 64, "epochs": 100},
    "pubmed": {"lr": 1e-2, "weight_decay": 1e-5, "dropout": 0.25, "hidden": 64, "epochs": 400},
    "photo": {"lr": 1e-3, "weight_decay": 1e-5, "dropout": 0.0, "hidden": 128, "epochs": 2000},
}


class ClassifierSettings(FeatureSettings, AttributeSettings):
    """Settings of `Classifier`."""

    recipe: TrainingConfig = TrainingConfig()
    game: Literal["label-membership", "node-presence", "edge-presence", "attribute"] = Field(
        "label-membership",
        description="what is secret: a label trained on, the node with its edges, an edge, or an attribute",
    )
    split: Literal["random", "dataset"] = Field(
        "random", description="members drawn at random, or the dataset's train nodes against its test nodes"
    )
    in_question: float = Field(0.8, gt=0, le=1, description="share of nodes in question where drawn at random")
    members: float = Field(0.5, gt=0, lt=1, description="share of members among them")
    publish: tuple[Literal["model", "posteriors", "labels", "service", "explanations", "embeddings"], ...] = Field(
        ("model", "posteriors", "labels"),
        description="what the public gets; service: answers for submitted features, where edges or an attribute "
        "are in question; explanations: how much each feature says for each node's answer, and embeddings: rows "
        "of the hidden layer (GCN, GraphSAGE, MLP)",
    )
    probing: ProbingSettings = Field(ProbingSettings(), description="what such a service is asked")
    answer_with: Literal["original", "defended"] = Field(
        "original",
        description="the graph that answers read: as it is, or as a defense of the data left it",
    )
    non_edges: int = Field(NON_EDGES, ge=1, description="pairs without an edge that are in question, at most")
    clients: int = Field(1, ge=1, description="above 1: federated averaging, members dealt out at random")
    rounds: int = Field(10, ge=1, description="of federated averaging, the recipe's epochs shared out among them")
    device: Device = "cpu"

    @model_validator(mode="after")
    def _service_has_a_game(self) -> ClassifierSettings:
        if "service" in self.publish and self.game not in (EdgePresence.name, Attribute.name):
            raise ValueError(
                "publish = service answers queries about edges or an attribute: set game to edge-presence or "
                "to attribute"
            )
        return self

    @model_validator(mode="after")
    def _attribute_is_a_column(self) -> ClassifierSettings:
        if (self.game == Attribute.name) != (self.attribute is not None):
            raise ValueError("game = attribute and attribute = (a column of the features) go together: set both")
        if self.attribute is not None and self.attribute.startswith("label"):
            raise ValueError("a classifier is there to tell labels: set attribute to a column of the features")
        if self.attribute is not None and self.features != "given":
            raise ValueError("shares of a row tell what was taken out of it: set features to given")
        return self


class Classifier(Target):
    """A node classifier that is trained on some nodes and published, or asked about all of them.

    With `label-membership` the whole graph is used and the members' labels (transductive); with `node-presence`
    the members' subgraph alone (inductive). With `edge-presence` and `attribute` training is as with
    `label-membership`; in question is each pair of nodes, or a column of the features. Answers are published as
    tables, one for each way to ask: the full graph, each node alone (0-hop), and without edges between members and
    non-members (apart; this is what the owner of an inductive model can ask, an outsider cannot). A service also
    answers for features that somebody submits: it is asked with those of one node at a time multiplied by a number
    (`probing`), or with each value of the attribute. Accuracy is that on non-members.
    """

    name = "classifier"
    release = MODEL_KIND
    sends = (
        *(MODEL_KIND, GLOBAL_KIND, UPDATE_KIND, *TABLE_KINDS),
        *(PROBED_KIND, SUBMITTED_KIND, EXPLANATIONS_KIND, HIDDEN_ROWS_KIND),
    )
    release_phrase = "what is published of the trained model"
    games = (*NODE_GAMES, EdgePresence.name, Attribute.name)
    Settings = ClassifierSettings
    settings: ClassifierSettings

    @property
    def offers(self) -> Offers:
        """What its settings say; how its models are trained is known."""
        s = self.settings
        return Offers(s.clients if s.clients > 1 else 0, s.split, s.features, s.recipe, s.game, s.answer_with)

    def why_not(self, defense: Defense) -> str | None:
        if defense.needs_shared_model:
            return "it needs a model that clients trained together before"
        if type(defense).on_training is not Defense.on_training:
            return "it adds a term to the loss, and this target's training has no place for one"
        return super().why_not(defense)

    def sent(self) -> set[str]:
        """Kinds of messages that are sent with these settings."""
        s = self.settings
        tables = {"posteriors": posteriors_kind, "labels": labels_kind}
        answers = {make(q) for what, make in tables.items() if what in s.publish for q in QUERY_NAMES.values()}
        asked = SUBMITTED_KIND if s.game == Attribute.name else PROBED_KIND
        answers |= {asked, posteriors_kind("full")} if "service" in s.publish else set()
        answers |= {EXPLANATIONS_KIND} if "explanations" in s.publish else set()
        answers |= {HIDDEN_ROWS_KIND} if "embeddings" in s.publish else set()
        model = {MODEL_KIND} if "model" in s.publish else set()
        return answers | model | ({GLOBAL_KIND, UPDATE_KIND} if s.clients > 1 else set())

    @classmethod
    def preset(cls, preset: str, data: Data) -> dict[str, Any]:
        if preset == "quick":
            return {}
        if preset == "paper":  # the protocol of Lassila et al. 2025
            name = name_of(data)
            return {"game": "node-presence", "in_question": 1.0, "recipe": TUNED.get(name, {})}
        raise unknown_name("preset", preset, ("quick", "paper"))

    def run(
        self,
        data: Data,
        defense: Defense,
        seed: np.random.SeedSequence,
        retain: Retention,
        progress: Progress = no_progress,
    ) -> Run:
        mod = defense.on_message(branch(seed, "messages"))
        s, channel = self.settings, Channel(retain=retain, mods=() if mod is None else (mod,))
        secrets = self._dealt_out(self._secrets(data, seed), branch(seed, "clients"))
        members = torch.zeros(data.num_nodes, dtype=torch.bool)
        members[torch.from_numpy(secrets.subjects[secrets.truth])] = True
        classes = int(data.y.max()) + 1
        task = TrainingTask(data.cpu(), members[None], s.recipe, classes, s.game == "node-presence")
        defended = _defended(task, defense, branch(seed, "defense"), channel)
        weights = self._trained(defended, secrets, channel, branch(seed, "training"), progress)
        asked = defended if s.answer_with == "defended" else task
        answers = self._publish(asked, weights, channel)
        played: Game = secrets
        if s.game == EdgePresence.name:
            played = links = self._links(data, branch(seed, "links"))
            if "service" in s.publish:
                self._answer_queries(asked, weights, channel, links, branch(seed, "probing"), progress)
        if s.attribute is not None:
            played = hidden = hidden_attribute(data, s.attribute, s.known, branch(seed, "attribute"))
            if "service" in s.publish:
                self._answer_rows(asked, weights, channel, hidden)
        test = torch.from_numpy(secrets.subjects[~secrets.truth])
        told = answers["apart" if task.induced else "full"].argmax(1)
        accuracy = float((told[test] == data.y.cpu()[test]).float().mean())
        utility = Utility.of_test(s.rounds if s.clients > 1 else 1, accuracy)
        fitted = float((told[members] == data.y.cpu()[members]).float().mean())
        note = f"accuracy {100 * fitted:.1f} % on members, {100 * accuracy:.1f} % on non-members"
        return Run(channel.transcript, {s.game: played}, (utility,), 0, (note,), tested=len(test), recipe=s.recipe)

    @property
    def _trained_as(self) -> str:
        """The game of nodes that says what is trained on."""
        return self.settings.game if self.settings.game in NODE_GAMES else LabelMembership.name

    def _secrets(self, data: Data, seed: np.random.SeedSequence) -> NodeGame:
        s, rng = self.settings, np.random.default_rng(branch(seed, "members"))
        if s.split == "dataset":
            return by_masks(self._trained_as, data)
        drawn = rng.permutation(data.num_nodes)[: round(s.in_question * data.num_nodes)]
        inside = drawn[: round(s.members * len(drawn))]
        if not 0 < len(inside) < len(drawn):
            raise InputError(
                f"{len(inside)} members among {len(drawn)} nodes: in_question and members must leave some of each"
            )
        subjects = np.sort(drawn)
        return NODE_GAMES[self._trained_as](subjects=subjects, truth=np.isin(subjects, inside))

    def _links(self, data: Data, seed: np.random.SeedSequence) -> EdgePresence:
        """Which nodes are linked, of all pairs: the graph is one party's."""
        everything = clients_of(_members_alone(data, data.y >= 0), Partition.undivided(data.num_nodes))
        return edge_presence(everything, data.num_nodes, seed, self.settings.non_edges)

    def _dealt_out(self, secrets: NodeGame, seed: np.random.SeedSequence) -> NodeGame:
        """Members dealt out to the clients at random, equally many each; nobody holds the others (-1)."""
        s, count = self.settings, int(secrets.truth.sum())
        if s.clients == 1:
            return secrets
        if count < s.clients:
            raise InputError(f"{count} members cannot be dealt out to {s.clients} clients: use fewer clients")
        owners = np.full(len(secrets.subjects), -1)
        owners[secrets.truth] = np.random.default_rng(seed).permutation(np.arange(count) % s.clients)
        return replace(secrets, owners=owners)

    def _trained(
        self,
        task: TrainingTask,
        secrets: NodeGame,
        channel: Channel,
        seed: np.random.SeedSequence,
        progress: Progress,
    ) -> dict[str, Tensor]:
        s = self.settings
        if secrets.owners is not None:
            return self._averaged(task, secrets, channel, seed, progress)
        trained = train_models(task, [], seed, device=s.device, keep_weights=True)
        progress("training", 1, 1)
        return {name: weight[0] for name, weight in trained.weights.items()}

    def _averaged(
        self,
        task: TrainingTask,
        secrets: NodeGame,
        channel: Channel,
        seed: np.random.SeedSequence,
        progress: Progress,
    ) -> dict[str, Tensor]:
        """Federated averaging (McMahan et al. 2017): local Adam from the common weights, then the weighted mean."""
        s, owner = self.settings, np.full(task.data.num_nodes, -1)
        owner[secrets.subjects] = -1 if secrets.owners is None else secrets.owners
        local = torch.from_numpy(owner == np.arange(s.clients)[:, None]) & task.members
        if not bool(local.any(1).all()):
            raise InputError(f"a client has no label left to train on: use fewer clients than {s.clients}")
        recipe = s.recipe.model_copy(update={"epochs": max(1, s.recipe.epochs // s.rounds)})
        ours = TrainingTask(task.data, local, recipe, task.classes, task.induced)
        share = local.sum(1) / local.sum()
        common = initial_weights(recipe, task.data.num_features, task.classes, branch(seed, "weights"))
        for round_ in range(s.rounds):
            sent = channel.send(GLOBAL_KIND, "server", "clients", round_, common)
            first = [{name: tensor.cpu() for name, tensor in sent.items()}] * s.clients
            found = train_models(ours, [], branch(seed, round_), device=s.device, first=first, keep_weights=True)
            own = [{name: weight[k] for name, weight in found.weights.items()} for k in range(s.clients)]
            got = [channel.send(UPDATE_KIND, f"client:{k}", "server", round_, w) for k, w in enumerate(own)]
            common = {n: sum(p * g[n] for p, g in zip(share, got, strict=True)) for n in common}  # type: ignore[misc]
            progress("training", round_ + 1, s.rounds)
        channel.send(GLOBAL_KIND, "server", "clients", s.rounds, common)
        return common

    def _publish(self, task: TrainingTask, weights: dict[str, Tensor], channel: Channel) -> dict[str, Tensor]:
        """Sends what the settings say; returns what is answered about all nodes for each way to ask.

        These are posteriors as a defense of answers left them, and logits where none are told.
        """
        s, everybody = self.settings, torch.arange(task.data.num_nodes)
        round_ = s.rounds if s.clients > 1 else 1
        edges = task.data.edge_index
        asked = {
            "full": Query(everybody, edges),
            "0-hop": Query(everybody, None),
            "apart": Query(everybody, edges, apart=True),
        }
        stacked = {name: weight[None] for name, weight in weights.items()}
        found = ask_models(task, list(asked.values()), stacked, device=s.device)
        answers = {name: logits[0] for name, logits in zip(asked, found, strict=True)}
        if "model" in s.publish:
            channel.send(MODEL_KIND, "server", "public", round_, weights)
        if "explanations" in s.publish:
            told = {"nodes": everybody, "explanations": explanations(task, weights)}
            channel.send(EXPLANATIONS_KIND, "server", "public", round_, told)
        if "embeddings" in s.publish:
            rows = {"nodes": everybody, "embeddings": hidden_rows(task, weights)}
            channel.send(HIDDEN_ROWS_KIND, "server", "public", round_, rows)
        for name, logits in answers.items():
            if "posteriors" in s.publish or ("service" in s.publish and name == "full"):
                table = {"nodes": everybody, "posteriors": logits.softmax(1)}
                got = channel.send(posteriors_kind(name), "server", "public", round_, table)
                answers[name] = got["posteriors"]
            if "labels" in s.publish:
                labels = {"nodes": everybody, "labels": logits.argmax(1)}
                channel.send(labels_kind(name), "server", "public", round_, labels)
        return answers

    def _answer_queries(
        self,
        task: TrainingTask,
        weights: dict[str, Tensor],
        channel: Channel,
        links: EdgePresence,
        seed: np.random.SeedSequence,
        progress: Progress,
    ) -> None:
        """Answers for submitted features, which are asked about the pairs in question."""
        s = self.settings
        answer, round_ = scaled_answers(task, weights, s.device), s.rounds if s.clients > 1 else 1
        pairs = ends(links.subjects, links.nodes)
        probe(channel, answer, pairs, links.nodes, s.probing, seed, round_, progress)

    def _answer_rows(
        self, task: TrainingTask, weights: dict[str, Tensor], channel: Channel, hidden: Attribute
    ) -> None:
        """Answers to each person's own row without the value, and with it, as an adversary fills it in."""
        round_ = self.settings.rounds if self.settings.clients > 1 else 1
        everybody = torch.arange(task.data.num_nodes)
        columns = torch.tensor(hidden.hidden.columns, dtype=torch.long)
        for value, row in enumerate(hidden.submitted(task.data.x)):
            told = {
                "nodes": everybody,
                "value": torch.full_like(everybody, value),
                "posteriors": answers_to_own_rows(task, weights, columns, row),
            }
            channel.send(SUBMITTED_KIND, "server", "public", round_, told)


def _members_alone(data: Data, members: Tensor) -> Data:
    """The same graph, not copied, in which members are trained on, and nobody is asked about."""
    data = copy(data)
    data.train_mask = members
    for mask in ("val_mask", "test_mask"):
        data[mask] = torch.zeros_like(members)
    return data


def _one_of(kept: Tensor, other: Tensor) -> Tensor:
    """The first of two tensors where both hold the same, else the other one."""
    return kept if torch.equal(kept, other) else other


def _defended(task: TrainingTask, defense: Defense, seed: np.random.SeedSequence, channel: Channel) -> TrainingTask:
    """What is trained on after the defense had its hand on the data; the members are one party's to it."""
    from torch_geometric.data import Data

    data = _members_alone(task.data, task.members[0])
    (party,) = clients_of(data, Partition.undivided(data.num_nodes))
    party = defense.on_data(party, None, seed, channel.holder(party.name))
    own = task.data  # what the defense left alone is not held twice
    x, edges = _one_of(own.x, party.x), _one_of(own.edge_index, party.edges)
    trained_on = Data(x=x, edge_index=edges, y=party.y_train)
    return TrainingTask(trained_on, party.train[None], task.recipe, task.classes, task.induced)
