"""Networks with several types of edges, published without the sensitive one."""

from typing import Literal

import numpy as np
from pydantic import Field

from ...errors import InputError
from ...graphs.network import Floats, Ints, Network, Verified
from ...settings import Settings
from ...targets.defense import Defense

NOT_WHO = (
    "This holds against somebody who reads the release, and hides nobody: somebody who knows other edges of a "
    "person, or guesses from them, is not covered."
)
"""Against whose knowledge the absence of a type holds."""
Order = Literal["random", "contribution", "degree"]


class IntactEdgesSettings(Settings):
    """Settings of `IntactEdges`."""

    sensitive: int = Field(0, ge=0, description="the type of edges that is not published")


class IntactEdges(Defense):
    """Drops all edges of the sensitive type and publishes the others as they are.

    Zheleva and Getoor (PinKDD 2007): the least that can be done. What the other edges tell of the sensitive ones
    they still tell (`link-noisy-or` measures it).
    """

    name = "intact-edges"
    phrase = "without the sensitive edges"
    publishes = ("types",)
    alternative = "random-edit"
    guarantee = "no edge of the sensitive type is published; what the others tell of them they still tell"
    Settings = IntactEdgesSettings
    settings: IntactEdgesSettings

    def on_graph(self, network: Network, seed: np.random.SeedSequence) -> Network:
        types = types_with(network, self.settings.sensitive, self.name)
        return network.only(types != self.settings.sensitive)

    def verify(self, before: Network, after: Network) -> Verified:
        return verify_no_edge_of_type(after, self.settings.sensitive)


class PartialEdgesSettings(IntactEdgesSettings):
    """Settings of `PartialEdges`."""

    share: float = Field(0.5, ge=0, le=1, description="share of the edges of each other type that is dropped too")
    by: Order = Field(
        "random",
        description="which are dropped: random ones, those that tell most of sensitive edges (contribution), or "
        "those between the nodes with most edges (degree)",
    )


class PartialEdges(Defense):
    """Drops all edges of the sensitive type, and of each other type a share.

    Zheleva and Getoor (PinKDD 2007, "partial-edge removal"). Which edges of a type go, the setting ``by`` says; of
    those that are equal, random ones go. Who knows the share can correct numbers of edges by 1 / (1 - share).
    """

    name = "partial-edges"
    phrase = "without the sensitive edges and a part of the others"
    strength = "share"
    sweep = (0.25, 0.5, 0.75)
    publishes = ("types",)
    alternative = "random-edit"
    guarantee = (
        "no edge of the sensitive type is published, and of each other type the stated share is missing; what the "
        "remaining edges tell of the sensitive ones they still tell"
    )
    Settings = PartialEdgesSettings
    settings: PartialEdgesSettings

    def on_graph(self, network: Network, seed: np.random.SeedSequence) -> Network:
        s, rng = self.settings, np.random.default_rng(seed)
        types = types_with(network, s.sensitive, self.name)
        first = np.lexsort((rng.random(network.size), -self._weight(network)))
        stays = types != s.sensitive
        for kind in np.unique(types[stays]):
            own = first[types[first] == kind]
            stays[own[: round(s.share * len(own))]] = False
        return network.only(stays)

    def _weight(self, network: Network) -> Floats:
        """What edges are dropped by, the largest first, [m]."""
        if self.settings.by == "contribution":
            return contributions(network, self.settings.sensitive)
        if self.settings.by == "degree":
            types = types_with(network, self.settings.sensitive, self.name)
            degrees = network.only(types != self.settings.sensitive).degrees.astype(np.float64)
            product: Floats = degrees[network.edges[0]] * degrees[network.edges[1]]
            return product
        return np.zeros(network.size)

    def verify(self, before: Network, after: Network) -> Verified:
        gone = verify_no_edge_of_type(after, self.settings.sensitive)
        part = verify_removed(before, after, self.settings.sensitive, self.settings.share)
        return Verified(
            f"{gone.guarantee}, and {part.guarantee}",
            gone.holds and part.holds,
            f"{gone.detail}; {part.detail}",
            gone.knowledge,
        )


