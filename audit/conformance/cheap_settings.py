"""Settings with which classes run once and quickly, and the other choices that they have."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError

NOTHING_SENSITIVE: dict[str, Any] = {"l_diversity": 1}
"""The networks of `small_graphs` have no sensitive attribute."""
CHEAP: dict[str, Any] = {
    "clients": 3,
    "epochs": 2,
    "experts": 1,
    "expert_epochs": 4,
    "feature_steps": 1,
    "hidden": 8,
    "inner": 1,
    **NOTHING_SENSITIVE,
    "latent": 4,
    "local_epochs": 1,
    "models": 1,
    "outer": 2,
    "publish": ("model", "posteriors", "labels", "explanations", "embeddings"),  # all that goes with every game
    "ratio": 0.2,
    "rebuilding_steps": 2,
    "refinements": 2,
    "rounds": 2,
    "self_training_rounds": 2,
    "start_every": 1,
    "start_last": 1,
    "steps": 3,
    "structure_steps": 1,
    "student_steps": 2,
    "tune_epochs": 1,
    "checkpoints": (1, 2),
    "measures": ("degree-distribution",),
}
"""Enough to run once and to say something; a setting that is called something else keeps its default."""
SHORTER: dict[str, Any] = {"model": {"hidden": 64, "epochs": 100}, "shadows": 16, "release_models": 1}
"""Of attacks that train models on a release: enough to find what was planted."""


def cheap(settings: type[BaseModel], values: dict[str, Any] = CHEAP) -> dict[str, Any]:
    """Those of ``values`` that some settings know, also in settings within them.

    A value that a setting of the same name does not take is left out: another package may call other things so.
    """
    found: dict[str, Any] = {}
    for name, field in settings.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            found[name] = cheap(inner, values.get(name, values))
        elif name in values and _takes(settings, name, values[name]):
            found[name] = values[name]
    return {name: value for name, value in found.items() if value != {}}


def _takes(settings: type[BaseModel], name: str, value: Any) -> bool:
    """Whether one setting is in its range; rules about several settings, and settings that must be given, apart."""
    try:
        settings(**{name: value})
    except ValidationError as error:
        return all(name not in one["loc"] for one in error.errors())
    return True


def variants(settings: type[BaseModel]) -> Iterator[dict[str, Any]]:
    """The defaults, and one by one all other choices of settings that have a few to choose from."""
    yield {}
    for name, field in settings.model_fields.items():
        kind = field.annotation
        options = (True, False) if kind is bool else get_args(kind) if get_origin(kind) is Literal else ()
        for option in options:
            with suppress(ValidationError):  # it goes with another setting only
                yield settings(**{name: option}).model_dump(include={name})
