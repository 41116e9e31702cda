"""The command line: what it prints and writes, and how it refuses."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from torch_geometric.data import Data

from gaudit.audit.cli import main
from gaudit.targets.channel import Channel
from gaudit.targets.graph import check_graph
from gaudit.targets.graphfile import write_graph

NODES, WORDS = 150, 12
SMALL = ["rounds=4", "checkpoints=[2,4]", "clients=2", "hidden=8", "self_training_rounds=3", "beta=50"]
SMALL += ["test.epochs=5", "test.models=1", "test.hidden=8"]
SETTINGS = [part for setting in SMALL for part in ("--set", setting)] + ["--ratio", "0.1"]


def arrays():
    rng = np.random.default_rng(0)
    y = np.arange(NODES) % 3
    x = (rng.random((NODES, WORDS)) < np.where(np.arange(WORDS) % 3 == y[:, None], 0.5, 0.1)).astype(np.float32)
    links = rng.random((NODES, NODES)) < np.where(y[:, None] == y[None, :], 0.04, 0.005)
    order = rng.permutation(NODES)
    masks = {f"{name}_mask": np.isin(np.arange(NODES), part)
             for name, part in zip(("train", "val", "test"), np.split(order[:110], [40, 70]), strict=True)}  # fmt: skip
    return {"x": x, "y": y, "edge_index": np.stack(np.nonzero(np.triu(links, 1))), **masks}


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "small.npz"
    data = Data(**{name: torch.from_numpy(array) for name, array in arrays().items()})
    write_graph(check_graph(data, "small"), path)
    return str(path)


def gaudit(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


def attacked(graph, *more, attacks=("nearest",)):
    named = [part for attack in attacks for part in ("--attack", attack)]
    return gaudit("attack", "--target", "fedgc", "--graph", graph, *SETTINGS, *named, *more)


def refused(result, *says):
    """Exit code 2 and one line that says what is wrong, no traceback."""
    assert result.exit_code == 2, (result.exception, result.output)
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("gaudit: error: ")
    for word in says:
        assert word in lines[0]


@pytest.fixture(scope="module")
def recorded(graph, tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    result = attacked(graph, "--workers", 1, "--save-transcripts", folder)
    assert result.exit_code == 0, result.output
    assert sorted(p.name for p in folder.iterdir()) == ["ib-seed0.safetensors", "none-seed0.safetensors"]
    return folder / "none-seed0.safetensors"


@pytest.mark.parametrize(
    ("what", "name"),
    [("targets", "fedgc"), ("attacks", "mia-adaptive"), ("defenses", "ib"), ("datasets", "citations")],
)
def test_list_has_a_line_about_each(what, name):
    result = gaudit("list", what)
    assert result.exit_code == 0
    (line,) = [line for line in result.stdout.splitlines() if line.split()[0] == name]
    assert len(line.split()) > 2


def test_attack_writes_results_with_intervals_groups_and_null(graph, tmp_path):
    path = tmp_path / "out.json"
    result = attacked(graph, "--workers", 1, "--json", path, attacks=("mia", "nearest"))
    assert result.exit_code == 0, result.output
    content = json.loads(path.read_text())
    assert [o["defense"] for o in content["outcomes"]] == ["none", "ib"]
    for outcome in content["outcomes"]:
        assert [a["attack"] for a in outcome["attacks"]] == ["mia", "nearest"]
        for found in outcome["attacks"]:
            for finding in ("auc", "blind_auc", "null_auc"):
                assert 0 <= found[finding]["low"] <= found[finding]["estimate"] <= found[finding]["high"] <= 1
            assert (found["auc"]["members"], found["auc"]["non_members"]) == (40, 40)
    groups = content["outcomes"][1]["attacks"][0]["groups"]
    assert sum(g["non_members"] for g in groups.values()) == 40
    assert content["outcomes"][1]["accuracy_cost"] is not None
    last = result.stdout.rstrip().splitlines()[-1]
    assert last.endswith(".")
    assert f"AUC {content['outcomes'][0]['attacks'][1]['auc']['estimate']:.2f}" in last
    assert content["summary"].splitlines()[-1] == last
    assert list(tmp_path.iterdir()) == [path]


def test_same_seed_same_bytes_whatever_the_workers(graph, tmp_path):
    for name, more in (("one", ("--workers", 1)), ("again", ("--workers", 1)), ("two", ("--workers", 2))):
        assert attacked(graph, "--json", tmp_path / name, *more).exit_code == 0
    assert attacked(graph, "--json", tmp_path / "other", "--workers", 1, "--seed", 1).exit_code == 0
    texts = {name: (tmp_path / name).read_bytes() for name in ("one", "again", "two", "other")}
    assert texts["one"] == texts["again"] == texts["two"]
    assert json.loads(texts["one"])["outcomes"] != json.loads(texts["other"])["outcomes"]


def test_timeline_attacks_every_release(graph, tmp_path):
    path = tmp_path / "out.json"
    assert attacked(graph, "--workers", 1, "--timeline", "--defense", "none", "--json", path).exit_code == 0
    (outcome,) = json.loads(path.read_text())["outcomes"]
    assert [a["round"] for a in outcome["timeline"]] == [2, 4]
    assert set(outcome["accuracy_by_round"]) == {"2", "4"}


def test_an_attack_that_does_not_apply_is_said_to(graph, tmp_path):
    result = attacked(graph, "--workers", 1, "--defense", "none", attacks=("nearest", "mia-adaptive"))
    assert result.exit_code == 0, result.output
    assert "mia-adaptive not applicable" in result.stdout


def test_attacks_none_of_which_apply_are_no_crash(graph, tmp_path):
    result = attacked(graph, "--workers", 1, "--defense", "none", attacks=("mia-adaptive",))
    assert not result.exception or isinstance(result.exception, SystemExit), result.exception
    assert "mia-adaptive" in result.output


def test_inspect_shows_who_sees_what(graph):
    result = gaudit("inspect", "--target", "fedgc", "--graph", graph, *SETTINGS, "--defense", "none")
    assert result.exit_code == 0, result.output
    rows = [line for line in result.stdout.splitlines() if "condensed-graph" in line]
    assert len(rows) == 3  # public, server, client:0
    public = result.stdout[result.stdout.index("public") : result.stdout.index("server")]
    assert "class-gradients" not in public
    assert "class-gradients" in result.stdout


def test_a_recorded_run_is_inspected_and_attacked(graph, recorded, tmp_path):
    inspected = gaudit("inspect", "--target", "fedgc", "--transcript", recorded, "--observer", "public")
    assert inspected.exit_code == 0, inspected.output
    assert "condensed-graph" in inspected.stdout
    again = tmp_path / "again.json"
    result = attacked(graph, "--transcript", recorded, "--json", again)
    assert result.exit_code == 0, result.output
    (outcome,) = json.loads(again.read_text())["outcomes"]
    assert outcome["attacks"][0]["auc"]["members"] == 40
    assert outcome["accuracy"]["estimate"] is None


@pytest.mark.parametrize("arguments", [["--help"], ["attack", "--help"], ["list", "attacks"]])
def test_it_runs_as_a_program(arguments):
    code = "from gaudit.audit.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.strip()
    assert not done.stderr


REQUESTS = {
    "target": (["--target", "fedcg"], ["target", "did you mean 'fedgc'"]),
    "attack": (["--attack", "nearst"], ["attack", "did you mean 'nearest'"]),
    "defense": (["--defense", "lpd"], ["defense", "did you mean 'ldp'"]),
    "preset": (["--preset", "quik"], ["preset", "did you mean 'quick'"]),
    "setting": (["--set", "round=3"], ["setting", "did you mean 'rounds'"]),
    "inner setting": (["--set", "test.epoch=3"], ["epoch", "fedgc"]),
    "setting of a wrong type": (["--set", "rounds=many"], ["rounds", "'many'"]),
    "settings at odds": (["--set", "checkpoints=[99]"], ["checkpoints"]),
    "setting within a plain one": (["--set", "rounds.x=1"], ["rounds"]),
    "ratio that leaves a class empty": (["--ratio", "0.007"], ["classes empty", "ratio"]),
    "client without labelled node": (["--set", "clients=60"], ["clients"]),
    "observer": (["--observer", "sever"], ["observer", "'sever'"]),
    "observer that took no part": (["--observer", "client:99"], ["client:99", "client:0"]),
    "device": (["--device", "cuda:9"], ["cuda:9", "--device cpu"]),
    "device without a meaning": (["--device", "abacus"], ["abacus"]),
    "device without data": (["--device", "meta"], ["meta"]),
    "strength without a knob": (["--defense", "none", "--strength", "1"], ["--strength"]),
    "strength out of range": (["--defense", "ldp", "--strength", "-1"], ["epsilon"]),
    "infinite strength": (["--defense", "ldp", "--strength", "inf"], ["epsilon"]),
    "transcript folder": (["--save-transcripts", "/dev/null/x"], ["/dev/null/x"]),
}


# fail at present: see the report of the session that wrote this
@pytest.mark.parametrize("case", REQUESTS)
def test_bad_request_is_refused_in_one_line(graph, case):
    more, says = REQUESTS[case]
    refused(attacked(graph, "--workers", 1, *more), *says)


def test_unknown_dataset_is_refused():
    result = gaudit("attack", "--target", "fedgc", "--attack", "nearest", "--dataset", "citation")
    refused(result, "dataset", "did you mean 'citations'")


def test_setting_without_value_is_a_usage_error(graph):
    result = attacked(graph, "--set", "rounds")
    assert result.exit_code == 2
    assert "KEY=VALUE" in result.stderr


@pytest.mark.parametrize("where", ["folder", "missing", "closed"])
def test_json_that_cannot_be_written_is_refused_before_the_run(graph, tmp_path, where):
    path = {"folder": tmp_path, "missing": tmp_path / "no" / "out.json", "closed": "/proc/out.json"}[where]
    # the run itself would fail with another error: an unknown target
    result = gaudit("attack", "--target", "nothing", "--attack", "nearest", "--graph", graph, "--json", path)
    refused(result, "cannot write", str(path))


GRAPHS = {
    "NaN features": ({"x": np.full((NODES, WORDS), np.nan)}, "x"),
    "features of other nodes": ({"x": np.ones((NODES - 1, WORDS))}, "x"),
    "flat features": ({"x": np.ones(NODES)}, "x"),
    "overlapping masks": ({"test_mask": arrays()["train_mask"]}, "overlap"),
    "no edges": ({"edge_index": np.zeros((2, 0), dtype=np.int64)}, "no edges"),
    "one class": ({"y": np.zeros(NODES, dtype=np.int64)}, "one class"),
    "nobody left for a shadow": ({"test_mask": ~arrays()["train_mask"] & ~arrays()["val_mask"],
                                  "val_mask": arrays()["val_mask"] & (np.cumsum(arrays()["val_mask"]) < 5)}, "shadow"),
}  # fmt: skip


@pytest.mark.parametrize("case", GRAPHS)
def test_bad_graph_is_refused(tmp_path, case):
    changes, says = GRAPHS[case]
    made = arrays() | changes
    if case == "nobody left for a shadow":
        made["test_mask"] = ~made["train_mask"] & ~made["val_mask"]
    np.savez(tmp_path / "bad.npz", **made)
    refused(attacked(tmp_path / "bad.npz", "--workers", 1), says)


def test_missing_graph_is_refused(tmp_path):
    refused(attacked(tmp_path / "none.npz"), "none.npz", "no such file")


@pytest.mark.parametrize("command", ["attack", "inspect"])
@pytest.mark.parametrize("damage", ["missing", "truncated", "empty", "text", "folder"])
def test_bad_transcript_is_refused(graph, recorded, tmp_path, damage, command):
    path = tmp_path / "bad.safetensors"
    content = {"truncated": recorded.read_bytes()[:-40], "empty": b"", "text": b"hello, world, this is text"}
    if damage in content:
        path.write_bytes(content[damage])
    elif damage == "folder":
        path.mkdir()
    more = ("--attack", "nearest") if command == "attack" else ()
    refused(gaudit(command, "--target", "fedgc", "--graph", graph, "--transcript", path, *more), "bad.safetensors")


@pytest.mark.parametrize("attack", ["nearest", "mia"])
def test_release_of_another_width_is_refused(graph, tmp_path, attack):
    channel, n = Channel(), 6
    release = {"x": torch.randn(n, WORDS + 1), "y": torch.arange(n) % 3, "adjacency": torch.zeros(n, n)}
    channel.send("condensed-graph", "server", "public", 1, release)
    channel.transcript.save(tmp_path / "wide.safetensors")
    refused(attacked(graph, "--transcript", tmp_path / "wide.safetensors", attacks=(attack,)), "features")


def test_transcript_without_a_release_is_refused(graph, tmp_path):
    channel = Channel()
    channel.send("class-counts", "client:0", "server", -1, {"counts": torch.ones(3)})
    channel.transcript.save(tmp_path / "quiet.safetensors")
    refused(attacked(graph, "--transcript", tmp_path / "quiet.safetensors"), "no released message")
