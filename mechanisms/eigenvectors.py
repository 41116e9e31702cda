"""The leading eigenvectors of the adjacency matrix, private in edges, by the exponential mechanism."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..graphs.network import Floats, Network
from .guarantee import Guarantee, Released
from .public_inputs import drawable_epsilon, linked, whole

MOST_NODES = 2000
"""Each vector takes all eigenvectors of a dense matrix."""


def top_eigenvectors(
    network: Network, epsilon: Fraction | float, k: int, rng: np.random.Generator | None = None
) -> Released:
    """Estimates of the k leading eigenvectors of the adjacency matrix A, epsilon-private in edges.

    The first is a unit vector v drawn with a density that goes with exp(epsilon v'Av / 2 k): the exponential
    mechanism, whose score v'Av is the largest at the leading eigenvector (for covariances Chaudhuri, Sarwate and
    Sinha, JMLR 2013; Kapralov and Talwar, SODA 2013). One edge changes v'Av by 2 v_i v_j, which is 1 at most. Each
    further one is drawn in the same way among the unit vectors at right angles to those before it: a draw on what
    the earlier ones left, with a k-th of epsilon each.

    The authors whom the survey cites (Wang, Wu and Wu 2013) add noise by the gap between eigenvalues of these very
    data, which is no promise: a neighbour has another gap.

    An estimate is close where epsilon times the eigenvalue is above k times the number of nodes, and a random
    direction far below that. On email-Eu-core and PolBlogs a private graph (`tmf`) at the same
    epsilon is closer, and up to an epsilon of 16 so is the vector of equal numbers, which needs no data.

    Args:
        network: 2 to 2,000 nodes, whose number is public.
        epsilon: above 0.
        k: how many, from 1 to n - 1; public.
        rng: for audits only; None draws fresh entropy.

    Returns:
        Unit vectors at right angles, [n, k]; their signs mean nothing.

    Raises:
        InputError: epsilon not above 0, k out of range, too few or too many nodes, a network of counts.
    """
    budget, network = drawable_epsilon(epsilon), linked(network, 2)
    if network.nodes > MOST_NODES:
        raise InputError(
            f"the network has {network.nodes:,} nodes: eigenvectors are released for {MOST_NODES:,} at most"
        )
    k, coins = whole("k", k, 1, network.nodes - 1), rng or np.random.default_rng()
    inside, within = network.adjacency.toarray().astype(np.float64), np.eye(network.nodes)
    vectors = []
    for _ in range(k):
        drawn = bingham(float(budget) / (2 * k) * inside, coins)
        vectors.append(within @ drawn)
        beside = complement(drawn)
        inside, within = beside.T @ inside @ beside, within @ beside
    guarantee = Guarantee(
        "edge",
        "add/remove",
        "central",
        budget,
        accountant="exponential mechanism with a score that one edge changes by 1 at most, a k-th of epsilon for "
        "each vector; pure; float sampler",
        public=("the nodes and their number",),
    )
    return Released(np.stack(vectors, axis=1), guarantee, Fraction(1), ("drawn in floating point",))


def bingham(exponent: Floats, rng: np.random.Generator) -> Floats:
    """A unit vector x drawn with a density that goes with exp(x'Cx), C symmetric [n, n], by exact rejection.

    Proposals are angular central Gaussian, with the matrix and the bound of Kent, Ganeiber and Mardia (JCGS 2018,
    section 3.2): with l the eigenvalues of max(C) I - C, Omega = I + 2 diag(l) / b and sum 1 / (b + 2 l) = 1.
    """
    from scipy.linalg import eigh
    from scipy.optimize import brentq

    values, basis = eigh(exponent)
    gaps, size = values[-1] - values, len(values)
    bend = float(brentq(lambda b: (1 / (b + 2 * gaps)).sum() - 1, 1e-9, size + 1e-6)) if size > 1 else 1.0
    width = np.sqrt(1 + 2 * gaps / bend)
    at_most = (size - bend) / 2 - size / 2 * np.log(size / bend)
    while True:
        along = rng.standard_normal(size) / width
        along /= np.linalg.norm(along)
        energy = float(gaps @ along**2)
        if np.log(rng.random()) < size / 2 * np.log1p(2 * energy / bend) - energy + at_most:
            found: Floats = basis @ along
            return found


def complement(vector: Floats) -> Floats:
    """An orthonormal basis of what is at right angles to a unit vector [n], as columns [n, n - 1].

    The other columns of the Householder reflection that takes the first axis to the vector.
    """
    axis: NDArray[np.float64] = vector.copy()
    axis[0] += 1.0 if axis[0] >= 0 else -1.0
    reflection = np.eye(len(vector)) - 2 / (axis @ axis) * np.outer(axis, axis)
    return reflection[:, 1:]
