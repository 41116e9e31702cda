"""Federations that end without one model of all clients: what their settings have in common."""

from typing import Literal

from pydantic import Field

from .federated_averaging import FederatedSettings


class NoCommonModelSettings(FederatedSettings):
    """Settings of training after which there is no model to publish: clients upload weights, and answers go out."""

    upload: Literal["weights"] = "weights"
    publish: tuple[Literal["posteriors"], ...] = Field(
        ("posteriors",), description="what the public gets in the end: there is no common model"
    )
