"""A mechanism run again and again: each run a new instance on untouched data, each release one score."""

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...errors import InputError
from ...mechanisms.mechanism import Mechanism
from .learned_scores import Runs

Ran = Callable[[], None]
"""Called after each run."""
MUTABLE = (dict, list, set)


class Repeated:
    """Runs of a mechanism that know nothing of each other.

    A run is a new instance: what a mechanism remembers, as permanent randomised response does, is part of what one
    run gives away, and must not pass from run to run. What its class holds is put back as it was, too.

    Attributes:
        mechanism: with its settings.
        ran: called after each run.
    """

    def __init__(self, mechanism: Mechanism, ran: Ran = lambda: None) -> None:
        self.mechanism, self.ran = mechanism, ran

    @property
    def name(self) -> str:
        return self.mechanism.name

    @property
    def scores_itself(self) -> bool:
        """Whether the mechanism has a score of its own."""
        return type(self.mechanism).score is not Mechanism.score

    def on(self, data: Any, runs: int, rng: np.random.Generator, *, own: bool = True) -> Runs:
        """So many runs on an input.

        Args:
            data: the input.
            runs: how many.
            rng: of the mechanism.
            own: whether the mechanism names this input itself: on others its score may fail, and counts as missing.

        Raises:
            InputError: the mechanism fails, or its score on an input of its own is not one number.
        """
        outputs, scores = [], np.full(runs, np.nan)
        with _untouched(type(self.mechanism)) as put_back:
            for run in range(runs):
                put_back()
                one = self.mechanism.another()
                outputs.append(self._called("mechanism", one.release, _own_copy(data), rng))
                if self.scores_itself:
                    scores[run] = self._score(one, outputs[-1], own)
                self.ran()
        return Runs(outputs, scores)

    def _score(self, one: Mechanism, released: Any, own: bool) -> float:
        try:
            return one_number(self._called("score of", one.score, released), self.name)
        except InputError:
            if own:
                raise
            return np.nan

    def _called(self, what: str, call: Callable[..., Any], *given: Any) -> Any:
        """What goes wrong in a mechanism of the user's is no verdict on it."""
        try:
            return call(*given)
        except InputError:
            raise
        except Exception as error:
            shown = " ".join(str(error).split())[:200]
            raise InputError(f"the {what} '{self.name}' failed: {type(error).__name__}: {shown}") from error


def one_number(told: Any, name: str) -> float:
    """A score as a number.

    Raises:
        InputError: it is none, or several: one run is one trial, however many numbers it releases.
    """
    entries = int(np.size(told)) if np.ndim(told) or hasattr(told, "detach") else 1
    if entries != 1:
        raise InputError(
            f"'{name}' scored a run with {entries} numbers: expected one, since one run is one trial; "
            "let score() reduce them, for instance to their sum"
        )
    try:
        if told is None or isinstance(told, str | bytes):
            raise TypeError
        found = float(np.asarray(told).reshape(()))
    except (TypeError, ValueError):
        shown = "None" if told is None else f"a {type(told).__name__}"
        raise InputError(
            f"'{name}' scored a run as {shown}: expected a number, the higher the likelier the unit was there"
        ) from None
    if np.isnan(found):
        raise InputError(f"'{name}' scored a run as NaN: expected a number, the higher the likelier")
    return found


def _own_copy(data: Any) -> Any:
    """Data that a run may write to, without others seeing it."""
    mutable = isinstance(data, (*MUTABLE, tuple, np.ndarray)) or hasattr(data, "detach")
    return copy.deepcopy(data) if mutable else data


@contextmanager
def _untouched(kind: type[Mechanism]) -> Iterator[Callable[[], None]]:
    """Yields what puts the dictionaries, lists and sets of a class back as they are now; done at the end too."""
    own = (part for part in kind.__mro__ if issubclass(part, Mechanism) and part is not Mechanism)
    held = [value for part in own for value in vars(part).values() if isinstance(value, MUTABLE)]
    kept = [(value, copy.deepcopy(value)) for value in held]

    def put_back() -> None:
        for value, before in kept:
            again = copy.deepcopy(before)
            value.clear()
            value.extend(again) if isinstance(value, list) else value.update(again)

    try:
        yield put_back
    finally:
        put_back()
