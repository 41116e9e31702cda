"""The command line: what it prints and writes."""

import json
import subprocess
import sys

import numpy as np
import pytest


@pytest.mark.parametrize(
    ("what", "name"),
    [("targets", "fedgc"), ("attacks", "mia-adaptive"), ("defenses", "ib"), ("datasets", "citations")],
)
def test_list_has_a_line_about_each(gaudit, what, name):
    result = gaudit("list", what)
    assert result.exit_code == 0
    (line,) = [line for line in result.stdout.splitlines() if line.split()[0] == name]
    assert len(line.split()) > 2


@pytest.mark.dear
def test_attack_writes_results_with_intervals_groups_and_null(graph, attacked, tmp_path):
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
    strongest = max(a["auc"]["estimate"] for a in content["outcomes"][0]["attacks"])
    assert f"in {100 * strongest:.0f} of 100 cases" in result.stdout.splitlines()[1]
    assert f"AUC {strongest:.2f}" in content["summary"].splitlines()[0]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.dear
def test_same_seed_same_bytes_whatever_the_workers(graph, attacked, tmp_path):
    for name, more in (("one", ("--workers", 1)), ("again", ("--workers", 1)), ("two", ("--workers", 2))):
        assert attacked(graph, "--json", tmp_path / name, *more).exit_code == 0
    assert attacked(graph, "--json", tmp_path / "other", "--workers", 1, "--seed", 1).exit_code == 0
    texts = {name: (tmp_path / name).read_bytes() for name in ("one", "again", "two", "other")}
    assert texts["one"] == texts["again"] == texts["two"]
    assert json.loads(texts["one"])["outcomes"] != json.loads(texts["other"])["outcomes"]


def test_timeline_attacks_every_release(graph, attacked, tmp_path):
    path = tmp_path / "out.json"
    assert attacked(graph, "--workers", 1, "--timeline", "--defense", "none", "--json", path).exit_code == 0
    (outcome,) = json.loads(path.read_text())["outcomes"]
    assert [a["round"] for a in outcome["timeline"]] == [2, 4]
    assert set(outcome["accuracy_by_round"]) == {"2", "4"}


@pytest.mark.dear
def test_an_attack_that_does_not_apply_is_said_to(graph, attacked):
    result = attacked(graph, "--workers", 1, "--defense", "none", attacks=("nearest", "mia-adaptive"))
    assert result.exit_code == 0, result.output
    assert "mia-adaptive does not apply" in result.stdout


@pytest.mark.dear
def test_attacks_none_of_which_apply_are_no_crash(graph, attacked):
    result = attacked(graph, "--workers", 1, "--defense", "none", attacks=("mia-adaptive",))
    assert not result.exception or isinstance(result.exception, SystemExit), result.exception
    assert "mia-adaptive" in result.output


def test_inspect_shows_who_sees_what(graph, inspected):
    result = inspected(graph, "--defense", "none")
    assert result.exit_code == 0, result.output
    rows = [line for line in result.stdout.splitlines() if "condensed-graph" in line]
    assert len(rows) == 3  # public, server, client:0
    public = result.stdout[result.stdout.index("public") : result.stdout.index("server")]
    assert "class-gradients" not in public
    assert "class-gradients" in result.stdout


def test_inspect_shows_which_attacks_read_what(gaudit):
    result = gaudit("inspect", "--attacks")
    assert result.exit_code == 0, result.output
    (row,) = (line for line in result.stdout.splitlines() if line.startswith("self-training-sum"))
    assert "label-pursuit" in row
    assert "nearest" not in row
    (left,) = (line for line in result.stdout.splitlines() if line.startswith("No attack reads"))
    assert "neighbour-ids" in left
    assert "self-training-sum" not in left


def test_inspect_shows_which_attacks_read_a_run(inspected, graph):
    result = inspected(graph, "--defense", "none", "--attacks")
    assert result.exit_code == 0, result.output
    assert "label-pursuit" in result.stdout
    assert "published-graph" not in result.stdout


@pytest.mark.parametrize("target", ["classifier", "publish", "random"])
def test_inspect_shows_nobody_who_took_no_part(gaudit, graph, target):
    ratio = ("--ratio", "0.1") if target == "random" else ()
    result = gaudit("inspect", "--target", target, "--graph", graph, *ratio)
    assert result.exit_code == 0, result.output
    assert "public" in result.stdout
    assert "client:0" not in result.stdout
    assert not [line for line in result.stdout.splitlines() if line.startswith("server")]


def test_an_attack_that_a_network_has_nothing_for_is_left_out_and_the_other_runs(gaudit):
    names = ("--attack", "active-walk", "--attack", "refinement")
    result = gaudit("attack", "--target", "publish", "--dataset", "karate", "--workers", 1, *names)
    assert result.exit_code == 0, result.output
    assert "active-walk does not apply: the attack 'active-walk' needs accounts of its own" in result.stdout
    assert "names" in result.stdout.splitlines()[0]


