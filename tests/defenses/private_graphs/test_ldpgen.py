"""Graphs from users' noisy reports: what is used, what noise is spent, and what is kept without noise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaudit.defenses.anonymity.summaries import counts_between
from gaudit.defenses.private_graphs import dp_graph as private_graphs
from gaudit.defenses.private_graphs import ldpgen
from gaudit.defenses.private_graphs.ldpgen import (
    LDPGen,
    drawn,
    edges_between_groups,
    likely,
    noise_variance,
    random_groups,
    similar,
)
from gaudit.defenses.randomisation.random_edit import RandomEdit
from gaudit.errors import InputError
from gaudit.graphs.network import Network
from gaudit.mechanisms.exact_noise import discrete_laplace_pmf
from gaudit.mechanisms.group_reports import group_report, neighbours_in
from gaudit.mechanisms.guarantee import Guarantee, Released
from support.small_networks import networks

EXACT = 1e5  # an epsilon whose noise is 0


def complete(nodes):
    return Network.from_edges(nodes, *np.triu_indices(nodes, 1))


def communities(seed, nodes=400, kinds=4, inside=0.25, outside=0.02):
    rng = np.random.default_rng(seed)
    kind = np.arange(nodes) % kinds
    chance = np.where(kind[:, None] == kind, inside, outside)
    return Network.from_edges(nodes, *np.nonzero(np.triu(rng.random((nodes, nodes)) < chance, 1))), kind


def published(network, epsilon, seed=0, **settings):
    return LDPGen(epsilon=epsilon, **settings).on_graph(network, np.random.SeedSequence(seed))


def within(network, kind):
    """Share of edges within the classes."""
    return (kind[network.edges[0]] == kind[network.edges[1]]).mean()


# --- what is promised


def test_guarantee_nothing_but_reports_is_used(monkeypatch):
    """Other networks of as many users with the same reports: the release is the same."""
    rng = np.random.default_rng(0)
    told = rng.integers(-2, 6, size=(30, 3))
    promise = Guarantee("edge", "add/remove", "local", 1)
    monkeypatch.setattr(ldpgen, "group_report", lambda network, groups, epsilon, rng: Released(told, promise, 2))
    ring = Network.from_edges(
        30, range(30), np.roll(range(30), 1), weights=np.arange(30), types=np.array([0, 1] * 15)
    )
    for other in (complete(30), Network.from_edges(30, [], []), ring):
        after, same = (published(n, 1.0, groups=3) for n in (other, Network.from_edges(30, [0], [5])))
        assert np.array_equal(after.edges, same.edges)
        assert after.size > 5
        assert (after.nodes, after.weights, after.types, after.groups) == (30, None, None, None)


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 2.0])
def test_guarantee_all_reports_together_spend_epsilon(monkeypatch, epsilon):
    spent = []

    def noted(*args):
        released = group_report(*args)
        spent.append(released.guarantee)
        return released

    monkeypatch.setattr(ldpgen, "group_report", noted)
    published(communities(0, 60)[0], epsilon, groups=3)
    one, two, three = spent
    promise, both = LDPGen(epsilon=epsilon).promise(), one.beside(two).beside(three)
    assert both.epsilon == promise.epsilon
    assert float(promise.epsilon) == epsilon
    assert (both.unit, both.adjacency, both.model) == (promise.unit, promise.adjacency, promise.model)
    assert f"epsilon / 2 = {epsilon / 2:g}, and an edge stands in two lists" in promise.accountant


def test_guarantee_reports_do_not_share_their_noise(monkeypatch):
    told = []

    def noted(network, groups, epsilon, rng):
        released = group_report(network, np.zeros_like(groups), epsilon, rng)
        told.append(np.asarray(released.values))
        return released

    monkeypatch.setattr(ldpgen, "group_report", noted)
    published(Network.from_edges(500, [], []), 1.0, groups=1)
    assert len(told) == 3
    assert np.abs(np.corrcoef(np.hstack(told).T) - np.eye(3)).max() < 0.2


def test_guarantee_every_graph_can_be_published_whatever_the_original():
    for original in (Network.from_edges(3, [], []), complete(3)):
        seen = {tuple(published(original, 1.0, seed, groups=1, reports=1).codes) for seed in range(700)}
        assert len(seen) == 8


def test_guarantee_groups_of_the_first_report_follow_from_no_edge():
    one, other = (random_groups(11, 4, np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(one, other)
    assert sorted(np.bincount(one)) == [2, 3, 3, 3]


# --- what is kept


@given(networks(2, 12), st.integers(0, 20), st.integers(1, 4))
def test_whatever_the_noise_the_result_is_a_simple_graph(before, seed, groups):
    for epsilon in (0.1, 2.0):
        after = published(before, epsilon, seed, groups=groups)
        low, high = after.edges
        assert after.nodes == before.nodes
        assert (low < high).all()
        assert len(np.unique(after.codes)) == after.size


@pytest.mark.parametrize("groups", [1, 3, 8])
def test_without_noise_numbers_of_edges_between_groups_are_those_of_the_original(groups):
    before, _ = communities(1)
    after, found = LDPGen(epsilon=EXACT, groups=groups).grouped(before, np.random.SeedSequence(2))
    assert len(np.unique(found)) == groups
    assert np.array_equal(counts_between(after, found), counts_between(before, found))


def test_without_noise_degrees_are_as_expected():
    """Users with more links get more: means of 40 draws, of users of degree 4 and of 12."""
    rng = np.random.default_rng(0)
    low = [(a, b) for a in range(0, 300) for b in (a + 1, a + 2)]
    high = [(a, 302 + b) for a in range(20) for b in rng.choice(300, 20, replace=False)]
    before = Network.from_edges(602, *np.unique([sorted(p) for p in low + high], axis=0).T)
    mean = np.mean([published(before, EXACT, seed, groups=2).degrees for seed in range(40)], axis=0)
    assert np.corrcoef(mean, before.degrees)[0, 1] > 0.98
    assert abs(mean - before.degrees).mean() < 0.8


def test_trivial_edits_that_keep_as_many_edges_lose_communities_and_this_does_not():
    """Four communities at epsilon 16; both keep few edges, and random edits no more communities than chance."""
    ours, theirs = [], []
    for seed in range(3):
        before, kind = communities(seed)
        after = published(before, 16.0, seed, groups=8, reports=5)
        kept = np.isin(before.codes, after.codes).mean()
        edited = RandomEdit(share=1 - kept).on_graph(before, np.random.SeedSequence(seed))
        ours.append(within(after, kind) / within(before, kind))
        theirs.append(within(edited, kind) / within(before, kind))
        assert kept < 0.3
    assert min(ours) > 0.75
    assert max(theirs) < 0.6


def test_many_users_need_no_matrix_of_pairs():
    nodes = 100_000  # 5 x 10^9 pairs
    before = Network.from_edges(nodes, range(nodes), np.roll(range(nodes), 1))
    after = published(before, 2.0, groups=5)
    assert abs(after.size - nodes) < 0.1 * nodes
    assert after.degrees[nodes - 1000 :].sum() > 0


# --- the parts


def test_similar_reports_are_one_group():
    reports = np.repeat([[0, 9], [9, 0], [0, 0]], 5, axis=0)
    groups = similar(reports, 3, np.random.SeedSequence(0))
    assert sorted(map(len, np.split(groups, 3))) == [5, 5, 5]
    assert [len(set(part)) for part in np.split(groups, 3)] == [1, 1, 1]
    assert len(set(groups)) == 3
    assert set(similar(reports, 7, np.random.SeedSequence(0))) == {0, 1, 2}  # no more groups than reports
    assert not similar(np.zeros((4, 2), dtype=int), 5, np.random.SeedSequence(0)).any()


def test_edges_between_groups_are_estimated_without_bias():
    """Means of 300 rounds of reports, four standard errors; setting negative sums to 0 would add edges."""
    before, kind = communities(3, nodes=120)
    truth = edges_between_groups(neighbours_in(before, kind), kind)
    rng = np.random.default_rng(0)
    found = np.array(
        [edges_between_groups(np.asarray(group_report(before, kind, 2, rng).values), kind) for _ in range(300)]
    )
    assert truth.sum() == before.size
    error = np.abs(found.mean(axis=0) - truth) / np.maximum(found.std(axis=0) / np.sqrt(300), 1e-9)
    assert error[np.triu_indices(4)].max() < 4


def test_noise_does_not_add_edges_where_there_are_many_groups():
    """30 groups of 2,000 users without an edge: 465 sums, of which half are negative."""
    empty, rng = Network.from_edges(2000, [], []), np.random.default_rng(0)
    groups = rng.permutation(np.arange(2000) % 30)
    counts = [
        edges_between_groups(np.asarray(group_report(empty, groups, 2, rng).values), groups) for _ in range(9)
    ]
    deviation = np.sqrt(2000 * 30 * noise_variance(1.0)) / 2
    assert all(count.sum() < 4 * deviation for count in counts)


def test_reports_are_trusted_as_far_as_noise_does_not_explain_them():
    reports = np.array([0, 0, 10, 10])
    assert likely(reports, 0.0, 20).tolist() == [0, 0, 10, 10]
    assert likely(reports, 12.5, 20).tolist() == [2.5, 2.5, 7.5, 7.5]
    assert likely(reports, 1e9, 20).tolist() == [5] * 4
    assert likely(np.array([3, 3]), 0.0, 2).tolist() == [1, 1]
    assert likely(reports, 1.0, 0).tolist() == [0] * 4


@pytest.mark.parametrize("scale", [0.2, 1.0, 6.0])
def test_variance_is_that_of_the_noise(scale):
    values = np.arange(-300, 301)
    assert noise_variance(scale) == pytest.approx((values**2 * discrete_laplace_pmf(scale, values)).sum())


def test_drawn_edges_lie_where_they_shall():
    reports, groups = np.full((40, 2), 3), np.arange(40) % 2
    counts = np.array([[5, 60], [0, 190]])
    found = drawn(reports, groups, counts, 0.0, np.random.default_rng(0))
    assert np.array_equal(counts_between(found, groups)[:, [0, 1, 3]], [[0, 0, 5], [0, 1, 60], [1, 1, 190]])


# --- input


def test_the_seed_decides_unless_noise_is_fresh():
    before, _ = communities(0, nodes=60)
    one, again, other = (published(before, 1.0, seed) for seed in (0, 0, 1))
    assert np.array_equal(one.edges, again.edges)
    assert not np.array_equal(one.edges, other.edges)
    assert len({tuple(published(before, 1.0, fresh=True).codes) for _ in range(5)}) > 1


def test_a_graph_of_nothing_but_noise_is_refused(monkeypatch):
    monkeypatch.setattr(private_graphs, "MOST_EDGES", 100)
    with pytest.raises(
        InputError, match=r"'ldpgen' with epsilon 1 would publish .* edges: expected at most 100; a larger epsilon"
    ):
        published(complete(60), 1.0)


@pytest.mark.parametrize("nodes", [0, 1])
def test_too_few_nodes_are_refused(nodes):
    with pytest.raises(InputError, match=f"{nodes} nodes"):
        published(Network.from_edges(nodes, [], []), 1.0)


@pytest.mark.parametrize("settings", [{"epsilon": 0}, {"epsilon": float("nan")}, {"groups": 0}])
def test_settings_are_checked(settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        LDPGen(**settings)


@given(st.floats(1, 1e15))
def test_variance_of_the_noise_is_a_number_at_any_scale(scale):
    """Twice the squared scale, or a little less."""
    assert noise_variance(scale) == pytest.approx(2 * scale**2, rel=0.1)
