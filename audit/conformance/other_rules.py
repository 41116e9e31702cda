"""What games, mechanisms, readers of files and report formats of a plug-in owe."""

import tempfile
from pathlib import Path

import numpy as np

from ...errors import InputError
from ...mechanisms.mechanism import Mechanism
from ...registry import find, summary
from ...targets.game import Game, Words
from ..claims.claim_check import check_claim
from ..results.game_metrics import metric_of
from .defense_rules import LEVEL
from .named import check_name
from .rule import BrokenRuleError, Kept, Rule, must

SEED, RUNS = 0, 300


def check_game(game: str) -> Kept:
    """It says what it protects and has all its words, and its metrics are there."""
    kind: type[Game] = find("games", game)
    must(bool(kind.unit), f"{game} does not say what it protects ('unit')")
    must(isinstance(kind.words, Words), f"{game} has no words ('words')")
    for metric in kind.metrics:
        metric_of(metric)
    return Kept(kind.unit)


def check_mechanism(mechanism: str) -> Kept:
    """Runs with and without one unit do not refute what it promises by default."""
    made: Mechanism = find("mechanisms", mechanism)()
    check = check_claim(made, RUNS, SEED, level=LEVEL)
    must(not check.refuted, check.sentence())
    return Kept(made.guarantee.sentence(), 1 - LEVEL)


def check_function(group: str, name: str) -> Kept:
    """It can be imported and called, and its docstring says what it is."""
    found = find(group, name)
    must(callable(found), f"{name} is a {type(found).__name__}, which cannot be called")
    must(bool(summary(found)), f"{name} has no docstring, whose first line says what it is")
    return Kept(summary(found))


def _broken_files() -> dict[str, bytes]:
    rng = np.random.default_rng(SEED)
    return {"empty": b"", "of zeros": bytes(64), "of noise": rng.integers(0, 256, 4096, dtype=np.uint8).tobytes()}


def check_refuses(reader: str) -> Kept:
    """Files that are no such files are refused with an error that names them, and none is taken for a network."""
    read = find("readers", reader)
    with tempfile.TemporaryDirectory() as folder:
        for what, content in _broken_files().items():
            path = Path(folder) / f"broken.{reader}"
            path.write_bytes(content)
            try:
                read(path)
            except InputError as error:
                must(path.name in str(error), f"the error about a file {what} does not name the file: {error}")
            except Exception as error:  # what it must not come to
                raise BrokenRuleError(
                    f"a file {what} ends in {type(error).__name__}: refuse it with InputError"
                ) from error
            else:
                raise BrokenRuleError(f"a file {what} was read as a network")
    return Kept(f"files {', '.join(_broken_files())}")


NAME = "It bears its name and says what it is."
RULES = {
    "games": (
        Rule("name", NAME, lambda name: check_name("games", name), first=True),
        Rule("words", "It says what it protects, and has its words and metrics.", check_game),
    ),
    "mechanisms": (
        Rule("name", NAME, lambda name: check_name("mechanisms", name), first=True),
        Rule("claim", "Its runs do not refute what it promises.", check_mechanism),
    ),
    "readers": (
        Rule("name", "It says what it is.", lambda name: check_function("readers", name), first=True),
        Rule("refuses", "It refuses what is no such file with an error that names the file.", check_refuses),
    ),
    "formats": (Rule("name", "It says what it is.", lambda name: check_function("formats", name), first=True),),
}
"""What each of these groups owes."""
