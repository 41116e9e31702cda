"""Networks with edges of several types, and how much they tell of the edges that an auditor may not see."""

import numpy as np

from gaudit.attacks.links.link_noisy_or import LinkNoisyOr
from gaudit.audit.conformance.small_graphs import typed_network as typed
from gaudit.audit.statistics.metrics import auc
from gaudit.graphs.network import Network
from gaudit.graphs.pair_codes import codes

from .link_worlds import link_knowledge, published

__all__ = ["friends", "leak", "typed"]

NODES = 120
SEED = np.random.SeedSequence(0)


def friends(seed, copied=0.6):
    """Sensitive links within groups of 12, and two other types of which the first goes with many of them."""
    rng = np.random.default_rng(seed)
    low, high = np.triu_indices(NODES, 1)
    secret = rng.random(len(low)) < np.where(low // 12 == high // 12, 0.25, 0.003)
    others = [
        rng.random(len(low)) < np.where(secret, many, few) for many, few in ((copied, 0.01), (copied / 2, 0.03))
    ]
    parts = [codes(low, high, NODES)[part] for part in (secret, *others)]
    every, types = np.concatenate(parts), np.repeat(np.arange(3), [len(part) for part in parts])
    return Network.from_edges(NODES, every // NODES, every % NODES, types=types)


def leak(before, after, seed=0, known=0.3):
    """AUC of the noisy-or on the sensitive pairs that it does not know."""
    rng = np.random.default_rng(seed)
    every = codes(*np.triu_indices(NODES, 1), NODES)
    truth = np.isin(every, before.codes[before.types == 0])
    told = rng.permutation(np.flatnonzero(truth))[: int(known * truth.sum())]
    asked = np.setdiff1d(np.arange(len(every)), told)
    knowledge = link_knowledge(NODES, every[asked], truth[asked].sum(), truth.sum(), every[told])
    return auc(truth[asked], LinkNoisyOr()(published(after), knowledge, SEED).score)
