"""What all targets share that audit what a user brings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..target import Target

if TYPE_CHECKING:
    from torch_geometric.data import Data


class Brought(Target):
    """Base of targets that audit what a user brings: there are no published settings to start from."""

    brings = True

    @classmethod
    def preset(cls, preset: str, data: Data) -> dict[str, Any]:
        return {}
