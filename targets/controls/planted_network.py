"""A published network that gives everybody away: the control of attacks on identity and on published links."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from ...graphs.network import Original
from ...graphs.pyg import network_of_data
from ...graphs.tables.column import Column
from ...graphs.tables.node_table import NodeTable
from ...randomness import branch
from ...settings import Settings
from ..channel import Channel, Retention
from ..defense import Defense
from ..games.identities import Identity, identities
from ..games.links import EdgePresence, edge_presence
from ..messages import ACCOUNTS_KIND, PUBLISHED_KIND
from ..published import tensors_of
from ..publishing.planted_accounts import plant
from ..publishing.publish import OWNER, sensitive_links
from ..target import Progress, Run, Utility, no_progress
from .control import PlantedParties

if TYPE_CHECKING:
    from torch_geometric.data import Data

ACCOUNTS = 10
TARGETS = 20
LINKS = (5, 8)
VALUES = 20
"""Of each of two attributes of people."""


class PlantedNetworkSettings(Settings):
    """Settings of `PlantedNetwork`."""

    clients: int = Field(1, ge=1, description="parties that an attacker may be")


class PlantedNetwork(PlantedParties):
    """A control that leaks on purpose: a random network, published as it is (dataset `planted-network`).

    Almost every node is the only one with its neighbours' degrees, or with its two attributes and its own degree.
    An adversary has ten accounts in it that are linked to some of the persons, and the edges that are secret are
    the published ones. An attack on identity or on published links that does not find that is broken, whatever
    else it reports.
    """

    name = "planted-network"
    release = PUBLISHED_KIND
    release_phrase = "what was planted"
    sends = (PUBLISHED_KIND, ACCOUNTS_KIND)
    dataset = "planted-network"
    plain = True
    games = (Identity.name, EdgePresence.name)
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
        network, rng = network_of_data(data), np.random.default_rng(seed)
        joined = plant(network, ACCOUNTS, TARGETS, rng, LINKS)
        new = rng.permutation(joined.nodes)
        joined = replace(joined, people=_attributes(joined.nodes, rng))
        published = replace(joined, types=np.ones(joined.size, dtype=np.int64))
        channel = Channel(retain=retain)
        for kind in self.sends:
            channel.send(kind, OWNER, "public", 1, tensors_of(published.renamed(new)))
        who = identities(new[: network.nodes], joined.nodes, branch(seed, "others"))
        owner = sensitive_links(data, network, None)
        links = edge_presence([] if owner is None else [owner], network.nodes, branch(seed, "links"))
        progress("planting", 1, 1)
        original = Original(joined, ACCOUNTS, published)
        secrets = (replace(who, original=original), replace(links, image=new[: network.nodes]))
        nothing = Utility.of_test(1, 1.0)
        return Run(channel.transcript, {s.name: s for s in secrets}, (nothing,), 0, tested=0)


def _attributes(nodes: int, rng: np.random.Generator) -> NodeTable:
    """Two attributes drawn at random, told as they are."""
    values = tuple(map(str, range(VALUES)))
    columns = tuple(Column(name, values, np.arange(VALUES, dtype=np.float64)) for name in ("first", "second"))
    return NodeTable.of_values(columns, rng.integers(VALUES, size=(nodes, len(columns))))
