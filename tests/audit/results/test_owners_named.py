"""How many owners are named, by counting."""

from types import SimpleNamespace

import numpy as np

from gaudit.audit.results.game_metrics import owners_named
from gaudit.audit.statistics.scored_subjects import ScoredSubjects
from gaudit.targets.games.ownership import pair_of


def test_a_node_is_named_where_its_client_scores_highest_and_nobody_as_high():
    node, client = np.repeat(np.arange(4), 3), np.tile(np.arange(3), 4)
    holder = np.array([0, 1, 2, -1])  # nobody holds the last one
    score = np.array([[2, 1, 0], [3, 2, 1], [0, 5, 5], [9, 0, 0]], dtype=float).ravel()
    judged = ScoredSubjects(pair_of(node, client), score, holder[node] == client)
    found = owners_named([SimpleNamespace(judged=judged)])["owners named"]
    assert found.estimate == 1 / 3
    assert found.members == 3
    assert found.low < 1 / 3 < found.high
