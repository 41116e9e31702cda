"""The trivial alternative for links: how many edges are kept, which, and that others are used nowhere."""

import numpy as np
import pytest
import torch
from scipy.stats import binom

from gaudit.defenses.training.fewer_edges import FewerEdges
from gaudit.errors import InputError

LEVEL = 1e-3


def kept_of(client, share, seed=0):
    return FewerEdges(share=share).on_data(client, None, np.random.SeedSequence(seed), lambda kind, tensors: None)


def pairs_of(client):
    return {(a, b) for a, b in client.edges.t().tolist() if a < b}


@pytest.mark.parametrize("share", [0.0, 0.013, 0.5, 0.999, 1.0])
def test_guarantee_the_share_of_edges_is_kept_and_none_is_new(federation, share):
    for client in federation.clients:
        after, before = kept_of(client, share), pairs_of(client)
        assert pairs_of(after) <= before
        assert len(pairs_of(after)) == round(share * len(before))
        edges = set(map(tuple, after.edges.t().tolist()))
        assert len(edges) == after.edges.shape[1] == 2 * len(pairs_of(after))
        assert all((b, a) in edges for a, b in edges)
        for name in ("nodes", "x", "y", "y_train", "train", "val", "test", "used", "cut"):
            assert torch.equal(getattr(after, name), getattr(client, name))


def test_every_edge_is_as_likely_kept_as_any_other(federation):
    client, runs = federation.clients[0], 400
    times = dict.fromkeys(pairs_of(client), 0)
    for seed in range(runs):
        for pair in pairs_of(kept_of(client, 0.3, seed)):
            times[pair] += 1
    low, high = binom.ppf([LEVEL / 2 / len(times), 1 - LEVEL / 2 / len(times)], runs, 0.3)
    assert low <= min(times.values()) <= max(times.values()) <= high


def test_trivial_share_of_one_changes_nothing(federation):
    for client in federation.clients:
        assert torch.equal(kept_of(client, 1.0).edges, client.edges)
    assert FewerEdges.trivial
    assert FewerEdges.alternative is None  # it is the trivial alternative itself


def test_the_seed_decides(federation):
    one, again, other = (pairs_of(kept_of(federation.clients[0], 0.5, seed)) for seed in (0, 0, 1))
    assert one == again != other


@pytest.mark.parametrize("share", [-0.1, 1.01, float("nan")])
def test_settings_are_checked(share):
    with pytest.raises(InputError, match="share"):
        FewerEdges(share=share)
