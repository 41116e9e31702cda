"""A published network that tells which links are strong by common friends: the control of marks of links."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...graphs.network import Network
from ...graphs.pyg import network_of_data
from ...randomness import branch
from ..channel import Channel, Retention
from ..defense import Defense
from ..games.link_marks import LinkType, LinkWeight, link_mark
from ..messages import PUBLISHED_KIND
from ..published import tensors_of
from ..target import Progress, Run, Utility, no_progress
from .control import PlantedLeak

if TYPE_CHECKING:
    from torch_geometric.data import Data

FRIENDS = 12
"""Accounts that only the two ends of a marked link are linked to: more than others share by chance."""


class PlantedMarks(PlantedLeak):
    """A control that leaks on purpose: a link's two ends have friends in common exactly where a coin says so.

    Weights and types of the links of a random network (dataset `planted-network`) follow one coin for each link,
    and neither is published. An attack on marks that does not find that is broken, whatever else it reports.
    """

    name = "planted-marks"
    release = PUBLISHED_KIND
    release_phrase = "what was planted"
    sends = (PUBLISHED_KIND,)
    dataset = "planted-network"
    plain = True
    games = (LinkWeight.name, LinkType.name)

    def run(
        self,
        data: Data,
        defense: Defense,
        seed: np.random.SeedSequence,
        retain: Retention,
        progress: Progress = no_progress,
    ) -> Run:
        network, rng = network_of_data(data), np.random.default_rng(branch(seed, "coins"))
        coin = rng.permutation(network.size) % 2
        marked = replace(network, weights=(1 + coin).astype(np.float64), types=coin)
        shown = _with_friends(network, coin > 0)
        new = rng.permutation(shown.nodes)
        channel = Channel(retain=retain)
        channel.send(PUBLISHED_KIND, "client:0", "public", 1, tensors_of(shown.renamed(new)))
        known = branch(seed, "known")
        games = [link_mark(marked, asked, 0.5, known, new[: network.nodes]) for asked in ("weight", "type:1")]
        progress("planting", 1, 1)
        return Run(channel.transcript, {game.name: game for game in games}, (Utility.of_test(1, 1.0),), 0, tested=0)


def _with_friends(network: Network, marked: np.ndarray) -> Network:
    """The network with `FRIENDS` new nodes for each marked edge, linked to its two ends."""
    low, high = (np.repeat(end[marked], FRIENDS) for end in network.edges)
    added = network.nodes + np.arange(len(low))
    source = np.concatenate([network.edges[0], low, high])
    target = np.concatenate([network.edges[1], added, added])
    return Network.from_edges(network.nodes + len(added), source, target)
