"""A random graph with noisy degrees: the dK-1 series, private in edges."""

import numpy as np

from ...graphs.network import Ints, Network
from ...graphs.pair_codes import distinct, ends
from ...mechanisms.degrees import degree_sequence, sorted_degrees_sensitivity
from ...mechanisms.guarantee import Guarantee
from ...mechanisms.public_inputs import drawable_epsilon
from ...randomness import branch
from ..degrees.degree_realisation import constructed
from ..randomisation.switching_chain import switch
from .dp_graph import PrivateGraph, central

MIXING = 20
"""Proposed switches for each edge."""


class DP1K(PrivateGraph):
    """Publishes a random graph whose degrees are those of the original, with noise.

    The dK-1 model of Wang and Wu 2013 ("Preserving differential privacy in degree-correlation based graph
    generation"). They add noise to the numbers of nodes of each degree, which one edge changes by 4. Here it is
    added to the sorted degrees, which one edge changes by 2, and the nearest sequence that rises is taken (Hay et
    al. 2009): at the same epsilon the degrees are nearer by far. They are lowered until some graph has them, given
    to random nodes, and a random graph with them is drawn.

    Sorted degrees do not say whose they are, so that none stays with its node: what is published says nothing of
    a single person, and nothing of who is linked to whom but how many links there are. It keeps the degree
    distribution and what follows from that; clustering and communities go.
    """

    name = "dp-1k"
    phrase = "replaced by a random graph with noisy degrees"
    alternative = "random-switch"
    guarantee = (
        "epsilon-differential privacy, central: one edge more or less changes no published graph's probability by "
        "a factor over e^epsilon, for those who know neither noise nor seed; nodes and their number are public"
    )

    def promise(self) -> Guarantee:
        return central(
            drawable_epsilon(self.settings.epsilon),
            f"discrete Laplace noise of scale {sorted_degrees_sensitivity()} / epsilon on sorted "
            "degrees, drawn exactly; pure; all else follows from the noisy degrees",
        )

    def on_graph(self, network: Network, seed: np.random.SeedSequence) -> Network:
        """The random graph.

        Raises:
            InputError: fewer than two nodes, counts instead of edges, or an epsilon so small that the graph would
                be too large.
        """
        found = degree_sequence(network, self.settings.epsilon, self.noise(seed), graphical=True)
        degrees = np.asarray(found.values, dtype=np.int64)
        self.refuse_many(int(degrees.sum()) // 2)
        return random_graph(degrees, np.random.default_rng(branch(seed, "graph")))


def random_graph(degrees: Ints, rng: np.random.Generator) -> Network:
    """A random simple graph with these degrees, at random nodes.

    A graph is constructed and its edges are switched, `MIXING` proposals for each edge.

    Args:
        degrees: that some simple graph has, in any order, [n].
        rng: of the draws.

    Raises:
        ValueError: no simple graph has these degrees.
    """
    count = len(degrees)
    pairs = distinct(constructed(rng.permutation(degrees), rng))
    made = Network(count, np.stack(ends(pairs, count)))
    return switch(made, rng, proposals=MIXING * made.size)[0]
