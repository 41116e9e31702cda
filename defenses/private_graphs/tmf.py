"""As many pairs as a noisy count says, by a filter that linked pairs pass more often: TmF."""

from fractions import Fraction

import numpy as np
from pydantic import Field

from ...graphs.network import Ints, Network
from ...graphs.pair_codes import ends, pairs_beside
from ...mechanisms.exact_noise import discrete_laplace
from ...mechanisms.guarantee import Guarantee
from ...mechanisms.public_inputs import drawable_epsilon, laplace_scale, linked
from ...randomness import branch
from .dp_graph import PrivateGraph, PrivateGraphSettings, central
from .passing_pairs import passing, rate_for


class TmFSettings(PrivateGraphSettings):
    """Settings of `TmF`."""

    count: float = Field(
        0.5, gt=0, lt=1, description="share of epsilon that is spent on the number of edges; 0.1 keeps more edges"
    )


class TmF(PrivateGraph):
    """Publishes as many pairs as a noisy count of edges says; linked ones pass the filter more often than others.

    Top-m Filter (Nguyen, Imine and Rusinowitch 2015, "Differentially private publication of social graphs at
    linear cost"). Each cell of the adjacency matrix gets noise and passes above a threshold, chosen so that m
    pairs pass, m being a noisy count of the edges. Time and memory go with the edges, not with the pairs.

    The published linear form keeps no epsilon. It lets edges pass and takes all the rest, up to m, from pairs
    without an edge. Take a told graph whose pairs are edges of the original, all but one. Were that one an edge
    too, the same graph would be likelier by a factor that grows like the number of all pairs. Here pairs without
    an edge pass on their own as well, by the law that the proof needs (`passing_pairs`), and nothing but the pairs
    that passed and the noisy count goes further. Where fewer passed than the count says, the rest is drawn among
    all pairs that did not pass, edges or not; where more did, random ones of them are dropped.

    One edge moves the count by 1, which costs ``count`` times epsilon, and the chances of one pair, which costs the
    rest. For thresholds above 1 the chances are those of the paper's Laplace noise; below, they are the best that
    the same epsilon allows. Noise is exact: no float decides whether a pair passes.

    A node keeps some of its edges, at a price: `dp-1k` gives none of them away.
    """

    name = "tmf"
    phrase = "with edges passed through a noisy filter"
    alternative = "random-edit"
    guarantee = (
        "epsilon-differential privacy, central: one edge more or less changes no published graph's probability by "
        "a factor over e^epsilon, for those who know neither noise nor seed; nodes and their number are public"
    )
    Settings = TmFSettings
    settings: TmFSettings

    @property
    def parts(self) -> tuple[Fraction, Fraction]:
        """Epsilon for the number of edges, and for the pairs."""
        budget = drawable_epsilon(self.settings.epsilon)
        of_count = drawable_epsilon(budget * Fraction(repr(self.settings.count)))
        return of_count, drawable_epsilon(budget - of_count)

    def promise(self) -> Guarantee:
        of_count, of_pairs = self.parts
        return central(
            of_count + of_pairs,
            "discrete Laplace noise on the number of edges, and exact coins of a response with two "
            "chances for each pair; pure; all else follows from both",
        )

    def on_graph(self, network: Network, seed: np.random.SeedSequence) -> Network:
        """The graph of the pairs that passed, filled up or thinned to the noisy count.

        Raises:
            InputError: fewer than two nodes, counts instead of edges, or an epsilon so small that the graph would
                be too large.
        """
        network, noise = linked(network, 2), self.noise(seed)
        of_count, of_pairs = self.parts
        pairs, nodes = network.nodes * (network.nodes - 1) // 2, network.nodes
        noisy = network.size + int(discrete_laplace(laplace_scale(1, of_count), 1, noise)[0])
        wanted = min(max(noisy, 0), pairs)
        self.refuse_many(wanted)
        passed = np.empty(0, dtype=np.int64)
        if 0 < wanted < pairs:
            passed = passing(network, of_pairs, rate_for(of_pairs, wanted, pairs), noise)
        told = adjusted(passed, wanted, nodes, np.random.default_rng(branch(seed, "graph")))
        return Network(nodes, np.stack(ends(told, nodes)))


def adjusted(passed: Ints, wanted: int, nodes: int, rng: np.random.Generator) -> Ints:
    """As many pairs as are wanted: random ones of those that passed, or these and random ones of all others.

    Args:
        passed: codes, ascending.
        wanted: how many, up to all pairs.
        nodes: n.
        rng: of the draws; it may be known, since nothing but what passed goes in.

    Returns:
        Codes, ascending, [wanted].
    """
    if len(passed) >= wanted:
        return np.sort(rng.choice(passed, wanted, replace=False))
    others = nodes * (nodes - 1) // 2 - len(passed)
    rest = rng.choice(others, wanted - len(passed), replace=False).astype(np.int64)
    return np.sort(np.concatenate([passed, pairs_beside(rest, passed, nodes)]))
