"""The trivial alternative: alike in each snapshot, and together not, counted by sets of triples."""

import numpy as np

from gaudit.defenses.attributes.k_attributed_degree_by_snapshot import KAttributedDegreeBySnapshot
from gaudit.defenses.attributes.k_attributed_degree_windows import KAttributedDegreeWindows
from support.snapshots_of_people import nothing_lost, rarest, workers

SEED = np.random.SeedSequence(0)


def test_each_snapshot_alone_keeps_its_promise_and_fails_the_joint_check():
    """The trivial alternative on ten networks: alike in each snapshot, and in two together many are alone."""
    alone = KAttributedDegreeBySnapshot(k=5)
    for seed in range(10):
        before = workers(90, seed)
        after = alone.on_graph(before, SEED)
        assert rarest(after, 1) >= 5
        assert nothing_lost(before, after)
        assert alone.verify(before, after).holds
        assert rarest(after, 2) < 5
        assert not KAttributedDegreeWindows(k=5, window=2).verify(before, after).holds
