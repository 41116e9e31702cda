"""How many links a client's people have, by a number that it says of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ...errors import InputError
from ...targets.games.group_density import ClientKnowledge, GroupDensity
from ...targets.messages import Carries, Carrying
from ...targets.transcript import View
from ..attack import Attack

if TYPE_CHECKING:
    from torch import Tensor

COUNTED = Carrying.any_of(Carries.LINK_COUNT, to="server")


class EdgeCounts(Attack[ClientKnowledge]):
    """Who says a larger number has more links: FedGTA's confidence, in closed form.

    The confidence H is a sum over the ends of a client's edges. Were soft labels certain, the client would have
    H e / (2 C) edges (`edges_told` in the module of the target); they are surest in the last round that the
    observer hears, which is the one that is read. Nothing is trained, and how many people a client has is not
    asked: clients are compared by numbers of links as they are. Who is not heard has the mean of the others.

    The blind score says nothing, for halves are drawn by lot.
    """

    name = "edge-counts"
    games: ClassVar[tuple[str, ...]] = (GroupDensity.name,)
    needs: ClassVar[tuple[Carrying, ...]] = (COUNTED,)
    observer = "server"
    planted = "planted-density"

    def score(self, view: View, knowledge: ClientKnowledge) -> Tensor:
        import torch

        last = dict[str, float]()
        for message in view.carrying(COUNTED):
            last[message.sender] = _number(message.tensors.get("confidence"), message.kind, message.sender)
        told = [last.get(f"client:{number}") for number in knowledge.numbers.tolist()]
        heard = [number for number in told if number is not None]
        if not heard:
            raise InputError(f"no client sent a message of this sort: {COUNTED}")
        mean = sum(heard) / len(heard)
        return torch.tensor([mean if number is None else number for number in told], dtype=torch.float64)

    def blind_score(self, knowledge: ClientKnowledge) -> Tensor:
        return knowledge.prior()


def _number(told: Tensor | None, kind: str, sender: str) -> float:
    import torch

    if told is None or told.numel() != 1 or not bool(torch.isfinite(told).all()):
        raise InputError(f"the '{kind}' of {sender} holds no finite number 'confidence'")
    return float(told)
