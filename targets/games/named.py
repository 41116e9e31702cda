"""Games by name."""

from ...errors import InputError
from ...registry import installed
from ..game import Game, Words


def game_of(name: str) -> type[Game]:
    """The class of a game; where it is not installed (a ledger from elsewhere), one that knows its name alone.

    Names come from results: none leads to code that is not installed.
    """
    try:
        found: type[Game] = installed("games", name)
    except InputError:
        plain = name.replace("-", " ")
        words = Words(plain, plain, f"those in question ({plain})")
        return type("UnknownGame", (Game,), {"name": name, "unit": plain, "words": words, "metrics": ()})
    return found
