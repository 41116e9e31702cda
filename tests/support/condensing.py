"""Condensation of the graph of sixty nodes, and what it releases."""

import numpy as np
import torch

from gaudit.registry import find
from gaudit.targets.condensation.condensed import CondensedGraph
from gaudit.targets.condensation.coresets import RandomCoreset
from gaudit.targets.condensation.gradient_distance import allocate_labels

from .sixty_nodes import sixty_nodes


def run_on_sixty(target, seed=0, defense="none", data=None):
    """One run, of the sixty nodes unless another graph is given, everything kept."""
    data = sixty_nodes() if data is None else data
    return target(data, find("defenses", defense)(), np.random.SeedSequence(seed), lambda _: True)


def released(run):
    return [CondensedGraph.from_tensors(m.tensors) for m in run.transcript.messages]


def check_headers(run):
    """Two releases of nine rows, by the only client, after rounds 2 and 4."""
    headers = [(m.kind, m.sender, m.receiver, m.round) for m in run.transcript.messages]
    assert headers == [("condensed-graph", "client:0", "public", round_) for round_ in (2, 4)]
    assert [u.round for u in run.utilities] == [2, 4]
    for release in released(run):
        assert torch.equal(release.y, allocate_labels(torch.tensor([6, 4, 2]), 9))


def check_start(run):
    """Rows that no step has moved are those of nodes in training with their labels, each another one, and told."""
    data, secrets, release = sixty_nodes(), run.secrets["label-membership"], released(run)[-1]
    started = set()
    for row, label in zip(release.x, release.y, strict=True):
        same = ((data.x - row).abs().max(1).values < 1e-6).nonzero().flatten().tolist()
        assert len(same) == 1
        assert data.train_mask[same[0]]
        assert data.y[same[0]] == label
        started.add(same[0])
    assert len(started) == len(release.y) == 9
    copied = secrets.groups["members copied at first"]
    assert set(secrets.subjects[copied & secrets.truth].tolist()) == started
    never = secrets.groups["members never copied"]
    assert set(secrets.subjects[never & secrets.truth]) == set(np.flatnonzero(data.train_mask)) - started


def check_others_than_chance(kind):
    """A coreset is the same for a seed, and not always the random one."""

    def chosen(kind, seed):
        run = run_on_sixty(kind(ratio=0.1, test={"hidden": 8, "epochs": 10}), seed)
        return {tuple(row) for row in run.transcript.messages[0].tensors["x"].tolist()}

    mine, random = ([chosen(one, seed) for seed in range(3)] for one in (kind, RandomCoreset))
    assert mine[0] == chosen(kind, 0)
    assert any(one != other for one, other in zip(mine, random, strict=True))
