"""Which round's model a client answers with: that which has most validation graphs right."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ..federated.local_training import Forward
from .graph_clients import GraphClient


@dataclass
class ChosenRound:
    """The best of the models considered so far; of equally good ones the last, which was trained for longer.

    Attributes:
        right: how many validation graphs it has right; below zero before the first.
        round: in which it was handed out.
        model: its weights.
    """

    right: float = -1.0
    round: int = 0
    model: Mapping[str, Tensor] = field(default_factory=dict)

    def consider(self, model: Mapping[str, Tensor], right: float, round_: int) -> None:
        """Keeps this model if no earlier one is better."""
        if right >= self.right:
            self.right, self.round, self.model = right, round_, model


def right_of(model: Mapping[str, Tensor], client: GraphClient, asked: Forward, device: str) -> float:
    """How many of a client's validation graphs a model has right; ``asked`` reads these graphs."""
    with torch.no_grad():
        said = asked({name: weight.to(device) for name, weight in model.items()}).argmax(1)
    return float((said.cpu() == client.labels[client.val].cpu()).sum())
