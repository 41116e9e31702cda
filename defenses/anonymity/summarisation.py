"""Graph summaries: groups of nodes and numbers of edges instead of edges."""

import numpy as np
from pydantic import Field

from ...errors import InputError
from ...graphs.network import Network, Verified
from ...settings import Settings
from ...targets.defense import Defense
from .summaries import STEPS, annealed, counts_between, presence, sampled

IN_GROUPS = (
    "This holds against somebody who knows anything of the graph's structure and looks for one person: nobody is "
    "told apart within a group. Links between groups that are linked completely are told."
)
"""Against whose knowledge a release of groups holds."""


class SummarisationSettings(Settings):
    """Settings of `Summarisation`."""

    k: int = Field(10, ge=1, description="nodes of each group, at least")
    sample: bool = Field(
        True, description="publish a random graph with the groups and counts; false: these themselves, and no edges"
    )
    steps: int = Field(STEPS, ge=0, description="of the search for groups, for each node")


class Summarisation(Defense):
    """Groups nodes by k or more, keeps how many edges lie within and between groups, and forgets which they are.

    Hay et al. (VLDB 2008): among groupings the one with few graphs of these counts is searched by simulated
    annealing (see `summaries`). A node cannot be told from the others of its group, whatever is known of the
    structure around it; a link can where all or none of the pairs of two groups are linked, which `verify` counts.
    Groups are those of all edges, counts are by type where types are published, and weights never are.
    """

    name = "summarisation"
    phrase = "summarised by groups"
    strength = "k"
    sweep = (2, 5, 10, 20)
    alternative = "random-edit"
    publishes = ("groups",)
    guarantee = (
        "each node is one of at least k that nothing published tells apart (one node); of links it tells the "
        "numbers within and between groups, and all of them where two groups are linked completely"
    )
    Settings = SummarisationSettings
    settings: SummarisationSettings

    def on_graph(self, network: Network, seed: np.random.SeedSequence) -> Network:
        s, rng = self.settings, np.random.default_rng(seed)
        if network.nodes < s.k:
            raise InputError(f"'{self.name}' cannot group {network.nodes} nodes by k = {s.k}: take a smaller k")
        groups = annealed(network.plain(), s.k, rng, s.steps * max(network.nodes, 100))
        counts = counts_between(network, groups)
        if s.sample:
            return sampled(counts, groups, rng, typed=network.types is not None)
        return Network(network.nodes, np.empty((2, 0), dtype=np.int64), groups=groups, counts=counts)

    def verify(self, before: Network, after: Network) -> Verified:
        large, same = verify_groups(after, self.settings.k), verify_counts(before, after)
        return Verified(
            f"{large.guarantee}, and {same.guarantee}",
            large.holds and same.holds,
            f"{large.detail}; {same.detail}",
            IN_GROUPS,
        )


def verify_groups(network: Network, k: int) -> Verified:
    """Whether every node has a group and every group at least k nodes."""
    guarantee = f"every group has at least {k} nodes"
    if network.groups is None or len(network.groups) != network.nodes:
        return Verified(guarantee, False, "not every node has a group")
    sizes = np.unique(network.groups, return_counts=True)[1]
    detail = f"{len(sizes)} groups of {sizes.min(initial=network.nodes)} to {sizes.max(initial=0)} nodes"
    return Verified(guarantee, bool((sizes >= k).all()), detail)


def verify_counts(before: Network, after: Network) -> Verified:
    """Whether the numbers of edges within and between the published groups are those of the original.

    Its detail says how many links are told for certain: those between groups of which every pair is linked.
    """
    guarantee = "numbers of edges within and between groups are the original's"
    if after.groups is None or len(after.groups) != before.nodes:
        return Verified(guarantee, False, "not every node has a group")
    true = counts_between(before, after.groups)
    told = counts_between(after, after.groups) if after.counts is None else after.counts
    return Verified(guarantee, np.array_equal(true, told), f"{true[:, 3].sum()} edges; {certain_links(after)}")


def certain_links(network: Network) -> str:
    """What a summary tells for certain, in words.

    ``network`` has groups, and counts or edges with these counts.
    """
    if network.groups is None:
        return "no groups"
    counts = counts_between(network, network.groups) if network.counts is None else network.counts
    chance = presence(counts, network.groups)
    complete = chance >= 1
    return (
        f"{counts[complete, 3].sum()} links between groups that are linked completely are certain, "
        f"the largest probability of a link is {chance.max(initial=0):.3g}"
    )
