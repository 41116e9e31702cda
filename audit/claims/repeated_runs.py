"""A mechanism run again and again: each run a new instance on untouched data, each release one score."""

import copy
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...errors import InputError
from ...mechanisms.guarantee import Guarantee
from ...mechanisms.mechanism import Mechanism
from ...randomness import branch
from .learned_scores import Runs
from .near_inputs import same
from .patience import TookTooLong, at_most

Ran = Callable[[], None]
"""Called after each run."""
MUTABLE = (dict, list, set)


SPARE, SLOWER = 5.0, 20
"""How long runs on inputs that were made here may take: CPU seconds, and how many times as long as on its own."""


class RemembersError(InputError):
    """Runs of a mechanism that hang together: none of them is a trial."""


class _Side:
    """One of two inputs, and what came of it."""

    def __init__(self, data: Any, rng: np.random.Generator, runs: int) -> None:
        self.data, self.rng = data, rng
        self.outputs: list[Any] = []
        self.scores = np.full(runs, np.nan)
        self._before, self._first = repr(rng.bit_generator.state), ""

    def watch(self) -> None:
        """Called after each run: where the generator stands after the first."""
        self._first = self._first or repr(self.rng.bit_generator.state)

    @property
    def drew_once(self) -> bool:
        """Whether the first run drew from the generator and no later one did."""
        return self._before != self._first == repr(self.rng.bit_generator.state)


class Repeated:
    """Runs of a mechanism that know nothing of each other.

    A run is a new instance: what a mechanism remembers, as permanent randomised response does, is part of what one
    run gives away, and must not pass from run to run. What its class holds is put back as it was, too. What is
    remembered elsewhere shows in a generator that is drawn from once and never again.

    Attributes:
        mechanism: with its settings.
        ran: called after each run.
        spare: CPU seconds that runs on inputs made here may take at least.
        pace: CPU seconds of a run on its own inputs, once there were some.
    """

    def __init__(self, mechanism: Mechanism, ran: Ran = lambda: None, spare: float = SPARE) -> None:
        self.mechanism, self.ran, self.spare, self.pace = mechanism, ran, spare, 0.0

    @property
    def name(self) -> str:
        return self.mechanism.name

    @property
    def scores_itself(self) -> bool:
        """Whether the mechanism has a score of its own."""
        return type(self.mechanism).score is not Mechanism.score

    def on_pair(
        self,
        pair: tuple[Any, Any],
        runs: int,
        root: np.random.SeedSequence,
        *,
        own: bool = True,
        patient: bool = True,
    ) -> tuple[Runs, Runs]:
        """So many runs on either input, one on each in turn; a coin says each time on which one first.

        A release may tell when it was made, or how many were made before: so ordered, that speaks for neither.

        Args:
            pair: the inputs.
            runs: how many on each.
            root: of the mechanism's coins, which are others on either input, and of the order.
            own: whether the mechanism names these inputs: on others its score may fail, and counts as missing.
            patient: whether it may take as long as it likes, or not much longer than on its own inputs.

        Raises:
            InputError: the mechanism fails or takes too long, or its score on its own input is not one number.
            RemembersError: it gives in one run what it drew in another.
        """
        limit = None if patient else self.spare + SLOWER * 2 * runs * self.pace
        began = time.process_time()
        try:
            with at_most(limit):
                found = self._on_pair(pair, runs, root, own)
        except TookTooLong:
            raise InputError(f"'{self.name}' takes far longer on this input than on its own") from None
        if own:
            self.pace = (time.process_time() - began) / (2 * runs)
        return found

    def _on_pair(
        self, pair: tuple[Any, Any], runs: int, root: np.random.SeedSequence, own: bool
    ) -> tuple[Runs, Runs]:
        sides = [_Side(data, np.random.default_rng(branch(root, "runs", i)), runs) for i, data in enumerate(pair)]
        first = np.random.default_rng(branch(root, "order")).integers(2, size=runs)
        with _untouched(type(self.mechanism)) as put_back:
            for place in np.column_stack([first, 1 - first]).ravel().tolist():
                put_back()
                one, side = self.mechanism.another(), sides[place]
                side.outputs.append(self._called("mechanism", one.release, _own_copy(side.data), side.rng))
                side.watch()
                if self.scores_itself:
                    side.scores[len(side.outputs) - 1] = self._score(one, side.outputs[-1], own)
                self.ran()
        if runs > 1 and any(side.drew_once for side in sides):
            raise RemembersError(
                f"'{self.name}' draws noise in its first run and none in all later ones: it keeps it outside of "
                "itself, in its module or a file, so that runs are no trials; let each new instance draw its own"
            )
        return Runs(sides[0].outputs, sides[0].scores), Runs(sides[1].outputs, sides[1].scores)

    def _score(self, one: Mechanism, released: Any, own: bool) -> float:
        try:
            return one_number(self._called("score of", one.score, released), self.name)
        except InputError:
            if own:
                raise
            return np.nan

    def _called(self, what: str, call: Callable[..., Any], *given: Any) -> Any:
        """What goes wrong in a mechanism of the user's is no verdict on it."""
        return called(f"the {what} '{self.name}'", call, *given)


