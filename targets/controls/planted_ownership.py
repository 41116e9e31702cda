"""Uploads of clients who hide nothing: the positive control of asking who holds whom."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from pydantic import Field

from ...randomness import branch, integer
from ...settings import Settings
from ..channel import Channel, Retention
from ..defense import Defense
from ..federated.local_training import LocalTask, Subgraph
from ..game import Game
from ..games.ownership import Contribution, NodeOwnership, ownership_secrets
from ..messages import CONDENSED_ROWS_KIND, GLOBAL_KIND, UPDATE_KIND
from ..models.training_config import TrainingConfig, initial_weights
from ..partition import partition
from ..party import Client, clients_of
from ..target import Offers, Progress, Run, Utility, no_progress
from .control import PlantedLeak

if TYPE_CHECKING:
    from torch_geometric.data import Data

RECIPE = TrainingConfig(architecture="gcn", hidden=32, epochs=1, dropout=0)


class PlantedOwnershipSettings(Settings):
    """Settings of `PlantedOwnership`."""

    clients: int = Field(3, ge=2)
    game: Literal["node-ownership", "contribution"] = "node-ownership"


class PlantedOwnership(PlantedLeak):
    """A control that leaks on purpose: one honest step of gradient descent, and raw rows for condensed ones.

    Every node that takes part is labelled, so that it tells the loss something (dataset `planted`). Weights go to
    the server, and the rows of each client to all others as if they were condensed. Where the game is
    contribution, half of the nodes, by lot, take no part. An attack that does not find who holds whom, or who took
    part, is broken, whatever else it reports.
    """

    name = "planted-ownership"
    release = GLOBAL_KIND
    release_phrase = "what was planted"
    sends = (GLOBAL_KIND, UPDATE_KIND, CONDENSED_ROWS_KIND)
    dataset = "planted"
    games = (NodeOwnership.name, Contribution.name)
    Settings = PlantedOwnershipSettings
    settings: PlantedOwnershipSettings

    @property
    def offers(self) -> Offers:
        """What its settings say of clients and of the game."""
        return Offers(self.settings.clients, game=self.settings.game)

    def run(
        self,
        data: Data,
        defense: Defense,
        seed: np.random.SeedSequence,
        retain: Retention,
        progress: Progress = no_progress,
    ) -> Run:
        s, channel, nodes = self.settings, Channel(retain=retain), int(data.num_nodes or 0)
        parts = partition(data, "dirichlet", s.clients, branch(seed, "partition"), beta=1e4)
        clients = [replace(c, train=torch.ones_like(c.train)) for c in clients_of(data, parts)]
        coins = torch.Generator().manual_seed(integer(branch(seed, "takes part")))
        taking = [_halved(c, coins) for c in clients] if s.game == Contribution.name else clients
        first = initial_weights(RECIPE, data.num_features, clients[0].classes, branch(seed, "weights"))
        channel.send(GLOBAL_KIND, "server", "clients", 0, first)
        for client in taking:
            task = LocalTask.of(client, Subgraph.of(RECIPE, client.x, client.edges))
            stepped = task.trained(first, steps=1, optimiser="sgd", lr=1.0, weight_decay=0.0)
            channel.send(UPDATE_KIND, client.name, "server", 0, stepped)
            own = client.train.nonzero().flatten()
            rows = {"nodes": torch.arange(len(own)), "x": client.x[own], "y": client.y[own]}
            for other in clients:
                if other is not clients[client.number]:
                    channel.send(CONDENSED_ROWS_KIND, client.name, other.name, 0, rows)
        progress("planting", 1, 1)
        found = ownership_secrets(clients, nodes, branch(seed, "ownership"), taking)
        secrets: dict[str, Game] = {s.game: found[s.game]}
        nothing = Utility.of_test(0, 0.0)
        return Run(channel.transcript, secrets, (nothing,), 0, recipe=RECIPE)


def _halved(client: Client, coins: torch.Generator) -> Client:
    """A half of the client's nodes, by lot, with the edges among them; the others keep neither label nor edge."""
    kept = torch.rand(len(client.nodes), generator=coins) < 0.5
    row, col = client.edges
    return replace(client, train=kept, edges=client.edges[:, kept[row] & kept[col]])
