"""Clients of one's own with and without a property, and what their updates teach about those of others."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...errors import InputError
from ...randomness import branch, integer
from ...targets.federated.local_training import LocalTask, OptimiserName, Subgraph, dropout
from ...targets.games.group_property import PlayingKnowledge
from ...targets.models.training_config import TrainingConfig, initial_weights
from ...targets.partition import partition
from ...targets.party import Client, clients_of
from ...targets.transcript import Message
from .first_layer import GRADIENTS

RIDGE = tuple(10.0**power for power in range(-3, 4))
"""Penalties that are tried, in shares of the mean squared distance of a change from the mean change."""


@dataclass(frozen=True)
class LocalSteps:
    """What clients do in a round: how many steps, of which optimiser, at which rate (None: the recipe's)."""

    count: int
    optimiser: OptimiserName
    lr: float | None


@dataclass(frozen=True, eq=False)
class Panel:
    """Clients of one's own, and what their updates taught about each set of weights that clients began with.

    Attributes:
        parts: of the graph, as clients of whom half have the property.
        many: which of them, [S].
        means: features of the nodes whose labels it knows, by class, float64 [c, d].
        recipe: of the model.
        classes: C.
        steps: what a client does in a round.
        seed: of weights that are not known, and of dropout.
        judges: what was learned, by what was begun with and what was sent.
    """

    parts: list[Client]
    many: np.ndarray
    means: Tensor
    recipe: TrainingConfig
    classes: int
    steps: LocalSteps
    seed: np.random.SeedSequence
    judges: dict[tuple[object, ...], Any]

    @classmethod
    def of(cls, knowledge: PlayingKnowledge, count: int, steps: LocalSteps) -> Panel:
        """Draws so many parts; the property by turns."""
        seed = branch(knowledge.seed, "property-shadows")
        parts = shadow_clients(knowledge, count, branch(seed, "parts"))
        many = np.arange(len(parts)) % 2 == 1
        recipe, known = knowledge.recipe or TrainingConfig(), knowledge.labels[knowledge.labels >= 0].unique()
        means = torch.stack([knowledge.x[knowledge.labels == label].double().mean(0) for label in known])
        return cls(parts, many, means, recipe, knowledge.classes, steps, seed, {})

    def judged(self, message: Message, start: Message) -> float:
        """What the classifier for this start says of what was sent."""
        gradient, names = GRADIENTS.covers(message.kind), tuple(sorted(set(message.tensors) & set(start.tensors)))
        if not names:
            raise InputError(f"the '{message.kind}' of {message.sender} holds no weights that were sent out")
        other = next((name for name in names if name not in self.recipe.shapes(1, 1)), None)
        if other is not None:
            raise InputError(
                f"the '{message.kind}' of {message.sender} holds '{other}', which is no weight of one "
                f"{self.recipe.architecture}: clients of the attacker's own train one model, as it is"
            )
        key = (_digest(start), gradient, names)
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
        odd = next((name for name in own if begun[name].shape != own[name].shape), None)
        if odd is not None:
            raise InputError(
                f"the weights '{odd}' are {tuple(begun[odd].shape)}, and of a {self.recipe.architecture} that "
                f"reads {part.x.shape[1]} features they are {tuple(own[odd].shape)}: clients read something else, "
                "which clients of the attacker's own cannot"
            )
        task = LocalTask.of(part, Subgraph.of(self.recipe, part.x, part.edges))
        if gradient:
            found = task.gradient(begun)
            return self._read({name: found[name].double() for name in names}, start)
        coins, s = torch.Generator(part.x.device), self.steps
        after = task.trained(
            begun,
            steps=s.count,
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


def _digest(message: Message) -> str:
    """What tells the weights of one message from others: equal weights are the same start, whoever sent them."""
    found = hashlib.blake2b(digest_size=16)
    for name in sorted(message.tensors):
        values = np.ascontiguousarray(message.tensors[name].detach().cpu().numpy())
        found.update(f"{name} {values.dtype} {values.shape} ".encode())
        found.update(values.tobytes())
    return found.hexdigest()


def side_by_side(change: Mapping[str, Tensor]) -> np.ndarray:
    """Tensors of a change in one row, each of length 1 where it is not zero."""
    least = torch.finfo(torch.float64).tiny
    parts = [tensor.flatten() / tensor.norm().clamp_min(least) for tensor in change.values()]
    row: np.ndarray = torch.cat(parts).detach().cpu().numpy()
    return row


def shadow_clients(knowledge: PlayingKnowledge, count: int, seed: np.random.SeedSequence) -> list[Client]:
    """Parts of the graph as clients with labels of its own; every other one has the property in question.

    The graph is divided again and again. A part that has too little for both is none.

    Raises:
        InputError: hardly any part has enough.
    """
    rng, found = np.random.default_rng(branch(seed, "lots")), list[Client]()
    for round_ in range(count):
        for part in _parts(knowledge, branch(seed, "parts", round_)):
            given = knowledge.given(part, len(found) % 2 == 1, rng)
            if given is not None:
                found.append(given.to(str(knowledge.x.device)))
            if len(found) == count:
                return found
    raise InputError(
        f"of {count} divisions of the graph into {knowledge.clients} parts, {len(found)} parts have enough labels "
        f"that nobody trains on, and links, for shares of {knowledge.asked_shares[0]:g} and "
        f"{knowledge.asked_shares[1]:g}: use fewer clients, or a split that leaves more nodes to test"
    )


def _parts(knowledge: PlayingKnowledge, seed: np.random.SeedSequence) -> list[Client]:
    """The graph in as many parts as there are clients, with what labels are known, on the CPU."""
    from torch_geometric.data import Data

    labels = knowledge.labels.cpu()
    nobody = torch.zeros(len(labels), dtype=torch.bool)
    whole = Data(x=knowledge.x.cpu(), edge_index=knowledge.edges.cpu(), y=labels)
    whole.train_mask = whole.val_mask = whole.test_mask = nobody
    return clients_of(whole, partition(whole, "metis", knowledge.clients, seed), labelled=False)
