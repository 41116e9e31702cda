"""Gradients read in closed form: whether one node alone is behind them, and then its label and its row."""

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from ...errors import InputError
from ...targets.games.cells import GAME
from ...targets.messages import CLASS_GRADIENTS_KIND, MATCHING_MODEL_KIND, Carries, Carrying
from ...targets.transcript import View
from ..attack import Attack, Knowledge
from .readout import read_class_gradients


class GradientReadout(Attack):
    """Names the uploaded class gradients that one labelled node alone is behind, see `readout.read_gradient`.

    Where it names one, it has the node's label and what the last layer read for it, exactly. It claims or it does
    not: the score is 1 or 0. Read is the first round.
    """

    name = "gradient-readout"
    games = (GAME,)
    needs: ClassVar[tuple[Carrying, ...]] = (
        Carrying.any_of(Carries.CLASS_GRADIENTS, to="server"),
        Carrying.any_of(Carries.MATCHED_AT),
    )
    observer = "server"
    first_rounds = 1
    planted = "planted-gradients"

    def score(self, view: View, knowledge: Knowledge) -> Tensor:
        theta = view.of_kind(MATCHING_MODEL_KIND)[0]
        model = _architecture(theta.tensors)
        claimed = set()
        for message in view.of_kind(CLASS_GRADIENTS_KIND):
            if message.round == theta.round and message.sender.startswith("client:"):
                client = int(message.sender.partition(":")[2])
                found = read_class_gradients(message.tensors, theta.tensors, model)
                claimed |= {client * knowledge.classes + c for c, read in found.items() if read is not None}
        return torch.tensor([float(cell in claimed) for cell in knowledge.subjects.tolist()])

    def blind_score(self, knowledge: Knowledge) -> Tensor:
        """Nothing is claimed of a gradient that was not seen."""
        return torch.zeros(len(knowledge.subjects))


def _architecture(weights: Mapping[str, Tensor]) -> str:
    if {"w", "b"} <= set(weights):
        return "sgc"
    if {"w2", "b2"} <= set(weights):
        return "sage" if "r2" in weights else "gcn"
    raise InputError(f"the model has weights {', '.join(sorted(weights))}: expected those of a GCN, SGC or SAGE")
