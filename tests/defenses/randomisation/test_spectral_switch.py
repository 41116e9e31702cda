"""Spectral switching: degrees stay, both eigenvalues stay near, and random switching loses one at the same cost."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaudit.defenses.randomisation.features import SPECTRUM, features, verify_spectrum
from gaudit.defenses.randomisation.largest_component import largest_component, within
from gaudit.defenses.randomisation.random_switch import RandomSwitch
from gaudit.defenses.randomisation.spectral_switch import SpectralSwitch
from gaudit.defenses.randomisation.switching_chain import kept_share, switch
from gaudit.errors import InputError
from gaudit.graphs.network import Network
from support import small_networks as small
from support.snap import snap
from support.three_communities import three_communities

BOOKS = three_communities(157)


def seeded(seed):
    return np.random.SeedSequence(seed)


def dense(network):
    """lambda_1 and mu_2 of the largest component."""
    a = within(network, largest_component(network)).adjacency.toarray()
    return np.linalg.eigvalsh(a)[-1], np.linalg.eigvalsh(np.diag(a.sum(0)) - a)[1]


def at_overlap(before, share, seed):
    """Random switches of which about as many as possible keep no fewer edges than a share."""
    few, many = 0, 4 * before.size
    while many - few > max(1, before.size // 500):
        middle = (few + many) // 2
        switched = switch(before, np.random.default_rng(seed), successes=middle)[0]
        few, many = (middle, many) if kept_share(before, switched) >= share else (few, middle)
    return switch(before, np.random.default_rng(seed), successes=few)[0]


@settings(max_examples=50)
@given(small.networks(), st.floats(0.05, 1), st.floats(0.05, 0.5), st.integers(0, 99))
def test_guarantee_degrees_stay_and_eigenvalues_stay_near(network, switches, tolerance, seed):
    defense = SpectralSwitch(switches=switches, tolerance=tolerance)
    after, tally = small.switched_or_reject(defense, network, seed)  # degrees stay
    nodes = largest_component(network)
    core = within(after, nodes)
    assert nx.is_connected(nx.from_scipy_sparse_array(core.adjacency))
    assert core.size == within(network, nodes).size
    if len(nodes) > 1:
        for was, now in zip(dense(within(network, nodes)), dense(core), strict=True):
            assert abs(now - was) <= tolerance * was + 1e-9
    assert defense.verify(network, after).holds
    assert tally.accepted >= round(switches * core.size)


def test_guarantee_broken_ones_are_found():
    random = RandomSwitch(switches=0.9).on_graph(BOOKS, seeded(0))
    found = SpectralSwitch().verify(BOOKS, random)
    assert not found.holds
    assert "0 of 105 degrees differ" in found.detail
    assert "lambda_1 11.97 -> " in found.detail
    assert "mu_2 0.3202 -> " in found.detail
    fewer = BOOKS.with_edges(BOOKS.codes[1:], np.random.default_rng(0))
    assert not SpectralSwitch(tolerance=0.9).verify(BOOKS, fewer).holds  # near enough, but a degree changed


@pytest.mark.parametrize("seed", range(5))
def test_trivial_random_switching_loses_mu_2_at_the_same_share_of_kept_edges(seed):
    """400 switches of 441 edges: within 15 %, where random switching is off by more than half."""
    before = dense(BOOKS)
    after, tally = SpectralSwitch(switches=400 / 441).switched(BOOKS, seeded(seed))
    assert tally.accepted == 400
    random = at_overlap(BOOKS, kept_share(BOOKS, after), seed)
    assert kept_share(BOOKS, after) < 0.4
    assert kept_share(BOOKS, random) >= kept_share(BOOKS, after)  # random switching is not asked for more
    assert kept_share(BOOKS, random) == pytest.approx(kept_share(BOOKS, after), abs=0.01)
    assert abs(dense(after)[1] / before[1] - 1) < 0.15
    assert abs(dense(random)[1] / before[1] - 1) > 0.5
    assert abs(dense(after)[0] / before[0] - 1) < 0.02 < abs(dense(random)[0] / before[0] - 1)


def test_a_smaller_tolerance_is_kept_too():
    after = SpectralSwitch(switches=0.5, tolerance=0.01).on_graph(BOOKS, seeded(0))
    assert verify_spectrum(BOOKS, after, 0.01).holds
    assert kept_share(BOOKS, after) < 0.6


def test_other_components_are_switched_among_themselves():
    ring = [(105 + k, 105 + (k + 1) % 40) for k in range(40)]
    rng = np.random.default_rng(0)
    both = Network.from_edges(150, *np.concatenate([BOOKS.edges, np.array(ring).T], 1))
    after = SpectralSwitch(switches=0.5).on_graph(both, seeded(0))
    inner, outer = within(after, np.arange(105)), within(after, np.arange(105, 150))
    assert inner.size == BOOKS.size
    assert outer.size == 40
    assert kept_share(within(both, np.arange(105, 150)), outer) < 0.7
    assert SpectralSwitch().verify(both, after).holds
    assert SpectralSwitch().verify(both, both.with_edges(both.codes[1:], rng)).holds is False


@pytest.mark.parametrize(
    ("nodes", "edges"), [(6, [(0, k) for k in range(1, 6)]), (5, list(combinations(range(5), 2)))]
)
def test_where_no_switch_will_do_it_says_so(nodes, edges):
    network = Network.from_edges(nodes, *np.array(edges).T)
    with pytest.raises(InputError, match=f"'spectral-switch' made 0 of {len(edges)} switches"):
        SpectralSwitch(switches=1.0).on_graph(network, seeded(0))


def test_a_network_without_edges_stays():
    small.check_empty_stays(SpectralSwitch())


def test_real_networks_keep_their_spectrum(gaudit_data):
    before = snap(gaudit_data, "ca-HepTh")
    after, tally = SpectralSwitch(switches=0.5).switched(before, seeded(0))
    assert tally.accepted >= 0.499 * before.size
    assert kept_share(before, after) < 0.5
    verified = SpectralSwitch().verify(before, after)
    assert verified.holds, verified.detail
    random = at_overlap(before, kept_share(before, after), 0)
    was, now = (features(within(g, largest_component(g)).adjacency, SPECTRUM).values for g in (before, random))
    assert now["mu_2"] > 2 * was["mu_2"]
    assert now["lambda_1"] < 0.8 * was["lambda_1"]


def test_the_seed_decides():
    one, again, other = (SpectralSwitch().on_graph(BOOKS, seeded(s)).edges.tolist() for s in (0, 0, 1))
    assert one == again != other


@pytest.mark.parametrize("settings", [{"switches": -1}, {"tolerance": 0}, {"tolerance": float("nan")}])
def test_settings_are_checked(settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        SpectralSwitch(**settings)