def types_with(network: Network, sensitive: int, name: str) -> Ints:
    """The types of a network's edges [m], of which one is the sensitive type.

    Raises:
        InputError: edges have no types, or none is of that one.
    """
    if network.types is None:
        raise InputError(
            f"'{name}' drops edges of a sensitive type, and the edges of this network have no types: give each one "
            "a whole number (edge_type of the graph)"
        )
    if network.size and not (network.types == sensitive).any():
        known = ", ".join(str(kind) for kind in np.unique(network.types))
        raise InputError(f"'{name}': no edge is of the sensitive type {sensitive}: the types here are {known}")
    return network.types


def contributions(network: Network, sensitive: int) -> Floats:
    """How much the noisy-or probability of a sensitive edge falls when one other edge between its ends goes, [m].

    Each type l of edges is a cause of its own, with the probability lambda_l; a further one, lambda_0, is always
    there. Without any other edge the probability is lambda_0, next to edges of type l alone it is
    1 - (1 - lambda_0)(1 - lambda_l): both are read off the network. Edges between nodes without a sensitive edge
    contribute nothing.
    """
    types = types_with(network, sensitive, "partial-edges")
    pairs, place = np.unique(network.codes, return_inverse=True)
    secret = np.zeros(len(pairs), dtype=bool)
    secret[place[types == sensitive]] = True
    others = np.bincount(place[types != sensitive], minlength=len(pairs))
    every = network.nodes * (network.nodes - 1) // 2
    leak = -np.log1p(-np.sum(secret & (others == 0)) / max(every - np.sum(others > 0) + 1, 1))
    causes = np.zeros(network.size)
    for kind in np.setdiff1d(types, [sensitive]):
        own = types == kind
        alone = own & (others[place] == 1) if (own & (others[place] == 1)).any() else own
        share = np.sum(secret[place[alone]]) / (np.sum(alone) + 1)  # one more without: never certain
        causes[own] = max(0.0, -np.log1p(-share) - leak)
    told = leak + np.bincount(place, causes, minlength=len(pairs))
    drop: Floats = np.where(secret[place] & (types != sensitive), np.exp(-told[place]) * np.expm1(causes), 0.0)
    return drop


def verify_no_edge_of_type(network: Network, sensitive: int) -> Verified:
    """Whether no published edge, and no published count of edges, is of the sensitive type."""
    edges = 0 if network.types is None else int((network.types == sensitive).sum())
    counts = 0 if network.counts is None else int(network.counts[network.counts[:, 2] == sensitive, 3].sum())
    bare = network.types is None and network.counts is None and network.size > 0
    detail = "edges have no types" if bare else f"{edges + counts} edges of type {sensitive}"
    return Verified(f"no edge of type {sensitive} is told", not bare and edges + counts == 0, detail, NOT_WHO)


def verify_removed(before: Network, after: Network, sensitive: int, share: float) -> Verified:
    """Whether of each type but the sensitive one the rounded share of the edges is missing, and no edge is new."""
    guarantee = f"of each other type {share:.3g} of the edges are missing and none is new"
    if before.types is None or after.types is None or before.nodes != after.nodes:
        return Verified(guarantee, False, "edges have no types, or the nodes are others")
    kinds = int(max(before.types.max(initial=0), after.types.max(initial=0))) + 1
    new = np.setdiff1d(after.codes * kinds + after.types, before.codes * kinds + before.types)
    was, now = (np.bincount(types, minlength=kinds) for types in (before.types, after.types))
    wrong = [
        kind for kind in range(kinds) if kind != sensitive and was[kind] - now[kind] != round(share * was[kind])
    ]
    detail = (
        f"{now.sum()} of {was.sum()} edges are left, {len(new)} are new, {len(wrong)} types lost another number"
    )
    return Verified(guarantee, not wrong and not len(new), detail)
