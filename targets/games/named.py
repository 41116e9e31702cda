"""Games by name."""

from ...errors import InputError
from ...registry import find
from ..game import Game, Words


def game_of(name: str) -> type[Game]:
    """The class of a game; where it is not installed (a ledger from elsewhere), one that knows its name alone."""
    try:
        found: type[Game] = find("games", name)
    except InputError:
        plain = name.replace("-", " ")
        words = Words(plain, plain, f"those in question ({plain})")
        return type("UnknownGame", (Game,), {"name": name, "unit": plain, "words": words, "metrics": ()})
    return found
