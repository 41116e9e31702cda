"""What the subjects of a game are called in sentences."""

from ...audit.results.outcomes import UTILITY
from ...audit.statistics.finding import Finding
from ...targets.game import Words
from ...targets.games.named import game_of


def gain(utility: Finding) -> str:
    """What utility is called: ``accuracy``, or ``utility`` where it is none."""
    return UTILITY if utility.metric == UTILITY else "accuracy"


def words(game: str) -> Words:
    """The words of a game; one that is not installed here is called by its name."""
    return game_of(game).words
