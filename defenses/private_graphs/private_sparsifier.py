"""A sparse private graph from which every cut of the original can be estimated without bias."""

from fractions import Fraction

import numpy as np
from pydantic import Field

from ...graphs.network import Network
from ...graphs.pair_codes import ends
from ...mechanisms.guarantee import Guarantee
from ...mechanisms.public_inputs import drawable_epsilon, linked
from .corrected_cuts import Corrected
from .dp_graph import PrivateGraph, PrivateGraphSettings, central
from .passing_pairs import as_rate, linked_chance, passing


class PrivateSparsifierSettings(PrivateGraphSettings):
    """Settings of `PrivateSparsifier`."""

    told: float = Field(
        20.0,
        gt=0,
        description="false links of each node on average, at most; fewer make a sparser graph and larger errors",
    )


class PrivateSparsifier(PrivateGraph):
    """Publishes a sparse graph of few true links and some false ones, whose cuts tell those of the original.

    A pair of nodes passes with chance b if it is not linked, and with chance a, up to e^epsilon b, if it is. Of a
    graph told so, (told links of a cut - b pairs of the cut) / (a - b) is an estimate of any cut without bias, and
    the same holds for each entry of the Laplacian: `corrected` has both, and the deviation of a cut. a and b are
    public. They follow from epsilon, from ``told`` and from the number of nodes. b is at most 1 / (1 + e^epsilon),
    where the law is that of randomised response (Warner 1965) and errors are least; a smaller b makes the graph
    sparser and keeps the same epsilon. Coins are exact (`passing_pairs`). Time goes with the links that are told.

    Source:
        Arora and Upadhyay 2019 ("On differentially private graph sparsification and applications") and Upadhyay,
        Upadhyay and Arora 2021 (Priv-Graph, "Differentially private analysis on graph streams") pose the problem: a
        private graph whose cuts and Laplacian are near those of the original. Their mechanisms are not followed:
        Gaussian noise on all pairs promises less at more noise, since a link changes one pair by 1 and no more.
        What they do to make all weights positive is left out too: smoothing and clipping made cuts of
        email-Eu-core worse. So the corrected Laplacian has pairs of negative weight.
    """

    name = "private-sparsifier"
    phrase = "replaced by a private sparse graph that keeps cuts"
    alternative = "random-edit"
    guarantee = (
        "epsilon-differential privacy, central: one edge more or less changes no published graph's probability by "
        "a factor over e^epsilon, for those who know neither noise nor seed; nodes and their number are public"
    )
    Settings = PrivateSparsifierSettings
    settings: PrivateSparsifierSettings

    def rate(self, nodes: int) -> Fraction:
        """That pairs which are not linked pass by: their chance is 1 - e^-rate; n is 2 or more."""
        fair = float(np.exp(-np.logaddexp(0.0, self.settings.epsilon)))
        return as_rate(min(self.settings.told / (nodes - 1), fair))

    def chances(self, nodes: int) -> tuple[float, float]:
        """Chances that a linked pair passes and that another one does, of a network with n nodes: a and b."""
        rate = self.rate(nodes)
        return linked_chance(drawable_epsilon(self.settings.epsilon), rate), -float(np.expm1(-float(rate)))

    def promise(self) -> Guarantee:
        return central(
            drawable_epsilon(self.settings.epsilon),
            "exact coins of a response with two chances for each pair; pure",
        )

    def on_graph(self, network: Network, seed: np.random.SeedSequence) -> Network:
        """The pairs that passed.

        Raises:
            InputError: fewer than two nodes, counts instead of edges, or so many false links that the graph would
                be too large.
        """
        network, rate = linked(network, 2), self.rate(network.nodes)
        self.refuse_many(int(float(rate) * network.nodes * (network.nodes - 1) / 2))
        passed = passing(network, drawable_epsilon(self.settings.epsilon), rate, self.noise(seed))
        return Network(network.nodes, np.stack(ends(passed, network.nodes)))

    def corrected(self, told: Network) -> Corrected:
        """What a graph that was published with these settings says of the original's cuts and Laplacian."""
        return Corrected(told, *self.chances(told.nodes))
