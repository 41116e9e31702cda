"""Every command that documents and help texts print runs, and every benchmark that they name knows its options.

Commands run as they are printed, in a folder with files of the names that they read. What would take minutes
runs with settings that make it quick, by the rules of `support.documented_commands`: the command line, the names
and all other settings are those of the document. Nothing is left out but what `ELSEWHERE` names, with its reason.
"""

import contextlib
import json
import re
import shlex
import shutil
import tomllib
from importlib import import_module
from pathlib import Path

import click
import pytest

from gaudit.commands.main import main
from support.documented_commands import DATASET, DIRECTED, DOCUMENTS, NETWORK, SMALL, Told, commands, parsed, small
from support.example_plugin import put
from support.places import EXAMPLES, ROOT

TOLD = commands("gaudit")
PYTHON = [told for told in commands("python") if told.words[1].startswith("benchmarks/")]
ELSEWHERE = {
    "--url": "it asks a service: test_bring_your_own.py starts one, and runs the command against it",
}
"""Options with which a command is parsed here and not run, and why. Each stands in some document."""
RUN_ELSEWHERE = {
    "docs/how-to/bring-your-own.md": "test_bring_your_own.py runs its commands one after another, on its own files",
}
"""Documents whose commands, where no other document prints them, run in another test, and why."""
VERDICTS = {
    "check": {1, 3},
    "check-claim": {1},
    "check-training": {1},
    "lint-claim": {1},
    "score": {1},
    "release": {1},
    "published": {1},
}
"""Exit codes beside 0 with which a command says what it found."""
NO_MEANING = 4
"""Exit code of results that mean nothing: with few steps a control may fail, and the command has to say so."""
SHELF = {
    ("anonymize", "people"): "people.csv",
    ("anonymize", "source"): "network{end}",
    ("attack", "auxiliary"): "network{end}",
    ("attack", "transcript"): "recording0",
    ("baseline update", "baseline"): "baseline.json",
    ("baseline update", "ledger"): "audit.db",
    ("baseline update", "policy"): "policy.toml",
    ("check", "baseline"): "baseline.json",
    ("check", "ledger"): "audit.db",
    ("check", "policy"): "policy.toml",
    ("inspect", "transcript"): "recording0",
    ("lint-claim", "file"): "claim.toml",
    ("published", "after"): "network{end}",
    ("published", "auxiliary"): "network{end}",
    ("published", "original"): "network{end}",
    ("published", "same"): "same.csv",
    ("record", "graph"): "karate.npz",
    ("record", "holders"): "holders.npy",
    ("record", "recordings"): "recording{nth}",
    ("release", "adjacency"): "adj.pt",
    ("release", "labels"): "labels.pt",
    ("release", "original"): "patients.npz",
    ("report", "against"): "audit.db",
    ("report", "ledger_file"): "audit.db",
    ("score", "table"): "scores.csv",
}
"""Which file stands for one that a parameter of a command names."""
CLASSES = {"attack": "OwnAttack", "check-claim": "OwnMechanism", "plugin check": "OwnAttack"}
"""What stands for a ``module:Class`` that a command names."""


@pytest.fixture(scope="module")
def shell(shell, tmp_path_factory):
    """A shell in which the plug-in of the examples is installed."""
    place = tmp_path_factory.mktemp("plugin") / "site"
    put(EXAMPLES / "plugin", place)
    return shell.with_packages(ROOT / "tests").with_packages(place)


