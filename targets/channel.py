"""The only way out of a party."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..errors import InputError
from .messages import check_route, kind_of
from .transcript import Message, Transcript

if TYPE_CHECKING:
    from torch import Tensor

Mod = Callable[[Message], Message]
Retention = Callable[[Message], bool]


def keep_kinds(*kinds: str) -> Retention:
    """The retention rule that keeps all messages of some kinds, and of no other."""
    wanted = frozenset(kinds)
    return lambda message: message.kind in wanted


class StoppedError(InputError):
    """A run that could not go on; ``transcript`` is what was sent until then."""

    def __init__(self, message: str, transcript: Transcript) -> None:
        super().__init__(message)
        self.transcript = transcript


@dataclass
class Channel:
    """Copies each message when it is sent, lets defenses change it on the way, and records it.

    Attributes:
        transcript: what was sent so far.
        retain: which messages are kept with their content; all are counted.
        mods: defenses that act on messages (`message -> message`), in order; they act at the sender,
            so that the observer and the receiver get the same thing.
    """

    transcript: Transcript = field(default_factory=Transcript)
    retain: Retention = field(default=lambda message: True)
    mods: tuple[Mod, ...] = ()

    def send(
        self,
        kind: str,
        sender: str,
        receiver: str,
        round_: int,
        tensors: Mapping[str, Tensor],
        sealed_from: tuple[str, ...] = (),
    ) -> Mapping[str, Tensor]:
        """Sends a copy of ``tensors`` and returns what the receiver gets (which is not shared either).

        Raises:
            InputError: nobody declared the kind (`messages.declare`), or not for this way; a tensor is sparse.
        """
        import torch

        check_route(kind, sender, receiver)
        for name, tensor in tensors.items():
            if tensor.layout != torch.strided:
                raise InputError(f"the message '{kind}' holds '{name}' as a sparse tensor: send a dense one")
        # clone, not detach().cpu(): the latter aliases live parameters that are already on the CPU
        copied = {name: tensor.detach().clone() for name, tensor in tensors.items()}
        message = Message(kind, sender, receiver, round_, copied, sealed_from)
        for mod in self.mods:
            message = mod(message)
        keep = self.retain(message)
        self.transcript.record(message, keep)
        if not keep:
            return message.tensors
        return {name: tensor.clone() for name, tensor in message.tensors.items()}

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Within the block an `InputError` becomes `StoppedError`, so that what was sent is not lost with it."""
        try:
            yield
        except InputError as error:
            raise StoppedError(str(error), self.transcript) from error

    def hold(self, kind: str, party: str, round_: int, tensors: Mapping[str, Tensor]) -> None:
        """Notes something that a party has and keeps: visible to that party alone, untouched by defenses.

        Raises:
            InputError: nobody declared the kind.
        """
        kind_of(kind)
        message = Message(kind, party, party, round_, tensors)
        keep = self.retain(message)
        if keep:  # encoders are large: what is only counted is not copied
            message = replace(message, tensors={name: t.detach().clone() for name, t in tensors.items()})
        self.transcript.record(message, keep)

    def seals(self, kind: str) -> bool:
        """Whether the server could not read some message of a kind: of those it has the sum alone."""
        return any(name == kind and "server" in sealed for name, _, _, sealed in self.transcript.tallies)

    def holder(self, party: str) -> Callable[[str, Mapping[str, Tensor]], None]:
        """For a defense to note what a party keeps before the first round: called with a kind and tensors."""
        return lambda kind, tensors: self.hold(kind, party, -1, tensors)
