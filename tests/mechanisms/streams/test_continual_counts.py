"""Counts that are told at every step: what one message or one pair changes, by brute force, and what is told."""

from fractions import Fraction
from itertools import chain, combinations, product

import numpy as np
import pytest
from scipy.stats import chisquare

from gaudit.errors import InputError
from gaudit.graphs.events import Events
from gaudit.graphs.network import Network
from gaudit.mechanisms.exact_noise import discrete_laplace_pmf
from gaudit.mechanisms.guarantee import Guarantee
from gaudit.mechanisms.streams import continual_counts
from gaudit.mechanisms.streams.continual_counts import arrivals, contact_count, event_count
from gaudit.mechanisms.streams.messages import Messages
from gaudit.mechanisms.streams.running_sums import parts, parts_of_a_term, sums_of_parts

PAIRS = ((0, 1), (0, 2), (1, 2))


def sent(events):
    """Messages from (one, other, step)."""
    ends = [*zip(*events, strict=True)] if events else [(), (), ()]
    return Messages.from_events(3, *ends)


def histories(steps):
    """All sets of steps at which a pair may have messages."""
    return [*chain.from_iterable(combinations(range(steps), size) for size in range(steps + 1))]


def parts_by_definition(events, steps, contacts):
    """Sums over dyadic intervals of steps, in plain sets: part i ends before step i and is as long as i allows."""
    if contacts:
        first = {}
        for a, b, step in events:
            first[a, b] = min(step, first.get((a, b), step))
        events = [(*pair, step) for pair, step in first.items()]
    found = []
    for last in range(1, steps + 1):
        length = max(size for size in (1, 2, 4, 8, 16) if last % size == 0)
        found.append(sum(last - length <= step < last for *_, step in events))
    return np.array(found)


@pytest.mark.parametrize("steps", range(1, 10))
def test_one_message_changes_the_parts_by_the_sensitivity_at_most_and_reaches_it(steps):
    """Noise is added to parts, so this is what it must hide, wherever the message is."""
    rng, changes = np.random.default_rng(steps), set()
    for others in ([], [(0, 1, 0)], [(0, 1, int(s)) for s in rng.integers(steps, size=5)]):
        before = parts_by_definition(others, steps, contacts=False)
        assert np.array_equal(parts(arrivals(sent(others), steps)), before)
        for step in range(steps):
            after = parts(arrivals(sent([*others, (0, 2, step)]), steps))
            changes.add(int(np.abs(after - before).sum()))
    assert max(changes) == parts_of_a_term(steps) == event_count(sent([]), 1, steps).sensitivity


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_all_messages_of_a_pair_change_the_contacts_by_the_sensitivity_at_most(steps):
    """Every history of two pairs, and every history of a third that comes and goes."""
    most = 0
    for one, two, three in product(histories(steps)[:: max(steps - 2, 1)], histories(steps), histories(steps)):
        others = [(*PAIRS[0], s) for s in one] + [(*PAIRS[1], s) for s in two]
        before = parts(arrivals(sent(others).first_contacts(), steps))
        assert np.array_equal(before, parts_by_definition(others, steps, contacts=True))
        after = parts(arrivals(sent([*others, *((*PAIRS[2], s) for s in three)]).first_contacts(), steps))
        most = max(most, int(np.abs(after - before).sum()))
    assert most == parts_of_a_term(steps) == contact_count(sent([]), 1, steps).sensitivity


def test_a_pair_with_many_messages_is_not_hidden_by_the_count_of_messages():
    """The same bound does not hold for it: the unit of `event_count` is one message."""
    many = [(0, 1, step) for step in range(4)]
    change = np.abs(parts(arrivals(sent(many), 4))).sum()
    assert change > parts_of_a_term(4)


@pytest.mark.parametrize("steps", [1, 2, 5, 8, 13, 100])
def test_sums_of_parts_are_the_sums(steps):
    series = np.random.default_rng(steps).integers(-5, 9, steps)
    assert np.array_equal(sums_of_parts(parts(series)), np.cumsum(series))


