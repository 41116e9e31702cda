"""What a defense of uploads gets to change: gradients as they are, weights as the step from the global ones."""

import math

import numpy as np
import pytest
import torch

from gaudit.defenses.uploads.upload_changes import UPLOADS, on_uploads
from gaudit.errors import InputError
from gaudit.mechanisms.clipping import clipped, norm_of
from gaudit.mechanisms.float_noise import Generators, Streams
from gaudit.registry import find
from gaudit.targets.channel import Channel
from gaudit.targets.messages import (
    CLASS_GRADIENTS_KIND,
    CONTROL_KIND,
    CONVOLUTIONS_UPDATE_KIND,
    DRIFTED_KIND,
    GENERATOR_GRADIENT_KIND,
    GLOBAL_KIND,
    GRADIENT_KIND,
    KINDS,
    PART_UPDATE_KIND,
    PARTIAL_GRADIENT_KIND,
    SELF_TRAINING_GRADIENTS_KIND,
    UPDATE_KIND,
    Carries,
    declare,
    kind_of,
    kinds_of,
)
from support.kinds import PING, way_of


def watching():
    """A channel, and the changes that its mod was shown; it passes them on doubled."""
    seen = []

    def change(tensors, sender):
        seen.append(tensors)
        return {name: 2 * tensor for name, tensor in tensors.items()}

    return Channel(mods=(on_uploads(change),)), seen


def weights(value):
    return {"w1": torch.full((2, 3), float(value)), "b1": torch.full((3,), float(value))}


def upload(channel, value, sender="client:0", round_=0):
    return channel.send(UPDATE_KIND, sender, "server", round_, weights(value))


@pytest.mark.parametrize("kind", [UPDATE_KIND, DRIFTED_KIND, PART_UPDATE_KIND, CONVOLUTIONS_UPDATE_KIND])
def test_an_update_is_changed_by_its_step_from_the_last_global_weights(kind):
    channel, seen = watching()
    for round_, (common, own) in enumerate([(1.0, 4.0), (10.0, 9.0)]):
        channel.send(str(kind_of(kind).since), "server", "clients", round_, weights(common))
        got = channel.send(kind, "client:0", "server", round_, weights(own))
        for name in ("w1", "b1"):
            assert torch.equal(seen[-1][name], weights(own - common)[name])
            assert torch.equal(got[name], weights(common + 2 * (own - common))[name])


@pytest.mark.parametrize("kind", [kind for kind in kinds_of([UPLOADS]) if KINDS[kind].since is None])
def test_gradients_are_changed_as_they_are(kind):
    channel, seen = watching()
    channel.send(GLOBAL_KIND, "server", "clients", 0, weights(1))
    got = channel.send(kind, "client:1", "server", 0, weights(3))
    assert torch.equal(seen[0]["w1"], weights(3)["w1"])
    assert torch.equal(got["b1"], weights(6)["b1"])


def test_a_client_with_weights_of_its_own_is_measured_by_these():
    channel, seen = watching()
    channel.send(GLOBAL_KIND, "server", "clients", 0, weights(1))
    channel.send(GLOBAL_KIND, "server", "client:1", 0, weights(2))
    for sender, step in [("client:0", 4), ("client:1", 3)]:
        upload(channel, 5, sender)
        assert float(seen[-1]["b1"][0]) == step
    channel.send(GLOBAL_KIND, "server", "clients", 1, weights(0))  # newer for everybody
    upload(channel, 5, "client:1")
    assert float(seen[-1]["b1"][0]) == 5


@pytest.mark.parametrize("kept", [True, False])
def test_who_trains_in_place_what_it_received_does_not_change_what_is_remembered(kept):
    seen = []
    mod = on_uploads(lambda change, sender: seen.append(change) or change)
    channel = Channel(retain=lambda message: kept, mods=(mod,))
    received = channel.send(GLOBAL_KIND, "server", "clients", 0, weights(1))
    for tensor in received.values():
        tensor.add_(3)
    upload(channel, 4)
    assert float(seen[0]["w1"][0, 0]) == 3


