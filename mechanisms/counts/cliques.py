"""Cliques of k nodes, private in edges, by a ladder (Zhang et al. 2015, section 5.3)."""

import math
from fractions import Fraction

import numpy as np
from scipy.sparse import csr_array

from ...graphs.network import Network
from ..guarantee import Released
from ..ladder import Ladder, climbing
from ..public_inputs import drawable_epsilon, linked, whole
from ..subgraph_counts import laddered
from .common_neighbours import most_shared, shared

Near = list[set[int]]
"""For each node some nodes that it is linked to."""


def cliques(
    network: Network, epsilon: Fraction | float, k: int, rng: np.random.Generator | None = None
) -> Released:
    """The number of cliques of k nodes, epsilon-private in edges; for k = 3 use `subgraph_counts.triangles`.

    Args:
        network: two or more nodes, whose number is public.
        epsilon: above 0.
        k: 3 or more; public.
        rng: for audits only; None draws fresh entropy.

    Returns:
        A whole number, which can be negative.

    Raises:
        InputError: epsilon not above 0, k below 3, fewer than two nodes, a network of counts.
    """
    budget, network, k = drawable_epsilon(epsilon), linked(network, 2), whole("k", k, 3)
    return laddered(clique_count(network, k), clique_ladder(network, k), budget, f"cliques of {k} nodes", rng)


def clique_count(network: Network, k: int) -> int:
    """Number of sets of k nodes that are all linked to each other."""
    later = _later(linked(network))
    return sum(_inside(later, after, k - 1) for after in later)


def clique_ladder(network: Network, k: int) -> Ladder:
    """The local sensitivity of the number of k-cliques, and bounds on it at every distance.

    An edge makes as many k-cliques as there are (k - 2)-cliques among the common neighbours of its ends. One more
    edge elsewhere changes them in one of two ways. It makes one more common neighbour: with a of them before, that
    one is in up to C(a, k - 3) cliques of k - 2. Or it links two of them, which makes up to C(a - 2, k - 4), and
    that is no more. So I_(t+1) = I_t + C(a + t, k - 3) with a the most common neighbours of any pair, of which an
    edge makes one more at most. No pair of n nodes has over C(n - 2, k - 2).
    """
    network = linked(network)
    common, others = shared(network), max(network.nodes - 2, 0)
    widest = most_shared(common)
    first = _most_inside(network, common, k - 2)
    return climbing(first, lambda step: math.comb(widest + step, k - 3), math.comb(others, k - 2))


def _most_inside(network: Network, common: csr_array, k: int) -> int:
    """The most k-cliques among the common neighbours of any pair.

    Pairs with most common neighbours first, up to where all cliques that so few can have are fewer than were found.
    """
    near, later, most = _near(network), _later(network), 0
    cells = common.tocoo()
    for place in np.argsort(-cells.data, kind="stable").tolist():
        if math.comb(int(cells.data[place]), k) <= most:
            break
        most = max(most, _inside(later, near[cells.row[place]] & near[cells.col[place]], k))
    return most


def _near(network: Network) -> Near:
    """The neighbours of each node."""
    rows = network.adjacency
    return [set(rows.indices[a:b].tolist()) for a, b in zip(rows.indptr, rows.indptr[1:], strict=False)]


def _later(network: Network) -> Near:
    """Neighbours that come after a node, where those of few neighbours come first: so few come after any."""
    rank = np.empty(network.nodes, dtype=np.int64)
    rank[np.argsort(network.degrees, kind="stable")] = np.arange(network.nodes)
    return [{other for other in around if rank[other] > rank[node]} for node, around in enumerate(_near(network))]


def _inside(later: Near, among: set[int], k: int) -> int:
    """Number of cliques of k nodes, all of them among some nodes; each is met once, from its first node on."""
    if k == 1:
        return len(among)
    return sum(_inside(later, later[node] & among, k - 1) for node in among)