def called(what: str, call: Callable[..., Any], *given: Any) -> Any:
    """What the author of a mechanism wrote, called.

    Raises:
        InputError: it fails, or wants to end the program, which would look like a verdict.
    """
    try:
        return call(*given)
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        shown = " ".join(str(error).split())[:200]
        raise InputError(f"{what} failed: {type(error).__name__}: {shown}") from error


def guarantee_of(mechanism: Mechanism) -> Guarantee:
    """What a mechanism promises.

    Raises:
        InputError: it fails, or what it says is no guarantee; or it does not say in what its inputs differ.
    """
    told = called(f"the guarantee of '{mechanism.name}'", lambda: mechanism.guarantee)
    if not isinstance(told, Guarantee):
        raise InputError(
            f"the guarantee of '{mechanism.name}' is of type {type(told).__name__}: expected a Guarantee"
        )
    if not hasattr(mechanism, "differ_in"):
        raise InputError(
            f"'{mechanism.name}' does not say in what its inputs differ: set differ_in, such as 'node'"
        )
    return told


def inputs_of(mechanism: Mechanism) -> tuple[Any, Any]:
    """The two inputs that a mechanism names.

    Raises:
        InputError: it fails, they are not two, or they are one and the same, which nothing could tell apart.
    """
    told = called(f"inputs() of '{mechanism.name}'", mechanism.another().inputs)
    if not isinstance(told, tuple | list) or len(told) != 2:
        shown = f"{len(told)} inputs" if isinstance(told, tuple | list) else f"one of type {type(told).__name__}"
        raise InputError(
            f"inputs() of '{mechanism.name}' gives {shown}: expected one without the unit and one with it"
        )
    if same(*told):
        raise InputError(f"the two inputs of '{mechanism.name}' are the same: name two that differ in one unit")
    return told[0], told[1]


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
        shown = "None" if told is None else f"one of type {type(told).__name__}"
        raise InputError(
            f"'{name}' scored a run as {shown}: expected a number, the higher the likelier the unit was there"
        ) from None
    if np.isnan(found):
        raise InputError(f"'{name}' scored a run as NaN: expected a number, the higher the likelier")
    return found


def _own_copy(data: Any) -> Any:
    """Data that a run may write to, without others seeing it."""
    return called("copying an input", copy.deepcopy, data) if _is_mutable(data) else data


def _is_mutable(data: Any) -> bool:
    return isinstance(data, (*MUTABLE, tuple, np.ndarray)) or hasattr(data, "detach")


@contextmanager
def _untouched(kind: type[Mechanism]) -> Iterator[Callable[[], None]]:
    """Yields what puts all that a class holds back as it is now; done at the end too."""
    own = [part for part in kind.__mro__ if issubclass(part, Mechanism) and part is not Mechanism]
    named = [(part, {name: vars(part)[name] for name in _names(part)}) for part in own]
    held = [value for _, values in named for value in values.values() if isinstance(value, MUTABLE)]
    kept = [(value, copy.deepcopy(value)) for value in held]

    def put_back() -> None:
        for part, values in named:
            _put_names_back(part, values)
        for value, before in kept:
            again = copy.deepcopy(before)
            value.clear()
            value.extend(again) if isinstance(value, list) else value.update(again)

    try:
        yield put_back
    finally:
        put_back()


def _names(part: type) -> list[str]:
    """What its author may have named in a class."""
    return [name for name in vars(part) if not name.startswith(("__", "_abc"))]


def _put_names_back(part: type, values: dict[str, Any]) -> None:
    """What a class calls by a name is what it was: nothing new, nothing else, nothing gone."""
    for name in _names(part):
        if name not in values:
            delattr(part, name)
    for name, value in values.items():
        if vars(part).get(name, _names) is not value:
            setattr(part, name, value)
