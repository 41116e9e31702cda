"""The continual counts as mechanisms whose claims are checked."""

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ..guarantee import Guarantee, Released, Unit
from ..mechanism import Mechanism, MechanismSettings
from .continual_counts import contact_count, event_count
from .continual_degrees import degree_sequences
from .messages import Messages
from .running_sums import parts


class StreamSettings(MechanismSettings):
    """Settings of continual counts."""

    steps: int = Field(4, ge=1, le=4096, description="how often a number is told; public")


class ContinualEventCount(Mechanism):
    """The number of messages up to each step, by a binary tree (Chan, Shi and Song 2011)."""

    name = "continual-event-count"
    differ_in: ClassVar[Unit] = "event"
    Settings = StreamSettings
    settings: StreamSettings

    @property
    def guarantee(self) -> Guarantee:
        """What a release says of itself; the promise does not depend on the input."""
        return self.release(self.inputs()[0], np.random.default_rng(0)).guarantee

    def inputs(self) -> tuple[Messages, Messages]:
        """Two nodes without a message, and with one at step 0, which is in the most parts of the tree."""
        return Messages.from_events(2, [], [], []), Messages.from_events(2, [0], [1], [0])

    def release(self, data: Messages, rng: np.random.Generator) -> Released:
        return event_count(data, self.settings.epsilon, self.settings.steps, rng)

    def score(self, released: Released) -> float:
        """What the parts that step 0 is in say: each at most that it was there, or that it was not."""
        values: Any = released.values
        told = parts(np.diff(values, prepend=0))
        return float(np.clip(told[[2**power - 1 for power in range(len(told).bit_length())]], 0, 1).sum())


class ContinualEdgeCount(ContinualEventCount):
    """The number of pairs with contact so far, by a binary tree; all messages of a pair are hidden."""

    name = "continual-edge-count"
    differ_in = "edge-history"

    def inputs(self) -> tuple[Messages, Messages]:
        """Two nodes without a message, and with one at each step."""
        steps = np.arange(self.settings.steps)
        return Messages.from_events(2, [], [], []), Messages.from_events(2, 0 * steps, 0 * steps + 1, steps)

    def release(self, data: Messages, rng: np.random.Generator) -> Released:
        return contact_count(data, self.settings.epsilon, self.settings.steps, rng)


class ContinualDegreeSequence(ContinualEdgeCount):
    """The sorted numbers of contacts of all people, at each step; all messages of a pair are hidden."""

    name = "continual-degree-sequence"

    def release(self, data: Messages, rng: np.random.Generator) -> Released:
        return degree_sequences(data, self.settings.epsilon, self.settings.steps, rng)

    def score(self, released: Released) -> float:
        """All degrees of two nodes: none of them, or 1 at each step."""
        values: Any = released.values
        return float(values.sum())
