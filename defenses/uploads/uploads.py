"""What defenses of uploads share: which messages they are, and what a client adds to what it was given."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from torch import Tensor

from ...errors import InputError
from ...mechanisms.guarantee import Guarantee
from ...targets.answers import GLOBAL_KIND, GRADIENT_KIND, UPDATE_KIND
from ...targets.channel import Mod
from ...targets.transcript import Message

OTHER_KINDS = ("class-gradients", "self-training-gradients", "control-variate", "generator-gradient")
"""Gradients under other names: of a federated condensation (two), of SCAFFOLD (a mean of them), of FedSage+."""
UPLOAD_KINDS = (UPDATE_KIND, GRADIENT_KIND, *OTHER_KINDS)

Change = dict[str, Tensor]
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
    these, so the mod remembers the last ``global-model`` message that went through the channel to the sender, or
    to all clients.

    Raises:
        InputError: an update comes before any global model, or has other tensors than it.
    """
    known: dict[str, dict[str, Tensor]] = {}

    def mod(message: Message) -> Message:
        if message.kind == GLOBAL_KIND:
            if message.receiver == "clients":
                known.clear()
            # a receiver may train what it got in place
            known[message.receiver] = {name: tensor.clone() for name, tensor in message.tensors.items()}
        if message.kind not in UPLOAD_KINDS or message.sender == "server":
            return message
        if message.kind != UPDATE_KIND:
            return replace(message, tensors=change(dict(message.tensors), message.sender))
        base = _base(message, known)
        step = {name: tensor - base[name] for name, tensor in message.tensors.items()}
        changed = change(step, message.sender)
        return replace(message, tensors={name: base[name] + moved for name, moved in changed.items()})

    return mod


def _base(message: Message, known: Mapping[str, Mapping[str, Tensor]]) -> Mapping[str, Tensor]:
    """The weights that the sender of an update started from."""
    base = known.get(message.sender, known.get("clients"))
    if base is None:
        raise InputError(
            f"'{message.sender}' sends an '{UPDATE_KIND}' before any '{GLOBAL_KIND}': send the global weights "
            "through the same channel first, else a defense cannot tell what is the client's own"
        )
    shapes, others = ({n: tuple(t.shape) for n, t in part.items()} for part in (message.tensors, base))
    if shapes != others:
        raise InputError(
            f"the '{UPDATE_KIND}' of '{message.sender}' holds {shapes}, the last '{GLOBAL_KIND}' {others}: "
            "expected the same names and shapes"
        )
    return base
