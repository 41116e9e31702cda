"""A package of its own adds an attack, a defense, a target and a reader, which commands find by their names.

That it keeps the rules of plug-ins is tried in docs/test_commands.py: its README prints the command.
"""

import json
import os
import shlex

import pytest

from support.example_plugin import PROJECT, SOURCE, install
from support.forked_shell import Shell

WHO = f"{PROJECT['name']} {PROJECT['version']}"
PLAN = """
datasets = ["patients"]
seeds = 1

[[target]]
name = "label-spreading"
settings = { alpha = 0.5 }

[[defense]]
name = "capped-posteriors"
strengths = [0.6]

[[attack]]
name = "entropy"
"""
RING = "".join(f"{k % 12 + 1} {k}\n" for k in range(1, 13)) + "7 1\n"
MATRIX = f"%%MatrixMarket matrix coordinate pattern symmetric\n12 12 13\n{RING}"


@pytest.fixture(scope="module")
def shell(shell, tmp_path_factory) -> Shell:
    """A shell in which the package is installed."""
    return shell.with_packages(install(tmp_path_factory.mktemp("plugin")))


@pytest.fixture
def gaudit(shell, tmp_path):
    """``gaudit(*arguments)``: what a command of its own process prints."""

    def run(*arguments: str) -> str:
        done = shell.run(shlex.join(["gaudit", *arguments]), tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.mark.parametrize(("group", "points"), [(g, p) for g, p in PROJECT["entry-points"].items()])
def test_lists_say_where_a_class_comes_from(gaudit, group, points):
    lines = gaudit("list", group.removeprefix("gaudit.")).splitlines()
    theirs = [line for line in lines if f"  {WHO}  " in line]
    assert [line.split()[0] for line in theirs] == list(points)
    assert all(line.split()[1] == "gaudit" for line in lines if line not in theirs)


def test_target_attack_and_defense_are_found_by_name(gaudit, tmp_path):
    asked = ["--target", "label-spreading", "--attack", "entropy", "--only", "--dataset", "patients"]
    gaudit("attack", *asked, "--defense", "capped-posteriors:most=0.6", "--json", "out.json", "--workers", "1")
    told = json.loads((tmp_path / "out.json").read_text())
    assert told["valid"]
    assert [one["defense"] for one in told["outcomes"]] == ["none", "capped-posteriors"]
    assert [a["attack"] for one in told["outcomes"] for a in one["attacks"]] == ["entropy"] * 2
    before, after = (one["attacks"][0]["plain_auc"]["estimate"] for one in told["outcomes"])
    assert before != after


def test_a_plan_names_them(gaudit, tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    gaudit("audit", "plan.toml", "--workers", "1")
    gaudit("report", "audit.db", "-o", "out.json")
    told = (tmp_path / "out.json").read_text()
    assert "capped-posteriors" in told
    assert "entropy" in told


def test_its_files_are_read(gaudit, tmp_path):
    (tmp_path / "network.mtx").write_text(MATRIX)
    gaudit("anonymize", "network.mtx", "--defense", "k-degree:k=2", "-o", "out.txt")
    edges = [line.split() for line in (tmp_path / "out.txt").read_text().splitlines() if not line.startswith("#")]
    assert len(edges) >= 13
    assert {end for edge in edges for end in edge[:2]} == {str(k) for k in range(1, 13)}


def test_its_own_tests_pass(shell, tmp_path):
    bare = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-c", os.devnull, "--rootdir", str(tmp_path)]
    done = shell.run(
        shlex.join(["pytest", *bare, str(SOURCE / "tests")]), tmp_path, {"PYTHONDONTWRITEBYTECODE": "1"}
    )
    assert done.returncode == 0, done.stdout + done.stderr
