"""What a peer began a round with, as others reckon it: exact where they saw all of the mixture."""

import pytest
import torch

from gaudit.errors import InputError
from gaudit.targets.channel import Channel
from gaudit.targets.messages import FIRST_KIND, MIXING_KIND, PEER_KIND, START_KIND
from gaudit.targets.mixing import mixed, with_starts

SHARES = torch.tensor([[2, 1, 1, 0], [1, 2, 0, 1], [1, 0, 2, 1], [0, 1, 1, 2]]) / 4
"""A ring 1, 0, 2, 3."""


def weights(number, round_):
    return {"w1": torch.full((2, 2), float(10 * round_ + number))}


def talk(rounds=2, shares=SHARES):
    """What four clients tell their neighbours: numbers that say who and when."""
    channel = Channel()
    channel.send(MIXING_KIND, "client:0", "clients", 0, {"shares": shares})
    channel.send(FIRST_KIND, "client:0", "clients", 0, {"w1": torch.full((2, 2), -1.0)})
    for round_ in range(rounds):
        for number in range(4):
            for other in range(4):
                if other != number and SHARES[number, other] > 0:
                    told = weights(number, round_)
                    channel.send(PEER_KIND, f"client:{number}", f"client:{other}", round_, told)
    return channel.transcript


def begun(view, **how):
    found = [m for m in with_starts(view, **how) if m.kind == START_KIND]
    return {(m.sender, m.round): float(m.tensors["w1"][0, 0]) for m in found}


def test_the_first_round_begins_with_what_all_know():
    first = {key: value for key, value in begun(talk().seen_by("client:0")).items() if key[1] == 0}
    assert first == {(f"client:{k}", 0): -1.0 for k in (0, 1, 2)}, "client 3 is no neighbour"


def test_whoever_saw_the_whole_mixture_knows_it_and_who_saw_a_part_does_not():
    known = begun(talk().seen_by("client:0"))
    assert known["client:0", 1] == 0.5 * 0 + 0.25 * 1 + 0.25 * 2
    assert ("client:1", 1) not in known, "it mixed in what client 3 sent, which client 0 never saw"
    both = begun(talk().seen_by("client:0+client:3"))
    assert both["client:1", 1] == 0.25 * 0 + 0.5 * 1 + 0.25 * 3
    assert set(both) == {(f"client:{k}", t) for k in range(4) for t in range(2)}


def test_an_estimate_is_the_mixture_of_what_was_seen():
    known = begun(talk().seen_by("client:0"), estimate=True)
    assert known["client:1", 1] == pytest.approx((0.25 * 0 + 0.5 * 1) / 0.75)


def test_what_was_sent_after_an_unknown_beginning_is_left_out_and_nothing_comes_twice():
    sent = [(m.sender, m.round) for m in with_starts(talk().seen_by("client:0+client:3")) if m.kind == PEER_KIND]
    assert len(sent) == len(set(sent)) == 8
    alone = [(m.sender, m.round) for m in with_starts(talk().seen_by("client:0")) if m.kind == PEER_KIND]
    assert alone == [("client:0", 0), ("client:1", 0), ("client:2", 0), ("client:0", 1)]


def test_without_shares_a_view_stays_as_it_is():
    channel = Channel()
    channel.send(FIRST_KIND, "client:0", "clients", 0, weights(0, 0))
    view = channel.transcript.seen_by("client:0")
    assert with_starts(view) is view.messages


def test_shares_of_fewer_clients_are_refused():
    with pytest.raises(InputError, match="must hold a row of shares for client:1"):
        with_starts(talk(shares=SHARES[:1]).seen_by("client:0"))


def test_a_mixture_is_the_sum_of_shares():
    found = mixed(SHARES[1], {k: weights(k, 0) for k in range(4)})
    assert float(found["w1"][0, 0]) == 0.25 * 0 + 0.5 * 1 + 0.25 * 3