@pytest.mark.parametrize(
    "kind", [GLOBAL_KIND, "class-counts", "neighbour-sums", "global-control", "generator", "model", PING]
)
def test_other_messages_and_what_a_server_relays_pass_untouched(kind):
    channel, seen = watching()
    assert torch.equal(channel.send(kind, *way_of(kind), 0, weights(3))["w1"], weights(3)["w1"])
    relayed = channel.send("generator-gradient", "server", "client:0", 0, weights(3))
    assert torch.equal(relayed["w1"], weights(3)["w1"])
    assert not seen


def test_an_update_before_any_global_weights_is_refused():
    channel, _ = watching()
    with pytest.raises(InputError, match=f"'client:0' sends '{UPDATE_KIND}' before any '{GLOBAL_KIND}'"):
        upload(channel, 1)


@pytest.mark.parametrize("common", [{"w1": torch.zeros(2, 3)}, {"w1": torch.zeros(3, 2), "b1": torch.zeros(3)}])
def test_an_update_of_other_shapes_is_refused(common):
    channel, _ = watching()
    channel.send(GLOBAL_KIND, "server", "clients", 0, common)
    with pytest.raises(InputError, match="expected the same names and shapes"):
        upload(channel, 1)


def test_the_kinds_are_those_that_clients_upload_gradients_and_updates_as():
    theirs = {UPDATE_KIND, GRADIENT_KIND, CLASS_GRADIENTS_KIND, SELF_TRAINING_GRADIENTS_KIND}
    others = {CONTROL_KIND, GENERATOR_GRADIENT_KIND, DRIFTED_KIND, PARTIAL_GRADIENT_KIND, PART_UPDATE_KIND}
    others |= {CONVOLUTIONS_UPDATE_KIND, "cluster-update", "component-updates"}
    assert set(kinds_of([UPLOADS])) == theirs | others


COVERING = {
    "ldp": {"epsilon": 1.0},
    "gaussian-uploads": {"multiplier": 1.0, "clip": 0.5},
    "noise-instead": {},
    "quantised-uploads": {"bits": 1},
    "top-k-uploads": {"share": 0.2},
}


@pytest.mark.parametrize("name", COVERING)
@pytest.mark.parametrize("update", [False, True])
def test_a_new_kind_of_upload_is_covered_without_being_named(name, update):
    """Of a target of tomorrow: its clients' gradients, or their weights since what they were sent."""
    common = declare("new-common", Carries.WEIGHTS, routes=["server > clients"])
    carried = Carries.UPDATE if update else Carries.GRADIENT
    kind = declare("new-upload", carried, routes=["client > server"], since=common if update else None)
    try:
        defense = find("defenses", name)(**COVERING[name])
        assert defense.changes(kind)
        assert not defense.changes(common)
        channel = Channel(mods=(defense.on_message(np.random.SeedSequence(0)),))
        channel.send(common, "server", "clients", 0, weights(1))
        sent = {"w1": torch.tensor([[3.0, 2.0, 1.0], [0.1, 0.2, 0.3]]), "b1": torch.tensor([1.0, 5.0, 9.0])}
        got = channel.send(kind, "client:0", "server", 0, sent)
        assert not all(torch.equal(got[part], sent[part]) for part in sent)
    finally:
        del KINDS["new-upload"], KINDS["new-common"]


def test_a_kind_that_nobody_declared_does_not_pass():
    with pytest.raises(InputError, match="unknown message kind 'class-gradient': did you mean 'class-gradients'"):
        Channel().send("class-gradient", "client:0", "server", 0, weights(1))
    with pytest.raises(InputError, match="from client:0 to public: it is declared to go client > server"):
        Channel().send(GRADIENT_KIND, "client:0", "public", 0, weights(1))
    with pytest.raises(InputError, match="unknown message kind 'encoder'"):
        Channel().hold("encoder", "client:0", 0, weights(1))


