"""Whether what a package brings along keeps the rules that gaudit's own classes keep."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import EntryPoint

from ...errors import InputError, one_line, unknown_name
from ...registry import BASES, FUNCTIONS, GROUPS, OURS, find, is_ours, origin, registered
from . import attack_rules, defense_rules, other_rules, target_rules
from .planted_runs import mounted, run_of
from .rule import BrokenRuleError, Kept, Rule
from .small_runs import made_cheap

RULES: dict[str, tuple[Rule, ...]] = {
    "targets": target_rules.RULES,
    "attacks": attack_rules.RULES,
    "defenses": defense_rules.RULES,
    **other_rules.RULES,
}
"""What classes and functions of each group owe."""
ALL_GROUPS = (*GROUPS, *FUNCTIONS)
OWN_DISTRIBUTION = "graph-gaudit"


@dataclass(frozen=True)
class Part:
    """One class or function of a plug-in.

    Attributes:
        group: of the registry.
        name: that it is registered under, or ``module:Class``.
        place: where its code is, as ``module:Class``.
    """

    group: str
    name: str
    place: str

    def __str__(self) -> str:
        told = "" if self.place == self.name else f" ({self.place})"
        return f"{self.group[:-1]} {self.name}{told}"


@dataclass(frozen=True)
class Outcome:
    """One rule and one part.

    Attributes:
        part: which class.
        sentence: what should hold.
        holds: whether it does; None where it was not checked, since a rule before it is broken.
        told: what was looked at, or what is wrong.
        error: how likely chance alone would have called a sound class wrong, at most.
    """

    part: Part
    sentence: str
    holds: bool | None
    told: str = ""
    error: float = 0.0


@dataclass(frozen=True)
class PluginCheck:
    """What came of all rules.

    Attributes:
        name: of the plug-in, with its version where it is installed.
        outcomes: part by part, in the order of the rules.
    """

    name: str
    outcomes: tuple[Outcome, ...]

    @property
    def broken(self) -> tuple[Outcome, ...]:
        return tuple(one for one in self.outcomes if one.holds is False)

    @property
    def error(self) -> float:
        """How likely chance alone would have called a sound plug-in wrong, at most."""
        return min(1.0, sum(one.error for one in self.outcomes))

    def sentence(self) -> str:
        """The answer."""
        checked = sum(one.holds is not None for one in self.outcomes)
        left = len(self.outcomes) - checked
        unchecked = f" {left} more could not be checked." if left else ""
        if self.broken:
            return f"{self.name} breaks {len(self.broken)} of the {checked} rules that were checked.{unchecked}"
        return f"{self.name} keeps all {checked} rules that were checked."

    def doubt(self) -> str:
        """What the answer cannot tell."""
        by_chance = (
            f"A sound plug-in is called wrong by chance with a probability of at most {self.error:.2g}."
            if self.error
            else "None of these rules can be broken by chance."
        )
        return f"{by_chance} They find mistakes and plain cheating. Code that sets out to deceive has to be read."


def parts_of(name: str) -> tuple[str, tuple[Part, ...]]:
    """What a distribution brings along, or what is registered under a name, or one ``module:Class``.

    Returns:
        What it is called, and its parts.

    Raises:
        InputError: nothing is called so.
    """
    if ":" in name:
        return name, (Part(_group_of(name), name, name),)
    points = list(_points())
    brought = [(group, point) for group, point in points if _normal(_distribution(point)) == _normal(name)]
    if brought:
        return (OWN_DISTRIBUTION if is_ours(brought[0][1]) else origin(brought[0][1])), _parts(brought)
    called = [(group, point) for group, point in points if point.name == name]
    if called:
        return name, _parts(called)
    raise unknown_name("plug-in", name, {_distribution(point) for _, point in points})


def _points() -> Iterator[tuple[str, EntryPoint]]:
    for group in ALL_GROUPS:
        for point in registered(group).values():
            yield group, point


def _parts(points: list[tuple[str, EntryPoint]]) -> tuple[Part, ...]:
    return tuple(Part(group, point.name, point.value) for group, point in points)


def _distribution(point: EntryPoint) -> str:
    if is_ours(point):
        return OWN_DISTRIBUTION
    return point.module.partition(".")[0] if point.dist is None else point.dist.name


def _normal(distribution: str) -> str:
    """A distribution's name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def _group_of(name: str) -> str:
    """The group that a class of the user's own belongs to.

    Raises:
        InputError: it cannot be imported, is not finished, or belongs to none.
    """
    errors = []
    for group in BASES:
        try:
            find(group, name)
        except InputError as error:
            errors.append(error)
        else:
            return group
    said = [error for error in errors if "derive it from" not in str(error)]
    if said:
        raise said[0]
    kinds = ", ".join(group[:-1] for group in GROUPS)
    raise InputError(f"'{name}' is none of {kinds}: derive it from a base class of gaudit.plugin")


def check_plugin(name: str, step: Callable[[Part, str], None] = lambda part, rule: None) -> PluginCheck:
    """Runs every rule on every class of a plug-in.

    Args:
        name: of a distribution, of a class as it is registered, or ``module:Class``.
        step: called with a part and the name of a rule before that is checked.

    Raises:
        InputError: nothing is called so.
    """
    called, parts = parts_of(name)
    outcomes = [outcome for part in parts for outcome in _outcomes(part, _rules(part, parts), step)]
    return PluginCheck(called, tuple(outcomes))


def _rules(part: Part, parts: tuple[Part, ...]) -> tuple[Rule, ...]:
    targets = tuple(other.name for other in parts if other.group == "targets")
    if part.group != "attacks" or not targets or part.place.startswith(f"{OURS}."):
        return RULES[part.group]
    sentence = "On the plug-in's own targets it gives the same scores in a process that never held the truth."
    return (*RULES["attacks"], Rule("apart-own", sentence, partial(_check_apart_on, targets)))


def _check_apart_on(targets: tuple[str, ...], attack: str) -> Kept:
    """As `attack_rules.check_apart`: what a target left for an attack is not there in another process."""
    tried = []
    for target in targets:
        made, data = made_cheap(target)
        one = mounted(attack, run_of(target, made.settings.model_dump(), data))
        if one is not None:
            attack_rules.apart(attack, one)
            tried.append(target)
    return Kept(", ".join(tried) or "it cannot be mounted on these")


def _outcomes(part: Part, rules: tuple[Rule, ...], step: Callable[[Part, str], None]) -> Iterator[Outcome]:
    stopped = False
    for rule in rules:
        if stopped:
            yield Outcome(part, rule.sentence, None)
            continue
        step(part, rule.name)
        outcome = _outcome(part, rule)
        stopped = rule.first and not outcome.holds
        yield outcome


def _outcome(part: Part, rule: Rule) -> Outcome:
    try:
        kept = rule.check(part.name)
    except (BrokenRuleError, InputError) as error:
        return Outcome(part, rule.sentence, False, one_line(error))
    except Exception as error:  # code of others may fail in any way
        return Outcome(part, rule.sentence, False, one_line(f"{type(error).__name__}: {error}", 300))
    return Outcome(part, rule.sentence, True, one_line(kept.told, 200), kept.error)
