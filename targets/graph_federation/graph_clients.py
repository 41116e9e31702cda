"""Who holds which graphs of a collection, and which of these are trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from torch import Tensor

from ...errors import InputError
from ...graphs.collection import by_graph, graphs_in, sizes_of
from ...randomness import branch
from ..games.graph_membership import GraphMembership
from ..partition import partition

if TYPE_CHECKING:
    from torch_geometric.data import Data

Division = Literal["random", "dirichlet", "size"]
FEWEST = 3
"""Graphs of a client, at least: one to train on, one for validation, one to test."""


@dataclass(frozen=True, eq=False)
class GraphClient:
    """A client's graphs.

    Attributes:
        number: from 0.
        labels: class of every graph of the collection, [G]; only its own are the client's.
        train, val, test: its graphs by their use, masks of all graphs [G].
        classes: C.
    """

    number: int
    labels: Tensor
    train: Tensor
    val: Tensor
    test: Tensor
    classes: int

    @property
    def name(self) -> str:
        return f"client:{self.number}"

    @property
    def held(self) -> Tensor:
        """All graphs that it holds, [G] bool."""
        return self.train | self.val | self.test

    def class_counts(self) -> Tensor:
        """Graphs that it trains on, by class, [C]."""
        return torch.bincount(self.labels[self.train], minlength=self.classes)


def graph_clients(
    data: Data,
    clients: int,
    how: Division,
    beta: float,
    shares: tuple[float, float],
    seed: np.random.SeedSequence,
) -> list[GraphClient]:
    """Divides the graphs of a collection among clients, and each client's graphs by their use.

    Args:
        data: a checked collection.
        clients: K.
        how: ``random``: parts of equal size; ``dirichlet``: each class in proportions drawn from Dirichlet(beta)
            (`partition.partition`); ``size``: parts of equal size, the smallest graphs to the first client.
        beta: of the Dirichlet partition.
        shares: of a client's graphs to train on and to test; the others are for validation.
        seed: of all that is drawn.

    Raises:
        InputError: a client would hold fewer graphs than three, or the shares leave nothing.
    """
    owner = torch.from_numpy(_owners(data, clients, how, beta, branch(seed, "partition")))
    labels, classes = by_graph(data, "y"), int(data.y.max()) + 1
    fewest = int(torch.bincount(owner, minlength=clients).min())
    if fewest < FEWEST:
        larger = ", or a larger beta" if how == "dirichlet" else ""
        raise InputError(f"a client holds {fewest} graphs, and needs {FEWEST}: use fewer clients{larger}")
    found = []
    for number in range(clients):
        own = (owner == number).nonzero().flatten()
        uses = _uses(len(own), shares, np.random.default_rng(branch(seed, "split", number)))
        train, val, test = (torch.zeros(len(owner), dtype=torch.bool) for _ in range(3))
        for mask, use in zip((train, val, test), uses, strict=True):
            mask[own[torch.from_numpy(use)]] = True
        found.append(GraphClient(number, labels, train, val, test, classes))
    return found


def _owners(data: Data, clients: int, how: Division, beta: float, seed: np.random.SeedSequence) -> np.ndarray:
    from torch_geometric.data import Data as Graph

    graphs = graphs_in(data)
    if how == "dirichlet":  # graphs take the place of nodes
        nothing = torch.empty((2, 0), dtype=torch.long)
        parts = partition(
            Graph(y=by_graph(data, "y"), edge_index=nothing, num_nodes=graphs), how, clients, seed, beta
        )
        by_class: np.ndarray = parts.owner.numpy()
        return by_class
    order = np.random.default_rng(seed).permutation(graphs)
    if how == "size":
        order = order[np.argsort(sizes_of(data).numpy()[order], kind="stable")]
    owner = np.empty(graphs, dtype=np.int64)
    owner[order] = np.arange(graphs) * clients // graphs
    return owner


def _uses(graphs: int, shares: tuple[float, float], rng: np.random.Generator) -> list[np.ndarray]:
    """Places of the graphs to train on, for validation and to test: at least one of each."""
    train, test = (min(max(round(share * graphs), 1), graphs - 2) for share in shares)
    test = min(test, graphs - train - 1)
    return np.split(rng.permutation(graphs), [train, graphs - test])


def membership_of(clients: Sequence[GraphClient]) -> GraphMembership:
    """The truth: graphs that a client trained on against those that it tests on; a group for each client."""
    train, test = (torch.stack([getattr(c, use) for c in clients]) for use in ("train", "test"))
    owner = (train | test).int().argmax(0).numpy()
    subjects = np.flatnonzero((train | test).any(0).numpy())
    owners = owner[subjects]
    groups = {c.name: owners == c.number for c in clients} if len(clients) > 1 else {}
    return GraphMembership(subjects=subjects, truth=train.any(0).numpy()[subjects], owners=owners, groups=groups)
