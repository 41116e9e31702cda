"""What is imported, and when: nobody waits for libraries that what they asked for does not use."""

import subprocess
import sys
from pathlib import Path

import pytest

import gaudit
from gaudit.registry import GROUPS, find, registered, summaries, summary

TORCH = {"torch", "torch_geometric", "opacus", "safetensors"}
NUMBERS = {"numba", "sklearn", "scipy", "pandas", "networkx", "igraph"}


def imported_by(code: str, cwd: Path | None = None) -> set[str]:
    """The modules that a fresh interpreter has imported after running ``code``."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint('\\nMODULES', *sys.modules)"],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.rpartition("MODULES")[2].split())


def called(*arguments: str) -> str:
    """Code that runs the command line."""
    return f"""
sys.argv = {["gaudit", *arguments]!r}
from gaudit.commands.main import main
try:
    main()
except SystemExit as stop:
    assert not stop.code, stop.code
"""


def ours(modules: set[str]) -> set[str]:
    return {name for name in modules if name.partition(".")[0] == "gaudit"}


def test_a_recorded_run_is_inspected_without_what_runs_one(tmp_path):
    file = tmp_path / "run.safetensors"
    recorded = f"from gaudit.targets.transcript import Transcript\nTranscript([], {{}}).save({str(file)!r})"
    modules = imported_by(f"{recorded}\n{called('inspect', '--transcript', str(file))}")
    assert not modules & (NUMBERS | {"torch_geometric", "opacus"})
    assert not {name for name in ours(modules) if name.startswith("gaudit.audit")}


def test_modules_are_seen_when_they_are_imported():
    assert "torch" in imported_by("import torch")


def test_the_package_alone_imports_nothing():
    modules = imported_by("import gaudit\ndir(gaudit)\nassert not hasattr(gaudit, 'Absent')")
    assert ours(modules) == {"gaudit"}
    assert not modules & (TORCH | NUMBERS | {"numpy"})


def test_every_public_name_is_there():
    assert len(set(gaudit.__all__)) == len(gaudit.__all__)
    for name in gaudit.__all__:
        assert getattr(gaudit, name) is not None
    assert set(gaudit.__all__) <= set(dir(gaudit))
    assert set(gaudit.__all__) == set(gaudit._PLACES)


@pytest.mark.parametrize(
    ("name", "light"),
    [
        ("InputError", {"numpy"}),
        ("Settings", {"numpy"}),
        ("registered", {"numpy"}),
        ("branch", TORCH | NUMBERS),
        ("Network", TORCH | NUMBERS),
        ("read_network", TORCH | NUMBERS),
        ("Guarantee", TORCH | NUMBERS),
        ("Defense", TORCH | NUMBERS),
        ("Mechanism", TORCH | NUMBERS),
    ],
)
def test_a_public_name_imports_what_it_needs_and_not_the_others(name, light):
    modules = imported_by(f"from gaudit import {name}")
    assert len(ours(modules)) > 1
    assert not modules & light
    assert not {m for m in modules if m.startswith(("gaudit.commands", "gaudit.audit", "gaudit.attacks"))}


def test_no_other_name_is_there():
    with pytest.raises(AttributeError, match="module 'gaudit' has no attribute 'Absent'"):
        _ = gaudit.Absent
    with pytest.raises(ImportError):
        from gaudit import Absent  # noqa: F401


def test_help_imports_no_library():
    modules = imported_by(called("--help"))
    assert "gaudit.commands.main" in modules
    assert not modules & (TORCH | NUMBERS)


@pytest.mark.parametrize("what", [*GROUPS, "datasets"])
def test_lists_import_none_of_what_they_list(what):
    modules = imported_by(called("list", what))
    assert "gaudit.commands.main" in modules
    assert not modules & (TORCH | NUMBERS)


@pytest.mark.parametrize("options", [(), ("--rename",), ("--no-utility",)])
def test_a_small_graph_is_anonymised_without_torch(tmp_path, options):
    edges = [f"{k} {(k + step) % 20}\n" for k in range(20) for step in (1, 3)]
    (tmp_path / "graph.txt").write_text("".join([*edges, "0 10\n"]))
    command = called("anonymize", "graph.txt", "--defense", "k-degree:k=3", *options, "-o", "out.txt")
    modules = imported_by(command, tmp_path)
    assert (tmp_path / "out.txt").exists()
    assert "gaudit.defenses.degrees.k_degree" in modules
    assert not modules & (TORCH | {"numba", "sklearn", "networkx"})


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """A folder with the ledger of scores that another tool made, and a policy."""
    folder = tmp_path_factory.mktemp("audited")
    rows = [f"{i},{i % 2},{(i * 7919 % 101) / 101}\n" for i in range(80)]
    (folder / "scores.csv").write_text("".join(["id,member,score\n", *rows]))
    policy = '[[check]]\nname = "who was trained on"\nattack = "given-scores"\nbudget = 0.9\n'
    (folder / "gaudit.toml").write_text(policy)
    imported_by(called("score", "scores.csv", "--ledger", "audit.db"), folder)
    return folder


@pytest.mark.parametrize(
    "arguments",
    [("check", "audit.db"), *(("report", "audit.db", "-o", f"out.{end}") for end in ("html", "md", "csv"))],
)
def test_results_are_read_without_what_computes_on_graphs(audited, arguments):
    modules = imported_by(called(*arguments), audited)
    assert "gaudit.audit.results.assemble" in modules
    assert not modules & {"torch", "torch_geometric", "opacus", "scipy.stats", *NUMBERS - {"scipy"}}


@pytest.mark.parametrize("group", ["attacks", "defenses", "games"])
def test_classes_that_results_name_need_no_torch(group):
    """Who reads results looks at the classes in them. Attacks on links still import torch at once."""
    points = registered(group).items()
    names = [name for name, point in points if group != "attacks" or "link" not in point.module]
    assert len(names) > 10
    modules = imported_by(f"from gaudit.registry import find\nfor name in {names}: find({group!r}, name)")
    assert not modules & {"torch", "torch_geometric", "opacus", "numba", "pandas"}


@pytest.mark.parametrize("group", GROUPS)
def test_summaries_are_those_of_the_classes(group):
    told = summaries(group)
    assert list(told) == list(registered(group))
    assert told == {name: summary(find(group, name)) for name in registered(group)}


MODULE = """
print("imported")

