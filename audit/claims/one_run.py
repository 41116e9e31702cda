"""One run of a private training with many canaries, each put in by a fair coin, against what it promises."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import torch

from ...errors import InputError
from ...mechanisms.guarantee import Guarantee
from ...randomness import branch
from ...targets.defense import Defense
from ...targets.messages import posteriors_kind
from ...targets.splits import split_of_all
from ...targets.target import Progress, Run, Target, no_progress
from ..statistics.epsilon import one_run_ceiling, one_run_epsilon
from .claim_check import ClaimCheck

if TYPE_CHECKING:
    from torch_geometric.data import Data

SHARES = (0.6, 0.2)
"""Of all nodes, for training and validation."""
KIND = posteriors_kind("full")


def check_training(
    target: Target,
    data: Data,
    canaries: int,
    guesses: int,
    seed: int,
    *,
    level: float = 0.95,
    progress: Progress = no_progress,
) -> ClaimCheck:
    """Trains once, and guesses from the published answers which canaries were trained on.

    Canaries are training nodes drawn at random, with wrong labels that only who saw them would repeat; a fair coin
    says of each whether its label is trained on. The nodes with the highest confidence in their wrong labels are
    guessed to be in, those with the lowest out, so many as were fixed before. A label that is in or out is one
    record of these trainings (`Target.one_record`): their noise hides it at the epsilon that is promised to nodes.

    Args:
        target: with ``split="dataset"``, so that it trains on who is said to be trained on.
        data: features, edges and labels.
        canaries: m.
        guesses: how many are guessed, half in and half out.
        seed: of coins, labels and the training.
        level: confidence.
        progress: see `Progress`.

    Raises:
        InputError: the target promises nothing for nodes, draws a split of its own or publishes no answers; there
            are too few training nodes, or too few guesses to refute what it promises; answers are no numbers.

    Source: Steinke, Nasr and Jagielski (NeurIPS 2023, Algorithm 1).
    """
    _must_be_fit(target, canaries, guesses, level)
    began, root = time.process_time(), branch(np.random.SeedSequence(seed), "one run")
    planted, chosen, inside = _planted(data, canaries, root)
    if inside.all() or not inside.any():
        raise InputError("all coins fell on one side: use more canaries")
    run = target(planted, Defense(), branch(root, "training"), lambda message: message.kind == KIND, progress)
    promise = _promised(run, target.name, canaries, guesses, level)
    delta, score = float(promise.delta), _confidence(run, target.name, chosen, planted.y[chosen])
    half = guesses // 2
    found = one_run_epsilon(inside, score, half, guesses - half, delta=delta, level=level, validity="valid")
    ceiling = one_run_ceiling(guesses, canaries, delta, level)
    return ClaimCheck(target.name, promise, found, time.process_time() - began, ceiling)


def _promised(run: Run, name: str, canaries: int, guesses: int, level: float) -> Guarantee:
    """What a run promises to nodes.

    Raises:
        InputError: nothing, or more than so many guesses could refute.
    """
    promise = run.promise
    if promise is None or promise.unit != "node" or promise.adjacency == "replace":
        raise InputError(f"'{name}' promises no differential privacy for nodes")
    ceiling, epsilon = one_run_ceiling(guesses, canaries, float(promise.delta), level), float(promise.epsilon)
    if ceiling <= epsilon:
        raise InputError(
            f"{guesses} guesses, all of them right, would show epsilon {ceiling:.2f}, and {epsilon:g} is promised: "
            "use more guesses, or a smaller epsilon"
        )
    return promise


def _confidence(run: Run, name: str, nodes: torch.Tensor, labels: torch.Tensor) -> np.ndarray:
    """Logarithm of what the published answers give to each of these labels, [m].

    Raises:
        InputError: there are no answers, or they are no numbers.
    """
    tables = [message.tensors for message in run.transcript.messages if message.kind == KIND]
    if not tables:
        raise InputError(f"'{name}' publishes no answers ('{KIND}') to guess from")
    found: np.ndarray = tables[-1]["posteriors"][nodes, labels].double().clamp_min(1e-300).log().numpy()
    if np.isnan(found).any():
        raise InputError(f"'{name}' answers with NaN: nothing can be guessed from it")
    return found


def _must_be_fit(target: Target, canaries: int, guesses: int, level: float) -> None:
    """Raises InputError for what could not be checked after a training."""
    if not target.one_record:
        raise InputError(f"'{target.name}' promises no differential privacy for nodes: use dp-mlp or gap-ndp")
    if target.offers.split != "dataset":
        raise InputError(f"'{target.name}' must train on given nodes: it needs the setting split=dataset")
    if not 2 <= guesses <= canaries:
        raise InputError(f"{guesses} guesses about {canaries} canaries: expected 2 or more, no more than canaries")
    if not 0 < level < 1:
        raise InputError(f"the level of confidence is {level:g}: expected one above 0 and below 1, such as 0.95")


def _planted(data: Data, canaries: int, root: np.random.SeedSequence) -> tuple[Data, torch.Tensor, np.ndarray]:
    """The graph with canaries, which nodes they are, and which of them are in."""
    data = split_of_all(data.clone(), SHARES, branch(root, "split"))
    train, classes = data.train_mask.nonzero().flatten(), int(data.y.max()) + 1
    if canaries > len(train):
        raise InputError(f"{canaries} canaries are more than the {len(train)} training nodes: use fewer")
    if classes < 2:
        raise InputError("there is one class: no label is wrong")
    rng = np.random.default_rng(branch(root, "canaries"))
    chosen = train[torch.from_numpy(rng.choice(len(train), canaries, replace=False))]
    shift = torch.from_numpy(rng.integers(1, classes, size=canaries))
    data.y = data.y.clone()
    data.y[chosen] = (data.y[chosen] + shift) % classes
    inside = rng.integers(2, size=canaries).astype(bool)
    data.train_mask[chosen] = torch.from_numpy(inside)
    return data, chosen, inside
