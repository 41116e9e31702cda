"""The level that a measured leak amounts to, with what it rests on. What the levels mean: `severity`."""

from dataclasses import dataclass

from ...targets.game import Words
from ...targets.games.named import game_of
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
        reason: why this level, in sentences without the last full stop.
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
        level, reason = Level.INCONCLUSIVE, f"The AUC is {attack.auc.note or 'not measurable'}"
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
    if low is None:
        return Level.UNSIZED, f"{_tells(attack)}. Its size at {_rate(scale)} is {_unmeasured(attack)}"
    if low > 1:
        return scale.level(low), _at_least(attack, low)
    told = f"That it does better than guessing at {_rate(scale)} is not shown"
    return scale.level(low), f"{_tells(attack)}. {told}"


def _at_the_top(attack: AttackOutcome, scale: Scale, low: float | None, high: float | None) -> tuple[Level, str]:
    """Level and reason where members crowd the first ranks beyond every baseline: few people may be exposed."""
    found = f"{crowded(attack)}. No public baseline finds as many"
    if low is not None and low > 1:
        return scale.level(low), f"{found}. {_at_least(attack, low)}"
    if high is not None and high < scale.moderate:
        return Level.LOW, f"{found}. {_at_most(attack, high)}"
    return Level.UNSIZED, f"{found}. Its size at {_rate(scale)} is {_unmeasured(attack)}"


def crowded(attack: AttackOutcome) -> str:
    """How many members stand at the top of an attack's ranking, in a sentence without its full stop."""
    top, runs = attack.top, attack.auc.seeds
    assert top is not None
    members = f"{top.members:.3g}"
    are = "is a member" if members == "1" else "are members"
    mean = f" on average over {runs} runs" if runs > 1 else ""
    return (
        f"Of the {top.people} whom the attack ranks highest, {members} {are}{mean}, where chance puts "
        f"{top.expected:.3g} there"
    )


def _not_beyond(attack: AttackOutcome) -> tuple[Level, str]:
    """Level and reason where the AUC tells members from non-members, and a baseline may tell as much."""
    if attack.explained:
        told = "It is not shown to do better than the public graph alone, which surely tells the larger part of it"
        return Level.NOT_ATTRIBUTABLE, f"{_tells(attack)}. {told}"
    told = "It is not shown to do better than the same attack without the release, and than the public graph alone"
    return Level.INCONCLUSIVE, f"{_tells(attack)}. {told}"


def _not_ranked(attack: AttackOutcome, scale: Scale, low: float | None, high: float | None) -> tuple[Level, str]:
    """Level and reason where the AUC does not tell members from non-members."""
    auc, words = f"AUC {attack.auc.text(2)}", _words(attack)
    if attack.auc.high is not None and attack.auc.high < 0.5:
        told = (
            f"The attack ranks {words.members} below {words.others} ({auc}), so its picture of the target is wrong"
        )
        return Level.INCONCLUSIVE, told
    if (low or 0) > 1:  # what the public graph explains is told by the AUC
        told = f"But its {auc} is not told from guessing, and whether the public graph explains that cannot be told"
        return Level.INCONCLUSIVE, f"{_at_least(attack, low or 0)}. {told}"
    chance = f"The attack is not told from guessing ({auc})"
    if high is not None and high < scale.moderate:
        return Level.NOT_FOUND, f"{chance}. {_at_most(attack, high)}"
    return (
        Level.INCONCLUSIVE,
        f"{chance}. But a leak is not ruled out. Its size at {_rate(scale)} is {_unmeasured(attack)}",
    )


def _tells(attack: AttackOutcome) -> str:
    return f"The attack tells {_words(attack).told} better than guessing does (AUC {attack.auc.text(2)})"


def _at_least(attack: AttackOutcome, low: float) -> str:
    return f"With 95 % confidence the attack names {_often(attack, f'at least {low:.2g}')}"


def _at_most(attack: AttackOutcome, high: float) -> str:
    return f"With 95 % confidence it names {_often(attack, f'at most {high:.2g}')}"


def _often(attack: AttackOutcome, times: str) -> str:
    words = _words(attack)
    return f"{words.members} {times} times as often as it accuses {words.others}"


def _unmeasured(attack: AttackOutcome) -> str:
    """Why the ratio has no useful bound, to follow ``is``."""
    found = attack.decisive
    if found is None or found.estimate is not None:
        return "open, because the interval is too wide"
    return found.note or "not measurable"


def _rate(scale: Scale) -> str:
    return f"{100 * scale.fpr:g} % false accusations"


def _words(attack: AttackOutcome) -> Words:
    return game_of(attack.game).words
