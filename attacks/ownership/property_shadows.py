"""What kind of people a client has, by the updates of clients of one's own with and without (Melis et al. 2019)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from ...errors import InputError
from ...randomness import branch, integer
from ...settings import Settings
from ...targets.federated.local_training import LocalTask, Subgraph, dropout
from ...targets.games.group_property import GroupProperty, PropertyKnowledge, of_share
from ...targets.messages import Carrying, kind_of
from ...targets.mixing import PEERS, with_starts
from ...targets.models.training_config import TrainingConfig, initial_weights
from ...targets.partition import partition
from ...targets.party import Client, clients_of
from ...targets.transcript import Message, View
from ..attack import Attack
from .first_layer import COMMON, GRADIENTS, UPDATES, USED, is_heard, is_start, is_update

RIDGE = tuple(10.0**power for power in range(-3, 4))
"""Penalties that are tried, in shares of the mean squared distance of a change from the mean change."""


class PropertyShadowsSettings(Settings):
    """Settings of `PropertyShadows`."""

    shadows: int = Field(100, ge=4, description="clients of its own for each set of weights that was begun with")
    rounds: int = Field(1, ge=1, description="how many of a client's first updates are read")
    local_epochs: int = Field(10, ge=1, description="steps that a client takes in a round; no matter of gradients")
    optimiser: Literal["adam", "sgd"] = Field("adam", description="that clients take their steps with")
    lr: float | None = Field(None, gt=0, description="its rate; the recipe's where it is None")


class PropertyShadows(Attack[PropertyKnowledge]):
    """Trains clients of its own from the weights that the clients began with, half of them with the property.

    A part of the graph that is as large as a client's, with labels that nobody trains on, of which the class makes
    up one of the two shares: that is a client with many labels, or with few. It takes the same local steps from the
    weights of the round. What its weights changed by tells a linear classifier (ridge regression, the penalty by
    leave-one-out) which of the two it is, and that judges what the real clients sent. The score is the classifier's
    value, the mean over the rounds that are read. Clients that the observer does not hear have the mean of the
    others.

    Parts of a model that stay at home are first weights, drawn anew. What they are turns hidden units about, in
    sign too, so that what is compared then is what no turn of them changes: how far the weights of each feature
    moved, and the products of what became of the mean features of the classes (own derivation).

    Melis et al. (IEEE S&P 2019, section 4.4: passive property inference) do so with batches that have the property
    and a random forest. Each of our clients is a whole part, for all of its labels are in one step. Each named
    tensor of a change is scaled to length 1, so that it does not matter how far the steps went.

    The blind score is how common the class is in the whole graph.
    """

    name = "property-shadows"
    games: ClassVar[tuple[str, ...]] = (GroupProperty.name,)
    needs: ClassVar[tuple[Carrying, ...]] = (COMMON,)
    any_of: ClassVar[tuple[Carrying, ...]] = (UPDATES, GRADIENTS, PEERS)
    uses: ClassVar[tuple[Carrying, ...]] = USED
    observer = "server"
    own_data = True
    planted = "planted-property"
    Settings = PropertyShadowsSettings
    settings: PropertyShadowsSettings

    @property
    def models(self) -> int:
        return self.settings.shadows * self.settings.rounds

    def trains_alike(self, view: View, knowledge: PropertyKnowledge) -> bool:
        return knowledge.recipe is not None

    def score(self, view: View, knowledge: PropertyKnowledge) -> Tensor:
        clients, classes = knowledge.clients_and_classes
        numbers = clients.unique().tolist()
        heard = [number for number in numbers if _hears(view, f"client:{number}")] or numbers
        panel = _Panel.of(knowledge, int(classes[0]), self.settings)
        told = {number: self._told(view, f"client:{number}", panel) for number in heard}
        mean = sum(told.values()) / len(told)
        return torch.tensor([told.get(number, mean) for number in clients.tolist()], dtype=torch.float64)

    def blind_score(self, knowledge: PropertyKnowledge) -> Tensor:
        return knowledge.shares[knowledge.clients_and_classes[1]]

    def _told(self, view: View, name: str, panel: _Panel) -> float:
        """What the classifier says of one client, the mean over the rounds that are read."""
        begun, found = dict[str, Message](), list[float]()
        for message in with_starts(view):
            if is_start(message, name) and message.tensors:
                begun[message.kind] = message
            elif _is_sent(message, name) and len(found) < self.settings.rounds:
                found.append(panel.judged(message, _start_of(message, begun)))
        if not found:
            raise InputError(f"the observer '{view.observer}' reads no update of {name}")
        return float(np.mean(found))


def _is_sent(message: Message, name: str) -> bool:
    """Whether a message holds what one client's training made of its weights, or a gradient."""
    return (
        message.sender == name and bool(message.tensors) and (is_update(message) or GRADIENTS.covers(message.kind))
    )


