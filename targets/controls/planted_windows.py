"""A network published by windows of time that gives everybody away: the control of attacks that use windows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...graphs.network import Network, Original
from ...graphs.pyg import network_of_data
from ...randomness import branch
from ..channel import Channel, Retention
from ..defense import Defense
from ..games.identities import Identity, identities
from ..messages import WINDOWS_KIND
from ..published import tensors_of
from ..publishing.publish import OWNER
from ..target import Progress, Run, Utility, no_progress
from .control import PlantedParties
from .planted_network import PlantedNetworkSettings

if TYPE_CHECKING:
    from torch_geometric.data import Data

WINDOWS = 4


class PlantedWindows(PlantedParties):
    """A control that leaks on purpose: the edges of a random network in random windows (dataset `planted-network`).

    Most nodes are the only ones with their numbers of edges in four windows of time. An attack on identity by
    windows that does not find that is broken, whatever else it reports.
    """

    name = "planted-windows"
    release = WINDOWS_KIND
    release_phrase = "what was planted"
    sends = (WINDOWS_KIND,)
    dataset = "planted-network"
    plain = True
    games = (Identity.name,)
    Settings = PlantedNetworkSettings
    settings: PlantedNetworkSettings

    def run(
        self,
        data: Data,
        defense: Defense,
        seed: np.random.SeedSequence,
        retain: Retention,
        progress: Progress = no_progress,
    ) -> Run:
        plain, rng, channel = network_of_data(data), np.random.default_rng(seed), Channel(retain=retain)
        drawn = rng.integers(WINDOWS, size=plain.size)
        network = Network.from_edges(plain.nodes, plain.edges[0], plain.edges[1], types=drawn)
        new = rng.permutation(network.nodes)
        channel.send(WINDOWS_KIND, OWNER, "public", 1, tensors_of(network.renamed(new)))
        who = identities(new, network.nodes, branch(seed, "others"))
        progress("planting", 1, 1)
        secret = replace(who, original=Original(network, published=network))
        return Run(channel.transcript, {secret.name: secret}, (Utility.of_test(1, 1.0),), 0, tested=0)
