"""Neighbourhoods in one batch of graphs as secrets: is there a node with such surroundings in it?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from ...graphs.balls import balls_around
from ...graphs.collection import is_collection
from ...graphs.network import Floats, Ints
from ...randomness import branch
from ..game import Adversary, Game, Grant, Knowledge, Words, as_it_is, in_thirds, without_ancestry
from .graph_columns import refined
from .lone_node import UploadGrant

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data

PAIRS = 100
"""Neighbourhoods of a batch that are in question, at most."""
AS_COMMON = 2.0
"""By which factor one that is there and its counterpart may differ in how many graphs have them."""


@dataclass(frozen=True, eq=False, kw_only=True)
class NeighbourhoodKnowledge(Knowledge):
    """It knows each neighbourhood in question, as a small graph with a root, and how common it is.

    Neighbourhoods with the edges among their nodes are a disjoint union of m nodes. A subject is
    ``client * N + node``.

    Attributes:
        clients: the client of each subject, [s].
        x: features, [m, d].
        edges: both directions, [2, e].
        degree: how many edges each node has in its whole graph, [m].
        neighbourhood: the place among the subjects of what each node belongs to, [m].
        steps: how far each node is from the root of its neighbourhood, which is at 0, [m].
        radius: how many steps a neighbourhood reaches.
        graphs: in how many graphs of the collection it occurs, [s].
    """

    clients: Tensor
    x: Tensor
    edges: Tensor
    degree: Tensor
    neighbourhood: Tensor
    steps: Tensor
    radius: int
    graphs: Tensor

    def sentence(self) -> str:
        return (
            f"knows {len(self.subjects)} neighbourhoods of {self.radius} steps and how many graphs have each, and "
            f"that {self.members} of them were in a client's first batch, {self._defense()}"
        )


@dataclass(frozen=True, kw_only=True)
class NeighbourhoodPresence(Game):
    """Is a node with such surroundings in a client's first batch of graphs?

    Half of the subjects are there. Each has a counterpart that is not, and that about as many graphs of the
    collection have. A subject is ``client * N + node``, where the node is the first of all with such surroundings.

    Attributes:
        radius: how many steps surroundings reach.
        degrees: whether nodes are told apart by their degrees too, those of the last step among them, as a GCN's
            rows do.
    """

    name = "neighbourhood-presence"
    unit = "whether a client's batch has a node with given surroundings"
    words = Words(
        "Neighbourhood presence: is a node with these surroundings in the client's batch of graphs?",
        "Can parts of a party's graphs be read off one upload?",
        "neighbourhoods in the batch",
        "neighbourhoods in the batch from others that are as common",
        "neighbourhood that is not in the batch",
        "neighbourhoods that are not in the batch",
        public="what neighbourhoods alone tell of who has them",
    )
    metrics = ()
    planted = "planted-neighbourhoods"
    asked_with = "--set upload=gradients"

    radius: int
    degrees: bool

    def grant_key(self, adversary: Adversary) -> tuple[object, ...]:
        """Everybody knows the same."""
        return ()

    def grant(
        self, data: Data, adversary: Adversary, seed: np.random.SeedSequence
    ) -> tuple[Grant, Callable[[Game], Game]]:
        """The neighbourhoods, and how common they are; clients are called what they are."""
        import torch

        if not is_collection(data):
            raise InputError("neighbourhoods are asked of a collection of graphs, and this is one graph")
        subjects, count = np.sort(self.subjects), int(data.num_nodes or 0)
        edges = data.edge_index.cpu().numpy()
        balls = balls_around(subjects % count, edges, count, self.radius)
        degree = np.bincount(edges[0], minlength=count)
        knowledge = NeighbourhoodKnowledge(
            subjects=torch.from_numpy(subjects),
            members=int(self.truth.sum()),
            knows_defense=adversary.knows_defense,
            game=self.name,
            seed=without_ancestry(branch(seed, "coins")),
            clients=torch.from_numpy(subjects // count),
            x=data.x.cpu()[torch.from_numpy(balls.nodes)],
            edges=torch.from_numpy(balls.edges),
            degree=torch.from_numpy(degree[balls.nodes]),
            neighbourhood=torch.from_numpy(balls.ball_of),
            steps=torch.from_numpy(balls.steps),
            radius=self.radius,
            graphs=torch.from_numpy(self._graphs(data)),
        )
        return UploadGrant(knowledge, np.arange(count)), as_it_is

    def public_columns(self, data: Data, seed: np.random.SeedSequence) -> dict[str, Floats]:
        """``common``: how many graphs have it; ``centre``: the node's own features and degree."""
        nodes = np.sort(self.subjects) % int(data.num_nodes or 0)
        degree = np.bincount(data.edge_index[0].cpu().numpy(), minlength=data.num_nodes)[nodes]
        centre = np.column_stack([data.x.cpu().numpy()[nodes], degree]).astype(np.float64)
        return {"common": np.log(self._graphs(data))[:, None], "centre": centre}

    def attributes(self, data: Data) -> dict[str, np.ndarray]:
        """``client``, and in how many graphs it is (``common``), in thirds."""
        client = np.sort(self.subjects) // int(data.num_nodes or 0)
        return {"client": client.astype(str), "common": in_thirds(self._graphs(data))}

    def _graphs(self, data: Data) -> Ints:
        """In how many graphs each subject in ascending order occurs, [s]."""
        kinds = surroundings(data, self.radius, self.degrees)
        found: Ints = graphs_with(kinds, data.graph_of.cpu().numpy())[kinds[np.sort(self.subjects) % len(kinds)]]
        return found


