"""Messages are copies, every observer sees its part and no more, and files from outside are not trusted."""

import json
import pickle
import resource
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import SafetensorError
from safetensors.torch import save_file

from gaudit.errors import InputError
from gaudit.targets.channel import Channel, keep_kinds
from gaudit.targets.transcript import FORMAT, Message, Transcript, observer_members
from support.kinds import GRADIENTS, HELD, PING, RELEASE, SHARED, SUMS

OBSERVERS = ("public", "server", "client:0", "client:1", "server+client:1", "client:0+client:1", "public+server")
SEALED = ("server",)
RARE = (torch.float8_e4m3fn, torch.complex64)  # NotImplementedError when loaded, and NaN let through


def recorded():
    """Two clients and a server: sealed sums, encoders, models, gradients, a release; pings are not kept."""
    channel = Channel(retain=keep_kinds(SUMS, HELD, SHARED, GRADIENTS, RELEASE))
    channel.send(PING, "server", "clients", 7, {"w": torch.zeros(9)})
    for n in (0, 1):
        sums = {"sums": torch.full((3, 2), float(n)), "degree": torch.arange(3)}
        channel.send(SUMS, f"client:{n}", "server", -1, sums, SEALED)
        channel.hold(HELD, f"client:{n}", -1, {"w": torch.ones(n + 1, 5)})
    for round_ in range(3):
        channel.send(SHARED, "server", "clients", round_, {"w": torch.full((4,), float(round_))})
        for n in (0, 1):
            gradient = {"0/w": torch.tensor([n, round_]).float(), "has": torch.tensor([True])}
            channel.send(GRADIENTS, f"client:{n}", "server", round_, gradient)
    x = torch.arange(6.0, dtype=torch.float64).reshape(2, 3).t()
    channel.send(RELEASE, "server", "public", 3, {"x": x, "one": torch.tensor(7), "empty": x[:0], "again": x})
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


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("own", [torch.zeros(3), torch.nn.Parameter(torch.zeros(3)), torch.zeros(9)[::3]])
def test_what_is_sent_or_held_is_a_copy(own, keep):
    channel, own = Channel(retain=lambda _: keep), own.detach().zero_().requires_grad_(own.requires_grad)
    first, second = (channel.send(SHARED, "server", f"client:{n}", 0, {"w": own}) for n in (0, 1))
    channel.hold(HELD, "client:0", -1, {"w": own})
    with torch.no_grad():
        own += 1
        first["w"] += 10
    assert not first["w"].requires_grad
    assert first["w"].tolist() == [10, 10, 10]
    assert len(channel.transcript.messages) == (3 if keep else 0)
    for unchanged in (second, *(m.tensors for m in channel.transcript.messages)):
        assert unchanged["w"].tolist() == [0, 0, 0]


def test_changing_a_view_does_not_change_the_record():
    transcript = recorded()
    transcript.seen_by("server").last(GRADIENTS).tensors["0/w"].fill_(99)
    same(transcript.messages, recorded().messages)


@pytest.mark.parametrize(
    ("observer", "expected"),
    [
        ("public", {RELEASE: 1}),
        ("server", {SUMS: 2, SHARED: 3, GRADIENTS: 6, RELEASE: 1}),
        ("client:1", {SUMS: 1, HELD: 1, SHARED: 3, GRADIENTS: 3, RELEASE: 1}),
        ("server+client:1", {SUMS: 2, HELD: 1, SHARED: 3, GRADIENTS: 6, RELEASE: 1}),
    ],
)
def test_each_observer_sees_its_part_of_what_is_kept_and_all_is_counted(observer, expected):
    transcript = recorded()
    assert kinds(transcript.seen_by(observer)) == expected
    assert kinds(transcript.seen_by(*observer.split("+"))) == expected
    counted = {row.kind: row.count for row in transcript.exposure([observer])}
    assert counted == (expected if observer == "public" else expected | {PING: 1})


def test_sealed_messages_show_the_relay_their_header_only():
    transcript = recorded()
    relayed = [m for m in transcript.seen_by("server").messages if m.kind == SUMS]
    assert [(m.sender, m.round, dict(m.tensors)) for m in relayed] == [("client:0", -1, {}), ("client:1", -1, {})]
    with pytest.raises(InputError, match=f"'server' sees no '{SUMS}'"):
        transcript.seen_by("server").last(SUMS)
    assert transcript.seen_by("public", "server").of_kind(SUMS) == ()
    opened = transcript.seen_by("server", "client:1").of_kind(SUMS)  # with the key that clients share
    assert [float(m.tensors["sums"].max()) for m in opened] == [0, 1]


parties = st.sampled_from(["server", "client:0", "client:1", "clients", "public"])
sealing = st.sampled_from([(), SEALED])
message = st.tuples(st.sampled_from([PING, SUMS]), parties, parties, st.integers(-1, 3), st.integers(0, 3), sealing)


