"""Random people with attributes in a network, and what is told of them: by texts, dictionaries and sets."""

from collections import Counter
from dataclasses import replace

import numpy as np

from gaudit.graphs.network import Network
from gaudit.graphs.tables.levels import column_of, places
from gaudit.graphs.tables.node_table import NodeTable


def people(nodes, seed, share=0.15, values=(12, 4), secrets=4):
    """A random network of people with a number, a word with a hierarchy, and a sensitive value."""
    rng = np.random.default_rng(seed)
    one, other = np.nonzero(np.triu(rng.random((nodes, nodes)) < share, 1))
    ages = [str(20 + age) for age in rng.integers(values[0], size=nodes)]
    cities = [f"{'NS'[city % 2]}{city}" for city in rng.integers(values[1], size=nodes)]
    tree = {f"{'NS'[c % 2]}{c}": ("north" if c % 2 == 0 else "south",) for c in range(values[1])}
    columns = (column_of("age", ages), column_of("city", cities, tree))
    rows = np.column_stack([places(columns[0], ages), places(columns[1], cities)])
    ill = [f"d{d}" for d in rng.integers(secrets, size=nodes)]
    secret = column_of("illness", ill)
    table = NodeTable.of_values(columns, rows, (secret,), places(secret, ill)[:, None])
    return replace(Network.from_edges(nodes, one, other), people=table)


def told(network):
    """What is told of each node, as texts."""
    table = network.people
    return [
        tuple(column.text(runs) for column, runs in zip(table.columns, row, strict=True))
        for row in table.runs.tolist()
    ]


def degrees(network):
    pairs = list(map(tuple, network.edges.T.tolist()))
    assert len(set(pairs)) == len(pairs)
    times = Counter(end for pair in pairs for end in pair)
    return [times[node] for node in range(network.nodes)]


def signatures(network, with_degree=True):
    numbers = degrees(network) if with_degree else [0] * network.nodes
    return list(zip(told(network), numbers, strict=True))
