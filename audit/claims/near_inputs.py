"""Neighbouring inputs made from two given ones, for a search of those that a mechanism hides least.

A pair that is no pair of neighbours would accuse a sound mechanism. So what is made stays within what the given
inputs and the claim allow: other people's data are made of values that occur in the given ones; what the unit
changes never becomes larger; networks get other edges, and as many nodes; and where the claim takes more as public
than the nodes, no degree exceeds those given. Numbers are only moved up or down where one who holds all data adds
the noise, so that others may have added to both, and where releases were seen to move along: an answer of yes or
no, or a category, does not.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...graphs.network import MARKS, Floats, Ints, Network
from ...mechanisms.guarantee import Guarantee

Pair = tuple[Any, Any]
"""An input without the unit, or with one unit, and a neighbouring one with it, or with another."""
MovesAlong = Callable[[Pair, Pair], bool]
"""Whether releases on the second pair lie as much higher as the pair does."""

MOVES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 20, 50, 100, 1000)
OTHERS = (0, 1, 2, 5, 20)
"""How many records beside the unit's are tried."""
BOUNDING = frozenset(("degree", "degrees", "bound", "neighbours", "edges"))
"""Words of what is public by which degrees may be bounded."""
PROBE = 40
"""How far numbers are moved, at first, to see whether releases follow."""


