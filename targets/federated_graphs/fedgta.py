"""FedGTA: each client averages with those whose soft labels have the same moments (Li et al., VLDB 2024)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from ..federated.local_training import LocalTask
from ..game import Game
from ..games.class_presence import ClassPresence, class_presence
from ..messages import MOMENTS_KIND
from ..models.propagation import Factor, gcn_operator
from ..party import Client
from .personal_averaging import PersonalAveraging, PersonalRun, PersonalSettings


class FedGTASettings(PersonalSettings):
    """Settings of `FedGTA`: those of `fedavg`, and of what clients tell of their soft labels (as in OpenFGL)."""

    steps_of_labels: int = Field(5, ge=0, description="propagation steps of soft labels")
    keep: float = Field(0.5, ge=0, le=1, description="share of a node's own soft label in each of these steps")
    moments: int = Field(10, ge=1, description="raw moments of soft labels that are sent, and as many central ones")
    likeness: float = Field(
        0.5, ge=-1, lt=1, description="cosine of moments above which another client's weights are averaged in"
    )


@dataclass(frozen=True)
class SoftLabels:
    """What a client tells of its nodes' predicted labels.

    Attributes:
        raw: means over nodes of powers 1, 2, ... of each class's soft labels, [M, C].
        central: the same around the mean, [M, C].
        confidence: H, how little the labels of neighbours mix.
    """

    raw: Tensor
    central: Tensor
    confidence: Tensor

    @classmethod
    def of(cls, posteriors: Tensor, edges: Tensor, steps: int, keep: float, moments: int) -> "SoftLabels":
        """``posteriors`` [n, C] of all nodes, ``edges`` [2, e] both directions."""
        nodes, classes = posteriors.shape
        operator, labels = Factor.of(gcn_operator(edges, nodes)), posteriors
        for _ in range(steps):
            labels = keep * posteriors + (1 - keep) * (operator @ labels)
        degree = torch.bincount(edges[0], minlength=nodes).to(labels)
        negentropy = torch.special.xlogy(labels, labels).sum(1)
        centred = labels - labels.mean(0)
        powers = range(1, moments + 1)
        return cls(
            torch.stack([(labels**p).mean(0) for p in powers]),
            torch.stack([(centred**p).mean(0) for p in powers]),
            (degree * (classes / math.e + negentropy)).sum(),
        )

    def tensors(self) -> dict[str, Tensor]:
        """As they are sent."""
        return {"raw": self.raw, "central": self.central, "confidence": self.confidence}


class FedGTARun(PersonalRun):
    """Attributes: what clients train for, and what the server was told in this round, one each."""

    settings: FedGTASettings
    tasks: list[LocalTask]
    told: list[Mapping[str, Tensor]]

    def tasks_of(self, tasks: list[LocalTask], received: Mapping[str, Tensor], round_: int) -> list[LocalTask]:
        self.tasks, self.told = tasks, []
        return tasks

    def after_round(
        self, client: Client, received: Mapping[str, Tensor], own: Mapping[str, Tensor], round_: int
    ) -> None:
        super().after_round(client, received, own, round_)
        s, forward = self.settings, self.tasks[len(self.told)].forward
        with torch.no_grad():
            labels = forward(own).softmax(1)
            told = SoftLabels.of(labels, client.edges, s.steps_of_labels, s.keep, s.moments)
        self.told.append(self.channel.send(MOMENTS_KIND, client.name, "server", round_, told.tensors()))

    def mixing(self) -> Tensor:
        sent = torch.stack([torch.cat([told["raw"], told["central"]]).flatten() for told in self.told])
        confidence = torch.stack([told["confidence"] for told in self.told])
        return mixing(sent, confidence, self.settings.likeness)

    def secrets(self) -> dict[str, Game]:
        return super().secrets() | class_presence(self.original)


def mixing(moments: Tensor, confidence: Tensor, likeness: float) -> Tensor:
    """Shares of the clients in each client's mixture, [K, K]: by confidence, among those whose moments are alike.

    Args:
        moments: what each client sent of its soft labels, [K, m].
        confidence: H of each client, [K]; where all that are alike have none, they share evenly.
        likeness: cosine above which two clients are alike; each is like itself.
    """
    unit = F.normalize(moments, dim=1)
    alike = ((unit @ unit.t() > likeness) | torch.eye(len(unit), dtype=torch.bool, device=unit.device)).to(unit)
    weight = alike * confidence
    total = weight.sum(1, keepdim=True)
    return torch.where(total > 0, weight / total.clamp_min(torch.finfo(total.dtype).tiny), F.normalize(alike, 1, 1))


class FedGTA(PersonalAveraging):
    """Personalised averaging among clients whose propagated soft labels have the same moments (FedGTA).

    After local training a client asks its model about all its nodes, propagates the answers Y0 along its edges, Y
    <- keep Y0 + (1 - keep) S Y with the GCN's S, and sends the raw and central moments of each class's column, and
    the confidence H = sum_v degree_v (C / e + sum_c y_vc log y_vc). Each client gets the mean of the weights of
    those whose moments have a cosine above ``likeness`` to its own, weighted by H (Li et al. 2024). Released code
    overwrites labelled nodes' rows with their true labels before it takes moments, propagates from labelled nodes
    alone, and puts two softmaxes around Y; nothing of that is done here.

    What that tells: the first raw moment is the predicted number of nodes of each class, up to weights by degree.
    H is the sum of degrees times C / e, less an entropy, and so a lower bound of the number of edges:
    2 edges >= H e / C where no y is above 1 (`edges_told`).
    """

    name = "fedgta"
    sends: ClassVar[tuple[str, ...]] = (*PersonalAveraging.sends, MOMENTS_KIND)
    games = (*PersonalAveraging.games, ClassPresence.name)
    Settings = FedGTASettings
    settings: FedGTASettings
    loop = FedGTARun


def edges_told(confidence: float, classes: int) -> float:
    """The number of a client's edges if its soft labels were certain: H e / (2 C)."""
    return confidence * math.e / (2 * classes)
