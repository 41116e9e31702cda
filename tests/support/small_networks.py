"""Small random networks for property tests, from few draws each, so that they are cheap."""

from itertools import combinations
from math import factorial

from hypothesis import strategies as st

from gaudit.graphs.network import Network


def network_of(nodes, edges):
    return Network.from_edges(nodes, [a for a, _ in edges], [b for _, b in edges])


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
