"""Links by plausibility: an edge that was put in to anonymise a network joins nodes that have nothing in common."""

import numpy as np

from ...graphs.network import Floats, Ints, Network
from ...graphs.pair_codes import codes, listed
from .link_attack import Part
from .link_randomisation import PublishedLinkAttack
from .link_similarity import walk_sums


class Plausibility(PublishedLinkAttack):
    """Published edges by how well the rest of the network explains them, and below them all other pairs likewise.

    Zhang, Humbert, Surma, Manoharan, Vreeken and Backes (NDSS 2020, "Towards plausible graph anonymization") find
    the edges that k-degree anonymity and differentially private models add: they embed the published network by
    random walks, and the two ends of an added edge lie apart. What such an embedding approximates is how often
    walks join two nodes (Qiu et al., WSDM 2018). Here that is computed for each pair without an embedding, and
    without its own edge, which pulls the ends of an added edge together: see `walk_lift`.
    """

    name = "plausibility"

    def score_pairs(self, network: Network, part: Part, rng: np.random.Generator) -> Floats:
        pairs = part.pairs.cpu().numpy()
        plausible = _filled(walk_lift(network, pairs), network, pairs)
        linked = listed(codes(pairs[:, 0], pairs[:, 1], network.nodes), network.plain().codes)
        return linked + plausible / (1 + plausible)


def edge_plausibility(network: Network) -> Floats:
    """How plausible each edge of the plain network is, [m]; see `walk_lift`.

    Of an edge that is the only one at a node nothing is left to judge it by: it gets the median of the others.
    """
    pairs = network.plain().edges.T
    return _filled(walk_lift(network, pairs), network, pairs)


def walk_lift(network: Network, pairs: Ints) -> Floats:
    """How many times likelier than by chance random walks of two and three steps lead from one node to the other.

    The sum of P^2_ij / p_j and P^3_ij / p_j with P the transition probabilities and p_j = d_j / 2m the stationary
    ones; it is symmetric. The walks that use the edge between the two are left out, without which every edge would
    explain itself: 0 if no other walk of such a length joins them.

    Args:
        network: types count as one.
        pairs: nodes [s, 2].

    Returns:
        [s], not negative.
    """
    plain = network.plain()
    degrees = plain.degrees
    inverse = 1 / np.maximum(degrees, 1)
    one, other = pairs.T
    linked = listed(codes(one, other, plain.nodes), plain.codes)
    two, three = (walk_sums(plain, pairs, steps, inverse) for steps in (2, 3))
    around = (plain.adjacency @ inverse) * inverse  # walks to a neighbour and back
    own = around[one] + around[other] - inverse[one] * inverse[other]  # there and back and there once, not twice
    lift: Floats = 2 * plain.size * (two + np.maximum(three - linked * own, 0)) * inverse[one] * inverse[other]
    return np.where((degrees[one] > 0) & (degrees[other] > 0), lift, 0.0)


def _filled(lift: Floats, network: Network, pairs: Ints) -> Floats:
    """The median in the place of edges that are the only one at an end."""
    plain = network.plain()
    linked = listed(codes(pairs[:, 0], pairs[:, 1], plain.nodes), plain.codes)
    alone = linked & (plain.degrees[pairs].min(1) == 1)
    judged = lift[linked & ~alone]
    return np.where(alone, np.median(judged) if len(judged) else 0.0, lift)
