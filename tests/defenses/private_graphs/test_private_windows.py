"""A private graph for each window: the law of all of them together, by brute force; budgets; what is refused."""

from fractions import Fraction
from itertools import product
from math import exp, prod

import numpy as np
import pytest

from gaudit.defenses.private_graphs.private_windows import METHODS, PrivateWindows
from gaudit.errors import InputError
from gaudit.graphs.events import Events
from gaudit.graphs.network import Network
from gaudit.graphs.pair_codes import ends
from gaudit.graphs.snapshots import of_snapshots, snapshot, windowed
from gaudit.mechanisms.public_inputs import exact_epsilon
from gaudit.targets.publishing.publish import Publish
from support.messages_over_time import by_windows
from support.tmf_law import law

WINDOWS = 2
PAIRS = [1, 2, 5]  # of three nodes
FINE = 1e-9


def of_pairs(pairs):
    return Network.from_edges(3, *ends(np.array(pairs, dtype=np.int64), 3))


def windows_of(messages):
    """The edges of each window, of messages (pair, window): by sets."""
    return [sorted({pair for pair, window in messages if window == own}) for own in range(WINDOWS)]


def worst_ratio(one, other, epsilon):
    """Of any publication of all windows, whose laws multiply: the worst of each window, both ways."""
    laws = [[law(of_pairs(pairs), epsilon) for pairs in windows_of(messages)] for messages in (one, other)]
    return max(
        prod(max(a[told] / b[told] for told in a) for a, b in zip(*way, strict=True)) for way in (laws, laws[::-1])
    )


def neighbours(messages, unit):
    """Inputs with one message less, or with no message of one pair."""
    if unit == "event":
        return [messages[:place] + messages[place + 1 :] for place in range(len(messages))]
    return [tuple(m for m in messages if m[0] != pair) for pair in sorted({pair for pair, _ in messages})]


@pytest.mark.parametrize("unit", ["event", "edge-history"])
def test_no_publication_of_all_windows_is_more_than_epsilon_likelier_without_the_unit(unit):
    """All lists of up to four messages among three people in two windows, one of them told twice."""
    total = Fraction(3, 2)
    made = PrivateWindows(epsilon=float(total), unit=unit, graph="tmf")
    each = exact_epsilon(made.each(WINDOWS))
    assert each == (total / WINDOWS if unit == "edge-history" else total)
    every = list(product(PAIRS, range(WINDOWS)))
    lists = [tuple(m for m, there in zip(every, told, strict=True) if there) for told in product((0, 1), repeat=6)]
    lists = [messages for messages in lists if 0 < len(messages) <= 4]
    lists.append(((1, 0), (1, 0), (5, 1)))
    worst = max(worst_ratio(one, other, each) for one in lists for other in neighbours(one, unit))
    assert worst <= exp(total) * (1 + FINE)
    assert worst >= exp(total) * 0.5  # the bound is no guess
    if unit == "edge-history":  # what a message costs is too little for a pair
        spent = max(worst_ratio(one, other, total) for one in lists for other in neighbours(one, unit))
        assert spent > exp(total) * 1.5


@pytest.mark.parametrize("graph", METHODS)
def test_each_window_is_made_of_itself_alone_with_coins_of_its_own(graph):
    """Another window changes nothing; two windows with the same edges are told differently."""
    before = by_windows(30, 300, 3)
    parts = [snapshot(before, window) for window in range(3)]
    made, seed = PrivateWindows(epsilon=3.0, graph=graph), np.random.SeedSequence(5)
    told = made.on_graph(before, seed)
    other = made.on_graph(of_snapshots([parts[0], parts[2], parts[2]]), seed)
    for window in (0, 2):
        assert snapshot(told, window).digest == snapshot(other, window).digest
    assert snapshot(other, 1).digest != snapshot(other, 2).digest
    alone = METHODS[graph](epsilon=1.0).on_graph(parts[1], np.random.SeedSequence(0))
    assert alone.nodes == told.nodes


def test_without_noise_every_window_has_its_degrees():
    before = by_windows(60, 400, 4)
    after = PrivateWindows(epsilon=1e5).on_graph(before, np.random.SeedSequence(0))
    for window in range(4):
        assert sorted(snapshot(after, window).degrees) == sorted(snapshot(before, window).degrees)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 1 / 3, 2.7, 7.0])
def test_windows_never_spend_more_than_is_promised(epsilon):
    made = PrivateWindows(epsilon=epsilon)
    for windows in range(1, 200):
        assert windows * exact_epsilon(made.each(windows)) <= made.promise().epsilon <= exact_epsilon(epsilon)
    assert PrivateWindows(epsilon=epsilon, unit="event").each(50) == epsilon


def test_a_plain_network_is_one_window_and_seeds_repeat():
    before = by_windows(30, 200, 3).plain()
    made = PrivateWindows(epsilon=2.0)
    one, again = (made.on_graph(before, np.random.SeedSequence(3)) for _ in range(2))
    assert one.types is None
    assert one.digest == again.digest


def test_windows_that_follow_from_the_messages_are_turned_down():
    made = PrivateWindows()
    assert Publish(windows=4, by="count").why_not(made).startswith("windows with equally many events follow from")
    assert Publish(windows=4).why_not(made) is None
    assert Publish().why_not(made) is None


def test_one_message_more_moves_windows_of_equally_many_events_and_none_of_equal_length():
    """Why they are turned down: one message, at a time that another has too, changes edges of several windows."""
    edges = ends(np.array(PAIRS), 3)
    told = [(0, 0), (1, 2), (2, 4), (0, 6), (1, 8), (2, 10)]

    def cut(messages, by):
        edge, time = map(np.array, zip(*messages, strict=True))
        return windowed(Network.from_edges(3, *edges, events=Events.of(edge, time)), 6, by)

    def changed(by):
        one, other = cut(told, by), cut([*told, (0, 10)], by)
        differing = [set(snapshot(one, w).codes) ^ set(snapshot(other, w).codes) for w in range(6)]
        return sum(map(len, differing))

    assert changed("time") == 1
    assert changed("count") > 1


def test_too_few_nodes_are_refused():
    with pytest.raises(InputError, match="expected 2 or more"):
        PrivateWindows().on_graph(Network.from_edges(1, [], []), np.random.SeedSequence(0))
