"""What pairs of nodes look like without a release."""

import numpy as np

from gaudit.graphs.network import Network
from gaudit.graphs.pyg import data_of
from gaudit.targets.games.public_columns import PRIVATE, pair_columns


def test_a_graph_without_features_has_no_baseline_by_features():
    """One constant feature and one class stand in for none: what they tell is nothing, and no row of a report."""
    data = data_of(Network.from_edges(4, [0, 1, 2], [1, 2, 3]))
    pairs = np.array([0, 1]), np.array([2, 3])
    assert set(pair_columns(data, *pairs)) == {PRIVATE}
    data.plain = False
    assert set(pair_columns(data, *pairs)) == {"label", "features", "all", PRIVATE}
