"""What every class of people who look alike must be: large, and diverse in what is sensitive."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from ...errors import InputError
from ...graphs.network import Floats, Ints, Network
from ...graphs.tables.node_table import UNTOLD
from ...settings import Settings

NEARLY = 1e-9
"""Rounding that shares are forgiven."""


class ClassSettings(Settings):
    """Settings of defenses that make classes of people with attributes."""

    k: int = Field(10, ge=1, description="people of a class, at least")
    l_diversity: int = Field(1, ge=1, description="l: sensitive values of a class, as 'diversity' counts them")
    diversity: Literal["share", "distinct", "entropy"] = Field(
        "share",
        description="share: no value is that of more than 1/l of a class; distinct: a class has l values; entropy: "
        "their entropy is log l",
    )
    t_closeness: float = Field(
        1.0, ge=0, le=1, description="t: how far a class's sensitive values may be from those of everybody"
    )
    degrees: bool = Field(
        True, description="whether people of a class also get the same number of neighbours: else edges stay"
    )

    @model_validator(mode="after")
    def _enough_people(self) -> Self:
        if self.l_diversity > self.k:
            raise ValueError(f"l_diversity={self.l_diversity}: k people have at most k={self.k} values: raise k")
        return self


@dataclass(frozen=True, eq=False)
class Requirement:
    """k-anonymity, l-diversity and t-closeness of a class.

    Attributes:
        settings: k, l, how diversity is counted, and t.
        sensitive: the place of each person's sensitive value, `UNTOLD` where it is not published, [n]; or None.
        ordered: whether these are numbers, so that near values are near.

    Source:
        Samarati, IEEE TKDE 2001; Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam, "l-diversity", ACM TKDD
        2007, sections 4.1 and 4.2 (entropy; ``share`` is what they call frequency of the most frequent value); Li,
        Li and Venkatasubramanian, "t-closeness", ICDE 2007, section 4 (equal and ordered distance).
    """

    settings: ClassSettings
    sensitive: Ints | None
    ordered: bool = False

    @classmethod
    def of(cls, settings: ClassSettings, network: Network) -> Self:
        """What is required of classes in a network.

        Raises:
            InputError: diversity or closeness is asked for and nothing is sensitive.
        """
        table = network.people
        sensitive = None if table is None else table.sensitive
        if sensitive is None and (settings.l_diversity > 1 or settings.t_closeness < 1):
            raise InputError(
                "l_diversity and t_closeness speak of a sensitive attribute: name it, or leave them out"
            )
        secret = None if table is None else table.secret
        return cls(settings, sensitive, secret is not None and secret.numbers is not None)

    def met(self, rows: Ints) -> bool:
        """Whether people by their numbers may be a class."""
        s, told = self.settings, self._counts(rows)
        if len(rows) < s.k:
            return False
        if told is None:
            return True
        return (
            diversity(told, s.diversity) >= s.l_diversity - NEARLY and self.distance(rows) <= s.t_closeness + NEARLY
        )

    def distance(self, rows: Ints) -> float:
        """How far the sensitive values of a class are from those of everybody, 0 to 1; 0 where none is told."""
        told = self._counts(rows)
        if told is None or self.sensitive is None:
            return 0.0
        whole = np.bincount(self.sensitive[self.sensitive != UNTOLD], minlength=len(told))
        return earth_mover(told / told.sum(), whole / whole.sum(), self.ordered)

    def diversity(self, rows: Ints) -> float:
        """How many sensitive values a class has, as the settings count them; infinite where none is told."""
        told = self._counts(rows)
        return math.inf if told is None else diversity(told, self.settings.diversity)

    def _counts(self, rows: Ints) -> Ints | None:
        """How many people of a class have each sensitive value; None where none is told."""
        if self.sensitive is None:
            return None
        own = self.sensitive[rows]
        own = own[own != UNTOLD]
        return np.bincount(own, minlength=int(self.sensitive.max()) + 1) if len(own) else None


def diversity(counts: Ints, how: str) -> float:
    """How many sensitive values a class of some counts has: different ones, 1 / the largest share, e^entropy."""
    shares = counts[counts > 0] / counts.sum()
    if how == "distinct":
        return float(len(shares))
    return float(1 / shares.max()) if how == "share" else float(np.exp(-(shares * np.log(shares)).sum()))


def earth_mover(one: Floats, other: Floats, ordered: bool) -> float:
    """The earth mover's distance of two distributions on the same values.

    Between values all distances are 1, or |i - j| / (m - 1) where they are ordered.
    """
    apart = one - other
    if not ordered:
        return float(np.abs(apart).sum() / 2)
    return float(np.abs(np.cumsum(apart)).sum() / max(len(apart) - 1, 1))


def members(group: Ints) -> Iterator[Ints]:
    """The people of each class, by the class of each of them, [n]."""
    order = np.argsort(group, kind="stable")
    if len(order):
        yield from np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
