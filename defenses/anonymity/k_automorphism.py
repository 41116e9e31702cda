"""k-automorphism: every node looks like k - 1 others, whatever is known of the structure (Zou et al. 2009)."""

from dataclasses import replace

import numpy as np
from pydantic import Field

from ...errors import InputError
from ...graphs.network import Ints, Network, Verified, against, aside
from ...graphs.pair_codes import codes, listed
from ...settings import Settings
from ...targets.defense import Defense
from .orbits import orbits


class KAutomorphismSettings(Settings):
    """Settings of `KAutomorphism`."""

    k: int = Field(5, ge=1, description="nodes that look exactly like each node, itself among them, at least")


class KAutomorphism(Defense):
    """Adds edges until the network is the same after k - 1 ways to exchange all of its nodes.

    Nodes are laid out in a table of k columns, so that few edges must be added for the network to stay the same
    when all rows are turned together. If k does not divide n, nodes are added, to different rows; they count
    towards k, and `verify` tells what is left without them.

    It keeps every edge and adds many: up to k - 1 for each. Of links it hides nothing. What an orbit's nodes have
    in common is told of all of them: two orbits may be linked completely.

    Source:
        Zou, Chen and Özsu, "k-Automorphism: A General Framework for Privacy Preserving Network Publication",
        VLDB 2009: KM, with block alignment and edge copy as one closure. How the table is searched is ours.
    """

    name = "k-automorphism"
    phrase = "made k-automorphic"
    strength = "k"
    sweep = (2, 3, 5, 10)
    alternative = "random-edit"
    guarantee = (
        "k - 1 others, added nodes among them, are the same as each node to whoever knows structure alone "
        "(one node); nothing for links"
    )
    Settings = KAutomorphismSettings
    settings: KAutomorphismSettings

    def on_graph(self, network: Network, seed: np.random.SeedSequence) -> Network:
        from .alignment_table import alignment_table, closure

        k, rng = self.settings.k, np.random.default_rng(seed)
        if network.nodes < k:
            raise InputError(f"'{self.name}' cannot make {network.nodes} nodes alike by k = {k}: take a smaller k")
        table = alignment_table(network, k, rng)
        return network.with_edges(closure(network, table), rng, nodes=table.size)

    def verify(self, before: Network, after: Network) -> Verified:
        """Checks ``after`` alone; tells how many times as many edges it has, and what holds for the old nodes."""
        found = verify_k_automorphism(after, self.settings.k)
        alike = orbits(after)[: before.nodes]
        fewest = np.bincount(alike)[alike].min(initial=before.nodes)
        kept = listed(before.plain().codes, _renumbered(after, before.nodes)).sum()
        detail = (
            f"{found.detail}, at least {fewest} of them not added; {after.plain().size / max(before.size, 1):.2f} "
            f"times as many edges, {kept} of {before.plain().size} kept"
        )
        return replace(found, detail=detail)


def verify_k_automorphism(network: Network, k: int) -> Verified:
    """Whether automorphisms of a network take each node to at least k - 1 others, types and weights aside.

    This is what k-automorphism gives to one node, read off the network without the table that it was made with.
    (The definition asks for k - 1 automorphisms that do so for all nodes at once.)
    """
    sizes = np.bincount(orbits(network))
    detail = f"{len(sizes)} orbits of {sizes.min(initial=network.nodes)} to {sizes.max(initial=0)} nodes"
    guarantee = f"automorphisms take every node to at least {k - 1} others{aside(network)}"
    known = "all of the graph's structure but its names, and looks for one person; links are not hidden"
    return Verified(guarantee, bool((sizes >= k).all()), detail, against(known, network))


def _renumbered(after: Network, nodes: int) -> Ints:
    """Codes of the edges between the first nodes, as a network of these alone has them."""
    low, high = after.plain().edges
    inside = high < nodes
    return codes(low[inside], high[inside], nodes)
