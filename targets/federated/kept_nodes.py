"""How right a model is at the nodes that a defense of the data kept, and at those that it dropped."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..games.links import remaining
from ..party import Client

KEPT_ON_LEFT = "accuracy of kept test nodes on what the defense left"
KEPT_ON_WHOLE = "accuracy of kept test nodes on the whole graph"
DROPPED_ON_WHOLE = "accuracy of dropped test nodes on the whole graph"
SHARE_KEPT = "share of nodes that the defense kept"


def fate(before: Sequence[Client], after: Sequence[Client], nodes: int) -> tuple[Tensor, Tensor]:
    """Which of N nodes a defense kept and which it dropped, [N] bool each.

    A kept node has an edge or a training label left (`remaining`). A dropped one had one of these before. A node
    that had neither is in no mask.
    """
    kept, dropped = torch.zeros(nodes, dtype=torch.bool), torch.zeros(nodes, dtype=torch.bool)
    for one, other in zip(before, after, strict=True):
        stays = remaining(other)
        kept[one.nodes[stays].cpu()] = True
        dropped[one.nodes[remaining(one) & ~stays].cpu()] = True
    return kept, dropped


def accuracies_by_fate(
    whole: Tensor, left: Tensor, y: Tensor, test: Tensor, kept: Tensor, dropped: Tensor
) -> dict[str, float]:
    """Accuracies of test nodes by what became of them; one without such nodes is left out.

    Args:
        whole: logits of all nodes on the clients' own graphs [N, C].
        left: those on what the defense left [N, C].
        y: labels [N].
        test: which nodes are tested [N].
        kept: which nodes the defense kept [N].
        dropped: which it dropped [N].
    """
    asked = {
        KEPT_ON_LEFT: (left, test & kept),
        KEPT_ON_WHOLE: (whole, test & kept),
        DROPPED_ON_WHOLE: (whole, test & dropped),
    }
    found = {
        name: float((logits.argmax(1) == y)[mask].float().mean())
        for name, (logits, mask) in asked.items()
        if bool(mask.any())
    }
    return found | {SHARE_KEPT: float(kept.float().mean())}
