"""What an adversary puts its questions to: a published model, uploads, a released graph, or a table of answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

from ...errors import InputError
from ...targets.condensation.condensed import CondensedGraph
from ...targets.game import GraphKnowledge
from ...targets.messages import (
    ANSWERS,
    GLOBAL_KIND,
    MODEL_KIND,
    PEER_KIND,
    QUERY_NAMES,
    RELEASED_GRAPH,
    UPDATE_KIND,
    Carries,
    Carrying,
    labels_kind,
    posteriors_kind,
)
from ...targets.models.model_ensemble import ask_models
from ...targets.models.propagation import gcn_operator, whole_graph
from ...targets.models.training_config import TrainingConfig, weight_shapes
from ...targets.models.training_task import Query, TrainingTask
from ...targets.transcript import Message, View, observer_members
from .release_models import ModelSettings, asked, trained_on_release
from .signals import hardened, resolution

if TYPE_CHECKING:
    from torch import Tensor

Artefact = Literal["auto", "model", "updates", "posteriors", "labels", "release", "releases"]
ARTEFACTS = (Carrying.any_of(Carries.CLASSIFIER), ANSWERS, RELEASED_GRAPH)


class Victim(ABC):
    """Something that answers.

    Attributes:
        sources: client of each of the R models that answer; all the same where there is one owner.
        fixed: whether it answers about fixed nodes with a fixed query alone.
        step: in what steps of probability its answers are told: 0 for as exact as numbers are, 1 for labels alone.
    """

    sources: tuple[str, ...]
    fixed: bool = False
    step: float = 0.0

    @abstractmethod
    def ask(self, x: Tensor, edges: Tensor, nodes: Tensor) -> Tensor:
        """Logits, up to a constant per row, of nodes [s] among ``x`` [n, d] with ``edges`` [2, e]: [R, s, C]."""

    def covers(self, nodes: Tensor) -> bool:
        """Whether it can answer about all of these nodes."""
        return True


class _Weights(Victim):
    """One model or several, by their weights."""

    def __init__(self, messages: Iterable[Message], recipe: TrainingConfig, knowledge: GraphKnowledge) -> None:
        import torch

        found = tuple(messages)
        self.recipe, self.classes, self.posed = recipe, knowledge.classes, knowledge.posed
        self.sources = tuple(m.sender for m in found)
        shapes = weight_shapes(recipe, knowledge.x.shape[1], knowledge.classes)
        for message in found:
            check_weights(message, shapes)
        self.weights = {name: torch.stack([m.tensors[name].float() for m in found]) for name in shapes}

    def ask(self, x: Tensor, edges: Tensor, nodes: Tensor) -> Tensor:
        import torch

        data = self.posed(x.cpu(), edges.cpu())
        everybody = torch.ones((len(self.sources), len(data.y)), dtype=torch.bool)
        task = TrainingTask(data, everybody, self.recipe, self.classes)
        weights = {name: w.cpu() for name, w in self.weights.items()}
        (logits,) = ask_models(task, [Query(nodes.cpu(), edges.cpu())], weights, device=str(x.device))
        return logits.to(x.device)


class _Release(Victim):
    """Condensed graphs: the adversary trains models on each and asks these."""

    def __init__(
        self, messages: tuple[Message, ...], knowledge: GraphKnowledge, settings: ModelSettings, models: int
    ) -> None:
        size = {"features": knowledge.x.shape[1], "classes": knowledge.classes}
        releases = [CondensedGraph.from_tensors(m.tensors, **size) for m in messages]
        self.models = [trained_on_release(r, knowledge.classes, settings) for r in releases for _ in range(models)]
        self.sources = ("public",) * len(self.models)

    def ask(self, x: Tensor, edges: Tensor, nodes: Tensor) -> Tensor:
        import torch

        near = whole_graph(x, gcn_operator(edges, len(x)))
        return torch.stack([asked(model, near)[nodes].clamp_min(1e-30).log() for model in self.models])


class _Table(Victim):
    """Answers that are known already, for some nodes."""

    fixed = True

    def __init__(self, kind: str, nodes: Tensor, logits: Tensor, total: int, step: float) -> None:
        import torch

        self.kind, self.sources, self.step = kind, ("public",), step
        self.row = torch.full((total,), -1, dtype=torch.long, device=nodes.device)
        self.row[nodes] = torch.arange(len(nodes), device=nodes.device)
        self.logits = logits

    def covers(self, nodes: Tensor) -> bool:
        return bool((self.row[nodes] >= 0).all())

    def ask(self, x: Tensor, edges: Tensor, nodes: Tensor) -> Tensor:
        if not self.covers(nodes):
            lacking = int((self.row[nodes] < 0).sum())
            raise InputError(f"the table '{self.kind}' lacks {lacking} of the {len(nodes)} nodes in question")
        return self.logits[self.row[nodes]][None]


def victim(
    view: View,
    knowledge: GraphKnowledge,
    artefact: Artefact,
    recipe: TrainingConfig,
    settings: ModelSettings,
    models: int,
) -> Victim:
    """What answers in a view: the artefact that is named, or the one that says most.

    Args:
        view: what the observer sees.
        knowledge: what it knows; ``neighbours`` chooses among tables.
        artefact: which to take; ``auto`` takes weights (uploads of others and the last model together) before
            posteriors, labels and the last released graph. ``releases`` takes all of these so far: what is learned
            from many is averaged.
        recipe: of published weights.
        settings: of models trained on a release.
        models: how many of these; their answers are judged one by one and averaged.

    Raises:
        InputError: the view does not hold it, or holds something misshapen.
    """
    query = QUERY_NAMES.get(knowledge.neighbours)
    asks_itself = knowledge.neighbours != "apart"  # the owner alone knows which edges to leave out
    weights = weights_in(view, artefact) if asks_itself else ()
    if weights:
        return _Weights(weights, recipe, knowledge)
    if artefact in ("auto", "posteriors") and query and view.of_kind(posteriors_kind(query)):
        return _table(view.last(posteriors_kind(query)), knowledge)
    if artefact in ("auto", "labels") and query and view.of_kind(labels_kind(query)):
        return _table(view.last(labels_kind(query)), knowledge)
    if artefact in ("auto", "release", "releases") and view.carrying(RELEASED_GRAPH) and asks_itself:
        seen = view.carrying(RELEASED_GRAPH)
        return _Release(seen if artefact == "releases" else seen[-1:], knowledge, settings, models)
    raise InputError(
        f"the observer '{view.observer}' sees nothing that answers ({artefact}) to queries with neighbours "
        f"'{knowledge.neighbours}': choose another observer, artefact or --neighbours"
    )


def asks_release(view: View, knowledge: GraphKnowledge, artefact: Artefact) -> bool:
    """Whether what answers are models that the adversary trains on a release, as it likes."""
    if artefact != "auto":
        return artefact in ("release", "releases")
    query = QUERY_NAMES.get(knowledge.neighbours)
    tables = query and (view.of_kind(posteriors_kind(query)) or view.of_kind(labels_kind(query)))
    return not weights_in(view, artefact) and not tables and bool(view.carrying(RELEASED_GRAPH))


def weights_in(view: View, artefact: Artefact) -> tuple[Message, ...]:
    """Weights that the observer got from others: uploads, and the last model that was published or sent around.

    Its own uploads are left out: they were trained on nodes that it is not asked about.
    """
    own = observer_members(view.observer)
    uploads = tuple(m for m in (*view.of_kind(UPDATE_KIND), *view.of_kind(PEER_KIND)) if m.sender not in own)
    models = (view.of_kind(MODEL_KIND) or view.of_kind(GLOBAL_KIND))[-1:]
    if artefact == "auto":
        return (*uploads, *models)
    return {"updates": uploads, "model": models}.get(artefact, ())


def check_weights(message: Message, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Sees to it that a message holds finite weights of some shapes, by name.

    Raises:
        InputError: it does not.
    """
    import torch

    for name, shape in shapes.items():
        part = message.tensors.get(name)
        if part is None or tuple(part.shape) != shape:
            got = "nothing" if part is None else f"shape {tuple(part.shape)}"
            raise InputError(f"the weights in '{message.kind}' do not fit: expected '{name}' {shape}, got {got}")
        if not bool(torch.isfinite(part).all()):
            raise InputError(f"the weights '{name}' in '{message.kind}' are not finite")


