"""Queries that change the features of one node at a time: the protocol of an adversary who may submit features."""

import numpy as np
import torch
from pydantic import Field, field_validator

from ..graphs.network import Ints
from ..settings import Settings
from .channel import Channel
from .messages import PROBED_KIND
from .models.scaled_rows import ScaledAnswers
from .target import Progress

NOBODY = -1
"""In place of a node where no features are changed."""


class ProbingSettings(Settings):
    """What is asked of a service that answers for submitted features; nothing in it depends on an answer."""

    nodes: int | None = Field(
        None, ge=1, description="whose features are changed, one node in each query; drawn at random; null: all"
    )
    factor: float = Field(2.0, ge=0, description="what the features of that node are multiplied by, not 1")
    repeats: int = Field(1, ge=1, description="how often each query is sent, against noise")

    @field_validator("factor")
    @classmethod
    def _changes_something(cls, factor: float) -> float:
        if factor == 1:
            raise ValueError("factor 1 changes nothing: take another number, as 2")
        return factor


def probe(
    channel: Channel,
    answer: ScaledAnswers,
    pairs: tuple[Ints, Ints],
    nodes: int,
    settings: ProbingSettings,
    seed: np.random.SeedSequence,
    round_: int,
    progress: Progress,
) -> None:
    """Sends what a service answers to queries with the features of one node changed, a message for each query.

    The first query has all features as they are and asks about all nodes. Each of the others asks about the
    changed node and about those that are in question together with it: an adversary would ask about all, and
    compares these. A smaller budget asks the first queries of a larger one.

    Args:
        channel: to the public.
        answer: logits, see `scaled_answers`.
        pairs: of nodes that are in question, both ends [s].
        nodes: n.
        settings: the protocol.
        seed: of the order in which nodes are changed.
        round_: that the messages belong to.
        progress: called after each of them.
    """
    budget = nodes if settings.nodes is None else min(settings.nodes, nodes)
    order = np.random.default_rng(seed).permutation(nodes)[:budget]
    partners = _partners(pairs, nodes)
    queries = [(NOBODY, np.arange(nodes)), *((node, np.union1d(partners[node], node)) for node in order.tolist())]
    for done, (node, asked) in enumerate(queries):
        factors = np.where(asked == node, settings.factor, 1.0)
        logits = answer(max(node, 0), 1.0 if node == NOBODY else settings.factor, asked)
        told = {
            "nodes": torch.from_numpy(asked),
            "factors": torch.from_numpy(factors.astype(np.float32)),
            "posteriors": logits.softmax(1),
        }
        for _ in range(settings.repeats):
            channel.send(PROBED_KIND, "server", "public", round_, told)
        progress("asking with changed features", done, budget)


def _partners(pairs: tuple[Ints, Ints], nodes: int) -> list[Ints]:
    """Those that stand in a pair with each node, by node."""
    one, other = np.concatenate(pairs), np.concatenate(pairs[::-1])
    order = np.argsort(one, kind="stable")
    return np.split(other[order], np.cumsum(np.bincount(one, minlength=nodes))[:-1])
