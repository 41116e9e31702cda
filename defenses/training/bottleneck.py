"""Local graph transformation by the information bottleneck (FedGC, section 3.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from ...errors import InputError
from ...randomness import seeded
from ...settings import Settings
from ...targets.defense import Defense, SharedModel
from ...targets.messages import ENCODER_KIND
from ...targets.models.propagation import Factor, Neighbourhood, gcn_operator, sparse_features
from ...targets.party import Client

if TYPE_CHECKING:
    from torch import Tensor

    from ...targets.models.backbone import GCN
    from .bottleneck_encoder import Encoder


class BottleneckSettings(Settings):
    """Settings of `InformationBottleneck`; defaults are those of the released code, where the paper is silent."""

    gamma: float = Field(5e-4, ge=0, description="weight of the compression term; the paper plots several")
    compression: Literal["sum", "per-dimension"] = Field(
        "sum",
        description="the divergence summed over features (Eq. 7), or that sum as it would be with Cora's 1433",
    )
    first_weights: Literal["common", "own"] = Field(
        "common",
        description="of the encoder: the server's for all (Algorithm 1, line 4), or each client draws its own",
    )
    biases: bool = Field(False, description="in both layers of the encoder, as the released code has them")
    epochs: int = Field(100, ge=1)
    lr: float = Field(2e-3, gt=0)
    dropout: float = Field(0.5, ge=0, lt=1, description="in the frozen head")
    labels: Literal["self-trained", "own"] = Field("self-trained", description="own: the ablation '-st'")


class InformationBottleneck(Defense):
    """Replaces features by a bottleneck sample that keeps what predicts the label (FedGC).

    All clients start from one encoder that the server draws (Algorithm 1, line 4), and each trains it alone.
    Encoder, frozen head and the choice of Z by validation nodes read the client's own edges. The paper transforms
    "locally" and aggregates "local" neighbours. Nothing else follows from what clients exchange: sums of raw
    features do not pass through the encoder, so that a neighbour at another client has no z. The released code
    hands each client the raw rows of all nodes within two hops instead, which has no setting here.

    Not in the paper: z is standardised by each client (from the released code). Not in the code: the divergence is
    in closed form, and Z is chosen on validation nodes, where the code takes test nodes. The paper's encoder has no
    biases and the code's has (``biases``). More features press harder at the same gamma, since the divergence is a
    sum: ``compression="per-dimension"`` weighs it as on Cora.
    """

    name = "ib"
    phrase = "with the information bottleneck"
    needs_shared_model = True
    strength = "gamma"
    sweep = (5e-5, 5e-4, 5e-3)
    alternative = "fewer-labels"
    guarantee = None  # an information bound without a finite epsilon: nothing to check an output against
    Settings = BottleneckSettings
    settings: BottleneckSettings

    @classmethod
    def preset(cls, preset: str) -> dict[str, Any]:
        return {"epochs": 30} if preset == "quick" else {}

    def first_weights(self, features: int, seed: np.random.SeedSequence) -> dict[str, Tensor]:
        if self.settings.first_weights == "own":
            return {}
        from .bottleneck_encoder import Encoder

        with seeded(seed):
            return Encoder(features, self.settings.biases).values()

    def on_data(
        self,
        client: Client,
        shared: SharedModel | None,
        seed: np.random.SeedSequence,
        hold: Callable[[str, dict[str, Tensor]], None],
    ) -> Client:
        if shared is None:
            raise InputError("the defense 'ib' needs the target's shared model, which this target does not train")
        if "w2" not in shared.weights:
            raise InputError("the defense 'ib' needs a two-layer GCN as the shared model")
        with seeded(seed):
            z, encoder = self._fit(client, shared)
        shift, scale = z.mean(0), z.std(0, unbiased=False).clamp(min=1e-6)
        hold(ENCODER_KIND, {**encoder, "shift": shift, "scale": scale})
        _, used = self._labels(client, shared)
        return replace(client, x=(z - shift) / scale, used=client.used | used)

    def _fit(self, client: Client, shared: SharedModel) -> tuple[Tensor, dict[str, Tensor]]:
        """The sample z with the best validation accuracy, and the encoder that gave it."""
        import torch
        from torch.nn import functional as F

        from .bottleneck_encoder import compression

        encoder = self._first(client, shared)
        head = _frozen(shared, self.settings.dropout)
        x = Factor.of(sparse_features(client.x))
        operator = gcn_operator(client.edges, len(client.nodes))
        aggregate = Factor.of(operator)
        labels, used = self._labels(client, shared)
        optimiser = torch.optim.Adam(encoder.parameters(), lr=self.settings.lr, fused=True)
        selects = bool(client.val.any())  # without validation nodes the last epoch is kept
        best, kept = -1.0, client.x
        weights = encoder.values()
        for _ in range(self.settings.epochs):
            mean, deviation = encoder(x, aggregate)
            z = mean + deviation * torch.randn_like(mean)
            accuracy = _validation_accuracy(head, z.detach(), operator, client)
            if accuracy > best or not selects:
                best, kept = accuracy, z.detach()
                weights = encoder.values()
            head.train()
            logits = head(Neighbourhood(aggregate @ z, operator))  # type: ignore[arg-type]
            loss = F.cross_entropy(logits[used], labels[used])
            loss = loss + self.settings.gamma * compression(mean, deviation, self.settings.compression)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
        return kept, weights

    def _first(self, client: Client, shared: SharedModel) -> Encoder:
        """The encoder as the client's training begins; the caller seeds torch."""
        from .bottleneck_encoder import Encoder

        encoder = Encoder(client.x.shape[1], self.settings.biases)
        if self.settings.first_weights == "common":
            if not shared.first:
                raise InputError(
                    "the defense 'ib' needs the first weights that the server hands to all, which this target does "
                    "not hand out: set first_weights to 'own'"
                )
            encoder.load_state_dict(dict(shared.first))
        return encoder.to(client.x.device)

    def _labels(self, client: Client, shared: SharedModel) -> tuple[Tensor, Tensor]:
        import torch

        if self.settings.labels == "own":
            return client.y_train, client.train
        labels = torch.where(client.train, client.y_train, shared.pseudo_labels[client.number])
        return labels, client.train | shared.pseudo_labelled[client.number]


def _frozen(shared: SharedModel, dropout: float) -> GCN:
    from ...targets.models.backbone import GCN

    d, h = shared.weights["w1"].shape
    head = GCN(d, h, len(shared.weights["b2"]), dropout).to(shared.weights["w1"].device)
    head.load(shared.weights)
    return head.requires_grad_(False)


def _validation_accuracy(head: GCN, z: Tensor, operator: Tensor, client: Client) -> float:
    """Accuracy on the client's validation nodes; 0 if it has none."""
    import torch

    if not bool(client.val.any()):
        return 0.0
    head.eval()
    with torch.no_grad():
        right = head(Neighbourhood(operator @ z, operator)).argmax(1) == client.y
    return float(right[client.val].float().mean())
