"""One run of a private training with many canaries, each put in by a fair coin, against what it promises."""

import math
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
import torch
from torch_geometric.data import Data

from ..targets.answers import posteriors_kind
from ..targets.defense import Defense
from ..targets.errors import InputError
from ..targets.guarantee import Guarantee
from ..targets.randomness import branch
from ..targets.splits import split_of_all
from ..targets.target import Progress, Target, no_progress
from .claims import ClaimCheck
from .epsilon import one_run_epsilon

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
    guessed to be in, those with the lowest out, so many as were fixed before.

    A node without a label is no record where edges are not read (`Target.alone`). Elsewhere it still has its part
    in others' answers, and a promise to nodes covers the label at twice epsilon: the node goes, and comes again
    without it.

    Args:
        target: with ``split="dataset"``, so that it trains on who is said to be trained on.
        data: features, edges and labels.
        canaries: m.
        guesses: how many are guessed, half in and half out.
        seed: of coins, labels and the training.
        level: confidence.
        progress: see `Progress`.

    Raises:
        InputError: the target promises nothing for nodes or their labels, draws a split of its own, publishes no
            answers; or there are too few training nodes.

    Source: Steinke, Nasr and Jagielski (NeurIPS 2023, Algorithm 1).
    """
    if getattr(target.settings, "split", None) != "dataset":
        raise InputError(f"'{target.name}' must train on given nodes: it needs the setting split=dataset")
    if not 2 <= guesses <= canaries:
        raise InputError(
            f"{guesses} guesses about {canaries} canaries: expected 2 at least, and no more than canaries"
        )
    began, root = time.process_time(), branch(np.random.SeedSequence(seed), "one run")
    planted, chosen, inside = _planted(data, canaries, root)
    run = target(planted, Defense(), branch(root, "training"), lambda message: message.kind == KIND, progress)
    tables = [m.tensors for m in run.transcript.messages if m.kind == KIND]
    if run.promise is None or run.promise.unit not in ("node", "node-label"):
        raise InputError(f"'{target.name}' promises no differential privacy for nodes or their labels")
    if not tables:
        raise InputError(f"'{target.name}' publishes no answers ('{KIND}') to guess from")
    score = tables[-1]["posteriors"][chosen, planted.y[chosen]].double().clamp_min(1e-300).log().numpy()
    promise = run.promise if target.alone or run.promise.unit == "node-label" else _of_labels(run.promise)
    found = one_run_epsilon(
        inside,
        score,
        guesses // 2,
        guesses - guesses // 2,
        delta=float(promise.delta),
        level=level,
        validity="valid",
    )
    return ClaimCheck(target.name, promise, found, time.process_time() - began)


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


def _of_labels(promise: Guarantee) -> Guarantee:
    """What a promise to nodes says of a label alone: group privacy for two."""
    epsilon = Fraction(promise.epsilon)
    delta = min(float(promise.delta) * (1 + math.exp(min(float(epsilon), 700.0))), 0.999)
    said = f"{promise.accountant}; twice, for a label that goes while the node stays"
    return replace(promise, unit="node-label", epsilon=2 * epsilon, delta=delta, accountant=said)
