"""Runs of targets and defenses on small graphs, with a note of what passed the channel."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graphs.datasets.loading import load_dataset
from ...graphs.pyg import data_of
from ...registry import find
from ...targets.controls.control import PlantedLeak
from ...targets.defense import Defense
from ...targets.target import Run, Target
from ...targets.transcript import Message
from ..planning.resolve import merged
from .cheap_settings import cheap
from .coins import other_coins
from .fingerprint import fingerprint
from .named import ours, theirs
from .rule import BrokenRuleError
from .small_graphs import forty_graphs, sixty_nodes, sparse_network

if TYPE_CHECKING:
    from torch_geometric.data import Data

SEED = 0
PLAINEST = "classifier"
"""A target that trains long enough on a small graph for its answers to be sure: a cap on them changes something."""


@dataclass
class Gate:
    """A retention rule that keeps everything, and notes what the channel asked it about.

    Attributes:
        passed: each message with its fingerprint at the time.
    """

    passed: list[tuple[Message, str]] = field(default_factory=list)

    def __call__(self, message: Message) -> bool:
        self.passed.append((message, fingerprint(message)))
        return True


@dataclass(frozen=True, eq=False)
class SmallRun:
    """A run, and what the channel let pass of it."""

    run: Run
    gate: Gate


def quick(defense: str, **settings: Any) -> Defense:
    """A defense as `quick` audits make it, with cheap settings."""
    kind: type[Defense] = find("defenses", defense)
    made: Defense = kind(**merged(merged(kind.preset("quick"), cheap(kind.Settings)), settings))
    return made


def made_cheap(target: str) -> tuple[Target, Data]:
    """A target with cheap settings, and the small graph that it runs on."""
    kind: type[Target] = find("targets", target)
    if kind.dataset is not None:
        return kind(), load_dataset(kind.dataset)
    data = _small_graph(kind)
    if not kind.brings:
        return kind(**cheap(kind.Settings)), data
    made = kind(**_brought(target))
    return made, made.own_graph() if kind.brings_graph else data


def run_once(target: str, defense: Defense, coins: int = 0) -> SmallRun:
    """A run of a target with cheap settings on a small graph, everything kept."""
    (made, data), gate = made_cheap(target), Gate()
    with other_coins(coins):
        return SmallRun(made(data, defense, np.random.SeedSequence(SEED), gate), gate)


def run_otherwise(target: str) -> None:
    """A run with another seed, and with train and test nodes in each other's place: its truth is another."""
    made, data = made_cheap(target)
    other = data.clone()
    if "train_mask" in data:
        other.train_mask, other.test_mask = data.test_mask, data.train_mask
    made(other, quick("none"), np.random.SeedSequence(SEED + 1), lambda message: True)


@cache
def ran(target: str, defense: str = "none") -> SmallRun:
    """The same, once for all who ask."""
    return run_once(target, quick(defense))


def place_of(*defenses: str) -> str:
    """The first target, not a control, that all of these defenses have a place in; the plainest goes first.

    Raises:
        BrokenRuleError: there is none.
    """
    made = [quick(defense) for defense in defenses]
    for name in dict.fromkeys([PLAINEST, *ours("targets"), *theirs("targets")]):
        kind: type[Target] = find("targets", name)
        if issubclass(kind, PlantedLeak) or kind.brings:
            continue
        target = kind(**cheap(kind.Settings))
        if all(target.why_not(defense) is None for defense in made):
            return name
    raise BrokenRuleError(f"no target has a place for {' and '.join(defenses)}")


def content(run: Run) -> str:
    """The digest of all that was sent and held in a run, of its truth and of its utility."""
    secrets = dict(sorted(run.secrets.items()))
    return fingerprint([run.transcript.messages, secrets, [repr(u) for u in run.utilities], run.notes])


def _small_graph(kind: type[Target]) -> Data:
    if kind.collections:
        return forty_graphs()
    return data_of(sparse_network(SEED)) if kind.plain else sixty_nodes()


@cache
def _brought(target: str) -> dict[str, Any]:
    """Settings of a target that audits what a user brings."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    kind: type[Target] = find("targets", target)
    found: dict[str, Any] = kind.example(_small_graph(kind), folder)
    return found
