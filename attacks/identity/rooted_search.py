"""Where in a large graph a small rooted one can be found: its edges must be there, others may be too."""

import numpy as np
from scipy.sparse import csr_array

from ...graphs.network import Ints

MOST_EDGES = 60
"""A connected pattern of so many edges has few enough vertices for a bit of a whole number each."""
Links = list[Ints]
"""The neighbours of each vertex of a pattern."""


class RootedSearch:
    """Finds the nodes of a graph that patterns can be laid around: rooted subgraph monomorphisms.

    Args:
        graph: adjacency [n, n], indices ascending within each row.
    """

    def __init__(self, graph: csr_array) -> None:
        self.degrees = np.diff(graph.indptr).astype(np.int64)
        self.start, self.near = graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
        whose = np.repeat(np.arange(len(self.degrees)), self.degrees)
        self.tried = self.near[np.lexsort((-self.degrees[self.near], whose))]

    def roots(self, pattern: Ints, trials: int) -> tuple[Ints, int]:
        """The nodes that a pattern can be laid around so that different vertices are different nodes.

        Args:
            pattern: connected edges between vertices 0 to k - 1, each once, [b, 2]; vertex 0 is the root.
            trials: nodes to look at for each root; what is undecided then counts as one.

        Returns:
            Roots, ascending, and how many of them are undecided.
        """
        from .rooted_embedding import NO, UNDECIDED, Graph, Pattern, embedded_at

        links = links_of(pattern)
        core = _core(links)
        links = _renumbered(links, core)
        domain = self.domains(links)
        earlier = [near[near < v] for v, near in enumerate(links[: len(core)])]
        begin = np.cumsum([0, *map(len, earlier)])
        leaves = np.array([(near >= len(core)).sum() for near in links[: len(core)]])
        roots = np.flatnonzero(domain & 1)
        asked = Pattern(domain, begin, np.concatenate(earlier), leaves, _within(links))
        found = embedded_at(Graph(self.start, self.near, self.tried), asked, roots, trials)
        return roots[found != NO], int((found == UNDECIDED).sum())

    def domains(self, links: Links) -> Ints:
        """Which vertices of a pattern each node may be, bit i for vertex i, [n].

        A node is out of the question for a vertex with more neighbours than it has, or with a neighbour that none
        of its own neighbours may be; that is asked again until it rules out nothing more.
        """
        reached = np.flatnonzero(self.degrees)
        wanted = [np.bitwise_or.reduce(np.int64(1) << near, initial=0) for near in links]
        domain = np.zeros(len(self.degrees), dtype=np.int64)
        for vertex, near in enumerate(links):
            domain |= (self.degrees >= len(near)).astype(np.int64) << vertex
        while True:
            around = np.zeros_like(domain)
            around[reached] = np.bitwise_or.reduceat(domain[self.near], self.start[reached])
            fewer = np.zeros_like(domain)
            for vertex, all_of in enumerate(wanted):
                fewer |= domain & (((around & all_of) == all_of).astype(np.int64) << vertex)
            if (fewer == domain).all():
                return domain
            domain = fewer


def _within(links: Links) -> Ints:
    """How many vertices are at most 0, 1, 2, ... steps from vertex 0."""
    reached, counts = np.zeros(1, dtype=np.int64), [1]
    while counts[-1] < len(links):
        reached = np.unique(np.concatenate([reached, *(links[v] for v in reached)]))
        counts.append(len(reached))
    return np.array(counts)


def links_of(pattern: Ints) -> Links:
    """The neighbours of each vertex."""
    both = np.concatenate([pattern, pattern[:, ::-1]])
    return [both[both[:, 0] == v, 1] for v in range(int(pattern.max(initial=0)) + 1)]


def _core(links: Links) -> list[int]:
    """The root and the vertices with several neighbours, next always the one with most links to those before it.

    Of several such the one with most links: what is hard to place is placed first.
    """
    order, left = [0], {v for v, near in enumerate(links) if len(near) > 1} - {0}
    while left:
        order.append(max(left, key=lambda v: (np.isin(links[v], order).sum(), len(links[v]), -v)))
        left.remove(order[-1])
    return order


def _renumbered(links: Links, first: list[int]) -> Links:
    """The same pattern with some vertices in front."""
    order = [*first, *sorted(set(range(len(links))) - set(first))]
    place = np.argsort(order)
    return [np.sort(place[links[v]]) for v in order]
