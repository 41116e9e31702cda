"""A rule that classes of one kind keep, and what came of checking it."""

from collections.abc import Callable
from dataclasses import dataclass


class BrokenRuleError(Exception):
    """A class does not keep a rule; the message is a sentence without a full stop that names the class."""


@dataclass(frozen=True)
class Kept:
    """A rule that holds.

    Attributes:
        told: what was looked at, in words; may be empty.
        error: how likely chance alone would have called a sound class wrong, at most.
    """

    told: str = ""
    error: float = 0.0


@dataclass(frozen=True)
class Rule:
    """What classes of one group owe.

    Attributes:
        name: short, for tests.
        sentence: what holds, about "it", as a whole sentence.
        check: runs the class of that name, which may be ``module:Class``; raises `BrokenRuleError`.
        first: whether the rules after it mean nothing where this one is broken.
    """

    name: str
    sentence: str
    check: Callable[[str], Kept]
    first: bool = False


def must(holds: bool, said: str) -> None:
    """Breaks off with a sentence where something does not hold.

    Raises:
        BrokenRuleError: it does not.
    """
    if not holds:
        raise BrokenRuleError(said)
