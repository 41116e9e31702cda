"""The level that a measured leak amounts to, with what it rests on. What the levels mean: `severity`."""

from dataclasses import dataclass

from ..statistics.severity import Level, Scale
from .outcome import AttackOutcome


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
    if attack.auc.estimate is None:
        level, reason = Level.INCONCLUSIVE, attack.auc.note
    elif attack.unexplained:
        level, reason = _ranked(attack, scale, low)
    elif attack.stands_out:
        level, reason = _at_the_top(attack, scale, low, high)
    elif (attack.auc.low or 0) > 0.5:
        level, reason = _not_beyond(attack)
    else:
        level, reason = _not_ranked(attack, scale, low, high)
    return Verdict(level, ratio, low, high, reason)


def _ranked(attack: AttackOutcome, scale: Scale, low: float | None) -> tuple[Level, str]:
    """Level and reason where the AUC tells members from non-members, beyond every baseline."""
    auc = f"AUC {attack.auc.text(2)}"
    if low is None:
        note = "" if attack.decisive is None else attack.decisive.note
        return Level.UNSIZED, f"it tells more than chance ({auc}); how much at {scale.fpr:.2%} is open: {note}"
    if low > 1:
        return scale.level(low), _times(low)
    return scale.level(low), f"it tells more than chance ({auc}), but not at {scale.fpr:.2%} false alarms"


def _at_the_top(attack: AttackOutcome, scale: Scale, low: float | None, high: float | None) -> tuple[Level, str]:
    """Level and reason where members crowd the first ranks beyond every baseline: few people may be exposed."""
    top = attack.top
    assert top is not None
    found = (
        f"{top.members:.3g} of the {top.people} people whom it ranks highest are members, where {top.expected:.3g} "
        "are expected by chance, and no public baseline finds as many"
    )
    if low is not None and low > 1:
        return scale.level(low), f"{found}; {_times(low)}"
    if high is not None and high < scale.moderate:
        return Level.LOW, f"{found}; the likelihood ratio is at most {high:.2g}"
    return Level.UNSIZED, f"{found}; how much likelier members are to be flagged cannot be measured"


def _times(low: float) -> str:
    return f"a member is at least {low:.2g} times as likely to be flagged as an outsider"


def _not_beyond(attack: AttackOutcome) -> tuple[Level, str]:
    """Level and reason where the AUC tells members from non-members, and a baseline may tell as much."""
    if attack.explained:
        told = "it tells members from non-members, but is not shown to do better than the public graph alone"
        return Level.NOT_ATTRIBUTABLE, f"{told}, which surely tells the larger part of it"
    auc = f"AUC {attack.auc.text(2)}"
    told = f"it tells more than chance ({auc}), but not surely more than a blind attack or the public graph alone"
    return Level.INCONCLUSIVE, told


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
