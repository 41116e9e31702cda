"""Who holds whom from spans."""

import numpy as np
import pytest
import torch

from gaudit.attacks.ownership.row_spans import share_within, span_of
from gaudit.attacks.ownership.span_ownership import SpanOwnership
from support.upload_worlds import upload_world

SEED = np.random.SeedSequence(0)


@pytest.mark.parametrize("columns", [3, 11])
def test_shares_are_those_of_least_squares(columns):
    rng = np.random.default_rng(0)
    rows, change = rng.normal(size=(6, 8)), rng.normal(size=(8, 2)) @ rng.normal(size=(2, columns))
    fitted = change @ np.linalg.lstsq(change, rows.T, rcond=1e-9)[0]
    basis = span_of(torch.from_numpy(change), 1e-6)
    assert basis.shape == (8, 2)
    expected = np.square(fitted).sum(0) / np.square(rows).sum(1)
    np.testing.assert_allclose(share_within(torch.from_numpy(rows), basis).numpy(), expected, rtol=1e-8)


def test_a_row_of_zeros_lies_nowhere():
    assert share_within(torch.zeros(1, 3), torch.eye(3).double()[:, :2]).tolist() == [0.0]


def test_rounds_enough_hold_every_row_of_a_client_and_no_other():
    """Twenty nodes of a client span twenty of 150 dimensions."""
    world = upload_world()
    scores = SpanOwnership()(world.uploads(rounds=6).seen_by("server"), world.knowledge(), SEED)
    table = world.table(scores)
    own = table[torch.arange(len(world.owner)), world.owner]
    assert float((table.argmax(1) == world.owner).double().mean()) == 1
    assert float(own.min()) > 0.1


def test_aggregated_rows_are_looked_for_where_asked():
    world = upload_world()
    view = world.uploads(rounds=6).seen_by("server")
    own, mixed = (SpanOwnership(rows=rows)(view, world.knowledge(), SEED) for rows in ("own", "aggregated"))
    assert not np.allclose(own.score, mixed.score)
