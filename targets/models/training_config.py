"""How a node classifier is trained: architecture, sizes, optimiser, first weights."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field, model_validator

from ...randomness import integer
from ...settings import Settings

if TYPE_CHECKING:
    from torch import Tensor

Architecture = Literal["gcn", "sgc", "sage", "gat", "mlp"]


class TrainingConfig(Settings):
    """A training recipe: what a model's owner uses, and what an adversary who trains shadow models assumes.

    Layers are PyG's: GCNConv, SGConv, SAGEConv (mean), GATConv, Linear; relu (GAT: elu) and dropout between the
    two. Full-batch Adam with L2 penalty on all weights.
    """

    architecture: Architecture = "gcn"
    hidden: int = Field(64, ge=1, description="width of the hidden layer (GAT: of all heads together)")
    heads: int = Field(4, ge=1, description="attention heads of GAT's first layer; the second has one")
    hops: int = Field(2, ge=1, description="propagation steps of SGC")
    epochs: int = Field(200, ge=1, description="steps, at most")
    lr: float = Field(0.01, gt=0)
    weight_decay: float = Field(5e-4, ge=0)
    dropout: float = Field(0.5, ge=0, lt=1, description="of hidden units, in steps of 1/256")
    drop_lr_at: float | None = Field(
        None, gt=0, le=1, description="share of the epochs after which Adam starts anew with a tenth of the rate"
    )
    init: Literal["pyg", "pygcn"] = Field(
        "pyg", description="first weights: as PyG's layers or as pygcn's draw them"
    )
    every: int = Field(10, ge=1, description="epochs between looks at validation nodes, where there are any")
    patience: int = Field(0, ge=0, description="looks without improvement before training stops; 0: never")

    @model_validator(mode="after")
    def _sizes_fit(self) -> TrainingConfig:
        if self.architecture == "gat" and self.hidden % self.heads:
            raise ValueError(f"hidden {self.hidden} must be a multiple of heads {self.heads}")
        if round(256 * self.dropout) == 256:
            raise ValueError(f"dropout {self.dropout} leaves nothing: at most 0.998")
        return self

    def shapes(self, features: int, classes: int) -> dict[str, tuple[int, ...]]:
        """Names and shapes of one model's weights, see `weight_shapes`."""
        h = self.hidden
        if self.architecture == "sgc":
            return {"w": (features, classes), "b": (classes,)}
        shapes: dict[str, tuple[int, ...]] = {"w1": (features, h), "b1": (h,), "w2": (h, classes), "b2": (classes,)}
        if self.architecture == "sage":
            return {**shapes, "r1": (features, h), "r2": (h, classes)}
        if self.architecture == "gat":
            return {**shapes, "from1": (h,), "to1": (h,), "from2": (classes,), "to2": (classes,)}
        return shapes

    def bound(self, name: str, shape: tuple[int, ...], features: int) -> float:
        """Within which the first values of a weight are drawn, see `initial_weights`."""
        if self.init == "pygcn":
            return 1 / math.sqrt(shape[-1])
        if self.architecture in ("sage", "mlp"):
            fan_in = features if name.endswith("1") else self.hidden
            return 1 / math.sqrt(fan_in)
        if name.startswith("b"):
            return 0.0
        if len(shape) == 2:
            return math.sqrt(6 / sum(shape))
        heads = self.heads if name.endswith("1") else 1
        width = shape[0] // heads  # an attention vector is [1, heads, width of a head] in PyG
        return math.sqrt(6 / (heads + width))


def weight_shapes(recipe: TrainingConfig, features: int, classes: int) -> dict[str, tuple[int, ...]]:
    """Names and shapes ([in, out]) of one model's weights. SAGE's ``r1``, ``r2`` act on the node itself."""
    return recipe.shapes(features, classes)


def initial_weights(
    recipe: TrainingConfig, features: int, classes: int, seed: np.random.SeedSequence
) -> dict[str, Tensor]:
    """One model's first weights.

    As PyG draws them: Glorot's uniform and zero biases for convolutions, torch's Linear (uniform within
    1 / sqrt(fan in)) for SAGE and MLP. Or as pygcn: uniform within 1 / sqrt(fan out), biases too.
    """
    import torch

    generator = torch.Generator().manual_seed(integer(seed))
    made = {}
    for name, shape in weight_shapes(recipe, features, classes).items():
        bound = recipe.bound(name, shape, features)
        made[name] = (2 * torch.rand(shape, generator=generator) - 1) * bound
    return made
