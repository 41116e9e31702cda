"""Pipelines that leak on purpose: what positive controls share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..defense import Defense
from ..target import Offers, Target

if TYPE_CHECKING:
    from torch_geometric.data import Data


class PlantedLeak(Target):
    """Base of controls: they run on a graph of their own, have no presets, and are not defended."""

    def why_not(self, defense: Defense) -> str | None:
        return None if type(defense) is Defense else "a control that leaks on purpose is not defended"

    @classmethod
    def preset(cls, preset: str, data: Data) -> dict[str, Any]:
        return {}


class PlantedParties(PlantedLeak):
    """Base of controls whose settings say how many parties an attacker may be (``clients``)."""

    @property
    def offers(self) -> Offers:
        """What its settings say of parties."""
        settings: Any = self.settings
        return Offers(settings.clients)
