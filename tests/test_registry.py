"""Every registered class can be found, says what it is, and has tests of its own.

That it passes the controls of its kind is checked in tests/registry, where they run.
"""

import ast
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from gaudit.errors import InputError
from gaudit.registry import BASES, GROUPS, find, registered, summary

TESTS = Path(__file__).parent
OURS = [(group, name) for group in GROUPS for name, p in registered(group).items() if p.value.startswith("gaudit.")]


def room(group: str, module: str) -> str:
    """The folder of a module in the package; the group's own for a module that lies elsewhere."""
    _, *folders, _ = module.split(".")
    return "/".join(folders) if folders[0] == group else group


def missing_tests(group: str, name: str, module: str, tests: Path = TESTS) -> str | None:
    """What is missing from the tests of a class that this module registers under a name, or None."""
    if group == "mechanisms":  # tests/audit/claims/test_claims.py checks all that are registered
        return None
    if group == "games":  # several may share a module: its tests stand beside it
        mirror = Path(*module.split(".")[1:-1]) / f"test_{module.rpartition('.')[2]}.py"
        return None if (tests / mirror).is_file() else f"the game '{name}' has no test: write tests/{mirror}"
    file = f"test_{name.replace('-', '_').replace('+', '_plus')}.py"
    paths = sorted((tests / group).rglob(file))
    if not paths:
        return f"the {group[:-1]} '{name}' has no test: write tests/{room(group, module)}/{file}"
    if len(paths) > 1:
        found = " and ".join(str(path.relative_to(tests.parent)) for path in paths)
        return f"the {group[:-1]} '{name}' has several files of tests: {found}"
    (path,) = paths
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = [n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name.startswith("test_")]
    return None if names else f"{path.relative_to(tests.parent)} holds no test"


def test_all_groups_have_members():
    assert {group for group, _ in OURS} == set(GROUPS)


@pytest.mark.parametrize(("group", "name"), OURS)
def test_registered_class_has_tests_of_its_own(group, name):
    assert missing_tests(group, name, registered(group)[name].module) is None


@pytest.mark.parametrize(("group", "name"), OURS)
def test_registered_class_bears_its_name_and_a_summary(group, name):
    found = find(group, name)
    assert found.name == name
    assert summary(found)


@pytest.mark.parametrize("group", GROUPS)
def test_install_announces_what_pyproject_lists(group):
    project = tomllib.loads((TESTS.parent / "pyproject.toml").read_text())["project"]
    listed = project["entry-points"][f"gaudit.{group}"]
    installed = {name: point.value for name, point in registered(group).items()}
    assert {name: installed.get(name) for name in listed} == listed, "pyproject.toml changed: install again"


@pytest.mark.parametrize(
    ("group", "wrong", "right"),
    [("targets", "fedavgg", "fedavg"), ("attacks", "mia-adaptiv", "mia-adaptive"), ("defenses", "LPD", "ldp")],
)
def test_unknown_name_is_refused_with_the_nearest(group, wrong, right):
    with pytest.raises(InputError, match=f"unknown {group[:-1]} '{wrong}': did you mean '{right}'"):
        find(group, wrong)


OWN = """
from gaudit.attacks.membership.loss import Loss
from gaudit.attacks.attack import Attack
from gaudit.mechanisms.statistics import DegreeSequence
from gaudit.targets.classification.classifier import Classifier
from gaudit.targets.defense import Defense
from gaudit.targets.games.membership import LabelMembership
from gaudit.targets.target import Target


class Mine(Classifier):
    name = "mine"


class Guess(Loss):
    name = "guess"


class Shield(Defense):
    name = "shield"


class Half(Target):
    name = "half"


class Sum(DegreeSequence):
    name = "sum"


class Ask(LabelMembership):
    name = "ask"


class Nameless(Attack):
    def score(self, view, knowledge): ...
    def blind_score(self, knowledge): ...


def maker(**settings):
    return Mine(**settings)
"""
MODULE = {"targets": "Mine", "attacks": "Guess", "defenses": "Shield", "games": "Ask", "mechanisms": "Sum"}
TRUTH = {"subjects": (), "truth": ()}
"""What a game is made of; the others make do with their settings."""


@pytest.fixture
def own(tmp_path, monkeypatch) -> str:
    """The name of a module of the user's in the current folder."""
    module = f"own_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{module}.py").write_text(OWN)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    return module


