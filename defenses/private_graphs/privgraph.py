"""A graph drawn from noisy communities, degrees within them and edges between them: PrivGraph."""

from fractions import Fraction

import numpy as np
from pydantic import Field

from ...errors import InputError
from ...graphs.measures.communities import louvain
from ...graphs.network import Ints, Network
from ...mechanisms.degrees import nearest_with_sum
from ...mechanisms.exact_noise import UniformIntegers, discrete_laplace, geometric
from ...mechanisms.guarantee import Guarantee
from ...mechanisms.public_inputs import drawable_epsilon, laplace_scale, linked
from ...randomness import branch
from .dp_graph import PrivateGraph, PrivateGraphSettings, central
from .ldpgen import drawn, noise_variance, random_groups

STAGES = 3
"""Each of which gets as much of epsilon."""
MOST_CELLS = 50_000_000
"""Of a table of groups, or of nodes and communities."""


class PrivGraphSettings(PrivateGraphSettings):
    """Settings of `PrivGraph`."""

    group: int = Field(20, ge=1, description="nodes of a random group; public, chosen without a look at the edges")


class PrivGraph(PrivateGraph):
    """Communities are found with noise; a graph is drawn from degrees within and numbers of edges between them.

    Yuan et al. 2023 ("PrivGraph: Differentially private graph data publication by exploiting community
    information", USENIX Security). Each of three stages gets a third of epsilon, and one edge changes:

    1. One cell by 1, of the numbers of edges within and between random groups of ``group`` nodes. Louvain's method
       puts these groups together to communities by the noisy numbers.
    2. The scores of both its ends, each by 1 in one community. Every node moves to one of these communities, by the
       exponential mechanism with its number of links there as score. An edge more raises scores and lowers none, so
       that a choice with weights e^(epsilon score / 2) costs epsilon / 2, and both ends epsilon.
    3. Either two degrees within a community by 1 each, with noise for 2, or one number of edges between two by 1,
       with noise for 1: an edge is in one of the two tables alone, and so is its cost.

    Within a community pairs are linked by their noisy degrees (Chung and Lu), between two at random.

    Differences from the paper: all moves read the communities of stage 1, and none that of an earlier move; degrees
    are believed by as much as noise does not explain (as in `ldpgen`), and negative numbers are lifted to 0 so that
    sums stay. All noise is exact.

    Communities that random groups do not show are lost at once: of three clear communities of 100 nodes, groups of
    20 have a third of each, and stage 1 finds nothing that holds them apart. Stage 2 then moves nodes among
    communities that say nothing.
    """

    name = "privgraph"
    phrase = "replaced by a graph of noisy communities"
    alternative = "random-edit"
    guarantee = (
        "epsilon-differential privacy, central: one edge more or less changes no published graph's probability by "
        "a factor over e^epsilon, for those who know neither noise nor seed; nodes and their number are public"
    )
    Settings = PrivGraphSettings
    settings: PrivGraphSettings

    @property
    def each(self) -> Fraction:
        """Epsilon of one stage."""
        return drawable_epsilon(drawable_epsilon(self.settings.epsilon) / STAGES)

    def promise(self) -> Guarantee:
        return central(
            STAGES * self.each,
            "a third of epsilon each for numbers of edges between random groups, for the community of "
            "every node, and for degrees within and edges between communities; discrete Laplace noise and "
            "exponential mechanism, drawn exactly; pure",
            f"the size of random groups, {self.settings.group}",
        )

    def on_graph(self, network: Network, seed: np.random.SeedSequence) -> Network:
        return self.divided(network, seed)[0]

    def divided(self, network: Network, seed: np.random.SeedSequence) -> tuple[Network, Ints]:
        """The graph, and the communities that it was drawn from, [n].

        Raises:
            InputError: fewer than two nodes, counts instead of edges, so many random groups that their table would
                fill the memory, or an epsilon so small that the graph would be too large.
        """
        network, noise = linked(network, 2), self.noise(seed)
        groups = self._random_groups(network.nodes, np.random.default_rng(branch(seed, "groups")))
        communities = self._first_communities(network, groups, seed, noise)
        moved = chosen(links_to(network, communities), self.each / 2, noise)
        communities = np.unique(moved, return_inverse=True)[1].astype(np.int64)
        degrees, counts, scale = self._told(network, communities, noise)
        self.refuse_many(int(counts.sum()))
        rng = np.random.default_rng(branch(seed, "edges"))
        return drawn(degrees, communities, counts, noise_variance(scale), rng), communities

    def _random_groups(self, nodes: int, rng: np.random.Generator) -> Ints:
        count = -(-nodes // self.settings.group)
        if count * count > MOST_CELLS:
            raise InputError(
                f"group is {self.settings.group}: {nodes:,} nodes would be {count:,} groups, whose table is too "
                f"large; expected at most {int(MOST_CELLS**0.5):,} groups: choose a larger group"
            )
        return random_groups(nodes, count, rng)

    def _first_communities(
        self, network: Network, groups: Ints, seed: np.random.SeedSequence, noise: np.random.Generator | None
    ) -> Ints:
        """Communities of random groups, by noisy numbers of edges, for each node [n]."""
        from scipy.sparse import csr_array

        counts = between(network, groups)
        cells = np.triu_indices(len(counts))
        noisy = counts[cells] + discrete_laplace(laplace_scale(1, self.each), len(cells[0]), noise)
        weights = nearest_with_sum(noisy, float(noisy.sum()))
        seen = weights > 0
        if not seen.any():
            return np.zeros(network.nodes, dtype=np.int64)
        found = louvain(
            csr_array((weights[seen], (cells[0][seen], cells[1][seen])), shape=counts.shape),
            np.random.default_rng(branch(seed, "communities")),
        )
        return found[groups]

    def _told(
        self, network: Network, communities: Ints, noise: np.random.Generator | None
    ) -> tuple[Ints, Ints, float]:
        """Noisy degrees within communities [n, k], numbers of edges [k, k] upper triangular, the degrees' scale."""
        scale = laplace_scale(2, self.each)
        own = degrees_within(network, communities) + discrete_laplace(scale, network.nodes, noise)
        counts, kinds = between(network, communities), int(communities.max()) + 1
        cells = np.triu_indices(kinds, 1)
        noisy = counts[cells] + discrete_laplace(laplace_scale(1, self.each), len(cells[0]), noise)
        sizes, sums = np.bincount(communities, minlength=kinds), np.zeros(kinds)
        np.add.at(sums, communities, own)
        found = np.zeros((kinds, kinds), dtype=np.int64)
        whole = np.floor(nearest_with_sum(noisy, float(noisy.sum())) + 0.5)
        found[cells] = np.minimum(whole, np.outer(sizes, sizes)[cells])
        found[np.arange(kinds), np.arange(kinds)] = np.clip(np.rint(sums / 2), 0, sizes * (sizes - 1) // 2)
        told = np.zeros((network.nodes, kinds), dtype=np.int64)
        told[np.arange(network.nodes), communities] = own
        return told, found, float(scale)


def between(network: Network, groups: Ints) -> Ints:
    """Numbers of edges within and between groups, [k, k] upper triangular."""
    kinds = int(groups.max(initial=0)) + 1
    one, other = np.sort(groups[network.edges], axis=0)
    found: Ints = np.bincount(one * kinds + other, minlength=kinds * kinds).astype(np.int64)
    return found.reshape(kinds, kinds)


def degrees_within(network: Network, communities: Ints) -> Ints:
    """How many neighbours each node has in its own community, [n]."""
    one, other = network.edges
    inside = communities[one] == communities[other]
    found: Ints = np.bincount(network.edges[:, inside].ravel(), minlength=network.nodes).astype(np.int64)
    return found


def links_to(network: Network, communities: Ints) -> Ints:
    """How many neighbours each node has in each community, [n, k].

    Raises:
        InputError: so many communities that the table would fill the memory.
    """
    kinds = int(communities.max(initial=0)) + 1
    if network.nodes * kinds > MOST_CELLS:
        raise InputError(
            f"{network.nodes:,} nodes and {kinds:,} noisy communities make a table that is too large: a larger "
            "epsilon, or a larger group, makes fewer"
        )
    one, other = network.edges
    found = np.zeros((network.nodes, kinds), dtype=np.int64)
    np.add.at(found, (one, communities[other]), 1)
    np.add.at(found, (other, communities[one]), 1)
    return found


def chosen(scores: Ints, rate: Fraction, rng: np.random.Generator | None) -> Ints:
    """One column for each row, with probability proportional to e^(rate score), exactly, [n].

    Any column is proposed, and taken with probability e^(-rate gap), its gap being what it lacks to the best: a
    geometric number is as large as the gap just so often.

    Args:
        scores: whole numbers, [n, k].
        rate: above 0.
        rng: for audits only; None draws fresh entropy.
    """
    gaps = scores.max(axis=1, keepdims=True) - scores
    found = np.zeros(len(scores), dtype=np.int64)
    waiting = np.arange(len(scores) if scores.shape[1] > 1 else 0)
    while len(waiting):
        proposed = UniformIntegers(rng).below(scores.shape[1], len(waiting))
        taken = geometric(rate, len(waiting), rng) >= gaps[waiting, proposed]
        found[waiting[taken]] = proposed[taken]
        waiting = waiting[~taken]
    return found
