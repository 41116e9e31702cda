"""Labels that spread over a graph, published as posteriors."""

from typing import Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.data import Data

from gaudit.plugin import (
    Channel,
    Client,
    Defense,
    LabelMembership,
    Offers,
    Partition,
    Progress,
    Retention,
    Run,
    Settings,
    Target,
    Utility,
    branch,
    clients_of,
    no_progress,
)

TABLE = "posteriors-full"
"""A kind of message that gaudit has: its attacks read it, and its defenses change it."""
LEAST = 1e-3
"""Added to all classes of a node: one that no label reaches is told evenly."""


class LabelSpreadingSettings(Settings):
    """Settings of `LabelSpreading`: alpha as in the paper's experiments."""

    alpha: float = Field(0.99, gt=0, lt=1, description="share that a node takes from its neighbours in each step")
    steps: int = Field(30, ge=1, description="how often labels are passed on")


class LabelSpreading(Target):
    """Publishes for each node the class shares that known labels have after spreading (Zhou et al. 2004).

    The iteration of section 2: F(t+1) = alpha S F(t) + (1 - alpha) Y with S = D^(-1/2) A D^(-1/2), stopped after
    some steps. Nothing is trained, and features are not used.
    """

    name = "label-spreading"
    release = TABLE
    release_phrase = "the published shares of classes"
    sends = (TABLE,)
    games = (LabelMembership.name,)
    Settings = LabelSpreadingSettings
    settings: LabelSpreadingSettings

    @classmethod
    def preset(cls, preset: str, data: Data) -> dict[str, Any]:
        return {}

    @property
    def offers(self) -> Offers:
        """The owner alone takes part, and answers come from what a defense made of its data."""
        return Offers(clients=1, answer_with="defended")

    def why_not(self, defense: Defense) -> str | None:
        if defense.needs_shared_model or "on_training" in defense.hooks():
            return "it concerns a training, and this target trains nothing"
        return super().why_not(defense)

    def run(
        self,
        data: Data,
        defense: Defense,
        seed: np.random.SeedSequence,
        retain: Retention,
        progress: Progress = no_progress,
    ) -> Run:
        mod = defense.on_message(branch(seed, "messages"))
        channel = Channel(retain=retain, mods=() if mod is None else (mod,))
        (owner,) = clients_of(data, Partition.undivided(len(data.y)))
        owner = defense.on_data(owner, None, branch(seed, "data"), channel.holder(owner.name))
        table = {"nodes": owner.nodes, "posteriors": self._spread(owner)}
        told = channel.send(TABLE, owner.name, "public", 1, table)["posteriors"]
        progress("spreading", 1, 1)
        right = (told.argmax(1) == data.y).float()
        validation, test = float(right[data.val_mask].mean()), float(right[data.test_mask].mean())
        members, others = data.train_mask.numpy(), data.test_mask.numpy()
        subjects = np.flatnonzero(members | others)
        game = LabelMembership(subjects=subjects, truth=members[subjects])
        return Run(channel.transcript, {game.name: game}, (Utility(1, validation, test, test),), 0)

    def _spread(self, owner: Client) -> Tensor:
        """Shares of classes, [n, C]."""
        first = F.one_hot(owner.y_train, owner.classes).float() * owner.train[:, None]
        one, other = owner.edges
        scale = owner.degrees().clamp(min=1).rsqrt()
        weight, found = (scale[one] * scale[other])[:, None], first
        for _ in range(self.settings.steps):
            passed = torch.zeros_like(first).index_add(0, one, weight * found[other])
            found = self.settings.alpha * passed + (1 - self.settings.alpha) * first
        shares: Tensor = found + LEAST
        return shares / shares.sum(1, keepdim=True)
