"""Who mounts an attack where a plan names nobody."""

from collections.abc import Iterable
from typing import Any

from ...attacks.attack import Attack
from ...registry import find
from ...targets.messages import KINDS
from ...targets.target import Target
from .plan import PlannedAttack
from .trial_plan import AttackPlan

RECEIVED = {"public": {"public"}, "server": {"public", "server"}, "client:0": {"public", "clients", "client"}}
"""What goes to whom, for one of each kind of observer. What a party sends itself it has no need to be told."""


def observers_of(planned: PlannedAttack, target: Target) -> tuple[str, ...]:
    """Those that the plan names; else the weakest that can mount the attack, or the only one who sees anything."""
    return planned.observers or (default_observer(find("attacks", planned.name), target),)


def default_observer(attack: type[Attack[Any]], target: Target) -> str:
    """The attack's own observer, unless another one alone receives what the attack reads in this target."""
    own = attack.observer
    if own not in RECEIVED or target.runs_elsewhere or reads(attack, target, own, sent=True):
        return own
    others = [observer for observer in RECEIVED if reads(attack, target, observer)]
    return others[0] if len(others) == 1 else own


def reads(attack: type[Attack[Any]], target: Target, observer: str, sent: bool = False) -> bool:
    """Whether messages that the target's settings may send go to an observer and hold what the attack needs.

    Args:
        attack: the attack.
        target: the target.
        observer: one of `RECEIVED`.
        sent: whether messages count too that the server sends, where it is the observer: it knows what they hold.
    """
    if observer.startswith("client:") and target.offers.clients == 0:
        return False
    known = [KINDS[name] for name in sorted(target.sent()) if name in KINDS]
    own = "server" if sent and observer == "server" else None
    names = [k.name for k in known if any(to in RECEIVED[observer] or who == own for who, to in k.routes)]
    some = not attack.any_of or any(sort.among(names) for sort in attack.any_of)
    return some and all(need.among(names) for need in attack.needs)


def chosen(mounted: Iterable[tuple[str, AttackPlan]]) -> list[str]:
    """In a sentence each, the observers that were chosen and are not the attack's own.

    Args:
        mounted: targets' names with attacks on them for which nobody named an observer.
    """
    apart = ((target, a, find("attacks", a.name).observer) for target, a in mounted)
    return list(
        dict.fromkeys(
            f"{a.name} is mounted by {a.observer}: in {target} no other kind of observer receives what it reads "
            f"(by default it is mounted by {own})."
            for target, a, own in apart
            if a.observer != own
        )
    )
