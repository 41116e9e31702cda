"""People alike over snapshots and what is sensitive of them, counted by sets and lists."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaudit.defenses.attributes.k_attributed_degree_windows import KAttributedDegreeWindows
from gaudit.defenses.attributes.k_l_sequential import KLSequential
from gaudit.errors import InputError
from support.snapshots_of_people import alike, nothing_lost, people, rarest, workers

SEED = np.random.SeedSequence(0)


def least_diverse(network, window, how):
    """The l that all classes of people who are alike have."""
    ill, found = network.people.sensitive[:, 0].tolist(), []
    for classes in alike(network, window):
        for own in classes:
            times = Counter(ill[node] for node in own).values()
            shares = [count / len(own) for count in times]
            entropy = math.exp(-sum(share * math.log(share) for share in shares))
            found.append({"distinct": len(shares), "share": 1 / max(shares), "entropy": entropy}[how])
    return min(found)


@given(
    seed=st.integers(0, 10_000),
    k=st.integers(2, 5),
    how=st.sampled_from(["share", "distinct", "entropy"]),
    window=st.sampled_from([None, 1, 2]),
)
@settings(max_examples=40, deadline=None)
def test_every_class_over_all_snapshots_is_large_and_diverse(seed, k, how, window):
    before, made = people(40, seed, secret=True), KLSequential(k=k, l_diversity=2, diversity=how, window=window)
    after = made.on_graph(before, SEED)
    assert rarest(after, window) >= k
    assert least_diverse(after, window, how) >= 2 - 1e-9
    assert nothing_lost(before, after)
    assert made.verify(before, after).holds


def test_without_diversity_people_who_are_alike_may_have_one_sensitive_value():
    """Ten networks, k = 3: alike over all snapshots, and in each network some class has one value alone."""
    for seed in range(10):
        before = workers(90, seed, secret=True)
        after = KAttributedDegreeWindows(k=3, window=4).on_graph(before, SEED)
        assert rarest(after, None) >= 3
        assert least_diverse(after, None, "distinct") == 1
        assert not KLSequential(k=3).verify(before, after).holds


@pytest.mark.parametrize(
    ("made", "secret", "said"),
    [
        (KLSequential(k=3), False, "speak of a sensitive attribute"),
        (KLSequential(k=5, l_diversity=4, diversity="distinct"), True, "all people together count 3"),
        (KLSequential(k=50), True, "only 40 nodes"),
    ],
)
def test_what_no_class_can_keep_is_refused_in_one_line(made, secret, said):
    with pytest.raises(InputError, match=said):
        made.on_graph(people(40, 0, secret=secret), SEED)


def test_more_values_than_people_are_refused():
    with pytest.raises(InputError, match="raise k"):
        KLSequential(k=2, l_diversity=3)
