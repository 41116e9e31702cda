"""What an adversary knows who is asked about links, and what it makes of a published network."""

import numpy as np
import torch

from gaudit.audit.statistics.metrics import auc
from gaudit.graphs.network import Network
from gaudit.graphs.pair_codes import codes
from gaudit.targets.channel import Channel
from gaudit.targets.games.links import EdgePresence, LinkKnowledge, Links
from gaudit.targets.messages import PUBLISHED_KIND
from gaudit.targets.published import tensors_of


def random_network(n, share, seed):
    rng = np.random.default_rng(seed)
    return Network.from_edges(n, *np.nonzero(np.triu(rng.random((n, n)) < share, 1)))


def link_knowledge(n, subjects, members, edges, present=(), absent=(), x=None):
    """Of a graph of one class: codes of the pairs in question, and of those that are known to be links or none."""
    told = (np.asarray(part, dtype=np.int64) for part in (present, absent))
    links = (torch.from_numpy(np.stack([part // n, part % n])) for part in told)
    return LinkKnowledge(
        x=torch.ones(n, 1) if x is None else x,
        labels=torch.zeros(n, dtype=torch.long),
        subjects=torch.from_numpy(subjects),
        members=int(members),
        classes=1,
        game=EdgePresence.name,
        links=Links(torch.zeros(n, dtype=torch.long), torch.tensor([int(edges)]), *links),
    )


def asked(n, secret):
    """Knowledge of an adversary who is asked about all pairs, and the truth: the edges of ``secret``."""
    every = codes(*np.triu_indices(n, 1), n)
    return link_knowledge(n, every, secret.size, secret.size), np.isin(every, secret.codes)


def published(network):
    """What the public sees when a network is published."""
    channel = Channel()
    channel.send(PUBLISHED_KIND, "server", "public", 1, tensors_of(network))
    return channel.transcript.seen_by("public")


def scored(attack, network, knowledge, seed=0):
    return attack(published(network), knowledge, np.random.SeedSequence(seed)).score


def check_chance(judged):
    """Of truths and scores, world by world: the mean AUC is 0.5 within 3.3 of its deviations (once in 1000)."""
    areas = [auc(truth, score) for truth, score in judged]
    spread = [(len(truth) + 1) / (12 * truth.sum() * (~truth).sum()) for truth, _ in judged]
    assert abs(np.mean(areas) - 0.5) < 3.3 * np.sqrt(np.mean(spread) / len(areas))
