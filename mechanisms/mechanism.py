"""What a claim of privacy is checked on: a mechanism with its promise, and the two inputs that it must hide."""

import copy
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import Field

from ..settings import Configured, Settings
from .guarantee import Adjacency, Guarantee, Unit


class MechanismSettings(Settings):
    """Settings of all mechanisms."""

    epsilon: float = Field(1.0, gt=0, description="what the mechanism is asked to promise")


class Mechanism(Configured, ABC):
    """Base of mechanisms whose claims are checked. A subclass says what it promises, and how to test it best.

    Attributes:
        differ_in: the unit in which its two inputs differ; a promise for another unit is not compared with what is
            measured on them.
        differ_by: whether one of the inputs lacks the unit, has a blank in its place, or another one.
        gaussian: whether scores of both inputs are normal with one variance, which allows a sharper bound. It is
            tested: scores that do not look so are judged like all others.
    """

    kind = "mechanism"
    differ_in: ClassVar[Unit]
    differ_by: ClassVar[Adjacency] = "add/remove"
    gaussian: ClassVar[bool] = False
    Settings = MechanismSettings
    settings: MechanismSettings

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What it promises with its settings."""

    @abstractmethod
    def inputs(self) -> tuple[Any, Any]:
        """An input without the unit and a neighbouring one with it, as hard to tell apart as the promise allows."""

    @abstractmethod
    def release(self, data: Any, rng: np.random.Generator) -> Any:
        """Runs it once on an input."""

    def score(self, released: Any) -> float:
        """The higher, the likelier the unit was there; nothing else than what is released may go into it.

        One number. A mechanism without a score of its own is judged by one that is learned from its releases.
        """
        raise NotImplementedError(f"'{self.name}' has no score of its own")

    def another(self) -> Self:
        """A new one with the same settings, which remembers nothing of earlier runs."""
        try:
            return type(self)(**self.settings.model_dump())
        except TypeError:  # made of something else than settings
            return copy.deepcopy(self)
