"""Imports point one way, go in no circle and are relative; nothing unpickles."""

import ast
import graphlib
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAY_IMPORT = {
    "graphs": set(),
    "mechanisms": {"graphs"},
    "targets": {"graphs", "mechanisms"},
    "attacks": {"graphs", "mechanisms", "targets"},
    "defenses": {"graphs", "mechanisms", "targets"},
    "audit": {"graphs", "mechanisms", "targets", "attacks", "defenses"},
    "reproductions": {"graphs", "mechanisms", "targets", "attacks", "defenses", "audit"},
    "reports": {"graphs", "mechanisms", "targets", "attacks", "defenses", "audit", "reproductions"},
    "api": {"graphs", "mechanisms", "targets", "attacks", "defenses", "audit", "reports", "reproductions"},
    "commands": {
        *("graphs", "mechanisms", "targets", "attacks", "defenses", "audit", "reports", "reproductions"),
        "api",
    },
}
"""Rooms, and the other rooms that each may import from; modules at the root (errors, settings, ...) all may."""
SIBLINGS = {
    "graphs": {"graphs/tables"},
    "graphs/tables": set(),
    "graphs/files": {"graphs", "graphs/tables"},
    "graphs/measures": {"graphs", "graphs/tables"},
    "graphs/datasets": {"graphs", "graphs/files"},
    "mechanisms/counts": {"mechanisms"},
    "mechanisms/streams": {"mechanisms"},
    "targets": {"targets/models"},
    "targets/models": set(),
    "targets/games": {"targets", "targets/models"},
    "targets/external": {"targets", "targets/games", "targets/models", "targets/publishing"},
    "targets/federated": {"targets", "targets/models", "targets/games"},
    "targets/federated_graphs": {"targets", "targets/models", "targets/games", "targets/federated"},
    "targets/personal_federation": {"targets", "targets/models", "targets/games", "targets/federated"},
    "targets/classification": {"targets", "targets/models", "targets/games"},
    "targets/graph_federation": {
        *("targets", "targets/models", "targets/games", "targets/federated", "targets/classification"),
    },
    "targets/publishing": {"targets", "targets/models", "targets/games"},
    "targets/condensation": {"targets", "targets/models", "targets/games", "targets/federated"},
    "targets/federated_condensation": {
        *("targets", "targets/models", "targets/games"),
        "targets/federated",
        "targets/condensation",
    },
    "targets/private_training": {
        *("targets", "targets/models", "targets/games"),
        *("targets/federated", "targets/classification"),
    },
    "targets/controls": {
        *("targets", "targets/models", "targets/games"),
        *("targets/federated", "targets/condensation", "targets/federated_condensation"),
        *("targets/federated_graphs", "targets/publishing", "targets/classification"),
    },
    "attacks/membership": {"attacks"},
    "attacks/links": {"attacks", "attacks/membership", "attacks/ownership"},
    "attacks/ownership": {"attacks"},
    "attacks/attributes": {"attacks", "attacks/membership", "attacks/links"},
    "attacks/gradients": {"attacks", "attacks/ownership"},
    "attacks/given": {"attacks"},
    "attacks/identity": {"attacks"},
    "attacks/existence": {"attacks", "attacks/identity"},
    "attacks/identity_over_time": {"attacks", "attacks/identity"},
    "attacks/identity_by_attributes": {"attacks", "attacks/identity"},
    "defenses/uploads": set(),
    "defenses/local_privacy": set(),
    "defenses/answers": {"defenses/local_privacy"},
    "defenses/anonymity": set(),
    "defenses/degrees": set(),
    "defenses/attributes": {"defenses/degrees"},
    "defenses/training": {"defenses/uploads", "defenses/local_privacy"},
    "defenses/randomisation": set(),
    "defenses/private_graphs": {"defenses/degrees", "defenses/randomisation"},
    "audit/statistics": set(),
    "audit/games": {"audit/statistics", "audit/planning"},
    "audit/planning": {"audit/statistics"},
    "audit/running": {"audit/statistics", "audit/games", "audit/planning"},
    "audit/results": {"audit/statistics", "audit/games", "audit/planning", "audit/running"},
    "audit/checks": {"audit/statistics", "audit/planning", "audit/running", "audit/results"},
    "audit/claims": {"audit/statistics"},
    "audit/conformance": {
        *("audit/statistics", "audit/games", "audit/planning", "audit/running", "audit/results", "audit/claims"),
    },
    "audit/lint": set(),
    "reports/text": set(),
    "reports/console": {"reports/text"},
    "reports/figures": {"reports/text"},
    "reports/formats": {"reports/text", "reports/figures"},
    "commands": {"commands/publishing"},
    "commands/publishing": {"commands"},
}
"""Rooms within a room, and which of these each may import from besides itself."""
ROOM = 20
"""Modules that a folder holds at most, beside its ``__init__``."""
COMMAND_LINE = "commands"
PUBLIC = {"", "plugin"}
"""Modules at the root that hold public names: they import from any room, but not before a name is asked for."""
FOR_TYPES = {"TYPE_CHECKING", "typing.TYPE_CHECKING"}
NAMES_THAT_SAY_NOTHING = {"utils", "util", "misc", "helpers", "helper", "common"}
UNPICKLERS = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "shelve", "marshal"}

