"""The largest eigenvalues of the adjacency matrix, private in edges (Wang, Wu and Wu 2013), on a grid."""

from fractions import Fraction

import numpy as np

from ..errors import InputError
from ..graphs.network import Floats, Ints, Network
from .exact_noise import discrete_laplace
from .guarantee import Guarantee, Released
from .public_inputs import drawable_epsilon, laplace_scale, linked, whole

STEPS = 2**20
"""Steps of the grid in 1."""
MOST_NODES = 4000
"""Up to here a dense solver is used, whose error is bounded. An iterative one can miss an eigenvalue that is there
twice, and then the values of neighbours differ by more than any bound on eigenvalues says."""


def top_eigenvalues(
    network: Network, epsilon: Fraction | float, k: int, rng: np.random.Generator | None = None
) -> Released:
    """The k largest eigenvalues of the adjacency matrix, epsilon-private in edges.

    They are rounded to a grid of 2^-20 and get discrete Laplace noise in its steps. The sensitivity allows two
    steps of each for rounding and for a solver that is wrong by up to half a step. LAPACK's error is of the order
    of n times the largest eigenvalue times 2^-53: with n = 4000, below 2^-29, a five-hundredth of a step.

    Args:
        network: 2 to 4,000 nodes, whose number is public.
        epsilon: above 0.
        k: how many, from 1 to n; public.
        rng: for audits only; None draws fresh entropy.

    Returns:
        Multiples of 2^-20 that do not rise, [k].

    Raises:
        InputError: epsilon not above 0, k out of range, too few or too many nodes, a network of counts.
    """
    budget, network = drawable_epsilon(epsilon), linked(network, 2)
    if network.nodes > MOST_NODES:
        raise InputError(
            f"the network has {network.nodes:,} nodes: eigenvalues are released for {MOST_NODES:,} at most"
        )
    steps, sensitivity = rounded_eigenvalues(network, k), rounded_eigenvalues_sensitivity(k)
    noisy = steps + discrete_laplace(laplace_scale(sensitivity, budget), k, rng)
    guarantee = Guarantee(
        "edge",
        "add/remove",
        "central",
        budget,
        accountant="discrete Laplace noise of scale L1 sensitivity / epsilon, drawn exactly; pure",
        public=("the nodes and their number",),
    )
    notes = ("sorted after the noise, which spreads them", "pure as long as the solver errs by less than 2^-21")
    return Released(np.sort(noisy)[::-1] / STEPS, guarantee, Fraction(sensitivity, STEPS), notes)


def eigenvalues(network: Network, k: int) -> Floats:
    """The k largest eigenvalues of the adjacency matrix, in floating point, descending [k]; n x n in memory.

    Raises:
        InputError: k out of range.
    """
    from scipy.linalg import eigvalsh

    network = linked(network)
    k, size = whole("k", k, 1, network.nodes), network.nodes
    found = eigvalsh(network.adjacency.toarray(), subset_by_index=(size - k, size - 1))
    return found[::-1].astype(np.float64)


def eigenvalues_sensitivity(k: int) -> int:
    """L1 change of the exact eigenvalues by one edge.

    One edge changes the matrix by one whose eigenvalues are 1, -1 and zeros: no eigenvalue moves by more than 1
    (Weyl), all together by no more than 2 (Lidskii). The paper's bound for k of them, sqrt(2 k), is looser from k =
    3.
    """
    return min(k, 2)


def rounded_eigenvalues(network: Network, k: int) -> Ints:
    """`eigenvalues` in steps of 2^-20, [k]."""
    return np.rint(eigenvalues(network, k) * STEPS).astype(np.int64)


def rounded_eigenvalues_sensitivity(k: int) -> int:
    """L1 change of `rounded_eigenvalues` by one edge, in steps: two more for each, half of them for the solver."""
    return eigenvalues_sensitivity(k) * STEPS + 2 * k
