"""Clients that tell whether they have a class: the positive control of asking for a property of theirs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import Field

from ..game import Game
from ..games.group_property import GroupProperty, group_property
from ..party import Client
from .planted_classes import PlantedClasses, PlantedClassesSettings


class PlantedPropertySettings(PlantedClassesSettings):
    """Settings of `PlantedProperty`."""

    clients: int = Field(20, ge=1)


class PlantedProperty(PlantedClasses):
    """A control that leaks on purpose: clients who have many labels of class 0, or none, tell shares of classes.

    As `PlantedClasses`, of which it asks about one class.
    """

    name = "planted-property"
    games = (GroupProperty.name,)
    Settings = PlantedPropertySettings
    settings: PlantedPropertySettings

    def secrets(self, clients: Sequence[Client]) -> dict[str, Game]:
        having = {client.number: bool(client.class_counts()[0] > 0) for client in clients}
        share = 2 / clients[0].classes  # of one of half of the classes
        return group_property(having, 0, clients[0].classes, (0.0, share), np.zeros(0, dtype=np.int64))
