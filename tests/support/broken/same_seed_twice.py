"""Wrong: two releases that draw the same noise, since both set the same seed. Claimed is what they compose to.

Their difference has no noise. Here the other one is of something public, so that the number of edges remains. Seen
where every function of a library sets a fixed seed to be repeatable, or where workers start from one state.
"""

from fractions import Fraction

from gaudit.mechanisms.exact_noise import discrete_laplace
from gaudit.mechanisms.guarantee import Guarantee
from gaudit.mechanisms.statistics import Statistic


class SameSeedTwice(Statistic):
    """The number of nodes, which is public, and that of edges, each with half of the budget."""

    name = "same-seed-twice"

    @property
    def guarantee(self):
        return Guarantee("edge", "add/remove", "central", Fraction(self.settings.epsilon) / 2).repeated(2)

    def release(self, data, rng):
        scale = 2 / Fraction(self.settings.epsilon)
        noise = int(
            discrete_laplace(scale, 1, rng)[0]
        )  # drawn once: the second call would start from the same seed
        return data.nodes + noise, data.size + noise

    def score(self, released):
        return float(released[1] - released[0])
