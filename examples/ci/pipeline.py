"""A clinic's pipeline: a graph neural network trained on some of its patients, asked about all of them.

`PatientModel` says to gaudit what is trained, who is in the training data, and what leaves the house. The rest is
what the clinic runs anyway.
"""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.nn import SAGEConv

from gaudit.randomness import branch, seeded
from gaudit.settings import Settings
from gaudit.targets.channel import Channel, Retention
from gaudit.targets.defense import Defense
from gaudit.targets.games.membership import LabelMembership
from gaudit.targets.messages import posteriors_kind
from gaudit.targets.target import Progress, Run, Target, Utility, no_progress

DEFENDED = True
"""Whether training stops before patients are learned by heart, and answers are diagnoses and no probabilities.

A probability tells how well a patient is remembered. Set it to False, and `gaudit check` fails.
"""


class Net(torch.nn.Module):
    """Two layers; a patient's neighbours are those with the most similar measurements."""

    def __init__(self, features: int, classes: int, hidden: int = 128) -> None:
        super().__init__()
        self.first, self.second = SAGEConv(features, hidden), SAGEConv(hidden, classes)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        """Logits [patients, diagnoses]."""
        told: Tensor = self.second(self.first(x, edges).relu(), edges)
        return told


def trained(data: Data, members: Tensor, epochs: int) -> Net:
    """A model of the members' labels."""
    net = Net(data.num_features, int(data.y.max()) + 1)
    optimiser = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(epochs):
        optimiser.zero_grad()
        F.cross_entropy(net(data.x, data.edge_index)[members], data.y[members]).backward()
        optimiser.step()
    return net


def answers(net: Net, data: Data) -> Tensor:
    """What the service tells about each patient, [patients, diagnoses]: each row sums to one."""
    with torch.no_grad():
        told = net(data.x, data.edge_index).softmax(1)
    return F.one_hot(told.argmax(1), told.shape[1]).float() if DEFENDED else told


class PatientModel(Target):
    """The clinic's service: everybody may ask it about every patient."""

    name = "pipeline:PatientModel"
    release = posteriors_kind("full")
    sends = (posteriors_kind("full"),)
    release_phrase = "the service's answers"
    games = (LabelMembership.name,)
    Settings = Settings

    @classmethod
    def preset(cls, preset: str, data: Data) -> dict[str, object]:
        return {}

    def run(
        self,
        data: Data,
        defense: Defense,
        seed: np.random.SeedSequence,
        retain: Retention,
        progress: Progress = no_progress,
    ) -> Run:
        """One training, with its own draw of the patients who are in the training data."""
        patients = np.arange(data.num_nodes)
        drawn = np.random.default_rng(branch(seed, "members")).permutation(patients)[: len(patients) // 2]
        inside = torch.from_numpy(np.isin(patients, drawn))
        with seeded(branch(seed, "training")):
            net = trained(data, inside, epochs=15 if DEFENDED else 150)
        told = answers(net, data)
        channel = Channel(retain=retain)
        table = {"nodes": torch.from_numpy(patients), "posteriors": told}
        channel.send(posteriors_kind("full"), "server", "public", 1, table)
        accuracy = float((told.argmax(1) == data.y)[~inside].float().mean())
        game = LabelMembership(subjects=patients, truth=inside.numpy())
        utility = Utility(1, float("nan"), accuracy, accuracy)
        progress("training", 1, 1)
        return Run(channel.transcript, {game.name: game}, (utility,), 0, tested=int((~inside).sum()))
