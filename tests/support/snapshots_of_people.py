"""People with attributes in snapshots, and how many are alike over windows of these: by sets of triples."""

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np

from gaudit.graphs.network import Network
from gaudit.graphs.tables.column import Column
from gaudit.graphs.tables.node_table import NodeTable

AGE, JOB, ILL = (
    Column("age", tuple("01234567"), np.arange(8.0)),
    Column("job", tuple("abc")),
    Column("ill", tuple("xyz")),
)


def people(nodes, seed, kinds=4, share=0.08, directed=True, secret=False):
    """A random network of so many types with a number and a word, drawn in the open, and a sensitive word."""
    rng = np.random.default_rng(seed)
    one, other, kind = np.nonzero(rng.random((nodes, nodes, kinds)) < share)
    keep = one < other
    one, other, kind = one[keep], other[keep], kind[keep]
    ways = rng.integers(1, 4, len(one)) if directed else None
    network = Network.from_edges(nodes, one, other, types=kind, directions=ways)
    return replace(network, people=attributes(nodes, rng, secret))


def workers(nodes, seed, secret=False):
    """The same people, of whom their word alone is an attribute: a third of them share it."""
    before = people(nodes, seed, share=0.02, secret=secret)
    words = before.people
    return replace(before, people=replace(words, runs=words.runs[:, 1:], columns=(JOB,)))


def attributes(nodes, rng, secret=False):
    """Attributes that are made up."""
    values = np.column_stack([rng.integers(8, size=nodes), rng.integers(3, size=nodes)])
    ill = ((ILL,), rng.integers(3, size=(nodes, 1))) if secret else ()
    return NodeTable.of_values((AGE, JOB), values, *ill)


def arcs(network):
    """Tail, type and head of each arc, or of both ways of an edge without direction."""
    kinds = [0] * network.size if network.types is None else network.types.tolist()
    ways = [3] * network.size if network.directions is None else network.directions.tolist()
    found = set()
    for one, other, kind, way in zip(*network.edges.tolist(), kinds, ways, strict=True):
        assert one != other
        found |= {(one, kind, other)} if way & 1 else set()
        found |= {(other, kind, one)} if way & 2 else set()
    return found


def told(network):
    """The values of which one is told to be each person's own, for each attribute."""
    if network.people is None:
        return [()] * network.nodes
    return [
        tuple(frozenset(v for low, high in runs for v in range(low, high + 1)) for runs in row)
        for row in network.people.runs.tolist()
    ]


def alike(network, window, relations=1):
    """The classes of people who are alike in each window: a list of people for each signature, window by window."""
    out, into = Counter(), Counter()
    for tail, kind, head in arcs(network):
        out[tail, kind] += 1
        into[head, kind] += 1
    snapshots = max((kind for _, kind, _ in arcs(network)), default=-1) // relations + 1
    width, cells, found = min(window or snapshots, snapshots), told(network), []
    for first in range(snapshots - width + 1):
        kinds = range(first * relations, (first + width) * relations)
        classes = defaultdict(list)
        for node in range(network.nodes):
            classes[cells[node], tuple((out[node, kind], into[node, kind]) for kind in kinds)].append(node)
        found.append(list(classes.values()))
    return found


def rarest(network, window, relations=1):
    """People who are alike in some window, at least."""
    return min(len(own) for classes in alike(network, window, relations) for own in classes)


def nothing_lost(before, after):
    """Whether all arcs are still there, own values among those told, and sensitive values as they were."""
    own = before.people.values.tolist()
    true = all(
        v in cell for row, cells in zip(own, told(after), strict=True) for v, cell in zip(row, cells, strict=True)
    )
    secret = before.people.sensitive
    same = secret is None or (after.people.sensitive == secret).all()
    return arcs(before) <= arcs(after) and true and bool(same)
