"""What targets that release condensed graphs do in the end: who was a member, what are the releases worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ...randomness import branch
from ..defense import Defense, Exchange
from ..models.propagation import Neighbourhood
from ..party import Client
from ..target import Progress, Utility
from .condensed import CondensedGraph
from .evaluation import EvaluationSettings, UtilityEvaluator

if TYPE_CHECKING:
    from torch_geometric.data import Data


def check_checkpoints(checkpoints: Sequence[int], rounds: int) -> None:
    """Of settings: rounds that release must be there, and among the rounds.

    Raises:
        ValueError: they are not.
    """
    if any(c < 1 or c > rounds for c in checkpoints) or not checkpoints:
        raise ValueError(f"checkpoints must lie between 1 and {rounds} rounds")


def what_asks(
    defense: Defense, before: Sequence[Client], after: list[Client], near: list[Neighbourhood], exchange: Exchange
) -> tuple[list[Client], list[Neighbourhood]]:
    """The clients as they ask releases, and what their models read then: as a rule what was condensed from.

    Args:
        defense: which may keep edges for asking alone.
        before: the clients before its hand was on their data.
        after: the clients that are condensed.
        near: what is condensed from.
        exchange: how clients come by what they read.
    """
    clients = [defense.asked(b, a) for b, a in zip(before, after, strict=True)]
    same = all(c is a for c, a in zip(clients, after, strict=True))
    return clients, near if same else exchange(clients)


def utilities(
    bench: UtilityEvaluator,
    releases: Sequence[tuple[int, CondensedGraph]],
    seed: np.random.SeedSequence,
    progress: Progress,
) -> tuple[tuple[Utility, ...], int]:
    """The worth of each release, and which of them is best on validation nodes."""
    found = []
    for done, (round_, release) in enumerate(releases):
        found.append(bench.utility(release, round_, branch(seed, round_)))
        progress("measuring utility", done + 1, len(releases))
    return tuple(found), int(np.argmax([u.validation for u in found]))


def transferred(
    release: CondensedGraph,
    data: Data,
    clients: Sequence[Client],
    phase: EvaluationSettings,
    seed: np.random.SeedSequence,
    progress: Progress,
    across: bool = True,
) -> dict[str, float]:
    """Test accuracy of other architectures on the whole graph, with the features and edges that the clients hold.

    Each client tunes them on its own labels if the test phase has it so, as FedGC's does (section 3.1).

    Edges between clients count only if what they condensed from knew them (``across``).
    """
    from .downstream import ARCHITECTURES, Share, WholeGraph, transfer

    x = torch.zeros(data.x.shape, device=clients[0].x.device)
    for client in clients:
        x[client.nodes] = client.x
    edges = [c.nodes[c.edges] for c in clients]
    if across:
        edges += [torch.stack([c.nodes[c.cut[0]], c.cut[1]]) for c in clients]

    def told(client: Client, mask: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        return client.nodes[mask], labels[mask]

    shares = [Share(told(c, c.train, c.y_train), told(c, c.val, c.y), told(c, c.test, c.y)) for c in clients]
    return transfer(
        release,
        WholeGraph(x, torch.cat(edges, dim=1), tuple(shares)),
        clients[0].classes,
        phase,
        seed,
        progress=lambda done: progress("training other architectures", done, len(ARCHITECTURES)),
    )
