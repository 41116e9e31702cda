"""The trivial alternative to defenses that add and delete edges: random edits."""

import numpy as np
from pydantic import Field

from ...errors import InputError
from ...graphs.network import Ints, Network, Verified
from ...graphs.pair_codes import codes, listed, pairs_at
from ...settings import Settings
from ...targets.defense import Defense


class RandomEditSettings(Settings):
    """Settings of `RandomEdit`."""

    share: float = Field(
        0.2, ge=0, le=1, description="share of the edges that are deleted; as many others are added"
    )


class RandomEdit(Defense):
    """Deletes random edges and adds as many random ones between nodes that were not linked.

    Rand Add/Del of Ying and Wu 2008 (SDM, "Randomizing social networks: a spectrum preserving approach"). Only
    edges of the network as it was are deleted and none of them returns, so exactly ``share`` of the published
    edges are false. Degrees change: a node keeps 1 - share of its edges and gains as many as any other node.
    """

    name = "random-edit"
    phrase = "with random edges in place of others"
    strength = "share"
    sweep = (0.1, 0.2, 0.5)
    trivial = True
    guarantee = "the number of edges stays, and no deleted edge returns"
    Settings = RandomEditSettings
    settings: RandomEditSettings

    def on_graph(self, network: Network, seed: np.random.SeedSequence) -> Network:
        before = network.plain()
        count = round(self.settings.share * before.size)
        room = before.nodes * (before.nodes - 1) // 2 - before.size
        if count > room:
            raise InputError(
                f"'{self.name}' cannot add {count} edges: only {room} pairs are not linked; take a smaller share"
            )
        return edited(network, count, np.random.default_rng(seed))

    def verify(self, before: Network, after: Network) -> Verified:
        return verify_edge_count(before, after)


def edited(network: Network, count: int, rng: np.random.Generator) -> Network:
    """The network with ``count`` random edges deleted and as many random ones added that were not there.

    Raises:
        ValueError: there are not so many edges, or not so many pairs that are not linked.
    """
    plain = network.plain()
    kept = plain.codes[different(plain.size - count, plain.size, rng)]
    return network.with_edges(np.concatenate([kept, non_edges(plain, count, rng)]), rng)


def non_edges(network: Network, count: int, rng: np.random.Generator) -> Ints:
    """Codes of ``count`` different pairs that are not linked, uniformly; time goes with edges and count."""
    low, high = network.plain().edges
    linked = low * (2 * network.nodes - low - 1) // 2 + high - low - 1  # places among all pairs, ascending
    room = network.nodes * (network.nodes - 1) // 2 - len(linked)
    ranks = different(count, room, rng)
    # the r-th pair that is not linked comes after as many linked ones as have no more than r others before them
    places = ranks + np.searchsorted(linked - np.arange(len(linked)), ranks, side="right")
    return np.asarray(pairs_at(places, network.nodes), dtype=np.int64)


def different(count: int, room: int, rng: np.random.Generator) -> Ints:
    """``count`` different numbers below ``room``, every set of them equally likely; memory goes with count.

    Raises:
        ValueError: there are not so many.
    """
    if count > room:
        raise ValueError(f"{count} different numbers below {room}")
    if room <= 4 * count:
        return rng.permutation(room)[:count]
    found = np.empty(0, dtype=np.int64)
    while len(found) < count:
        drawn = np.concatenate([found, rng.integers(room, size=count - len(found) + 10)])
        found = drawn[
            np.sort(np.unique(drawn, return_index=True)[1])
        ]  # in the order drawn, so no number is favoured
    return found[:count]


def verify_edge_count(before: Network, after: Network) -> Verified:
    """Whether there are as many linked pairs as there were."""
    was, now = before.plain(), after.plain()
    low, high = was.edges
    kept = int(listed(codes(low, high, now.nodes), now.codes).sum()) if was.nodes <= now.nodes else 0
    detail = f"{now.size} edges, {was.size} before; {kept} of these are still there"
    return Verified("the number of edges stays", was.size == now.size and was.nodes == now.nodes, detail)
