"""Messages are copies, every observer sees its part and no more, and files from outside are not trusted."""

import json
import pickle
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file

from gaudit.targets.channel import Channel, keep_kinds, on_kinds
from gaudit.targets.errors import InputError
from gaudit.targets.transcript import FORMAT, Message, Transcript, observer_members

OBSERVERS = ("public", "server", "client:0", "client:1", "server+client:1", "client:0+client:1", "public+server")
SEALED = ("server",)


def recorded():
    """Two clients and a server: sums that the server relays sealed, a model, gradients, an encoder, a release."""
    channel = Channel()
    for n in (0, 1):
        sums = {"sums": torch.full((3, 2), float(n)), "degree": torch.arange(3)}
        channel.send("sums", f"client:{n}", "server", -1, sums, SEALED)
        channel.hold("encoder", f"client:{n}", -1, {"w": torch.ones(n + 1, 5)})
    for round_ in range(3):
        channel.send("model", "server", "clients", round_, {"w": torch.full((4,), float(round_))})
        for n in (0, 1):
            gradient = {"0/w": torch.tensor([n, round_]).float(), "has": torch.tensor([True])}
            channel.send("gradients", f"client:{n}", "server", round_, gradient)
    channel.send("release", "server", "public", 3, {"x": torch.eye(3, dtype=torch.float64)})
    return channel.transcript


def kinds(view):
    return Counter(m.kind for m in view.messages)


def same(ours, theirs):
    """Equal headers, and tensors equal byte for byte."""
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        header = (a.kind, a.sender, a.receiver, a.round, a.sealed_from, list(a.tensors))
        assert header == (b.kind, b.sender, b.receiver, b.round, b.sealed_from, list(b.tensors))
        for name, tensor in a.tensors.items():
            assert (tensor.dtype, tensor.shape) == (b.tensors[name].dtype, b.tensors[name].shape)
            assert tensor.numpy().tobytes() == b.tensors[name].numpy().tobytes()


