"""Sets of candidates, beside plain sets."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gaudit.attacks.identity.identity_attack import Candidates

SETS = st.lists(st.sets(st.integers(0, 12), max_size=9), min_size=1, max_size=6)
PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 14)), max_size=30)


@given(SETS, PAIRS)
def test_the_chance_is_one_over_the_size_of_the_set_that_holds_the_node(sets, pairs):
    found = Candidates.of_sets([np.array(sorted(one), dtype=np.int64) for one in sets])
    asked = [(person % len(sets), node) for person, node in pairs]
    persons, nodes = np.array(asked, dtype=np.int64).reshape(-1, 2).T
    expected = [1 / len(sets[person]) if node in sets[person] else 0.0 for person, node in asked]
    assert found.probability(persons, nodes).tolist() == expected


@given(st.lists(st.integers(0, 4), min_size=1, max_size=8), st.lists(st.integers(0, 4), max_size=8), PAIRS)
def test_people_who_share_a_set_are_told_for_themselves(keys, published, pairs):
    found = Candidates.of_keys(np.array(keys), np.array(published, dtype=np.int64))
    asked = [(person % len(keys), node) for person, node in pairs]
    persons, nodes = np.array(asked, dtype=np.int64).reshape(-1, 2).T
    alike = [[node for node, key in enumerate(published) if key == mine] for mine in keys]
    expected = [1 / len(alike[person]) if node in alike[person] else 0.0 for person, node in asked]
    assert found.probability(persons, nodes).tolist() == expected
