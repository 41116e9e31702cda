"""Gradients as an observer sees them, whatever their messages are called, with the weights that they belong to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from ...graphs.network import Floats
from ...targets.messages import KINDS, Carries, Carrying, kind_of
from ...targets.mixing import STARTS, with_starts
from ...targets.transcript import Message, View, observer_members
from .node_gradients import WEIGHTS

if TYPE_CHECKING:
    from torch import Tensor

COMMON = Carrying.any_of(Carries.WEIGHTS, to="clients")
MATCHED_AT = Carrying.any_of(Carries.MATCHED_AT)
CONTROLS = Carrying.any_of(Carries.CONTROL)
CORRECTIONS = Carrying.any_of(Carries.CONTROL, to="clients")
UPLOADED = Carrying.any_of(Carries.GRADIENT, Carries.UPDATE)
TOTALS = Carrying.any_of(Carries.TOTAL)
BY_CLASS = Carrying.any_of(Carries.CLASS_GRADIENTS)
Told = Mapping[int, Mapping[str, "Tensor"]]
"""What clients told of their numbers of labels."""
COUNTED = Carrying.any_of(Carries.COUNTS, to="server")


@dataclass(frozen=True, eq=False)
class Taken:
    """One gradient, up to a factor, and the weights at which it was taken.

    Attributes:
        weights: by name.
        gradient: by name.
        moved: whether it is how weights moved, which may hold any amount of weight decay.
    """

    weights: dict[str, Floats]
    gradient: dict[str, Floats]
    moved: bool = False

    @property
    def decays(self) -> dict[str, Floats] | None:
        """The weights where the gradient may hold any amount of them; weights of zero decay by nothing."""
        return self.weights if self.moved and any(value.any() for value in self.weights.values()) else None


@dataclass(frozen=True, eq=False)
class Sight:
    """What is seen of one group of labelled nodes, over rounds.

    Attributes:
        owner: the client whose nodes they are; None for a sum over clients.
        label: their class, where the message says so.
        members: how many they are, where messages say so.
        rounds: a gradient of each round.
    """

    owner: int | None
    label: int | None
    members: int | None
    rounds: list[Taken] = field(default_factory=list)


def sights(view: View, rounds: int) -> dict[str, list[Sight]]:
    """What an observer sees of labelled nodes, by the kind of the messages.

    A gradient belongs to the weights that went last before it to all clients, or to its sender alone; those at
    which gradients are matched are apart from others. An update belongs to those that it is declared to be since.
    Where no upload and no sum of uploads can be read, the step from one round's common weights to the next stands
    for the sum. What the observer sent itself is left out, and so are updates that are corrected by other clients'
    (SCAFFOLD, FedDC: from the second round on, in the first there is nothing to correct by).

    Args:
        view: of the observer.
        rounds: how many rounds are read of each kind.

    Raises:
        InputError: gradients and weights do not have the same shapes, or are not finite.
    """
    own, told = observer_members(view.observer), _counts(view)
    corrected = {m.round for m in view.carrying(CORRECTIONS) if m.round > 0}
    found: dict[str, dict[tuple[int | None, int | None], Sight]] = {}
    for message, weights in _pairs(view):
        others = message.sender not in own or TOTALS.covers(message.kind)
        if not others or not _of_known_model(message, weights):
            continue
        if message.round in corrected and kind_of(message.kind).since is not None:
            continue
        owner = None if TOTALS.covers(message.kind) else int(message.sender.partition(":")[2])
        for label, taken in _taken(message, weights):
            if not any(value.any() for value in taken.gradient.values()):
                continue  # of nobody
            of_kind = found.setdefault(message.kind, {})
            sight = of_kind.setdefault((owner, label), Sight(owner, label, _members(told, owner, label)))
            if len(sight.rounds) < rounds:
                sight.rounds.append(taken)
    read = {kind: list(by_group.values()) for kind, by_group in found.items()}
    return read or _steps(view, rounds, told)


def _pairs(view: View) -> Iterator[tuple[Message, Message]]:
    """Each readable upload or sum of uploads, and the weights at which it was taken."""
    last: dict[tuple[bool | str, str], Message] = {}  # by what they are for, and by who got them
    for message in with_starts(view):
        if not message.tensors:
            continue
        if STARTS.covers(message.kind):
            last[message.kind, "clients"] = message
        elif _handed(message) and COMMON.covers(message.kind) and not CONTROLS.covers(message.kind):
            last[MATCHED_AT.covers(message.kind), message.receiver] = message
            last[message.kind, message.receiver] = message
        elif UPLOADED.covers(message.kind) and message.kind in KINDS:
            wanted = kind_of(message.kind).since or BY_CLASS.covers(message.kind)
            for receiver in (message.sender, "clients"):
                at = last.get((wanted, receiver))
                if at is not None and at.round == message.round:
                    yield message, at
                    break


def _handed(message: Message) -> bool:
    """Whether clients got it to start from; what they send the server, or one another, is nothing of the kind."""
    return message.receiver == "clients" or message.sender == "server"


def _of_known_model(message: Message, weights: Message) -> bool:
    """Whether both are of a model whose gradients are known; others are left alone."""
    names = {name.rpartition("/")[2] for name in message.tensors}
    return any(names == set(known) == set(weights.tensors) for known in WEIGHTS.values())


def _taken(message: Message, weights: Message) -> Iterator[tuple[int | None, Taken]]:
    """The gradients that one message holds, with their class where it says so."""
    at = _checked(weights.tensors, weights.tensors, message)
    if kind_of(message.kind).since is not None:
        after = _checked(message.tensors, weights.tensors, message)
        yield None, Taken(at, {name: at[name] - after[name] for name in at}, moved=True)
        return
    if not BY_CLASS.covers(message.kind):
        yield None, Taken(at, _checked(message.tensors, weights.tensors, message))
        return
    for label in dict.fromkeys(name.partition("/")[0] for name in message.tensors):
        own = {n.partition("/")[2]: t for n, t in message.tensors.items() if n.partition("/")[0] == label}
        if not label.isdecimal():
            raise InputError(f"a gradient by class is named '{label}/...': expected the number of a class")
        yield int(label), Taken(at, _checked(own, weights.tensors, message))


def _checked(tensors: Mapping[str, Tensor], weights: Mapping[str, Tensor], message: Message) -> dict[str, Floats]:
    """Tensors in double precision.

    Raises:
        InputError: they are not shaped as the weights are, or not finite.
    """
    what = f"'{message.kind}' of {message.sender} in round {message.round}"
    found = {name: tensor.detach().double().cpu().numpy() for name, tensor in tensors.items()}
    for name, weight in weights.items():
        if name not in found or found[name].shape != tuple(weight.shape):
            raise InputError(f"{what}: expected '{name}' {list(weight.shape)}, as the weights are")
        if not np.isfinite(found[name]).all():
            raise InputError(f"{what}: '{name}' is not finite")
    return found


def _steps(view: View, rounds: int, told: Told) -> dict[str, list[Sight]]:
    """How common weights moved from round to round, as sums over clients."""
    found: dict[str, list[Sight]] = {}
    every = [m for m in view.carrying(COMMON) if m.receiver == "clients"]  # what one client got is no sum of all
    common = [m for m in every if not MATCHED_AT.covers(m.kind) and not CONTROLS.covers(m.kind)]
    for kind in dict.fromkeys(m.kind for m in common):
        sight = Sight(None, None, _members(told, None, None))
        for one, other in pairwise([m for m in common if m.kind == kind]):
            if other.round == one.round + 1 and _of_known_model(other, one) and len(sight.rounds) < rounds:
                before, after = (_checked(m.tensors, one.tensors, m) for m in (one, other))
                sight.rounds.append(Taken(before, {n: before[n] - after[n] for n in before}, moved=True))
        if sight.rounds:
            found[kind] = [sight]
    return found


def _counts(view: View) -> dict[int, dict[str, Tensor]]:
    """What each client told of its numbers of labels; a client alone knows its own, and not of whom a sum is."""
    told: dict[int, dict[str, Tensor]] = {}
    if "server" not in observer_members(view.observer):
        return told
    for message in view.carrying(COUNTED):
        if message.sender.startswith("client:"):
            told.setdefault(int(message.sender.partition(":")[2]), {}).update(message.tensors)
    return told


def _members(told: Told, owner: int | None, label: int | None) -> int | None:
    """How many labelled nodes a gradient is the mean over, where every client in question told that."""
    name = "count" if label is None else "counts"
    clients = list(told) if owner is None else [owner]
    if not clients or any(name not in told.get(client, {}) for client in clients):
        return None
    numbers = [told[client][name].flatten() for client in clients]
    place = 0 if label is None else label
    if any(place >= len(one) for one in numbers):
        return None
    return round(sum(float(one[place]) for one in numbers)) or None
