"""Edges and degrees, private in nodes: neighbours differ in one node with all its edges.

Without a bound one node can change everything. Both queries are whole numbers that change little for *any* node,
and are the true ones where no degree exceeds a public bound. The number of nodes is private here, so nothing may be
refused because of it, and nothing is told of what the bound leaves out.
"""

from fractions import Fraction

import numpy as np

from ..graphs.network import Ints, Network
from ..graphs.pair_codes import distinct, ends
from .degrees import rising
from .exact_noise import discrete_laplace
from .guarantee import Guarantee, Released
from .public_inputs import drawable_epsilon, laplace_scale, linked, whole


def edge_count(
    network: Network, epsilon: Fraction | float, bound: int, rng: np.random.Generator | None = None
) -> Released:
    """The number of edges, epsilon-private in nodes, by the flow of Kasiviswanathan et al. 2013.

    Args:
        network: any.
        epsilon: above 0.
        bound: public degree bound D. With larger degrees the value is too small.
        rng: for audits only; None draws fresh entropy.

    Returns:
        A multiple of 1/2, which can be negative.

    Raises:
        InputError: epsilon not above 0, a bound below 1, a network of counts.
    """
    budget, bound = drawable_epsilon(epsilon), whole("the degree bound", bound, 1)
    scale = laplace_scale(flow_sensitivity(bound), budget)
    doubled = bounded_flow(network, bound) + int(discrete_laplace(scale, 1, rng)[0])
    notes = (f"edges of nodes with a degree over {bound} count in part", "it can be negative")
    return Released(doubled / 2, node_guarantee(budget, bound), Fraction(flow_sensitivity(bound), 2), notes)


def bounded_flow(network: Network, bound: int) -> int:
    """The largest flow from a source to each node (at most D), over each edge both ways (1), to a sink (D).

    It is twice the number of edges where no degree exceeds D, and less otherwise. Any direction of an edge that no
    bound can stop carries its 1; what two nodes below the bound have is therefore counted, and a flow is only
    sought among nodes above it: each gets from, and gives to, its neighbours below whatever its own bound lets
    pass.

    Raises:
        InputError: a bound below 1.
    """
    bound, network = whole("the degree bound", bound, 1), linked(network)
    one, other = network.edges
    above = network.degrees > bound
    if not above.any():
        return 2 * network.size
    both = above[one] & above[other]
    mixed = above[one] != above[other]
    below = np.bincount(np.where(above[one], one, other)[mixed], minlength=network.nodes)[above]
    place = np.cumsum(above) - 1
    free = 2 * int((~both & ~mixed).sum())
    return free + _flow(place[one[both]], place[other[both]], below, bound)


def _flow(one: Ints, other: Ints, below: Ints, bound: int) -> int:
    """The flow among nodes above the bound; ``below`` counts neighbours that are not, [h]."""
    import igraph

    count = len(below)
    left, right = np.arange(count), np.arange(count, 2 * count)
    source, sink = np.full(count, 2 * count), np.full(count, 2 * count + 1)
    arcs = np.concatenate(
        [
            np.stack([source, left]),  # out of a node
            np.stack([right, sink]),  # into a node
            np.stack([left, sink]),  # to neighbours below the bound
            np.stack([source, right]),  # from them
            np.stack([one, other + count]),
            np.stack([other, one + count]),
        ],
        axis=1,
    )
    limits = np.ones(arcs.shape[1])
    limits[: 2 * count] = bound
    limits[2 * count : 4 * count] = np.tile(below, 2)
    graph = igraph.Graph(n=2 * count + 2, edges=arcs.T, directed=True)
    flow: float = graph.maxflow_value(2 * count, 2 * count + 1, capacity=limits.tolist())
    return round(flow)


def flow_sensitivity(bound: int) -> int:
    """Change of `bounded_flow` by one node with its edges: at most D out of it and D into it, never less flow."""
    return 2 * bound


