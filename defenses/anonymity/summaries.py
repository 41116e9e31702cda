"""Summaries of a network: groups of nodes, and how many edges there are within and between them.

Hay, Miklau, Jensen, Towsley and Weis (VLDB 2008, section 5). A summary stands for all graphs ("worlds") with these
groups and counts. Of all groupings with at least k nodes in each group, the one with the fewest worlds keeps most
of the graph. What is counted here is the number of worlds itself, a product of binomial coefficients; the authors'
program uses Stirling's form of it, which is off by most where few edges lie between small groups, as nearly always.
"""

import numpy as np

from ...graphs.network import Floats, Ints, Network

HOT, COLD = 10.0, 1e-4
"""First and last temperature, in units of the logarithm of the number of worlds. The authors begin at 1000, where
every move is accepted and the start forgotten; on ca-HepTh that ends 3 % higher after as many steps."""
STEPS = 200
"""Steps for each node, as in the authors' program."""


def counts_between(network: Network, groups: Ints) -> Ints:
    """Numbers of edges between groups, by type: rows of a group, one that is no smaller, a type and a number.

    Args:
        network: n nodes; where it has no types, all edges are of type 0.
        groups: of each node, whole numbers from 0, [n].

    Returns:
        Rows in ascending order, one for each combination that occurs, [c, 4].
    """
    one, other = np.sort(groups[network.edges], axis=0)
    kind = np.zeros(network.size, dtype=np.int64) if network.types is None else network.types
    many, kinds = int(groups.max(initial=0)) + 1, int(kind.max(initial=0)) + 1
    rows, number = np.unique((one * many + other) * kinds + kind, return_counts=True)
    pair = rows // kinds
    return np.stack([pair // many, pair % many, rows % kinds, number], 1).astype(np.int64)


def slots(counts: Ints, groups: Ints) -> Ints:
    """How many pairs of nodes each row of ``counts`` speaks of, [c]."""
    sizes = np.bincount(groups, minlength=int(counts[:, :2].max(initial=-1)) + 1).astype(np.int64)
    one, other = sizes[counts[:, 0]], sizes[counts[:, 1]]
    pairs: Ints = np.where(counts[:, 0] == counts[:, 1], one * (one - 1) // 2, one * other)
    return pairs


def presence(counts: Ints, groups: Ints) -> Floats:
    """The probability that a pair of nodes is linked, for each row of ``counts``, [c]."""
    found: Floats = counts[:, 3] / slots(counts, groups)
    return found


def log_worlds(counts: Ints, groups: Ints) -> float:
    """Natural logarithm of the number of graphs with these groups and counts; 0 where there is one only."""
    from scipy.special import gammaln

    room, number = slots(counts, groups), counts[:, 3]
    return float((gammaln(room + 1) - gammaln(number + 1) - gammaln(room - number + 1)).sum())


def alike(network: Network, k: int, rng: np.random.Generator) -> Ints:
    """Groups to start from: nodes with the same neighbours together, packed to at least k nodes, [n].

    Classes of nodes with the same neighbours that have k nodes or more are groups. The others fill groups of k, in
    the order of their first neighbours, so that those packed together lie close; the last group takes what remains.

    Raises:
        ValueError: there are fewer than k nodes.
    """
    n, adjacency = network.nodes, network.adjacency
    if n < k:
        raise ValueError(f"{n} nodes, fewer than k = {k}")
    marks = rng.integers(2**63, size=n, dtype=np.uint64)  # sets of neighbours are told apart by their sums mod 2^64
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(marks[adjacency.indices], dtype=np.uint64)])
    same = np.unique(sums[adjacency.indptr[1:]] - sums[adjacency.indptr[:-1]], return_inverse=True)[1]
    large = np.bincount(same)[same] >= k
    first = np.full(n, n)
    linked = np.diff(adjacency.indptr) > 0
    first[linked] = adjacency.indices[adjacency.indptr[:-1][linked]]
    groups = same.copy()
    rest = np.flatnonzero(~large)
    rest = rest[np.lexsort((same[rest], first[rest]))]
    groups[rest] = n + np.minimum(np.arange(len(rest)) // k, max(len(rest) // k - 1, 0))
    if 0 < len(rest) < k:  # too few for a group of their own
        groups[rest] = groups[np.flatnonzero(large)[0]]
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)


def annealed(network: Network, k: int, rng: np.random.Generator, steps: int | None = None) -> Ints:
    """Groups of at least k nodes with few worlds, by simulated annealing.

    The moves are the authors': a node changes groups, a group falls in two, two groups become one or are dealt out
    anew; and one more, a node and a random one of the other group change places, without which groups of exactly k
    stay as they are. The other group is that of a node two steps away, of a like degree (it is passed over with the
    ratio of the degrees: a hub and a leaf never pay). A move that is not allowed counts as a step. Only what
    touches the two groups is counted anew. The temperature falls geometrically. Other than the authors' the search
    does not stop where few steps change anything: much of the gain comes after that.

    Args:
        network: types and weights are not looked at.
        k: fewest nodes of a group, at least 1.
        rng: of the start, the search and the numbers of the groups.
        steps: how many; None: 200 for each node, for 100 nodes at least.

    Returns:
        A group for each node, numbered from 0 in random order, [n]; never with more worlds than `alike` has.

    Raises:
        ValueError: there are fewer than k nodes.
    """
    from .annealing_kernel import search

    first, adjacency = alike(network, k, rng), network.adjacency
    start, near = adjacency.indptr.astype(np.int64), adjacency.indices.astype(np.int64)
    found, plain = first.copy(), network.plain()
    count = STEPS * max(network.nodes, 100) if steps is None else steps
    search(start, near, found, k, count, HOT, COLD, rng.integers(2**63, dtype=np.uint64))
    worlds = [log_worlds(counts_between(plain, groups), groups) for groups in (first, found)]
    groups = np.unique(found if worlds[1] < worlds[0] else first, return_inverse=True)[1]
    numbered: Ints = rng.permutation(groups.max(initial=-1) + 1)[groups]
    return numbered


def sampled(counts: Ints, groups: Ints, rng: np.random.Generator, typed: bool = False) -> Network:
    """A graph with exactly these counts, every such graph equally likely.

    Args:
        counts: rows of a group, one that is no smaller, a type and a number of edges, [c, 4]; no two rows of the
            same groups and type.
        groups: of each node, [n].
        rng: of the draw.
        typed: whether edges have types; several types may then lie between two nodes.

    Raises:
        ValueError: more edges than there is room for, or less than none.
    """
    counts = counts[counts[:, 3] != 0]
    room = slots(counts, groups)
    if (counts[:, 3] > room).any() or (counts[:, 3] < 0).any():
        raise ValueError("more edges between two groups than pairs of their nodes, or less than none")
    row, slot = distinct_slots(room, counts[:, 3], rng)
    order, sizes = np.argsort(groups, kind="stable"), np.bincount(groups)
    first, (one, other) = np.cumsum(sizes) - sizes, counts[row, :2].T
    width = np.where(one == other, 1, sizes[other])
    i, j = slot // width, slot % width
    within = one == other
    j[within] = ((1 + np.sqrt(1 + 8 * slot[within])) / 2).astype(np.int64)  # exact for groups of 10^7 nodes
    i[within] = slot[within] - j[within] * (j[within] - 1) // 2
    types = counts[row, 2] if typed else None
    return Network.from_edges(
        len(groups), order[first[one] + i], order[first[other] + j], types=types, groups=groups
    )


def distinct_slots(room: Ints, number: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """For each row a uniform set of ``number`` different slots out of ``room``, all rows at once.

    Slots are drawn with replacement, and what came twice is drawn again: the first different values of a sequence
    of independent ones are a uniform set. Where more than half is wanted, the slots that stay empty are drawn.

    Args:
        room: slots of each row, positive [c].
        number: how many to take, 0 to room, [c].
        rng: of the draw.

    Returns:
        The row and the slot of each, [sum of number] twice; rows ascend.
    """
    base, dense = np.cumsum(room) - room, 2 * number > room
    wanted = np.where(dense, room - number, number)
    taken, missing = np.empty(0, dtype=np.int64), wanted
    while missing.any():
        rows = np.repeat(np.arange(len(room)), missing)
        taken = np.sort(np.concatenate([taken, base[rows] + rng.integers(room[rows])]))
        taken = taken[np.diff(taken, prepend=-1) > 0]
        missing = wanted - np.bincount(np.searchsorted(base, taken, side="right") - 1, minlength=len(room))
    full = np.repeat(base[dense], room[dense])
    every = full + np.arange(len(full)) - np.repeat(np.cumsum(room[dense]) - room[dense], room[dense])
    rows = np.searchsorted(base, taken, side="right") - 1
    instead = np.setdiff1d(every, taken[dense[rows]], assume_unique=True)
    taken = np.sort(np.concatenate([taken[~dense[rows]], instead]))
    rows = np.searchsorted(base, taken, side="right") - 1
    return rows, taken - base[rows]
