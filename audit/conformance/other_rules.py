"""What games, mechanisms, readers of files and report formats of a plug-in owe."""

import tempfile
from dataclasses import fields
from pathlib import Path

import numpy as np

from ...errors import InputError
from ...mechanisms.mechanism import Mechanism
from ...registry import find, registered, summary
from ...targets.game import Adversary, Game, Words
from ...targets.target import Target
from ..claims.claim_check import check_claim
from ..results.game_metrics import metric_of
from .defense_rules import LEVEL
from .fingerprint import fingerprint
from .named import check_name, ours, theirs
from .planted_runs import redrawn
from .rule import BrokenRuleError, Kept, Rule, must
from .small_runs import made_cheap, ran

SEED, RUNS = 0, 300


def check_game(game: str) -> Kept:
    """It says what it protects and has all its words, and its metrics are there."""
    kind: type[Game] = find("games", game)
    must(bool(kind.unit), f"{game} does not say what it protects ('unit')")
    must(isinstance(kind.words, Words), f"{game} has no words ('words')")
    for metric in kind.metrics:
        metric_of(metric)
    return Kept(kind.unit)


def check_grant(game: str) -> Kept:
    """What adversaries are granted says nothing of who is a member.

    It is the same, to the last bit, for a truth that is drawn again with as many members, in a run of each target
    that plays the game, and for each attack that does. Attacks of adversaries who know some of the truth beforehand
    (links, persons), whom the game then leaves out, are set apart. Subjects are in ascending order, which tells
    nothing; which they are may follow from the truth, where others are a sample.
    """
    looked = [
        f"{attack} on {target}"
        for target in (*ours("targets"), *theirs("targets"))
        for secrets in [_secrets(target, game)]
        if secrets is not None
        for attack in registered("attacks")
        if game in find("attacks", attack).games and _same_for_all(target, attack, secrets)
    ]
    return Kept(f"grants compared: {len(looked)}" if looked else "no target that plays it is installed")


def _secrets(target: str, game: str) -> Game | None:
    """The truth of a game in a small run of a target; None where it plays another, or none of its own."""
    kind: type[Target] = find("targets", target)
    if game not in kind.games or kind.runs_elsewhere:
        return None
    return ran(target).run.secrets.get(game)


def _same_for_all(target: str, attack: str, secrets: Game) -> bool:
    """Whether a grant was compared, and is the same for another truth.

    Raises:
        BrokenRuleError: it is not.
    """
    made, data = made_cheap(target)
    who, seed = Adversary(find("attacks", attack)()), np.random.SeedSequence(SEED)
    both = (secrets, redrawn(secrets))
    try:
        (one, left), (other, _) = (game.grant(made.prepared(data), who, seed) for game in both)
    except InputError:  # this run has not what such an adversary needs
        return False
    if len(left(secrets).subjects) < len(secrets.subjects):
        return False
    asked = one.knowledge.subjects
    must(
        bool((asked[1:] > asked[:-1]).all()), f"{secrets.name} hands over subjects in another order than ascending"
    )
    names = [part.name for part in fields(one.knowledge) if part.name != "subjects"]
    pairs = [(name, getattr(one.knowledge, name), getattr(other.knowledge, name, None)) for name in names]
    changed = [name for name, told, again in pairs if fingerprint(told) != fingerprint(again)]
    must(
        not changed,
        f"{secrets.name} grants {attack} on {target} other {' and '.join(changed)} where others are members: what "
        "is granted must not follow from the truth",
    )
    return True


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
        Rule("grant", "What it grants adversaries is the same whoever is a member.", check_grant),
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