def private_degree_histogram(
    network: Network, epsilon: Fraction | float, bound: int, rng: np.random.Generator | None = None
) -> Released:
    """How many nodes have each degree, epsilon-private in nodes, after edges over a public bound were left out.

    Noise is added to numbers of nodes of degree *at most* 0, 1, ..., D, which one node changes by less than the
    histogram. They are made to rise, rounded, held at 0 or more, and their differences taken.

    Args:
        network: any. The numbers of its nodes must not follow from its edges (see `bounded_edges`).
        epsilon: above 0.
        bound: public degree bound D.
        rng: for audits only; None draws fresh entropy.

    Returns:
        Counts for degrees 0 to D, 0 or more, [D + 1].

    Raises:
        InputError: epsilon not above 0, a bound below 1, a network of counts.

    Source: Day, Li and Lyu 2016 (edge-addition projection, cumulative histogram).
    """
    budget, bound = drawable_epsilon(epsilon), whole("the degree bound", bound, 1)
    sensitivity = bounded_degrees_sensitivity(bound)
    noise = discrete_laplace(laplace_scale(sensitivity, budget), bound + 1, rng)
    sums = np.maximum(np.rint(rising(bounded_degrees(network, bound) + noise)), 0).astype(np.int64)
    notes = (
        f"edges that would give a node more than {bound} are left out; how many is not told",
        "the sensitivity is that of the numbers of nodes of degree at most 0, 1, ...",
    )
    return Released(np.diff(sums, prepend=0), node_guarantee(budget, bound), sensitivity, notes)


def bounded_degrees(network: Network, bound: int) -> Ints:
    """Numbers of nodes whose degree among `bounded_edges` is at most 0, 1, ..., D, [D + 1]."""
    degrees = bounded_edges(network, bound).degrees
    found: Ints = np.cumsum(np.bincount(degrees, minlength=bound + 1)).astype(np.int64)
    return found


def bounded_degrees_sensitivity(bound: int) -> int:
    """L1 change of `bounded_degrees` by one node with its edges.

    Go through the edges of both networks together. Let x be the sum of how much degrees differ so far, over the
    nodes that both have. An edge that both have and only one takes is refused by the other at an end that is full
    there and is not here, so it lessens one difference and adds to at most one: x does not grow. An edge of the
    additional node adds 1 to x, and to that node's degree d, so x <= d. Each 1 of x moves one node over one of the
    numbers, and the additional node is counted in those for d to D: x + D + 1 - d <= D + 1 in all.
    """
    return bound + 1


def bounded_edges(network: Network, bound: int) -> Network:
    """The edges taken one after the other, by their ends' numbers, without those that find an end with D already.

    The order must not change between the edges that remain when a node goes away. By numbers of nodes it does not,
    if those are given by something else than the edges: names in order do, the order in which a list of edges first
    names them does not.

    Raises:
        InputError: a bound below 1.
    """
    bound, network = whole("the degree bound", bound, 1), linked(network)
    pairs = distinct(network.codes)
    one, other = ends(pairs, network.nodes)
    above = network.degrees > bound
    taken = ~(above[one] | above[other])  # no end of these can fill up
    waiting = np.flatnonzero(~taken)
    room = np.where(above, bound, network.nodes).tolist()
    for edge, a, b in zip(waiting.tolist(), one[waiting].tolist(), other[waiting].tolist(), strict=True):
        if room[a] and room[b]:
            room[a] -= 1
            room[b] -= 1
            taken[edge] = True
    return Network(network.nodes, np.stack(ends(pairs[taken], network.nodes)))


def node_guarantee(epsilon: Fraction, bound: int) -> Guarantee:
    """The promise of numbers that one node changes by a bounded amount, with exact noise."""
    return Guarantee(
        "node",
        "add/remove",
        "central",
        epsilon,
        accountant="discrete Laplace noise of scale L1 sensitivity / epsilon, drawn exactly; pure",
        public=(f"the degree bound {bound}",),
    )
