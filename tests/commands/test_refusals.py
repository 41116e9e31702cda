"""The command line: what it refuses, with exit code 2 and one line, before it works for long."""

import numpy as np
import pytest
import torch

from gaudit.errors import InputError
from gaudit.targets.channel import Channel


def refused(result, *says):
    """Exit code 2 and one line that says what is wrong, no traceback."""
    assert result.exit_code == 2, (result.exception, result.output)
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("gaudit: error: ")
    for word in says:
        assert word in lines[0]


REQUESTS = {
    "target": (["--target", "fedgcc"], ["target", "did you mean 'fedgc'"]),
    "attack": (["--attack", "nearst"], ["attack", "did you mean 'nearest'"]),
    "defense": (["--defense", "lpd"], ["defense", "did you mean 'ldp'"]),
    "preset": (["--preset", "quik"], ["preset", "did you mean 'quick'"]),
    "setting": (["--set", "round=3"], ["setting", "did you mean 'rounds'"]),
    "inner setting": (["--set", "test.epoch=3"], ["epoch", "fedgc"]),
    "setting of a wrong type": (["--set", "rounds=many"], ["rounds", "'many'"]),
    "settings at odds": (["--set", "checkpoints=[99]"], ["checkpoints"]),
    "setting within a plain one": (["--set", "rounds.x=1"], ["rounds"]),
    "ratio that leaves a class empty": (["--ratio", "0.007"], ["classes empty", "ratio"]),
    "more clients than half of the nodes": (["--set", "clients=80"], ["clients"]),
    "observer": (["--observer", "sever"], ["observer", "'sever'"]),
    "observer that took no part": (["--observer", "client:99"], ["client:99", "client:0"]),
    "device": (["--device", "cuda:9"], ["cuda:9", "--device cpu"]),
    "device without a meaning": (["--device", "abacus"], ["abacus"]),
    "device without data": (["--device", "meta"], ["meta"]),
    "strength without a knob": (["--defense", "none", "--strength", "1"], ["--strength"]),
    "strength out of range": (["--defense", "ldp", "--strength", "-1"], ["epsilon"]),
    "infinite strength": (["--defense", "ldp", "--strength", "inf"], ["epsilon"]),
    "two strengths": (
        ["--defense", "ldp:epsilon=5", "--strength", "7"],
        ["--strength 7", "ldp:epsilon=5"],
    ),
    "two graphs": (["--dataset", "karate"], ["--graph", "--dataset karate", "give one"]),
    "transcript folder": (["--save-transcripts", "/dev/null/x"], ["/dev/null/x"]),
}


@pytest.mark.parametrize("case", REQUESTS)
def test_bad_request_is_refused_in_one_line(graph, attacked, case):
    more, says = REQUESTS[case]
    refused(attacked(graph, "--workers", 1, *more), *says)


def test_unknown_dataset_is_refused(gaudit):
    result = gaudit("attack", "--target", "fedgc", "--attack", "nearest", "--dataset", "citation")
    refused(result, "dataset", "did you mean 'citations'")


def test_setting_without_value_is_a_usage_error(graph, attacked):
    result = attacked(graph, "--set", "rounds")
    assert result.exit_code == 2
    assert "KEY=VALUE" in result.stderr


@pytest.mark.parametrize("where", ["folder", "missing", "closed"])
def test_json_that_cannot_be_written_is_refused_before_the_run(graph, gaudit, tmp_path, where):
    path = {"folder": tmp_path, "missing": tmp_path / "no" / "out.json", "closed": "/proc/out.json"}[where]
    # the run itself would fail with another error: an unknown target
    result = gaudit("attack", "--target", "nothing", "--attack", "nearest", "--graph", graph, "--json", path)
    refused(result, "cannot write", str(path))


GRAPHS = {
    "NaN features": (lambda a: {"x": np.full_like(a["x"], np.nan)}, "x"),
    "features of other nodes": (lambda a: {"x": a["x"][1:]}, "x"),
    "flat features": (lambda a: {"x": a["x"][:, 0]}, "x"),
    "overlapping masks": (lambda a: {"test_mask": a["train_mask"]}, "overlap"),
    "no edges": (lambda a: {"edge_index": a["edge_index"][:, :0]}, "no edges"),
    "one class": (lambda a: {"y": np.zeros_like(a["y"])}, "one class"),
}


@pytest.mark.parametrize("case", GRAPHS)
def test_bad_graph_is_refused(attacked, arrays, tmp_path, case):
    changes, says = GRAPHS[case]
    np.savez(tmp_path / "bad.npz", **arrays | changes(arrays))
    refused(attacked(tmp_path / "bad.npz", "--workers", 1), says)


@pytest.mark.dear
def test_an_attack_without_data_of_its_own_is_left_out_and_the_other_runs(attacked, arrays, tmp_path):
    node = np.arange(150)
    masks = {"train_mask": node < 70, "val_mask": node >= 145, "test_mask": (node >= 70) & (node < 145)}
    np.savez(tmp_path / "full.npz", **arrays | masks)
    both = attacked(tmp_path / "full.npz", "--workers", 1, attacks=("mia", "nearest"))
    assert both.exit_code == 0
    assert "mia does not apply: only 5 nodes" in both.output
    refused(
        attacked(tmp_path / "full.npz", "--only", "--workers", 1, attacks=("mia",)),
        "no attack applies",
        "only 5 nodes",
    )


