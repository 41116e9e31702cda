"""Shadow models of an adversary: who trains what on whom, and what they answer.

Masks come in rounds. A round cuts the pool of nodes at random into q parts and trains a model on each run of r
parts in a circle, r / q being the share of members within a tenth; with one half that is a mask and its complement.
So every node is IN equally often, and what is left when a model and its round are taken out is balanced again: the
number of models that a node is in says nothing (Privacy Meter's design; leaving out the one model alone leaks by
the count).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from ...errors import InputError
from ...randomness import branch
from ...targets.games.membership import NodeKnowledge
from ...targets.models.model_ensemble import MEMORY, ask_each
from ...targets.models.own_training import OwnTraining
from ...targets.models.training_config import TrainingConfig
from ...targets.models.training_task import Query, TrainingTask
from .kept_pools import trained_once

if TYPE_CHECKING:
    from torch import Tensor

MOST_PARTS = 64


@dataclass(frozen=True, eq=False)
class ShadowModels(ABC):
    """K trained shadow models, and a reference: one more, trained on a draw of its own from the pool. It answers
    what a target would that knows nothing of the true members.

    Attributes:
        inside: whose labels each trained on, [K, n] bool.
        round: the round of masks that each belongs to, [K].
        pool: the nodes that masks are drawn from, [p].
        reference_members: whose labels the reference trained on, [n] bool.
    """

    inside: np.ndarray
    round: np.ndarray
    pool: Tensor
    reference_members: np.ndarray

    @abstractmethod
    def ask(self, query: Query) -> Tensor:
        """Logits [K, s, C]."""

    def each(self, query: Query) -> Iterator[Tensor]:
        """Logits [s, C] of one model after the other, where all of them together would be much."""
        return iter(self.ask(query))

    @abstractmethod
    def ask_reference(self, query: Query) -> Tensor:
        """Logits [1, s, C]."""


@dataclass(frozen=True, eq=False)
class RecipeModels(ShadowModels):
    """Shadow models that were trained as a recipe says.

    Attributes:
        task: what they and, as the last, the reference were trained for.
        weights: theirs, stacked [K + 1, ...].
        device: where they answer.
    """

    task: TrainingTask
    weights: dict[str, Tensor]
    device: str

    def ask(self, query: Query) -> Tensor:
        import torch

        return torch.stack(list(self.each(query)))

    def each(self, query: Query) -> Iterator[Tensor]:
        return self._asked(query, slice(None, -1))

    def ask_reference(self, query: Query) -> Tensor:
        import torch

        return torch.stack(list(self._asked(query, slice(-1, None))))

    def _asked(self, query: Query, models: slice) -> Iterator[Tensor]:
        task = replace(self.task, members=self.task.members[models])
        weights = {name: weight[models] for name, weight in self.weights.items()}
        return (told for (told,) in ask_each(task, [query], weights, device=self.device))


@dataclass(frozen=True, eq=False)
class OwnModels(ShadowModels):
    """Shadow models that functions of the user's own trained and ask.

    Attributes:
        training: the functions.
        x: features of all nodes, [n, d].
        models: theirs and, as the last, the reference.
    """

    training: OwnTraining
    x: Tensor
    models: list[Any]

    def ask(self, query: Query) -> Tensor:
        import torch

        pairs = zip(self.models[:-1], self.inside, strict=True)
        told = torch.stack([self.training.ask(model, self.x, query, inside) for model, inside in pairs])
        alike, constant = bool((told == told[:1]).all()), bool((told[0] == told[0, :1]).all())
        if len(told) > 1 and alike and not constant and not query.apart:
            raise InputError(
                "fit gives the same model whatever its mask: it must train on the nodes of the mask alone"
            )
        return told

    def ask_reference(self, query: Query) -> Tensor:
        return self.training.ask(self.models[-1], self.x, query, self.reference_members)[None]


def cut_in_rounds(
    pool: np.ndarray, size: int, count: int, rng: np.random.Generator
) -> tuple[list[np.ndarray], list[int]]:
    """At least ``count`` masks of about ``size`` of the pool's nodes, in whole rounds; and each one's round.

    There are two rounds at least: what is tuned on a model that plays the target needs the models of another.
    """
    taken, parts = _simplest_share(size / len(pool))
    masks: list[np.ndarray] = []
    while len(masks) < max(count, 2 * parts):
        pieces = np.array_split(rng.permutation(pool), parts)
        for first in range(parts):
            masks.append(np.sort(np.concatenate([pieces[(first + k) % parts] for k in range(taken)])))
    return masks, [k // parts for k in range(len(masks))]


def _simplest_share(share: float) -> tuple[int, int]:
    """The r of q with the smallest q that is within a tenth of ``share`` and of what is left; q is at most 64."""
    tolerance = min(share, 1 - share) / 10
    for parts in range(2, MOST_PARTS + 1):
        taken = round(share * parts)
        if 0 < taken < parts and abs(taken / parts - share) <= tolerance:
            return taken, parts
    return (1, MOST_PARTS) if share < 0.5 else (MOST_PARTS - 1, MOST_PARTS)


_KEPT: WeakKeyDictionary[NodeKnowledge, dict[tuple[object, ...], ShadowModels]] = WeakKeyDictionary()


def shadow_models(knowledge: NodeKnowledge, recipe: TrainingConfig, count: int, offline: bool) -> ShadowModels:
    """At least ``count`` shadow models; attacks with the same knowledge share them.

    Args:
        knowledge: what the adversary knows.
        recipe: how they are trained.
        count: how many; the last round of masks is made whole.
        offline: train on nodes of its own alone, so that all models are OUT for all subjects. Else masks are
            drawn from the subjects (their labels and all edges must be known).
    """
    kept = _KEPT.setdefault(knowledge, {})
    key = (recipe.model_dump_json(), count, offline)
    if key not in kept:
        kept[key] = _trained(knowledge, recipe, count, offline)
    return kept[key]


def reference_model(knowledge: NodeKnowledge, recipe: TrainingConfig, count: int, offline: bool) -> ShadowModels:
    """The reference of `shadow_models`, for those who ask nothing else: it alone is trained, unless all are there.

    A user's own training functions train all, since what is wrong with them shows only in several models.
    """
    kept = _KEPT.setdefault(knowledge, {})
    key = (recipe.model_dump_json(), count, offline)
    if key in kept or knowledge.own is not None:
        return shadow_models(knowledge, recipe, count, offline)
    if (*key, "alone") not in kept:
        kept[*key, "alone"] = _trained(knowledge, recipe, count, offline, alone=True)
    return kept[*key, "alone"]


def _trained(
    knowledge: NodeKnowledge, recipe: TrainingConfig, count: int, offline: bool, alone: bool = False
) -> ShadowModels:
    """The models, or the reference alone, as it would be among them."""
    import torch

    seed = branch(knowledge.seed, "offline shadows" if offline else "shadows")
    rng = np.random.default_rng(branch(seed, "masks"))
    pool, edges = _pool(knowledge, offline)
    size = min(knowledge.members, len(pool) // 2) if offline else knowledge.members
    masks, rounds = cut_in_rounds(pool, size, count, rng)
    masks.append(np.sort(rng.choice(pool, size=len(masks[0]), replace=False)))
    inside = np.zeros((len(masks), len(knowledge.labels)), dtype=bool)
    for row, nodes in zip(inside, masks, strict=True):
        row[nodes] = True
    who = (inside[:-1], np.array(rounds), torch.from_numpy(pool), inside[-1])
    if knowledge.own is not None:
        models = knowledge.own.models(list(inside), pool if offline else None, branch(seed, "models"))
        return OwnModels(*who, knowledge.own, knowledge.x.cpu(), models)
    x = knowledge.x.cpu()
    numbers = (len(masks) - 1,) if alone else tuple(range(len(masks)))
    _check_memory(len(numbers), recipe, x.shape[1], knowledge.classes)
    data = knowledge.posed(x, edges)
    data.y = knowledge.labels.cpu().clamp_min(0)
    task = TrainingTask(
        data,
        torch.from_numpy(inside[-len(numbers) :]),
        recipe,
        knowledge.classes,
        induced=knowledge.game == "node-presence",
    )
    device = str(knowledge.x.device)
    return RecipeModels(*who, task, trained_once(task, branch(seed, "models"), device, numbers), device)


def _pool(knowledge: NodeKnowledge, offline: bool) -> tuple[np.ndarray, Tensor]:
    """Nodes that masks are drawn from, and the edges that models are trained with."""
    if not offline:
        return knowledge.subjects.cpu().numpy(), knowledge.all_edges.cpu()
    own = np.setdiff1d(knowledge.shadow.cpu().numpy(), knowledge.population.cpu().numpy())
    return own, knowledge.shadow_edges.cpu()


def _check_memory(models: int, recipe: TrainingConfig, features: int, classes: int) -> None:
    size = 4 * models * recipe.hidden * (features + classes)
    if size > MEMORY:
        raise InputError(
            f"{models} shadow models of width {recipe.hidden} on {features} features take {size / 2**30:.1f} GiB, "
            f"more than {MEMORY / 2**30:.0f} GiB: use fewer shadow models or a smaller width"
        )


def best_setting(
    values: np.ndarray,
    inside: np.ndarray,
    rounds: np.ndarray,
    score: Callable[[np.ndarray, np.ndarray, np.ndarray, float], np.ndarray],
    grid: tuple[float, ...],
    targets: int = 8,
) -> float:
    """The setting with the best mean AUC against shadow models that play the target.

    A model that plays the target is taken out of the references together with its round. The true target and
    its members are never looked at.

    Args:
        values: each model's signal on nodes of the pool, [K, p].
        inside: which of them it trained on, [K, p].
        rounds: each model's round, [K].
        score: ``score(target [p], references [K', p], inside [K', p], setting)``.
        grid: settings to try.
        targets: how many models play the target.
    """
    totals = np.zeros(len(grid))
    for k in range(min(targets, len(values))):
        others = rounds != rounds[k]
        if not others.any():
            continue
        for g, setting in enumerate(grid):
            totals[g] += _auc(inside[k], score(values[k], values[others], inside[others], setting))
    return grid[int(np.argmax(totals))]


def _auc(truth: np.ndarray, score: np.ndarray) -> float:
    """P(score of a member > score of a non-member), ties counting half; both [p]."""
    members, others = score[truth], np.sort(score[~truth])
    beaten = np.searchsorted(others, members, "left") + np.searchsorted(others, members, "right")
    return float(beaten.mean()) / (2 * len(others))
