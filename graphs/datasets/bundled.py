"""Graphs that need no download: one drawn from a model of a citation network, three small real ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from ..checks import check_graph, spread_masks
from ..events import Events
from ..network import Network
from ..pyg import data_of

if TYPE_CHECKING:
    from torch_geometric.data import Data

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

# Cora's sizes
CLASS_SIZES = (351, 217, 418, 818, 426, 298, 180)
EDGES = 5278
WORDS = 1433
WORDS_PER_NODE = 18.2
MOST_WORDS = 30

# calibrated: degrees, homophily and the accuracies of a GCN and of features alone are near Cora's
TOPICS = 25  # in each class
BORROWING = 5  # of them, written in the words of another class
SAME_TOPIC = 0.7  # of all edges, before duplicates are dropped
SAME_CLASS = 0.155
DEGREE_TAIL = 1.4
LEAST_WEIGHT = 0.3
MOST_WEIGHT = 150.0
KEYWORDS = 80  # of a class, and of a topic
CLASS_SHARE = 0.33
TOPIC_SHARE = 0.25


def citations(seed: int = 0) -> Data:
    """A synthetic citation network matched to Cora.

    A degree-corrected stochastic block model (Karrer and Newman 2011) with Cora's class sizes, 2,708 nodes,
    5,278 undirected edges, heavy-tailed degrees of at least 1, and 81 % of the edges within a class. The
    blocks are small topics, 25 of a class, since in plain classes neighbours are independent evidence and a
    GCN errs far less than on Cora. Each node has about 18 of 1,433 binary words, drawn without replacement
    from keywords of its class and its topic and a Zipf background; five topics of each class use the keywords
    of another class. Split: 20 nodes per class, 500 and 1,000.

    Args:
        seed: of the edges, words and split.
    """
    from torch_geometric.data import Data

    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(len(CLASS_SIZES)), CLASS_SIZES))
    topic = _topics(y)
    edges = _block_edges(topic, rng)
    data = Data(
        x=torch.from_numpy(_words(topic, rng)),
        y=torch.from_numpy(y),
        edge_index=torch.from_numpy(edges),
    )
    return check_graph(spread_masks(data, seed), "citations")


def _topics(y: Integers) -> Integers:
    """The topic of each node, [N]; class c has topics c * TOPICS to (c + 1) * TOPICS - 1, of equal sizes."""
    topic = y * TOPICS
    for label, size in enumerate(CLASS_SIZES):
        topic[y == label] += np.arange(size) % TOPICS
    return topic


def _block_edges(topic: Integers, rng: np.random.Generator) -> Integers:
    """Distinct undirected edges [2, EDGES], at least one at every node."""
    weights = LEAST_WEIGHT + np.minimum(rng.pareto(DEGREE_TAIL, len(topic)), MOST_WEIGHT)
    nodes = np.arange(len(topic))
    sources = np.concatenate([nodes, rng.choice(nodes, 2 * EDGES, p=weights / weights.sum())])
    targets = _partners(topic, sources, weights, rng)
    low, high = np.minimum(sources, targets), np.maximum(sources, targets)
    _, first = np.unique(low * len(topic) + high, return_index=True)
    kept = np.sort(first)[:EDGES]
    return np.stack([low[kept], high[kept]])


def _partners(topic: Integers, sources: Integers, weights: Floats, rng: np.random.Generator) -> Integers:
    """For each source another node, by weight: of its topic, of its class, or of any other class."""
    distance = np.searchsorted([SAME_TOPIC, SAME_TOPIC + SAME_CLASS], rng.random(len(sources)))
    targets = np.empty_like(sources)
    for own in np.unique(topic):
        same_class = topic // TOPICS == own // TOPICS
        for near, members in enumerate((topic == own, same_class, ~same_class)):
            asking = (topic[sources] == own) & (distance == near)
            targets[asking] = _others(np.flatnonzero(members), sources[asking], weights, rng)
    return targets


def _others(pool: Integers, sources: Integers, weights: Floats, rng: np.random.Generator) -> Integers:
    """Nodes drawn from ``pool`` by weight, none of which is its own source."""
    share = weights[pool] / weights[pool].sum()
    targets = rng.choice(pool, len(sources), p=share)
    while (own := targets == sources).any():
        targets[own] = rng.choice(pool, int(own.sum()), p=share)
    return targets


def _words(topic: Integers, rng: np.random.Generator) -> NDArray[np.float32]:
    """Binary bags of words [N, WORDS], each drawn without replacement (Gumbel top-k)."""
    keys = np.log(_word_rates(rng))[topic] + rng.gumbel(size=(len(topic), WORDS))
    counts = np.clip(rng.poisson(WORDS_PER_NODE, len(topic)), 1, MOST_WORDS)
    order = np.argsort(-keys, axis=1)[:, :MOST_WORDS]
    rows, places = np.nonzero(np.arange(MOST_WORDS) < counts[:, None])
    x = np.zeros((len(topic), WORDS), dtype=np.float32)
    x[rows, order[rows, places]] = 1
    return x


def _word_rates(rng: np.random.Generator) -> Floats:
    """Probability of each word in each topic, [topics, WORDS]: background and keywords of class and topic."""
    zipf = 1 / (np.arange(WORDS) + 10)
    background = rng.permutation(zipf / zipf.sum())
    classes, topics = len(CLASS_SIZES), len(CLASS_SIZES) * TOPICS
    shift = np.where(np.arange(topics) % TOPICS < BORROWING, rng.integers(1, classes, topics), 0)
    language = (np.arange(topics) // TOPICS + shift) % classes
    of_class = _keywords(classes, background, rng)[language]
    of_topic = _keywords(topics, background, rng)
    return (1 - CLASS_SHARE - TOPIC_SHARE) * background + CLASS_SHARE * of_class + TOPIC_SHARE * of_topic


def _keywords(groups: int, background: Floats, rng: np.random.Generator) -> Floats:
    """The background restricted to a random set of keywords for each group, [groups, WORDS]."""
    rates = np.zeros((groups, WORDS))
    for row in rates:
        chosen = rng.choice(WORDS, KEYWORDS, replace=False)
        row[chosen] = background[chosen] / background[chosen].sum()
    return rates


def digits(seed: int = 0) -> Data:
    """Handwritten digits of scikit-learn, 1,797 nodes, 64 pixels in 0..1, each joined to its 5 nearest.

    Args:
        seed: of the split; the graph is always the same.
    """
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    return _neighbour_graph(x / 16, y, seed, "digits")


def patients(seed: int = 0) -> Data:
    """Breast-cancer patients of scikit-learn, 569 nodes, 30 standardised measures, joined to the 5 nearest.

    Args:
        seed: of the split; the graph is always the same.
    """
    from sklearn.datasets import load_breast_cancer

    x, y = load_breast_cancer(return_X_y=True)
    return _neighbour_graph((x - x.mean(0)) / x.std(0), y, seed, "patients")


def _neighbour_graph(x: Floats, y: Integers, seed: int, name: str, k: int = 5) -> Data:
    from sklearn.neighbors import kneighbors_graph
    from torch_geometric.data import Data

    near = kneighbors_graph(x, k).tocoo()
    data = Data(
        x=torch.from_numpy(x).float(),
        y=torch.from_numpy(y).long(),
        edge_index=torch.from_numpy(np.stack([near.row, near.col]).astype(np.int64)),
    )
    return check_graph(spread_masks(data, seed), name)


def karate(seed: int = 0) -> Data:
    """Zachary's karate club as in PyG: 34 nodes, 4 communities, identity features, 3 labelled per class.

    Args:
        seed: of the split; the graph is always the same.
    """
    from torch_geometric.datasets import KarateClub

    return check_graph(spread_masks(KarateClub()[0], seed, per_class=3), "karate")


def planted(seed: int = 0) -> Data:
    """Nothing to learn and everything to remember: 450 nodes, random labels, nearly orthogonal binary features.

    Each node has 3 of 1,600 words; there are 75 random edges. For positive controls: whatever a model knows of
    these nodes it was told.

    Args:
        seed: of everything.
    """
    from torch_geometric.data import Data

    rng = np.random.default_rng(seed)
    nodes, classes, third = 450, 4, 150
    x = _three_words(nodes, 1600, rng)
    ends = rng.integers(0, nodes, (2, third // 2))
    place = rng.permutation(nodes)  # a third train, a third test nodes, 20 for validation, the others are nobody's
    data = Data(
        x=torch.from_numpy(x),
        y=torch.from_numpy(rng.permutation(nodes) % classes),
        edge_index=torch.from_numpy(ends[:, ends[0] != ends[1]]),
        train_mask=torch.from_numpy(place < third),
        test_mask=torch.from_numpy((place >= third) & (place < 2 * third)),
        val_mask=torch.from_numpy((place >= 2 * third) & (place < 2 * third + 20)),
    )
    return check_graph(data, "planted")


def planted_network(seed: int = 0) -> Data:
    """An uneven random network of 120 nodes without features, in which almost no two nodes look alike.

    Ends of edges are drawn so that low ids have many. For positive controls of attacks on published networks.

    Args:
        seed: of the edges.
    """
    nodes, size = 120, 560
    ends = (nodes * np.random.default_rng(seed).random((2, size)) ** 2).astype(np.int64)
    one, other = np.unique(np.sort(ends[:, ends[0] != ends[1]], axis=0), axis=1)
    return data_of(Network.from_edges(nodes, one, other))


def planted_links(seed: int = 0) -> Data:
    """Thirty cliques of four nodes, random labels, nearly orthogonal binary features: links that nothing tells of.

    Each of the 120 nodes has 3 of 1,600 words. For positive controls of attacks on links.

    Args:
        seed: of everything.
    """
    from torch_geometric.data import Data

    rng = np.random.default_rng(seed)
    nodes, classes, size = 120, 4, 4
    x = _three_words(nodes, 1600, rng)
    clique = rng.permutation(nodes) // size
    linked = (clique[:, None] == clique) & ~np.eye(nodes, dtype=bool)
    place = rng.permutation(nodes)
    data = Data(
        x=torch.from_numpy(x),
        y=torch.from_numpy(rng.permutation(nodes) % classes),
        edge_index=torch.from_numpy(np.stack(linked.nonzero())),
        train_mask=torch.from_numpy(place < nodes // 2),
        val_mask=torch.from_numpy((place >= nodes // 2) & (place < 3 * nodes // 4)),
        test_mask=torch.from_numpy(place >= 3 * nodes // 4),
    )
    return check_graph(data, "planted-links")


def planted_attributes(seed: int = 0) -> Data:
    """Eight coins as features of each of 300 nodes, random labels and random edges: nothing tells of anything.

    For positive controls of attacks on attributes.

    Args:
        seed: of everything.
    """
    from torch_geometric.data import Data

    rng = np.random.default_rng(seed)
    nodes, columns, classes = 300, 8, 2
    ends = rng.integers(0, nodes, (2, 2 * nodes))
    place = rng.permutation(nodes)
    data = Data(
        x=torch.from_numpy(rng.integers(0, 2, (nodes, columns)).astype(np.float32)),
        y=torch.from_numpy(rng.permutation(nodes) % classes),
        edge_index=torch.from_numpy(ends[:, ends[0] != ends[1]]),
        train_mask=torch.from_numpy(place < nodes // 2),
        val_mask=torch.from_numpy((place >= nodes // 2) & (place < 3 * nodes // 4)),
        test_mask=torch.from_numpy(place >= 3 * nodes // 4),
    )
    return check_graph(data, "planted-attributes")


def messages(seed: int = 0) -> Data:
    """Synthetic messages with times: 1,200 among 200 people over 100 days, a network without features.

    A few people write most of them. Everybody has a day around which most of its messages fall, so that windows of
    time differ. For trying what is published by windows, without a download.

    Args:
        seed: of everything.
    """
    rng = np.random.default_rng(seed)
    people, sent, day = 200, 1_300, 86_400
    ends = np.sort((people * rng.random((2, sent)) ** 2).astype(np.int64), axis=0)
    ends = ends[:, ends[0] < ends[1]][:, :1_200]
    busiest = rng.uniform(0, 100 * day, people)
    sender = np.where(rng.random(ends.shape[1]) < 0.5, ends[0], ends[1])
    time = np.clip(rng.normal(busiest[sender], 20 * day), 0, 100 * day - 1).astype(np.int64)
    pairs, edge = np.unique(ends, axis=1, return_inverse=True)
    return data_of(Network.from_edges(people, pairs[0], pairs[1], events=Events.of(edge.ravel(), time)))


def _three_words(nodes: int, words: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Nearly orthogonal binary features, [nodes, words]: three random ones of each row are 1."""
    x = np.zeros((nodes, words), dtype=np.float32)
    for row in x:
        row[rng.choice(words, 3, replace=False)] = 1
    return x
