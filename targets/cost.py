"""What a run takes, told from the size of its graph before anything runs: laws, and the constants that they have.

The constants were measured by ``benchmarks/growth.py`` on one thread of an AMD EPYC core (docs/sure/growth.md). On
graphs of 1,000 to 170,000 nodes an estimate of a classifier is within a factor of 3 of what was measured there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from ..graphs.pyg import is_plain, size_of
from .models.training_config import TrainingConfig

if TYPE_CHECKING:
    from torch_geometric.data import Data

START_SECONDS, START_BYTES = 6.0, 0.58 * 2**30
"""Of a process that has imported what trains, with the controls of a small audit."""
SECONDS_A_PRODUCT = 8e-11
"""Of one multiplication of a step of training, with all that goes with it forward and back."""
BYTES_A_FEATURE, BYTES_AN_ENTRY, BYTES_AN_EDGE = 16, 52, 120
"""Of every feature of a node (copies of the table), of one that is not zero (the engine's tiles), of an edge."""
DENSE, BYTES_WITHIN = 0.25, 12
"""The share of features that are not zero from which on the engine reads the table as it is; of a feature then."""
BYTES_AN_ANSWER = 12
"""Of each posterior of a model about a node."""


@dataclass(frozen=True)
class Size:
    """What a graph's cost depends on.

    Attributes:
        nodes: n.
        edges: m, each once.
        features: d; 0 of a graph without.
        entries: how many of the n x d features are not zero.
        classes: C.
    """

    nodes: int
    edges: int
    features: int = 0
    entries: int = 0
    classes: int = 0

    @classmethod
    def of(cls, data: Data) -> Self:
        """That of a checked graph."""
        counts = size_of(data)
        if is_plain(data):
            return cls(**counts)
        return cls(**counts, features=data.x.shape[1], entries=int((data.x != 0).sum()))


@dataclass(frozen=True)
class Cost:
    """What something takes: CPU seconds, and bytes of memory at its peak."""

    seconds: float = 0.0
    memory: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.seconds + other.seconds, self.memory + other.memory)


START = Cost(START_SECONDS, START_BYTES)


def held(size: Size) -> Cost:
    """A graph as training holds it: linear in nodes times features and in edges."""
    features = size.nodes * size.features
    read = BYTES_WITHIN * features if size.entries > DENSE * features else BYTES_AN_ENTRY * size.entries
    return Cost(0.0, BYTES_A_FEATURE * features + read + BYTES_AN_EDGE * size.edges)


def training(size: Size, recipe: TrainingConfig, models: int) -> Cost:
    """Some models that are trained one after the other, with their answers about every node.

    Seconds are linear in models x epochs x width x (features that are not zero + edges in both directions).
    """
    products = recipe.hidden * (size.entries + 2 * size.edges + size.nodes * size.classes)
    answers = BYTES_AN_ANSWER * models * size.nodes * size.classes
    return Cost(SECONDS_A_PRODUCT * models * recipe.epochs * products, answers)
