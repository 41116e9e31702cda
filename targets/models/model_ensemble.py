"""Many models of one recipe, each on its own members: what shadow-model attacks and pipelines train.

On the CPU each model is trained by compiled kernels, one thread a model, models side by side on threads; features
stay sparse, and nothing is kept of a model but its answers (and its weights, if asked for). On other devices, and
for GAT, models are trained in batches as one network with stacked weights. Classifiers of whole graphs are trained
one by one (`graph_models`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...graphs.collection import is_collection
from ...randomness import branch
from .training_config import initial_weights
from .training_task import One, Query, TrainingTask

if TYPE_CHECKING:
    from torch import Tensor

MEMORY = 2 * 2**30
"""Bytes that a batch of models may take on a device that does not say how much is free."""


_threads: ContextVar[int] = ContextVar("threads", default=1)


@contextmanager
def side_by_side(count: int) -> Iterator[None]:
    """Within the block so many of gaudit's own models are trained or asked at once, one a thread.

    joblib's context cannot say it: where it names no backend, one who prefers threads gets a single one; where it
    names threads, models that others' functions train would run on them too, which these need not stand.
    """
    before = _threads.set(count)
    try:
        yield
    finally:
        _threads.reset(before)


def threads() -> int:
    """How many models are trained at once here."""
    return _threads.get()


def batch_memory(device: str) -> int:
    """Bytes that a batch of models may take: half of what is free on a card."""
    import torch

    if torch.device(device).type != "cuda":
        return MEMORY
    free, _ = torch.cuda.mem_get_info(torch.device(device))
    return free // 2


@dataclass(frozen=True)
class Trained:
    """Models with what they answered.

    Attributes:
        answers: for each query the logits [K, s, C], float32, on the CPU.
        epochs: epochs that each model took, [K].
        weights: stacked weights by name [K, ...], or empty where they were not asked for.
    """

    answers: tuple[Tensor, ...]
    epochs: Tensor
    weights: dict[str, Tensor]


Step = Callable[[int], None]


def train_models(
    task: TrainingTask,
    queries: Sequence[Query],
    seed: np.random.SeedSequence,
    *,
    device: str = "cpu",
    workers: int | None = None,
    memory: int | None = None,
    first: Sequence[dict[str, Tensor]] | None = None,
    numbers: Sequence[int] | None = None,
    keep_weights: bool = False,
    progress: Step | None = None,
) -> Trained:
    """Trains K models and asks each of them all queries.

    Results depend neither on ``workers`` nor on ``memory``: model k's randomness is a branch of ``seed``.

    Args:
        task: the models' data and recipe.
        queries: what to ask, each of all models.
        seed: root of the models' randomness.
        device: cpu, or where to train batches.
        workers: threads, one model each at a time (CPU kernels); by default as `side_by_side` says, else one.
        memory: bytes that a batch may take where models are trained in batches, by default `batch_memory`.
        first: each model's first weights, by default drawn.
        numbers: k of each model, by default from 0: some of many models are trained as they would be among all.
        keep_weights: return the trained weights too.
        progress: called with the number of models done.
    """
    from joblib import Parallel, delayed

    count = len(task.members)
    features = task.data.num_features
    named = range(count) if numbers is None else numbers
    begin = first or [
        initial_weights(task.recipe, features, task.classes, branch(seed, "weights", k)) for k in named
    ]
    coins = [branch(seed, "dropout", k) for k in named]
    if is_collection(task.data) or _has_kernels(task, device):
        train = _trainer(task, queries, device)
        jobs = (delayed(train)(k, begin[k], coins[k]) for k in range(count))
        found = Parallel(workers or threads(), prefer="threads", return_as="generator")(jobs)
        return _stacked(_counted(found, progress), len(queries), keep_weights)
    from .batched_models import batches

    found = batches(task, queries, begin, coins, device, memory or batch_memory(device))
    return _stacked(_counted(found, progress), len(queries), keep_weights)


def ask_models(
    task: TrainingTask,
    queries: Sequence[Query],
    weights: dict[str, Tensor],
    *,
    device: str = "cpu",
    workers: int | None = None,
    memory: int | None = None,
) -> tuple[Tensor, ...]:
    """Logits [K, s, C] of trained models, given by their stacked weights [K, ...], for each query.

    ``task`` says what they were trained for; its members matter to queries whose edges are kept apart.
    """
    import torch

    found = ask_each(task, queries, weights, device=device, workers=workers, memory=memory)
    return tuple(torch.stack(answers) for answers in zip(*found, strict=True))


def ask_each(
    task: TrainingTask,
    queries: Sequence[Query],
    weights: dict[str, Tensor],
    *,
    device: str = "cpu",
    workers: int | None = None,
    memory: int | None = None,
) -> Iterator[list[Tensor]]:
    """What `ask_models` gives, model by model: logits [s, C] for each query."""
    from joblib import Parallel, delayed

    count = len(next(iter(weights.values())))
    models = [{name: weight[k] for name, weight in weights.items()} for k in range(count)]
    if is_collection(task.data) or _has_kernels(task, device):
        ask = _asker(task, queries, device)
        jobs = (delayed(ask)(k, model) for k, model in enumerate(models))
        yield from Parallel(workers or threads(), prefer="threads", return_as="generator")(jobs)
    else:
        from .batched_models import asked_in_batches

        yield from asked_in_batches(task, queries, models, device, memory or batch_memory(device))


def _trainer(
    task: TrainingTask, queries: Sequence[Query], device: str
) -> Callable[[int, dict[str, Tensor], np.random.SeedSequence], One]:
    """What trains one model at a time, and asks it."""
    if is_collection(task.data):
        from . import graph_models

        return graph_models.trainer(task, queries, device)
    from .compiled_models import trainer

    return trainer(task, queries)


def _asker(
    task: TrainingTask, queries: Sequence[Query], device: str
) -> Callable[[int, dict[str, Tensor]], list[Tensor]]:
    """What asks one model at a time."""
    if is_collection(task.data):
        from . import graph_models

        return graph_models.asker(task, queries, device)
    from .compiled_models import asker

    return asker(task, queries)


def _has_kernels(task: TrainingTask, device: str) -> bool:
    return device == "cpu" and task.recipe.architecture != "gat"


def _counted(found: Iterator[One], progress: Step | None) -> Iterator[One]:
    for done, one in enumerate(found, 1):
        if progress is not None:
            progress(done)
        yield one


def _stacked(found: Iterator[One], queries: int, keep_weights: bool) -> Trained:
    import torch

    answers: list[list[Tensor]] = [[] for _ in range(queries)]
    epochs: list[int] = []
    weights: list[dict[str, Tensor]] = []
    for answered, taken, trained in found:
        for kept, answer in zip(answers, answered, strict=True):
            kept.append(answer)
        epochs.append(taken)
        if keep_weights:
            weights.append(trained)
    stacked = {name: torch.stack([w[name] for w in weights]) for name in (weights[0] if weights else {})}
    return Trained(tuple(torch.stack(a) for a in answers), torch.tensor(epochs), stacked)