def _table(message: Message, knowledge: GraphKnowledge) -> _Table:
    import torch
    from torch.nn import functional as F

    tensors, total, classes = message.tensors, len(knowledge.labels), knowledge.classes
    nodes = tensors.get("nodes")
    if nodes is None:
        raise InputError(f"the table '{message.kind}' lacks 'nodes': say whom each row is about")
    if nodes.dim() != 1 or nodes.is_floating_point() or len(nodes.unique()) != len(nodes):
        raise InputError(f"the table '{message.kind}' must name each node once, by whole numbers in 'nodes'")
    if bool(((nodes < 0) | (nodes >= total)).any()):
        raise InputError(f"the table '{message.kind}' names nodes outside 0 to {total - 1}")
    if "labels" in tensors:
        labels = tensors["labels"]
        if labels.shape != nodes.shape or labels.is_floating_point():
            raise InputError(f"the table '{message.kind}' must hold whole numbers as labels, [{len(nodes)}]")
        if bool(((labels < 0) | (labels >= classes)).any()):
            raise InputError(f"the table '{message.kind}' holds labels outside 0 to {classes - 1}")
        logits, step = hardened(F.one_hot(labels.long(), classes).float()), 1.0
    elif "posteriors" not in tensors:
        raise InputError(f"the table '{message.kind}' holds neither 'posteriors' nor 'labels'")
    else:
        told = tensors["posteriors"].float()
        if told.dim() != 2 or told.shape != (len(nodes), classes) or not bool(torch.isfinite(told).all()):
            raise InputError(f"the table '{message.kind}' must hold finite posteriors [{len(nodes)}, {classes}]")
        if bool((told < 0).any()) or not torch.allclose(told.sum(1), torch.ones(len(told)).to(told), atol=1e-3):
            raise InputError(f"the table '{message.kind}': posteriors must not be negative and must sum to 1")
        logits, step = told.clamp_min(1e-30).log(), resolution(told)
    device = knowledge.x.device
    return _Table(message.kind, nodes.long().to(device), logits.to(device), total, step)
