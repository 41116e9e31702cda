"""Networks published without the edges of the sensitive type and a part of the others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaudit.defenses.anonymity.typed_edges import (
    IntactEdges,
    PartialEdges,
    contributions,
    verify_no_edge_of_type,
    verify_removed,
)
from gaudit.defenses.randomisation.random_edit import RandomEdit
from gaudit.errors import InputError
from gaudit.graphs.network import Network
from support.typed_networks import friends, leak, typed

ORDERS = ["random", "contribution", "degree"]
SEED = np.random.SeedSequence(0)


@given(st.integers(3, 12), st.integers(0, 50), st.floats(0, 1), st.sampled_from(ORDERS))
def test_guarantee_exactly_the_share_of_each_other_type_is_gone(n, seed, share, by):
    before = typed(n, seed, weighted=True)
    if not (before.types == 0).any():
        return
    defense = PartialEdges(share=share, by=by)
    after = defense.on_graph(before, SEED)
    for kind in (1, 2):
        was = (before.types == kind).sum()
        assert was - (after.types == kind).sum() == round(share * was)
    told = set(zip(*before.edges.tolist(), before.types.tolist(), before.weights.tolist(), strict=True))
    assert set(zip(*after.edges.tolist(), after.types.tolist(), after.weights.tolist(), strict=True)) <= told
    assert not (after.types == 0).any()
    assert defense.verify(before, after).holds


def test_guarantee_fails_where_too_few_or_other_edges_are_gone():
    before = typed(12, 0)
    after = PartialEdges(share=0.5).on_graph(before, SEED)
    assert not verify_removed(before, after, 0, 0.6).holds
    assert not verify_removed(before, IntactEdges().on_graph(before, SEED), 0, 0.5).holds
    swapped = Network.from_edges(12, *after.edges, types=3 - after.types)  # as many of another type
    assert not verify_removed(before, swapped, 0, 0.5).holds
    assert not verify_removed(before, before.plain(), 0, 0.5).holds
    assert not PartialEdges(share=0.5).verify(before, before).holds
    assert not verify_no_edge_of_type(before, 0).holds


def test_share_zero_is_intact_edges_and_share_one_leaves_none():
    before = typed(12, 1)
    kept = PartialEdges(share=0).on_graph(before, SEED)
    assert np.array_equal(kept.edges, IntactEdges().on_graph(before, SEED).edges)
    assert PartialEdges(share=1).on_graph(before, SEED).size == 0


def test_degree_drops_edges_between_hubs_first():
    before = typed(30, 2, share=0.15)
    after = PartialEdges(share=0.4, by="degree").on_graph(before, SEED)
    degrees = before.only(before.types != 0).degrees
    product = degrees[before.edges[0]] * degrees[before.edges[1]]
    left = set(zip(*after.edges.tolist(), after.types.tolist(), strict=True))
    for kind in (1, 2):
        own = [
            (value, (*edge, kind) in left)
            for *edge, of, value in zip(*before.edges.tolist(), before.types.tolist(), product, strict=True)
            if of == kind
        ]
        assert max(value for value, stays in own if stays) <= min(value for value, stays in own if not stays)


def test_contribution_is_the_fall_of_the_probability():
    """By hand: ten nodes; type 1 goes with a sensitive edge in 2 of 4 pairs where it is alone, type 2 never."""
    sensitive, one, two = [(0, 1), (2, 3), (8, 9)], [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9)], [(8, 9), (0, 9)]
    edges = np.array(sensitive + one + two).T
    before = Network.from_edges(10, *edges, types=np.repeat([0, 1, 2], [3, 5, 2]))
    found = dict(
        zip(zip(*before.edges.tolist(), before.types.tolist(), strict=True), contributions(before, 0), strict=True)
    )
    share = 2 / (4 + 1)  # of the pairs with type 1 alone, and one more
    assert found[0, 1, 1] == found[2, 3, 1] == pytest.approx(share)  # no leak: falls to 0
    assert found[8, 9, 1] == pytest.approx(share)  # type 2 adds nothing
    assert found[8, 9, 2] == 0
    assert {value for key, value in found.items() if key[:2] in {(4, 5), (6, 7), (0, 9)} or key[2] == 0} == {0.0}


def test_leak_falls_with_the_share():
    """On the mean of two networks, from step to step by each order."""
    for by in ORDERS:
        told = [
            [leak(before, PartialEdges(share=share, by=by).on_graph(before, SEED)) for share in (0, 0.5, 1)]
            for before in map(friends, range(2))
        ]
        assert np.all(np.diff(np.mean(told, 0)) < 0.02)
        assert np.mean(told, 0)[0] > np.mean(told, 0)[-1] + 0.2


def test_trivial_edits_of_as_many_edges_tell_more_than_dropping_by_contribution():
    """As many edges changed by random edits; random dropping beside it. Means of three networks."""
    told = []
    for seed in range(3):
        before, coins = friends(seed), np.random.SeedSequence(seed)
        gone = before.size - PartialEdges(share=0.5).on_graph(before, coins).size
        chosen = (PartialEdges(share=0.5, by="contribution"), PartialEdges(), RandomEdit(share=gone / before.size))
        told.append([leak(before, defense.on_graph(before, coins)) for defense in chosen])
    contribution, dropped, edited = np.mean(told, 0)
    assert contribution < edited - 0.08
    assert contribution < dropped - 0.08


def test_the_seed_decides_what_is_dropped():
    before = typed(12, 3)
    one, same, other = (
        PartialEdges().on_graph(before, np.random.SeedSequence(seed)).codes.tolist() for seed in (1, 1, 2)
    )
    assert one == same != other


def test_networks_without_types_are_refused():
    for by in ORDERS:
        with pytest.raises(InputError, match="'partial-edges' drops edges of a sensitive type"):
            PartialEdges(by=by).on_graph(typed(8, 0).plain(), SEED)
