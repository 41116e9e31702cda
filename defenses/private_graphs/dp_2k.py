"""A random graph with noisy numbers of edges between degrees: the dK-2 series, private in edges."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from pydantic import Field

from ...graphs.network import Ints, Network
from ...mechanisms.degrees import degree_sequence
from ...mechanisms.guarantee import Guarantee
from ...mechanisms.joint_degrees import joint_degree_counts, joint_degree_counts_sensitivity, joint_degrees
from ...mechanisms.public_inputs import drawable_epsilon, laplace_scale
from ...randomness import branch
from .dp_graph import PrivateGraph, PrivateGraphSettings, central
from .joint_degree_graph import deviation, with_joint_degrees
from .joint_degree_target import fitting

DEGREES = Fraction(1, 2)
"""Part of epsilon that is for the sorted degrees; the rest is for numbers of edges between degrees."""


class DP2KSettings(PrivateGraphSettings):
    """Settings of `DP2K`."""

    bound: int = Field(
        10,
        ge=1,
        le=2000,
        description="degrees from here on are one class; public, chosen without a look at the edges",
    )


@dataclass(frozen=True)
class Drawn:
    """A graph that was drawn, and how far it is from what it was drawn for.

    Attributes:
        network: it.
        target: numbers of edges between degrees that it should have, [top, top] upper triangular.
        deviation: edges that lie in other cells.
    """

    network: Network
    target: Ints
    deviation: int


class DP2K(PrivateGraph):
    """Publishes a random graph with noisy degrees, and noisy numbers of edges between nodes of each two degrees.

    The dK-2 model (Sala et al. 2011; Wang and Wu 2013). One edge changes these numbers by as much as 4 times the
    largest degree. That degree of this very graph is no public number, and noise for it gives no guarantee: the
    bound is a setting here, and degrees of the bound and more are one class, so that one edge changes the numbers
    by 4 bound - 3 whatever the graph, and no edge need be left out. All cells get noise, also those without edges.

    Half of epsilon is for the sorted degrees (see `dp-1k`), which one edge changes by 2 only. The numbers are
    made to fit these degrees; what deviates from random mixing by less than noise does is taken for random mixing.
    With much noise the result is therefore that of `dp-1k`. `drawn` tells how many edges are where they should
    not be.

    As with `dp-1k` no node keeps its degree or a neighbour. It keeps the degrees and whom they are linked to
    (assortativity); communities go, and most of the clustering.
    """

    name = "dp-2k"
    phrase = "replaced by a random graph with noisy joint degrees"
    alternative = "random-switch"
    guarantee = (
        "epsilon-differential privacy, central: one edge more or less changes no published graph's probability by "
        "a factor over e^epsilon, for those who know neither noise nor seed; nodes, their number and the degree "
        "bound are public"
    )
    Settings = DP2KSettings
    settings: DP2KSettings

    def promise(self) -> Guarantee:
        return central(
            drawable_epsilon(self.settings.epsilon),
            f"{DEGREES} of epsilon for sorted degrees, which one edge changes by 2, the rest for "
            "numbers of edges between degrees, which it changes by 4 bound - 3; discrete Laplace noise, "
            "drawn exactly; pure",
            f"the degree bound {self.settings.bound}",
        )

    def on_graph(self, network: Network, seed: np.random.SeedSequence) -> Network:
        return self.drawn(network, seed).network

    def drawn(self, network: Network, seed: np.random.SeedSequence) -> Drawn:
        """The random graph, and what it was drawn for.

        Raises:
            InputError: fewer than two nodes, counts instead of edges, or an epsilon so small that the graph would
                be too large.
        """
        budget, noise = drawable_epsilon(self.settings.epsilon), self.noise(seed)
        rng = np.random.default_rng(branch(seed, "graph"))
        told = degree_sequence(network, budget * DEGREES, noise, graphical=True)
        degrees = rng.permutation(np.asarray(told.values, dtype=np.int64))
        self.refuse_many(int(degrees.sum()) // 2)
        rest = budget * (1 - DEGREES)
        noisy = np.asarray(joint_degrees(network, rest, self.settings.bound, noise).values, dtype=np.int64)
        top = len(noisy)
        ends = np.bincount(np.minimum(degrees, top), degrees, top + 1)[1:].astype(np.int64)
        scale = laplace_scale(joint_degree_counts_sensitivity(top), drawable_epsilon(rest))
        target = fitting(noisy, ends, float(scale), rng)
        made = with_joint_degrees(degrees, target, rng)
        return Drawn(made, target, deviation(joint_degree_counts(made, top), target))
