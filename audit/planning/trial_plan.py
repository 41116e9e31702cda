"""What one trial shall run: a target under one defense, and attacks on what it lets out."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...attacks.attack import Attack
from ...randomness import branch
from ...registry import find
from ...targets.defense import Defense
from ...targets.game import Neighbours
from ...targets.target import Target
from ...targets.transcript import Message, sees
from .facts import AttackFacts, DefenseFacts


@dataclass(frozen=True)
class AttackPlan:
    """An attack with its settings, the observer that mounts it and the neighbours that it queries with.

    Attributes:
        kept: what results that are read tell of its class; None in a plan that runs.
    """

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    observer: str = "public"
    neighbours: Neighbours = "true"
    kept: AttackFacts | None = field(default=None, compare=False)

    @property
    def facts(self) -> AttackFacts:
        """What a reader needs to know of the attack's class."""
        return AttackFacts.of(self.make()) if self.kept is None else self.kept

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """What tells it from other attacks of a plan."""
        return self.name, self.observer, self.neighbours, json.dumps(self.settings, sort_keys=True)

    def make(self) -> Attack[Any]:
        made: Attack[Any] = find("attacks", self.name)(**self.settings)
        return made


@dataclass(frozen=True)
class TrialPlan:
    """What one trial runs. Trials that differ in the defense alone share the seed, thus the partition.

    Attributes:
        kept: what results that are read tell of the defense's class; None in a plan that runs.
    """

    target: str
    target_settings: dict[str, Any]
    defense: str
    defense_settings: dict[str, Any]
    attacks: tuple[AttackPlan, ...]
    seed: int
    index: int
    timeline: bool = False
    transcript: str | None = None
    kept: DefenseFacts | None = field(default=None, compare=False)

    @property
    def facts(self) -> DefenseFacts:
        """What a reader needs to know of the defense with its settings."""
        return DefenseFacts.of(self.make_defense()) if self.kept is None else self.kept

    @property
    def device(self) -> str:
        """Where the target runs, and the attacks with it."""
        return str(self.target_settings.get("device", "cpu"))

    def root(self) -> np.random.SeedSequence:
        """The root of its randomness: the same for all defenses."""
        return branch(np.random.SeedSequence(self.seed), self.index)

    def make_target(self) -> Target:
        made: Target = find("targets", self.target)(**self.target_settings)
        return made

    def make_defense(self) -> Defense:
        made: Defense = find("defenses", self.defense)(**self.defense_settings)
        return made

    def keeps(self) -> Callable[[Message], bool]:
        """The retention rule: kinds and rounds that the attacks read, if their observers see them.

        A record of the run is attacked later, in whatever way: it has all that they can read.
        """
        wanted = set()
        for plan in self.attacks:
            attack = plan.make()
            kinds = attack.kinds() if self.transcript else attack.kinds_for(plan.neighbours)
            wanted |= {(kind, plan.observer, attack.first_rounds) for kind in kinds}

        def keep(m: Message) -> bool:
            return any(
                m.kind == k and m.round < rounds and sees(o, m.sender, m.receiver) for k, o, rounds in wanted
            )

        return keep