def test_a_kind_is_declared_once():
    with pytest.raises(ValueError, match="declared twice"):
        declare(GRADIENT_KIND, Carries.GRADIENT, routes=["client > public"])
    with pytest.raises(ValueError, match="must say what it carries"):
        declare("empty", routes=["client > server"])
    with pytest.raises(ValueError, match="must say what it carries"):
        declare("orphan", Carries.UPDATE, routes=["client > server"])
    with pytest.raises(ValueError, match="are a list"):
        declare("letters", Carries.GRADIENT, routes="client > server")
    with pytest.raises(ValueError, match="cannot go clinet > server"):
        declare("typo", Carries.GRADIENT, routes=["clinet > server"])
    with pytest.raises(ValueError, match="since 'never', which nobody declared"):
        declare("late", Carries.UPDATE, routes=["client > server"], since="never")
    assert not {"empty", "orphan", "letters", "typo", "late"} & set(KINDS)


def test_what_clients_send_each_other_is_no_upload():
    kind = declare("gossip", Carries.GRADIENT, routes=["client > server", "client > client"])
    try:
        channel, seen = watching()
        assert torch.equal(channel.send(kind, "client:0", "client:1", 0, weights(3))["w1"], weights(3)["w1"])
        assert not seen
        assert torch.equal(channel.send(kind, "client:0", "server", 0, weights(3))["w1"], weights(6)["w1"])
    finally:
        del KINDS["gossip"]


def test_norms_are_of_all_tensors_together():
    change = {"a": torch.tensor([[3.0, -4.0]]), "b": torch.tensor([12.0]), "none": torch.empty(0, 4)}
    assert norm_of(change, 1) == 19
    assert norm_of(change, 2) == 13
    assert norm_of({}, 2) == 0


@pytest.mark.parametrize("order", [1, 2])
def test_clipping_keeps_the_direction_and_what_is_within_the_bound(order):
    draw = torch.Generator().manual_seed(0)
    change = {"a": torch.randn(30, 7, generator=draw), "b": torch.randn(11, generator=draw)}
    norm = norm_of(change, order)
    got = clipped(change, 0.1 * norm, order)
    assert math.isclose(norm_of(got, order), 0.1 * norm, rel_tol=1e-6)
    for name, tensor in change.items():
        torch.testing.assert_close(got[name], 0.1 * tensor)
        assert torch.equal(clipped(change, norm, order)[name], tensor)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("odd", [float("nan"), float("inf")])
def test_clipping_leaves_nothing_of_a_change_that_is_not_finite(order, odd):
    got = clipped({"a": torch.tensor([odd, 1.0]), "b": torch.ones(2, 2)}, 0.5, order)
    assert torch.equal(got["a"], torch.zeros(2))
    assert torch.equal(got["b"], torch.zeros(2, 2))


def test_a_change_is_told_apart_by_its_sender():
    seen = []
    channel = Channel(mods=(on_uploads(lambda change, sender: seen.append(sender) or change),))
    channel.send(GLOBAL_KIND, "server", "clients", 0, weights(0))
    upload(channel, 1, "client:3")
    channel.send(GRADIENT_KIND, "client:1", "server", 0, weights(1))
    assert seen == ["client:3", "client:1"]


def test_streams_are_each_senders_own_and_start_from_the_seed():
    one, again, other = (Streams(np.random.SeedSequence(s)).of("client:0").random(5) for s in (0, 0, 1))
    streams = Streams(np.random.SeedSequence(0))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    assert not np.array_equal(one, streams.of("client:1").random(5))
    assert np.array_equal(one, streams.of("client:0").random(5))
    assert not np.array_equal(one, streams.of("client:0").random(5))  # it goes on


def test_generators_start_from_the_seed():
    cpu = torch.device("cpu")
    one, again, other = (torch.rand(5, generator=Generators(np.random.SeedSequence(s)).on(cpu)) for s in (0, 0, 1))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
