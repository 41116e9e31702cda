"""Whose rows are in means of a few rows, in closed form."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ...errors import InputError
from ...targets.games.membership import LabelMembership, NodeKnowledge
from ...targets.messages import Carries, Carrying
from ...targets.transcript import Message, View, observer_members
from ..attack import Attack

if TYPE_CHECKING:
    from torch import Tensor

LEAST = 1e-4
"""Shares of rows that have a word are kept this far from 0 and 1: what is told is rounded, and no proof is made."""


class MeanRows(Attack[NodeKnowledge]):
    """How well a node's row fits the best of the means that were sent (own derivation).

    Of rows of zeros and ones, a mean of M of them says of each word in which share q of the M rows it is. If p is
    its share among all rows, a row x of the M is likelier than another one by the sum of log(q / p) over its words
    and of log((1 - q) / (1 - p)) over the others. A word with q = 0 rules the row out, which for sparse rows few
    others survive; with M = 1 nothing but the row itself does. The score is the largest of these sums over all
    means. Of other features it is the largest cosine after the mean of all rows is taken off both.
    """

    name = "mean-rows"
    games: ClassVar[tuple[str, ...]] = (LabelMembership.name,)
    any_of: ClassVar[tuple[Carrying, ...]] = (Carrying.any_of(Carries.MEANS),)
    observer = "server"

    def score(self, view: View, knowledge: NodeKnowledge) -> Tensor:
        import torch

        own, features = observer_members(view.observer), knowledge.x.shape[1]
        sent = [m for m in view.carrying(self.any_of[0]) if m.sender not in own]
        if not sent:
            raise InputError(f"the observer '{view.observer}' sees no means of others' rows")
        means = torch.cat([_means(message, features) for message in sent]).to(knowledge.x.device)
        rows = knowledge.x[knowledge.subjects].double()
        if bool(((knowledge.x == 0) | (knowledge.x == 1)).all()):
            return likelihood_ratios(rows, means, knowledge.x.double().mean(0)).max(1).values
        centre = knowledge.x.double().mean(0)
        cosines = _unit(rows - centre) @ _unit(means - centre).t()
        return cosines.max(1).values

    def blind_score(self, knowledge: NodeKnowledge) -> Tensor:
        """Without means nothing tells one row from another."""
        import torch

        return torch.zeros(len(knowledge.subjects), device=knowledge.x.device)


def likelihood_ratios(rows: Tensor, means: Tensor, shares: Tensor) -> Tensor:
    """log P(row | drawn from those of a mean) - log P(row | drawn from all), words taken one by one, [s, m].

    Args:
        rows: of zeros and ones, [s, d].
        means: [m, d].
        shares: of all rows that have each word, [d].
    """
    q, p = means.clamp(LEAST, 1 - LEAST), shares.clamp(LEAST, 1 - LEAST)
    there, missing = (q / p).log(), ((1 - q) / (1 - p)).log()
    found: Tensor = rows @ (there - missing).t() + missing.sum(1)
    return found


def _means(message: Message, features: int) -> Tensor:
    import torch

    means = message.tensors.get("x")
    if means is None or means.dim() != 2 or means.shape[1] != features or not bool(torch.isfinite(means).all()):
        raise InputError(f"the '{message.kind}' of {message.sender} must hold finite means 'x' [m, {features}]")
    return means.double()


def _unit(rows: Tensor) -> Tensor:
    import torch

    unit: Tensor = rows / rows.norm(dim=1, keepdim=True).clamp_min(torch.finfo(rows.dtype).tiny)
    return unit