# Modules are named without "gaudit."; the package's own __init__ is "".


def modules_of(root: Path) -> dict[str, Path]:
    """Dotted name to file of every module of the package whose root folder is ``root``."""
    files = [*root.glob("*.py"), *(file for part in MAY_IMPORT for file in (root / part).rglob("*.py"))]
    return {
        ".".join(f.relative_to(root).with_suffix("").parts).removesuffix("__init__").rstrip("."): f for f in files
    }


def imports_of(
    tree: ast.AST, module: str, path: Path, known: dict[str, Path], *, later: bool = True
) -> Iterator[tuple[int, str]]:
    """Line and module of each import from the same package; without ``later`` only of those that importing does."""
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    package = [part for part in package if part]
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1] + (node.module.split(".") if node.module else [])
            for alias in node.names:
                inner = ".".join([*base, alias.name])
                yield node.lineno, inner if inner in known else ".".join(base)
        if later or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            for_types = not later and isinstance(node, ast.If) and dotted(node.test) in FOR_TYPES
            waiting.extend(node.orelse if for_types else ast.iter_child_nodes(node))


def public_names(tree: ast.AST, module: str, path: Path, known: dict[str, Path]) -> Iterator[tuple[int, str]]:
    """Line and name of what a module of the package takes from the package's own public names."""
    depth = len(module.split(".")) - (path.name != "__init__.py")
    for node in ast.walk(tree):
        if module and isinstance(node, ast.ImportFrom) and node.level == depth + 1 and not node.module:
            names = [alias.name for alias in node.names if alias.name not in known]
            yield from ((node.lineno, name) for name in names if not name.startswith("__"))


def dotted(node: ast.expr) -> str:
    return ast.unparse(node) if isinstance(node, ast.Attribute | ast.Name) else ""


def direction(module: str, imported: str, known: dict[str, Path]) -> str | None:
    """What is wrong with one import, or None."""
    room, other = (room_of(name, known) for name in (module, imported))
    top, into = room.partition("/")[0], other.partition("/")[0]
    if into == COMMAND_LINE and top != COMMAND_LINE:
        return "only the console script may import the command line"
    if not into or module in PUBLIC:
        return None
    if top != into:
        return None if into in MAY_IMPORT.get(top, set()) else f"{top or 'the root'} must not import {into}"
    if room == other:
        return None
    return None if other in SIBLINGS.get(room, set()) else f"{room} must not import {other}"


def room_of(module: str, known: dict[str, Path]) -> str:
    """The folder that a module is in, or that a package is: ``targets/models``; of the root ""."""
    parts = module.split(".") if module else []
    if module in known and known[module].name != "__init__.py":
        parts = parts[:-1]
    return "/".join(parts)


