"""Defenses that promise differential privacy, as mechanisms whose claims are checked."""

from typing import Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from ...defenses.local_privacy.degree_preserving_response import (
    DegreePreservingResponse,
    kept_answers,
    noisy_degrees,
)
from ...defenses.local_privacy.edge_response import EdgeRandomisedResponse
from ...defenses.uploads.gaussian_uploads import ACCOUNTANT, GaussianUploads
from ...defenses.uploads.laplace_uploads import LaplaceLDP
from ...defenses.uploads.nbafl import NbAFL
from ...defenses.uploads.sealed_uploads import SealedNoise
from ...defenses.uploads.upload_changes import of_one_upload
from ...graphs.network import Ints
from ...mechanisms.gaussian import distance_of
from ...mechanisms.guarantee import Guarantee
from ...mechanisms.mechanism import Mechanism, MechanismSettings
from ...randomness import drawn_seed
from ...targets.channel import Channel
from ...targets.defense import Defense
from ...targets.messages import GRADIENT_KIND
from ...targets.party import Client

CLIP = 1.0


class EdgeResponse(Mechanism):
    """Randomised response on a client's edges, the defense `edge-randomised-response`."""

    name = "edge-randomised-response"
    differ_in = "edge"

    @property
    def guarantee(self) -> Guarantee:
        return EdgeRandomisedResponse(epsilon=self.settings.epsilon).promise()

    def inputs(self) -> tuple[Client, Client]:
        """Two nodes, apart and linked."""
        return _pair(torch.empty((2, 0), dtype=torch.long)), _pair(torch.tensor([[0, 1], [1, 0]]))

    def release(self, data: Client, rng: np.random.Generator) -> Tensor:
        defense = EdgeRandomisedResponse(epsilon=self.settings.epsilon)
        return defense.on_data(data, None, drawn_seed(rng), lambda kind, tensors: None).edges

    def score(self, released: Tensor) -> float:
        return float(released.shape[1])


class DegreePreservingClaim(Mechanism):
    """What the defense `degree-preserving-response` draws edges from: noisy degrees, and answers before dropping.

    The edges alone would show hardly more than the answer does.
    """

    name = "degree-preserving-response"
    differ_in = "edge"

    @property
    def defense(self) -> DegreePreservingResponse:
        return DegreePreservingResponse(epsilon=self.settings.epsilon)

    @property
    def guarantee(self) -> Guarantee:
        return self.defense.promise()

    def inputs(self) -> tuple[Ints, Ints]:
        """Codes of edges: two nodes, apart and linked."""
        return np.empty(0, dtype=np.int64), np.ones(1, dtype=np.int64)

    def release(self, data: Ints, rng: np.random.Generator) -> tuple[Ints, bool]:
        settings = self.defense.settings
        degrees = noisy_degrees(data, 2, settings.for_degrees, rng)
        return degrees, len(kept_answers(data, 2, settings.flip, np.ones(2), rng)) > 0

    def score(self, released: tuple[Ints, bool]) -> float:
        """The log likelihood ratio: each noisy degree speaks for 0 or 1, and so does the answer."""
        degrees, answer = released
        s = self.defense.settings
        speaks = float(s.for_degrees) / 2 * float((2 * np.clip(degrees, 0, 1) - 1).sum())
        return speaks + (1 if answer else -1) * (s.epsilon - float(s.for_degrees))


class LaplaceUpload(Mechanism):
    """Laplace noise on an upload whose L1 norm is clipped, the defense `ldp` with ``norm=l1``."""

    name = "ldp"
    differ_in = "client"
    differ_by = "replace"

    @property
    def guarantee(self) -> Guarantee:
        promise = self.defense.promise()
        assert promise is not None
        return promise

    @property
    def defense(self) -> LaplaceLDP:
        return LaplaceLDP(epsilon=self.settings.epsilon, clip=CLIP, norm="l1")

    def inputs(self) -> tuple[Tensor, Tensor]:
        """Uploads far beyond the clip, in opposite directions."""
        return torch.tensor([-9.0 * CLIP, 0.0]), torch.tensor([9.0 * CLIP, 0.0])

    def release(self, data: Tensor, rng: np.random.Generator) -> Tensor:
        return _uploaded(self.defense, data, rng)

    def score(self, released: Tensor) -> float:
        return float(released[0].clamp(-CLIP, CLIP))  # beyond both inputs the likelihood ratio stays as it is


class GaussianSettings(MechanismSettings):
    """Settings of `GaussianUpload`."""

    delta: float = Field(1e-5, gt=0, lt=1)


class GaussianUpload(Mechanism):
    """Gaussian noise on an upload whose L2 norm is clipped, the defense `gaussian-uploads`."""

    name = "gaussian-uploads"
    differ_in = "client"
    differ_by = "replace"
    gaussian = True
    Settings = GaussianSettings
    settings: GaussianSettings

    @property
    def multiplier(self) -> float:
        """Deviation of the noise in clips: two clipped uploads are at most 2 clips apart."""
        return 2 / distance_of(self.settings.epsilon, self.settings.delta)

    @property
    def guarantee(self) -> Guarantee:
        return of_one_upload(
            self.settings.epsilon,
            self.settings.delta,
            ACCOUNTANT,
        )

    def inputs(self) -> tuple[Tensor, Tensor]:
        """Uploads far beyond the clip, in opposite directions."""
        return torch.tensor([-6.0 * CLIP, -8.0 * CLIP]), torch.tensor([6.0 * CLIP, 8.0 * CLIP])

    def release(self, data: Tensor, rng: np.random.Generator) -> Tensor:
        return _uploaded(self.defense, data, rng)

    @property
    def defense(self) -> GaussianUploads:
        """The defense with that noise."""
        return GaussianUploads(multiplier=self.multiplier, clip=CLIP)

    def score(self, released: Tensor) -> float:
        return float(0.6 * released[0] + 0.8 * released[1])


class NbAFLUpload(GaussianUpload):
    """The same beside noise on what the server sends, the defense `nbafl`."""

    name = "nbafl"

    @property
    def defense(self) -> NbAFL:
        return NbAFL(multiplier=self.multiplier, clip=CLIP)


class SealedGaussianUpload(GaussianUpload):
    """The same in a secure sum, the defense `sealed-noise`, before all who take part but one."""

    name = "sealed-noise"

    @property
    def defense(self) -> SealedNoise:
        return SealedNoise(multiplier=self.multiplier, clip=CLIP)


def _uploaded(defense: Defense, change: Tensor, rng: np.random.Generator) -> Tensor:
    """What a server gets of one gradient in two tensors, so that clipping each alone would show."""
    mod = defense.on_message(drawn_seed(rng))
    channel = Channel(retain=lambda message: False, mods=() if mod is None else (mod,))
    parts: dict[str, Any] = {str(i): value[None] for i, value in enumerate(change)}
    sent = channel.send(GRADIENT_KIND, "client:0", "server", 0, parts)
    return torch.cat([sent[name] for name in parts])


def _pair(edges: Tensor) -> Client:
    """A client of two nodes."""
    none, two = torch.zeros(2, dtype=torch.bool), torch.zeros(2, dtype=torch.long)
    return Client(0, torch.arange(2), torch.zeros(2, 1), two, two, ~none, none, none, ~none, edges, edges[:, :0], 2)
