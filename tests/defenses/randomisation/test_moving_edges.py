"""Chains step by step: where they stop, what they note, and that what is undone is undone."""

import numpy as np
import pytest

from gaudit.defenses.randomisation.edge_mcmc import Edits, Switches, flat
from gaudit.defenses.randomisation.spectral import leading_pair, low_pairs
from gaudit.graphs.network import Network
from support.three_communities import three_communities

BOOKS = three_communities(157)
VECTORS = np.stack([leading_pair(BOOKS.adjacency)[1], low_pairs(BOOKS.adjacency)[1][:, 0]], 1)


def chains(seed=0):
    rng = np.random.default_rng(seed)
    return Switches(BOOKS, False, True, rng), Edits(BOOKS, False, rng)


def free(drift=np.inf):
    """Rows that forbid nothing."""
    return np.array([[0, 0, np.inf, 2, drift], [0, 0, np.inf, -2, drift], [0, 0, np.inf, 0, np.inf]])


def edges_of(chain):
    return sorted(map(tuple, np.sort(chain.ends.reshape(-1, 2), 1).tolist()))


def network_of(chain):
    return Network.from_edges(BOOKS.nodes, chain.ends[::2], chain.ends[1::2])


@pytest.mark.parametrize("kind", [0, 1])
def test_they_stop_at_proposals_or_at_changes(kind):
    chain = chains()[kind]
    assert chain.advance(VECTORS, free(), 50, 10**9)[0] == 50
    assert chain.advance(VECTORS, free(), 10**9, 7)[1] == 7
    assert chain.advance(VECTORS, free(), 10**9, 0) == (0, 0)


@pytest.mark.parametrize("kind", [0, 1])
def test_they_stop_when_first_order_changes_add_up(kind):
    chain, rows = chains()[kind], free(drift=0.5)
    _, made = chain.advance(VECTORS, rows, 10**9, 10**9)
    assert 1 < made < 200
    assert rows[:2, 4].min() <= 0
    assert (np.abs(rows[:2, 0]) <= 0.5 - rows[:2, 4] + 1e-9).all()  # of changes that add up some cancel
    fewer, again = chains()[kind], free(drift=0.5)
    assert fewer.advance(VECTORS, again, 10**9, made - 1)[1] == made - 1
    assert again[:2, 4].min() > 0  # not before


def test_what_they_note_is_what_happened():
    """One switch or edit at a time: the quadratic form of both matrices, and the number of triangles."""

    def measured(network):
        a = network.adjacency.toarray()
        x, y = VECTORS.T
        return np.array([x @ a @ x, y @ (np.diag(a.sum(0)) - a) @ y, np.trace(a @ a @ a) / 6])

    for counted, chain in ((3, chains()[0]), (2, chains()[1])):
        rows = free()
        for _ in range(100):
            assert chain.advance(VECTORS, rows, 10**9, 1)[1] == 1
            found = measured(network_of(chain)) - measured(BOOKS)
            assert rows[:counted, 0] == pytest.approx(found[:counted], abs=1e-9)


@pytest.mark.parametrize("kind", [0, 1])
def test_what_is_undone_is_undone_and_other_numbers_are_drawn(kind):
    chain = chains()[kind]
    chain.advance(VECTORS, free(), 10**9, 20)
    saved, before = chain.saved(), edges_of(chain)
    chain.advance(VECTORS, free(), 10**9, 30)
    once = edges_of(chain)
    chain.restore(saved)
    assert edges_of(chain) == before != once
    chain.advance(VECTORS, free(), 10**9, 30)
    assert edges_of(chain) != once
    assert len(set(edges_of(chain))) == BOOKS.size


def test_ends_stand_in_turn():
    assert flat(Network.from_edges(4, [2, 0], [1, 3])).tolist() == [0, 3, 1, 2]
