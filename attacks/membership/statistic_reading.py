"""Membership from noisy sums by label: is a node's row in the sum of its class?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

from ...targets.federated.label_statistic import GRID, Basis
from ...targets.games.membership import NodeKnowledge
from ...targets.messages import LABEL_STATISTIC_KIND, LABEL_SUMS, LABEL_SUMS_KIND, Carrying
from ...targets.models.propagation import Neighbourhood, gcn_operator
from ...targets.transcript import View
from ..attack import Attack

if TYPE_CHECKING:
    from torch import Tensor


class StatisticReading(Attack[NodeKnowledge]):
    """The likelihood ratio of a node's being in the noisy sum of its class, or not (own derivation).

    A private teacher's statistic T is all that a run tells of labels, so this is the direct attack on it. The rows
    that are summed follow from features and edges. Of class y, T_y is taken as normal: its mean is that of the
    class's nodes in question, as many as T itself speaks for; its covariance that of the noise and of who else may
    be in it. A member moves it by its own row. Where clients' parts are seen one by one, the node is in any of them
    alike. Edges between clients that their models never read are read here.
    """

    name = "statistic-reading"
    games: ClassVar[tuple[str, ...]] = ("label-membership",)
    needs: ClassVar[tuple[Carrying, ...]] = (LABEL_SUMS,)
    observer = "server"
    auditor = True

    def why_not(self, view: View, knowledge: NodeKnowledge) -> str | None:
        reason = super().why_not(view, knowledge)
        if reason is None and not view.of_kind(LABEL_STATISTIC_KIND):
            return f"the observer '{view.observer}' does not see which features were summed"
        return reason

    def score(self, view: View, knowledge: NodeKnowledge) -> Tensor:
        import torch

        told = view.last(LABEL_STATISTIC_KIND).tensors
        rows = _rows(Basis(told["basis"], told["mean"]), knowledge)[knowledge.subjects]
        labels, ratios = knowledge.labels[knowledge.subjects], []
        for sums, deviation, share in _readable(view, told):
            ratios.append(_ratios(sums, deviation, rows, labels, share * knowledge.members))
        return torch.stack(ratios).logsumexp(0)

    def blind_score(self, knowledge: NodeKnowledge) -> Tensor:
        """Without the sums nothing is left to compare: everybody alike."""
        import torch

        return torch.zeros(len(knowledge.subjects), device=knowledge.x.device)


def _readable(view: View, told: Mapping[str, Tensor]) -> Iterator[tuple[Tensor, float, float]]:
    """Sums that nothing can be taken off, the deviation of their noise, and their share of all members.

    Each client's part where all are seen; else what is left of the whole without the observer's own parts.
    """
    import torch

    parts = [m.tensors["sums"].double() / GRID for m in view.of_kind(LABEL_SUMS_KIND)]
    clients, deviation = int(told["clients"]), float(told["deviation"])
    if len(parts) == clients > 1:
        yield from ((part, deviation / math.sqrt(clients), 1 / clients) for part in parts)
        return
    rest = 1 - len(parts) / clients
    yield told["sums"].double() - sum(parts, torch.zeros(())), deviation * math.sqrt(rest), rest


def _rows(basis: Basis, knowledge: NodeKnowledge) -> Tensor:
    """What each node would add to a sum, [N, p]."""
    operator = gcn_operator(knowledge.all_edges, len(knowledge.x))
    return basis.features(Neighbourhood((operator @ knowledge.x).to_dense(), operator))


def _ratios(sums: Tensor, deviation: float, rows: Tensor, labels: Tensor, members: float) -> Tensor:
    """Log likelihood ratios of all subjects, [s].

    Args:
        sums: of one message, [C, p].
        deviation: of its noise.
        rows: what each subject would add, [s, p].
        labels: of the subjects, [s].
        members: how many subjects are expected in it.
    """
    import torch

    found, rate = torch.zeros(len(rows), dtype=torch.double, device=rows.device), members / len(rows)
    for label in labels.unique().tolist():
        own = labels == label
        inside = rows[own]
        mean = inside.mean(0)
        count = (sums[label] @ mean / mean.square().sum().clamp(min=1e-12)).clamp(0, len(inside))
        covariance = rate * (1 - rate) * inside.t() @ inside
        covariance.diagonal().add_(max(deviation, 1e-6) ** 2)
        white = torch.linalg.solve(covariance, inside.t()).t()
        found[own] = white @ (sums[label] - count * mean) - (white * inside).sum(1) / 2
    return found