def _hears(view: View, name: str) -> bool:
    return is_heard(view, name) or any(message.sender == name for message in view.carrying(GRADIENTS))


def _start_of(message: Message, begun: dict[str, Message]) -> Message:
    """The weights that an update or a gradient began with."""
    if GRADIENTS.covers(message.kind):
        start = next((m for m in begun.values() if m.round == message.round), None)
    else:
        start = begun.get(str(kind_of(message.kind).since))
    if start is None:
        raise InputError(
            f"the weights that {message.sender} began round {message.round} with are missing: keep them, for an "
            "update says nothing without"
        )
    return start


@dataclass(frozen=True, eq=False)
class _Panel:
    """Clients of one's own, and what their updates taught about each set of weights that clients began with.

    Attributes:
        parts: of the graph, with labels by which half of them have the property.
        many: which of them, [S].
        means: features of the nodes whose labels it knows, by class, float64 [c, d].
        recipe: of the model.
        classes: C.
        settings: of the attack.
        seed: of weights that are not known, and of dropout.
        judges: what was learned, by what was begun with and what was sent.
    """

    parts: list[Client]
    many: np.ndarray
    means: Tensor
    recipe: TrainingConfig
    classes: int
    settings: PropertyShadowsSettings
    seed: np.random.SeedSequence
    judges: dict[tuple[object, ...], Any]

    @classmethod
    def of(cls, knowledge: PropertyKnowledge, asked: int, settings: PropertyShadowsSettings) -> _Panel:
        """Draws the parts; the property by turns."""
        seed = branch(knowledge.seed, "property-shadows")
        parts = shadow_clients(knowledge, asked, settings.shadows, branch(seed, "parts"))
        many = np.arange(len(parts)) % 2 == 1
        recipe, known = knowledge.recipe or TrainingConfig(), knowledge.labels[knowledge.labels >= 0].unique()
        means = torch.stack([knowledge.x[knowledge.labels == label].double().mean(0) for label in known])
        return cls(parts, many, means, recipe, knowledge.classes, settings, seed, {})

    def judged(self, message: Message, start: Message) -> float:
        """What the classifier for this start says of what was sent."""
        gradient, names = GRADIENTS.covers(message.kind), tuple(sorted(set(message.tensors) & set(start.tensors)))
        if not names:
            raise InputError(f"the '{message.kind}' of {message.sender} holds no weights that were sent out")
        key = (id(start), gradient, names)
        if key not in self.judges:
            self.judges[key] = self._learned(dict(start.tensors), names, gradient)
        sent = {name: message.tensors[name].double() for name in names}
        if any(tensor.shape != start.tensors[name].shape for name, tensor in sent.items()):
            raise InputError(f"the '{message.kind}' of {message.sender} is not shaped as the weights sent out")
        change = sent if gradient else {name: sent[name] - start.tensors[name].double() for name in names}
        row = self._read(change, start.tensors)
        if not np.isfinite(row).all():
            raise InputError(f"the '{message.kind}' of {message.sender} in round {message.round} is not finite")
        return float(self.judges[key].predict(row[None])[0])

    def _learned(self, start: dict[str, Tensor], names: tuple[str, ...], gradient: bool) -> Any:
        """A classifier of changes, from those of the clients of one's own."""
        from sklearn.linear_model import RidgeCV

        rows = np.stack([self._row(k, part, start, names, gradient) for k, part in enumerate(self.parts)])
        spread = max(float(np.square(rows - rows.mean(0)).sum(1).mean()), np.finfo(float).tiny)
        judge = RidgeCV(alphas=[spread * share for share in RIDGE], gcv_mode="eigen")
        return judge.fit(rows, np.where(self.many, 1.0, -1.0))

    def _row(
        self, number: int, part: Client, start: dict[str, Tensor], names: tuple[str, ...], gradient: bool
    ) -> np.ndarray:
        """What one client of its own would send, as the classifier reads it."""
        own = initial_weights(self.recipe, part.x.shape[1], self.classes, branch(self.seed, "head", number))
        begun = {name: start.get(name, weight.to(part.x.device)) for name, weight in own.items()}
        task = LocalTask.of(part, Subgraph.of(self.recipe, part.x, part.edges))
        if gradient:
            found = task.gradient(begun)
            return self._read({name: found[name].double() for name in names}, start)
        s, coins = self.settings, torch.Generator(part.x.device)
        after = task.trained(
            begun,
            steps=s.local_epochs,
            optimiser=s.optimiser,
            lr=s.lr or self.recipe.lr,
            weight_decay=self.recipe.weight_decay,
            drop=dropout(self.recipe.dropout, coins.manual_seed(integer(branch(self.seed, "dropout", number)))),
        )
        return self._read({name: after[name].double() - begun[name].double() for name in names}, start)

    def _read(self, change: Mapping[str, Tensor], start: Mapping[str, Tensor]) -> np.ndarray:
        """What a change is compared by: all of it, or what a part that stays at home does not turn about."""
        if set(self.recipe.shapes(1, 1)) <= set(start):
            return side_by_side(change)
        kept = dict[str, Tensor]()
        for name in (name for name, tensor in change.items() if tensor.dim() == 2):
            kept[f"lengths of {name}"] = change[name].norm(dim=1)
            if len(change[name]) == self.means.shape[1]:
                became = self.means @ change[name]
                kept[f"products by {name}"] = became @ became.t()
        return side_by_side(kept)


