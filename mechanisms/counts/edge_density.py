"""The density of a network, private in nodes: the edge probability of a random graph, and safe for any graph.

In a random graph with edge probability p all degrees are near n p. So a degree bound D a little above n p leaves
out almost nothing, and then one node changes the number of edges by D and not by n - 1. Where D comes from must be
private too: a noisy count of all edges pays for it. Borgs, Chayes and Smith (2015) and Sealfon and Ullman (2019) do
better on random graphs in theory. Nothing here rests on their constants: both steps are private for every graph.
"""

import math
from fractions import Fraction

import numpy as np

from ...graphs.network import Network
from ...graphs.pair_codes import distinct
from ..degrees import NODES
from ..exact_noise import discrete_laplace
from ..guarantee import Guarantee, Released
from ..node_private import bounded_flow, flow_sensitivity
from ..public_inputs import drawable_epsilon, laplace_scale, linked

FOR_THE_BOUND = Fraction(1, 4)
"""Share of epsilon for the noisy count that the degree bound is taken from."""
MISSED = 0.05
"""Probability that noise puts the count which the bound is taken from lower than is allowed for."""


def edge_density(network: Network, epsilon: Fraction | float, rng: np.random.Generator | None = None) -> Released:
    """The share of pairs that are linked, epsilon-private in nodes, by two steps.

    A quarter of epsilon is spent on the number of edges m, which one node changes by n - 1 at most. From that comes
    a degree bound D (`bound_for`). The rest is spent on the largest flow under that bound (`bounded_flow`), which
    is twice m where no degree exceeds D. Adding a node with all its edges changes it by 0 to 2 D, and a node
    without edges adds nothing: so a node that becomes blank changes it by 2 D at most. The second step reads the
    first one's outcome, and both add up (adaptive basic composition; Dwork and Roth 2014, section 3.5).

    Args:
        network: two or more nodes, whose number is public here.
        epsilon: above 0.
        rng: for audits only; None draws fresh entropy.

    Returns:
        A number from 0 to 1.

    Raises:
        InputError: epsilon not above 0, fewer than two nodes, a network of counts.
    """
    budget, network = drawable_epsilon(epsilon), linked(network, 2)
    first = drawable_epsilon(budget * FOR_THE_BOUND)
    second, nodes = drawable_epsilon(budget - first), network.nodes
    edges = len(distinct(network.codes)) + int(discrete_laplace(laplace_scale(nodes - 1, first), 1, rng)[0])
    bound = bound_for(edges, nodes, first)
    noise = int(discrete_laplace(laplace_scale(flow_sensitivity(bound), second), 1, rng)[0])
    density = (bounded_flow(network, bound) + noise) / (nodes * (nodes - 1))
    guarantee = Guarantee(
        "node",
        "zero-out",
        "central",
        first + second,
        accountant="discrete Laplace noise on the number of edges and on a flow under a bound that follows from "
        "it, drawn exactly; pure",
        public=(NODES,),
    )
    notes = ("edges of nodes with degrees far above the mean count in part", "limited to 0 to 1")
    return Released(min(max(density, 0.0), 1.0), guarantee, nodes - 1, notes)


def bound_for(edges: int, nodes: int, epsilon: Fraction) -> int:
    """The degree bound D, 1 to n - 1, that a noisy number of edges gives: what no degree of a random graph exceeds.

    The mean degree d, with what noise may have taken from it, and then by Bernstein's bound for a binomial number
    and a union over the nodes: d + sqrt(2 d ln n^2) + ln n^2 / 3.

    Args:
        edges: the noisy number of edges.
        nodes: n.
        epsilon: that the number was noised with.
    """
    taken = (nodes - 1) / float(epsilon) * math.log(1 / (2 * MISSED))
    mean = max(2 * (edges + taken) / nodes, 1.0)
    far = 2 * math.log(nodes)
    return min(max(math.ceil(mean + math.sqrt(2 * mean * far) + far / 3), 1), nodes - 1)
