"""Random switching: so many switches are made, every degree stays, and communities go."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaudit.defenses.randomisation.features import features
from gaudit.defenses.randomisation.random_switch import RandomSwitch
from gaudit.defenses.randomisation.switching_chain import kept_share
from gaudit.errors import InputError
from gaudit.graphs.network import Network
from support import small_networks as small
from support.snap import snap
from support.three_communities import three_communities

BOOKS = three_communities(157)


def seeded(seed):
    return np.random.SeedSequence(seed)


@given(small.networks(), st.floats(0, 2), st.integers(0, 99))
def test_guarantee_every_degree_stays(network, switches, seed):
    defense = RandomSwitch(switches=switches)
    after, tally = small.switched_or_reject(defense, network, seed)  # degrees stay
    assert len(set(map(tuple, after.edges.T.tolist()))) == network.size
    assert tally.accepted == round(switches * network.size)
    assert defense.verify(network, after).holds


def test_guarantee_that_is_broken_is_found():
    assert not RandomSwitch().verify(BOOKS, BOOKS.with_edges(BOOKS.codes[1:], np.random.default_rng(0))).holds


def test_trivial_communities_go_and_degrees_stay():
    """What constrained switching has to do better than."""
    before = features(BOOKS.adjacency, ("mu_2", "transitivity")).values
    after = [RandomSwitch(switches=0.9).on_graph(BOOKS, seeded(seed)) for seed in range(5)]
    found = [features(g.adjacency, ("mu_2", "transitivity")).values for g in after]
    assert all(f["mu_2"] > 1.5 * before["mu_2"] for f in found)
    assert all(f["transitivity"] < 0.8 * before["transitivity"] for f in found)
    assert all((g.degrees == BOOKS.degrees).all() for g in after)
    assert RandomSwitch.trivial
    assert RandomSwitch.alternative is None


def test_more_switches_keep_fewer_edges():
    shares = [
        kept_share(BOOKS, RandomSwitch(switches=s).on_graph(BOOKS, seeded(0))) for s in (0.0, 0.1, 0.5, 1.0, 10.0)
    ]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == 1
    # a switch replaces two edges, so one that is drawn at random stays with 1 - 2 / m at each: e^(-2 switches)
    assert shares[1] == pytest.approx(np.exp(-0.2), abs=0.05)
    assert shares[2] == pytest.approx(np.exp(-1.0), abs=0.1)


def test_rejected_proposals_are_counted():
    after, tally = RandomSwitch(switches=1.0).switched(BOOKS, seeded(0))
    assert tally.accepted == 441
    assert tally.rejected == tally.proposed - 441 > 20  # of hubs many pairs of edges share an end
    assert (after.degrees == BOOKS.degrees).all()


@pytest.mark.parametrize("nodes", [5, 40])
def test_a_star_has_nothing_to_switch(nodes):
    star = Network.from_edges(nodes, np.zeros(nodes - 1), np.arange(1, nodes))
    with pytest.raises(InputError, match=rf"'random-switch' made 0 of {nodes - 1} switches in \d+ proposals"):
        RandomSwitch().on_graph(star, seeded(0))


@pytest.mark.parametrize("name", ["ca-HepTh", "email-Enron", "facebook_combined"])
def test_real_networks_keep_every_degree(gaudit_data, name):
    before = snap(gaudit_data, name)
    after, tally = RandomSwitch().switched(before, seeded(0))
    assert (after.degrees == before.degrees).all()
    assert tally.accepted == before.size
    assert tally.rejected < 0.2 * tally.proposed
    assert kept_share(before, after) < 0.3


def test_the_seed_decides():
    one, again, other = (RandomSwitch().on_graph(BOOKS, seeded(s)).edges.tolist() for s in (0, 0, 1))
    assert one == again != other


@pytest.mark.parametrize("switches", [-0.1, float("inf")])
def test_settings_are_checked(switches):
    with pytest.raises(InputError, match="switches"):
        RandomSwitch(switches=switches)
