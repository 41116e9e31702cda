"""A recording grows by what is appended, keeps what a killed run had sent, and is not trusted when it is read."""

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

import gaudit
from gaudit import InputError
from gaudit.targets.channel import Channel
from gaudit.targets.recorder import save_recording
from gaudit.targets.recording import (
    ABOUT,
    FORMAT,
    About,
    about_recording,
    digest_of_recording,
    json_schema,
    read_recording,
    shards_of,
)
from gaudit.targets.transcript import DTYPES

SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "transcript-2.json"
WEIGHTS = {"w1": torch.arange(6.0).reshape(2, 3).t(), "b1": torch.zeros(2, dtype=torch.float64)}
ONE = torch.ones(1)
BIG = "18446744073709551557"
TOLD = {
    "game": "label-membership",
    "recipe": {"hidden": 8},
    "defense": {"name": "clipping", "settings": {"norm": 1.0}},
    "members": np.array([True, False, True, False]),
    "non_members": [3],
    "holders": np.array([0, 0, 3, -1]),
    "parties": {"client:0": {"id": BIG, "partition": 0}, "client:3": {"id": "St. Mary", "partition": 3}},
    "pipeline": "my own",
    "features": "given",
}


def sent(folder, rounds=2, **told):
    """A recording of some rounds of two clients."""
    with gaudit.recording(folder, **told) as send:
        for t in range(rounds):
            send("global-model", "server", "clients", t, WEIGHTS)
            for client in ("client:0", "client:3"):
                send("update", client, "server", t, {name: w.numpy() + t for name, w in WEIGHTS.items()})
    return folder


def refused(folder, match):
    with pytest.raises(InputError, match=match) as caught:
        read_recording(folder)
    assert "\n" not in str(caught.value)


def test_what_was_sent_is_read_as_it_was(tmp_path):
    found = read_recording(sent(tmp_path / "run"))
    channel = Channel()
    for t in range(2):
        channel.send("global-model", "server", "clients", t, WEIGHTS)
        for client in ("client:0", "client:3"):
            channel.send("update", client, "server", t, {name: w + t for name, w in WEIGHTS.items()})
    assert len(found.transcript.messages) == 6
    for ours, theirs in zip(found.transcript.messages, channel.transcript.messages, strict=True):
        assert (ours.kind, ours.sender, ours.receiver, ours.round) == (
            *(theirs.kind, theirs.sender, theirs.receiver, theirs.round),
        )
        for name, tensor in theirs.tensors.items():
            assert ours.tensors[name].dtype == tensor.dtype
            assert torch.equal(ours.tensors[name], tensor)
    assert found.transcript.tallies == channel.transcript.tallies


def test_what_is_told_of_a_run_is_read_and_what_nobody_told_is_unknown(tmp_path):
    told = about_recording(sent(tmp_path / "told", **TOLD))
    assert told.members.nodes == (0, 2)
    assert told.members.others == (3,)
    assert told.holders == (0, 0, 3, -1)
    assert (told.parties["client:0"].id, told.parties["client:3"].partition) == (BIG, 3)
    assert told.defense.label == "clipping, norm 1.0"
    assert (told.recipe.hidden, told.game, told.pipeline) == (8, "label-membership", "my own")
    nothing = about_recording(sent(tmp_path / "nothing"))
    assert nothing == About()
    assert nothing.recipe is nothing.defense is nothing.members is None


def test_a_message_costs_what_it_holds_and_leaves_all_before_it_alone(tmp_path):
    folder = sent(tmp_path / "run", rounds=1)
    before = {path: (path.stat().st_ino, path.read_bytes()) for path in folder.iterdir()}
    with gaudit.recording(folder, append=True) as send:
        send("update", "client:0", "server", 1, WEIGHTS)
    (new,) = set(folder.iterdir()) - set(before)
    assert {path: (path.stat().st_ino, path.read_bytes()) for path in before} == before
    assert new.stat().st_size <= max(path.stat().st_size for path in before)
    assert [m.round for m in read_recording(folder).transcript.messages] == [0, 0, 0, 1]