def absolute(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Imports that should be relative."""
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        for name in names:
            if name.partition(".")[0] in {"gaudit", *MAY_IMPORT}:
                yield node.lineno, name


def unpickling(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Imports and calls that can execute what a file contains."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            tops = {alias.name.partition(".")[0] for alias in node.names}
            yield from ((node.lineno, f"imports {name}") for name in sorted(tops & UNPICKLERS))
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = {alias.name for alias in node.names}
            if node.module in UNPICKLERS:
                yield node.lineno, f"imports {node.module}"
            elif node.module in {"torch", "torch.serialization", "joblib"} and "load" in names:
                yield node.lineno, f"imports load from {node.module}"
        elif isinstance(node, ast.Call):
            keywords = {k.arg: k.value for k in node.keywords}
            name = dotted(node.func)
            weights_only = keywords.get("weights_only")
            if name in {"torch.load", "torch.serialization.load"} and not (
                isinstance(weights_only, ast.Constant) and weights_only.value is True
            ):
                yield node.lineno, "torch.load without weights_only=True"
            pickled = keywords.get("allow_pickle")
            if pickled is not None and not (isinstance(pickled, ast.Constant) and pickled.value is False):
                yield node.lineno, "allow_pickle"
            if name == "joblib.load" or name.endswith(".read_pickle"):
                yield node.lineno, f"{name} unpickles"


def violations(root: Path) -> list[str]:
    """Everything in the package at ``root`` that breaks a rule, one line each."""
    known = modules_of(root)
    found, graph = [], {}
    for module, path in known.items():
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        where = path.relative_to(root)
        if NAMES_THAT_SAY_NOTHING & set(module.split(".")):
            found.append(f"{where}: a module's name says what is in it")
        for line, imported in imports_of(tree, module, path, known):
            reason = direction(module, imported, known)
            if reason:
                found.append(f"{where}:{line}: {reason}")
        found += [f"{where}:{line}: imports {name}, which must be relative" for line, name in absolute(tree)]
        found += [f"{where}:{line}: {what}" for line, what in unpickling(tree)]
        found += [
            f"{where}:{line}: takes {name} through the root, which hides from where: name its module"
            for line, name in public_names(tree, module, path, known)
        ]
        # the public names of the package are looked up late, so only there functions, and what is imported for type
        # checkers alone, do not count
        graph[module] = {name for _, name in imports_of(tree, module, path, known, later=module not in PUBLIC)}
    rooms = Counter(str(path.parent.relative_to(root)) for path in known.values() if path.name != "__init__.py")
    found += [f"{room}: {size} modules, more than {ROOM}" for room, size in rooms.items() if size > ROOM]
    try:
        tuple(
            graphlib.TopologicalSorter({module: names - {module} for module, names in graph.items()}).static_order()
        )
    except graphlib.CycleError as error:
        found.append("circle: " + " <- ".join(name or "gaudit" for name in error.args[1]))
    return found


def test_package_keeps_the_rules():
    assert len(modules_of(ROOT)) > len(MAY_IMPORT)
    assert violations(ROOT) == []


def test_benchmarks_do_not_unpickle():
    files = (ROOT / "benchmarks").rglob("*.py")
    found = [
        f"{file.name}:{line}: {what}" for file in files for line, what in unpickling(ast.parse(file.read_text()))
    ]
    assert found == []


def test_every_folder_with_modules_is_packaged():
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    folders = {path.parent.relative_to(ROOT).parts for path in modules_of(ROOT).values()}
    assert sorted(listed) == sorted(".".join(("gaudit", *parts)) for parts in folders)


GOOD = {
    "__init__.py": "if TYPE_CHECKING:\n    from .audit import plan\ndef run():\n    from .audit import plan\n",
    "targets/__init__.py": "",
    "targets/channel.py": "import torch\ntorch.load('x', weights_only=True)\n",
    "attacks/__init__.py": "",
    "attacks/mia.py": "from ..targets import channel\nfrom .. import __version__\n",
    "defenses/__init__.py": "",
    "defenses/ib.py": "from ..targets.channel import send\nfrom . import __doc__\n",
    "audit/__init__.py": "",
    "audit/plan.py": "from ..attacks.mia import a\nfrom ..defenses.ib import b\nfrom .. import __version__\n",
    "commands/__init__.py": "",
    "commands/main.py": "from ..reports import html\nfrom .audit import run\n",
    "commands/audit.py": "from ..reports import html\nfrom ..audit import plan\n",
    "reports/__init__.py": "",
    "reports/html.py": "from ..audit import plan\n",
}


def tree_at(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_a_root_that_imports_at_once_is_a_circle(tmp_path):
    files = {**GOOD, "__init__.py": "from .audit import plan\n"}
    assert any(line.startswith("circle: ") for line in violations(tree_at(tmp_path, files)))


def test_a_good_tree_passes(tmp_path):
    assert violations(tree_at(tmp_path, GOOD)) == []


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("targets/a.py", "from ..attacks.mia import x", "targets/a.py:1: targets must not import attacks"),
        ("targets/a.py", "from .. import reports", "targets must not import reports"),
        (
            "targets/a.py",
            "def f():\n    from ..audit import plan",
            "targets/a.py:2: targets must not import audit",
        ),
        ("attacks/a.py", "from ..defenses.ib import x", "attacks must not import defenses"),
        ("defenses/a.py", "from ..attacks import mia", "defenses must not import attacks"),
        ("mechanisms/a.py", "from ..defenses.ib import x", "mechanisms must not import defenses"),
        ("graphs/a.py", "from ..targets import channel", "graphs must not import targets"),
        ("errors.py", "from .targets import channel", "the root must not import targets"),
        (
            "targets/models/a.py",
            "from ..channel import send",
            "targets/models must not import targets",
        ),
        ("defenses/uploads/a.py", "from ..training import x", "defenses/uploads must not import defenses/training"),
        ("audit/a.py", "from ..reports.html import x", "audit must not import reports"),
        ("audit/a.py", "from ..commands.main import main", "only the console script"),
        ("reports/a.py", "from ..commands import main", "only the console script"),
        ("__init__.py", "from .commands.main import main", "only the console script"),
        ("attacks/a.py", "from gaudit.targets.channel import send", "must be relative"),
        ("attacks/a.py", "import targets.channel", "must be relative"),
        ("targets/channel.py", "from .other import x", "circle"),
        ("targets/channel.py", "if TYPE_CHECKING:\n    from .other import x", "circle"),
        ("targets/a.py", "from .. import Attack", "targets/a.py:1: takes Attack through the root"),
        ("errors.py", "from . import Attack", "errors.py:1: takes Attack through the root"),
        ("targets/models/a.py", "def f():\n    from ... import Attack", "targets/models/a.py:2: takes Attack"),
        ("__init__.py", "if TYPE_CHECKING:\n    from .commands.main import main", "only the console script"),
        ("targets/utils.py", "", "a module's name says what is in it"),
        ("common.py", "", "a module's name says what is in it"),
        ("targets/a.py", "import pickle", "imports pickle"),
        ("targets/a.py", "from pickle import loads", "imports pickle"),
        ("targets/a.py", "import torch\ntorch.load('x')", "targets/a.py:2: torch.load without"),
        ("targets/a.py", "torch.load('x', weights_only=False)", "torch.load without"),
        ("targets/a.py", "from torch import load", "imports load from torch"),
        ("targets/a.py", "np.load('x', allow_pickle=True)", "allow_pickle"),
    ],
)
def test_a_bad_file_is_found(tmp_path, file, text, expected):
    other = {"targets/other.py": "from . import channel\n"}
    found = violations(tree_at(tmp_path, {**GOOD, **other, file: text}))
    assert any(expected in line for line in found)
    assert all(line.startswith((f"{file}:", "circle: ")) for line in found)
