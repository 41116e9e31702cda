"""Each window of time is k-degree by itself, and says that all together are not."""

import numpy as np

from gaudit.defenses.degrees.degree_sequences import k_anonymous
from gaudit.defenses.degrees.k_degree_by_snapshot import KDegreeBySnapshot
from gaudit.graphs.snapshots import degree_vectors, snapshot
from support.messages_over_time import by_windows


def test_each_window_has_the_nearest_degrees_and_keeps_its_promise():
    before = by_windows(60, 400)
    after = KDegreeBySnapshot(k=5).on_graph(before, np.random.SeedSequence(0))
    for window in range(4):
        old, new = snapshot(before, window), snapshot(after, window)
        assert (
            np.abs(new.degrees - old.degrees).sum()
            == np.abs(k_anonymous(old.degrees, 5, True, True) - old.degrees).sum()
        )
        degrees = new.degrees.tolist()
        assert all(degrees.count(degree) >= 5 for degree in degrees)
    rows = list(map(tuple, degree_vectors(after).tolist()))
    assert min(rows.count(row) for row in rows) == 1
    found = KDegreeBySnapshot(k=5).verify(before, after)
    assert found.holds
    assert "over all 4 windows 1" in found.detail
    assert not KDegreeBySnapshot(k=5).verify(before, before).holds
