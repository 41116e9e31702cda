"""Whom the weights, types and directions of their edges tell apart."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arcs import degree_pairs
from ..directions import BACKWARD, FORWARD
from ..network import Floats, Ints, Network

DIGITS = 12
"""Significant digits in which sums of weights are compared: in the last ones they differ by the order of adding."""


def unique_shares(network: Network, people: int) -> dict[str, float]:
    """The share of people who are the only node with what their edges tell, by what that is.

    Always ``how many neighbours they have``; with weights ``the sum of their weights`` and ``their weights one by
    one``, with types ``their types``, with both ``their weights and types``, and with directions ``how many edges
    lead to them and away from them``.

    Args:
        network: as it is published.
        people: nodes that count, the first ones; those behind them are only there to be mistaken for somebody.
    """
    weights = network.weights
    keys: dict[str, NDArray[Any]] = {"how many neighbours they have": network.plain().degrees}
    if weights is not None:
        keys["the sum of their weights"] = _sums(network, weights)
        keys["their weights one by one"] = mark_keys(replace(network, types=None))
        if network.types is not None:
            keys["their weights and types"] = mark_keys(network)
    if network.types is not None:
        keys["their types"] = mark_keys(replace(network, weights=None))
    if network.directions is not None:
        keys["how many edges lead to them and away from them"] = way_keys(network)
    return {name: (like_them(key)[:people] == 1).mean() if people else 0.0 for name, key in keys.items()}


def mark_keys(network: Network) -> NDArray[Any]:
    """A number for each node that it shares with those whose edges have the same weights and types, [n].

    Where edges have neither it is the number of neighbours.
    """
    weights, types = network.weights, network.types
    if weights is None and types is None:
        return network.plain().degrees
    labels = np.zeros(network.size, dtype=np.int64) if types is None else types
    if weights is not None:
        labels = labels + np.unique(weights, return_inverse=True)[1] * (int(labels.max(initial=0)) + 1)
    return _multisets(network, labels)


def way_keys(network: Network) -> NDArray[Any]:
    """A number for each node that it shares with those with as many edges to them and away from them, [n]."""
    out, back = degree_pairs(network).T
    keys: Ints = out * network.nodes + back
    return keys


def type_keys(network: Network) -> NDArray[np.uint64]:
    """A number for each node that it shares with those who have as many edges of each type, each way, [n].

    Two nodes that differ share one with a chance of about 2^-64.
    """
    types = np.zeros(network.size, dtype=np.int64) if network.types is None else network.types
    ways = np.full(network.size, FORWARD) if network.directions is None else network.directions
    numbers = np.random.default_rng(0).integers(2**64, size=(int(types.max(initial=0)) + 1, 2), dtype=np.uint64)
    keys = np.zeros(network.nodes, dtype=np.uint64)
    for way, (tail, head) in ((FORWARD, network.edges), (BACKWARD, network.edges[::-1])):
        arcs = (ways & way) > 0
        into = 0 if network.directions is None else 1
        np.add.at(keys, tail[arcs], numbers[types[arcs], 0])
        np.add.at(keys, head[arcs], numbers[types[arcs], into])
    return keys


def _sums(network: Network, weights: Floats) -> Floats:
    """Of the weights at each node, to `DIGITS` digits of the largest, [n]."""
    sums = np.zeros(network.nodes)
    for end in network.edges:
        np.add.at(sums, end, weights)
    most = np.abs(weights).max(initial=0) * max(int(network.degrees.max(initial=0)), 1)
    return np.round(sums, DIGITS - int(np.ceil(np.log10(most)))) if most else sums


def _multisets(network: Network, labels: Ints) -> NDArray[np.uint64]:
    """A key of the labels at each node's edges, whatever their order: a sum of random numbers, [n].

    Two nodes that differ share a key with a chance of 2^-64.
    """
    numbers = np.random.default_rng(0).integers(2**64, size=int(labels.max(initial=0)) + 1, dtype=np.uint64)
    keys = np.zeros(network.nodes, dtype=np.uint64)
    for end in network.edges:
        np.add.at(keys, end, numbers[labels])
    return keys


def like_them(keys: NDArray[Any]) -> Ints:
    """How many share each key, itself included, [n]."""
    _, place, times = np.unique(keys, return_inverse=True, return_counts=True)
    found: Ints = times[place].astype(np.int64)
    return found
