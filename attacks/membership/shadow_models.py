"""Shadow models of an adversary: who trains what on whom, and what they answer.

Masks come in rounds. A round cuts the pool of nodes at random into q parts and trains a model on each run of r
parts in a circle, r / q being the share of members within a tenth; with one half that is a mask and its complement.
So every node is IN equally often, and what is left when a model and its round are taken out is balanced again: the
number of models that a node is in says nothing (Privacy Meter's design; leaving out the one model alone leaks by
the count).
"""

from collections.abc import Callable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from ...errors import InputError
from ...randomness import branch
from ...targets.games.membership import NodeKnowledge
from ...targets.models.model_ensemble import MEMORY, Trained, ask_models, train_models
from ...targets.models.training_config import TrainingConfig
from ...targets.models.training_task import Query, TrainingTask

MOST_PARTS = 64


@dataclass(frozen=True, eq=False)
class ShadowModels:
    """K trained shadow models.

    Attributes:
        task: what they were trained for.
        weights: theirs, stacked.
        inside: whose labels each trained on, [K, n] bool.
        round: the round of masks that each belongs to, [K].
        pool: the nodes that masks are drawn from, [p].
        reference_task: what one more model was trained for, on a draw of its own from the pool: what a target that
            knows nothing of the true members would answer.
        reference_weights: its weights.
        device: where they answer.
    """

    task: TrainingTask
    weights: dict[str, Tensor]
    inside: np.ndarray
    round: np.ndarray
    pool: Tensor
    reference_task: TrainingTask
    reference_weights: dict[str, Tensor]
    device: str

    def ask(self, query: Query) -> Tensor:
        """Logits [K, s, C]."""
        return ask_models(self.task, [query], self.weights, device=self.device)[0]

    def ask_reference(self, query: Query) -> Tensor:
        """Logits [1, s, C]."""
        return ask_models(self.reference_task, [query], self.reference_weights, device=self.device)[0]


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


_KEPT: "WeakKeyDictionary[NodeKnowledge, dict[tuple[object, ...], ShadowModels]]" = WeakKeyDictionary()


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


def _trained(knowledge: NodeKnowledge, recipe: TrainingConfig, count: int, offline: bool) -> ShadowModels:
    seed = branch(knowledge.seed, "offline shadows" if offline else "shadows")
    rng = np.random.default_rng(branch(seed, "masks"))
    x = knowledge.x.cpu()
    pool, edges = _pool(knowledge, offline)
    size = min(knowledge.members, len(pool) // 2) if offline else knowledge.members
    masks, rounds = cut_in_rounds(pool, size, count, rng)
    masks.append(np.sort(rng.choice(pool, size=len(masks[0]), replace=False)))
    inside = np.zeros((len(masks), len(x)), dtype=bool)
    for row, nodes in zip(inside, masks, strict=True):
        row[nodes] = True
    _check_memory(len(masks), recipe, x.shape[1], knowledge.classes)
    labels = knowledge.labels.cpu().clamp_min(0)
    task = TrainingTask(
        Data(x=x, edge_index=edges, y=labels),
        torch.from_numpy(inside),
        recipe,
        knowledge.classes,
        induced=knowledge.game == "node-presence",
    )
    device = str(knowledge.x.device)
    trained: Trained = train_models(task, [], branch(seed, "models"), device=device, keep_weights=True)
    return ShadowModels(
        TrainingTask(task.data, task.members[:-1], recipe, task.classes, task.induced),
        {name: w[:-1] for name, w in trained.weights.items()},
        inside[:-1],
        np.array(rounds),
        torch.from_numpy(pool),
        TrainingTask(task.data, task.members[-1:], recipe, task.classes, task.induced),
        {name: w[-1:] for name, w in trained.weights.items()},
        device,
    )


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
    from sklearn.metrics import roc_auc_score

    totals = np.zeros(len(grid))
    for k in range(min(targets, len(values))):
        others = rounds != rounds[k]
        if not others.any():
            continue
        for g, setting in enumerate(grid):
            totals[g] += roc_auc_score(inside[k], score(values[k], values[others], inside[others], setting))
    return grid[int(np.argmax(totals))]
