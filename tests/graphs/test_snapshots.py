"""Windows of time: their numbers of people who are told apart, by rules that are written out here again."""

import numpy as np
import pytest

from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.graphs.events import Events
from gaudit.graphs.network import Network
from gaudit.graphs.pyg import data_of, network_of_data
from gaudit.graphs.snapshots import degree_vectors, snapshot, window_of, windowed, windows_in

WINDOWS = (1, 2, 4, 8, 16)
# of each network by windows: classes, edges summed over windows, share who are alone, share with 9 others at least;
# and both shares for eight windows with equally many messages
GOLDEN = {
    "CollegeMsg": (
        (114, 392, 748, 1033, 1224),
        (13838, 14196, 14934, 16174, 17371),
        (1.7, 13.2, 31.6, 47.5, 58.3),
        (88.2, 66.2, 46.8, 35.4, 23.5),
        (58.1, 27.0),
    ),
    "email-Eu-core-temporal": (
        (140, 604, 816, 887, 910),
        (16064, 21853, 28272, 38678, 51856),
        (4.8, 46.9, 77.9, 87.6, 90.2),
        (67.1, 12.8, 8.2, 6.2, 2.3),
        (89.4, 3.1),
    ),
}


def timed(nodes: int, messages: int, seed: int) -> tuple[Network, list[tuple[int, int, int]]]:
    """A network of random messages, and these: both ends, ascending, and a time."""
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(0, nodes, (messages, 2)), axis=1)
    sent = [
        (int(a), int(b), int(t)) for (a, b), t in zip(ends, rng.integers(5, 40, messages), strict=True) if a != b
    ]
    pairs = sorted({(a, b) for a, b, _ in sent})
    events = Events.of(np.array([pairs.index((a, b)) for a, b, _ in sent]), np.array([t for *_, t in sent]))
    return Network.from_edges(nodes, *np.array(pairs).T, events=events), sent


def shares(network: Network, windows: int) -> tuple[int, float, float]:
    """Different vectors of degrees, and the shares in per cent who are alone or have nine others, by counting."""
    rows = [tuple(row) for row in degree_vectors(network, windows).tolist()]
    size = {row: rows.count(row) for row in set(rows)} if len(rows) < 3000 else {}
    found = np.array([size[row] for row in rows])
    return len(size), round(100 * float((found == 1).mean()), 1), round(100 * float((found >= 10).mean()), 1)


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_values_of_real_networks(gaudit_data, name):
    network = network_of_data(load_dataset(name, gaudit_data))
    classes, edges, alone, ten, by_count = GOLDEN[name]
    for place, count in enumerate(WINDOWS):
        cut = windowed(network, count)
        assert cut.size == edges[place]
        assert shares(cut, count) == (classes[place], alone[place], ten[place])
    assert shares(windowed(network, 8, "count"), 8)[1:] == by_count


@pytest.mark.parametrize("by", ["time", "count"])
@pytest.mark.parametrize("seed", range(5))
def test_windows_are_what_plain_sets_say(by, seed):
    network, sent = timed(12, 60, seed)
    times = sorted(t for *_, t in sent)
    first, length = times[0], times[-1] - times[0] + 1
    for count in (1, 3, 7):

        def of(time, count=count):
            if by == "time":
                return min((time - first) * count // length, count - 1)
            return sum(other < time for other in times) * count // len(times)

        expected = {(a, b, of(t)) for a, b, t in sent}
        cut = windowed(network, count, by)
        assert set(zip(*cut.edges.tolist(), cut.types.tolist(), strict=True)) == expected
        assert cut.size == len(expected)
        assert cut.events is None
        same = Network.from_edges(cut.nodes, *cut.edges, types=cut.types)
        assert same.digest == cut.digest  # in the order that networks keep
        for node in range(12):
            for window in range(count):
                own = {frozenset(pair) for *pair, w in expected if w == window and node in pair}
                assert degree_vectors(cut, count)[node, window] == len(own)
                assert snapshot(cut, window).degrees[node] == len(own)


def test_events_go_with_their_edges_and_leave_with_everything_else():
    network, _ = timed(12, 60, 0)
    new = np.random.default_rng(1).permutation(12)
    moved = network.renamed(new)
    assert windowed(moved, 4).digest == windowed(network, 4).renamed(new).digest
    assert network_of_data(data_of(moved)).digest == moved.digest != moved.plain().digest
    assert moved.plain().events is None
    assert moved.with_edges(moved.codes[:3], np.random.default_rng(0)).events is None


@pytest.mark.parametrize("seed", range(5))
def test_windows_take_the_place_of_types(seed):
    coins = np.random.default_rng(seed)
    low, high = coins.integers(0, 8, (2, 80))
    low, high = low[low != high], high[low != high]
    types, time = coins.integers(0, 3, len(low)), coins.integers(0, 100, len(low))
    edge, own = np.unique(
        np.stack([np.minimum(low, high), np.maximum(low, high), types]), axis=1, return_inverse=True
    )
    order = np.argsort(own, kind="stable")
    events = Events.of(own[order], time[order])
    typed = Network.from_edges(8, edge[0], edge[1], types=edge[2], events=events)
    first, length = time.min(), time.max() - time.min() + 1
    ends = zip(np.minimum(low, high).tolist(), np.maximum(low, high).tolist(), time.tolist(), strict=True)
    expected = {(a, b, min((t - first) * 4 // length, 3)) for a, b, t in ends}
    cut = windowed(typed, 4)
    assert set(zip(*cut.edges.tolist(), cut.types.tolist(), strict=True)) == expected
    assert cut.size == len(expected)


def test_times_of_nanoseconds_do_not_overflow():
    time = np.array([0, 2**61, 2**62 - 1], dtype=np.int64)
    assert window_of(time, 1000).tolist() == [0, 500, 999]
    assert window_of(time[:0], 4).tolist() == []


def test_what_has_no_windows_is_refused():
    plain = Network.from_edges(3, [0, 1], [1, 2])
    events = Events.of(np.array([0, 1]), np.array([1, 2]))
    with pytest.raises(InputError, match="windows need times of edges"):
        windowed(plain, 2)
    with pytest.raises(InputError, match="windows=0: expected"):
        windowed(Network.from_edges(3, [0, 1], [1, 2], events=events), 0)
    assert windows_in(plain) == 1
    assert degree_vectors(plain).tolist() == [[1], [2], [1]]