def refuses(path, message):
    with pytest.raises(InputError, match=message) as caught:
        Transcript.load(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("sender_side", [torch.zeros(3), torch.nn.Parameter(torch.zeros(3)), torch.zeros(9)[::3]])
def test_what_is_sent_is_a_copy_for_record_and_receiver(sender_side):
    channel = Channel()
    first = channel.send("model", "server", "client:0", 0, {"w": sender_side})
    second = channel.send("model", "server", "client:1", 0, {"w": sender_side})
    with torch.no_grad():
        sender_side += 1
        first["w"] += 10
    assert not first["w"].requires_grad
    assert first["w"].tolist() == [10, 10, 10]
    for unchanged in (second, *(m.tensors for m in channel.transcript.messages)):
        assert unchanged["w"].tolist() == [0, 0, 0]


def test_what_is_held_is_a_copy():
    channel, own = Channel(), torch.zeros(2)
    channel.hold("encoder", "client:0", -1, {"w": own})
    own += 1
    assert channel.transcript.messages[0].tensors["w"].tolist() == [0, 0]


def test_a_message_that_is_not_kept_is_a_copy_too():
    own = torch.zeros(2)
    got = Channel(retain=keep_kinds()).send("model", "server", "clients", 0, {"w": own})
    got["w"] += 1
    assert own.tolist() == [0, 0]


def test_changing_a_view_does_not_change_the_record():
    transcript = recorded()
    view = transcript.seen_by("server")
    view.last("gradients").tensors["0/w"].fill_(99)
    view.messages[-1].tensors.clear()
    same(transcript.messages, recorded().messages)


def test_mods_act_on_what_both_receiver_and_observer_get():
    channel = Channel(mods=(on_kinds(("g",), lambda t: t + 1), on_kinds(("g",), lambda t: 2 * t)))
    got = channel.send("g", "client:0", "server", 0, {"w": torch.ones(2)})
    other = channel.send("h", "client:0", "server", 0, {"w": torch.ones(2)})
    assert got["w"].tolist() == channel.transcript.messages[0].tensors["w"].tolist() == [4, 4]
    assert other["w"].tolist() == [1, 1]
    channel.hold("g", "client:0", 0, {"w": torch.ones(2)})
    assert channel.transcript.messages[-1].tensors["w"].tolist() == [1, 1]


def test_retention_keeps_named_kinds_and_counts_all():
    channel = Channel(retain=keep_kinds("a", "c"))
    for kind in "abcab":
        channel.send(kind, "client:0", "server", 0, {"w": torch.zeros(2)})
        channel.hold(kind, "client:0", 0, {"w": torch.zeros(3)})
    assert [m.kind for m in channel.transcript.messages] == ["a", "a", "c", "c", "a", "a"]
    seen = {row.kind: (row.count, row.nbytes) for row in channel.transcript.exposure(["client:0"])}
    assert seen == {"a": (4, 40), "b": (4, 40), "c": (2, 20)}


@pytest.mark.parametrize(
    ("observer", "expected"),
    [
        ("public", {"release": 1}),
        ("server", {"sums": 2, "model": 3, "gradients": 6, "release": 1}),
        ("client:1", {"sums": 1, "encoder": 1, "model": 3, "gradients": 3, "release": 1}),
        ("client:0+client:1", {"sums": 2, "encoder": 2, "model": 3, "gradients": 6, "release": 1}),
        ("server+client:1", {"sums": 2, "encoder": 1, "model": 3, "gradients": 6, "release": 1}),
        ("public+client:0", {"sums": 1, "encoder": 1, "model": 3, "gradients": 3, "release": 1}),
    ],
)
def test_each_observer_sees_its_part(observer, expected):
    transcript = recorded()
    assert kinds(transcript.seen_by(observer)) == expected
    assert kinds(transcript.seen_by(*observer.split("+"))) == expected


def test_sealed_messages_show_the_relay_their_header_only():
    transcript = recorded()
    relayed = [m for m in transcript.seen_by("server").messages if m.kind == "sums"]
    assert [(m.sender, m.round, dict(m.tensors)) for m in relayed] == [("client:0", -1, {}), ("client:1", -1, {})]
    assert transcript.seen_by("server").of_kind("sums") == ()
    with pytest.raises(InputError, match="'server' sees no 'sums'"):
        transcript.seen_by("server").last("sums")
    assert transcript.seen_by("public", "server").of_kind("sums") == ()
    # one client's key opens all of them: it is shared
    opened = transcript.seen_by("server", "client:1").of_kind("sums")
    assert [float(m.tensors["sums"].max()) for m in opened] == [0, 1]
    readable = {o: r.readable for o in OBSERVERS for r in transcript.exposure([o]) if r.kind == "sums"}
    locked = {"server": False, "public+server": False}
    assert readable == {o: locked.get(o, True) for o in OBSERVERS if o != "public"}


@given(
    sent=st.lists(
        st.tuples(
            st.sampled_from("ab"),
            st.sampled_from(["server", "client:0", "client:1"]),
            st.sampled_from(["server", "client:0", "client:1", "clients", "public"]),
            st.integers(-1, 3),
            st.integers(0, 3),
            st.sampled_from([(), SEALED]),
        ),
        max_size=8,
    ),
    observer=st.sampled_from(OBSERVERS),
)
def test_exposure_counts_what_an_observer_sees(sent, observer):
    channel = Channel()
    for kind, sender, receiver, round_, size, sealed in sent:
        channel.send(kind, sender, receiver, round_, {"w": torch.zeros(size), "i": torch.zeros(2).bool()}, sealed)
    members, expected = set(observer.split("+")), {}
    for kind, sender, receiver, round_, size, sealed in sent:
        to_clients = receiver == "clients" and any(m.startswith("client:") for m in members)
        if receiver == "public" or members & {sender, receiver} or to_clients:
            readable = not sealed or bool(members - {"server", "public"})
            expected.setdefault((kind, readable), []).append((round_, 4 * size + 2))
    found = {(r.kind, r.readable): r for r in channel.transcript.exposure([observer])}
    assert set(found) == set(expected)
    for key, rows in expected.items():
        row, rounds = found[key], [round_ for round_, _ in rows]
        assert (row.count, row.nbytes) == (len(rows), sum(size for _, size in rows))
        assert (row.first_round, row.last_round, row.observer) == (min(rounds), max(rounds), observer)


def test_view_until_a_round_holds_nothing_later():
    view = recorded().seen_by("server")
    assert kinds(view.until(-1)) == {"sums": 2}
    assert kinds(view.until(0)) == {"sums": 2, "model": 1, "gradients": 2}
    assert float(view.until(1).last("model").tensors["w"][0]) == 1
    same(view.until(3).messages, view.messages)


@pytest.mark.parametrize(
    "observer", ["sever", "client:", "client:x", "clients", "client:-1", "", "server+", "Server"]
)
def test_unknown_observers_are_refused(observer):
    for ask in (recorded().seen_by, observer_members, lambda o: recorded().exposure([o])):
        with pytest.raises(InputError, match="unknown observer"):
            ask(observer)


@pytest.mark.parametrize("observers", [("client:2",), ("server", "client:10"), ("server+client:2",)])
def test_observers_that_took_no_part_are_refused(observers):
    with pytest.raises(InputError, match="parties are server, client:0, client:1"):
        recorded().seen_by(*observers)


def test_saved_and_loaded_is_the_same_byte_for_byte(tmp_path):
    transcript = recorded()
    transcript.save(tmp_path / "run.transcript")
    loaded = Transcript.load(tmp_path / "run.transcript")
    same(transcript.messages, loaded.messages)
    assert loaded.exposure(OBSERVERS) == transcript.exposure(OBSERVERS)
    same(loaded.seen_by("server").messages, transcript.seen_by("server").messages)
    loaded.save(tmp_path / "again.transcript")
    assert (tmp_path / "again.transcript").read_bytes() == (tmp_path / "run.transcript").read_bytes()


def test_what_was_counted_and_not_kept_survives_the_file(tmp_path):
    channel = Channel(retain=keep_kinds())
    channel.send("a", "client:0", "server", 4, {"w": torch.zeros(2)})
    channel.transcript.save(tmp_path / "run")
    loaded = Transcript.load(tmp_path / "run")
    assert loaded.messages == []
    assert loaded.exposure(["server"]) == channel.transcript.exposure(["server"]) != []


def test_awkward_tensors_survive_the_file(tmp_path):
    channel, base = Channel(), torch.arange(12.0).reshape(3, 4)
    same_twice = {"t": base.t(), "same": base, "slice": base[:, 1], "empty": base[:0], "scalar": torch.tensor(7)}
    channel.send("a", "client:0", "server", 0, same_twice)
    channel.transcript.save(tmp_path / "run")
    got = Transcript.load(tmp_path / "run").messages[0].tensors
    assert {name: t.tolist() for name, t in got.items()} == {name: t.tolist() for name, t in same_twice.items()}


@pytest.mark.parametrize("size", [0, 4, 8, 100, -1])
def test_truncated_file_is_refused(tmp_path, size):
    path = tmp_path / "run"
    recorded().save(path)
    path.write_bytes(path.read_bytes()[:size])
    refuses(path, "damaged or truncated")


@pytest.mark.parametrize("content", [b"garbage" * 50, b"\xff" * 100, pickle.dumps({"x": 1}), b"\x80\x04N."])
def test_garbage_and_pickles_are_refused(tmp_path, content):
    path = tmp_path / "run"
    path.write_bytes(content)
    refuses(path, "damaged")


def test_torch_pickle_is_refused(tmp_path):
    torch.save({"x": torch.zeros(2)}, tmp_path / "run")
    refuses(tmp_path / "run", "damaged")


def test_missing_file_and_directory_are_refused(tmp_path):
    refuses(tmp_path / "absent", "cannot read the transcript")
    refuses(tmp_path, "cannot read|damaged")


def header(**changes):
    message = {
        "kind": "a",
        "sender": "client:0",
        "receiver": "server",
        "round": 0,
        "sealed_from": [],
        "tensors": ["w"],
    }
    tally = {k: v for k, v in message.items() if k not in ("round", "tensors")}
    tally |= {"count": 1, "nbytes": 8, "first_round": 0, "last_round": 0}
    return {"format": FORMAT, "messages": [message], "tallies": [tally]} | changes


def write(path, head, tensors=None):
    metadata = None if head is None else {"gaudit": head if isinstance(head, str) else json.dumps(head)}
    save_file({"0/w": torch.zeros(2)} if tensors is None else tensors, path, metadata=metadata)
    return path


def test_well_formed_header_is_read(tmp_path):
    assert Transcript.load(write(tmp_path / "run", header())).seen_by("server").last("a").tensors["w"].tolist() == [
        0,
        0,
    ]


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (None, "not a transcript"),
        ("{", "header .* is damaged"),
        ("[]", "header .* is damaged"),
        ("[" * 20000, "header .* is damaged"),
        (header(extra=1), "header .* is damaged"),
        ({"format": FORMAT}, "header .* is damaged"),
        (header(messages=[{"kind": "a"}]), "header .* is damaged"),
        (header(tallies=[header()["tallies"][0] | {"count": -1}]), "header .* is damaged"),
        (header(messages=[header()["messages"][0] | {"sender": "client:x"}]), "client:x"),
        (header(tallies=[header()["tallies"][0] | {"sender": "client:x"}]), "client:x"),
        (header(format="gaudit-transcript/2"), "has the format 'gaudit-transcript/2'"),
        ({"format": "gaudit-transcript/2", "new": []}, "has the format 'gaudit-transcript/2'"),
    ],
)
def test_bad_headers_are_refused(tmp_path, head, message):
    refuses(write(tmp_path / "run", head), message)


