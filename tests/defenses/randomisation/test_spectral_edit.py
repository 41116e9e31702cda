"""Spectral edits: as many edges as before, both eigenvalues stay near, and random edits lose them."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from gaudit.defenses.randomisation.largest_component import largest_component, within
from gaudit.defenses.randomisation.random_edit import RandomEdit
from gaudit.defenses.randomisation.spectral_edit import SpectralEdit
from gaudit.defenses.randomisation.switching_chain import kept_share
from gaudit.errors import InputError
from gaudit.graphs.network import Network
from support import small_networks as small
from support.snap import snap
from support.three_communities import three_communities

BOOKS = three_communities(157)


def seeded(seed):
    return np.random.SeedSequence(seed)


def edges_of(network):
    return set(map(tuple, network.edges.T.tolist()))


def dense(network):
    """lambda_1 and mu_2 of the largest component."""
    a = within(network, largest_component(network)).adjacency.toarray()
    return np.linalg.eigvalsh(a)[-1], np.linalg.eigvalsh(np.diag(a.sum(0)) - a)[1]


@settings(max_examples=50)
@given(small.networks(), st.floats(0, 0.5), st.floats(0.05, 0.5), st.integers(0, 99))
def test_guarantee_edges_stay_as_many_and_eigenvalues_stay_near(network, share, tolerance, seed):
    defense = SpectralEdit(share=share, tolerance=tolerance)
    try:
        after = defense.on_graph(network, seeded(seed))
    except InputError:
        reject()  # refusals have a test of their own
    assert after.size == len(edges_of(after)) == network.size
    nodes = largest_component(network)
    was, now = within(network, nodes), within(after, nodes)
    assert nx.is_connected(nx.from_scipy_sparse_array(now.adjacency))
    assert len(edges_of(was) - edges_of(now)) == round(share * was.size) == len(edges_of(now) - edges_of(was))
    if len(nodes) > 1:
        for old, new in zip(dense(was), dense(now), strict=True):
            assert abs(new - old) <= tolerance * old + 1e-9
    assert defense.verify(network, after).holds


def test_guarantee_broken_ones_are_found():
    found = SpectralEdit().verify(BOOKS, RandomEdit(share=0.3).on_graph(BOOKS, seeded(0)))
    assert not found.holds
    assert "441 edges, 441 before; 309 of these are still there; lambda_1 11.97 -> " in found.detail
    fewer = BOOKS.with_edges(BOOKS.codes[1:], np.random.default_rng(0))
    assert not SpectralEdit(tolerance=0.9).verify(BOOKS, fewer).holds


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_trivial_random_edits_lose_both_eigenvalues_at_the_same_share(share):
    before = dense(BOOKS)
    after = SpectralEdit(share=share).on_graph(BOOKS, seeded(1))
    random = RandomEdit(share=share).on_graph(BOOKS, seeded(1))
    assert kept_share(BOOKS, after) == kept_share(BOOKS, random) == pytest.approx(1 - share, abs=2e-3)
    for kept, lost in zip(dense(after), dense(random), strict=True):
        assert min(abs(kept / b - 1) for b in before) < 0.1
        assert min(abs(lost / b - 1) for b in before) > 0.05
    assert dense(random)[1] > 2 * before[1]


def test_other_components_are_edited_among_themselves():
    ring = [(105 + k, 105 + (k + 1) % 40) for k in range(40)]
    both = Network.from_edges(150, *np.concatenate([BOOKS.edges, np.array(ring).T], 1))
    after = SpectralEdit(share=0.25).on_graph(both, seeded(0))
    outer = within(after, np.arange(105, 150))
    assert within(after, np.arange(105)).size == BOOKS.size
    assert outer.size == 40
    assert kept_share(within(both, np.arange(105, 150)), outer) == 0.75
    assert SpectralEdit().verify(both, after).holds


def test_edges_that_alone_hold_a_part_stay_unless_the_part_is_held_anew():
    """A tree has no other edges, and whatever is deleted, it stays a tree."""
    chain = Network.from_edges(60, np.arange(59), np.arange(1, 60))
    after = SpectralEdit(share=0.05, tolerance=0.5).on_graph(chain, seeded(0))
    assert nx.is_tree(nx.from_scipy_sparse_array(after.adjacency))
    assert kept_share(chain, after) == pytest.approx(56 / 59)


def test_where_no_edit_will_do_it_says_so():
    full = Network.from_edges(6, *np.array(list(combinations(range(6), 2))).T)
    with pytest.raises(InputError, match=r"'spectral-edit' made 0 of 3 edits in \d+ proposals"):
        SpectralEdit().on_graph(full, seeded(0))


def test_a_network_without_edges_stays():
    small.check_empty_stays(SpectralEdit())


def test_real_networks_keep_their_spectrum(gaudit_data):
    before = snap(gaudit_data, "ca-HepTh")
    after = SpectralEdit().on_graph(before, seeded(0))
    assert kept_share(before, after) == pytest.approx(0.8, abs=1e-3)
    verified = SpectralEdit().verify(before, after)
    assert verified.holds, verified.detail


def test_the_seed_decides():
    one, again, other = (SpectralEdit().on_graph(BOOKS, seeded(s)).edges.tolist() for s in (0, 0, 1))
    assert one == again != other


@pytest.mark.parametrize("settings", [{"share": 1.1}, {"tolerance": 0}])
def test_settings_are_checked(settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        SpectralEdit(**settings)