@pytest.mark.parametrize("group", GROUPS)
def test_a_class_of_the_users_is_found_by_its_module(own, group):
    found = find(group, f"{own}:{MODULE[group]}")
    assert found.name == MODULE[group].lower()
    assert found is getattr(sys.modules[own], MODULE[group])
    assert repr(found(**(TRUTH if group == "games" else {}))).startswith(MODULE[group])


@pytest.mark.parametrize(
    ("group", "other"), [(group, other) for group in GROUPS for other in GROUPS if group != other]
)
def test_a_class_of_another_group_is_refused(own, group, other):
    with pytest.raises(InputError, match=f"'{own}:{MODULE[other]}' is no {group[:-1]}: derive it from gaudit"):
        find(group, f"{own}:{MODULE[other]}")


@pytest.mark.parametrize("group", GROUPS)
def test_what_a_class_must_be_derived_from_is_there(group):
    module, _, name = f"gaudit.{BASES[group]}".rpartition(".")
    base = getattr(import_module(module), name)
    for point in registered(group).values():
        assert issubclass(point.load(), base)


@pytest.mark.parametrize("group", GROUPS)
def test_any_other_class_is_refused_and_not_called(group, tmp_path, monkeypatch):
    """A plan or a ledger from somebody else must not start programs through a name and its settings."""
    mark = tmp_path / "mark"
    with pytest.raises(InputError, match=f"'subprocess:Popen' is no {group[:-1]}"):
        find(group, "subprocess:Popen")(args=["touch", str(mark)])
    with pytest.raises(InputError, match="'pathlib:PosixPath' is no"):
        find(group, "pathlib:PosixPath")
    assert not mark.exists()


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ("maker", "is no class: name the target as module:Class"),
        ("Absent", "is no class: name the target as module:Class"),
        ("", "is no class: name the target as module:Class"),
        ("Half", "is not finished: it lacks preset, run"),
    ],
)
def test_what_is_no_finished_class_is_refused(own, attribute, message):
    with pytest.raises(InputError, match=message):
        find("targets", f"{own}:{attribute}")


def test_a_class_without_a_name_is_refused(own):
    with pytest.raises(InputError, match=r"the attack '.*:Nameless' is not finished: it lacks name"):
        find("attacks", f"{own}:Nameless")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot import the target '.*': No module named"),
        ("def broken(:", "cannot import the target '.*': SyntaxError: invalid syntax"),
        ("raise RuntimeError('out of\\nluck')", "cannot import the target '.*': RuntimeError: out of luck"),
        ("import no_such_module_anywhere", "No module named 'no_such_module_anywhere'"),
    ],
)
def test_a_module_that_cannot_be_imported_is_named(tmp_path, monkeypatch, text, message):
    module = f"failing_{tmp_path.name.replace('-', '_')}"
    if text is not None:
        (tmp_path / f"{module}.py").write_text(text)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message) as caught:
        find("targets", f"{module}:Mine")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", [":Mine", ".relative:Mine", ":", "a b:Mine", "..:x"])
def test_a_name_that_names_no_module_is_refused(name):
    with pytest.raises(InputError, match="cannot import the attack"):
        find("attacks", name)


def test_a_missing_test_is_found(tmp_path):
    folder = tmp_path / "tests" / "attacks" / "membership"
    folder.mkdir(parents=True)
    path = folder / "test_made_up.py"

    def says(module: str = "gaudit.attacks.membership.made") -> str | None:
        return missing_tests("attacks", "made-up", module, tmp_path / "tests")

    assert says() == "the attack 'made-up' has no test: write tests/attacks/membership/test_made_up.py"
    assert says("gaudit.targets.made") == "the attack 'made-up' has no test: write tests/attacks/test_made_up.py"
    path.write_text("def helper(): ...\n")
    assert says() == "tests/attacks/membership/test_made_up.py holds no test"
    path.write_text("def test_it(): ...\n")
    assert says() is None
    path.write_text("class TestIt:\n    def test_it(self): ...\n")
    assert says() is None


def test_a_test_anywhere_below_its_group_counts_once(tmp_path):
    folders = [tmp_path / "tests" / "attacks" / room for room in ("links", "membership")]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "test_made_up.py").write_text("def test_it(): ...\n")
    made = ("attacks", "made-up", "gaudit.attacks.membership.made", tmp_path / "tests")
    both = "tests/attacks/links/test_made_up.py and tests/attacks/membership/test_made_up.py"
    assert missing_tests(*made) == f"the attack 'made-up' has several files of tests: {both}"
    (folders[1] / "test_made_up.py").unlink()
    assert missing_tests(*made) is None
