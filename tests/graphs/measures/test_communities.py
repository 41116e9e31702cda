"""Communities of graphs with weights, on which all depends here."""

import random

import numpy as np
from scipy.sparse import csr_array

from gaudit.graphs.measures.communities import louvain


def two_groups(strong, weak):
    """Six nodes in two groups, with so much weight between any two of a group, and of different ones."""
    group = np.arange(6) // 3
    weights = np.where(group[:, None] == group, strong, weak) * np.triu(np.ones((6, 6)), 1)
    return csr_array(weights)


def test_weights_say_which_nodes_belong_together():
    rng = np.random.default_rng(0)
    found = louvain(two_groups(5.0, 0.5), rng)
    assert len(set(found[:3])) == len(set(found[3:])) == 1
    assert found[0] != found[5]
    mixed = louvain(two_groups(0.5, 5.0), rng)
    assert not (len(set(mixed[:3])) == 1 and len(set(mixed[3:])) == 1 and mixed[0] != mixed[5])


def test_weight_within_a_node_holds_it_apart():
    """Two linked nodes are one community, unless most weight is within each of them."""
    together = louvain(csr_array([[0.0, 1.0], [0.0, 0.0]]), np.random.default_rng(0))
    apart = louvain(csr_array([[10.0, 1.0], [0.0, 10.0]]), np.random.default_rng(0))
    assert together[0] == together[1]
    assert apart[0] != apart[1]


def test_the_generator_alone_decides_and_no_other_one_is_moved():
    weights = csr_array(np.triu(np.random.default_rng(1).random((40, 40)), 1))
    random.seed(5)
    one = louvain(weights, np.random.default_rng(7))
    drawn = random.random()
    random.seed(6)
    other = louvain(weights, np.random.default_rng(7))
    assert np.array_equal(one, other)
    random.seed(5)
    assert random.random() == drawn
