"""Which attacks run where nobody names any: all that read something of a target, but for those that cost much."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...attacks.attack import Attack
from ...registry import find, registered
from ...targets.target import Target
from .observers import RECEIVED, default_observer, reads


@dataclass(frozen=True)
class Choice:
    """What was chosen for a target.

    Attributes:
        chosen: names of attacks.
        left_out: names of attacks that would read something too, by the reason why they do not run.
    """

    chosen: tuple[str, ...]
    left_out: Mapping[str, tuple[str, ...]]

    def sentences(self) -> list[str]:
        """What was left out, in a sentence for each reason."""
        return [
            f"Left out: {', '.join(names)} ({why}). Name them to run them." for why, names in self.left_out.items()
        ]


def automatic(target: Target, observer: str | None = None, named: Collection[str] = ()) -> Choice:
    """Attacks on a target that play its game and whose observer receives what they read.

    Args:
        target: with its settings.
        observer: who mounts them; by default the weakest who can, for each.
        named: those that run anyway, whatever they cost: they are not left out.
    """
    chosen: list[str] = []
    left_out: dict[str, list[str]] = {}
    for name, kind in _reading(target, observer):
        if kind.dear and name not in named:
            left_out.setdefault(kind.dear, []).append(name)
        else:
            chosen.append(name)
    return Choice(tuple(chosen), {why: tuple(names) for why, names in left_out.items()})


def _reading(target: Target, observer: str | None) -> Iterator[tuple[str, type[Attack[Any]]]]:
    games = set(target.plays)
    for name in registered("attacks"):
        kind: type[Attack[Any]] = find("attacks", name)
        if not games & set(kind.games) or not kind.kinds():
            continue
        who = observer or default_observer(kind, target)
        if who not in RECEIVED or target.runs_elsewhere or reads(kind, target, who, sent=True):
            yield name, kind
