"""Times of edges as files write them: whole numbers, numbers with decimals, or dates."""

import math
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from ..network import Ints
from .columns import DATE, number_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PARTS = 1_000_000
"""A second's parts that are told apart where a time is no whole number."""
LARGEST = 4 * 10**18
"""Nanoseconds of 126 years: differences of times fit into 64 bits."""
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
TOO_LARGE = (
    f"too large: times with decimals are counted in millionths, so expected numbers below {LARGEST // PARTS:.0e}"
)
EXPECTED = "expected a number, or a date such as 2004-04-15 or 2004-04-15T14:56:01Z, and the same sort in all rows"


class UnreadableTimeError(ValueError):
    """A text that is no time, or one that is too large.

    Attributes:
        place: its position among those that were to be read.
        expected: what should stand there, in words.
    """

    def __init__(self, place: int, expected: str = EXPECTED) -> None:
        super().__init__(f"text {place} is no time")
        self.place, self.expected = place, expected


def times_of(values: Sequence[str], decimal: str = ".") -> Ints:
    """Whole numbers in the order of times, [s].

    Numbers stay what they are, and dates become seconds since 1970 (UTC where they name no zone). Where any is no
    whole number, all are counted in millionths.

    Args:
        values: texts [s], all of them numbers or all of them dates.
        decimal: what stands before the decimals of numbers.

    Raises:
        UnreadableTimeError: a text is neither, or not what the first one is.
    """
    if all(map(_WHOLE.fullmatch, values)):
        whole = [int(value) for value in values]
        large = next((place for place, number in enumerate(whole) if abs(number) > LARGEST), None)
        if large is not None:
            raise UnreadableTimeError(large, f"too large: expected whole numbers up to {LARGEST:.0e}")
        return np.array(whole, dtype=np.int64)
    read: Callable[[str], int | None] = _millionths
    if number_of(values[0], decimal) is not None:

        def read(value: str) -> int | None:
            number = number_of(value, decimal)
            fits = number is not None and abs(number) * PARTS < LARGEST
            return round(number * PARTS) if number is not None and fits else None

    found = [read(value) for value in values]
    bad = next((place for place, time in enumerate(found) if time is None), None)
    if bad is not None:
        number = number_of(values[bad], decimal) if read is not _millionths else None
        large = number is not None and math.isfinite(number)
        raise UnreadableTimeError(bad, TOO_LARGE if large else EXPECTED)
    parts = np.array(found, dtype=np.int64)
    return parts if (parts % PARTS).any() else parts // PARTS


def _millionths(value: str) -> int | None:
    """Of a second, from 1970 to a date; None where it is none."""
    if not DATE.fullmatch(value):
        return None
    try:
        date = datetime.fromisoformat(value)
    except ValueError:  # the 31st of June
        return None
    return ((date if date.tzinfo else date.replace(tzinfo=UTC)) - EPOCH) // timedelta(microseconds=1)
