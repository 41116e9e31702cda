"""How a classifier of whole graphs is trained."""

import math
from typing import Literal

from pydantic import Field, model_validator

from .training_config import TrainingConfig

OF_NODES = {"heads", "hops", "drop_lr_at", "init", "every", "patience"}
"""What classifiers of nodes alone have settings for."""


class GraphRecipe(TrainingConfig):
    """A training recipe for a classifier of whole graphs. Adam on all members at once, with an L2 penalty.

    ``gin``: layers h <- MLP(h + sum of neighbours' h) of two linear maps with relu after each, then the sum over a
    graph's nodes (Xu et al., ICLR 2019, equations 4.1 with eps = 0; the last layer is read out alone, and nothing
    is normalised by batch: a graph's answer then depends on that graph alone). ``gcn``: layers of Kipf and Welling
    with relu, then the mean over a graph's nodes. One linear map follows.
    """

    architecture: Literal["gin", "gcn"] = "gin"  # type: ignore[assignment]  # other ones than for nodes
    layers: int = Field(3, ge=1, le=8, description="rounds of message passing")
    lr: float = Field(0.002, gt=0)
    weight_decay: float = Field(0.0, ge=0)
    dropout: float = Field(0.0, ge=0, lt=1, description="of a graph's row before the last map")

    @model_validator(mode="after")
    def _is_of_graphs(self) -> "GraphRecipe":
        usual = TrainingConfig().model_dump(include=OF_NODES)
        for name, value in self.model_dump(include=OF_NODES).items():
            if value != usual[name]:
                raise ValueError(f"{name} is a setting of classifiers of nodes: leave it out")
        return self

    def shapes(self, features: int, classes: int) -> dict[str, tuple[int, ...]]:
        h, found = self.hidden, dict[str, tuple[int, ...]]()
        for k in range(1, self.layers + 1):
            found |= {f"w{k}": (features if k == 1 else h, h), f"b{k}": (h,)}
            if self.architecture == "gin":
                found |= {f"v{k}": (h, h), f"c{k}": (h,)}
        return {**found, "w": (h, classes), "b": (classes,)}

    def bound(self, name: str, shape: tuple[int, ...], features: int) -> float:
        """As torch's Linear draws them; layers of a GCN as PyG's draw them."""
        if self.architecture == "gcn" and name not in ("w", "b"):
            return 0.0 if name.startswith("b") else math.sqrt(6 / sum(shape))
        fan_in = features if name in ("w1", "b1") else self.hidden
        return 1 / math.sqrt(fan_in)
