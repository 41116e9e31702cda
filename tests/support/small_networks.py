"""Small random networks for property tests, from few draws each, so that they are cheap."""

from itertools import combinations
from math import factorial

import igraph
import numpy as np
from hypothesis import reject
from hypothesis import strategies as st

from gaudit.errors import InputError
from gaudit.graphs.network import Network


def network_of(nodes, edges):
    return Network.from_edges(nodes, [a for a, _ in edges], [b for _, b in edges])


def karate():
    return Network.from_edges(34, *np.array(igraph.Graph.Famous("Zachary").get_edgelist()).T)


def check_empty_stays(defense):
    """Networks without edges are left as they are."""
    for nodes in (0, 1, 5):
        empty = Network.from_edges(nodes, [], [])
        after = defense.on_graph(empty, np.random.SeedSequence(0))
        assert (after.nodes, after.size) == (nodes, 0)
        assert defense.verify(empty, after).holds


def ends_at_nodes(network):
    """Degrees, counted from the edges alone."""
    return np.bincount(network.edges.ravel(), minlength=network.nodes).tolist()


def switched_or_reject(defense, network, seed):
    """What a defense makes of a network, and its tally; what it refuses is no example, and is tested elsewhere."""
    try:
        after, tally = defense.switched(network, np.random.SeedSequence(seed))
    except InputError:
        reject()
    assert ends_at_nodes(after) == ends_at_nodes(network)
    return after, tally


def pairs_of(network):
    return set(map(tuple, network.edges.T.tolist()))


@st.composite
def listed_networks(draw, most=12):
    """Any network with so many nodes, from a list of its edges: dearer, and as easily dense as sparse."""
    nodes = draw(st.integers(1, most))
    pairs = [(a, b) for b in range(nodes) for a in range(b)]
    return network_of(nodes, draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else [])


@st.composite
def networks(draw, least=1, most=12):
    """Any network with so many nodes; each bit of one number says whether a pair is linked."""
    nodes = draw(st.integers(least, most))
    return network_of(nodes, sorted(_pairs(draw, nodes)))


@st.composite
def connected_networks(draw, least=2, most=14):
    """A tree, by the digits of one number, and any other edges."""
    nodes = draw(st.integers(least, most))
    tree, edges = draw(st.integers(0, factorial(nodes - 1) - 1)), _pairs(draw, nodes)
    for node in range(1, nodes):
        tree, parent = divmod(tree, node)
        edges.add((parent, node))
    return network_of(nodes, sorted(edges))


def _pairs(draw, nodes):
    every = list(combinations(range(nodes), 2))
    numbers = st.integers(0, 2 ** len(every) - 1)
    bits = draw(numbers) & draw(numbers)  # a quarter of the pairs, mostly
    return {pair for k, pair in enumerate(every) if bits >> k & 1}
