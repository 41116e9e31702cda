"""Windows of time: a network whose edges have times, cut into snapshots that are published one beside the other."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from ..errors import InputError
from .network import Ints, Network
from .pair_codes import distinct, ends

WindowsBy = Literal["time", "count"]
MOST_WINDOWS = 1000


def windowed(network: Network, windows: int, by: WindowsBy = "time") -> Network:
    """The network by windows: an edge with events in windows 0 and 2 becomes one of type 0 and one of type 2.

    The times themselves are gone: they name people, and only the numbers of windows are left. Weights are gone too,
    since one weight of an edge says nothing of the windows that it is in, and windows take the place of types.

    Args:
        network: with times.
        windows: T, how many.
        by: ``time`` for windows of equal length, ``count`` for windows with equally many events (`window_of`).

    Returns:
        A network with types 0 to T - 1; a window in which nothing happened has no edge.

    Raises:
        InputError: edges have no times, or T is no number of windows.
    """
    if network.events is None:
        raise InputError(
            "windows need times of edges, and this network has none: name a column 'time' in the file's first row, "
            "as in source,target,time"
        )
    if not 1 <= windows <= MOST_WINDOWS:
        raise InputError(f"windows={windows}: expected a number of windows from 1 to {MOST_WINDOWS}")
    of, edges = network.events.edge, network.edges
    if network.types is not None:  # a pair has one edge in a window, of whatever types its events are
        pairs = distinct(network.codes)
        of, edges = np.searchsorted(pairs, network.codes)[of], np.stack(ends(pairs, network.nodes))
    edge, window = np.divmod(np.unique(of * windows + window_of(network.events.time, windows, by)), windows)
    made = Network(network.nodes, edges[:, edge], types=window, groups=network.groups)
    return replace(made, people=network.people)


def window_of(time: Ints, windows: int, by: WindowsBy = "time") -> Ints:
    """The window of each event, 0 to T - 1, [s].

    By time it is min(floor((t - t_min) T / (t_max - t_min + 1)), T - 1). By count it is floor(r T / s), where r
    is the number of events before t: events of one time stay together.
    """
    if not len(time):
        return time.copy()
    if by == "count":
        before = np.searchsorted(np.sort(time), time, "left")
        counted: Ints = before * windows // len(time)
        return counted
    first, length = int(time.min()), int(time.max()) - int(time.min()) + 1
    if length * windows > np.iinfo(np.int64).max:  # nanoseconds of many years
        return ((time.astype(object) - first) * windows // length).astype(np.int64)
    return np.minimum((time - first) * windows // length, windows - 1)


def snapshot(network: Network, window: int) -> Network:
    """The edges of one window [2, m_t] with their weights, and all nodes: who is absent has no edge."""
    types = np.zeros(network.size, dtype=np.int64) if network.types is None else network.types
    own = types == window
    weights = None if network.weights is None else network.weights[own]
    return Network(network.nodes, network.edges[:, own], weights, groups=network.groups)


def windows_in(network: Network) -> int:
    """How many windows a network by windows has, up to the last one with an edge; 1 where edges have no types."""
    return 1 if network.types is None else int(network.types.max(initial=0)) + 1


def degree_vectors(network: Network, windows: int | None = None) -> Ints:
    """The degree of each node in each window, [n, T]; who is absent has 0 there."""
    count = windows_in(network) if windows is None else windows
    types = np.zeros(network.size, dtype=np.int64) if network.types is None else network.types
    low, high = network.edges
    places = np.concatenate([low * count + types, high * count + types])
    found: Ints = np.bincount(places, minlength=network.nodes * count).astype(np.int64)
    return found.reshape(network.nodes, count)


def window_names(windows: int) -> tuple[str, ...]:
    """What files call the windows: ``window-1`` and so on, in alphabetical order."""
    return tuple(f"window-{k + 1:0{len(str(windows))}d}" for k in range(windows))


def of_snapshots(parts: Sequence[Network]) -> Network:
    """The network by windows of which these are the snapshots, all on the same nodes: the inverse of `snapshot`."""
    low, high = np.concatenate([part.edges for part in parts], axis=1)
    types = np.repeat(np.arange(len(parts)), [part.size for part in parts])
    weights = [part.weights for part in parts if part.weights is not None]
    told = np.concatenate(weights) if len(weights) == len(parts) else None
    return Network.from_edges(parts[0].nodes, low, high, told, types)
