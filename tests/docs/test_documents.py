"""What the documents name is there: files, folders, modules, classes, rooms, links; and how to install it."""

import re
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from gaudit.registry import FUNCTIONS

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = PROJECT["tool"]["setuptools"]["packages"]
ROOMS = sorted({name.split(".")[1] for name in PACKAGES if "." in name})
TOPS = (*ROOMS, "tests", "docs", "benchmarks", "examples", "gaudit")
IN_GUIDES = {
    "attacks/membership/closest.py",
    "defenses/uploads/mixed_posteriors.py",
    "reports/formats/lines.py",
    "targets/classification/neighbour_vote.py",
    "targets/games/hubs.py",
}
"""Files that a guide tells how to write."""
PATH = re.compile(r"(?<![\w./-])((?:%s)/[\w./+*-]*)" % "|".join(TOPS))  # noqa: UP031
DOTTED = re.compile(r"(?<![\w.\"'/-])gaudit((?:\.[A-Za-z_]\w*)+)")
OTHERWISE = {"toml", "sarif"}
"""Ends of files that are called gaudit."""


def named(document: Path, what: re.Pattern[str]) -> set[str]:
    """What a document names, without the point of its sentence."""
    return {found.rstrip(".") for found in what.findall(document.read_text(encoding="utf-8"))}


def written_by_a_guide(path: str) -> bool:
    """Whether it is a file that a guide has written, or the test of one."""
    tests = {re.sub(r"^(.*)/(\w+)\.py$", r"tests/\1/test_\2.py", file) for file in IN_GUIDES}
    return path in IN_GUIDES | tests | {"tests/targets/games/test_hub.py"}


def test_the_documents_name_something():
    assert sum(len(named(document, PATH)) for document in DOCUMENTS) > 100
    assert sum(len(named(document, DOTTED)) for document in DOCUMENTS) > 10


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_path_is_there(document):
    missing = []
    for path in sorted(named(document, PATH)):
        inside = path.removeprefix("gaudit/")
        if not written_by_a_guide(inside) and not list(ROOT.glob(inside.rstrip("/"))):
            missing.append(path)
    assert missing == []


def is_there(dotted: str) -> bool:
    """Whether a module of ours, or a name in one, is called so; ``gaudit.attacks`` also stands for a group."""
    parts = dotted.strip(".").split(".")
    groups = {*PROJECT["project"]["entry-points"], *(f"gaudit.{group}" for group in FUNCTIONS)}
    if f"gaudit.{parts[0]}" in groups and len(parts) == 1:
        return True
    for end in range(len(parts), -1, -1):  # at last the public names of the package itself
        module = ".".join(("gaudit", *parts[:end]))
        try:
            if find_spec(module) is None:
                continue
        except ModuleNotFoundError:
            continue
        value = import_module(module) if parts[end:] else None
        for name in parts[end:]:
            value = getattr(value, name, None)
        return not parts[end:] or value is not None
    return False


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_dotted_name_is_there(document):
    text = document.read_text(encoding="utf-8")
    of_the_fixture = {f".{name}" for name in re.findall(r"gaudit\.(assert_\w+)", text)}
    fixed = {path.replace("/", ".").removesuffix(".py") for path in IN_GUIDES}
    missing = []
    for dotted in sorted(named(document, DOTTED) - of_the_fixture):
        planned = any(dotted.strip(".").startswith(name) for name in fixed)
        if dotted.rpartition(".")[2] not in OTHERWISE and not planned and not is_there(dotted):
            missing.append(f"gaudit{dotted}")
    assert missing == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_what_examples_import_is_there(document):
    code = "\n".join(re.findall(r"^```python\n(.*?)^```$", document.read_text(encoding="utf-8"), re.S | re.M))
    for module, several, one in re.findall(r"^from (gaudit(?:\.\w+)*) import (?:\(([^)]*)\)|(.+))$", code, re.M):
        for name in re.findall(r"[A-Za-z_]\w*", several or one):
            assert hasattr(import_module(module), name), f"{module} has no {name}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_somewhere(document):
    text = document.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)):
        file, _, heading = link.partition("#")
        if "://" in link:
            continue
        target = document.parent / file if file else document
        assert target.exists(), f"{document.name} links to {link}"
        if heading:
            headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.M)
            anchors = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in headings}
            assert heading in anchors, f"{document.name} links to {link}"


