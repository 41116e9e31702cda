"""Settings that come from outside, and what is built from them."""

import re
from typing import Any, ClassVar, Self, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError

from .errors import LONGEST_QUOTED, InputError, nearest, quoted, shortened, unknown_name

NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)
WORDS = {
    "missing": "is missing",
    "extra_forbidden": "is not known",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a smaller number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be finite",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_type": "must be text",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} letters",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "too_short": "must have at least {min_length} of them",
    "too_long": "must have at most {max_length} of them",
    "dict_type": "must be a table of settings",
    "model_type": "must be a table of settings",
    "literal_error": "must be {expected}",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
}
"""What a setting lacks, by pydantic's name for it; other errors say it themselves."""


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
            raise _refusal(cls, owner, error) from error


def _refusal(settings: type[BaseModel], owner: str, error: ValidationError) -> InputError:
    """The first thing that is wrong; a name that is unknown goes before one that is missing for it."""
    found = error.errors()
    first = next((one for one in found if one["type"] == "extra_forbidden"), found[0])
    if first["type"] == "extra_forbidden":
        *path, key = (str(part) for part in first["loc"])
        return unknown_name(f"setting of {owner}:", ".".join([*path, key]), _known(settings, path))
    said = first["msg"].removeprefix("Value error, ")
    if not first["loc"]:  # a rule about several settings
        return InputError(f"settings of {owner}: {said}")
    words, value = WORDS.get(first["type"]), first["input"]
    bounds = {k: f"{v:g}" if isinstance(v, float) else v for k, v in first.get("ctx", {}).items()}
    said = f": {said}" if words is None else " " + words.format(**bounds)
    if first["type"] in ("tuple_type", "list_type"):
        said += _as_a_list(settings, [str(part) for part in first["loc"]], value)
    if first["type"] == "literal_error" and isinstance(value, str):
        expected = str(first.get("ctx", {}).get("expected", ""))
        near = nearest(shortened(value, LONGEST_QUOTED), re.findall("'([^']*)'", expected))
        said += f" (did you mean '{near[0]}'?)" if near else ""
    several = isinstance(value, dict)  # too long to quote
    told = several or (words is None and quoted(value) in said)
    got = "" if told else f", got {quoted(value)}"
    return InputError(f"setting '{'.'.join(str(part) for part in first['loc'])}' of {owner}{said}{got}")


def _as_a_list(settings: type[BaseModel], path: list[str], value: object) -> str:
    """How what was given is written where a list is wanted."""
    if _nested(settings, path) is not None:
        return f": write [[{path[-1]}]], with two brackets, above its settings"
    if not isinstance(value, str | int | float):
        return ""
    parts = [part.strip() for part in str(value).split(",")]
    numbers = all(NUMBER.fullmatch(part) for part in parts)
    if numbers and (wanted := _how_many(settings, path)) > len(parts):
        return f" of {wanted}, as in {path[-1]} = [{', '.join([*parts, *['...'] * (wanted - len(parts))])}]"
    numbers = numbers and len(parts) > 1
    return f", as in {path[-1]} = [{', '.join(parts) if numbers else quoted(value)}]"


def _how_many(settings: type[BaseModel], path: list[str]) -> int:
    """How many values a setting holds where their number is settled, else 0."""
    if len(path) != 1:
        return 0
    annotation = settings.model_fields[path[0]].annotation
    kinds = (get_args(kind) for kind in (annotation, *get_args(annotation)) if get_origin(kind) is tuple)
    return next((len(kind) for kind in kinds if ... not in kind), 0)


def _nested(settings: type[BaseModel], path: list[str]) -> type[BaseModel] | None:
    """The settings at a place within others, or None where there are none."""
    for part in path:
        if part.isdigit():  # a place in a list of nested settings
            continue
        kinds = [settings.model_fields[part].annotation, *get_args(settings.model_fields[part].annotation)]
        inner = next((k for k in kinds if isinstance(k, type) and issubclass(k, BaseModel)), None)
        if inner is None:
            return None
        settings = inner
    return settings


def _known(settings: type[BaseModel], path: list[str]) -> list[str]:
    """The names of settings beside a nested one, in full."""
    nested = _nested(settings, path)
    return [] if nested is None else [".".join([*path, name]) for name in nested.model_fields]


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
