"""A graph from what users themselves report of their neighbours, with noise: LDPGen."""

import math
from fractions import Fraction

import numpy as np
from pydantic import Field

from ...graphs.network import Floats, Ints, Network
from ...graphs.pair_codes import codes, distinct, ends
from ...mechanisms.degrees import nearest_with_sum
from ...mechanisms.group_reports import group_report, report_guarantee, report_scale
from ...mechanisms.guarantee import Guarantee
from ...mechanisms.public_inputs import drawable_epsilon
from ...randomness import branch, integer
from .dp_graph import PrivateGraph, PrivateGraphSettings
from .group_edges import Pairs, edges_between, edges_within

STARTS = 3
"""Times that k-means begins anew."""


class LDPGenSettings(PrivateGraphSettings):
    """Settings of `LDPGen`."""

    groups: int = Field(10, ge=1, description="groups of users; public, chosen without a look at the edges")
    reports: int = Field(3, ge=1, le=20, description="times that users report, each with as much of epsilon")


class LDPGen(PrivateGraph):
    """Users report how many neighbours they have in each group, with noise; a graph is drawn from the reports.

    Qin et al. 2017 ("Generating synthetic decentralized social graphs with local differential privacy"). Nobody
    holds the graph: each user has a list of neighbours and adds noise before anything is sent.

    0. Users are put into random groups.
    1. Each reports its number of neighbours in each group. Users with similar reports are put into one group
       (k-means).
    2. Each reports its numbers of neighbours in these groups, and users are grouped anew; they report once more.
    3. Reports of a group say how many edges lie between it and another; of a user, how likely it has them. So many
       pairs of the two groups are linked, likelier those of users with more neighbours there (Chung and Lu).

    Each report gets an equal part of epsilon. How many neighbours are in random groups says little but how many
    there are, so that groups after one report are of users with as many links; communities show in the next.

    ``epsilon`` is for an edge. An edge stands in the lists of two users, so that one place of one list, the
    paper's unit, is protected at half of it: a paper's epsilon of 1 is 2 here.

    Differences from the paper: its users report twice, and it estimates how many neighbours are in the last groups,
    which nobody was asked; here these are reported, too (``reports`` = 2 leaves the last grouping out). The number
    of groups is a public setting, where the paper estimates a good one. Numbers of edges between groups come from
    sums of noisy reports, in which noise averages out, and reports are drawn to their group's mean by as much as
    the noise explains, instead of setting negative ones to 0 (which adds edges by the ten thousand). The number of
    edges between two groups is the estimate itself, not drawn around it.

    A user keeps the number of its links approximately, where the noise allows to see it, and its group.
    """

    name = "ldpgen"
    phrase = "replaced by a graph from users' noisy reports"
    alternative = "random-edit"
    guarantee = (
        "epsilon-differential privacy, local: one edge more or less, in the lists of both its ends, changes no "
        "published graph's probability by a factor over e^epsilon, and one place of one user's list by none over "
        "e^(epsilon/2), for those who know neither noise nor seed; nodes and their number are public"
    )
    Settings = LDPGenSettings
    settings: LDPGenSettings

    def promise(self) -> Guarantee:
        return report_guarantee(self.each * self.settings.reports, f"the number of groups, {self.settings.groups}")

    @property
    def each(self) -> Fraction:
        """Epsilon of one round of reports, for an edge."""
        return drawable_epsilon(drawable_epsilon(self.settings.epsilon) / self.settings.reports)

    def on_graph(self, network: Network, seed: np.random.SeedSequence) -> Network:
        return self.grouped(network, seed)[0]

    def grouped(self, network: Network, seed: np.random.SeedSequence) -> tuple[Network, Ints]:
        """The graph drawn from all reports, and the groups that the last ones were for, [n].

        Raises:
            InputError: fewer than two nodes, counts instead of edges, or an epsilon so small that the graph would
                be too large.
        """
        noise = self.noise(seed)
        groups = random_groups(network.nodes, self.settings.groups, np.random.default_rng(branch(seed, "groups")))
        told = np.asarray(group_report(network, groups, self.each, noise).values)
        for number in range(1, self.settings.reports):
            groups = similar(told, self.settings.groups, branch(seed, "k-means", number))
            told = np.asarray(group_report(network, groups, self.each, noise).values)
        counts = edges_between_groups(told, groups)
        self.refuse_many(int(counts.sum()))
        variance = noise_variance(float(report_scale(self.each)))
        rng = np.random.default_rng(branch(seed, "edges"))
        return drawn(told, groups, counts, variance, rng), groups


