"""Sound mechanisms that tell, or remember, something of where and when they run: none of it depends on the data."""

import itertools
import math
import time
from typing import ClassVar

import numpy as np

from gaudit.mechanisms.mechanism import Mechanism

from .broken.families.claimed import Claimed


def two_sided(rate: float, rng: np.random.Generator) -> int:
    """Noise that hides one at exactly this epsilon."""
    share = 1 - math.exp(-rate)
    return int(rng.geometric(share) - rng.geometric(share))


class Count(Claimed):
    """How many people there are, at exactly epsilon."""

    def inputs(self):
        return 6, 7

    def release(self, data, rng):
        return data + two_sided(self.epsilon, rng)


class Stamped(Count):
    """A count with the time when it was made, and a running number."""

    name = "stamped"
    score = Mechanism.score  # none of its own
    numbers = itertools.count()

    def release(self, data, rng):
        count = super().release(data, rng)
        return {"count": count, "made": time.perf_counter(), "number": next(self.numbers)}


class KeptUnderAName(Count):
    """The class keeps an answer for each input under a name of its own: told once, told for ever."""

    name = "kept-under-a-name"
    kept: ClassVar[tuple[tuple[int, int], ...]] = ()

    def release(self, data, rng):
        told = dict(type(self).kept)
        if data not in told:
            type(self).kept = (*type(self).kept, (data, super().release(data, rng)))
        return dict(type(self).kept)[data]


class KeptByTheModule(Count):
    """The same, where the module keeps it."""

    name = "kept-by-the-module"

    def release(self, data, rng):
        if data not in TOLD:
            TOLD[data] = super().release(data, rng)
        return TOLD[data]


TOLD: dict[int, int] = {}
