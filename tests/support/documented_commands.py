"""Commands that documents and help texts print, and what it takes to run each of them quickly in an empty folder.

Everything goes by rules, so that a document can be rewritten: what a command reads is told by the parameters of
`click`, and what makes it dear by the fields of settings.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from gaudit.commands.main import main
from gaudit.registry import find, is_installed

from .places import ROOT

DOCUMENTS = sorted(
    {
        ROOT / "README.md",
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "examples").rglob("README.md"),
    }
    - set((ROOT / "docs" / "tutorials").glob("*.md"))  # test_tutorials.py runs these, block by block
)
SMALL: Mapping[str, object] = {
    "rounds": 2,
    "checkpoints": [2],
    "self_training_rounds": 2,
    "refinements": 1,
    "epochs": 20,
    "outer": 2,
    "inner": 1,
    "expert_epochs": 20,
    "student_steps": 2,
    "tune_epochs": 1,
    "models": 1,
    "shadows": 4,
    "release_models": 1,
}
"""Settings that make a computation long, by their names in any target or attack, and values that make it short."""
DATASET = "patients"
"""569 nodes that need no download."""
NETWORK = "karate"
"""34 people, where a network is published: nothing that a command prints needs more of them."""
TIMED = "messages"
"""What has times, in the place of real networks that have some."""
TOGETHER = "molecules"
"""Graphs that need no download, where whole graphs are in question."""
DIRECTED = "arcs.txt"
"""A file in the place of real networks that have directions."""
RUNS = 400
"""Runs of a mechanism with which a claim is checked, and as many without its unit."""
CITATIONS: Mapping[str, str] = {
    "unmoved-words": "words that nobody has are there in sparse features alone",
    "class-shares": "with two classes every client has labels of both, and nothing is asked",
    "property-shadows": "as class-shares, with classes that clients have many labels of",
    "nearest-embedding": "with two classes no client hears from another one",
}
"""Attacks that find nothing to read on `DATASET`, and run on the default graph for that reason."""


@dataclass(frozen=True)
class Told:
    """A command as documents print it.

    Attributes:
        words: its words, from ``gaudit`` on, without comments and redirections.
        where: the documents, and the help texts, that print it.
    """

    words: tuple[str, ...]
    where: tuple[str, ...]

    def __str__(self) -> str:
        return shlex.join(self.words)


def code(text: str) -> Iterator[str]:
    """The blocks of code of Markdown that are no Python and no output: fenced ones, and indented ones."""
    fence = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
    for _, language, content in fence.findall(text):
        if language not in ("python", "text", "json"):
            yield content
    yield from re.findall(r"(?:^|\n)\n((?:    [^\n]*\n)+)", fence.sub("", text) + "\n")


def lines(block: str) -> Iterator[str]:
    """Logical lines, with what prompts and lists of steps put before a command taken away."""
    for line in re.sub(r"\\\n\s*", " ", block).splitlines():
        yield re.sub(r"^(\$ |- run: |- |run: )", "", line.strip())


def commands(program: str, documents: Sequence[Path] = tuple(DOCUMENTS)) -> list[Told]:
    """Each command of a program in documents and help texts once, in the order of its first appearance."""
    found: dict[tuple[str, ...], list[str]] = {}
    texts = [(str(page.relative_to(ROOT)), code(page.read_text(encoding="utf-8"))) for page in documents]
    for where, blocks in [*texts, *examples(main, program)]:
        for words in (w for block in blocks for line in lines(block) for w in _pieces(line, program)):
            found.setdefault(words, []).append(where)
    return [Told(words, tuple(dict.fromkeys(where))) for words, where in found.items()]


def examples(command: click.Command, called: str) -> Iterator[tuple[str, list[str]]]:
    """The examples in the help text of a command and of all below it, each with the command that prints it."""
    told = re.findall(r"^ *Example: (.*?)(?:\n\n|\Z)", command.help or "", re.MULTILINE | re.DOTALL)
    yield f"{called} --help", [" ".join(one.split()) for one in told]
    if isinstance(command, click.Group):
        for name, one in command.commands.items():
            yield from examples(one, f"{called} {name}")


def _pieces(line: str, program: str) -> Iterator[tuple[str, ...]]:
    """The commands of a program in a line, which may join several and send what they print somewhere."""
    if not re.search(rf"(?:^|[;&|]\s*){re.escape(program)}\s", line):
        return
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|<>")
    lexer.whitespace_split = True
    piece: list[str] = []
    redirected = False
    for word in [*lexer, ";"]:
        if word[0] in ";&|":
            if shlex.join(piece).startswith(program):
                yield tuple(piece)
            piece, redirected = [], False
        elif word[0] in "<>":
            redirected = True
        elif not redirected:
            piece.append("summary.md" if word.startswith("$") else word)  # the name of a file, which a server gives


def parsed(words: Sequence[str]) -> tuple[click.Command, dict[str, Any], str]:
    """A command, its parameters and its name; what `click` refuses is an error."""
    command: click.Command = main
    name, rest = [], list(words[1:])
    while isinstance(command, click.Group):
        name.append(rest.pop(0))
        found = command.commands.get(name[-1])
        if found is None:
            raise click.UsageError(f"there is no command {' '.join(name)}")
        command = found
    with command.make_context(" ".join(name), rest) as context:
        return command, context.params, " ".join(name)


@dataclass(frozen=True)
class Small:
    """A command that is quick, and what was changed for it, each change with its reason."""

    words: tuple[str, ...]
    changes: tuple[str, ...] = ()

    def put(self, why: str, option: str, value: str) -> "Small":
        """With another value of an option, or with the option."""
        words = list(self.words)
        if option in words:
            words[words.index(option) + 1] = value
        else:
            words += [option, value]
        return replace(self, words=tuple(words), changes=(*self.changes, f"{option} {value}: {why}"))

    def swap(self, why: str, word: str, other: str) -> "Small":
        """With another word in the place of one."""
        words = tuple(other if one == word else one for one in self.words)
        return replace(self, words=words, changes=(*self.changes, f"{other}: {why}"))


def _stand_in(params: Mapping[str, Any]) -> str:
    """The bundled graph in the place of one that takes long."""
    if any(setting.startswith("windows=") for setting in params.get("settings") or ()):
        return TIMED
    target = str(params.get("target"))  # a plug-in's is not installed here
    if is_installed("targets", target) and find("targets", target).collections:
        return TOGETHER
    return NETWORK if params.get("target") == "publish" else DATASET


def small(told: Told, dear: Mapping[str, Mapping[str, Sequence[str]]]) -> Small:
    """A command with settings that make it quick.

    Args:
        told: the command.
        dear: for ``targets`` and ``attacks``, which settings of each are named in `SMALL`, nested ones with dots.
    """
    _, params, name = parsed(told.words)
    made = Small(told.words)
    given = any(params.get(other) for other in ("graph", "transcript", "url"))
    mounted = params["attacks"] if name == "attack" else ()
    larger = [why for attack, why in CITATIONS.items() if attack in mounted]
    if name == "reproduce":  # a table takes hours
        return made if params["recorded"] or params["item"] == "list" else Small((*made.words, "--recorded"))
    if larger:
        made = made.put(larger[0], "--dataset", "citations")
    elif "keep=directions" in (params.get("settings") or ()) and not given:
        made = made.swap("a small file in the place of one that is downloaded", params["dataset"], DIRECTED)
        made = made.swap("bundled networks have no directions", "--dataset", "--graph")
    elif "dataset" in params and not given and params["dataset"] not in (DATASET, "karate"):
        dataset = _stand_in(params)
        made = made.put("the default and real graphs take minutes, and these are downloaded", "--dataset", dataset)
    made = _with_attributes(made, params.get("settings") or ())
    if name == "release" and not Path(params["original"]).suffix:
        made = made.put("a bundled graph in the place of one that is downloaded", "--original", DATASET)
    made = _fewer_runs(made, name, params)
    for word in filter(re.compile(r"rounds=\d{3,}").fullmatch, told.words):
        made = made.swap("ten rounds show that the command works", word, "rounds=10")
    if (params.get("seeds") or 1) > 1 or params.get("preset") == "paper":
        made = made.put("one repetition shows that the command works", "--seeds", "1")
    if name == "check-training" and params["dataset"] not in (DATASET, "karate"):
        made = made.put("the small graph has fewer nodes", "--canaries", "200")
        made = made.put("no more than there are canaries", "--guesses", "100") if params["guesses"] else made
    if params.get("workers"):
        made = made.put("no number depends on how many trials run at a time", "--workers", "1")
    if name in ("attack", "inspect") and params.get("target") and not params.get("transcript"):
        made = _fewer_steps(made, "--set", params["settings"], dear["targets"].get(params["target"], ()))
    if name == "attack":
        attacks = dear["attacks"]
        named = [one for one in params["attacks"] if one in attacks]
        known = (
            {key for one in named or attacks for key in attacks[one]} if named or "all" in params["attacks"] else ()
        )
        made = _fewer_steps(made, "--attack-set", params["attack_settings"], sorted(known))
    return made


def _fewer_runs(made: Small, name: str, params: Mapping[str, Any]) -> Small:
    """With fewer runs of a mechanism, and with one attack where another command runs all."""
    if name == "check-claim" and params["runs"] is None:
        made = made.put("fewer runs than show the most that a claim can be refuted by", "--runs", str(RUNS))
    if name == "release" and params["adjacency"] and not params["attacks"]:
        made = made.put(
            "one attack reads what several files hold, as those do that train models", "--attack", "nearest"
        )
    if name == "record" and len(params["recordings"]) == 1 and not params["attacks"]:
        made = made.put("all attacks run where several recordings are read", "--attack", "loss")
    return made


def _with_attributes(made: Small, given: Sequence[str]) -> Small:
    """On the small graph that has attributes, and about one that it has, where a command asks for one."""
    asked = next((item for item in given if item.startswith("attribute=")), None)
    if any(item.startswith("columns=") for item in given):
        return made.put("the other small graph has no attributes", "--dataset", DATASET)
    if asked is None:
        return made
    other = "attribute=label:1" if "label" in asked else "attribute=3"
    made = made.put("the other small graph has no attributes", "--dataset", DATASET)
    return made.swap("the small graph has other attributes", asked, other)


def _fewer_steps(made: Small, option: str, given: Sequence[str], keys: Sequence[str]) -> Small:
    """With small values of all settings that the command does not give itself."""
    own = {item.partition("=")[0]: item.partition("=")[2] for item in given}
    for key in keys:
        last = key.rpartition(".")[2]
        value = f"[{own['rounds']}]" if last == "checkpoints" and "rounds" in own else SMALL[last]
        if key not in own:
            words = (*made.words, option, f"{key}={value}")
            made = Small(words, (*made.changes, f"{option} {key}={value}: fewer steps"))
    return made
