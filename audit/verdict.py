"""What a measured leak amounts to, in levels with a stated meaning.

The measure is a likelihood ratio: the true-positive rate over the false-positive rate, at one false-positive rate
chosen beforehand. The levels are the steps of Jeffreys' scale of evidence (3, 10, 30); since epsilon-DP caps the
ratio at e^epsilon, each level is also a statement about differential privacy. Findings are never averaged.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

from pydantic import Field, model_validator

from ..targets.settings import Settings
from .outcome import AttackOutcome


class Level(StrEnum):
    """How bad it is; `meaning` says what each stands for."""

    NOT_FOUND = "not found"
    LOW = "low"
    MODERATE = "moderate"
    HIGH = "high"
    SEVERE = "severe"
    INCONCLUSIVE = "inconclusive"
    NOT_ATTRIBUTABLE = "not attributable"

    @property
    def severity(self) -> int:
        """0 where nothing is shown, up to 4."""
        return {Level.LOW: 1, Level.MODERATE: 2, Level.HIGH: 3, Level.SEVERE: 4}.get(self, 0)


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
            "not significant, and data too few to show that the ratio is small; or significant, and non-members "
            f"too few to measure the ratio at {100 * self.fpr:g} % false alarms"
        )
        return [
            (str(Level.NOT_FOUND), shown, f"{_posterior(self.moderate)} at most", "none"),
            *rows,
            (str(Level.INCONCLUSIVE), open_, "", ""),
            (str(Level.NOT_ATTRIBUTABLE), "above chance, but the public graph surely tells most of it", "", ""),
        ]


def _posterior(ratio: float, prior: float = 0.01) -> str:
    odds = ratio * prior / (1 - prior)
    return f"{100 * odds / (1 + odds):.2g} %"


@dataclass(frozen=True)
class Verdict:
    """A level with what it rests on.

    Attributes:
        level: the level.
        ratio: the likelihood ratio, or None where the sample cannot tell.
        low: its one-sided 95 % lower bound.
        high: its one-sided 95 % upper bound.
        reason: why this level, in a sentence.
    """

    level: Level
    ratio: float | None
    low: float | None
    high: float | None
    reason: str

    def as_dict(self) -> dict[str, str | float | None]:
        """Plain JSON types."""
        numbers = {"ratio": self.ratio, "low": self.low, "high": self.high}
        rounded = {name: None if v is None else round(v, 6) for name, v in numbers.items()}
        return {"level": str(self.level), **rounded, "reason": self.reason}


def verdict(attack: AttackOutcome, scale: Scale) -> Verdict:
    """The level of one attack's finding; ``attack.decisive`` was measured at the scale's false-positive rate."""
    found = attack.decisive
    rates = (None,) * 3 if found is None else (found.estimate, found.low, found.high)
    ratio, low, high = (None if rate is None else rate / scale.fpr for rate in rates)
    level, reason = (
        _shown(attack, scale, low) if (attack.auc.low or 0) > 0.5 else _not_ranked(attack, scale, low, high)
    )
    return Verdict(level, ratio, low, high, reason)


def _shown(attack: AttackOutcome, scale: Scale, low: float | None) -> tuple[Level, str]:
    """Level and reason where the attack tells members from non-members."""
    auc = f"AUC {attack.auc.text(2)}"
    if not attack.unexplained:
        if attack.explained:
            told = "it tells members from non-members, but is not shown to do better than the public graph alone"
            return Level.NOT_ATTRIBUTABLE, f"{told}, which surely tells the larger part of it"
        told = (
            f"it tells more than chance ({auc}), but not surely more than a blind attack or the public graph alone"
        )
        return Level.INCONCLUSIVE, told
    if low is None:
        note = "" if attack.decisive is None else attack.decisive.note
        return Level.INCONCLUSIVE, f"it tells more than chance ({auc}); how much at {scale.fpr:.2%} is open: {note}"
    if low > 1:
        return scale.level(low), f"a member is at least {low:.2g} times as likely to be flagged as an outsider"
    return scale.level(low), f"it tells more than chance ({auc}), but not at {scale.fpr:.2%} false alarms"


def _not_ranked(attack: AttackOutcome, scale: Scale, low: float | None, high: float | None) -> tuple[Level, str]:
    """Level and reason where the AUC does not tell members from non-members."""
    auc = f"AUC {attack.auc.text(2)}"
    if attack.auc.high is not None and attack.auc.high < 0.5:
        told = f"it ranks members below outsiders ({auc}): its picture of the target is wrong"
        return Level.INCONCLUSIVE, told
    if (low or 0) > 1:  # what the public graph explains is told by the AUC
        told = f"at {scale.fpr:.2%} false alarms it flags members at least {low:.2g} times as often as outsiders"
        return Level.INCONCLUSIVE, f"{told}, but with {auc} whether the public graph explains that cannot be told"
    if high is not None and high < scale.moderate:
        return Level.NOT_FOUND, f"not told from chance, and the likelihood ratio is at most {high:.2g}"
    found = attack.decisive
    note = found.note if found is not None and found.estimate is None else "the interval is too wide"
    return Level.INCONCLUSIVE, f"not told from chance, but not shown to be small: {note}"
