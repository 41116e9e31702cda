"""Divergences and epsilons as a claim's recomputation needs them."""

from functools import cache

import numpy as np

from ...graphs.network import Floats
from ...mechanisms.gaussian import epsilon_of
from ...mechanisms.renyi import renyi_of_terms


def exact_epsilon(distance: float, delta: float) -> float:
    """Epsilon of Gaussian noise; beyond any that can be claimed, as much as 10,000 deviations have."""
    return epsilon_of(min(distance, 1e4), delta)


@cache
def renyi_of_coupled(examples: int, terms: int, batch: int, clips: float) -> Floats:
    """Of one step on a uniform batch without replacement, of which one node changes several terms.

    So many of the changed terms are in the batch as a hypergeometric law says (Daigavane et al. 2021).

    Args:
        examples: nodes that batches are drawn from.
        terms: that one node changes.
        batch: nodes in a batch.
        clips: deviation of the noise, in clips.
    """
    from scipy.stats import hypergeom

    touched = np.arange(min(terms, batch) + 1)
    return renyi_of_terms(hypergeom.logpmf(touched, examples, min(terms, examples), min(batch, examples)), clips)