@given(sent=st.lists(message.filter(lambda m: m[1] not in ("clients", "public")), max_size=8))
@pytest.mark.parametrize("observer", OBSERVERS)
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
    assert kinds(view.until(0)) == {SUMS: 2, SHARED: 1, GRADIENTS: 2}
    assert float(view.until(1).last(SHARED).tensors["w"][0]) == 1


@pytest.mark.parametrize("observer", ["sever", "client:", "client:x", "clients", "", "server+", "server+client:-1"])
def test_unknown_observers_and_those_who_took_no_part_are_refused(observer):
    for ask in (recorded().seen_by, observer_members, lambda o: recorded().exposure([o])):
        with pytest.raises(InputError, match="unknown observer"):
            ask(observer)
    for absent in (("client:2",), ("server", "client:10"), ("server+client:2",)):
        with pytest.raises(InputError, match="parties are server, client:0, client:1"):
            recorded().seen_by(*absent)


def test_saved_and_loaded_is_the_same_byte_for_byte(tmp_path):
    transcript = recorded()
    transcript.save(tmp_path / "run.transcript")
    loaded = Transcript.load(tmp_path / "run.transcript")
    same(transcript.messages, loaded.messages)
    assert loaded.exposure(OBSERVERS) == transcript.exposure(OBSERVERS)
    loaded.save(tmp_path / "again.transcript")
    assert (tmp_path / "again.transcript").read_bytes() == (tmp_path / "run.transcript").read_bytes()


@pytest.mark.parametrize("content", [0, 8, 100, -1, b"garbage" * 50, b"\xff" * 100, pickle.dumps({"x": 1})])
def test_what_is_no_transcript_is_refused(tmp_path, content):
    path = tmp_path / "run"
    recorded().save(path)
    path.write_bytes(content if isinstance(content, bytes) else path.read_bytes()[:content])
    refuses(path, "damaged or truncated")
    refuses(tmp_path / "absent", "cannot read the transcript")
    refuses(tmp_path, "cannot read the transcript|damaged")


ROUTE = {"kind": "a", "sender": "client:0", "receiver": "server", "sealed_from": []}
TALLY = ROUTE | {"count": 1, "nbytes": 8, "first_round": 0, "last_round": 0}


def header(**changes):
    return {"format": FORMAT, "messages": [ROUTE | {"round": 0, "tensors": ["w"]}], "tallies": [TALLY]} | changes


def write(path, head, tensors=None):
    metadata = None if head is None else {"gaudit": head if isinstance(head, str) else json.dumps(head)}
    save_file({"0/w": torch.zeros(2)} if tensors is None else tensors, path, metadata=metadata)
    return path


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (None, "not a transcript"),
        ("{", "header .* is damaged"),
        pytest.param("[" * 20000, "header .* is damaged"),  # RecursionError
        (header(tallies=[TALLY | {"count": -1}]), "header .* is damaged"),
        pytest.param(header(tallies=[TALLY | {"sender": "client:x"}]), "client:x"),  # later ValueError
        (header(format="gaudit-transcript/2"), "has the format 'gaudit-transcript/2'"),
        pytest.param({"format": "gaudit-transcript/2", "new": 1}, "has the format"),  # "damaged"
        (header(messages=[ROUTE | {"round": 0, "tensors": ["w", "v"]}]), "tensors that it does not hold"),
    ],
)
def test_bad_headers_are_refused(tmp_path, head, message):
    assert Transcript.load(write(tmp_path / "good", header())).seen_by("server").last("a").kind == "a"
    refuses(write(tmp_path / "run", head), message)


@pytest.mark.parametrize("dtype", [torch.half, torch.double, *(pytest.param(t) for t in RARE)])
def test_values_that_are_not_finite_are_refused(tmp_path, dtype):
    for value in (torch.nan, torch.inf, -torch.inf):
        write(tmp_path / "run", header(), {"0/w": torch.tensor([0, value]).to(dtype)})
        with pytest.raises(InputError, match=r"'w' (are not finite|as torch)"):
            Transcript.load(tmp_path / "run")


def test_error_about_values_names_the_file(tmp_path):
    refuses(write(tmp_path / "run", header(), {"0/w": torch.tensor([torch.nan])}), "not finite")


def test_failing_save_leaves_the_old_file_and_no_partial_one(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="cannot write the transcript"):
        recorded().save(tmp_path / "folder")
    recorded().save(tmp_path / "run")
    before, limit = (tmp_path / "run").read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limit[1]))  # as if the disk were full
    try:
        with pytest.raises((InputError, SafetensorError), match="File too large"):
            recorded().save(tmp_path / "run")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert (tmp_path / "run").read_bytes() == before
    assert {p.name for p in tmp_path.iterdir()} == {"folder", "run"}


def test_save_into_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot write the transcript"):
        recorded().save(tmp_path / "no" / "run")


def test_tensors_that_share_memory_are_saved(tmp_path):
    transcript, w = Transcript(), torch.arange(4.0)
    transcript.record(Message("a", "client:0", "server", 0, {"w": w, "half": w[:2]}), keep=True)
    transcript.save(tmp_path / "run")
    same(Transcript.load(tmp_path / "run").messages, transcript.messages)
