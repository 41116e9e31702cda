"""Coarsening: groups of nodes as nodes, against sums over single edges."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from gaudit.errors import InputError
from gaudit.registry import find
from gaudit.targets.condensation.coarsening import Coarsening, coarsened
from support.sixty_nodes import sixty_nodes


@given(st.integers(2, 10), st.integers(0, 10**6))
def test_groups_are_means_majorities_and_shares_of_edges(nodes, seed):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((nodes, nodes)) < 0.4, 1)
    edges = torch.from_numpy(np.stack(np.nonzero(upper | upper.T)))
    group = torch.from_numpy(np.unique(rng.integers(0, 3, nodes), return_inverse=True)[1])
    x = torch.from_numpy(rng.standard_normal((nodes, 4))).float()
    y, labelled = torch.from_numpy(rng.integers(0, 2, nodes)), torch.from_numpy(rng.random(nodes) < 0.7)
    if not labelled.any():
        return
    found = coarsened(x, edges, group, F.one_hot(y, 2) * labelled[:, None])
    kept = [g for g in range(int(group.max()) + 1) if bool((labelled & (group == g)).any())]
    assert len(found.y) == len(kept)
    ends = {g: sum(int(group[a]) == g for a, _ in edges.t().tolist()) for g in kept}
    for i, g in enumerate(kept):
        assert torch.allclose(found.x[i], x[group == g].mean(0), atol=1e-6)
        votes = torch.bincount(y[labelled & (group == g)], minlength=2)
        assert votes[found.y[i]] == votes.max()
        for j, h in enumerate(kept):
            between = sum((int(group[a]), int(group[b])) == (g, h) for a, b in edges.t().tolist())
            expected = 0 if i == j else between / max((ends[g] * ends[h]) ** 0.5, 1)
            assert float(found.adjacency[i, j]) == pytest.approx(expected, abs=1e-6)


def test_it_releases_a_valid_graph_that_is_worth_something():
    target = Coarsening(ratio=0.2, test={"hidden": 16, "epochs": 100})
    run = target(sixty_nodes(), find("defenses", "none")(), np.random.SeedSequence(0), lambda _: True)
    (message,) = run.transcript.messages
    assert 3 <= len(message.tensors["y"]) <= 12
    assert run.secrets["label-membership"].groups == {}  # no row is copied
    assert run.utility.test > 0.5
    assert any("12 groups" in note for note in run.notes)


def test_a_size_of_no_group_is_refused():
    with pytest.raises(InputError, match="leaves 3 of 3 classes empty"):
        Coarsening(ratio=0.001)(
            sixty_nodes(), find("defenses", "none")(), np.random.SeedSequence(0), lambda _: True
        )
