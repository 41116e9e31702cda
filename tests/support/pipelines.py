"""Targets that compute on a device."""

from gaudit.registry import find, registered
from gaudit.targets.controls.control import PlantedLeak


def pipelines() -> list[str]:
    """Names of all of them, those aside that need what a user brings."""
    kinds = {name: find("targets", name) for name in registered("targets")}
    return [
        name
        for name, kind in kinds.items()
        if "device" in kind.Settings.model_fields and not kind.brings and not issubclass(kind, PlantedLeak)
    ]