def random_groups(nodes: int, count: int, rng: np.random.Generator) -> Ints:
    """Random groups whose sizes differ by 1 at most, [n]."""
    return rng.permutation(np.arange(nodes, dtype=np.int64) % count)


def similar(reports: Ints, count: int, seed: np.random.SeedSequence) -> Ints:
    """Groups of users with similar reports, by k-means, [n].

    Args:
        reports: noisy, as they are: negative numbers belong to them, [n, k].
        count: of groups; fewer if there are fewer different reports.
        seed: of the starts.

    Returns:
        Groups 0, 1, ..., each of which has somebody in it.
    """
    from sklearn.cluster import KMeans

    count = min(count, len(np.unique(reports, axis=0)))
    if count == 1:
        return np.zeros(len(reports), dtype=np.int64)
    found = KMeans(count, n_init=STARTS, random_state=integer(seed) % 2**32).fit_predict(reports.astype(np.float64))
    return np.unique(found, return_inverse=True)[1].astype(np.int64)


def edges_between_groups(reports: Ints, groups: Ints) -> Ints:
    """Estimated numbers of edges between groups, at least 0 and at most all pairs, [k, k] upper triangular.

    Both groups report the edges between them. The smaller one's sum has less noise, and each is weighed by the
    other's size. Estimates below 0 are lifted to it, and the others lowered, so that the sum stays: with many
    groups it would grow by as much as there is noise.

    Args:
        reports: of each user for each group, [n, k].
        groups: of each user, [n].
    """
    kinds = reports.shape[1]
    size = np.bincount(groups, minlength=kinds)
    sums = np.zeros((kinds, kinds))
    np.add.at(sums, groups, reports.astype(np.float64))
    share = size[None, :] / np.maximum(size[:, None] + size[None, :], 1)
    edges = share * sums + share.T * sums.T
    room = np.outer(size, size)
    own = np.arange(kinds)
    edges[own, own], room[own, own] = sums[own, own] / 2, size * (size - 1) // 2
    cells, found = np.triu_indices(kinds), np.zeros((kinds, kinds), dtype=np.int64)
    likeliest = nearest_with_sum(edges[cells], np.rint(edges[cells].sum()))
    found[cells] = np.minimum(np.floor(likeliest + 0.5), room[cells]).astype(np.int64)
    return found


def drawn(reports: Ints, groups: Ints, counts: Ints, variance: float, rng: np.random.Generator) -> Network:
    """A random graph with so many edges between groups; users who report more neighbours there get more of them.

    Args:
        reports: of each user for each group, [n, k].
        groups: of each user, [n].
        counts: edges between groups, [k, k] upper triangular.
        variance: of the noise in reports.
        rng: of the draws.
    """
    members = [np.flatnonzero(groups == kind) for kind in range(len(counts))]
    found = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))]
    for a, b in zip(*np.nonzero(counts), strict=True):
        edges = int(counts[a, b])
        one = likely(reports[members[a], b], variance, edges * (1 + (a == b)))
        pairs: Pairs
        if a == b:
            pairs = edges_within(one, edges, rng)
        else:
            pairs = edges_between(one, likely(reports[members[b], a], variance, edges), edges, rng)
        found.append((members[a][pairs[0]], members[b][pairs[1]]))
    one_end, other_end = (np.concatenate(side) for side in zip(*found, strict=True))
    nodes = len(reports)
    return Network(nodes, np.stack(ends(distinct(codes(one_end, other_end, nodes)), nodes)))


def likely(reports: Ints, variance: float, total: int) -> Floats:
    """Numbers of neighbours, likely by noisy reports: at least 0, with a known sum, [a].

    Reports are drawn to their mean (`shrunk`), and then moved to the nearest numbers that are at least 0 and have
    the sum.

    Args:
        reports: of the users of a group, [a].
        variance: of the noise.
        total: the sum.
    """
    return nearest_with_sum(shrunk(reports.astype(np.float64), variance), total)


def shrunk(told: Floats, variance: float) -> Floats:
    """Noisy numbers, drawn to their mean by the share of variance that noise explains (James and Stein), [a]."""
    mean, spread = float(told.mean()), float(told.var())
    trust = max(0.0, 1 - variance / spread) if spread > 0 else 0.0
    return mean + trust * (told - mean)


def noise_variance(scale: float) -> float:
    """Variance of discrete Laplace noise."""
    return 1 / (2 * math.sinh(min(1 / scale, 700.0) / 2) ** 2)  # cosh(x) - 1, which is 0 in floats for small x
