"""Whose rows are in means: ratios by brute force, exact rows, and means of others."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from gaudit.attacks.gradients.mean_rows import MeanRows, likelihood_ratios
from gaudit.audit.statistics.metrics import auc
from gaudit.errors import InputError
from gaudit.targets.channel import Channel
from gaudit.targets.messages import COMMON_MEANS_KIND, MEAN_ROWS_KIND

PEOPLE, WORDS = 200, 300


def world(seed=0, sparse=True):
    rng = np.random.default_rng(seed)
    x = (rng.random((PEOPLE, WORDS)) < 0.05).astype(np.float32) if sparse else rng.normal(size=(PEOPLE, WORDS))
    return torch.from_numpy(x).float()


def score(x, means, observer="server", receiver="server", kind=MEAN_ROWS_KIND):
    channel = Channel()
    sender = "client:1" if kind == MEAN_ROWS_KIND else "server"
    channel.send(kind, sender, receiver, 0, {"x": means})
    channel.send(MEAN_ROWS_KIND, "client:0", "server", 0, {"x": x[:1]})
    knowledge = SimpleNamespace(x=x, subjects=torch.arange(len(x)))
    return MeanRows().score(channel.transcript.seen_by(observer), knowledge).numpy()


def test_ratios_are_those_of_words_one_by_one():
    rng = np.random.default_rng(0)
    rows, means, shares = rng.integers(0, 2, (5, 6)), rng.uniform(0.1, 0.9, (3, 6)), rng.uniform(0.1, 0.9, 6)
    found = likelihood_ratios(*(torch.from_numpy(part).double() for part in (rows, means, shares)))
    for i, row in enumerate(rows):
        for m, mean in enumerate(means):
            words = zip(row, mean, shares, strict=True)
            ratio = np.prod([q / p if one else (1 - q) / (1 - p) for one, q, p in words])
            assert float(found[i, m]) == pytest.approx(np.log(ratio))


CASES = [(True, 1, 0.999), (True, 5, 0.99), (False, 1, 0.999), (False, 5, 0.95)]


@pytest.mark.parametrize(("sparse", "rows", "least"), CASES)
def test_people_in_means_are_told_from_others(sparse, rows, least):
    x = world(sparse=sparse)
    means = x[:100].view(-1, rows, WORDS).mean(1)
    assert auc(np.arange(PEOPLE) < 100, score(x, means)) > least


@pytest.mark.parametrize("sparse", [True, False])
def test_means_of_strangers_tell_nothing(sparse):
    """Over 20 worlds the mean AUC is within four standard errors, of 0.041 in each, of a half."""
    found = []
    for seed in range(20):
        strangers = world(100 + seed, sparse)[:100].view(-1, 5, WORDS).mean(1)
        found.append(auc(np.arange(PEOPLE) < 100, score(world(seed, sparse), strangers)))
    assert abs(np.mean(found) - 0.5) < 4 * 0.041 / 20**0.5


def test_a_client_reads_what_the_server_hands_on_and_not_what_it_sent_itself():
    x = world()
    means = x[50:100].view(-1, 5, WORDS).mean(1)
    told, known = score(x, means, "client:0", "clients", COMMON_MEANS_KIND), score(x, means)
    np.testing.assert_allclose(told[1:], known[1:])
    assert known[0] > told[0], "the server reads the row that client 0 sent, which that client leaves out"


def test_misshapen_means_are_refused():
    with pytest.raises(InputError, match=r"must hold finite means 'x' \[m, 300\]"):
        score(world(), torch.ones(2, 3))
    with pytest.raises(InputError, match="must hold finite"):
        score(world(), torch.full((1, WORDS), torch.nan))
