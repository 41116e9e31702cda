"""One run of a private training with many canaries, each put in by a fair coin, against what it promises."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch

from ...errors import InputError
from ...graphs.collection import by_graph, graphs_in, is_collection, split_graphs
from ...mechanisms.guarantee import Guarantee
from ...randomness import branch, integer
from ...targets.defense import Defense
from ...targets.messages import posteriors_kind
from ...targets.splits import split_of_all
from ...targets.target import Progress, Run, Target, no_progress
from ..statistics.epsilon import one_run_ceiling, one_run_epsilon
from .claim_check import ClaimCheck

if TYPE_CHECKING:
    from torch_geometric.data import Data

SHARES = (0.6, 0.2)
"""Of all nodes, or graphs of a collection, for training and validation."""
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
    Of a collection, canaries are graphs, and the promise is one to graphs.

    Args:
        target: with ``split="dataset"``, so that it trains on who is said to be trained on.
        data: features, edges and labels.
        canaries: m.
        guesses: how many are guessed, half in and half out.
        seed: of coins, labels and the training.
        level: confidence.
        progress: see `Progress`.

    Raises:
        InputError: the target promises nothing for nodes or graphs, draws its own split or publishes no answers;
            there are too few to train on, or too few guesses to refute what it promises; answers are no numbers.

    Source: Steinke, Nasr and Jagielski (NeurIPS 2023, Algorithm 1).
    """
    _must_be_fit(target, data, canaries, guesses, level)
    began, root = time.process_time(), branch(np.random.SeedSequence(seed), "one run")
    planted, chosen, wrong, inside = _planted(data, canaries, root)
    if inside.all() or not inside.any():
        raise InputError("all coins fell on one side: use more canaries")
    run = target(planted, Defense(), branch(root, "training"), lambda message: message.kind == KIND, progress)
    promise = _promised(run, target, canaries, guesses, level)
    delta, score = float(promise.delta), _confidence(run, target.name, chosen, wrong)
    half = guesses // 2
    found = one_run_epsilon(inside, score, half, guesses - half, delta=delta, level=level, validity="valid")
    ceiling = one_run_ceiling(guesses, canaries, delta, level)
    return ClaimCheck(target.name, promise, found, time.process_time() - began, ceiling)


def _unit(target: Target) -> Literal["graph", "node"]:
    return "graph" if target.collections else "node"


def _promised(run: Run, target: Target, canaries: int, guesses: int, level: float) -> Guarantee:
    """What a run promises to nodes, or to the graphs of a collection.

    Raises:
        InputError: nothing, or more than so many guesses could refute.
    """
    promise, unit = run.promise, _unit(target)
    if promise is None or promise.unit != unit or promise.adjacency == "replace":
        raise InputError(f"'{target.name}' promises no differential privacy for {unit}s")
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


def _must_be_fit(target: Target, data: Data, canaries: int, guesses: int, level: float) -> None:
    """Raises InputError for what could not be checked after a training."""
    unit = _unit(target)
    if not target.one_record:
        known = {"node": "dp-mlp or gap-ndp", "graph": "dp-graph-classifier"}[unit]
        raise InputError(f"'{target.name}' promises no differential privacy for {unit}s: use {known}")
    if target.collections != is_collection(data):
        raise InputError(f"'{target.name}' is about {unit}s, and the data are not: use another dataset")
    if target.offers.split != "dataset":
        raise InputError(f"'{target.name}' must train on given {unit}s: it needs the setting split=dataset")
    if not 2 <= guesses <= canaries:
        raise InputError(f"{guesses} guesses about {canaries} canaries: expected 2 or more, no more than canaries")
    if not 0 < level < 1:
        raise InputError(f"the level of confidence is {level:g}: expected one above 0 and below 1, such as 0.95")


def _planted(
    data: Data, canaries: int, root: np.random.SeedSequence
) -> tuple[Data, torch.Tensor, torch.Tensor, np.ndarray]:
    """The graph with canaries, which nodes they are, their wrong labels, and which of them are in.

    Of a collection, canaries are graphs, by their number.
    """
    data, graphs = data.clone(), is_collection(data)
    data = _split_of_graphs(data, root) if graphs else split_of_all(data, SHARES, branch(root, "split"))
    y, inside = (by_graph(data, "y"), by_graph(data, "train_mask")) if graphs else (data.y, data.train_mask)
    train, classes = inside.nonzero().flatten(), int(y.max()) + 1
    if canaries > len(train):
        unit = "graphs" if graphs else "nodes"
        raise InputError(f"{canaries} canaries are more than the {len(train)} training {unit}: use fewer")
    if classes < 2:
        raise InputError("there is one class: no label is wrong")
    rng = np.random.default_rng(branch(root, "canaries"))
    chosen = train[torch.from_numpy(rng.choice(len(train), canaries, replace=False))]
    shift = torch.from_numpy(rng.integers(1, classes, size=canaries))
    coins = rng.integers(2, size=canaries).astype(bool)
    y, inside = y.clone(), inside.clone()
    y[chosen] = (y[chosen] + shift) % classes
    inside[chosen] = torch.from_numpy(coins)
    data.y, data.train_mask = (y[data.graph_of], inside[data.graph_of]) if graphs else (y, inside)
    return data, chosen, y[chosen], coins


def _split_of_graphs(data: Data, root: np.random.SeedSequence) -> Data:
    """A collection with masks drawn anew."""
    drawn = integer(branch(root, "split"))
    for name, mask in split_graphs(graphs_in(data), drawn, SHARES[0], 1 - sum(SHARES)).items():
        data[name] = mask[data.graph_of]
    return data
