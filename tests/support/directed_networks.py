"""Directed networks: drawn ones as plain sets of arcs, and real ones."""

from collections import Counter
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from gaudit.graphs.directions import BACKWARD, BOTH, FORWARD
from gaudit.graphs.files.network_file import read_network
from gaudit.graphs.network import Network

REAL = {"wiki-Vote": "snap/wiki-Vote.txt.gz", "PolBlogs": "PolBlogs/raw/adjacency.tsv"}


def network_of_arcs(nodes, arcs):
    """The directed network of pairs of tail and head."""
    pairs = sorted({(min(arc), max(arc)) for arc in arcs})
    ways = [FORWARD * ((a, b) in arcs) + BACKWARD * ((b, a) in arcs) for a, b in pairs]
    low, high = ([pair[end] for pair in pairs] for end in (0, 1))
    return Network.from_edges(nodes, low, high, directions=np.array(ways, dtype=np.int64))


def arcs_in(network) -> set[tuple[int, int]]:
    """Tail and head of every arc, read off the codes one by one."""
    found = set()
    for a, b, way in zip(*network.edges.tolist(), network.directions.tolist(), strict=True):
        assert way in (FORWARD, BACKWARD, BOTH)
        found |= {(a, b)} if way != BACKWARD else set()
        found |= {(b, a)} if way != FORWARD else set()
    return found


def pairs_by_sets(network) -> list[tuple[int, int]]:
    """How many arcs lead out of each node and into it, by plain sets."""
    out, back = ([set() for _ in range(network.nodes)] for _ in range(2))
    for tail, head in arcs_in(network):
        assert tail != head
        out[tail].add(head)
        back[head].add(tail)
    return [(len(heads), len(tails)) for heads, tails in zip(out, back, strict=True)]


def rarest_pair(network) -> int:
    """How often the rarest pair of degrees occurs."""
    return min(Counter(pairs_by_sets(network)).values())


@st.composite
def directed_networks(draw, least=1, most=9):
    """Any directed network with so many nodes; each bit of one number says whether there is an arc."""
    nodes = draw(st.integers(least, most))
    every = [(a, b) for a in range(nodes) for b in range(nodes) if a != b]
    numbers = st.integers(0, 2 ** len(every) - 1)
    bits = draw(numbers) & draw(numbers)  # a quarter of the arcs, mostly
    return network_of_arcs(nodes, {arc for k, arc in enumerate(every) if bits >> k & 1})


def real(folder: Path, name: str) -> Network:
    """A directed network of the folder with data."""
    return read_network(folder / REAL[name], directed="told").network