@pytest.mark.parametrize("document", [*DOCUMENTS, ROOT / "CHANGELOG.md"], ids=lambda path: path.name)
def test_nobody_is_told_to_install_another_project(document):
    """``gaudit`` on the package index is not this one, which is ``graph-gaudit`` there."""
    text = document.read_text(encoding="utf-8")
    assert re.findall(r"""pip install[^\n`&]*?[ '"]gaudit(?![\w/.])[^\n`]*""", text) == []


REQUIREMENTS = sorted((ROOT / "examples").rglob("requirements*.txt"))


def test_no_example_requires_another_project():
    assert REQUIREMENTS
    for file in REQUIREMENTS:
        names = re.findall(r"^[\w.-]+", file.read_text(encoding="utf-8"), re.M)
        assert "gaudit" not in names, file.name
        assert "graph-gaudit" in names, file.name


def test_the_map_shows_every_room():
    text = (ROOT / "docs" / "extend" / "house.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\| `([\w/]+)/` \|", text, re.M)
    packages = [
        name.removeprefix("gaudit.").replace(".", "/") for name in PROJECT["tool"]["setuptools"]["packages"]
    ]
    holding = {room for room in packages if [f for f in (ROOT / room).glob("*.py") if f.name != "__init__.py"]}
    assert len(set(shown)) == len(shown)
    assert set(shown) == holding - {"gaudit"}


def way(heading: str) -> list[str]:
    """The files of a walk in docs/extend/house.md."""
    text = (ROOT / "docs" / "extend" / "house.md").read_text(encoding="utf-8")
    (part,) = re.findall(
        rf"^## The way of a \w+ through `{heading}`\n(.*?)(?=^## |^`gaudit report`|\Z)", text, re.S | re.M
    )
    steps = re.findall(r"^\d+\. .*(?:\n   .*)*", part, re.M)
    assert 5 < len(steps) <= 12
    return [file for step in steps for file in re.findall(r"`([\w/]+\.py)`", step)]


RUN = """
import sys
from pathlib import Path
import gaudit
from gaudit.commands.main import main

root, passed = Path(gaudit.__file__).parent, set()


def note(frame, event, argument):
    if event == "call" and frame.f_code.co_name != "<module>" and frame.f_code.co_flags & 2:  # no module, no class
        passed.add(frame.f_code.co_filename)


sys.argv = {command!r}
sys.setprofile(note)
try:
    main()
except SystemExit as stop:
    assert not stop.code, stop.code
finally:
    sys.setprofile(None)
print("PASSED", *(str(Path(file).relative_to(root)) for file in passed if root in Path(file).parents))
"""
SMALL = ["rounds=20", "checkpoints=[20]", "test.epochs=20"]
PLAN = """
datasets = ["patients"]
seeds = 1

[[target]]
name = "fedgc"
settings = { rounds = 20, checkpoints = [20], test = { epochs = 20, models = 1 } }

[[attack]]
name = "mia"
settings = { model = { epochs = 50 }, release_models = 1 }
"""


def files_passed(command: list[str], folder: Path) -> set[str]:
    """The files of gaudit of which a function is called while a command runs in one process."""
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(command=["gaudit", *command])],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return set(done.stdout.rpartition("PASSED")[2].split())


@pytest.mark.dear
def test_the_way_through_an_attack_is_as_told(tmp_path):
    command = ["attack", "--target", "fedgc", "--attack", "mia", "--dataset", "patients", "--workers", "1"]
    small = [part for setting in SMALL for part in ("--set", setting)]
    passed = files_passed([*command, *small, "--attack-set", "release_models=1"], tmp_path)
    assert set(way("gaudit attack")) - passed == set()


@pytest.mark.dear
def test_the_way_through_an_audit_is_as_told(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    passed = files_passed(["audit", "plan.toml", "--workers", "1"], tmp_path)
    assert set(way("gaudit audit")) - passed == set()
