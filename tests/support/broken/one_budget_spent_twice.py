"""Wrong: two releases on the same data, each under the whole budget. Claimed is what one of them promises.

Two randomised responses about one edge are worth twice the epsilon. Seen where a mechanism is called in every round
or for every question, and its epsilon is stated once.
"""

import numpy as np

from gaudit.audit.claims.upload_claims import EdgeResponse


class OneBudgetSpentTwice(EdgeResponse):
    """Randomised response about one edge, in each of two rounds."""

    name = "one-budget-spent-twice"

    def inputs(self):
        """No edge, and one."""
        return False, True

    def release(self, data, rng):
        truthful = rng.random(2) < 1 / (1 + np.exp(-self.settings.epsilon))
        return truthful == data

    def score(self, released):
        return float(released.sum())
