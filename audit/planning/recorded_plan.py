"""Recorded runs as a plan like any other."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...attacks.attack import Attack
from ...errors import InputError
from ...registry import find, registered
from ...targets.external.recorded import Recorded
from .observers import RECEIVED, reads
from .plan import Plan

BASELINES = ("blind",)
"""Attacks that read nothing of what was sent; they run where they are named."""


def recorded_plan(
    recordings: Sequence[str],
    graph: str,
    holders: str | None = None,
    attacks: Sequence[str] = (),
    observer: str | None = None,
    settings: Mapping[str, Any] | None = None,
    preset: str = "quick",
    seed: int = 0,
    at_hand: bool = False,
) -> Plan:
    """The plan of an audit of recorded runs.

    Args:
        recordings: folders or files; each is a repetition.
        graph: the file of the graph.
        holders: the file that says who holds which node.
        attacks: names; by default all that read something of what was sent.
        observer: who mounts them; by default the attack's own observer, else one who sees what it reads.
        settings: of the target `recorded`: what the recordings do not say.
        preset: of the attacks.
        seed: root of all randomness.
        at_hand: whether the graph need not be found by its name.

    Raises:
        InputError: a name or a setting is unknown, a recording cannot be read, or no attack reads what was sent.
    """
    given = {**(settings or {}), "transcripts": tuple(recordings)}
    target = Recorded(**(given if holders is None else {**given, "holders": holders}))
    planned = list(_planned(target, attacks, observer))
    if not planned:
        raise InputError(f"no attack reads what was sent: {', '.join(sorted(target.sent())) or 'nothing'}")
    content = {
        "name": "recorded runs",
        "preset": preset,
        "datasets": (graph,),
        "seeds": len(recordings),
        "seed": seed,
        "alternatives": False,
        "target": ({"name": target.name, "settings": target.settings.model_dump()},),
        "attack": tuple(planned),
    }
    where = "of recorded runs"
    return Plan.checked(f"plan {where}", content) if at_hand else Plan.of(content, where)


def _planned(target: Recorded, names: Sequence[str], observer: str | None) -> Iterator[dict[str, Any]]:
    for name in names or registered("attacks"):
        kind: type[Attack[Any]] = find("attacks", name)
        seen = next((one for one in (kind.observer, *RECEIVED) if _mounts(kind, target, one)), None)
        if names or seen is not None:
            who = observer or seen or kind.observer
            yield {"name": name, "observers": (who,)}


def _mounts(kind: type[Attack[Any]], target: Recorded, observer: str) -> bool:
    """Whether an attack plays what may be in question, and an observer receives what it reads."""
    plays = set(kind.games) & set(target.games) and kind.name not in BASELINES
    return bool(plays) and observer in RECEIVED and reads(kind, target, observer, sent=observer == kind.observer)
