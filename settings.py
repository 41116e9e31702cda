"""Settings that come from outside, and what is built from them."""

from typing import Any, ClassVar, Self, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from .errors import InputError, quoted, unknown_name


class Settings(BaseModel):
    """Settings of a target, an attack or a defense: published defaults, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @classmethod
    def checked(cls, owner: str, values: dict[str, Any]) -> Self:
        """Builds the settings from outside values.

        Raises:
            InputError: an unknown key (with the nearest match) or a value out of its range.
        """
        try:
            return cls(**values)
        except ValidationError as error:
            first = error.errors()[0]
            if first["type"] == "extra_forbidden":
                *path, key = (str(part) for part in first["loc"])
                raise unknown_name(f"setting of {owner}", ".".join([*path, key]), _known(cls, path)) from error
            if not first["loc"]:  # a rule about several settings
                raise InputError(f"settings of {owner}: {first['msg'].removeprefix('Value error, ')}") from error
            name = ".".join(str(part) for part in first["loc"]) or "settings"
            message = first["msg"].removeprefix("Value error, ")
            several = isinstance(first["input"], dict)  # too long to quote
            got = "" if several else f", got {quoted(first['input'])}"
            raise InputError(f"setting '{name}' of {owner}: {message}{got}") from error


def _known(settings: type[BaseModel], path: list[str]) -> list[str]:
    """The names of settings beside a nested one, in full."""
    for part in path:
        if part.isdigit():  # a place in a list of nested settings
            continue
        kinds = [settings.model_fields[part].annotation, *get_args(settings.model_fields[part].annotation)]
        inner = next((k for k in kinds if isinstance(k, type) and issubclass(k, BaseModel)), None)
        if inner is None:
            return []
        settings = inner
    return [".".join([*path, name]) for name in settings.model_fields]


class Configured:
    """Base of targets, attacks and defenses: a name, and settings that are checked.

    Raises:
        InputError: an unknown setting or a value out of its range.
    """

    name: ClassVar[str]
    kind: ClassVar[str]
    """What it is, for messages: a target, an attack, a defense."""
    Settings: ClassVar[type[Settings]] = Settings

    def __init__(self, **settings: Any) -> None:
        self.settings = self.Settings.checked(f"{self.kind} '{self.name}'", settings)

    def __repr__(self) -> str:
        inside = ", ".join(f"{k}={v!r}" for k, v in self.settings.model_dump().items())
        return f"{type(self).__name__}({inside})"
