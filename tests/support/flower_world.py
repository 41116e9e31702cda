"""A federated training that gaudit runs itself, and whose clients a Flower app can run: of the same data."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import nn
from torch_geometric.nn import GCNConv

import gaudit
from gaudit import Defense, find, no_progress
from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.randomness import branch
from gaudit.targets.federated.federated_averaging import FederatedRun, averaged
from gaudit.targets.federated.local_training import LocalTask
from gaudit.targets.models.training_config import initial_weights
from support.sixty_nodes import sixty_nodes

CLIENTS, ROUNDS = 3, 2
SETTINGS = {
    **{"clients": CLIENTS, "rounds": ROUNDS, "local_epochs": 1, "hidden": 8, "dropout": 0.0},
    **{"optimiser": "sgd", "lr": 0.5, "publish": []},
}
UPLOADS = (
    AttackPlan("loss", observer="server"),
    AttackPlan("lira", {"shadows": 4}, observer="server"),
    AttackPlan("graphmi", {"iterations": 3}, observer="server"),
    AttackPlan("gradient-matching", {"sgd_rate": 0.5}, observer="server"),
)
"""Attacks on what clients send."""
Arrays = Mapping[str, np.ndarray]


class Net(nn.Module):
    """A two-layer GCN as a user of PyG writes it."""

    def __init__(self, features: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.conv1, self.conv2 = GCNConv(features, hidden), GCNConv(hidden, classes)


class World:
    """One federated training: what each client does in a round, and what the server makes of it."""

    def __init__(self) -> None:
        torch.set_num_threads(1)
        settings = find("targets", "fedavg")(**SETTINGS).settings
        self.root = branch(np.random.SeedSequence(0), 0)
        self.run = FederatedRun(settings, sixty_nodes(), Defense(), self.root, lambda m: True, no_progress)
        self.data, self.recipe = self.run.data, self.run.recipe
        self.classes = self.run.original[0].classes

    @cached_property
    def names(self) -> gaudit.Names:
        """From PyG's names to gaudit's."""
        return gaudit.names(Net(self.data.num_features, self.recipe.hidden, self.classes))

    @cached_property
    def known(self) -> dict[str, Any]:
        """What is known of the run."""
        holders = np.empty(self.data.num_nodes, dtype=np.int64)
        for client in self.run.original:
            holders[client.nodes.numpy()] = client.number
        masks = {"members": self.data.train_mask, "non_members": self.data.test_mask}
        return {**masks, "holders": holders, "recipe": self.recipe, "game": "label-membership", "defense": "none"}

    def start(self) -> Arrays:
        """The first weights."""
        seed = branch(self.root, "weights")
        return self.theirs(initial_weights(self.recipe, self.data.num_features, self.classes, seed))

    def theirs(self, weights: Mapping[str, torch.Tensor]) -> Arrays:
        """Weights under PyG's names."""
        places = self.names.places.items()
        return {
            n: (weights[own].t() if turned else weights[own]).contiguous().numpy() for n, (own, turned) in places
        }

    def trained(self, partition: int, arrays: Arrays) -> Arrays:
        """What a client sends after it got some weights."""
        s, client = self.run.settings, self.run.clients[partition]
        (forward,) = self.run.forwards([client], self.run.channel)
        local = {"steps": s.local_epochs, "optimiser": s.optimiser, "lr": s.lr, "weight_decay": s.weight_decay}
        return self.theirs(LocalTask.of(client, forward).trained(self.names(arrays), **local))

    def mean(self, replies: Sequence[Arrays]) -> Arrays:
        """The mean of what all clients sent, in the order of their partitions."""
        return self.theirs(averaged([self.names(arrays) for arrays in replies], [1 / CLIENTS] * CLIENTS))


def live_plan(folder: Any) -> TrialPlan:
    """The same training as gaudit runs it, recorded into a folder."""
    own = find("targets", "fedavg")(**SETTINGS).settings.model_dump()
    return TrialPlan("fedavg", own, "none", {}, UPLOADS, 0, 0, transcript=str(folder))


def recorded_plan(folder: Any) -> TrialPlan:
    """The same attacks on a recording."""
    own = find("targets", "recorded")(transcripts=(str(folder),)).settings.model_dump()
    return TrialPlan("recorded", own, "none", {}, UPLOADS, 0, 0)
