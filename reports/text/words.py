"""What the subjects of a game are called in sentences."""

from dataclasses import dataclass

from ...audit.results.outcomes import UTILITY
from ...audit.statistics.finding import Finding
from ...targets.games.identities import GAME as IDENTITIES
from ...targets.games.links import GAME as LINKS
from ...targets.games.lone_node import GAME as CELLS


@dataclass(frozen=True)
class Words:
    """How a game is told.

    Attributes:
        game: one line for a terminal.
        question: what is asked of each subject.
        members: those of whom the answer is yes, with the article.
        told: who is told from whom.
        other: one of whom the answer is no.
        others: several of them.
        groups: what a table of named groups is about.
        against: what the column of their names is called.
        public: what is told without the release, and by what.
    """

    game: str
    question: str
    members: str
    told: str = "members from non-members"
    other: str = "outsider"
    others: str = "outsiders"
    groups: str = "The same, with some of the members or non-members left out"
    against: str = "left in"
    public: str = "what the public graph alone tells of membership"


WORDS = {
    "label-membership": Words(
        "Label membership: was this node's label trained on?",
        "Was this person's label trained on?",
        "the people whose labels were trained on",
    ),
    "node-presence": Words(
        "Node presence: were this node, its features and its edges there at all?",
        "Was this person in the training data?",
        "the people in the training data",
    ),
    CELLS: Words(
        "Lone node: is this uploaded gradient that of one labelled node alone?",
        "Can one person's label and row be read off an upload?",
        "the uploads that one person alone is behind",
        "gradients of one node from others",
        "upload of several people",
        "uploads of several people",
    ),
    IDENTITIES: Words(
        "Identity: which published node is this person?",
        "Can a person be found in the published graph?",
        "people's own nodes",
        "a person's own node from others",
        "node of somebody else",
        "nodes of somebody else",
    ),
    LINKS: Words(
        "Edge presence: is there an edge between these two nodes?",
        "Are these two people linked?",
        "the linked pairs",
        "linked pairs from others",
        "pair without a link",
        "pairs without a link",
        "The same, by what the defense did to the ends of a pair",
        "among",
        "what else tells links",
    ),
}


def gain(utility: Finding) -> str:
    """What utility is called: ``accuracy``, or ``utility`` where it is none."""
    return UTILITY if utility.metric == UTILITY else "accuracy"


def words(game: str) -> Words:
    """The words of a game; one without words of its own is called by its name."""
    plain = game.replace("-", " ")
    return WORDS.get(game, Words(plain, plain, f"those in question ({plain})"))


def readable_bytes(count: int) -> str:
    """1536 as '1.5 KiB'."""
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError
