"""k-neighbourhood anonymity: the graph that a node's neighbours form occurs k times (Zhou and Pei 2008)."""

from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...errors import InputError
from ...graphs.neighbourhoods import digests
from ...graphs.network import Ints, Network, Verified, against, aside
from ...graphs.pair_codes import codes, listed
from ...settings import Settings
from ...targets.defense import Defense


class KNeighbourhoodSettings(Settings):
    """Settings of `KNeighbourhood`."""

    k: int = Field(5, ge=1, description="nodes whose neighbours form the same graph, at least")
    growth: float = Field(0.5, ge=0, description="links added for each edge, at most; beyond that it gives up")
    otherwise: Literal["k-automorphism", "unlink", "refuse"] = Field(
        "k-automorphism",
        description="where it gives up: make the network k-automorphic, which adds many edges; unlink neighbours, "
        "which removes a third or so and leaves no triangle; or refuse and say both prices",
    )


class KNeighbourhood(Defense):
    """Adds edges until each node's neighbours form the same graph as those of k - 1 others.

    The node with most neighbours among those that too few are like, and k - 1 others that are nearly like it, are
    made alike: whoever lacks neighbours is linked to nodes of small degree far from it, neighbours that play the
    same part are put one above the other, and the edges that some have between them are added to the others. What
    this does to the neighbourhoods of others is seen to later.

    **It ends well on sparse networks without clusters only.** Where hubs share neighbours, each edge that makes two
    of them alike parts a third from its like, and edges multiply. After ``growth`` links for each edge it gives up,
    and something else is done to the original, so that the guarantee always holds. `k-automorphism` is stronger,
    keeps all edges and adds several times as many. ``unlink`` removes edges until no two neighbours of a node are
    linked, and then brings degrees together: it changes far fewer pairs, and no triangle is left. An owner who
    writes a file is asked first: ``otherwise`` is ``refuse`` there, which names both prices.

    Source:
        Zhou and Pei, "Preserving Privacy in Social Networks Against Neighborhood Attacks", ICDE 2008, without
        generalising labels. Components are matched by size, and nodes within them by the edges that agree. That
        edges are removed is ours: the paper adds them alone.
    """

    name = "k-neighbourhood"
    phrase = "with every neighbourhood at least k times"
    strength = "k"
    sweep = (2, 3, 5, 10)
    alternative = "random-edit"
    for_owners: ClassVar[dict[str, Any]] = {"otherwise": "refuse"}
    guarantee = (
        "each node shares the graph of its neighbours with at least k - 1 others, added nodes among them; who "
        "knows what lies beyond may tell them apart"
    )
    Settings = KNeighbourhoodSettings
    settings: KNeighbourhoodSettings

    def on_graph(self, network: Network, seed: np.random.SeedSequence) -> Network:
        from .growing_neighbourhoods import grown
        from .k_automorphism import KAutomorphism
        from .unlinked_neighbours import unlinked

        k, rng = self.settings.k, np.random.default_rng(seed)
        if network.nodes < k:
            raise InputError(f"'{self.name}' cannot make {network.nodes} nodes alike by k = {k}: take a smaller k")
        most = round(self.settings.growth * network.plain().size)
        pairs = grown(network, k, most, rng)
        if pairs is not None:
            return network.with_edges(pairs, rng)
        if self.settings.otherwise == "k-automorphism":
            return KAutomorphism(k=k).on_graph(network, seed)
        pairs = unlinked(network, k, most, rng)
        if self.settings.otherwise == "refuse":
            more = KAutomorphism(k=k).on_graph(network, seed).plain().size
            raise InputError(self._prices(network.plain(), more, pairs))
        return network.with_edges(pairs, rng)

    def _prices(self, before: Network, more: int, left: Ints) -> str:
        """Why it gave up, and what the user may do."""
        size = max(before.size, 1)
        kept = int(listed(before.codes, left).sum())
        return (
            f"'{self.name}' cannot make the neighbourhoods of this network alike with growth="
            f"{self.settings.growth:g} links for each edge. It can make the network k-automorphic instead, which "
            f"is stronger, with {more / size:.2f} times as many edges: set otherwise=k-automorphism to take that. "
            f"Or it can remove edges until no two neighbours of a person are linked, which keeps "
            f"{100 * kept / size:.0f} % of the edges, adds {100 * (len(left) - kept) / size:.1f} %, and leaves "
            "no triangle: set otherwise=unlink. Or take a larger growth"
        )

    def verify(self, before: Network, after: Network) -> Verified:
        """Checks ``after`` alone; tells what was added, and, where nodes were, what holds for the old ones."""
        found = verify_k_neighbourhood(after, self.settings.k)
        low, high = before.plain().edges
        kept, added = listed(codes(low, high, after.nodes), after.plain().codes).sum(), after.nodes - before.nodes
        real = f", at least {_fewest(after, before.nodes)} times if added nodes do not count" if added else ""
        detail = (
            f"{found.detail}{real}; {kept} of {before.plain().size} edges kept, {after.plain().size - kept} and "
            f"{added} nodes added"
        )
        return replace(found, detail=detail, note=self._fallback(before.plain(), after.plain(), int(kept)))

    def _fallback(self, before: Network, after: Network, kept: int) -> str:
        """Says that it gave up, what was done instead, and what that cost; empty where it did not give up.

        Edges are removed in one way alone. Nodes, or more links than ``growth`` allows, are added in no other way.
        Fewer links may make a network k-automorphic by chance: then that it is so is said, and not why.
        """
        from .k_automorphism import verify_k_automorphism

        growth, cost = self.settings.growth, after.size / max(before.size, 1)
        if kept < before.size:
            return (
                f"The neighbourhoods could not be made alike by themselves within the setting growth={growth:g}, "
                "so edges were removed until no two neighbours of a person are linked: no triangle is left, and "
                f"whoever counts on clustering must not use the result. {100 * kept / before.size:.0f} % of the "
                "edges are kept."
            )
        price = f"it has {cost:.2f} times as many edges as the original."
        if after.nodes > before.nodes or after.size > before.size + round(growth * before.size):
            return (
                f"The neighbourhoods could not be made alike by themselves within the setting growth={growth:g}, "
                f"so the network was made k-automorphic instead, which is stronger: {price}"
            )
        if after.size > before.size and verify_k_automorphism(after, self.settings.k).holds:
            return f"The result is k-automorphic too, which is stronger: {price}"
        return ""


def verify_k_neighbourhood(network: Network, k: int) -> Verified:
    """Whether the graph that a node's neighbours form is isomorphic to those of at least k - 1 others."""
    times = np.unique(digests(network), return_counts=True)[1]
    detail = f"{len(times)} different neighbourhoods, the rarest occurs {times.min(initial=network.nodes)} times"
    guarantee = f"every neighbourhood occurs at least {k} times{aside(network)}"
    known = "a person's neighbours and which of them are linked to each other, and nothing beyond them"
    return Verified(guarantee, bool((times >= k).all()), detail, against(known, network))


def _fewest(network: Network, people: int) -> int:
    """How often the rarest neighbourhood of the first so many nodes occurs among these."""
    alike = np.unique(digests(network)[:people], return_counts=True)[1]
    return int(alike.min(initial=people))
