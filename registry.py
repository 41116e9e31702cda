"""Finding targets, attacks, defenses, games, mechanisms and report formats by name.

Every class is announced by an entry point of its group (``gaudit.targets``, ``gaudit.attacks``,
``gaudit.defenses``, ``gaudit.games``, ``gaudit.mechanisms``), every function that writes a report by one of
``gaudit.formats``, and every function that reads a graph from a kind of file that gaudit does not know by one of
``gaudit.readers``: ours and those of other packages alike, imported only when they are asked for.
"""

import ast
import hashlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from .errors import InputError, unknown_name

GROUPS = ("targets", "attacks", "defenses", "games", "mechanisms")
FUNCTIONS = ("formats", "readers")
"""Groups of functions."""
OURS = "gaudit"
BASES = {
    "targets": "targets.target.Target",
    "attacks": "attacks.attack.Attack",
    "defenses": "targets.defense.Defense",
    "games": "targets.game.Game",
    "mechanisms": "mechanisms.mechanism.Mechanism",
}
"""From which class those of a group are derived; by name, since nothing is imported before it is asked for."""
DECLARED = {
    "targets": ("name", "release", "release_phrase", "sends"),
    "games": ("name", "unit", "words"),
}
"""What a class of a group declares; those of the others their name."""


@cache
def registered(group: str) -> dict[str, EntryPoint]:
    """Name to entry point of one group; nothing is imported.

    Raises:
        InputError: two packages announce the same name.
    """
    found: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=f"gaudit.{group}"), key=lambda p: (p.name, p.value)):
        other = found.get(point.name)
        if other is not None and other.value != point.value:
            raise InputError(
                f"two packages register the {group[:-1]} '{point.name}' ({other.value} and "
                f"{point.value}): uninstall one of them"
            )
        found[point.name] = point
    return found


def is_ours(point: EntryPoint) -> bool:
    """Whether what is registered is a part of gaudit itself."""
    return point.module.partition(".")[0] == OURS


def origin(point: EntryPoint) -> str:
    """Where what is registered comes from: gaudit itself, or the name and version of a package."""
    if is_ours(point):
        return OURS
    return point.module.partition(".")[0] if point.dist is None else f"{point.dist.name} {point.dist.version}"


def find(group: str, name: str) -> Any:
    """The class registered under ``name`` in ``group``, or ``module:Class`` of the user's own.

    For names that a user gave, in a command or in a plan: a ``module:Class`` is imported, so it runs code. Names
    from results are asked for with `installed`.

    Raises:
        InputError: nothing has that name (with the nearest match).
    """
    if ":" in name and group in BASES:
        return _own(group, name)
    return installed(group, name)


def is_installed(group: str, name: str) -> bool:
    """Whether a package that is installed announces the name; nothing is imported."""
    return ":" not in name and name in registered(group)


def installed(group: str, name: str) -> Any:
    """What an installed package announces under ``name`` in ``group``; no name leads to any other code.

    Raises:
        InputError: nothing has that name (with the nearest match).
    """
    points = registered(group)
    if name not in points:
        raise unknown_name(group[:-1], name, points)
    return points[name].load()


Tell = Callable[[str, str], None]
"""Called with a ``module:Class`` and the place of its code, before that is run."""
_listeners: list[Tell] = []


@contextmanager
def telling_of_code(tell: Tell) -> Iterator[None]:
    """Within the block ``tell`` is called before code of the user's own is imported, once for each name."""
    told: set[str] = set()

    def once(name: str, place: str) -> None:
        if name not in told:
            told.add(name)
            tell(name, place)

    _listeners.append(once)
    try:
        yield
    finally:
        _listeners.remove(once)


def _place(module: str) -> str:
    """Where the code of a module's top-level package lies; nothing is imported."""
    top = module.partition(".")[0]
    spec = PathFinder.find_spec(top)
    places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or ())]
    return next((place for place in places if place), "nowhere: there is no such module")


