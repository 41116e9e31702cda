"""What Sub-GIB (SOS, section 4.2) leaves to choose."""

from typing import Literal

from pydantic import Field

from ...settings import Settings

SmoothnessName = Literal["normalised", "mean", "sum"]


class SubGIBSettings(Settings):
    """Settings of Sub-GIB; defaults are the paper's (section 5.1; of `smoothness` what Eq. 12 cites)."""

    beta: float = Field(0.2, ge=0, description="weight of the information about the client's graph")
    gamma: float = Field(0.5, ge=0, description="weight of single nodes beside the whole graph in it")
    smoothness: SmoothnessName = Field(
        "normalised",
        description="Laplacian of Eq. 12: that of GraphMI, which the paper cites; or D - A, as a mean over edges "
        "or as a sum, which leaves IN nearly constant",
    )
    epochs: int = Field(150, ge=1)
    hidden: int = Field(512, ge=1)
    lr: float = Field(1e-3, gt=0)
