"""Random networks without communities, and what strangers' facts find in one."""

import numpy as np

from gaudit.graphs.network import Network, Original

NOBODY = np.empty((2, 0), dtype=np.int64)


def random_network(nodes: int, edges: int, seed: int) -> Network:
    pairs = np.stack(np.triu_indices(nodes, 1))
    kept = np.random.default_rng(seed).permutation(pairs.shape[1])[:edges]
    return Network.from_edges(nodes, *pairs[:, kept])


def network_of_share(nodes: int, share: float, seed: int) -> Network:
    """Each pair is linked with the same probability."""
    pairs = np.stack(np.triu_indices(nodes, 1), 1)
    return Network.from_edges(nodes, *pairs[np.random.default_rng(seed).random(len(pairs)) < share].T)


def uneven_network(nodes: int, ends: int, seed: int) -> Network:
    """Nodes with low ids have many links, also to each other."""
    drawn = (nodes * np.random.default_rng(seed).random((2, ends)) ** 2).astype(np.int64)
    return Network.from_edges(nodes, *np.unique(np.sort(drawn[:, drawn[0] != drawn[1]], axis=0), axis=1))


def hits_with_facts_of_others(attack, network: Network, runs: int, rng: np.random.Generator) -> float:
    """Persons who are found, in so many runs in all, where each has the facts of a random one."""
    new, hits = rng.permutation(network.nodes), 0.0
    facts, published = attack.learn(Original(network), rng), network.renamed(new)
    for _ in range(runs):
        order = rng.permutation(network.nodes)
        found = attack.candidates(published, {k: v[order] for k, v in facts.items()}, NOBODY, rng)
        hits += found.probability(np.arange(network.nodes), new).sum()
    return hits
