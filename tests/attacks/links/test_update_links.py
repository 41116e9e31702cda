"""Links from the codes of uploads."""

import numpy as np
import scipy.linalg
import torch

from gaudit.attacks.links.update_links import UpdateLinks, rooted
from gaudit.audit.statistics.metrics import auc
from gaudit.graphs.pair_codes import codes
from gaudit.targets.games.links import EdgePresence, LinkKnowledge, Links
from support.upload_worlds import upload_world

SEED = np.random.SeedSequence(0)


def test_products_are_those_of_the_root_of_the_gram_matrix():
    rows = np.random.default_rng(0).normal(size=(5, 8))
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    found = rooted(torch.from_numpy(rows)).numpy()
    np.testing.assert_allclose(found @ found.T, np.real(scipy.linalg.sqrtm(unit @ unit.T)), atol=1e-9)


def asked(world):
    """What a server knows who asks for all pairs within clients, and which are links."""
    nodes, owner = len(world.owner), world.owner.numpy()
    low, high = np.triu_indices(nodes, 1)
    inside = owner[low] == owner[high]
    subjects = codes(low[inside], high[inside], nodes)
    row, col = world.data.edge_index.numpy()
    truth = np.isin(subjects, codes(row, col, nodes))
    none = torch.empty((2, 0), dtype=torch.long)
    counts = torch.bincount(world.owner[torch.from_numpy(row[owner[row] == owner[col]])]) // 2
    knowledge = LinkKnowledge(
        subjects=torch.from_numpy(subjects),
        members=int(truth.sum()),
        game=EdgePresence.name,
        x=world.data.x,
        labels=world.data.y,
        classes=3,
        links=Links(world.owner, counts, none, none),
    )
    return knowledge, truth


def test_links_are_found_after_honest_steps():
    world = upload_world()
    knowledge, truth = asked(world)
    view = world.uploads(rounds=10).seen_by("server")
    with_root, without = (auc(truth, UpdateLinks(root=root)(view, knowledge, SEED).score) for root in (True, False))
    assert with_root > 0.85
    assert with_root > without


def test_after_adam_little_is_left():
    world = upload_world()
    knowledge, truth = asked(world)
    view = world.uploads(rounds=10, optimiser="adam", lr=0.01, steps=5).seen_by("server")
    assert auc(truth, UpdateLinks()(view, knowledge, SEED).score) < 0.9


def test_a_secure_sum_leaves_some():
    world = upload_world()
    knowledge, truth = asked(world)
    hidden, clear = world.averages(rounds=10)
    summed, each = (auc(truth, UpdateLinks()(t.seen_by("server"), knowledge, SEED).score) for t in (hidden, clear))
    assert 0.7 < summed < each
