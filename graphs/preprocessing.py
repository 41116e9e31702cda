"""What is done to features before anything else; everybody knows it, adversaries too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from ..settings import Settings
from .checks import row_normalised

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data


class FeatureSettings(Settings):
    """Settings of targets whose published numbers depend on how features are scaled."""

    features: Literal["given", "row-shares"] = Field(
        "given", description="as they are, or each row divided by its sum where that is above 1 (bags of words)"
    )


def preprocessed(data: Data, features: str) -> Data:
    """The graph as a pipeline and its adversaries read it; the same object where nothing is to be done."""
    if features == "given":
        return data
    scaled = data.clone()
    scaled.x = row_normalised(data.x) if features == "row-shares" else columns_scaled(data.x)
    return scaled


def columns_scaled(x: Tensor) -> Tensor:
    """Features [N, d] whose columns beyond 0 and 1 have mean 0 and deviation 1; marks and shares are kept."""
    import torch

    beyond = (x.min(0).values < 0) | (x.max(0).values > 1)
    spread, mean = torch.std_mean(x, 0, correction=0)
    return torch.where(beyond, (x - mean) / spread.clamp_min(1e-12), x)
