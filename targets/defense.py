"""The sockets that a target offers to defenses: the data, the training, the messages.

A defense fills one or more of them; a target calls all of them at the same places whatever the defense is,
so any defense can be put before any federated target.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, get_args

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError
from torch import Tensor

from .errors import InputError, unknown_name
from .party import Client
from .transcript import Message


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
            raise InputError(f"setting '{name}' of {owner}: {message}, got {first['input']!r}") from error


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


@dataclass(frozen=True)
class SharedModel:
    """The model that the clients trained together before condensing, as each client knows it.

    Attributes:
        weights: the two-layer GCN's weights by name (``w1`` [d, h], ``b1`` [h], ``w2`` [h, C], ``b2`` [C]).
        pseudo_labels: for each client, its predicted label per own node, [n] int64.
        pseudo_labelled: for each client, which of its nodes took part in self-training, [n] bool.
    """

    weights: Mapping[str, Tensor]
    pseudo_labels: dict[int, Tensor]
    pseudo_labelled: dict[int, Tensor]


class Defense:
    """Base of all defenses; on its own it changes nothing and is the undefended control.

    Attributes:
        name: the name in the registry.
        phrase: how a sentence calls it ("with the information bottleneck").
        needs_shared_model: whether `on_data` uses the jointly trained model.
        strength: the name of the one setting that is its strength knob, or None.
        sweep: strengths worth a look, from weak to strong.
        alternative: the defense that is its trivial alternative, or None.
        trivial: whether it is one: it gives utility up without an idea, and what does no better is no defense.
        guarantee: what it promises, with the unit, or None.
        acts_on: kinds of messages that it changes; none where it acts elsewhere.
    """

    name: ClassVar[str] = "none"
    phrase: ClassVar[str] = "undefended"
    needs_shared_model: ClassVar[bool] = False
    strength: ClassVar[str | None] = None
    sweep: ClassVar[tuple[float, ...]] = ()
    alternative: ClassVar[str | None] = None
    trivial: ClassVar[bool] = False
    guarantee: ClassVar[str | None] = None
    acts_on: ClassVar[tuple[str, ...]] = ()
    Settings: ClassVar[type[Settings]] = Settings

    def __init__(self, **settings: Any) -> None:
        self.settings = self.Settings.checked(f"defense '{self.name}'", settings)

    def __repr__(self) -> str:
        inside = ", ".join(f"{k}={v!r}" for k, v in self.settings.model_dump().items())
        return f"{type(self).__name__}({inside})"

    @classmethod
    def preset(cls, preset: str) -> dict[str, Any]:
        """Settings that a preset changes."""
        return {}

    def on_data(
        self,
        client: Client,
        shared: SharedModel | None,
        seed: np.random.SeedSequence,
        hold: Callable[[str, dict[str, Tensor]], None],
    ) -> Client:
        """Changes what a client feeds into the pipeline. ``hold(kind, tensors)`` notes what it keeps."""
        return client

    def on_training(self, client: Client, seed: np.random.SeedSequence) -> "LossTerm | None":
        """An extra term of the client's loss, or None."""
        return None

    def on_message(self, seed: np.random.SeedSequence) -> Callable[[Message], Message] | None:
        """A change of messages at their sender, or None."""
        return None


class LossTerm:
    """A term that a training defense adds to a client's loss, given through its derivative."""

    def gradient(self, logits: Tensor, labels: Tensor, reference: Tensor, reference_labels: Tensor) -> Tensor:
        """The term's derivative by ``logits`` [n, C], per node (not averaged).

        Args:
            logits: of the labelled nodes.
            labels: theirs.
            reference: logits of nodes that the loss does not use, [m, C].
            reference_labels: theirs.
        """
        raise NotImplementedError