def surroundings(data: Data, radius: int, degrees: bool) -> Ints:
    """Of which kind each node's surroundings are, [N]: of one where as many refinements do not tell them apart.

    Nodes begin with their features, and with their degrees where these count; each refinement adds the colours
    around a node (Weisfeiler and Leman).
    """
    edges, x = data.edge_index.cpu().numpy(), data.x.cpu().numpy()
    degree = np.bincount(edges[0], minlength=len(x))
    told = np.column_stack([x, degree]) if degrees else x
    colour: Ints = np.unique(told, axis=0, return_inverse=True)[1].reshape(-1)
    for _ in range(radius):
        colour = refined(colour, *edges)
    return colour


def graphs_with(kinds: Ints, graph_of: Ints) -> Ints:
    """In how many graphs each kind occurs, [T]."""
    both = np.unique(np.column_stack([kinds, graph_of]), axis=0)
    found: Ints = np.bincount(both[:, 0], minlength=int(kinds.max()) + 1)
    return found


def neighbourhood_presence(
    data: Data, batches: Sequence[Ints], radius: int, degrees: bool, seed: np.random.SeedSequence
) -> dict[str, Game]:
    """The game by its name; nothing where no neighbourhood of a batch has a counterpart that is as common.

    Args:
        data: the collection.
        batches: the numbers of the graphs in each client's batch.
        radius: see `NeighbourhoodPresence`.
        degrees: see there.
        seed: of who is in question.
    """
    kinds, graph_of = surroundings(data, radius, degrees), data.graph_of.cpu().numpy()
    graphs, first = graphs_with(kinds, graph_of), np.unique(kinds, return_index=True)[1]
    subjects, truth = list[int](), list[bool]()
    for client, batch in enumerate(batches):
        there = np.zeros(len(graphs), dtype=bool)
        there[kinds[np.isin(graph_of, batch)]] = True
        for pair in as_common(there, graphs, np.random.default_rng(branch(seed, client))):
            subjects += [client * len(kinds) + int(first[kind]) for kind in pair]
            truth += [True, False]
    if not subjects:
        return {}
    asked = np.array(subjects)
    game = NeighbourhoodPresence(
        subjects=asked, truth=np.array(truth), owners=asked // len(kinds), radius=radius, degrees=degrees
    )
    return {game.name: game}


def as_common(there: np.ndarray, graphs: Ints, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Pairs of a kind that is there and one that is not, each once, in about as many graphs.

    Args:
        there: whether a kind is in the batch, [T] bool.
        graphs: in how many graphs of the collection each kind occurs, [T].
        rng: of the order in which those that are there choose, and of whom among equals.
    """
    absent, found = rng.permutation(np.flatnonzero(~there)), list[tuple[int, int]]()
    free = np.ones(len(absent), dtype=bool)
    for kind in rng.permutation(np.flatnonzero(there)).tolist():
        apart = np.abs(np.log(graphs[absent] / graphs[kind]))
        apart[~free] = np.inf
        if len(found) == PAIRS or not len(apart):
            break
        nearest = int(apart.argmin())
        if apart[nearest] <= np.log(AS_COMMON):
            free[nearest] = False
            found.append((kind, int(absent[nearest])))
    return found
