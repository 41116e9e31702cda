"""Top-k uploads: how many coordinates are sent, and which."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gaudit.defenses.uploads.gradient_compression import TopKUploads, largest
from gaudit.errors import InputError
from gaudit.targets.channel import Channel
from gaudit.targets.messages import GLOBAL_KIND, GRADIENT_KIND, UPDATE_KIND


def sent(share, tensors, kind=GRADIENT_KIND):
    channel = Channel(mods=(TopKUploads(share=share).on_message(np.random.SeedSequence(0)),))
    return channel.send(kind, "client:0", "server", 0, tensors)


def gradient():
    draw = torch.Generator().manual_seed(0)
    return {"w1": torch.randn(40, 20, generator=draw), "b1": 3 * torch.randn(200, generator=draw)}


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 30), st.integers(0, 30), st.floats(0.001, 1), st.integers(0, 9))
def test_guarantee_exactly_the_largest_share_is_sent(first, second, share, seed):
    draw = torch.Generator().manual_seed(seed)
    change = {"a": torch.randn(first, generator=draw), "b": torch.randn(second, 1, generator=draw)}
    got = largest(change, share)
    before, after = (torch.cat([t.flatten() for t in part.values()]) for part in (change, got))
    count = max(1, round(share * len(before)))
    assert int((after != 0).sum()) == count
    assert torch.equal(after[after != 0], before[after != 0])
    left_out = before[after == 0].abs()
    assert not len(left_out) or float(left_out.max()) <= float(after[after != 0].abs().min())
    assert got["b"].shape == (second, 1)


def test_tensors_compete_with_each_other():
    got = sent(0.2, gradient())
    assert int((got["w1"] != 0).sum()) + int((got["b1"] != 0).sum()) == 200
    assert int((got["b1"] != 0).sum()) > 100  # a fifth of the coordinates, larger on average


def test_values_alike_do_not_raise_the_count():
    got = largest({"w": torch.tensor([1.0, -1.0, 1.0, 1.0])}, 0.5)["w"]
    assert got.tolist() == [1.0, -1.0, 0.0, 0.0]


def test_trivial_share_of_one_changes_nothing():
    given_, got = gradient(), sent(1.0, gradient())
    assert all(torch.equal(got[name], tensor) for name, tensor in given_.items())
    assert TopKUploads.alternative == "noise-instead"


def test_of_weights_those_that_moved_most_are_sent_and_the_others_stay_where_they_were():
    channel = Channel(mods=(TopKUploads(share=0.5).on_message(np.random.SeedSequence(0)),))
    common = torch.tensor([100.0, 1.0, -50.0, 0.0])
    channel.send(GLOBAL_KIND, "server", "clients", 0, {"w": common})
    own = common + torch.tensor([0.25, -2.0, 0.5, 4.0])
    got = channel.send(UPDATE_KIND, "client:0", "server", 0, {"w": own})["w"]
    assert got.tolist() == [100.0, -1.0, -50.0, 4.0]


def test_it_draws_no_coins_and_other_messages_pass():
    change = gradient()
    assert torch.equal(sent(0.1, change)["w1"], sent(0.1, change)["w1"])
    assert torch.equal(sent(0.1, change, "class-counts")["w1"], change["w1"])


@pytest.mark.parametrize("share", [0, -0.1, 1.1, float("nan")])
def test_settings_are_checked(share):
    with pytest.raises(InputError, match="share"):
        TopKUploads(share=share)
