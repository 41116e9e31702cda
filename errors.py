"""Errors that a user can act on: one line that names the thing, what was expected and what to do."""

import re
import reprlib
import unicodedata
from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches

LONGEST_LINE = 1500
"""Characters of an error."""
LONGEST_QUOTED = 100
"""Characters of what is quoted from outside."""
LONGEST_WORD = 300
UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode's categories of what is not seen, or changes how the rest is: control characters, direction marks."""
INVISIBLE = frozenset("\u034f\u115f\u1160\u3164\uffa0")
"""Characters of other categories that show nothing."""
_LONG_WORD = re.compile(rf"\S{{{LONGEST_WORD},}}")
_QUOTES = reprlib.Repr()
_QUOTES.maxstring = _QUOTES.maxother = _QUOTES.maxlong = LONGEST_QUOTED - 20
_QUOTES.maxlist = _QUOTES.maxtuple = _QUOTES.maxdict = 4
_QUOTES.maxlevel = 2


class InputError(ValueError):
    """Something from outside (a name, a file, a graph, a setting) is not usable as it is.

    The message is one line without control characters, whatever it quotes (`one_line`); the command line prints it
    and exits with code 2.
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(one_line(message))


def one_line(text: object, most: int = LONGEST_LINE) -> str:
    """Text of others as it may stand within a line of ours.

    Line breaks and tabs become blanks; other characters that are not seen, that hide others or that turn the
    direction of the line become U+FFFD; what is too long ends in three dots.
    """
    shown = visible(str(text)[: 4 * most])
    shown = _LONG_WORD.sub(lambda word: shortened(word[0], LONGEST_QUOTED), shown)
    return shortened(shown, most)


def visible(text: str) -> str:
    """The text on one line, with nothing in it that is not seen; its length stays."""
    if text.isprintable() and INVISIBLE.isdisjoint(text):
        return text
    return "".join(map(_visible, text))


def _visible(letter: str) -> str:
    if unicodedata.category(letter) in UNSEEN or letter in INVISIBLE:
        return " " if letter.isspace() else "\ufffd"
    return letter


def shortened(text: str, most: int) -> str:
    """The text, or its beginning and three dots."""
    return text if len(text) <= most else text[: most - 3] + "..."


def quoted(value: object) -> str:
    """A value from outside as an error quotes it: as Python writes it, shortened."""
    try:
        return shortened(visible(_QUOTES.repr(value)), LONGEST_QUOTED)
    except (ValueError, RecursionError):  # a number with thousands of digits, lists within lists within lists
        return f"a {type(value).__name__}"


MOST_KNOWN = 12
"""Names that are listed in full; of more the nearest, or the first of them."""
LISTED = ("attack", "dataset", "defense", "format", "game", "mechanism", "reader", "target")
"""Of what `gaudit list` tells all names."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> InputError:
    """The error for a name that nothing answers to: the nearest and some like it; all where there are few."""
    choices, name = sorted(known), shortened(visible(name), LONGEST_QUOTED)
    by_fold = {choice.casefold(): choice for choice in choices if len(choice) <= LONGEST_QUOTED}
    near = [by_fold[fold] for fold in nearest(name.casefold(), by_fold)]
    some = sorted(near) or choices[:MOST_KNOWN]
    listed = choices if len(choices) <= MOST_KNOWN else some
    others = len(choices) - len(listed)
    more = f" and {others} more" if others else ""
    where = f" ('gaudit list {kind}s' lists them)" if others and kind in LISTED else ""
    guess = f"did you mean '{near[0]}'? " if near else ""
    return InputError(f"unknown {kind} '{name}': {guess}known: {', '.join(listed)}{more}{where}")


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Up to five names that are like one, the most like it first; of equals those with the same letters."""
    found = get_close_matches(name, list(known), n=5, cutoff=0.5)
    likeness = {one: SequenceMatcher(None, one, name).ratio() for one in found}
    return sorted(found, key=lambda one: (-likeness[one], sorted(one) != sorted(name)))
