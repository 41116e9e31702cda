"""Degrees of a directed network, private in arcs: how many lead out of its nodes, and how many into them."""

from fractions import Fraction

import numpy as np

from ...errors import InputError
from ...graphs.arcs import degree_pairs
from ...graphs.network import Ints, Network
from ..degrees import NODES, rising
from ..exact_noise import discrete_laplace
from ..guarantee import Guarantee, Released
from ..public_inputs import drawable_epsilon, laplace_scale


def arc_degree_sequences(
    network: Network, epsilon: Fraction | float, rng: np.random.Generator | None = None
) -> Released:
    """The sorted out-degrees and the sorted in-degrees, epsilon-private in arcs, both together.

    Which out-degree belongs to which in-degree is not told. Each sequence gets discrete Laplace noise, and the
    nearest one that rises is taken (Hay et al. 2009, for undirected networks).

    Args:
        network: two or more nodes, whose number is public; an edge without a direction is two arcs.
        epsilon: above 0.
        rng: for audits only; None draws fresh entropy.

    Returns:
        Out-degrees and in-degrees, each in ascending order, [2, n].

    Raises:
        InputError: epsilon not above 0, fewer than two nodes, a network of counts.
    """
    budget, sorted_ones = drawable_epsilon(epsilon), sorted_arc_degrees(network)
    scale = laplace_scale(sorted_arc_degrees_sensitivity(), budget)
    noisy = sorted_ones + discrete_laplace(scale, sorted_ones.size, rng).reshape(sorted_ones.shape)
    values = np.stack([np.clip(np.rint(rising(row)), 0, network.nodes - 1) for row in noisy]).astype(np.int64)
    guarantee = Guarantee(
        "edge",
        "add/remove",
        "central",
        budget,
        accountant="discrete Laplace noise of scale 2 / epsilon on both sequences, drawn exactly; pure",
        public=(NODES,),
        covers="what is told of arcs, of which an edge here is one,",
    )
    notes = (
        "degrees in ascending order; they belong to no node in particular",
        "an edge that leads both ways is two",
    )
    return Released(values, guarantee, sorted_arc_degrees_sensitivity(), notes)


def sorted_arc_degrees(network: Network) -> Ints:
    """Out-degrees and in-degrees, each in ascending order, [2, n].

    Raises:
        InputError: fewer than two nodes, a network of counts.
    """
    if network.counts is not None or network.nodes < 2:
        raise InputError("degrees of arcs need a network of edges with 2 or more nodes: give one that has them")
    found: Ints = np.sort(degree_pairs(network).T, axis=1)
    return found


def sorted_arc_degrees_sensitivity() -> int:
    """L1 change of `sorted_arc_degrees` by one arc: one out-degree and one in-degree change by 1."""
    return 2
