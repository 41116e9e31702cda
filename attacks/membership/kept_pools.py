"""Shadow models that the processes of one run share: whoever needs them first trains them, the others read them.

Trials of one graph that differ in their defense have adversaries that know the same, and these would train the same
models. Within a process knowledge is kept once. Between processes models are told by all that they are made of, so
that what is read is what would have been trained, to the last bit.
"""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...targets.models.model_ensemble import train_models
from ...targets.models.training_task import TrainingTask

if TYPE_CHECKING:
    from torch import Tensor

_folders: list[Path] = []
"""Where the processes of this run keep models; nothing outside of runs with several processes."""


@contextmanager
def kept_in(folder: str | None) -> Iterator[None]:
    """Within the block models are kept in a folder of this run's own, which whoever made it removes; or nowhere."""
    _folders[:] = [] if folder is None else [Path(folder)]
    try:
        yield
    finally:
        _folders.clear()


Told = Callable[[int, int], None]
"""Called with the models done and the models in all."""

_told: ContextVar[Told | None] = ContextVar("told", default=None)


@contextmanager
def told_to(report: Told) -> Iterator[None]:
    """Within the block who waits is told how many shadow models of a pool are trained."""
    before = _told.set(report)
    try:
        yield
    finally:
        _told.reset(before)


def trained_once(
    task: TrainingTask, seed: np.random.SeedSequence, device: str, numbers: tuple[int, ...] | None = None
) -> dict[str, Tensor]:
    """Stacked weights [K, ...] of models that `train_models` trains, or trained in another process of this run.

    ``numbers`` are as there. Processes that need the same models wait for the one that trains them; should it be
    killed, the next one does.
    """
    from safetensors.torch import load_file, save_file

    if not _folders or device != "cpu":
        return _weights(task, seed, device, numbers)
    file = _folders[0] / f"{_digest(task, seed, numbers)}.safetensors"
    with file.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the system lets go of it when a process ends, however it does
        if file.exists():
            kept: dict[str, Tensor] = load_file(file)
            return kept
        weights = _weights(task, seed, device, numbers)
        unfinished = file.with_suffix(".part")
        with suppress(OSError):  # a full disk: each process trains its own then
            save_file({name: weight.contiguous() for name, weight in weights.items()}, unfinished)
            unfinished.replace(file)
        return weights


def _weights(
    task: TrainingTask, seed: np.random.SeedSequence, device: str, numbers: tuple[int, ...] | None
) -> dict[str, Tensor]:
    report, total = _told.get(), len(task.members)
    if report is not None:
        report(0, total)
    step = None if report is None else lambda done: report(done, total)
    trained = train_models(task, [], seed, device=device, numbers=numbers, keep_weights=True, progress=step)
    return trained.weights


def _digest(task: TrainingTask, seed: np.random.SeedSequence, numbers: tuple[int, ...] | None) -> str:
    """A name that two tasks share only where the same models come of them."""
    import torch

    found = hashlib.blake2b(digest_size=16)
    said = (task.recipe.model_dump_json(), task.classes, task.induced, seed.entropy, seed.spawn_key, numbers)
    found.update(repr((*said, torch.get_num_threads())).encode())
    data = task.data
    for part in (data.x, data.edge_index, data.y, task.members, task.validation):
        values = np.empty(0) if part is None else np.ascontiguousarray(part.numpy())
        found.update(repr((values.dtype.str, values.shape)).encode())
        found.update(values.data if values.size else b"")
    return found.hexdigest()
