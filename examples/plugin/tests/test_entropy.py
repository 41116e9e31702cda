"""The surest answers are scored highest."""

import numpy as np
import pytest
import torch
from gaudit_example.entropy import Entropy

from gaudit.plugin import Channel, InputError, NodeKnowledge

SEED = np.random.SeedSequence(7)
NONE = torch.empty(2, 0, dtype=torch.long)
KNOWLEDGE = NodeKnowledge(
    x=torch.zeros(4, 1),
    labels=torch.tensor([-1, -1, 0, 1]),
    edges=torch.tensor([[0, 0, 1], [2, 3, 2]]),
    subjects=torch.tensor([0, 1]),
    shadow=torch.tensor([2, 3]),
    shadow_edges=NONE,
    members=1,
    classes=2,
    game="label-membership",
)


def told(nodes, posteriors):
    channel = Channel()
    table = {"nodes": torch.tensor(nodes), "posteriors": torch.tensor(posteriors)}
    channel.send("posteriors-full", "server", "public", 1, table)
    return channel.transcript.seen_by("public")


def test_scores_are_entropies_whatever_the_order_of_the_rows():
    scores = Entropy()(told([1, 0], [[1.0, 0.0], [0.5, 0.5]]), KNOWLEDGE, SEED).score
    np.testing.assert_allclose(scores, [-np.log(2), 0], atol=1e-7)


def test_blind_goes_by_the_labels_around():
    scores = Entropy().blind(KNOWLEDGE, SEED).score
    np.testing.assert_allclose(scores, [-np.log(2), 2 / 3 * np.log(2 / 3) + 1 / 3 * np.log(1 / 3)], atol=1e-7)


def test_a_table_that_leaves_somebody_out_is_refused():
    with pytest.raises(InputError, match="leaves out nodes"):
        Entropy()(told([0], [[1.0, 0.0]]), KNOWLEDGE, SEED)