def test_noise_is_on_parts_and_of_the_scale_that_epsilon_asks_for():
    """Chi-square of the parts of 400 series of 5 steps, at scale 3 / 2; false alarm 1e-6 each."""
    rng, values = np.random.default_rng(0), np.arange(-6, 7)
    told = np.array([parts(np.diff(event_count(sent([]), 2, 5, rng).values, prepend=0)) for _ in range(400)])
    law = discrete_laplace_pmf(Fraction(3, 2), values) * 400
    for part in told.T:
        hits = np.array([(part == value).sum() for value in values])
        assert chisquare(np.append(hits, 400 - hits.sum()), np.append(law, 400 - law.sum())).pvalue > 1e-6
    assert np.abs(np.corrcoef(told.T) - np.eye(5)).max() < 0.25  # 5 deviations: no part's noise is another's


def test_nothing_but_the_public_number_of_steps_shows(monkeypatch):
    """What is drawn, and what is said, is the same for any messages; what comes too late is left out."""
    drawn = []

    def noted(scale, size, rng):
        drawn.append((scale, size))
        return np.zeros(size, dtype=np.int64)

    monkeypatch.setattr("gaudit.mechanisms.streams.running_sums.discrete_laplace", noted)
    late = sent([(0, 1, 0), (0, 1, 2), (0, 2, 6), (1, 2, 10**9)])
    for release, told in ((event_count, [1, 1, 2, 2, 2, 2]), (contact_count, [1, 1, 1, 1, 1, 1])):
        one, two = release(late, 1, 6), release(sent([]), 1, 6)
        assert one.values.tolist() == told
        assert two.values.tolist() == [0] * 6
        assert (one.notes, one.guarantee, one.sensitivity) == (two.notes, two.guarantee, two.sensitivity)
    assert len(set(drawn)) == 1


def test_units_are_said_and_do_not_add_up():
    events, pairs = event_count(sent([]), 1, 4).guarantee, contact_count(sent([]), 1, 4).guarantee
    assert (events.unit, pairs.unit) == ("event", "edge-history")
    assert "one message" in events.sentence()
    assert "all messages of one pair" in pairs.sentence()
    assert "the whole series of 4 numbers" in pairs.sentence()
    with pytest.raises(InputError, match="do not add up"):
        events.beside(pairs)
    assert not events.compares_with("edge-history")
    assert isinstance(Guarantee("event", "replace", "central", 1).sentence(), str)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: event_count(sent([]), 0, 4), "epsilon is 0"),
        (lambda: contact_count(sent([]), 1, 0), "number of steps is 0"),
        (lambda: Messages.from_events(3, [0], [0], [1]), "to itself"),
        (lambda: Messages.from_events(3, [0], [3], [1]), "from 0 to 2"),
        (lambda: Messages.from_events(3, [0], [1], [-1]), "before step 0"),
        (lambda: Messages.from_events(3, [0], [1], []), "1, 1 and 0 values"),
    ],
)
def test_bad_input_is_one_line(call, said):
    with pytest.raises(InputError, match=said):
        call()


def test_events_of_a_network_fall_into_public_steps():
    events = Events.of(np.array([0, 0, 1, 1, 1]), np.array([99, 105, 119, 120, 141]))
    network = Network.from_edges(3, [0, 1], [2, 2], events=events)
    told = Messages.of_network(network, start=100, length=20)
    assert told.steps.tolist() == [0, 0, 1, 2]
    assert told.ends.T.tolist() == [[0, 2], [1, 2], [1, 2], [1, 2]]
    assert contact_count(told, 1e4, 3, np.random.default_rng(0)).values.tolist() == [2, 2, 2]
    with pytest.raises(InputError, match="length of a step is 0"):
        Messages.of_network(network, start=100, length=0)
    with pytest.raises(InputError, match="have no times"):
        Messages.of_network(Network.from_edges(2, [0], [1]), start=0, length=1)


def test_module_counts_each_first_contact_once():
    told = sent([(2, 1, 3), (0, 1, 1), (1, 2, 2), (1, 0, 4)])
    assert told.first_contacts().steps.tolist() == [1, 2]
    assert continual_counts.arrivals(told, 5).tolist() == [0, 1, 1, 1, 1]