class Plain:
    \"\"\"A line of its own. And more.

    And a paragraph.
    \"\"\"

class Heir(Plain):
    pass

Elsewhere = type("Elsewhere", (), {"__doc__": "Said late."})

if True:
    class Inside:
        \"\"\"In a condition.\"\"\"

class Twice:
    \"\"\"The first.\"\"\"

class Twice:
    \"\"\"The second.\"\"\"
"""


@pytest.mark.parametrize(
    ("name", "expected", "imports"),
    [
        ("Plain", "A line of its own. And more", False),
        ("Heir", "", True),
        ("Elsewhere", "Said late", True),
        ("Inside", "In a condition", True),
        ("Twice", "The second", True),
    ],
)
def test_a_class_without_a_docstring_in_sight_is_imported(tmp_path, name, expected, imports):
    """Another package's class may be made in any way; what is listed is always what its own docstring says."""
    (tmp_path / "made_somehow.py").write_text(MODULE)
    metadata = tmp_path / "made_somehow-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: made-somehow\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[gaudit.attacks]\nmade = made_somehow:{name}\n")
    code = f"""
sys.path.insert(0, {str(tmp_path)!r})
from gaudit.registry import summaries
assert summaries("attacks")["made"] == {expected!r}
assert ("made_somehow" in sys.modules) == {imports}
"""
    imported_by(code, tmp_path)
