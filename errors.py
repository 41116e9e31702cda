"""Errors that a user can act on: one line that names the thing, what was expected and what to do."""

from collections.abc import Iterable
from difflib import get_close_matches


class InputError(ValueError):
    """Something from outside (a name, a file, a graph, a setting) is not usable as it is.

    The message is one line; the command line prints it and exits with code 2.
    """


def unknown_name(kind: str, name: str, known: Iterable[str]) -> InputError:
    """The error for a name that nothing answers to, with the nearest match and the full list."""
    choices = sorted(known)
    by_fold = {choice.casefold(): choice for choice in choices}
    near = get_close_matches(name.casefold(), list(by_fold), n=1, cutoff=0.5)
    hint = f"did you mean '{by_fold[near[0]]}'? " if near else ""
    return InputError(f"unknown {kind} '{name}': {hint}known: {', '.join(choices)}")
