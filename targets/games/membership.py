"""Membership: was this node's label, or this node, trained on?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from ...graphs.measures.communities import leiden
from ...graphs.network import Floats, Network
from ...graphs.pair_codes import codes, distinct, ends
from ...randomness import branch
from ..game import (
    QUERIES,
    Adversary,
    Game,
    Grant,
    GraphKnowledge,
    Neighbours,
    Words,
    as_it_is,
    in_thirds,
    no_edges,
    without_ancestry,
)
from ..party import Client
from .public_columns import node_columns

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data

POPULATION = 1000
FEW = 50
SMALLEST_SHADOW = 8


def _nobody() -> Tensor:
    """Nodes [0]."""
    import torch

    return torch.empty(0, dtype=torch.long)


@dataclass(frozen=True, eq=False, kw_only=True)
class NodeKnowledge(GraphKnowledge):
    """What an adversary knows beforehand who asks about nodes.

    Attributes:
        shadow: nodes of its own, disjoint from the target's train and test nodes, labels known.
        shadow_edges: the edges among them, [2, e'].
        auditor: whether it knows the labels of the subjects and all edges, as an auditor does who trains shadow
            models on the very nodes in question. Which of them are members it does not know.
        population: nodes of its own that no shadow model is trained on; never members, [z].
        all_edges: every edge, for an auditor; else none, [2, e].
        holders: the number of the client that holds each node, [n], for one who knows that; else None.
    """

    shadow: Tensor
    shadow_edges: Tensor
    auditor: bool = False
    population: Tensor = field(default_factory=_nobody)
    all_edges: Tensor = field(default_factory=no_edges)
    holders: Tensor | None = None

    def lacks(self, auditor: bool, own_data: bool) -> str | None:
        if auditor and not self.auditor:
            return "it needs an auditor's knowledge: the labels of the nodes in question and all edges"
        if own_data and len(self.shadow) < SMALLEST_SHADOW:
            return (
                f"only {len(self.shadow)} nodes are neither members nor non-members in question, a shadow model "
                f"needs {SMALLEST_SHADOW}: leave more nodes out of the masks"
            )
        return None

    def sentence(self) -> str:
        labels = ", the labels of all of these and every edge" if self.auditor else ""
        return (
            f"knows the features of all {len(self.x)} nodes and asks with {QUERIES[self.neighbours]}, "
            f"knows that {self.members} of {len(self.subjects)} nodes are members{labels}, "
            f"owns {len(self.shadow)} labelled nodes of the same distribution"
            f"{f' and {len(self.population)} that no model is trained on' if self.auditor else ''}, "
            f"{'' if self.holders is None else 'knows which client holds which node, '}"
            f"{self._training()}{self._defense()}"
        )

    def _training(self) -> str:
        """What it knows of how the model was trained."""
        if self.own is not None:
            return "trains shadow models with the owner's own code, "
        return "" if self.recipe is None else "knows how the model was trained, "


@dataclass(frozen=True, kw_only=True)
class NodeGame(Game):
    """Base of games whose subjects are nodes.

    Attributes:
        holders: the number of the client that holds each node of the graph, [N]; None where nobody said.
    """

    holders: np.ndarray | None = None

    def grant_key(self, adversary: Adversary) -> tuple[object, ...]:
        """Who asks alike knows the same, but for who holds what."""
        return (adversary.attack.knows_parts,)

    def grant(
        self, data: Data, adversary: Adversary, seed: np.random.SeedSequence
    ) -> tuple[Grant, Callable[[Game], Game]]:
        """The prior knowledge of the shadow-model adversary (FedGC, appendix E), or of an auditor.

        Shadow nodes are drawn from those that are neither train nor test nodes of the target, as many as there
        are subjects or as many as there are. What is left then is the population that no model is trained on; where
        next to nothing is left, it is a quarter of the shadow nodes.
        """
        import torch
        from torch_geometric.utils import subgraph

        rng, auditor = np.random.default_rng(branch(seed, "grant")), adversary.attack.auditor
        holders = self.holders if adversary.attack.knows_parts else None
        if adversary.attack.knows_parts and holders is None:
            raise InputError("it needs to know which client holds which node, and nobody said")
        nodes = data.num_nodes
        ours = rng.permutation(nodes)
        theirs = np.empty(nodes, dtype=np.int64)
        theirs[ours] = np.arange(nodes)
        shadow, population = drawn_apart(self.subjects, theirs, rng)
        edges = torch.from_numpy(theirs)[data.edge_index.cpu()]
        known = torch.from_numpy(shadow)
        labels = torch.full((nodes,), -1, dtype=torch.long)
        told = torch.from_numpy(np.concatenate([shadow, population, theirs[self.subjects] if auditor else shadow]))
        labels[told] = data.y.cpu()[torch.from_numpy(ours)[told]]
        inside, _ = subgraph(known, edges, num_nodes=nodes)
        knowledge = NodeKnowledge(
            x=data.x.cpu()[torch.from_numpy(ours)],
            edges=asked_with(edges, adversary.neighbours, rng),
            neighbours=adversary.neighbours,
            labels=labels,
            subjects=torch.from_numpy(np.sort(theirs[self.subjects])),
            shadow=known,
            shadow_edges=inside,
            members=int(self.truth.sum()),
            classes=int(data.y.max()) + 1,
            knows_defense=adversary.knows_defense,
            game=self.name,
            recipe=adversary.recipe,
            own=None if adversary.own is None else adversary.own.granted(ours),
            auditor=auditor,
            population=torch.from_numpy(population),
            all_edges=edges if auditor else edges[:, :0],
            holders=None if holders is None else torch.from_numpy(holders[ours]),
            seed=without_ancestry(branch(seed, "coins")),
        )
        return Grant(knowledge, ours), as_it_is

    def public_columns(self, data: Data, seed: np.random.SeedSequence) -> dict[str, Floats]:
        return node_columns(data, np.sort(self.subjects), seed)

    def compared_within(self, data: Data) -> np.ndarray | None:
        """Classes: splits take as many members of each, whatever the class's size."""
        classes: np.ndarray = data.y.cpu().numpy()[np.sort(self.subjects)]
        return classes

    def groupings(self, data: Data) -> dict[str, np.ndarray]:
        """``clients`` where everybody in question belongs to one, and ``communities`` of the public graph."""
        found = {"communities": communities_of(data, np.sort(self.subjects))}
        if self.owners is not None and (self.owners >= 0).all():
            found = {"clients": self.in_order(self.owners).astype(np.int64)} | found
        return found

    def attributes(self, data: Data) -> dict[str, np.ndarray]:
        """``degree`` and ``homophily`` (share of neighbours with the same label) in thirds of the subjects,
        ``class``, and ``client`` where there are several."""
        order = np.argsort(self.subjects)
        nodes = self.subjects[order]
        row, col = data.edge_index.cpu().numpy()
        labels = data.y.cpu().numpy()
        degree = np.bincount(row, minlength=data.num_nodes)
        same = np.bincount(row, weights=labels[row] == labels[col], minlength=data.num_nodes)
        found = {
            "degree": in_thirds(degree[nodes]),
            "homophily": in_thirds(same[nodes] / np.maximum(degree[nodes], 1)),
            "class": labels[nodes].astype(str),
        }
        if self.owners is not None and (self.owners >= 0).all():  # else who has an owner is a member
            found["client"] = self.owners[order].astype(str)
        return found


class LabelMembership(NodeGame):
    """Was this node's label trained on? (transductive)"""

    name = "label-membership"
    unit = "the label of one node"
    words = Words(
        "Label membership: was this node's label trained on?",
        "Was this person's label trained on?",
        "the people whose labels were trained on",
        asks=True,
    )


class NodePresence(NodeGame):
    """Were this node, its features and its edges there at all? (inductive)"""

    name = "node-presence"
    unit = "one node with its features, label and edges"
    words = Words(
        "Node presence: were this node, its features and its edges there at all?",
        "Was this person in the training data?",
        "the people in the training data",
        asks=True,
    )


NODE_GAMES: dict[str, type[NodeGame]] = {game.name: game for game in (LabelMembership, NodePresence)}
"""Games of targets whose settings choose one of the two."""


def by_masks(game: str, data: Data) -> NodeGame:
    """One of `NODE_GAMES` as a graph's masks tell it: train nodes are members, test nodes are asked about too."""
    train, test = data.train_mask.cpu().numpy(), data.test_mask.cpu().numpy()
    subjects = np.flatnonzero(train | test)
    return NODE_GAMES[game](subjects=subjects, truth=train[subjects])


def label_membership(
    data: Data, clients: Sequence[Client], groups: Mapping[str, np.ndarray] | None = None
) -> LabelMembership:
    """Members: nodes whose label was trained on. Non-members: test nodes.

    Args:
        data: the whole graph.
        clients: who holds which node.
        groups: for each group of members or non-members that is reported apart, which of the N nodes it leaves out.
    """
    train = data.train_mask.cpu().numpy()
    subjects = np.flatnonzero(train | data.test_mask.cpu().numpy())
    owners = np.empty(len(train), dtype=np.int64)
    for client in clients:
        owners[client.nodes.cpu().numpy()] = client.number
    apart = {name: ~left_out[subjects] for name, left_out in (groups or {}).items()}
    return LabelMembership(
        subjects=subjects, truth=train[subjects], groups=apart, owners=owners[subjects], holders=owners
    )


def channels_of_leakage(train: np.ndarray, copied: np.ndarray) -> dict[str, np.ndarray]:
    """Which nodes each group of members leaves out [N]: of those whose rows a release starts from, and of the
    others.

    The first are told by the start, the others by the matching alone.
    """
    return {"members copied at first": train & ~copied, "members never copied": train & copied}


def communities_of(data: Data, nodes: np.ndarray) -> np.ndarray:
    """The community of the graph that each of some nodes [s] is in, [s]."""
    network = Network(data.num_nodes, np.stack(ends(_pairs(data), data.num_nodes)))
    found: np.ndarray = leiden(network, np.random.default_rng(0))[0][nodes]
    return found


def _pairs(data: Data) -> np.ndarray:
    """Codes of the linked pairs of a graph, each once."""
    source, target = data.edge_index.cpu().numpy()
    return distinct(codes(source, target, data.num_nodes)[source != target])


def drawn_apart(
    subjects: np.ndarray, theirs: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Whom an adversary has for itself beside the subjects: shadow and population, ascending, in its own ids.

    Args:
        subjects: our ids of those in question.
        theirs: its id of each of ours, [n].
        rng: of the draw.
    """
    drawn = rng.permutation(np.setdiff1d(np.arange(len(theirs)), subjects))
    shadow = np.sort(theirs[drawn[: len(subjects)]])
    rest = theirs[drawn[len(subjects) :][:POPULATION]]
    population = np.sort(rest if len(rest) >= FEW else rng.choice(shadow, len(shadow) // 4, replace=False))
    return shadow, population


def asked_with(edges: Tensor, neighbours: Neighbours, rng: np.random.Generator) -> Tensor:
    """The edges of the adversary's queries: all, a random half (both directions together), or none."""
    import torch

    if neighbours in ("true", "apart"):
        return edges
    if neighbours == "none":
        return edges[:, :0]
    once = edges[:, edges[0] < edges[1]]
    once = once[:, torch.from_numpy(rng.permutation(once.shape[1])[: once.shape[1] // 2])]
    return torch.cat([once, once.flip(0)], dim=1)
