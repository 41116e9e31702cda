"""Membership of whole graphs: was this graph trained on?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...graphs.collection import GRAPH_OF, by_graph, graphs_in, is_collection, reordered
from ...graphs.network import Floats
from ...randomness import branch
from ..game import QUERIES, Adversary, Game, Grant, Words, as_it_is, in_thirds, without_ancestry
from .graph_columns import density_of, edges_of, graph_columns, nodes_of
from .membership import SMALLEST_SHADOW, NodeKnowledge, asked_with, drawn_apart

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data


@dataclass(frozen=True, eq=False, kw_only=True)
class CollectionKnowledge(NodeKnowledge):
    """What an adversary knows beforehand who asks about whole graphs.

    Subjects, shadow, population and labels are of graphs; features and edges are of nodes.

    Attributes:
        graph_of: the graph of each node, [n].
    """

    graph_of: Tensor

    def posed(self, x: Tensor, edges: Tensor) -> Data:
        import torch
        from torch_geometric.data import Data

        nobody = torch.zeros(len(self.labels), dtype=torch.long)
        return Data(x=x, edge_index=edges, y=nobody, **{GRAPH_OF: self.graph_of.to(x.device)})

    def lacks(self, auditor: bool, own_data: bool) -> str | None:
        if auditor and not self.auditor:
            return "it needs an auditor's knowledge: the labels of the graphs in question"
        if own_data and len(self.shadow) < SMALLEST_SHADOW:
            return (
                f"only {len(self.shadow)} graphs are neither members nor non-members in question, a shadow model "
                f"needs {SMALLEST_SHADOW}: put fewer graphs in question"
            )
        return None

    def sentence(self) -> str:
        labels = ", and the labels of these" if self.auditor else ""
        return (
            f"has all {len(self.labels)} graphs and asks with {QUERIES[self.neighbours]}, "
            f"knows that {self.members} of {len(self.subjects)} graphs are members{labels}, "
            f"owns {len(self.shadow)} labelled graphs of the same distribution"
            f"{f' and {len(self.population)} that no model is trained on' if self.auditor else ''}, "
            f"{self._training()}{self._defense()}"
        )


@dataclass(frozen=True, kw_only=True)
class GraphMembership(Game):
    """Was this whole graph, one record of a collection, trained on?"""

    name = "graph-membership"
    unit = "one graph with its nodes, edges and label"
    planted = "planted-graphs"
    words = Words(
        "Graph membership: was this whole graph trained on?",
        "Was this graph in the training data?",
        "the graphs in the training data",
        public="what the graphs alone tell of membership",
        asks=True,
        auditor="all graphs and the labels of those in question",
    )

    def grant_key(self, adversary: Adversary) -> tuple[object, ...]:
        """Who asks alike knows the same."""
        return ()

    def grant(
        self, data: Data, adversary: Adversary, seed: np.random.SeedSequence
    ) -> tuple[Grant, Callable[[Game], Game]]:
        """All graphs in another order; labels of its own graphs, and an auditor those of the graphs in question."""
        import torch

        if not is_collection(data):
            raise InputError("membership of graphs is asked of a collection of graphs, and this is one graph")
        rng, auditor = np.random.default_rng(branch(seed, "grant")), adversary.attack.auditor
        graphs = graphs_in(data)
        ours = rng.permutation(graphs)
        theirs = np.empty(graphs, dtype=np.int64)
        theirs[ours] = np.arange(graphs)
        shadow, population = drawn_apart(self.subjects, theirs, rng)
        x, edges, graph_of = reordered(data.cpu(), torch.from_numpy(ours))
        labels = torch.full((graphs,), -1, dtype=torch.long)
        told = torch.from_numpy(np.concatenate([shadow, population, theirs[self.subjects] if auditor else shadow]))
        labels[told] = by_graph(data.cpu(), "y")[torch.from_numpy(ours)[told]]
        own = torch.zeros(graphs, dtype=torch.bool)
        own[torch.from_numpy(shadow)] = True
        knowledge = CollectionKnowledge(
            x=x,
            edges=asked_with(edges, adversary.neighbours, rng),
            neighbours=adversary.neighbours,
            labels=labels,
            subjects=torch.from_numpy(np.sort(theirs[self.subjects])),
            shadow=torch.from_numpy(shadow),
            shadow_edges=edges[:, own[graph_of[edges[0]]]],
            members=int(self.truth.sum()),
            classes=int(data.y.max()) + 1,
            knows_defense=adversary.knows_defense,
            game=self.name,
            recipe=adversary.recipe,
            auditor=auditor,
            population=torch.from_numpy(population),
            all_edges=edges if auditor else edges[:, :0],
            seed=without_ancestry(branch(seed, "coins")),
            graph_of=graph_of,
        )
        return Grant(knowledge, ours), as_it_is

    def public_columns(self, data: Data, seed: np.random.SeedSequence) -> dict[str, Floats]:
        """Nodes, edges, density, label, mean features and Weisfeiler-Lehman colours, and all of these."""
        subjects = np.sort(self.subjects)
        return {name: columns[subjects] for name, columns in graph_columns(data.cpu(), seed).items()}

    def compared_within(self, data: Data) -> np.ndarray | None:
        """Classes."""
        classes: np.ndarray = by_graph(data, "y").cpu().numpy()[np.sort(self.subjects)]
        return classes

    def attributes(self, data: Data) -> dict[str, np.ndarray]:
        """``nodes``, ``edges`` and ``density`` in thirds of the subjects, and ``class``."""
        subjects, data = np.sort(self.subjects), data.cpu()
        measured: dict[str, Any] = {"nodes": nodes_of(data), "edges": edges_of(data), "density": density_of(data)}
        found = {name: in_thirds(values[subjects]) for name, values in measured.items()}
        return found | {"class": by_graph(data, "y").numpy()[subjects].astype(str)}


def graph_membership(data: Data) -> GraphMembership:
    """The game as a collection's masks tell it: train graphs are members, test graphs are asked about too."""
    train, test = by_graph(data, "train_mask").cpu().numpy(), by_graph(data, "test_mask").cpu().numpy()
    subjects = np.flatnonzero(train | test)
    return GraphMembership(subjects=subjects, truth=train[subjects])
