"""Membership by likeness: a private row that resembles a released one was probably used."""

from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from ..targets.condensed import KIND, UPLOAD_KIND, CondensedGraph
from ..targets.encoder import ENCODER_KIND
from ..targets.transcript import View
from .adapted import adapted
from .attack import Attack, Knowledge


class Nearest(Attack):
    """Largest cosine similarity of a node's features to a released row; no model at all.

    Condensation that starts from real rows publishes them slightly moved. Where the view holds a client's
    encoder and the adversary adapts to the defense, features are transformed by it first. Where clients upload
    condensed graphs of their own, who sees these compares with their rows too.
    """

    name = "nearest"
    needs: ClassVar[tuple[str, ...]] = (KIND,)
    uses: ClassVar[tuple[str, ...]] = (ENCODER_KIND, UPLOAD_KIND)

    def score(self, view: View, knowledge: Knowledge) -> Tensor:
        x = adapted(view, knowledge).x
        seen = [view.last(KIND), *view.of_kind(UPLOAD_KIND)]
        rows = [CondensedGraph.from_tensors(message.tensors, features=x.shape[1]).x for message in seen]
        return largest_cosine(x[knowledge.subjects], torch.cat(rows))

    def blind_score(self, knowledge: Knowledge) -> Tensor:
        """Rows of the shadow data in place of released ones, as many as a half of the members."""
        if not len(knowledge.shadow):
            return torch.zeros(len(knowledge.subjects), device=knowledge.x.device)
        size = max(knowledge.members // 2, 1)
        drawn = knowledge.shadow[torch.randperm(len(knowledge.shadow), device=knowledge.x.device)[:size]]
        return largest_cosine(knowledge.x[knowledge.subjects], knowledge.x[drawn])


def largest_cosine(rows: Tensor, others: Tensor) -> Tensor:
    """For each of ``rows`` [s, d] its largest cosine similarity to any of ``others`` [n', d]."""
    return (F.normalize(rows, dim=1) @ F.normalize(others, dim=1).t()).max(1).values
