"""Expert trajectories: where the weights of models pass while they are trained on the real graph."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from ...errors import InputError
from ...randomness import branch
from ..defense import LossTerm
from ..models.batched_models import Course, recorded
from ..models.model_ensemble import batch_memory
from ..models.propagation import sparse_features
from ..models.training_config import TrainingConfig, initial_weights, weight_shapes
from ..models.training_task import TrainingTask
from ..party import Client

LIMIT = 8 * 2**30
"""Bytes that all snapshots together may take."""
BATCH = 2**26
"""Bytes that models trained together on the CPU may take: more of them leave its caches, and are no faster."""


@dataclass(frozen=True)
class Trajectories:
    """Snapshots of K experts at T epochs.

    Attributes:
        epochs: when, ascending, [T]; 0 stands for the first weights.
        weights: by name, [K, T, ...] on the CPU, float32. No snapshot shares memory with another or with a model.
    """

    epochs: tuple[int, ...]
    weights: dict[str, Tensor]

    def __len__(self) -> int:
        return len(next(iter(self.weights.values())))

    def at(self, expert: int, epoch: int) -> dict[str, Tensor]:
        """The weights of one expert after some epochs, which must be one of `epochs`."""
        place = self.epochs.index(epoch)
        return {name: stacked[expert, place] for name, stacked in self.weights.items()}


def expert_trajectories(
    task: TrainingTask,
    epochs: Sequence[int],
    seed: np.random.SeedSequence,
    *,
    plain: bool = True,
    added: Callable[[int, Tensor], Tensor] | None = None,
    device: str = "cpu",
    memory: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Trajectories:
    """Trains K models of one recipe and keeps their weights at some epochs.

    Memory: 4 K T bytes for each weight of a model, at most `LIMIT`; on Cora (368,903 weights) 20 experts at 8
    epochs take 236 MB. So only the epochs that are needed are kept. Results do not depend on ``memory``: the
    randomness of model k is a branch of ``seed``.

    Args:
        task: the graph, the members [K, n] that each model trains on, and the recipe; training ends at the last of
            ``epochs``, whatever the recipe says, and no validation selects.
        epochs: when weights are kept, in any order; the first weights always are.
        seed: of first weights and dropout.
        plain: plain gradient descent, which has no memory, instead of Adam.
        added: what is added to the loss of model k, from its logits [n, C].
        device: where they are trained.
        memory: bytes that models trained together may take.
        progress: called with the number of experts trained.

    Raises:
        InputError: the snapshots would take more than `LIMIT`, or an epoch is negative.
    """
    kept = tuple(sorted({0, *epochs}))
    if kept[0] < 0 or len(kept) == 1:
        raise InputError(f"snapshots are taken after 1 epoch or more, not after {list(epochs)}")
    task = replace(task, recipe=task.recipe.model_copy(update={"epochs": kept[-1]}), validation=None)
    count, features = len(task.members), task.data.num_features
    shapes = weight_shapes(task.recipe, features, task.classes)
    _check_size(count, len(kept), sum(int(np.prod(shape)) for shape in shapes.values()))
    weights = {name: torch.empty(count, len(kept), *shape) for name, shape in shapes.items()}
    first = [initial_weights(task.recipe, features, task.classes, branch(seed, "weights", k)) for k in range(count)]
    coins = [branch(seed, "dropout", k) for k in range(count)]
    course, done = Course(kept, plain, added), 0
    memory = memory or (BATCH if device == "cpu" else batch_memory(device))
    for batch in recorded(task, first, coins, device, memory, course):
        size = len(next(iter(batch.values())))
        for name, stacked in batch.items():
            weights[name][done : done + size] = stacked
        done += size
        if progress is not None:
            progress(done)
    return Trajectories(kept, weights)


def _check_size(experts: int, snapshots: int, weights: int) -> None:
    needed = 4 * experts * snapshots * weights
    if needed > LIMIT:
        raise InputError(
            f"the trajectories of {experts} experts ({snapshots} snapshots of {weights:,} weights) take "
            f"{needed / 2**30:.1f} GiB, more than {LIMIT / 2**30:.0f}: use fewer experts, fewer starts "
            "or a smaller hidden"
        )


def owners_task(owner: Client, recipe: TrainingConfig, experts: int) -> TrainingTask:
    """Experts that all train on the labelled nodes of one owner's graph, [K, n] alike."""
    from torch_geometric.data import Data

    data = Data(x=sparse_features(owner.x), edge_index=owner.edges, y=owner.y_train)
    data.num_nodes = len(owner.nodes)
    return TrainingTask(data, owner.train.expand(experts, -1), recipe, owner.classes)


def with_term(owner: Client, term: LossTerm | None, experts: int) -> Callable[[int, Tensor], Tensor] | None:
    """What a defense adds to each expert's loss: a function whose derivative by the logits is the term's.

    A term may learn while its model is trained, so each expert has a copy of its own, from the same beginning.
    """
    if term is None:
        return None
    terms = [deepcopy(term) for _ in range(experts)]
    labels, reference = owner.y_train[owner.train], owner.y[owner.val]

    def added(expert: int, logits: Tensor) -> Tensor:
        seen, own = logits.detach(), logits[owner.train]
        gradient = terms[expert].gradient(seen[owner.train], labels, seen[owner.val], reference)
        return (gradient.detach() * own).sum() / len(own)

    return added
