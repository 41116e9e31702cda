"""What every class of people who look alike must be: large, and diverse in what is sensitive."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from ...errors import InputError
from ...graphs.network import Floats, Ints, Network
from ...graphs.tables.node_table import UNTOLD
from ...settings import Settings

NEARLY = 1e-9
"""Rounding that shares are forgiven."""


SEVERAL: Any = Field(
    "given-others",
    description="with several sensitive columns each must be diverse: given-others: also among people of a class "
    "who share the other sensitive values, which somebody may know; each: in the class as a whole",
)


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
    several: Literal["given-others", "each"] = SEVERAL
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
        sensitive: places of each person's sensitive values, `UNTOLD` where one is not published, [n, s]; or None.
        ordered: whether the values of each column are numbers, so that near ones are near, s.

    Source:
        Samarati, IEEE TKDE 2001; Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam, "l-diversity", ACM TKDD
        2007, sections 4.1 and 4.2 (entropy; ``share`` is what they call frequency of the most frequent value); Li,
        Li and Venkatasubramanian, "t-closeness", ICDE 2007, section 4 (equal and ordered distance). Of several
        sensitive attributes the others count as known when one's diversity is checked, as in the part of
        "l-diversity" about them; closeness is asked of each by itself, one of two ways that "t-closeness" names.
    """

    settings: ClassSettings
    sensitive: Ints | None
    ordered: tuple[bool, ...] = ()

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
        secrets = () if table is None else table.secrets
        return cls(settings, sensitive, tuple(secret.numbers is not None for secret in secrets))

    @property
    def columns(self) -> int:
        """Number of sensitive columns, s."""
        return 0 if self.sensitive is None else int(self.sensitive.shape[1])

    def met(self, rows: Ints) -> bool:
        """Whether people by their numbers may be a class."""
        s = self.settings
        return (
            len(rows) >= s.k
            and (s.l_diversity == 1 or self.diversity(rows) >= s.l_diversity - NEARLY)
            and (s.t_closeness == 1 or self.distance(rows) <= s.t_closeness + NEARLY)
        )

    def distance(self, rows: Ints) -> float:
        """How far the values of some sensitive column are from those of everybody, 0 to 1, at most in a class."""
        if self.sensitive is None:
            return 0.0
        found, ordered = [], self.ordered or (False,) * self.columns
        for place in range(self.columns):
            whole = _counts(self.sensitive[:, place])
            told = _counts(self.sensitive[rows, place], len(whole))
            if told.any():
                found.append(earth_mover(told / told.sum(), whole / whole.sum(), ordered[place]))
        return max(found, default=0.0)

    def diversity(self, rows: Ints) -> float:
        """How many values the least diverse sensitive column has in a class, as the settings count them.

        With ``several=given-others`` it is the least among people who share the values of the other columns.
        Infinite where no value is told.
        """
        counts = [_counts(values) for values in self._parts(rows)]
        return min((diversity(told, self.settings.diversity) for told in counts if told.any()), default=math.inf)

    def _parts(self, rows: Ints) -> Iterator[Ints]:
        """The values of each sensitive column in a class, or in each part of it that shares the other columns."""
        if self.sensitive is None:
            return
        own = self.sensitive[rows]
        for place in range(self.columns):
            if self.columns == 1 or self.settings.several == "each":
                yield own[:, place]
                continue
            known = np.unique(np.delete(own, place, axis=1), axis=0, return_inverse=True)[1].ravel()
            for part in members(known):
                yield own[part, place]


def _counts(values: Ints, size: int = 0) -> Ints:
    """How many people have each sensitive value; those of whom it is not told are left out."""
    return np.bincount(values[values != UNTOLD], minlength=size).astype(np.int64)


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
