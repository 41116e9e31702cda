"""DosCond: graph condensation by matching one step of gradients of untrained models (Jin et al. 2022a)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from ...graphs.pyg import name_of
from ..models.backbone import BackboneName
from .gcond import GCond, GCondSettings
from .gradient_distance import Distance

if TYPE_CHECKING:
    from torch_geometric.data import Data

ROUNDS = {"cora": 5000, "citeseer": 3000, "pubmed": 2000}


class DosCondSettings(GCondSettings):
    """Settings of `DosCond`. Defaults: GCond's released code with ``one_step``, for 1000 models."""

    init: Literal["noise", "real"] = Field("real", description="first condensed features")
    backbone: BackboneName = "gcn"
    distance: Distance = "mse"
    lr_features: float = Field(1e-3, gt=0)
    lr_structure: float = Field(1e-3, gt=0)
    rounds: int = Field(1000, ge=1, description="models drawn")
    outer: int = Field(1, ge=1, description="steps on the condensed graph for each model")
    inner: int = Field(0, ge=0, description="steps of the model on the condensed graph between them")
    checkpoints: tuple[int, ...] = Field((250, 500, 750, 1000), description="rounds that release")


class DosCond(GCond):
    """Matches one step of gradients of many untrained models (Jin et al., KDD 2022).

    `GCond` with one step for each model, which is not trained, as in GCond's released code for nodes. The paper's
    discrete structure is for classifying graphs and not here.
    """

    name = "doscond"
    quick: ClassVar[dict[str, Any]] = {
        "rounds": 300,
        "checkpoints": (100, 200, 300),
        "lr_features": 1e-2,
        "lr_structure": 1e-2,
    }
    Settings = DosCondSettings
    settings: DosCondSettings

    @classmethod
    def preset(cls, preset: str, data: Data) -> dict[str, Any]:
        found = super().preset(preset, data)
        if preset == "quick":
            return found
        rounds = ROUNDS.get(name_of(data), 2000)
        return {**found, "rounds": rounds, "checkpoints": tuple(range(rounds // 5, rounds + 1, rounds // 5))}
