"""A graph like Krebs' network of political books (n = 105, m = 441), which carries no licence."""

import numpy as np

from gaudit.graphs.network import Network


def three_communities(seed: int = 0, nodes: int = 105, edges: int = 441, between: float = 0.02) -> Network:
    """Three groups of equal size; pairs by log-normal weights, those of two groups ``between`` times as likely."""
    rng = np.random.default_rng(seed)
    low, high = np.triu_indices(nodes, 1)
    weight, group = rng.lognormal(0, 0.5, nodes), np.arange(nodes) * 3 // nodes
    chance = weight[low] * weight[high] * np.where(group[low] == group[high], 1, between)
    # the first to ring of clocks with these rates are a sample without replacement
    drawn = np.argsort(rng.exponential(size=len(low)) / chance)[:edges]
    return Network.from_edges(nodes, low[drawn], high[drawn])
