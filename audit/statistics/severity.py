"""What a measured leak amounts to, in levels with a stated meaning.

The measure is a likelihood ratio: the true-positive rate over the false-positive rate, at one false-positive rate
chosen beforehand. The levels are the steps of Jeffreys' scale of evidence (3, 10, 30); since epsilon-DP caps the
ratio at e^epsilon, each level is also a statement about differential privacy. Findings are never averaged.

A leak is significant if the AUC is shown above 0.5, or members are shown to crowd the first ranks (`top_ranks`),
each at 2.5 % and beyond every public baseline: where nothing leaks a level is given in at most 5 of 100 cases.
"""

import math
from enum import StrEnum

from pydantic import Field, model_validator

from ...settings import Settings


class Level(StrEnum):
    """How bad it is; `meaning` says what each stands for."""

    NOT_FOUND = "not found"
    UNSIZED = "leak found, size not measurable"
    LOW = "low"
    MODERATE = "moderate"
    HIGH = "high"
    SEVERE = "severe"
    INCONCLUSIVE = "inconclusive"
    NOT_ATTRIBUTABLE = "not attributable"

    @property
    def severity(self) -> int:
        """0 where nothing is shown, up to 4; a leak that cannot be measured is 1 at least, and may be more."""
        return {Level.UNSIZED: 1, Level.LOW: 1, Level.MODERATE: 2, Level.HIGH: 3, Level.SEVERE: 4}.get(self, 0)


class Scale(Settings):
    """Where the levels begin. A policy may override the published cut-offs."""

    fpr: float = Field(0.01, gt=0, lt=1, description="the false-positive rate that verdicts rest on")
    moderate: float = Field(3.0, gt=1, description="likelihood ratio from which a leak is moderate")
    high: float = Field(10.0, gt=1, description="high")
    severe: float = Field(30.0, gt=1, description="severe")

    @model_validator(mode="after")
    def _ascending(self) -> "Scale":
        if not self.moderate < self.high < self.severe:
            raise ValueError(f"moderate < high < severe must hold, not {self.moderate}, {self.high}, {self.severe}")
        return self

    def level(self, ratio: float) -> Level:
        """The level of a significant leak whose likelihood ratio is at least so much."""
        steps = ((self.severe, Level.SEVERE), (self.high, Level.HIGH), (self.moderate, Level.MODERATE))
        return next((level for least, level in steps if ratio >= least), Level.LOW)

    def meaning(self) -> list[tuple[str, str, str, str]]:
        """Rows: level, when, what a prior of 1 % becomes, which epsilon it excludes."""
        rates = (1.0, self.moderate, self.high, self.severe)
        names = (Level.LOW, Level.MODERATE, Level.HIGH, Level.SEVERE)
        rows = []
        for name, least, most in zip(names, rates, (*rates[1:], None), strict=True):
            steps = f"{least:g} or more" if most is None else f"{least:g} to {most:g}"
            prior = f"{_posterior(least)} or more" if most is None else f"{_posterior(least)} to {_posterior(most)}"
            excluded = "none" if least <= 1 else f"below {math.log(least):.1f}"
            rows.append((str(name), f"significant, lower bound of the ratio {steps}", prior, excluded))
        shown = f"not significant, and the ratio is shown to be below {self.moderate:g}"
        open_ = (
            "not significant, and data too few to show that the ratio is small; or significant, and not surely "
            "beyond what the public graph tells"
        )
        unsized = (
            f"significant, in the whole ranking or in its first {100 * self.fpr:g} %, and the ratio at "
            f"{100 * self.fpr:g} % false alarms cannot be measured or its lower bound is not above 1"
        )
        return [
            (str(Level.NOT_FOUND), shown, f"{_posterior(self.moderate)} at most", "none"),
            (str(Level.UNSIZED), unsized, "more than 1 %", "none"),
            *rows,
            (str(Level.INCONCLUSIVE), open_, "", ""),
            (str(Level.NOT_ATTRIBUTABLE), "above chance, but the public graph surely tells most of it", "", ""),
        ]


def _posterior(ratio: float, prior: float = 0.01) -> str:
    odds = ratio * prior / (1 - prior)
    return f"{100 * odds / (1 + odds):.2g} %"
