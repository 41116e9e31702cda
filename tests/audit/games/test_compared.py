"""With whom subjects are compared: classes, what else is public, and groups that membership follows."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from gaudit.audit.games.compared import compared, finer, followed
from gaudit.audit.statistics.metrics import auc_finding
from gaudit.audit.statistics.scored_subjects import ScoredSubjects
from gaudit.targets.games.membership import LabelMembership

PEOPLE = 1200


def graph(rng, communities=20):
    """Communities with many edges inside, three classes that are no communities."""
    block = np.repeat(np.arange(communities), PEOPLE // communities)
    one, other = rng.integers(PEOPLE, size=(2, 200_000))
    kept = (one != other) & (block[one] == block[other])
    edges = np.stack([one[kept], other[kept]])
    both = torch.from_numpy(np.concatenate([edges, edges[::-1]], axis=1))
    y = torch.from_numpy(rng.integers(3, size=PEOPLE))
    return Data(x=torch.eye(PEOPLE), y=y, edge_index=both, num_nodes=PEOPLE), block


def game(truth, owners=None):
    return LabelMembership(subjects=np.arange(PEOPLE), truth=truth, owners=owners)


def test_members_drawn_one_by_one_follow_no_grouping():
    rng = np.random.default_rng(0)
    data, _block = graph(rng)
    for _ in range(20):
        told = compared(game(rng.random(PEOPLE) < 0.2, rng.integers(5, size=PEOPLE)), data)
        assert told.clusters is None
        assert told.clustered_by == ""
        assert np.array_equal(told.strata, data.y.numpy())


def test_members_that_are_whole_communities_come_by_community():
    data, block = graph(np.random.default_rng(1))
    told = compared(game(block < 6), data)
    assert told.clustered_by == "communities"
    pairs = {(int(a), int(b)) for a, b in zip(told.clusters, block, strict=True)}
    assert len(pairs) == 20  # Leiden finds the very communities


def test_members_that_are_whole_clients_come_by_client():
    data, _ = graph(np.random.default_rng(2))
    owners = np.random.default_rng(3).integers(8, size=PEOPLE)
    told = compared(game(owners < 3, owners), data)
    assert told.clustered_by == "clients"
    assert np.array_equal(told.clusters, owners)


def test_most_members_of_some_communities_follow_them_too():
    rng = np.random.default_rng(4)
    data, block = graph(rng)
    truth = rng.random(PEOPLE) < np.where(block < 10, 0.7, 0.1)
    assert compared(game(truth), data).clustered_by == "communities"


def test_twenty_members_of_each_class_follow_no_grouping_of_classes():
    """Classes are set aside before: small ones have a larger share of members."""
    rng = np.random.default_rng(5)
    strata = np.repeat([0, 1], [40, 1000])
    truth = np.concatenate([np.arange(40) < 20, np.arange(1000) < 20])
    assert followed(truth, {"classes": strata})[0] == "classes"
    assert followed(truth, {"classes": strata}, strata) == ("", None)
    assert followed(truth, {"random": rng.integers(9, size=1040)}) == ("", None)


@pytest.mark.parametrize("told", [0.0, 1.5])
def test_strata_part_by_what_else_is_public_only_where_it_tells(told):
    rng = np.random.default_rng(6)
    truth = np.arange(2200) < 200
    strata = rng.integers(2, size=2200)
    public = rng.normal(size=2200) + told * truth
    parts = finer(strata, {"all": ScoredSubjects(np.arange(2200), public, truth)})
    assert (len(np.unique(parts)) > 2) == (told > 0)
    attack = ScoredSubjects(np.arange(2200), public + 0.01 * rng.normal(size=2200), truth, strata=parts)
    if told:  # an attack that repeats what is public keeps little of its AUC of 0.86
        assert auc_finding([attack]).estimate < 0.6
