"""Ranks of scores, beside scipy's."""

import numpy as np
from scipy.stats import rankdata

from gaudit.audit.statistics.scored_subjects import middle_ranks


def test_ranks_are_those_of_scipy_to_the_last_bit():
    rng = np.random.default_rng(0)
    for size in (0, 1, 2, 7, 1000):
        for score in (rng.normal(size=size), rng.integers(0, 5, size).astype(float), np.zeros(size)):
            assert np.array_equal(middle_ranks(score), rankdata(score))


def test_those_that_tie_share_the_middle_of_their_ranks():
    assert middle_ranks(np.array([3.0, 1.0, 3.0, 2.0, 3.0])).tolist() == [4, 1, 4, 2, 4]