def _own(group: str, name: str) -> Any:
    """A class by module and name; modules are looked for in the current folder too, as Python itself does.

    Names come from requests and plans, and what they name is called with settings from there: it must be derived
    from the base of the group, and no other class.
    """
    found = _imported(name, group[:-1])
    if not isinstance(found, type):
        raise InputError(f"'{name}' is no class: name the {group[:-1]} as module:Class")
    base = f"{__name__.partition('.')[0]}.{BASES[group]}"
    if base not in (f"{kind.__module__}.{kind.__qualname__}" for kind in found.__mro__):
        raise InputError(f"'{name}' is no {group[:-1]}: derive it from {base}")
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    missing += [part for part in DECLARED.get(group, ("name",)) if not hasattr(found, part)]
    if missing or not isinstance(getattr(found, "name", None), str):
        raise InputError(f"the {group[:-1]} '{name}' is not finished: it lacks {', '.join(missing)}")
    return found


def own_function(name: str) -> Callable[..., Any]:
    """A function of the user's own, as ``module:function`` or ``file.py:function``: its module is run.

    Raises:
        InputError: there is none, or its module fails.
    """
    found = _imported(name, "function")
    if not callable(found):
        raise InputError(f"'{name}' is no function: name it as module:function or file.py:function")
    return found  # type: ignore[no-any-return]


def _imported(name: str, kind: str) -> Any:
    """What a module or a file of the user's own calls so, or None; modules are looked for as `_own` says."""
    module, _, attribute = name.rpartition(":")
    file = Path(module) if module.endswith(".py") else None
    if file is None and "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    for tell in _listeners:
        tell(name, str(file.resolve()) if file else _place(module))
    try:
        return getattr(_run_file(file) if file else import_module(module), attribute, None)
    except Exception as error:  # a module of the user's may fail in any way
        why = str(error) if isinstance(error, ImportError | OSError) else f"{type(error).__name__}: {error}"
        raise InputError(f"cannot import the {kind} '{name}': {' '.join(why.split())}") from error


def _run_file(file: Path) -> ModuleType:
    """A Python file as a module under its own path, run once; what lies beside it can be imported by it."""
    place = file.resolve()
    called = f"gaudit_own_{hashlib.blake2b(str(place).encode(), digest_size=8).hexdigest()}"
    if called not in sys.modules:
        spec = spec_from_file_location(called, place)
        if spec is None or spec.loader is None or not place.is_file():
            raise FileNotFoundError(f"there is no file {file}")
        module = module_from_spec(spec)
        sys.modules[called] = module
        sys.path.append(str(place.parent))
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[called]
            raise
    return sys.modules[called]


def summary(registered_class: type) -> str:
    """The first line of a class's docstring: what ``gaudit list`` prints beside its name."""
    return _first_line(registered_class.__doc__)


def summaries(group: str) -> dict[str, str]:
    """The `summary` of every class of a group by its name.

    Read from the source: to import all classes of a group takes seconds, for a line of text each. Only a class
    whose docstring is not there is imported.
    """
    found = {}
    for name, point in registered(group).items():
        told = _documentation(point)
        found[name] = summary(find(group, name)) if told is None else _first_line(told)
    return found


def _first_line(documentation: str | None) -> str:
    return (documentation or "").strip().split("\n")[0].rstrip(".")


def _documentation(point: EntryPoint) -> str | None:
    """The docstring of a class in the source of its module; None where it is not to be found there.

    The packages that the module lies in are imported, and the module is not.
    """
    try:
        spec = find_spec(point.module)
        source = spec.loader.get_source(point.module)  # type: ignore[union-attr]  # most loaders have it
        tree = ast.parse(source)
    except Exception:  # no such module, no source, a package that fails: importing the class tells which
        return None
    classes = [
        node for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == point.attr
    ]
    return ast.get_docstring(classes[0], clean=False) if len(classes) == 1 else None
