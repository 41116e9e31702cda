"""Labels that enter once, through one noisy sum: a teacher labels all nodes, nothing else reads a true label."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from ...graphs.network import Floats
from ...mechanisms.float_noise import Streams
from ...mechanisms.gaussian import distance_of
from ...mechanisms.gaussian_curve import GaussianCurve
from ...mechanisms.guarantee import Guarantee
from ...randomness import branch
from ...settings import Settings
from ...targets.channel import Channel
from ...targets.defense import Defense, Exchange
from ...targets.federated.label_statistic import Noise, Summing, common_basis, label_statistic
from ...targets.party import Client
from .teacher import Statistic, teacher_of

if TYPE_CHECKING:
    import torch

SENSITIVITY = {"zero-out": 1.0, "replace": math.sqrt(2)}
"""How far one label moves the sums: its row of length 1 is missing, or stands at another class."""
PUBLIC = (
    "features",
    "edges",
    "who holds which node",
    "the number of classes",
    "validation labels, which choose epochs and checkpoints",
)


class PrivateTeacherSettings(Settings):
    """Settings of `PrivateTeacher`. Fixed on validation nodes of Cora and on the bundled citation network."""

    epsilon: float = Field(4.0, gt=0, le=1000)
    delta: float = Field(1e-5, gt=0, lt=1)
    neighbours: Literal["zero-out", "replace"] = Field(
        "zero-out", description="what is hidden: whether a node has a label, or also which one"
    )
    sealed: bool = Field(
        True, description="secure summation: the server sees the clients' sum alone; if not, each adds all noise"
    )
    curious: int = Field(1, ge=0, description="clients that may take their own noise off a sealed sum")
    width: int = Field(16, ge=1, description="directions that features are projected on")
    share: float = Field(0.5, gt=0, le=1, description="share of all nodes that is trained on with guessed labels")


class PrivateTeacher(Defense):
    """Replaces all labels by guesses of a teacher that saw them through one noisy sum alone.

    T = sum over labelled nodes v of e_(y_v) phi_v' + noise, [C, p], where phi_v has length 1 and follows from
    features and edges: words weighted by how rare they are, propagated twice, projected on the leading directions.
    A label more or less moves T by 1 at most, another label by sqrt(2), so Gaussian noise of that over mu promises
    mu-GDP; epsilon and delta fix mu (Balle and Wang 2018). All that follows is post-processing: the teacher, its
    guesses for all nodes, and the random share of nodes, members and others alike, whose guesses are trained on.
    The target neither trains together before nor counts true labels.

    Under secure summation clients add shares of discrete Gaussian noise, large enough that ``curious`` clients who
    take theirs off are still met by all of it. Without, each client's own sums bear all of the noise.

    The idea is that of one-shot sufficient statistics (Vu and Slavkovic 2009; Foulds et al. 2016) and of teachers
    whose votes are noised (PATE, Papernot et al. 2017); the statistic and the classifier's fit are ours.
    """

    name = "private-teacher"
    phrase = "with a private teacher"
    strength = "epsilon"
    sweep = (8.0, 4.0, 2.0, 1.0)
    alternative = "fewer-labels"
    guarantee = (
        "(epsilon, delta)-DP, as Gaussian noise gives it, of each node's label against all that is sent and "
        "released (features, edges and validation labels are taken as public)"
    )
    Settings = PrivateTeacherSettings
    settings: PrivateTeacherSettings

    @property
    def noise(self) -> Noise:
        """Of the statistic."""
        s = self.settings
        return Noise(SENSITIVITY[s.neighbours] / distance_of(s.epsilon, s.delta), s.sealed, s.curious)

    def promise(self) -> Guarantee:
        s = self.settings
        share = "discrete Gaussian shares of the clients" if s.sealed else "discrete Gaussian noise of each client"
        return Guarantee(
            unit="node-label",
            adjacency=s.neighbours,
            model="central" if s.sealed else "local",
            epsilon=s.epsilon,
            delta=s.delta,
            accountant=f"one noisy sum of L2 sensitivity {SENSITIVITY[s.neighbours]:.3g}, {share}"
            " (Balle and Wang 2018; Canonne et al. 2020; Kairouz et al. 2021)",
            public=PUBLIC,
            covers="all that is sent and released",
        )

    def curve(self) -> GaussianCurve:
        """The promise at every delta."""
        return GaussianCurve(distance_of(self.settings.epsilon, self.settings.delta))

    def on_labels(
        self, clients: list[Client], exchange: Exchange, channel: Channel, seed: np.random.SeedSequence
    ) -> list[Client]:
        near, sums, streams = exchange(clients), Summing(clients, channel), Streams(branch(seed, "noise"))
        width = min(self.settings.width, clients[0].x.shape[1])
        basis = common_basis(clients, near, sums, width, branch(seed, "basis"))
        features = [basis.features(n) for n in near]
        told = label_statistic(clients, features, basis, self.noise, channel, lambda c: streams.of(c.name))
        statistic = Statistic(told.to(features[0]), self.noise.total(len(clients)))
        teacher = teacher_of(statistic, features, sums)
        guessed = [teacher.posteriors(phi).float() for phi in features]
        spread = exchange([replace(c, x=p) for c, p in zip(clients, guessed, strict=True)])
        labels = [n.rows.to_dense()[: len(c.nodes)].argmax(1) for c, n in zip(clients, spread, strict=True)]
        share = min(float(teacher.labels.sum()) / sum(len(c.nodes) for c in clients), 1.0)
        return [
            taught(client, own, self._drawn(client, branch(seed, "drawn", client.number)), share)
            for client, own in zip(clients, labels, strict=True)
        ]

    def _drawn(self, client: Client, seed: np.random.SeedSequence) -> torch.Tensor:
        """The nodes that are trained on, [n] bool: by lot, whoever is a member."""
        import torch

        coins: Floats = np.random.default_rng(seed).random(len(client.nodes))
        drawn = coins < max(self.settings.share, float(coins.min()) + 1e-12)  # one at least
        return torch.from_numpy(drawn).to(client.x.device)


def taught(client: Client, labels: torch.Tensor, drawn: torch.Tensor, share: float) -> Client:
    """The client with guessed labels [n] in the place of true ones but at validation and test nodes.

    Args:
        client: as it was.
        labels: guessed, of all nodes.
        drawn: which nodes are trained on, [n] bool.
        share: of the nodes that seem to be labelled, for sizes that follow from their number.
    """
    import torch

    asked = client.val | client.test  # to choose by, and to be measured on; nothing trains on these
    return replace(
        client,
        y=torch.where(asked, client.y, labels),
        y_train=labels,
        train=drawn,
        used=drawn,
        reckoned=max(1, round(share * len(client.nodes))),
    )
