"""Who is who from a few edges around a person: subgraph queries (Hay et al. 2008)."""

from collections.abc import Iterator
from itertools import islice
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy.sparse import csr_array

from ...graphs.network import Ints, Network, Original
from .identity_attack import Candidates, Facts, StructuralQuery, StructuralQuerySettings, shared
from .rooted_search import MOST_EDGES, RootedSearch

UNKNOWN = -1


class SubgraphQuerySettings(StructuralQuerySettings):
    """Settings of `SubgraphQuery`."""

    edges: int = Field(15, ge=1, le=MOST_EDGES, description="how many edges around a person are known")
    growth: Literal["breadth", "walk"] = Field(
        "breadth", description="breadth: nearest edges first; walk: those of a walk that takes no edge twice"
    )
    persons: int = Field(
        50, ge=1, description="persons, drawn at random, of whom that is known; nothing of the others"
    )
    trials: int = Field(10_000, ge=1, description="after so many a published node that is undecided is a candidate")


class SubgraphQuery(StructuralQuery):
    """Knows some edges around each of a few persons, and asks where in the published network these can be found.

    A candidate is a node that the edges can be laid around so that different persons are different nodes. That
    edges are known says nothing about others, so there may be more between the same nodes (a monomorphism, not an
    induced subgraph). Persons of whom nothing is known may be anybody.

    To decide that is NP-hard in the number of edges. Nodes that are undecided after ``trials`` stay candidates;
    their number is ``undecided``. Candidates are filtered by degree and by what their neighbours can be first.

    Attributes:
        undecided: pairs of a person and a published node that the last call did not decide.
    """

    name = "subgraph-query"
    Settings = SubgraphQuerySettings
    settings: SubgraphQuerySettings
    undecided: int = 0

    @property
    def knows(self) -> str:
        edges, persons = self.settings.edges, self.settings.persons
        how = "nearest first" if self.settings.growth == "breadth" else "along a walk"
        return f"up to {edges} edges around each of {persons} of them, {how}, and nothing of the others"

    def learn(self, original: Original, rng: np.random.Generator) -> Facts:
        """The edges known of each person, its own number 0 and others as they come up; -1 where none, [p, b, 2]."""
        people, edges = original.people, self.settings.edges
        known = np.full((people, edges, 2), UNKNOWN, dtype=np.int8)
        for person in rng.permutation(people)[: self.settings.persons]:
            found = grown(original.network.adjacency, int(person), edges, self.settings.growth, rng)
            known[person, : len(found)] = found
        return {"edges": known}

    def asked(self, facts: Facts) -> NDArray[np.bool_]:
        """Those around whom it knows an edge."""
        known: NDArray[np.bool_] = facts["edges"][:, 0, 0] != UNKNOWN
        return known

    def candidates(self, published: Network, facts: Facts, seeds: Ints, rng: np.random.Generator) -> Candidates:
        known, self.undecided = facts["edges"], 0
        sets, own = [np.arange(published.nodes)], np.zeros(len(known), dtype=np.int64)
        asked = np.flatnonzero(known[:, 0, 0] != UNKNOWN) if published.counts is None else own[:0]
        search = RootedSearch(published.adjacency)
        for person in asked:
            pattern = known[person][known[person][:, 0] != UNKNOWN].astype(np.int64)
            found, undecided = search.roots(pattern, self.settings.trials)
            self.undecided += undecided
            own[person] = len(sets)
            sets.append(found)
        return shared(sets, own)


def grown(
    graph: csr_array, root: int, edges: int, growth: Literal["breadth", "walk"], rng: np.random.Generator
) -> Ints:
    """Edges around a node in the order in which they are learned, fewer where its component has no more.

    Breadth: all edges of the node, in random order, then those of the neighbours in the order in which they came
    up. Walk: from node to node along random edges, none twice, and back where there is no other.

    Args:
        graph: adjacency [n, n].
        root: the node.
        edges: how many to learn.
        growth: in which order.
        rng: of the order. With the same one, fewer edges are the first of more.

    Returns:
        Ends of the edges, numbered as they come up; the node itself is 0, [b, 2].
    """
    number: dict[int, int] = {root: 0}
    found: list[tuple[int, int]] = []
    for node, other in islice((_breadth if growth == "breadth" else _walk)(graph, root, rng), edges):
        found.append((number[node], number.setdefault(other, len(number))))
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def _near(graph: csr_array, node: int) -> Ints:
    return graph.indices[graph.indptr[node] : graph.indptr[node + 1]].astype(np.int64)


def _breadth(graph: csr_array, root: int, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    queue, reached, left = [root], {root}, set()
    for node in queue:
        for other in rng.permutation(_near(graph, node)).tolist():
            if other in left:  # the edge came up from its other end
                continue
            if other not in reached:
                reached.add(other)
                queue.append(other)
            yield node, other
        left.add(node)


def _walk(graph: csr_array, root: int, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    path: list[int] = [root]
    taken: set[tuple[int, int]] = set()
    while path:
        node = path[-1]
        new = [v for v in _near(graph, node).tolist() if (min(node, v), max(node, v)) not in taken]
        if not new:
            path.pop()
            continue
        other = new[rng.integers(len(new))]
        taken.add((min(node, other), max(node, other)))
        path.append(other)
        yield node, other
