"""A published network in which everybody who is in it is found: the control of attacks on existence."""

import numpy as np
from torch_geometric.data import Data

from ...graphs.network import Network
from ...graphs.pyg import network_of_data
from ...randomness import branch
from ..channel import Channel, Retention
from ..defense import Defense
from ..games.existence import Existence, existence
from ..messages import PUBLISHED_KIND
from ..published import tensors_of
from ..publishing.publish import OWNER
from ..target import Progress, Run, Utility, no_progress
from .control import PlantedParties
from .planted_network import PlantedNetworkSettings


class PlantedPresence(PlantedParties):
    """A control that leaks on purpose: one of two networks that the adversary knows is published as it is.

    The other one has the same people's degrees and links of its own (dataset `planted-network`), so that nothing
    but the release tells who is in it. An attack on existence that does not find that is broken.
    """

    name = "planted-presence"
    release = PUBLISHED_KIND
    release_phrase = "what was planted"
    sends = (PUBLISHED_KIND,)
    dataset = "planted-network"
    plain = True
    games = (Existence.name,)
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
        network, channel = network_of_data(data).plain(), Channel(retain=retain)
        rng = np.random.default_rng(branch(seed, "names"))
        channel.send(
            PUBLISHED_KIND, OWNER, "public", 1, tensors_of(network.renamed(rng.permutation(network.nodes)))
        )
        nodes, other = network.nodes, _rewired(network, branch(seed, "other"))
        both = Network(2 * nodes, np.concatenate([network.edges, nodes + other.edges], axis=1))
        secret = existence(both, np.arange(2 * nodes) < nodes, nodes, brought=True)
        progress("planting", 1, 1)
        return Run(channel.transcript, {secret.name: secret}, (Utility.of_test(1, 1.0),), 0, tested=0)


def _rewired(network: Network, seed: np.random.SeedSequence) -> Network:
    """A network with the same degrees and other links: ends are swapped, ten times as often as there are edges."""
    rng, edges = np.random.default_rng(seed), network.edges.T.copy()
    linked = set(map(tuple, edges.tolist()))
    for one, other in rng.integers(len(edges), size=(10 * len(edges), 2)):
        (a, b), (c, d) = edges[one].tolist(), edges[other].tolist()
        if rng.random() < 0.5:
            c, d = d, c
        new = (min(a, d), max(a, d)), (min(c, b), max(c, b))
        if a == d or b == c or new[0] == new[1] or linked & set(new):
            continue
        linked -= {tuple(edges[one].tolist()), tuple(edges[other].tolist())}
        linked |= set(new)
        edges[one], edges[other] = new
    return Network.from_edges(network.nodes, *edges.T)
