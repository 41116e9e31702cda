"""What wrong and odd mechanisms share: a guarantee made of a few class attributes."""

from typing import ClassVar

from gaudit.mechanisms.guarantee import Guarantee
from gaudit.mechanisms.mechanism import Mechanism


class Claimed(Mechanism):
    """Claims epsilon, and ``delta``, for one unit."""

    differ_in = "node"
    model: ClassVar[str] = "central"
    delta: ClassVar[float] = 0.0

    @property
    def guarantee(self):
        return Guarantee(self.differ_in, self.differ_by, self.model, self.settings.epsilon, self.delta)

    @property
    def epsilon(self):
        return self.settings.epsilon

    def score(self, released):
        return float(released)
