"""What the subjects of a game are called in sentences."""

from ...audit.results.outcomes import UTILITY
from ...audit.statistics.finding import Finding
from ...registry import find, registered
from ...targets.game import Words


def gain(utility: Finding) -> str:
    """What utility is called: ``accuracy``, or ``utility`` where it is none."""
    return UTILITY if utility.metric == UTILITY else "accuracy"


def words(game: str) -> Words:
    """The words of a game; one that is not installed here is called by its name."""
    if game in registered("games"):
        found: Words = find("games", game).words
        return found
    plain = game.replace("-", " ")
    return Words(plain, plain, f"those in question ({plain})")


def readable_bytes(count: int) -> str:
    """1536 as '1.5 KiB'."""
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError
