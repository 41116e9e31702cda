"""GCFL+: clusters by the course of gradients' norms (Xie et al., NeurIPS 2021)."""

from collections.abc import Mapping

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from ..federated.clustering import warped_similarities
from ..messages import GRADIENT_NORM_KIND
from .gcfl import Gcfl, GcflRun, GcflSettings
from .graph_clients import GraphClient


class GcflPlusSettings(GcflSettings):
    """Settings of `GcflPlus`: those of `gcfl`, and the length of what is compared (10 as in the release)."""

    sequence: int = Field(10, ge=1, description="last gradient norms of a client that are compared")


class _SequenceRun(GcflRun):
    """Attributes: the ``norms`` that each client told since a cluster was last divided, by its number."""

    settings: GcflPlusSettings
    norms: dict[int, list[float]]

    def after_training(self, client: GraphClient, own: Mapping[str, Tensor], round_: int) -> None:
        if round_ == 0:
            self.norms = {**getattr(self, "norms", {}), client.number: []}
        gradient = self.batches[client.number][-1].gradient(own)
        parts = [part.flatten() for name, part in gradient.items() if self.travels(name)]
        told = {"norm": torch.cat(parts).norm()[None].cpu()}
        sent = self.channel.send(GRADIENT_NORM_KIND, client.name, "server", round_, told)
        self.norms[client.number].append(float(sent["norm"]))

    def may_divide(self) -> bool:
        return all(len(told) >= self.settings.sequence for told in self.norms.values())

    def similarities(self, changes: Tensor, cluster: list[int]) -> np.ndarray:
        last = self.settings.sequence
        return warped_similarities([np.array(self.norms[number][-last:]) for number in cluster])

    def after_division(self) -> None:
        self.norms = {number: [] for number in self.norms}


class GcflPlus(Gcfl):
    """GCFL whose clusters go by the last gradient norms of each client, compared by dynamic time warping.

    As `gcfl`, step by step, but for step 3: clients also tell the norm of their gradient after local training, and
    the cut is that of the weights max_ij d_ij - d_ij, where d is the time-warped distance of two clients' last 10
    norms (5 in OpenFGL and in some of the release's runs). A cluster is divided only once every client told as
    many since the last division. The norm is that of the gradient by the shared weights at the end of the local
    training, of the last batch and without dropout; the release takes what the last step left behind.
    """

    name = "gcfl+"
    sends = (*Gcfl.sends, GRADIENT_NORM_KIND)
    Settings = GcflPlusSettings
    settings: GcflPlusSettings
    loop = _SequenceRun