@pytest.mark.dear
@pytest.mark.parametrize("workers", [1, 2])
def test_client_without_labelled_node_is_refused(attacked, arrays, tmp_path, workers):
    """Two halves without a link between them, labels in one alone; the error also comes out of a worker."""
    half = np.arange(150) < 75
    row, col = arrays["edge_index"]
    inside = half[row] == half[col]
    path = np.stack([np.r_[0:74, 75:149], np.r_[1:75, 76:150]])
    arrays["edge_index"] = np.concatenate([arrays["edge_index"][:, inside], path], axis=1)
    arrays["train_mask"] = arrays["train_mask"] & half
    np.savez(tmp_path / "halves.npz", **arrays)
    result = attacked(tmp_path / "halves.npz", "--set", "partition=metis", "--workers", workers)
    refused(result, "holds no labelled node")


def test_missing_graph_is_refused(attacked, tmp_path):
    refused(attacked(tmp_path / "none.npz"), "none.npz", "no such file")


@pytest.mark.parametrize("command", ["attack", "inspect"])
@pytest.mark.parametrize("damage", ["missing", "truncated", "empty", "text", "folder"])
def test_bad_transcript_is_refused(graph, gaudit, recorded_file, tmp_path, damage, command):
    path = tmp_path / "bad.safetensors"
    content = {"truncated": recorded_file.read_bytes()[:-40], "empty": b"", "text": b"hello, world, this is text"}
    if damage in content:
        path.write_bytes(content[damage])
    elif damage == "folder":
        path.mkdir()
    more = ("--attack", "nearest") if command == "attack" else ()
    refused(gaudit(command, "--target", "fedgc", "--graph", graph, "--transcript", path, *more), "bad.safetensors")


@pytest.mark.dear
@pytest.mark.parametrize("attack", ["nearest", "mia"])
def test_release_of_another_width_is_refused(graph, attacked, tmp_path, attack):
    channel, n = Channel(), 6
    release = {"x": torch.randn(n, 13), "y": torch.arange(n) % 3, "adjacency": torch.zeros(n, n)}
    channel.send("condensed-graph", "server", "public", 1, release)
    channel.transcript.save(tmp_path / "wide.safetensors")
    refused(attacked(graph, "--transcript", tmp_path / "wide.safetensors", attacks=(attack,)), "features")


def test_transcript_without_a_release_is_refused(graph, attacked, tmp_path):
    channel = Channel()
    channel.send("class-counts", "client:0", "server", -1, {"counts": torch.ones(3)})
    channel.transcript.save(tmp_path / "quiet.safetensors")
    refused(attacked(graph, "--transcript", tmp_path / "quiet.safetensors"), "no attack applies", "nearest")


@pytest.mark.parametrize("source", ["run", "record"])
def test_inspecting_as_one_who_took_no_part_is_refused(graph, inspected, recorded, source):
    more = ("--transcript", recorded) if source == "record" else ()
    refused(inspected(graph, "--defense", "none", "--observer", "client:99", *more), "client:99", "client:0")


@pytest.mark.parametrize("more", [("--defense", "ldp"), ("--set", "hops=0"), ("--timeline",), ("--seeds", 2)])
def test_options_that_change_a_run_are_refused_for_a_recorded_one(graph, attacked, recorded, more):
    told = ("hops",) if more[0] == "--set" else (more[0], "leave it out")
    refused(attacked(graph, "--transcript", recorded, *more), *told)


def test_a_recording_that_is_there_is_not_written_over(graph, attacked, recorded):
    refused(attacked(graph, "--workers", 1, "--save-transcripts", recorded.parent), "holds a recording already")


def test_a_graph_without_masks_has_no_truth_for_a_recorded_run(arrays, attacked, recorded, tmp_path):
    kept = {name: array for name, array in arrays.items() if not name.endswith("_mask")}
    np.savez(tmp_path / "bare.npz", **kept)
    refused(attacked(tmp_path / "bare.npz", "--transcript", recorded), "masks")


def test_a_strange_party_cannot_send():
    with pytest.raises(InputError, match="alice:home"):
        Channel().send("condensed-graph", "alice:home", "public", 1, {"x": torch.rand(6, 12)})


def test_a_foreign_record_is_attacked(graph, attacked, tmp_path):
    channel = Channel()
    release = {"x": torch.rand(6, 12), "y": torch.arange(6) % 3, "adjacency": torch.zeros(6, 6)}
    channel.send("condensed-graph", "server", "public", 1, release)
    channel.transcript.save(tmp_path / "foreign.safetensors")
    result = attacked(graph, "--transcript", tmp_path / "foreign.safetensors")
    assert result.exit_code == 0
    assert "AUC" in result.stdout