def side_by_side(change: Mapping[str, Tensor]) -> np.ndarray:
    """Tensors of a change in one row, each of length 1 where it is not zero."""
    least = torch.finfo(torch.float64).tiny
    parts = [tensor.flatten() / tensor.norm().clamp_min(least) for tensor in change.values()]
    row: np.ndarray = torch.cat(parts).detach().cpu().numpy()
    return row


def shadow_clients(
    knowledge: PropertyKnowledge, asked: int, count: int, seed: np.random.SeedSequence
) -> list[Client]:
    """Parts of the graph as clients with labels of its own; every other one has many of the class in question.

    The graph is divided again and again. A part with too few labels of the class, or of others, is none.

    Raises:
        InputError: hardly any part has enough.
    """
    rng, found = np.random.default_rng(branch(seed, "lots")), list[Client]()
    for round_ in range(count):
        for part in _parts(knowledge, branch(seed, "parts", round_)):
            labels = part.y.numpy()
            inside, others = (np.flatnonzero(mask) for mask in (labels == asked, (labels >= 0) & (labels != asked)))
            taken = of_share(inside, others, knowledge.asked_shares, len(found) % 2 == 1, rng)
            if taken is not None:
                train = torch.zeros(len(labels), dtype=torch.bool)
                train[taken] = True
                found.append(replace(part, train=train).to(str(knowledge.x.device)))
            if len(found) == count:
                return found
    raise InputError(
        f"of {count} divisions of the graph into {knowledge.clients} parts, {len(found)} parts have enough labels "
        f"that nobody trains on for shares of {knowledge.asked_shares[0]:g} and {knowledge.asked_shares[1]:g}: use "
        "fewer clients, or a split that leaves more nodes to test"
    )


def _parts(knowledge: PropertyKnowledge, seed: np.random.SeedSequence) -> list[Client]:
    """The graph in as many parts as there are clients, with what labels are known, on the CPU."""
    from torch_geometric.data import Data

    labels = knowledge.labels.cpu()
    nobody = torch.zeros(len(labels), dtype=torch.bool)
    whole = Data(x=knowledge.x.cpu(), edge_index=knowledge.edges.cpu(), y=labels)
    whole.train_mask = whole.val_mask = whole.test_mask = nobody
    return clients_of(whole, partition(whole, "metis", knowledge.clients, seed), labelled=False)