def test_a_run_that_is_killed_leaves_what_it_had_sent(tmp_path):
    code = f"""
import os, signal, torch, gaudit
send = gaudit.recording({str(tmp_path / "run")!r})
for t in range(3):
    send("update", "client:0", "server", t, {{"w": torch.full((4,), float(t))}})
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    (tmp_path / "run" / ".gaudit-0123.part").write_bytes(b"half of a shar")  # what a kill within a write leaves
    assert [float(m.tensors["w"][0]) for m in read_recording(tmp_path / "run").transcript.messages] == [0, 1, 2]


def test_nobody_but_the_owner_may_read_it(tmp_path):
    old = os.umask(0)
    try:
        folder = sent(tmp_path / "run", **TOLD)
    finally:
        os.umask(old)
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_a_recording_is_not_written_over(tmp_path):
    folder = sent(tmp_path / "run")
    digest = digest_of_recording(folder)
    with pytest.raises(InputError, match="holds a recording already"):
        gaudit.recording(folder)
    assert digest_of_recording(folder) == digest
    one, other = (gaudit.recording(folder, append=True) for _ in range(2))
    one("update", "client:0", "server", 2, WEIGHTS)
    with pytest.raises(InputError, match="another program"):
        other("update", "client:0", "server", 2, WEIGHTS)


@pytest.mark.parametrize(
    ("message", "match"),
    [
        (("updaet", "client:0", "server", 0, WEIGHTS), "did you mean 'update'"),
        (("update", "server", "client:0", 0, WEIGHTS), "declared to go client > server"),
        (("update", "client:alice", "server", 0, WEIGHTS), "parties are called"),
        (("update", "client:0", "server", -2, WEIGHTS), "the round"),
        (("update", "client:0", "server", 0.5, WEIGHTS), "the round"),
        (("update", "client:0", "server", 0, {"w": torch.eye(2).to_sparse()}), "sparse"),
        (("update", "client:0", "server", 0, {"w": torch.tensor([torch.nan])}), "not finite"),
        (("update", "client:0", "server", 0, {"w": np.array([1j])}), "complex"),
        (("update", "client:0", "server", 0, {"w": np.array(["a"])}), "no array of numbers"),
    ],
)
def test_what_a_channel_would_not_send_is_not_recorded(tmp_path, message, match):
    with gaudit.recording(tmp_path / "run") as send, pytest.raises(InputError, match=match):
        send(*message)
    assert shards_of(tmp_path / "run") == []
    with pytest.raises(InputError, match="closed"):
        send("update", "client:0", "server", 0, WEIGHTS)


@pytest.mark.parametrize(
    ("told", "match"),
    [
        ({"game": "chess"}, "game"),
        ({"recipe": {"hiden": 8}}, "hiden"),
        ({"members": [1, 1]}, "listed twice"),
        ({"members": [1], "non_members": [1]}, "listed twice"),
        ({"non_members": [1]}, "without members"),
        ({"holders": [0.5]}, "whole numbers"),
        ({"parties": {"client:1": {"partition": 2}}}, "called client:<partition>"),
        ({"parties": {"client:1": {"id": "a"}, "client:2": {"id": "a"}}}, "one id"),
        ({"parties": {"alice": {"id": "a"}}}, "parties"),
    ],
)
def test_what_is_told_wrongly_is_refused_before_anything_is_written(tmp_path, told, match):
    with pytest.raises(InputError, match=match):
        gaudit.recording(tmp_path / "run", **told)
    assert not (tmp_path / "run").exists()


def test_content_is_kept_of_what_is_asked_for_and_all_is_counted(tmp_path):
    found = read_recording(sent(tmp_path / "run"), lambda m: m.kind == "update" and m.round == 1).transcript
    assert [(m.sender, m.round) for m in found.messages] == [("client:0", 1), ("client:3", 1)]
    assert found.tallies == read_recording(tmp_path / "run").transcript.tallies


@pytest.mark.parametrize("name", sorted(DTYPES))
def test_what_is_only_counted_is_counted_to_the_byte(tmp_path, name):
    kind = getattr(torch, name.removeprefix("torch."))
    with gaudit.recording(tmp_path / "run") as send:
        send(
            "update",
            "client:0",
            "server",
            0,
            {"w": torch.ones(3, 5).to(kind), "empty": torch.ones(0, 2).to(kind)},
        )
    counted, whole = (read_recording(tmp_path / "run", lambda _, keep=keep: keep) for keep in (False, True))
    assert counted.transcript.tallies == whole.transcript.tallies
    assert counted.transcript.messages == []


def test_a_run_that_is_over_is_saved_with_the_counts_of_what_it_did_not_keep(tmp_path):
    channel = Channel(retain=lambda m: m.round == 0)
    for t in range(3):
        channel.send("update", "client:0", "server", t, WEIGHTS)
    save_recording(tmp_path / "run", channel.transcript, About(game="label-membership"))
    found = read_recording(tmp_path / "run")
    assert [m.round for m in found.transcript.messages] == [0]
    assert found.transcript.tallies == channel.transcript.tallies


def test_memory_is_refused_before_tensors_are_read(tmp_path, monkeypatch):
    folder = sent(tmp_path / "run", rounds=5)
    size = sum(path.stat().st_size for path in folder.iterdir())
    monkeypatch.setenv("GAUDIT_MEMORY", str(size / 2**30))
    refused(folder, "too large")
    monkeypatch.setenv("GAUDIT_MEMORY", str(100 * size / 2**30))
    assert read_recording(folder).transcript.messages


def shard(path, header, tensors):
    save_file(tensors, path, metadata={"gaudit": json.dumps(header)})


@pytest.mark.parametrize(
    ("spoil", "match"),
    [
        (lambda f: (f / ABOUT).unlink(), "is no recording"),
        (lambda f: (f / ABOUT).write_text("{"), "damaged"),
        (lambda f: (f / ABOUT).write_bytes(b"\xff\xfe"), "cannot read"),
        (lambda f: (f / ABOUT).write_text("[" * 20000), "damaged"),
        (lambda f: (f / ABOUT).write_text(json.dumps({"format": "gaudit-transcript/3"})), "has the format"),
        (lambda f: (f / ABOUT).write_text(json.dumps({"format": FORMAT, "recipee": {}})), "recipee"),
        (lambda f: (f / "000001.safetensors").unlink(), "lacks the shard 000001"),
        (lambda f: (f / "000001.safetensors").write_bytes(b"\xff" * 99), "damaged or truncated"),
        (lambda f: ((f / "000001.safetensors").unlink(), os.mkfifo(f / "000001.safetensors")), "no regular file"),
        (lambda f: ((f / ABOUT).unlink(), os.mkfifo(f / ABOUT)), "no regular file"),
        (lambda f: shard(f / "000001.safetensors", {"format": "gaudit-transcript/1"}, {}), "has the format"),
        (lambda f: shard(f / "000001.safetensors", {"format": FORMAT, "messages": []}, {"0/w": ONE}), "names"),
        (lambda f: shard(f / "000001.safetensors", {"messages": []}, {}), "says no format"),
        (lambda f: (f / ABOUT).write_text("{}"), "says no format"),
    ],
)  # fmt: skip
def test_what_is_damaged_is_refused_in_one_line(tmp_path, spoil, match):
    folder = sent(tmp_path / "run")
    spoil(folder)
    refused(folder, match)


def test_a_shard_from_outside_is_checked_as_a_transcript_is(tmp_path):
    folder = sent(tmp_path / "run", rounds=1)
    one = {"kind": "update", "sender": "client:0", "receiver": "server", "round": 0, "tensors": ["w"]}
    for change, tensor, match in (
        ({}, torch.tensor([torch.inf]), "not finite"),
        ({}, torch.ones(2).to(torch.complex64), "expected real numbers"),
        ({"sender": "alice"}, torch.ones(1), "alice"),
        ({"nodes": 1}, torch.ones(1), "nodes"),
    ):
        shard(folder / "000001.safetensors", {"format": FORMAT, "messages": [one | change]}, {"0/w": tensor})
        refused(folder, match)
    shard(folder / "000001.safetensors", {"format": FORMAT, "messages": [one]}, {"0/w": torch.ones(1)})
    assert len(read_recording(folder).transcript.messages) == 3


def test_a_file_of_format_1_is_read_as_a_run_of_which_nothing_is_known(tmp_path):
    channel = Channel()
    channel.send("update", "client:0", "server", 0, WEIGHTS)
    channel.transcript.save(tmp_path / "old.safetensors")
    found = read_recording(tmp_path / "old.safetensors")
    assert found.about == About()
    assert torch.equal(found.transcript.messages[0].tensors["w1"], WEIGHTS["w1"])


def test_the_public_schema_is_that_of_the_code():
    assert json.loads(SCHEMA.read_text()) == json_schema()


@pytest.mark.parametrize("told", [{}, TOLD])
def test_what_is_written_is_as_the_public_schema_says(tmp_path, told):
    schema = json.loads(SCHEMA.read_text())
    folder = sent(tmp_path / "run", **told)
    about = json.loads((folder / ABOUT).read_text())
    jsonschema.validate(about, schema)
    of_shard = {"$ref": "#/$defs/ShardHeader", "$defs": schema["$defs"]}
    for path in shards_of(folder):
        with safe_open(path, framework="np") as file:
            header = json.loads(file.metadata()["gaudit"])
        jsonschema.validate(header, of_shard)
    for wrong, what in (
        ({**about, "recipee": {}}, schema),
        ({**about, "game": "chess"}, schema),
        ({**header, "format": "x"}, of_shard),
        ({"messages": []}, of_shard),
        ({}, schema),
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, what)


def test_a_writer_needs_no_gaudit(tmp_path):
    """Written with safetensors and json alone, after the public schema."""
    from safetensors.numpy import save_file as save

    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "recording.json").write_text('{"format": "gaudit-transcript/2"}')
    message = {"kind": "update", "sender": "client:0", "receiver": "server", "round": 0, "tensors": ["w"]}
    header = json.dumps({"format": "gaudit-transcript/2", "messages": [message]})
    save({"0/w": np.arange(3.0)}, folder / "000000.safetensors", metadata={"gaudit": header})
    assert read_recording(folder).transcript.messages[0].tensors["w"].tolist() == [0, 1, 2]
