"""A trained classifier of whole graphs, published or asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from ...errors import InputError, unknown_name
from ...graphs.collection import GRAPH_OF, by_graph, graphs_in
from ...mechanisms.guarantee import Guarantee
from ...randomness import branch
from ...settings import Settings
from ..channel import Channel, Retention
from ..defense import Defense
from ..device import Device
from ..games.graph_membership import GraphMembership, graph_membership
from ..messages import MODEL_KIND, QUERY_NAMES, labels_kind, posteriors_kind
from ..models.graph_recipe import GraphRecipe
from ..models.model_ensemble import ask_models, train_models
from ..models.training_task import Query, TrainingTask
from ..target import Offers, Progress, Run, Target, Utility, no_progress

if TYPE_CHECKING:
    from torch_geometric.data import Data

WAYS = (QUERY_NAMES["true"], QUERY_NAMES["none"])
"""How graphs are asked about: with their edges, and with none."""
TABLES = tuple(make(way) for make in (posteriors_kind, labels_kind) for way in WAYS)


class GraphClassifierSettings(Settings):
    """Settings of `GraphClassifier`."""

    recipe: GraphRecipe = GraphRecipe()
    features: Literal["given", "scaled"] = Field(
        "scaled", description="as they are, or columns beyond 0 and 1 with mean 0 and deviation 1"
    )
    split: Literal["random", "dataset"] = Field(
        "random", description="members drawn at random, or the collection's train graphs against its test graphs"
    )
    in_question: float = Field(0.8, gt=0, le=1, description="share of graphs in question where drawn at random")
    members: float = Field(0.5, gt=0, lt=1, description="share of members among them")
    publish: tuple[Literal["model", "posteriors", "labels"], ...] = Field(
        ("model", "posteriors", "labels"), min_length=1, description="what the public gets"
    )
    device: Device = "cpu"


@dataclass(frozen=True)
class TrainedOnGraphs:
    """What a training gives.

    Attributes:
        weights: of one model, as its recipe names them, stacked [1, ...].
        promise: the differential privacy of these weights, or None.
        notes: what a reader of the result must know.
    """

    weights: dict[str, Tensor]
    promise: Guarantee | None = None
    notes: tuple[str, ...] = ()


class GraphClassifier(Target):
    """A classifier of whole graphs that is trained on some graphs and published, or asked about all of them.

    One record is one graph: a molecule, a scan of a patient. Answers are published as tables with a row for each
    graph, asked with all its edges and with none. Accuracy is that on non-members.
    """

    name = "graph-classifier"
    release = MODEL_KIND
    release_phrase = "what is published of the trained model"
    sends = (MODEL_KIND, *TABLES)
    games = (GraphMembership.name,)
    collections = True
    Settings = GraphClassifierSettings
    settings: GraphClassifierSettings

    @property
    def offers(self) -> Offers:
        """What its settings say; how its models are trained is known."""
        s = self.settings
        return Offers(0, s.split, s.features, s.recipe)

    def why_not(self, defense: Defense) -> str | None:
        return no_place_among_graphs(defense) or super().why_not(defense)

    def sent(self) -> set[str]:
        s = self.settings
        tables = {"posteriors": posteriors_kind, "labels": labels_kind}
        told = {make(way) for what, make in tables.items() if what in s.publish for way in WAYS}
        return told | ({MODEL_KIND} if "model" in s.publish else set())

    @classmethod
    def preset(cls, preset: str, data: Data) -> dict[str, Any]:
        if preset in ("quick", "paper"):
            return {}
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
        secrets = self._secrets(data, branch(seed, "members"))
        members = torch.zeros(graphs_in(data), dtype=torch.bool)
        members[torch.from_numpy(secrets.subjects[secrets.truth])] = True
        task = task_of(data.cpu(), members, s.recipe)
        found = self.trained(task, branch(seed, "training"), progress)
        told = publish(task, found.weights, channel, s.publish, s.device).argmax(1)
        right = (told == task.data.y).float()
        others = torch.from_numpy(secrets.subjects[~secrets.truth])
        fitted, accuracy = float(right[members].mean()), float(right[others].mean())
        note = f"accuracy {100 * fitted:.1f} % on members, {100 * accuracy:.1f} % on non-members"
        utility = Utility.of_test(1, accuracy)
        return Run(
            channel.transcript,
            {secrets.name: secrets},
            (utility,),
            0,
            (note, *found.notes),
            tested=len(others),
            recipe=s.recipe,
            promise=found.promise,
        )

    def trained(self, task: TrainingTask, seed: np.random.SeedSequence, progress: Progress) -> TrainedOnGraphs:
        """Trains one model on the members of a task."""
        weights = train_models(task, [], seed, device=self.settings.device, keep_weights=True).weights
        progress("training", 1, 1)
        return TrainedOnGraphs(weights)

    def _secrets(self, data: Data, seed: np.random.SeedSequence) -> GraphMembership:
        s, graphs = self.settings, graphs_in(data)
        if s.split == "dataset":
            return graph_membership(data)
        drawn = np.random.default_rng(seed).permutation(graphs)[: round(s.in_question * graphs)]
        inside = drawn[: round(s.members * len(drawn))]
        if not 0 < len(inside) < len(drawn):
            raise InputError(
                f"{len(inside)} members among {len(drawn)} graphs: in_question and members must leave some of each"
            )
        subjects = np.sort(drawn)
        return GraphMembership(subjects=subjects, truth=np.isin(subjects, inside))


def no_place_among_graphs(defense: Defense) -> str | None:
    """Why a defense has no place where one record is a whole graph: only what acts on messages has one so far."""
    if type(defense) is Defense or defense.hooks() == ("on_message",):
        return None
    return "it acts on a graph of persons or on its training, and here one record is a whole graph"


def task_of(data: Data, members: Tensor, recipe: GraphRecipe) -> TrainingTask:
    """What one model is trained for: a checked collection, and which graphs are members, [G] bool."""
    from torch_geometric.data import Data

    parts = Data(x=data.x, edge_index=data.edge_index, y=by_graph(data, "y"), **{GRAPH_OF: data.graph_of})
    return TrainingTask(parts, members[None], recipe, int(data.y.max()) + 1)


def publish(
    task: TrainingTask,
    weights: dict[str, Tensor],
    channel: Channel,
    what: tuple[str, ...],
    device: str = "cpu",
) -> Tensor:
    """Sends a model, given by its stacked weights [1, ...], and its answers; returns what it says with all edges.

    These are posteriors [G, C] as a defense of answers left them, or logits where none are told.
    """
    everybody = torch.arange(len(task.data.y))
    queries = [Query(everybody, task.data.edge_index), Query(everybody, None)]
    answers = [logits[0] for logits in ask_models(task, queries, weights, device=device)]
    if "model" in what:
        channel.send(MODEL_KIND, "server", "public", 1, {name: weight[0] for name, weight in weights.items()})
    told = answers[0]
    for way, logits in zip(WAYS, answers, strict=True):
        if "posteriors" in what:
            table = {"nodes": everybody, "posteriors": logits.softmax(1)}
            got = channel.send(posteriors_kind(way), "server", "public", 1, table)["posteriors"]
            told = got if way == WAYS[0] else told
        if "labels" in what:
            channel.send(labels_kind(way), "server", "public", 1, {"nodes": everybody, "labels": logits.argmax(1)})
    return told
