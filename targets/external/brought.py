"""What all targets share that audit what a user brings."""

from typing import Any

from torch_geometric.data import Data

from ..target import Target


class Brought(Target):
    """Base of targets that audit what a user brings: there are no published settings to start from."""

    brings = True

    @classmethod
    def preset(cls, preset: str, data: Data) -> dict[str, Any]:
        return {}
