"""What defenses of uploads share: which messages they are, and what a client adds to what it was given."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from ...errors import InputError
from ...mechanisms.guarantee import Guarantee
from ...randomness import branch, integer
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


class Streams:
    """Numpy generators for noise that a promise rests on, one for each sender.

    Each has all of the seed's entropy: torch's generator on a CPU has 2^32 streams, few enough to try. One for all
    senders would tell whoever knows its own noise that of the others.
    """

    def __init__(self, seed: np.random.SeedSequence) -> None:
        self._seed, self._made = seed, dict[str, np.random.Generator]()

    def of(self, sender: str) -> np.random.Generator:
        if sender not in self._made:
            self._made[sender] = np.random.default_rng(branch(self._seed, sender))
        return self._made[sender]


class Generators:
    """Torch generators that all start from one seed, one for each device that tensors come from.

    Fast, and guessed from a few of their numbers: for coins that no promise rests on.
    """

    def __init__(self, seed: np.random.SeedSequence) -> None:
        self._number, self._made = integer(seed), dict[torch.device, torch.Generator]()

    def on(self, device: torch.device) -> torch.Generator:
        if device not in self._made:
            self._made[device] = torch.Generator(device).manual_seed(self._number)
        return self._made[device]


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


def norm_of(change: Mapping[str, Tensor], order: int) -> float:
    """L1 or L2 norm of all tensors together, as one vector."""
    if not change:
        return 0.0
    parts = torch.stack([torch.linalg.vector_norm(t, order, dtype=torch.double).cpu() for t in change.values()])
    return float(torch.linalg.vector_norm(parts, order))


def clipped(change: Change, largest: float, order: int) -> Change:
    """The same direction with a norm of at most ``largest``; a change that is not finite counts as none."""
    norm = norm_of(change, order)
    if not math.isfinite(norm):  # no factor would bound it
        return {name: torch.zeros_like(tensor) for name, tensor in change.items()}
    # not by largest / norm where that is 1 already: an upload within the bound stays as it is, bit by bit
    return change if norm <= largest else {name: tensor * (largest / norm) for name, tensor in change.items()}
