"""Small worlds in which a coin of each person is hidden, and what attacks make of what is let out."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch_geometric.data import Data

from gaudit.audit.games.referee import judge
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.registry import find
from gaudit.targets.channel import Channel
from gaudit.targets.game import Adversary
from gaudit.targets.games.attributes import Attribute, hidden_attribute

SEED = np.random.SeedSequence(11)
NODES = 300
CHANCE = 4.5 * np.sqrt(151 / (12 * 75 * 75))
"""How far from 0.5 the AUC of 150 people with a coin each may be: exceeded with a chance below 1e-5."""


@dataclass
class CoinWorld:
    """People with eight coins each, random labels and random links; the first coin is hidden.

    Attributes:
        linked: whether the adversary knows the links.
        image: the published node of each person, where a network is published.
        recipe: of models.
    """

    linked: bool = False
    image: Any = None
    recipe: Any = None

    def __post_init__(self) -> None:
        self.data: Data = load_dataset("planted-attributes").clone()
        self.channel, self.everybody = Channel(), torch.arange(NODES)

    @property
    def coin(self) -> torch.Tensor:
        return self.data.x[:, 0]

    @property
    def game(self) -> Attribute:
        return hidden_attribute(self.data, "0", 0.5, SEED, linked=self.linked, image=self.image)

    def tell(self, kind: str, **tensors: torch.Tensor) -> None:
        self.channel.send(kind, "server", "public", 1, tensors)

    def scores(self, attack: str, blind: bool = False):
        made = find("attacks", attack)()
        given, _ = self.game.grant(self.data, Adversary(made, recipe=self.recipe), SEED)
        view = given.renamed(self.channel.transcript.seen_by("public"))
        found = made.blind(given.knowledge, SEED) if blind else made(view, given.knowledge, SEED)
        return judge(found, given, self.game)

    def auc(self, attack: str, blind: bool = False) -> float:
        """Of an attack, or of the same without the release."""
        judged = self.scores(attack, blind)
        return float(roc_auc_score(judged.truth, judged.score))
