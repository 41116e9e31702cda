"""Networks by windows of time, of random messages among people of whom some write much."""

import numpy as np

from gaudit.graphs.events import Events
from gaudit.graphs.network import Network
from gaudit.graphs.pair_codes import codes, ends
from gaudit.graphs.snapshots import windowed


def messages(people: int, sent: int, seed: int) -> Network:
    """A network whose edges have times, 0 to 9,999."""
    rng = np.random.default_rng(seed)
    both = np.sort((people * rng.random((2, sent)) ** 2).astype(np.int64), axis=0)
    both = both[:, both[0] < both[1]]
    pairs, edge = np.unique(codes(*both, people), return_inverse=True)
    events = Events.of(edge, rng.integers(0, 10_000, both.shape[1]))
    return Network.from_edges(people, *ends(pairs, people), events=events)


def by_windows(people: int = 60, sent: int = 400, windows: int = 4, seed: int = 0) -> Network:
    """The same by windows of equal length."""
    return windowed(messages(people, sent, seed), windows)