@pytest.mark.parametrize("names", [[], ["0/v"], ["0/w", "0/v"], ["1/w"]])
def test_headers_that_name_other_tensors_are_refused(tmp_path, names):
    tensors = {name: torch.zeros(2) for name in names}
    refuses(write(tmp_path / "run", header(), tensors), "names tensors that it does not hold")


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float64, torch.complex64, torch.float8_e4m3fn])
def test_values_that_are_not_finite_are_refused(tmp_path, value, dtype):
    write(tmp_path / "run", header(), {"0/w": torch.tensor([0, value]).to(dtype)})
    refuses(tmp_path / "run", "'w' that are not finite")


def test_failing_save_leaves_no_partial_file(tmp_path):
    with pytest.raises(InputError, match="cannot write the transcript"):
        recorded().save(tmp_path / "no" / "run")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="cannot write the transcript"):
        recorded().save(tmp_path / "folder")
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]
    recorded().save(tmp_path / "run")
    before = (tmp_path / "run").read_bytes()
    broken = recorded()
    broken.messages.append(Message("a", "client:0", "server", 0, {"w": torch.eye(3).to_sparse_csr()}))
    with pytest.raises(InputError, match="cannot write the transcript"):
        broken.save(tmp_path / "run")
    assert (tmp_path / "run").read_bytes() == before
    assert {p.name for p in tmp_path.iterdir()} == {"folder", "run"}


def test_tensors_that_share_memory_are_saved(tmp_path):
    w = torch.arange(4.0)
    transcript = Transcript()
    transcript.record(Message("a", "client:0", "server", 0, {"w": w, "half": w[:2]}), keep=True)
    transcript.save(tmp_path / "run")
    same(Transcript.load(tmp_path / "run").messages, transcript.messages)