def near_inputs(
    given: Pair, claim: Guarantee, rng: np.random.Generator, moves_along: MovesAlong, most: int
) -> list[Pair]:
    """Pairs of neighbours, the given one first, at most so many.

    Args:
        given: neighbours in the sense of the claim.
        claim: its unit, adjacency and model say what neighbours are.
        rng: draws some of the pairs, and which ones are kept of the second half where there are too many.
        moves_along: tells whether a number may be moved.
        most: how many pairs, the given one included.
    """
    found = list(_made(given, claim, rng, moves_along))
    first, rest = found[: most // 2], found[most // 2 :]
    kept = sorted(rng.permutation(len(rest))[: most - 1 - len(first)])
    return [given, *first, *(rest[i] for i in kept)]


def _made(given: Pair, claim: Guarantee, rng: np.random.Generator, moves_along: MovesAlong) -> Iterator[Pair]:
    """Pairs by what the given inputs are."""
    if (graphs := _as_graphs(given)) is not None:
        yield from _graphs(graphs, claim, rng)
    elif (records := _as_records(given)) is not None:
        yield from _records(records, rng)
    elif (vectors := _as_vectors(given)) is not None:
        yield from _vectors(vectors, claim, rng, moves_along)
    elif (one := _one_part(given)) is not None:
        place, part = one

        def whole(pair: Pair) -> Pair:
            low, high = (tuple(value if i == place else old for i, old in enumerate(given[0])) for value in pair)
            return low, high

        inner = _made(part, claim, rng, lambda before, after: moves_along(whole(before), whole(after)))
        yield from map(whole, inner)


def _one_part(given: Pair) -> tuple[int, Pair] | None:
    """The one part in which two tuples differ."""
    if not all(isinstance(data, tuple) for data in given) or len(given[0]) != len(given[1]):
        return None
    differing = [i for i, parts in enumerate(zip(*given, strict=True)) if not same(*parts)]
    return (differing[0], (given[0][differing[0]], given[1][differing[0]])) if len(differing) == 1 else None


def same(one: Any, other: Any) -> bool:
    """Whether two inputs, or parts of them, are equal; no where that cannot be told."""
    if isinstance(one, Network) and isinstance(other, Network):
        return one.digest == other.digest
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    try:
        return bool(np.array_equal(one, other))
    except (TypeError, ValueError, RuntimeError):  # tensors compare in ways of their own
        return False


# --- networks


@dataclass(frozen=True)
class _Graphs:
    """Two graphs as symmetric matrices, the differing part, and how to make one of their kind."""

    matrices: tuple[Ints, Ints]
    make: Callable[[Ints], Any]


def _as_graphs(given: Pair) -> _Graphs | None:
    first = given[0]
    if all(isinstance(data, Network) and _is_plain(data) for data in given):
        matrices = [(data.adjacency.toarray() > 0).astype(np.int64) for data in given]
        if max(map(len, matrices)) > 200:
            return None
        return _Graphs((matrices[0], matrices[1]), _network)
    if all(isinstance(data, np.ndarray) and _is_adjacency(data) for data in given):
        return _Graphs(
            (given[0].astype(np.int64), given[1].astype(np.int64)), lambda full: full.astype(first.dtype)
        )
    if all(type(data).__module__.startswith("networkx") and not data.is_directed() for data in given):
        import networkx

        names = sorted(set(given[0]) | set(given[1]), key=str)
        if len(given[0]) == len(given[1]) == len(names):
            one, other = (networkx.to_numpy_array(data, nodelist=names, weight=None) for data in given)

            def graph(full: Ints) -> Any:
                made = networkx.Graph()
                made.add_nodes_from(names if len(full) == len(names) else range(len(full)))
                listed = names if len(full) == len(names) else list(range(len(full)))
                made.add_edges_from((listed[u], listed[v]) for u, v in np.argwhere(np.triu(full)).tolist())
                return made

            return _Graphs((one.astype(np.int64), other.astype(np.int64)), graph)
    return None


def _is_plain(network: Network) -> bool:
    """Whether it has nothing but edges: where these have directions, one edge is not the unit."""
    return all(getattr(network, mark) is None for mark in MARKS)


def _network(full: Ints) -> Network:
    low, high = np.nonzero(np.triu(full))
    return Network.from_edges(len(full), low, high)


def _is_adjacency(data: np.ndarray) -> bool:
    square = data.ndim == 2 and data.shape[0] == data.shape[1] and len(data) > 1
    return bool(square and np.isin(data, (0, 1)).all() and (data == data.T).all() and not data.diagonal().any())


def _graphs(given: _Graphs, claim: Guarantee, rng: np.random.Generator) -> Iterator[Pair]:
    """Neighbours among graphs of several shapes."""
    size = max(map(len, given.matrices))
    most = max(int(full.sum(1).max(initial=0)) for full in given.matrices)
    free = all("node" in known and not BOUNDING & set(known.split()) for known in claim.public)
    change = {"edge": _edge_changes, "node": _node_changes}.get(claim.unit)
    if change is None or size < 2:
        return
    for shape in _shapes(size, rng):
        for one, other in change(shape, claim.adjacency, rng):
            highest = max(int(full.sum(1).max(initial=0)) for full in (one, other))
            if free or highest <= most:
                yield given.make(one), given.make(other)


def _shapes(size: int, rng: np.random.Generator) -> Iterator[Ints]:
    """No edges, a hub, two hubs, all edges, a ring, a matching and random ones."""
    empty = np.zeros((size, size), dtype=np.int64)
    star, hubs, ring, pairs = (empty.copy() for _ in range(4))
    star[0, 1:] = 1
    hubs[:2, 2:] = 1
    places = np.arange(size)
    ring[places, (places + 1) % size] = 1
    pairs[places[:-1:2], places[1::2]] = 1
    full = np.ones_like(empty)
    for shape in (empty, star, hubs, full, ring, pairs):
        yield _closed(shape)
    for share in (0.2, 0.5, 0.8):
        yield _closed(np.triu(rng.random((size, size)) < share).astype(np.int64))


def _closed(some: Ints) -> Ints:
    """Symmetric, without loops."""
    found: Ints = ((some + some.T) > 0).astype(np.int64)
    np.fill_diagonal(found, 0)
    return found


def _edge_changes(shape: Ints, adjacency: str, rng: np.random.Generator) -> Iterator[tuple[Ints, Ints]]:
    """The first edge and one at random: gone and there, or elsewhere."""
    size = len(shape)
    for u, v in {(0, 1), tuple(sorted(rng.choice(size, 2, replace=False).tolist()))}:
        without, inside = shape.copy(), shape.copy()
        without[u, v] = without[v, u] = 0
        inside[u, v] = inside[v, u] = 1
        if adjacency == "replace":
            empty = np.argwhere(np.triu(1 - inside, 1))
            if not len(empty):
                continue
            s, t = empty[rng.integers(len(empty))]
            without[s, t] = without[t, s] = 1
        yield without, inside


def _node_changes(shape: Ints, adjacency: str, rng: np.random.Generator) -> Iterator[tuple[Ints, Ints]]:
    """The first node: gone, blank, or with other edges; linked to all others, to none, or as it is."""
    size = len(shape)
    linked, random = shape.copy(), shape.copy()
    linked[0, 1:] = linked[1:, 0] = 1
    random[0, 1:] = random[1:, 0] = rng.random(size - 1) < 0.5
    blank = shape.copy()
    blank[0], blank[:, 0] = 0, 0
    for inside in (linked, shape, random):
        yield (blank[1:, 1:] if adjacency == "add/remove" else blank), inside


# --- records: one more or less


@dataclass(frozen=True)
class _Records:
    """The values that occur, how many beside the unit's there are, and how to make a list of their kind."""

    pool: list[Any]
    others: int
    make: Callable[[list[Any]], Any]


def _as_records(given: Pair) -> _Records | None:
    """Two lists of which one has one more."""
    shorter, longer = given
    if isinstance(shorter, np.ndarray) and isinstance(longer, np.ndarray) and shorter.ndim and longer.ndim:
        if len(longer) != len(shorter) + 1 or shorter.shape[1:] != longer.shape[1:]:
            return None
        kind, tail = longer.dtype, longer.shape[1:]
        return _Records(list(longer), len(shorter), lambda rows: np.array(rows, dtype=kind).reshape(-1, *tail))
    for kind_ in (list, tuple, set, frozenset):
        if type(shorter) is type(longer) is kind_ and len(longer) == len(shorter) + 1:
            pool = sorted(longer, key=repr) if kind_ in (set, frozenset) else list(longer)
            return _Records(pool, len(shorter), kind_)
    return None


def _records(given: _Records, rng: np.random.Generator) -> Iterator[Pair]:
    """Other people's values: all alike, of two kinds, or drawn; and each value for the unit."""
    pool = given.pool
    try:
        ends = [min(pool), max(pool)]
    except (TypeError, ValueError):
        ends = [pool[0], pool[-1]]
    distinct = given.make is set or given.make is frozenset
    for count in sorted({*OTHERS, given.others, given.others + 1}):
        mixed = [ends[0]] * (count // 2) + [ends[1]] * (count - count // 2)
        drawn = [pool[i] for i in rng.integers(len(pool), size=count)]
        for others in ([ends[0]] * count, [ends[1]] * count, mixed, drawn):
            for mine in (ends[0], ends[1], pool[int(rng.integers(len(pool)))]):
                if distinct and mine in others:
                    continue
                yield given.make(others), given.make([*others, mine])


# --- numbers


@dataclass(frozen=True)
class _Vectors:
    """Two vectors of the same length, and how to make an input of one."""

    one: Floats
    other: Floats
    make: Callable[[Floats], Any]
    whole: bool


def _as_vectors(given: Pair) -> _Vectors | None:
    """Numbers, or arrays, lists, tuples or mappings of as many numbers."""
    first, second = given
    if isinstance(first, bool) or isinstance(second, bool):
        return None
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        keys = list(first)
        if list(second) != keys:
            return None
        inner = _as_vectors((list(first.values()), list(second.values())))
        return inner and _Vectors(
            inner.one, inner.other, lambda v: dict(zip(keys, inner.make(v), strict=True)), inner.whole
        )
    try:
        one, other = (np.asarray(data, dtype=float) for data in given)
    except (TypeError, ValueError, RuntimeError):
        return None
    if one.shape != other.shape or not one.size or not np.isfinite([one, other]).all() or (one == other).all():
        return None
    whole = all(np.asarray(data).dtype.kind in "iu" for data in given)
    make = _maker(first, whole)
    return None if make is None else _Vectors(one.ravel(), other.ravel(), make, whole)


def _maker(like: Any, whole: bool) -> Callable[[Floats], Any] | None:
    """How to make such a number, array or list of a vector."""
    if isinstance(like, np.ndarray) and like.dtype.kind in "iuf" and like.ndim:
        return lambda v: v.reshape(like.shape).astype(like.dtype)
    if isinstance(like, int | float | np.generic):
        return lambda v: int(v[0]) if whole else float(v[0])
    if isinstance(like, list | tuple) and not any(isinstance(x, list | tuple | bool) for x in like):
        return lambda v: type(like)([int(x) for x in v] if whole else v.tolist())
    if hasattr(like, "detach") and hasattr(like, "new_tensor"):
        return lambda v: like.new_tensor(v.reshape(tuple(like.shape)))
    return None


def _vectors(
    given: _Vectors, claim: Guarantee, rng: np.random.Generator, moves_along: MovesAlong
) -> Iterator[Pair]:
    """Moved, elsewhere, in part, turned round in places, and among other values."""
    apart = np.flatnonzero(given.one != given.other)
    shared = np.flatnonzero(given.one == given.other)
    if claim.model == "central" and _may_move(given, moves_along):
        yield from _moved(given, apart, shared)
    pairs = [(given.one, given.other)]
    pairs += list(_elsewhere(given, apart, rng))
    pairs += list(_in_part(given, apart, rng))
    if claim.model == "central" and len(set(np.sign(given.other - given.one)[apart])) > 1:
        pairs += list(_turned(given, apart, rng))
    pairs += [_among(pair, shared, rng) for pair in list(pairs) for _ in range(2) if len(shared)]
    yield from ((given.make(one), given.make(other)) for one, other in pairs[1:])


def _elsewhere(given: _Vectors, apart: Ints, rng: np.random.Generator) -> Iterator[tuple[Floats, Floats]]:
    """Places exchanged, the same in both: the last one first, the first one, and at random."""
    size = len(given.one)
    if size == len(apart) == 1:
        return
    for shift in {size - 1 - int(apart[-1]), -int(apart[0])} - {0}:
        yield np.roll(given.one, shift), np.roll(given.other, shift)
    for _ in range(2):
        order = rng.permutation(size)
        yield given.one[order], given.other[order]


def _in_part(given: _Vectors, apart: Ints, rng: np.random.Generator) -> Iterator[tuple[Floats, Floats]]:
    """The unit changes less: fewer places, or half as much, or hardly anything."""
    for count in sorted({1, len(apart) // 2} - {0, len(apart)}):
        for _ in range(2):
            other = given.one.copy()
            some = rng.permutation(apart)[:count]
            other[some] = given.other[some]
            yield given.one, other
    if not given.whole:
        for share in (0.5, 0.1, 0.01):
            step = share * (given.other - given.one)
            yield given.one, given.one + step
            yield given.other - step, given.other


def _turned(given: _Vectors, apart: Ints, rng: np.random.Generator) -> Iterator[tuple[Floats, Floats]]:
    """In some places what was the first input's is the other's; in all that differ, the first lies below."""
    for some in (apart[given.one[apart] > given.other[apart]], rng.permutation(apart)[: len(apart) // 2]):
        one, other = given.one.copy(), given.other.copy()
        one[some], other[some] = given.other[some], given.one[some]
        yield one, other


def _among(pair: tuple[Floats, Floats], shared: Ints, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Places that both have in common hold other values that occur."""
    one, other = pair[0].copy(), pair[1].copy()
    same = np.flatnonzero(one == other)
    pool = np.concatenate([one, other])
    values = (
        np.full(len(same), rng.choice([pool.min(), pool.max()]))
        if rng.random() < 0.5
        else rng.choice(pool, size=len(same))
    )
    one[same] = other[same] = values
    return one, other


def _may_move(given: _Vectors, moves_along: MovesAlong) -> bool:
    """Whether the numbers are sums or counts, to which others may have added."""
    before = given.make(given.one), given.make(given.other)
    after = given.make(given.one + PROBE), given.make(given.other + PROBE)
    return moves_along(before, after)


def _moved(given: _Vectors, apart: Ints, shared: Ints) -> Iterator[tuple[Floats, Floats]]:
    """Where the inputs differ, from 0 on and by so much more; beside nothing, or beside much."""
    low = np.minimum(given.one, given.other)[apart]
    starts = [np.zeros(len(apart)), *(low + move for move in MOVES), *([low + 0.25, low + 0.5] * (not given.whole))]
    starts += [np.full(len(apart), float(k)) for k in (1, 2, 4, 9)]
    for i, start in enumerate(starts):
        for rest in (None, 0.0, 100.0) if len(shared) and i in (0, len(MOVES)) else (None,):
            one, other = given.one.copy(), given.other.copy()
            if rest is not None:
                one[shared] = other[shared] = rest
            one[apart] += start - low
            other[apart] += start - low
            yield given.make(one), given.make(other)
