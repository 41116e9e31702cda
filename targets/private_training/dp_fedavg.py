"""DP-FedAvg: federated averaging that hides whether a client was there at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field
from torch import Tensor

from ...mechanisms import accounting
from ...mechanisms.clipping import clipped, norm_of
from ...mechanisms.guarantee import Guarantee
from ...randomness import branch
from ..federated.federated_averaging import Federated, FederatedRun, FederatedSettings
from ..party import Client
from ..target import Run
from .noisy_rounds import NoisyRound, difference, noisy_step

if TYPE_CHECKING:
    from torch_geometric.data import Data


class DPFedAvgSettings(FederatedSettings):
    """Settings of `DPFedAvg`: those of `fedavg`, and what is promised, to whom, and how."""

    epsilon: float | None = Field(
        8.0,
        gt=0,
        description="what is promised to a client; None: no noise and no promise, to see what clipping costs",
    )
    delta: float | None = Field(
        None, gt=0, lt=1, description="of the promise; by default 1 / (10 clients), rounded down to a power of ten"
    )
    rate: float = Field(1.0, gt=0, le=1, description="with which each client takes part in a round, alone")
    clip: float = Field(1.0, gt=0, description="to which the change of a client's weights is shortened, as a whole")
    upload: Literal["weights"] = "weights"
    aggregation: Literal["uniform"] = "uniform"
    publish: tuple[Literal["model", "posteriors"], ...] = Field(
        ("model",), description="what the public gets in the end; posteriors are outside of the promise"
    )

    def told_delta(self) -> float:
        """The delta that is promised; the number of clients is public."""
        return accounting.default_delta(self.clients) if self.delta is None else self.delta

    def round_(self) -> NoisyRound:
        """Clip, noise and divisor of each round.

        Raises:
            InputError: no noise reaches epsilon.
        """
        multiplier = 0.0
        if self.epsilon is not None:
            multiplier = accounting.least_noise(
                self.epsilon, self.told_delta(), lambda noise: accounting.sampled(noise, self.rate, self.rounds)
            )
        return NoisyRound(self.clip, multiplier, self.rate * self.clients)

    def promise(self, how: NoisyRound) -> Guarantee | None:
        """What is promised with the noise of `round_`; None without noise."""
        if self.epsilon is None:
            return None
        return Guarantee(
            "client",
            "zero-out",
            "central",
            self.epsilon,
            self.told_delta(),
            accountant=f"Opacus' RDP: {self.rounds} rounds at rate {self.rate:g}, noise {how.multiplier:.3g} clips;"
            " float sampler",
            public=(
                "the number of clients",
                "the partition of nodes among them",
                "the number of features and of classes",
            ),
            composes="epsilons of further trainings with the same clients, with seeds of their own, add up",
            covers="what other clients and the public see of the common weights, all rounds together,",
        )


class _PrivateRun(FederatedRun):
    """Attributes: clip and noise, the round that runs, and the common weights that clients received in it."""

    settings: DPFedAvgSettings
    how: NoisyRound
    round: int
    common: Mapping[str, Tensor]

    def run(self) -> Run:
        self.how = self.settings.round_()
        self.notes += said(self.settings, self.how)
        return replace(super().run(), promise=self.settings.promise(self.how))

    def before_round(self, round_: int, received: Mapping[str, Tensor]) -> None:
        self.round, self.common = round_, received
        if round_ == 0:
            self.notes.append(_size_of_noise(self.how, sum(weight.numel() for weight in received.values())))

    def takes_part(self, client: Client, round_: int) -> bool:
        rng = np.random.default_rng(branch(self.seed, "takes part", client.number, round_))
        return bool(rng.random() < self.settings.rate)

    def uploaded(self, received: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        change = difference(own, received)
        if norm_of(change) <= self.settings.clip:
            return own
        return _moved(received, clipped(change, self.settings.clip))

    def averaged(self, uploads: list[Mapping[str, Tensor]]) -> dict[str, Tensor]:
        """The common weights and the noisy step; there may be no uploads."""
        changes = [difference(upload, self.common) for upload in uploads]
        rng = np.random.default_rng(branch(self.seed, "noise", self.round))
        return _moved(self.common, noisy_step(changes, self.common, self.how, rng))


class DPFedAvg(Federated):
    """Federated averaging with differential privacy for whole clients: DP-FedAvg, the server adds the noise.

    In each round each client takes part with probability ``rate``, alone; the change of its weights is shortened to
    an L2 norm of ``clip``, all tensors together; the server adds the changes up, adds Gaussian noise of deviation
    multiplier x clip, divides by rate x clients, which are public, and adds that to the common weights (McMahan et
    al. 2018, algorithm 1 with the fixed denominator and flat clipping; the accountant follows Abadi et al. 2016).

    The server is trusted: it sees each upload before noise, and who sent it. To an observer ``server`` nothing is
    promised. Who takes part must stay unknown to all others, else the rate hides nothing. Noise and participation
    are drawn from the seed, so that an audit can be repeated: whoever knows it can take the noise off.

    It is made for very many clients. The promise needs a delta below 1 / clients, and the noise in the mean falls
    with the number of clients alone: with a handful, as graphs are mostly divided, the noise drowns what is learned
    and drawing clients at random gains little. The notes of a run say how large it is.
    """

    name = "dp-fedavg"
    Settings = DPFedAvgSettings
    settings: DPFedAvgSettings
    loop = _PrivateRun

    @classmethod
    def preset(cls, preset: str, data: Data) -> dict[str, Any]:
        super().preset(preset, data)  # refuses unknown ones
        return {"rounds": 20, "lr": 5e-3} if preset == "quick" else {}


def said(settings: DPFedAvgSettings, how: NoisyRound) -> list[str]:
    """What a reader of the result must know about the promise."""
    promise = settings.promise(how)
    if promise is None:
        return ["no noise is added: no client is promised anything"]
    notes = [
        promise.sentence(),
        "the server is trusted: it sees each upload before noise, and an observer who is the server, or has it "
        "among its members, is outside of the promise",
    ]
    notes += accounting.what_delta_means(promise.delta, settings.clients, "client")
    if "posteriors" in settings.publish:
        notes.append("published posteriors are clients' answers on their own graphs: outside of the promise")
    return notes


def _size_of_noise(how: NoisyRound, weights: int) -> str:
    return (
        f"each round adds noise of deviation {how.deviation:.3g} to each of {weights} common weights, of norm "
        f"{how.deviation * weights**0.5:.3g} in all, where one client moves them by at most "
        f"{how.clip / how.expected:.3g} and all who are expected by {how.clip:.3g}"
    )


def _moved(weights: Mapping[str, Tensor], change: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: (weight.double() + change[name]).to(weight.dtype) for name, weight in weights.items()}
