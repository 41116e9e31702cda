"""k triangles that share an edge, private in edges, by a ladder (Zhang et al. 2015, with a ladder of our own)."""

import math
from fractions import Fraction

import numpy as np
from scipy.sparse import csr_array, triu

from ...errors import InputError
from ...graphs.network import Ints, Network
from ..guarantee import Released
from ..ladder import Ladder, climbing
from ..public_inputs import drawable_epsilon, linked, whole
from ..subgraph_counts import laddered
from .common_neighbours import at, most_shared, shared, shared_by_linked


def k_triangles(
    network: Network, epsilon: Fraction | float, k: int, rng: np.random.Generator | None = None
) -> Released:
    """The number of k-triangles, an edge with k common neighbours of its ends, epsilon-private in edges.

    Args:
        network: two or more nodes, whose number is public.
        epsilon: above 0.
        k: 2 or more; public.
        rng: for audits only; None draws fresh entropy.

    Returns:
        A whole number, which can be negative.

    Raises:
        InputError: epsilon not above 0, k below 2 or too large for so many nodes, fewer than two nodes, a network
            of counts.
    """
    budget, network, k = drawable_epsilon(epsilon), linked(network, 2), whole("k", k, 2)
    if _largest(network.nodes - 2, k) >= 2**63:
        raise InputError(
            f"k is {k}: in {network.nodes:,} nodes an edge can change the count by 2^63 or more; choose a smaller k"
        )
    return laddered(k_triangle_count(network, k), k_triangle_ladder(network, k), budget, f"{k}-triangles", rng)


def k_triangle_count(network: Network, k: int) -> int:
    """Number of ways to choose an edge and k common neighbours of its ends."""
    network = linked(network)
    kinds, times = np.unique(shared_by_linked(network, shared(network)), return_counts=True)
    return sum(math.comb(a, k) * c for a, c in zip(kinds.tolist(), times.tolist(), strict=True))


def k_triangle_ladder(network: Network, k: int) -> Ladder:
    """The local sensitivity of the number of k-triangles, and bounds on it at every distance.

    An edge of i and j, which have a common neighbours, makes C(a, k) k-triangles of its own. It also gives i and
    w one more common neighbour, and j and w, for each common neighbour w of i and j: with b of them before, that
    makes C(b, k - 1). One more edge elsewhere adds to this sum in one of four ways. Let a be the most common
    neighbours of any pair.

    - It makes w a common neighbour: C(a, k - 1) for the edge's own and at most 2 C(a, k - 1) for w. Being an edge
      of i or j, it gives one of these two, and each of the others in the sum, one more: C(a, k - 2) for each of a.
    - It links i or j to a node that is not linked to the other: the last of these alone.
    - It links two of the common neighbours, where there are two: four numbers b grow by 1, 4 C(a, k - 2).
    - It links one common neighbour to another node: one b grows.

    So I_(t+1) = I_t + max(3 C(a', k - 1) + a' C(a', k - 2), 4 C(a', k - 2)) with a' = a + t, the second for a' of 2
    and more. The ladder that is found in the literature's code lacks it, and is none: where k > 2 and few have
    neighbours in common, the local sensitivity passes its rungs. In n nodes nothing exceeds C(n - 2, k) +
    2 (n - 2) C(n - 3, k - 1).
    """
    network = linked(network)
    common, others = shared(network), max(network.nodes - 2, 0)
    widest = most_shared(common)

    def step(number: int) -> int:
        a = widest + number
        inside = 4 * math.comb(a, k - 2) if a >= 2 else 0
        return max(3 * math.comb(a, k - 1) + a * math.comb(a, k - 2), inside)

    most = math.comb(others, k) + 2 * others * math.comb(max(others - 1, 0), k - 1)
    return climbing(_sensitivity(network, common, k), step, most)


def _largest(others: int, k: int) -> int:
    """Above everything that is summed up for one pair."""
    return math.comb(others, k) + 2 * others * math.comb(others, k - 1)


def _sensitivity(network: Network, common: csr_array, k: int) -> int:
    """The most k-triangles that any pair would make, or makes, by its edge."""
    low, high = network.edges
    near = network.adjacency.astype(np.int64)
    between = shared_by_linked(network, common)
    own = common.copy()
    own.data = _ways(common.data, k)
    apart = own + _around(network, _ways(between, k - 1), near)
    apart = apart - apart * near  # for pairs that are linked see below
    less = np.maximum(between - 1, 0)  # i and j are common neighbours of w and the other one
    linked_ = _ways(between, k) + at(_around(network, _ways(less, k - 1), near), low, high)
    return int(max(apart.data.max(initial=0), linked_.max(initial=0)))


def _around(network: Network, weights: Ints, near: csr_array) -> csr_array:
    """Sums over common neighbours w of i and j of the weights of the edges i w and j w, upper triangular [n, n]."""
    low, high = network.edges
    both = np.concatenate([weights, weights]), (np.concatenate([low, high]), np.concatenate([high, low]))
    sums = csr_array(both, shape=near.shape) @ near
    return csr_array(triu(sums + sums.T, 1))


def _ways(numbers: Ints, k: int) -> Ints:
    """C(a, k) of each number."""
    kinds, place = np.unique(numbers, return_inverse=True)
    found: Ints = np.array([math.comb(a, k) for a in kinds.tolist()], dtype=np.int64)[place]
    return found
