"""Queries that change the features of one node at a time: the protocol of an adversary who may submit features."""

from __future__ import annotations

import numpy as np
from pydantic import Field, model_validator

from ..graphs.network import Ints
from ..settings import Settings
from .channel import Channel
from .messages import PROBED_KIND
from .models.scaled_rows import ScaledAnswers
from .target import Progress, no_progress

NOBODY = -1
"""In place of a node where no features are changed."""


class ProbingSettings(Settings):
    """What is asked of a service that answers for submitted features; nothing in it depends on an answer."""

    nodes: int | None = Field(
        None, ge=1, description="whose features are changed, one node in each query; drawn at random; null: all"
    )
    factor: float = Field(
        2.0, description="what the features of that node are multiplied by, not 1; below 0 where that is admitted"
    )
    repeats: int = Field(1, ge=1, description="how often each query is sent, against noise")
    spread: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="factors of repeats lie evenly within this share of the factor, against noise that is the same "
        "for the same query",
    )

    @property
    def factors(self) -> list[float]:
        """What features are multiplied by, for each time that a node's are changed."""
        shares = np.linspace(-self.spread, self.spread, self.repeats) if self.repeats > 1 else np.zeros(1)
        return [self.factor * (1 + share) for share in shares.tolist()]

    @model_validator(mode="after")
    def _changes_something(self) -> ProbingSettings:
        if 1 in self.factors:
            raise ValueError("factor 1 changes nothing: take another number, as 2, or another spread")
        return self


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
    sent(channel, answer, queries, settings, round_, progress)


def sent(
    channel: Channel,
    answer: ScaledAnswers,
    queries: list[tuple[int, Ints]],
    settings: ProbingSettings,
    round_: int,
    progress: Progress = no_progress,
) -> None:
    """Sends what is answered to each query: whose features are changed, or `NOBODY`, and who is asked about."""
    import torch

    for done, (node, asked) in enumerate(queries):
        for factor in [1.0] * settings.repeats if node == NOBODY else settings.factors:
            told = {
                "nodes": torch.from_numpy(asked),
                "factors": torch.from_numpy(np.where(asked == node, factor, 1.0).astype(np.float32)),
                "posteriors": answer(max(node, 0), factor, asked).softmax(1),
            }
            channel.send(PROBED_KIND, "server", "public", round_, told)
        progress("asking with changed features", done, len(queries) - 1)


def _partners(pairs: tuple[Ints, Ints], nodes: int) -> list[Ints]:
    """Those that stand in a pair with each node, by node."""
    one, other = np.concatenate(pairs), np.concatenate(pairs[::-1])
    order = np.argsort(one, kind="stable")
    return np.split(other[order], np.cumsum(np.bincount(one, minlength=nodes))[:-1])
