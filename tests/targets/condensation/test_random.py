"""Coresets: real labelled nodes with the edges among them, and how each method takes them."""

from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from gaudit.errors import InputError
from gaudit.registry import find
from gaudit.targets.condensation.condensed import CondensedGraph
from gaudit.targets.condensation.coresets import Herding, KCenter, RandomCoreset
from gaudit.targets.condensation.gradient_distance import allocate_labels
from support.sixty_nodes import sixty_nodes

QUICK = {"ratio": 0.15, "test": {"hidden": 8, "epochs": 10}}


def ran(kind, seed=0, **changes):
    target = kind(**(QUICK | changes))
    return target(sixty_nodes(), find("defenses", "none")(), np.random.SeedSequence(seed), lambda _: True)


@pytest.mark.parametrize("kind", [RandomCoreset, Herding, KCenter])
def test_labelled_nodes_and_the_edges_among_them_are_released(kind):
    data, run = sixty_nodes(), ran(kind)
    (message,) = run.transcript.messages
    release = CondensedGraph.from_tensors(message.tensors)
    assert torch.equal(release.y, allocate_labels(torch.tensor([6, 4, 2]), 9))
    nodes = [int((data.x == row).all(1).nonzero()) for row in release.x]
    assert len(set(nodes)) == 9
    assert bool(data.train_mask[nodes].all())
    assert torch.equal(data.y[nodes], release.y)
    edges = set(map(tuple, data.edge_index.t().tolist()))
    for i, j in combinations(range(9), 2):
        assert bool(release.adjacency[i, j]) is ((nodes[i], nodes[j]) in edges)
    secrets = run.secrets["label-membership"]
    copied = secrets.groups["members copied at first"] & secrets.truth
    assert set(secrets.subjects[copied].tolist()) == set(nodes)


def test_random_ones_are_uniform():
    """Of 5 rows 2, 5,000 times; the error rate is 1 in 1,000."""
    rng, embeddings = np.random.default_rng(0), torch.zeros(5, 3)
    times = np.zeros(5)
    for _ in range(5000):
        times[RandomCoreset.picked(embeddings, 2, rng)] += 1
    assert chisquare(times).pvalue > 0.001 / 2  # draws without replacement vary less, not more


rows = st.integers(2, 7).flatmap(
    lambda m: st.lists(st.tuples(*[st.integers(-5, 5)] * 2), min_size=m, max_size=m).map(
        lambda found: torch.tensor(found, dtype=torch.float32)
    )
)


@given(rows, st.data())
def test_herding_takes_the_best_next_one(embeddings, data):
    count = data.draw(st.integers(1, len(embeddings)))
    chosen = Herding.picked(embeddings, count, np.random.default_rng(0))
    assert len(set(chosen)) == count
    mean = embeddings.mean(0)
    for number in range(count):
        before = chosen[:number]
        away = {
            other: float((mean - embeddings[[*before, other]].mean(0)).norm())
            for other in range(len(embeddings))
            if other not in before
        }
        assert away[chosen[number]] <= min(away.values()) + 1e-5


@given(rows, st.data())
def test_centres_cover_all_within_twice_the_least_radius(embeddings, data):
    """What the greedy choice guarantees (Gonzalez 1985), against all choices."""
    count = data.draw(st.integers(1, len(embeddings)))
    chosen = KCenter.picked(embeddings, count, np.random.default_rng(0))
    assert len(set(chosen)) == count
    apart = torch.cdist(embeddings, embeddings)

    def radius(centres):
        return float(apart[:, list(centres)].min(1).values.max())

    best = min(radius(centres) for centres in combinations(range(len(embeddings)), count))
    assert radius(chosen) <= 2 * best + 1e-4


def test_more_than_there_are_is_refused():
    with pytest.raises(InputError, match="needs 9 labelled nodes of class 0, there are 6"):
        ran(RandomCoreset, ratio=0.3)


def test_nothing_is_trained_that_a_defense_could_change():
    assert "trains nothing" in RandomCoreset().why_not(find("defenses", "adversarial-regularisation")())
