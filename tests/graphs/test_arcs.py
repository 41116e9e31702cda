"""Directed networks: which way edges lead, under other names, without types, and with more arcs."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaudit.graphs.arcs import arcs_of, degree_pairs, with_arcs
from gaudit.graphs.arcs import network_of_arcs as made_of
from gaudit.graphs.directions import BACKWARD, BOTH, FORWARD
from gaudit.graphs.network import Network
from gaudit.graphs.pyg import data_of, network_of_data
from support.directed_networks import arcs_in, directed_networks, network_of_arcs, pairs_by_sets


def test_codes_say_which_way_an_edge_leads_whichever_end_is_named_first():
    network = Network.from_edges(4, [3, 0, 2], [1, 2, 3], directions=[FORWARD, FORWARD, BOTH])
    assert network.edges.tolist() == [[0, 1, 2], [2, 3, 3]]
    assert network.directions.tolist() == [FORWARD, BACKWARD, BOTH]
    assert arcs_in(network) == {(0, 2), (3, 1), (2, 3), (3, 2)}
    assert arcs_of(network).T.tolist() == [[0, 2], [2, 3], [3, 1], [3, 2]]


@pytest.mark.parametrize("code", [0, 4, -1])
def test_other_codes_are_no_direction(code):
    with pytest.raises(ValueError, match="direction"):
        Network.from_edges(3, [0], [1], directions=[code])


@given(directed_networks(), st.randoms())
def test_arcs_and_degrees_under_any_names(network, random):
    assert set(map(tuple, arcs_of(network).T.tolist())) == arcs_in(network)
    assert list(map(tuple, degree_pairs(network).tolist())) == pairs_by_sets(network)
    new = np.array(random.sample(range(network.nodes), network.nodes))
    assert arcs_in(network.renamed(new)) == {(new[a], new[b]) for a, b in arcs_in(network)}
    assert arcs_in(network_of_data(data_of(network))) == arcs_in(network)


@given(directed_networks(), st.randoms())
def test_a_network_is_made_of_arcs_in_any_order(network, random):
    arcs = random.sample(sorted(arcs_in(network)) * 2, 2 * len(arcs_in(network)))
    made = made_of(network.nodes, np.array(arcs, dtype=np.int64).reshape(-1, 2).T)
    assert made.digest == network.digest


def test_an_undirected_network_has_two_arcs_for_each_edge():
    assert degree_pairs(Network.from_edges(3, [0], [2])).tolist() == [[1, 1], [0, 0], [1, 1]]


def test_edges_of_several_types_lead_each_way_that_one_of_them_does():
    typed = Network.from_edges(3, [0, 0, 1], [1, 1, 2], None, [0, 1, 0], directions=[FORWARD, BACKWARD, FORWARD])
    assert typed.telling(["directions"]).directions.tolist() == [BOTH, FORWARD]
    assert degree_pairs(typed).tolist() == [[1, 1], [2, 1], [0, 1]]
    assert typed.plain().directions is None
    assert typed.telling(["types", "directions"]) is typed
    assert typed.telling(["types"]).directions is None


def test_the_digest_tells_directions_apart_and_leaves_undirected_networks_theirs():
    one, other = (Network.from_edges(2, [0], [1], directions=[way]) for way in (FORWARD, BACKWARD))
    assert len({one.digest, other.digest, one.plain().digest}) == 3


@given(directed_networks(least=2), st.data())
def test_more_arcs_are_added_and_all_others_stay(network, data):
    free = sorted(set(permutations(range(network.nodes), 2)) - arcs_in(network))
    more = data.draw(st.lists(st.sampled_from(free), unique=True)) if free else []
    arcs = np.array(more, dtype=np.int64).reshape(-1, 2).T
    made = with_arcs(network, arcs, np.random.default_rng(0))
    assert arcs_in(made) == arcs_in(network) | set(more)


def test_new_arcs_get_types_and_a_reverse_arc_joins_the_edge_that_is_there():
    typed = Network.from_edges(4, [0, 0, 1], [1, 1, 2], None, [0, 1, 0], directions=[FORWARD, FORWARD, FORWARD])
    made = with_arcs(typed, np.array([[1, 3], [0, 0]]), np.random.default_rng(0))
    assert made.edges.tolist() == [[0, 0, 0, 1], [1, 1, 3, 2]]
    assert made.directions.tolist() == [BOTH, FORWARD, BACKWARD, FORWARD]
    assert made.types[:2].tolist() == [0, 1]


def test_other_edges_keep_their_direction_and_new_ones_lead_either_way():
    """Of 900 new edges that copy a one-way edge about half lead forward: within 4.5 standard errors, 7 in 10^6."""
    path = network_of_arcs(1000, {(a + 1, a) for a in range(999)})
    new = np.arange(900) * 1000 + np.arange(900) + 2
    made = path.with_edges(np.concatenate([path.codes[:500], new]), np.random.default_rng(1))
    old = np.isin(made.codes, path.codes)
    assert (made.directions[old] == BACKWARD).all()
    assert abs((made.directions[~old] == FORWARD).sum() - 450) < 4.5 * 15
