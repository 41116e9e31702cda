"""The example repository: a pull request that gives patients away fails, one that does not passes."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.places import EXAMPLES

EXAMPLE = EXAMPLES / "ci"
SWITCH = "DEFENDED = True\n"


@pytest.fixture
def repository(tmp_path) -> Path:
    """A copy, as a user would have cloned it."""
    copied = tmp_path / "repository"
    shutil.copytree(EXAMPLE, copied, ignore=shutil.ignore_patterns("audit.db*", "__pycache__"))
    return copied


@pytest.mark.dear
def test_the_gate_passes_and_fails_as_the_readme_says(repository, shell):
    """Each command in a process of its own: the pipeline's code changes in between."""
    audit = "gaudit audit plan.toml --ledger audit.db --workers 1"
    first = shell.run(audit, repository)
    assert first.returncode == 0, first.stderr
    passed = shell.run("gaudit check", repository)
    assert passed.returncode == 0, passed.stdout + passed.stderr
    pipeline = repository / "pipeline.py"
    source = pipeline.read_text()
    assert source.count(SWITCH) == 1
    pipeline.write_text(source.replace(SWITCH, "DEFENDED = False\n"))
    again = shell.run(audit, repository)
    assert again.returncode == 0, again.stderr
    failed = shell.run("gaudit check --sarif gaudit.sarif", repository)
    assert failed.returncode == 1, failed.stdout + failed.stderr
    assert "Failed: 'who was trained on'." in failed.stdout
    (result,) = json.loads((repository / "gaudit.sarif").read_text())["runs"][0]["results"]
    location = result["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "gaudit.toml"
    policy = (repository / "gaudit.toml").read_text().splitlines()
    assert policy[location["region"]["startLine"] - 1] == "[[check]]"


@pytest.mark.dear
def test_its_graph_is_the_one_that_its_script_makes(repository):
    before = (repository / "registry.npz").read_bytes()
    subprocess.run([sys.executable, "make_graph.py"], cwd=repository, check=True)
    from gaudit.graphs.files.data_file import read_graph

    made = read_graph(repository / "registry.npz")
    (repository / "registry.npz").write_bytes(before)
    committed = read_graph(repository / "registry.npz")
    names = ("x", "y", "edge_index", "train_mask", "val_mask", "test_mask")
    assert all((made[name] == committed[name]).all() for name in names)