@pytest.mark.parametrize("defense", ["none", "unknown"])
def test_a_recorded_run_is_inspected_and_attacked(
    graph, attacked, gaudit, recorded, recorded_file, tmp_path, defense
):
    recorded = recorded if defense == "none" else recorded_file
    seen = gaudit("inspect", "--target", "fedgc", "--transcript", recorded, "--observer", "public")
    assert seen.exit_code == 0, seen.output
    assert "condensed-graph" in seen.stdout
    again = tmp_path / "again.json"
    result = attacked(graph, "--transcript", recorded, "--json", again)
    assert result.exit_code == 0, result.output
    (outcome,) = json.loads(again.read_text())["outcomes"]
    assert outcome["attacks"][0]["auc"]["members"] == 40
    assert outcome["accuracy"]["estimate"] is None
    assert (outcome["defense"], outcome["label"]) == (defense, defense)
    told = {"none": "as declared and not checked: none", "unknown": "which defense was in place is not recorded"}
    assert any(told[defense] in note for note in outcome["notes"])
    assert ("As it was found" in result.stdout) == (defense == "unknown")


@pytest.mark.parametrize("defense", ["none", "unknown"])
def test_recorded_runs_end_in_a_ledger_a_report_and_the_gate(
    graph, gaudit, recorded, recorded_file, tmp_path, defense
):
    ledger, run = tmp_path / "audit.db", {"none": recorded, "unknown": recorded_file}[defense]
    command = ("record", run, "--graph", graph, "--attack", "nearest", "--workers", 1, "--ledger", ledger)
    result = gaudit(*command)
    assert result.exit_code == 0, result.output
    assert "as recorded" in result.stdout
    for name in ("report.html", "report.md", "report.json"):
        assert gaudit("report", ledger, "-o", tmp_path / name).exit_code == 0
        assert "recorded" in (tmp_path / name).read_text()
    (section,) = json.loads((tmp_path / "report.json").read_text())["sections"]
    assert [outcome["label"] for outcome in section["outcomes"]] == [defense]
    policy = tmp_path / "gaudit.toml"
    for asked, code in ((defense, 0), ({"none": "unknown", "unknown": "none"}[defense], 4)):
        check = {"name": "a", "target": "recorded", "attack": "nearest", "metric": "auc", "defense": asked}
        lines = [f'{key} = "{value}"' for key, value in check.items()]
        policy.write_text("\n".join(["[[check]]", *lines, "budget = 0.99", ""]))
        checked = gaudit("check", ledger, "--policy", policy)
        assert checked.exit_code == code, checked.output


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ((), "does not match the parties of the run"),
        (("--set", "hops=2"), "hops"),
        (("--attack", "refinment"), "did you mean 'refinement'"),
        (("--ledger", "holders.npy"), "reads it"),
    ],
)
def test_recorded_runs_that_cannot_be_audited_are_refused_in_one_line(
    graph, gaudit, recorded, tmp_path, monkeypatch, more, match
):
    monkeypatch.chdir(tmp_path)
    np.save("holders.npy", np.zeros(150, dtype=int))
    result = gaudit("record", recorded, "--graph", graph, "--holders", "holders.npy", "--workers", 1, *more)
    assert result.exit_code == 2
    assert match in result.stderr


def test_who_is_who_in_a_published_network_is_not_recorded(gaudit, tmp_path):
    kept = tmp_path / "kept"
    publish = ("attack", "--target", "publish", "--dataset", "karate", "--attack", "refinement", "--workers", 1)
    result = gaudit(*publish, "--only", "--save-transcripts", kept)
    assert result.exit_code == 0, result.output
    again = gaudit(*publish, "--transcript", kept / "none-seed0")
    assert again.exit_code == 2
    assert "does not say who is who in it" in again.stderr
    assert "label-membership" not in again.output


def test_a_recorded_run_is_inspected_without_naming_its_target(gaudit, recorded):
    named = gaudit("inspect", "--target", "fedgc", "--transcript", recorded)
    alone = gaudit("inspect", "--transcript", recorded)
    assert (alone.exit_code, alone.stdout) == (0, named.stdout), alone.output
    neither = gaudit("inspect")
    assert neither.exit_code == 2
    assert "missing option '--target', or '--transcript'" in neither.output


def test_a_client_is_not_asked_about_its_own_nodes(graph, attacked, tmp_path):
    file = tmp_path / "found.json"
    result = attacked(graph, "--defense", "none", "--observer", "client:0", "--json", file)
    assert result.exit_code == 0, result.output
    (outcome,) = json.loads(file.read_text())["outcomes"]
    auc = outcome["attacks"][0]["auc"]
    assert 0 < auc["members"] < 40
    assert 0 < auc["non_members"] < 40


@pytest.mark.parametrize("arguments", [["--help"], ["attack", "--help"], ["list", "attacks"]])
def test_it_runs_as_a_program(arguments):
    code = "from gaudit.commands.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.strip()
    assert not done.stderr
