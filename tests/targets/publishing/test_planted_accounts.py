"""Accounts that an active adversary plants: their links, and that they cannot be mistaken for each other."""

from itertools import permutations

import igraph
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binom, chisquare

from gaudit.errors import InputError
from gaudit.graphs.network import Network
from gaudit.targets.publishing.planted_accounts import distinguished, plant
from support.random_networks import random_network

BASE = random_network(300, 900, 0)


def planted(seed: int, accounts: int = 7, targets=10, base: Network = BASE, **more) -> Network:
    return plant(base, accounts, targets, np.random.default_rng(seed), **more)


def parts(network: Network, persons: int) -> tuple[np.ndarray, np.ndarray]:
    """Links among the accounts [k, k], and of accounts to persons [k, n]."""
    rows = network.adjacency[persons:].toarray() > 0
    return rows[:, persons:], rows[:, :persons]


@given(st.integers(0, 10**6), st.integers(3, 12), st.integers(0, 12), st.integers(1, 12), st.integers(0, 8))
def test_all_that_is_said_of_accounts_holds(seed, accounts, targets, fewest, wider):
    external = (fewest, fewest + wider)
    marked = np.random.default_rng(seed).permutation(300)[:targets]
    try:
        network = planted(seed, accounts, marked, external=external)
    except InputError:
        assume(False)
    inside, outside = parts(network, 300)
    assert network.nodes == 300 + accounts
    np.testing.assert_array_equal(network.edges[:, network.edges[1] < 300], BASE.edges)
    assert inside[np.arange(accounts - 1), np.arange(1, accounts)].all()
    assert fewest <= outside.sum(1).min()
    assert outside.sum(1).max() <= fewest + wider
    told = [tuple(np.flatnonzero(column)) for column in outside.T]
    of_targets = [told[target] for target in marked]
    assert all(1 <= len(own) <= 3 for own in of_targets)
    assert len(set(of_targets)) == targets
    assert not set(of_targets) & {told[person] for person in range(300) if person not in marked}


def mappings_onto_itself(inside: np.ndarray, colours: np.ndarray) -> int:
    """Automorphisms that keep colours, one by one."""
    every = (np.array(p) for p in permutations(range(len(inside))))
    return sum((inside[np.ix_(p, p)] == inside).all() and (colours[p] == colours).all() for p in every)


@pytest.mark.parametrize("accounts", [3, 4, 5])
def test_few_accounts_are_told_apart_by_links_and_degrees_together(accounts):
    for seed in range(15):
        network = planted(seed, accounts, 3)
        assert mappings_onto_itself(parts(network, 300)[0], network.degrees[300:]) == 1


@pytest.mark.parametrize("accounts", [6, 7])
def test_more_accounts_are_told_apart_by_their_links_alone(accounts):
    for seed in range(4):
        inside, _ = parts(planted(seed, accounts), 300)
        assert mappings_onto_itself(inside, np.zeros(accounts)) == 1


@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 3))
def test_distinguished_is_what_counting_automorphisms_says(seed, size, colours):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((size, size)) < 0.5, 1)
    inside, told = upper | upper.T, rng.integers(colours, size=size)
    assert distinguished(inside, told) == (mappings_onto_itself(inside, told) == 1)


def test_links_among_accounts_are_fair_coins_but_for_the_path():
    # drawing again until there is no automorphism shifts the share of 12 accounts' links by less than 0.1 %
    plants = 60
    upper = np.triu(np.ones((12, 12), dtype=bool), 2)
    links = sum(parts(planted(seed, 12), 300)[0][upper].sum() for seed in range(plants))
    coins = binom(plants * upper.sum(), 0.5)
    assert coins.ppf(5e-5) <= links <= coins.isf(5e-5)  # fails once in 10,000


def test_numbers_of_links_to_persons_are_uniform():
    counts = np.concatenate([parts(planted(s, 12, external=(5, 9)), 300)[1].sum(1) for s in range(60)])
    assert chisquare(np.bincount(counts, minlength=10)[5:]).pvalue > 1e-4  # fails once in 10,000


def test_targets_are_drawn_from_all_persons():
    small = random_network(40, 80, 1)
    often = np.zeros(40)
    for seed in range(60):
        _, outside = parts(planted(seed, 8, 5, small, external=(3, 4)), 40)
        own, times = np.unique(outside.T, axis=0, return_counts=True)
        alone = {row.tobytes() for row, count in zip(own, times, strict=True) if count == 1}
        often += [column.tobytes() in alone for column in outside.T]
    assert often.min() > 0


def test_weights_and_types_are_drawn_for_new_links_and_kept_for_old_ones():
    kinds = np.arange(BASE.size) % 3
    base = Network.from_edges(300, *BASE.edges, weights=10.0 + kinds, types=kinds)
    network = planted(0, base=base)
    old = network.edges[1] < 300
    np.testing.assert_array_equal(network.weights[old], base.weights)
    np.testing.assert_array_equal(network.types[old], base.types)
    assert set(network.weights[~old]) == {10.0, 11.0, 12.0}


def test_the_same_seed_gives_the_same_accounts():
    one, again, other = planted(3), planted(3), planted(4)
    np.testing.assert_array_equal(one.edges, again.edges)
    assert one.edges.shape != other.edges.shape or (one.edges != other.edges).any()


def test_every_set_of_three_accounts_can_mark_a_target_in_a_small_class():
    karate = igraph.Graph.Famous("Zachary")
    base = Network.from_edges(34, *np.array(karate.get_edgelist()).T)
    _, outside = parts(planted(0, 4, np.arange(10), base, external=(8, 12)), 34)
    assert len({column.tobytes() for column in outside.T[:10]}) == 10


@pytest.mark.parametrize(
    ("accounts", "targets", "external", "says"),
    [
        (2, 3, (10, 20), "2 accounts"),
        (61, 3, (10, 20), "61 accounts"),
        (3, 8, (10, 20), "make 7 sets"),
        (5, 26, (10, 20), "make 25 sets"),
        (4, 14, (2, 4), "need more links"),
        (7, 301, (10, 20), "301 targets"),
        (7, 3, (0, 20), "1 or more"),
        (7, 3, (20, 10), "smaller first"),
        (7, 3, (10, 300), "300 links"),
        (3, 2, (10, 10), "mistaken"),
        (7, np.array([1, 1]), (10, 20), "named twice"),
        (7, np.array([1, 300]), (10, 20), "no person"),
        (3, 7, (10, 20), "same accounts as a target"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(accounts, targets, external, says):
    with pytest.raises(InputError, match=says) as refused:
        planted(0, accounts, targets, external=external)
    assert "\n" not in str(refused.value)
