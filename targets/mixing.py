"""Weights that clients mix without a server: what each began a round with, as far as others can reckon it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ..errors import InputError
from .messages import MIXING_KIND, START_KIND, Carries, Carrying, kind_of
from .transcript import Message, View

if TYPE_CHECKING:
    from torch import Tensor

PEERS = Carrying.any_of(Carries.UPDATE, to="client")
"""Weights after local training that clients send each other."""
MIXING = Carrying.any_of(Carries.MIXING)
STARTS = Carrying.any_of(Carries.STARTS)
FIRST = Carrying.any_of(Carries.WEIGHTS, to="clients")
"""The weights that all begin with."""
CHOICES = Carrying.any_of(Carries.CHOICES)
CHOICE = Carrying.any_of(Carries.CHOICE, to="server")
BEGINNINGS = Carrying.any_of(Carries.MIXING, Carries.CHOICES, Carries.CHOICE)
"""What tells others which weights a client began a round with."""


def mixed(shares: Tensor, told: Mapping[int, Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mixture of some clients' weights, by ``shares`` [K], of which none but theirs is above zero."""
    import torch

    weights = {number: float(shares[number]) for number in shares.nonzero().flatten().tolist()}
    names = next(iter(told.values()))
    return {name: torch.stack([share * told[k][name] for k, share in weights.items()]).sum(0) for name in names}


def with_starts(view: View, estimate: bool = False) -> tuple[Message, ...]:
    """What an observer sees, with what each peer began its round with, before what the peer sent in it.

    The first round begins with weights that all know. A later one begins with a mixture of what the client's
    neighbours and itself sent in the round before, by shares that all know: who saw all of these can reckon it. Of
    what a peer sent to several, one is left. Where nobody tells shares, what a client itself sent in the round
    before is the estimate.

    Where clients choose among several models and say which, each begins with that one.

    Args:
        view: of the observer.
        estimate: whether the mixture of what was seen stands for one of which a part was not seen; else what a peer
            sent after such a beginning is left out.

    Raises:
        InputError: shares do not fit the clients, or choices the models.
    """
    if view.carrying(CHOICE):
        return tuple(_chosen(view))
    if not any(_from_peer(message) for message in view.messages):
        return view.messages
    tables = view.carrying(MIXING)
    return tuple(_in_order(view, tables[-1].tensors["shares"] if tables else None, estimate))


def _chosen(view: View) -> Iterator[Message]:
    models: Mapping[str, Tensor] = {}
    for message in view.messages:
        yield message
        if CHOICES.covers(message.kind):
            models = message.tensors
        elif CHOICE.covers(message.kind) and message.tensors and models:
            begun = chosen_model(models, message)
            yield Message(START_KIND, message.sender, message.sender, message.round, begun)


def chosen_model(models: Mapping[str, Tensor], choice: Message) -> dict[str, Tensor]:
    """That of several models which a client chose."""
    told = choice.tensors.get("choice")
    number = int(told[0]) if told is not None and told.shape == (1,) else -1
    found = {name.partition("/")[2]: w for name, w in models.items() if name.partition("/")[0] == str(number)}
    if not found:
        raise InputError(f"the '{choice.kind}' of {choice.sender} must hold the number of a model that was sent")
    return found


def _from_peer(message: Message) -> bool:
    return bool(message.tensors) and PEERS.covers(message.kind) and kind_of(message.kind).since == START_KIND


def _in_order(view: View, shares: Tensor | None, estimate: bool) -> Iterator[Message]:
    told: dict[int, dict[int, Mapping[str, Tensor]]] = {}
    first: Mapping[str, Tensor] | None = None
    for message in view.messages:
        if not _from_peer(message):
            if FIRST.covers(message.kind) and first is None:
                first = message.tensors
            yield message
            continue
        sender, of_round = int(message.sender.partition(":")[2]), told.setdefault(message.round, {})
        if shares is not None and (shares.dim() != 2 or sender >= len(shares)):
            raise InputError(f"the '{MIXING_KIND}' must hold a row of shares for {message.sender}")
        if sender in of_round:
            continue
        of_round[sender] = message.tensors
        before = told.get(message.round - 1, {})
        if message.round == 0:
            begun = first
        elif shares is None:
            begun = before.get(sender) if estimate else None
        else:
            begun = _begun(shares[sender], before, estimate)
        if begun is not None:
            yield Message(START_KIND, message.sender, message.sender, message.round, begun)
            yield message


def _begun(
    shares: Tensor, before: Mapping[int, Mapping[str, Tensor]], estimate: bool
) -> Mapping[str, Tensor] | None:
    """What a client began a round with, or None where that is not known."""
    import torch

    known = torch.zeros_like(shares)
    for number in before:
        known[number] = shares[number]
    whole = torch.equal(known, shares)
    if not (whole or (estimate and bool(known.any()))):
        return None
    return mixed(shares if whole else known / known.sum(), before)
