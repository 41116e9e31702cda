"""What defenses of uploads share: which messages they are, and what a client adds to what it was given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ...errors import InputError
from ...mechanisms.guarantee import Guarantee
from ...targets.channel import Mod
from ...targets.messages import KINDS, START_KIND, Carries, Carrying, kind_of
from ...targets.mixing import CHOICE, CHOICES, chosen_model
from ...targets.transcript import Message

if TYPE_CHECKING:
    from torch import Tensor

UPLOADS = Carrying.any_of(Carries.GRADIENT, Carries.UPDATE, to="server")
"""What the defenses here change: gradients and updates that clients upload, whatever their kinds are called."""

Change = dict[str, "Tensor"]
"""What a client adds to what everybody knows: a gradient, or the step of its weights; by name."""


def of_one_upload(epsilon: float, delta: float, accountant: str) -> Guarantee:
    """What noise on a clipped upload promises its client, whatever data it comes from; rounds add up."""
    return Guarantee(
        "client",
        "replace",
        "local",
        epsilon,
        delta,
        accountant=accountant,
        public=("names and shapes of what is uploaded",),
        composes="rounds add up: this is one upload",
        covers="one upload of a gradient or of weights",
    )


def on_uploads(change: Callable[[Change, str], Change]) -> Mod:
    """The mod that changes what clients upload, one whole message at a time, and lets all others pass.

    ``change`` is called with what is uploaded and with the name of its sender.

    A gradient is changed as it is; what a server relays is not changed again. An update holds weights, of which
    the server knows nearly all: the global weights that it sent last. What is changed there is the difference to
    these, so the mod remembers the last message of the kind that it is declared to be ``since``, which went through
    the channel to the sender, or to all clients. Of several models it is the one that the sender said it chose.

    Raises:
        InputError: an update comes before any global model, or has other tensors than it.
    """
    known: dict[str, dict[str, dict[str, Tensor]]] = {}
    models: dict[str, Tensor] = {}

    def mod(message: Message) -> Message:
        if any(kind.since == message.kind for kind in KINDS.values()):
            common = known.setdefault(message.kind, {})
            if message.receiver == "clients":
                common.clear()
            # a receiver may train what it got in place
            common[message.receiver] = {name: tensor.clone() for name, tensor in message.tensors.items()}
        if CHOICES.covers(message.kind):
            models.update({name: tensor.clone() for name, tensor in message.tensors.items()})
        elif CHOICE.covers(message.kind):
            known.setdefault(START_KIND, {})[message.sender] = chosen_model(models, message)
        if not UPLOADS.covers(message.kind) or message.receiver != "server":
            return message
        since = kind_of(message.kind).since
        if since is None:
            return replace(message, tensors=change(dict(message.tensors), message.sender))
        base = _base(message, since, known.get(since, {}))
        step = {name: tensor - base[name] for name, tensor in message.tensors.items()}
        changed = change(step, message.sender)
        return replace(message, tensors={name: base[name] + moved for name, moved in changed.items()})

    return mod


def _base(message: Message, since: str, known: Mapping[str, Mapping[str, Tensor]]) -> Mapping[str, Tensor]:
    """The weights that the sender of an update started from."""
    base = known.get(message.sender, known.get("clients"))
    if base is None:
        raise InputError(
            f"'{message.sender}' sends '{message.kind}' before any '{since}': send the common weights "
            "through the same channel first, else a defense cannot tell what is the client's own"
        )
    shapes, others = ({n: tuple(t.shape) for n, t in part.items()} for part in (message.tensors, base))
    if shapes != others:
        raise InputError(
            f"the '{message.kind}' of '{message.sender}' holds {shapes}, the last '{since}' {others}: "
            "expected the same names and shapes"
        )
    return base
