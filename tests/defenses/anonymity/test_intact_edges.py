"""Networks published without the edges of the sensitive type."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaudit.defenses.anonymity.typed_edges import IntactEdges, verify_no_edge_of_type
from gaudit.defenses.randomisation.random_edit import RandomEdit
from gaudit.errors import InputError
from gaudit.graphs.network import Network
from support.typed_networks import friends, leak, typed

SEED = np.random.SeedSequence(0)


@given(st.integers(2, 12), st.integers(0, 50), st.integers(0, 2), st.booleans())
def test_guarantee_the_others_stay_exactly_as_they_are(n, seed, sensitive, weighted):
    before = typed(n, seed, weighted=weighted)
    if not (before.types == sensitive).any():
        return
    defense = IntactEdges(sensitive=sensitive)
    after = defense.on_graph(before, SEED)
    rows = [
        (*edge, kind, None if before.weights is None else weight)
        for *edge, kind, weight in zip(
            *before.edges.tolist(),
            before.types.tolist(),
            (before.types if before.weights is None else before.weights),
            strict=True,
        )
        if kind != sensitive
    ]
    found = zip(
        *after.edges.tolist(), after.types.tolist(), after.weights if weighted else [None] * after.size, strict=True
    )
    assert [tuple(row) for row in found] == [tuple(row) for row in rows]
    assert after.nodes == n
    assert defense.verify(before, after).holds


def test_guarantee_fails_on_what_still_holds_an_edge_or_a_number_of_them():
    before = typed(8, 0)
    assert not IntactEdges(sensitive=1).verify(before, before).holds
    bare = Network(8, before.edges[:, :0], groups=np.zeros(8, dtype=np.int64), counts=np.array([[0, 0, 1, 3]]))
    assert not verify_no_edge_of_type(bare, 1).holds
    assert verify_no_edge_of_type(bare, 0).holds
    assert not verify_no_edge_of_type(before.plain(), 0).holds  # nobody can tell what its edges are


def test_trivial_edits_of_as_many_edges_tell_more():
    """Dropping the sensitive edges changes as many edges as random edits with that share; on the mean of three."""
    told = []
    for seed in range(3):
        before = friends(seed, copied=0.3)
        share = float(np.mean(before.types == 0))
        told.append(
            [
                leak(before, defense.on_graph(before, np.random.SeedSequence(seed)))
                for defense in (IntactEdges(), RandomEdit(share=share))
            ]
        )
        assert leak(before, before) == 1
    assert np.mean(told, 0)[0] < np.mean(told, 0)[1] - 0.05


def test_what_other_types_tell_they_still_tell():
    before = friends(1, copied=0.9)
    assert leak(before, IntactEdges().on_graph(before, SEED)) > 0.9
    alone = friends(1, copied=0.0)
    assert leak(alone, IntactEdges().on_graph(alone, SEED)) < 0.65


def test_networks_without_types_are_refused():
    plain = typed(8, 0).plain()
    with pytest.raises(InputError, match=r"'intact-edges' drops edges of a sensitive type.*edge_type of the graph"):
        IntactEdges().on_graph(plain, SEED)


def test_a_type_that_does_not_occur_is_refused():
    with pytest.raises(InputError, match="no edge is of the sensitive type 7: the types here are 0, 1, 2"):
        IntactEdges(sensitive=7).on_graph(typed(8, 0), SEED)
