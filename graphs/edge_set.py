"""A set of edges for compiled loops, and their random numbers.

An edge is the whole number of its two ends (`graphs/pair_codes.py`). The set is one flat array with at least twice
as many slots as edges: open addressing, linear probes, Fibonacci hashing. Taking an edge out shifts those behind it
back instead of leaving a tombstone (Knuth, The Art of Computer Programming 3, section 6.4, algorithm R), so that
the millionth switch is as fast as the first.
"""

# ruff: noqa: ANN001, ANN201  (numba infers types from values)
# mypy: ignore-errors

from typing import NamedTuple

import numpy as np
from numba import njit

EMPTY = -1
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio
_MIX_ONE, _MIX_TWO = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_27, _30, _31, _11 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(11)
_UNIT = 2.0**-53
compiled = njit(nogil=True, cache=True, error_model="numpy")


class EdgeSet(NamedTuple):
    """The slots, a power of two of them; what is left of a hash after this shift is a slot; n."""

    slots: np.ndarray
    shift: np.uint64
    nodes: np.int64


@compiled
def edge_set(ends, nodes):
    """The set of the edges whose ends stand in turn in ``ends`` [2 m]."""
    bits = 2
    while (1 << bits) < len(ends):
        bits += 1
    edges = EdgeSet(np.full(1 << bits, EMPTY, np.int64), np.uint64(64 - bits), np.int64(nodes))
    for k in range(0, len(ends), 2):
        insert(edges, code_of(edges, ends[k], ends[k + 1]))
    return edges


@compiled
def code_of(edges, one, other):
    """The whole number of a pair of nodes."""
    return min(one, other) * edges.nodes + max(one, other)


@compiled
def home(edges, code):
    """The slot where the search for a code starts."""
    return np.int64((np.uint64(code) * _GOLDEN) >> edges.shift)


@compiled
def contains(edges, code):
    """Whether an edge is there."""
    last, slot = len(edges.slots) - 1, home(edges, code)
    while edges.slots[slot] != EMPTY:
        if edges.slots[slot] == code:
            return True
        slot = (slot + 1) & last
    return False


@compiled
def insert(edges, code):
    """Adds an edge that is not there."""
    last, slot = len(edges.slots) - 1, home(edges, code)
    while edges.slots[slot] != EMPTY:
        slot = (slot + 1) & last
    edges.slots[slot] = code


@compiled
def remove(edges, code):
    """Takes out an edge that is there."""
    last, slot = len(edges.slots) - 1, home(edges, code)
    while edges.slots[slot] != code:
        slot = (slot + 1) & last
    probe = (slot + 1) & last
    while edges.slots[probe] != EMPTY:
        # one that started its search at the gap or before it would no longer be found: it moves into the gap
        if ((probe - home(edges, edges.slots[probe])) & last) >= ((probe - slot) & last):
            edges.slots[slot] = edges.slots[probe]
            slot = probe
        probe = (probe + 1) & last
    edges.slots[slot] = EMPTY


@compiled
def bits_at(seed, place):
    """Random number ``place`` of a stream, 64 bits (SplitMix64; Steele, Lea and Flood 2014)."""
    mixed = seed + np.uint64(place) * _GOLDEN
    mixed = (mixed ^ (mixed >> _30)) * _MIX_ONE
    mixed = (mixed ^ (mixed >> _27)) * _MIX_TWO
    return mixed ^ (mixed >> _31)


@compiled
def below(bits, bound):
    """A whole number below a bound from the upper 53 of 64 random bits; off uniform by less than bound / 2^53."""
    return np.int64((bits >> _11) * _UNIT * bound)