@pytest.fixture(scope="module")
def shelf(shell, tmp_path_factory):
    """The folder with files of each kind, and which settings are dear."""
    folder = tmp_path_factory.mktemp("shelf")
    script = ROOT / "tests" / "support" / "command_files.py"
    done = shell.run(f"python {shlex.quote(str(script))} . && gaudit lint-claim --example > claim.toml", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, json.loads(done.stdout)


def lay_out(words, folder: Path, shelf: Path, dear) -> None:
    """Puts each file that a command reads where it looks for it."""
    _, params, name = parsed(words)
    for (command, parameter), kept in SHELF.items():
        given = params.get(parameter) if command == name else None
        for nth, asked in enumerate([given] if isinstance(given, str | Path) else given or ()):
            timed = command == "anonymize" and params["windows"] is not None
            source = "timed.csv" if timed else kept.format(end=Path(asked).suffix, nth=nth)
            _copy(shelf / source, folder / asked)
    if name in ("check", "baseline update"):  # what they read where no file is named
        for file, source in (("audit.db", "audit.db"), ("gaudit.toml", "policy.toml")):
            _copy(shelf / source, folder / file)
        _copy(shelf / "baseline.json", folder / ".gaudit-baseline.json")
        if not params["ledger"]:
            (folder / "gaudit.toml").write_text(
                '[gate]\nledger = "audit.db"\n\n' + (shelf / "policy.toml").read_text()
            )
    if params.get("graph") and name in ("attack", "inspect"):
        publishes = params["target"] == "publish"
        end = Path(params["graph"]).suffix
        _copy(
            shelf / (f"network{end}" if publishes and end != ".npz" else f"{DATASET}{end}"),
            folder / params["graph"],
        )
        if params["graph"] == DIRECTED:
            file = folder / DIRECTED
            file.write_text("# directed: from the first column to the second\n" + file.read_text())
    if name == "anonymize" and params["people"]:
        _copy(shelf / "city.csv", folder / "city.csv")
    if name == "release":
        file = Path(params["file"])
        _copy(shelf / ("feat.pt" if file.suffix == ".pt" else f"released{file.suffix}"), folder / file)
    if name == "audit":
        plan = ROOT / params["plan_file"]
        content = plan if plan.is_file() else shelf / "plan.toml"
        file = folder / params["plan_file"]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(small_plan(tomllib.loads(content.read_text(encoding="utf-8")), dear), encoding="utf-8")
    classes = [params.get("mechanism"), params.get("name"), *(params["attacks"] if name == "attack" else ())]
    for own in filter(None, (re.fullmatch(r"(\w+):(\w+)", str(one)) for one in classes if name in CLASSES)):
        code = (shelf / "own.py").read_text().replace(f"class {CLASSES[name]}", f"class {own[2]}")
        (folder / f"{own[1]}.py").write_text(
            code.replace("(Mechanism)", "(gaudit.Mechanism)").replace(
                "from gaudit import Guarantee, Mechanism", "import gaudit\nfrom gaudit import Guarantee"
            )
        )


def _copy(source: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, to, dirs_exist_ok=True)
    else:
        shutil.copyfile(source, to)


def small_plan(plan, dear) -> str:
    """A plan as TOML with one seed, a small graph, one strength of each defense, and fewer steps."""
    publishes = all(one["name"] == "publish" for one in plan["target"])
    lines = ["seeds = 1", f'datasets = ["{NETWORK if publishes else DATASET}"]']
    for group, name in (("target", "targets"), ("attack", "attacks"), ("defense", None)):
        for one in plan.get(group, []):
            settings = dict(one.get("settings", {}))
            for key in dear[name].get(one["name"], ()) if name else ():
                *path, last = key.split(".")
                into = settings
                for part in path:
                    into = into.setdefault(part, {})
                into[last] = SMALL[last]
            lines += [f"[[{group}]]", f'name = "{one["name"]}"', f"settings = {_inline(settings)}"]
            lines += [
                f"{key} = {_inline(one[key])}" for key in ("defenses", "observers", "neighbours") if key in one
            ]
            lines += [f"strengths = {_inline(one['strengths'][:1])}"] if "strengths" in one else []
    return "\n".join(lines) + "\n"


def _inline(value) -> str:
    """A value as TOML in one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_inline(one)}" for key, one in value.items()) + " }"
    return json.dumps(value)


def _elsewhere(told: Told) -> bool:
    return any(option in told.words for option in ELSEWHERE) or set(told.where) <= set(RUN_ELSEWHERE)


@pytest.mark.parametrize("told", TOLD, ids=str)
def test_a_command_is_one_that_there_is(told):
    parsed(told.words)


@pytest.fixture(scope="module")
def run_once(shell, shelf):
    """What a command printed in a folder of its own; several are the same once they are quick."""
    folder, dear = shelf
    ran = {}

    def run(words, place):
        if words not in ran:
            lay_out(words, place, folder, dear)
            ran[words] = shell.run(shlex.join(words), place)
        return ran[words]

    return run


@pytest.mark.dear
@pytest.mark.parametrize("told", [told for told in TOLD if not _elsewhere(told)], ids=str)
def test_a_command_runs(told, run_once, shelf, tmp_path):
    made = small(told, shelf[1])
    done = run_once(made.words, tmp_path)
    name = parsed(made.words)[2]
    allowed = {0, *VERDICTS.get(name, ()), *({NO_MEANING} if made.changes or name == "audit" else ())}
    about = f"{told.where}: {told}\nrun as: {shlex.join(made.words)}\n{done.stdout}\n{done.stderr}"
    assert done.returncode in allowed, about
    assert "Traceback" not in done.stderr, about


def test_what_is_only_parsed_is_still_printed():
    for option in ELSEWHERE:
        assert any(option in told.words for told in TOLD), f"no document prints a command with {option} any more"


def test_every_command_that_ends_in_a_result_has_an_example_in_its_help():
    shown = {where for told in TOLD for where in told.where if where.endswith(" --help")}
    called = {f"{name} --help" for name, _ in every_command("gaudit", main)}
    assert shown == called


def every_command(called, command):
    """What runs: all but groups, and the program itself, whose help has an example too."""
    if called == "gaudit" or not isinstance(command, click.Group):
        yield called, command
    for name, one in command.commands.items() if isinstance(command, click.Group) else ():
        yield from every_command(f"{called} {name}", one)


def test_the_plan_and_the_policy_of_the_help_belong_together(shell, tmp_path):
    for file, command in (("plan.toml", "audit"), ("gaudit.toml", "check")):
        (block,) = re.findall(r"\x08\n(.*?)(?:\n\n|\Z)", main.commands[command].help, re.DOTALL)
        (tmp_path / file).write_text(block)
    done = shell.run("gaudit audit plan.toml --workers 1 && gaudit check audit.db", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 check: 1 pass." in done.stdout


def test_the_documents_print_commands():
    assert len(TOLD) > 40
    assert len(PYTHON) > 40
    assert len(DOCUMENTS) > 20


@pytest.mark.parametrize("told", PYTHON, ids=str)
def test_a_benchmark_knows_its_options(told):
    module = import_module(Path(told.words[1]).stem)
    command, rest = module.main, list(told.words[2:])
    if not isinstance(command, click.Command):  # argparse, within a function
        source = Path(module.__file__).read_text(encoding="utf-8")
        assert all(f'"{word}"' in source for word in rest if word.startswith("--")), f"{told.where}: {told}"
        return
    while isinstance(command, click.Group):
        command = command.commands[rest.pop(0)]
    with of_the_reader():
        command.make_context(told.words[1], rest)


@contextlib.contextmanager
def of_the_reader():
    """A folder that the reader has, and this machine has not, is no misspelt option."""
    try:
        yield
    except click.BadParameter as error:
        if "does not exist" not in str(error):
            raise
