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


def kept_nodes(before: Sequence[Client], after: Sequence[Client], nodes: int) -> Tensor | None:
    """Which of N nodes have an edge or a training label in what a defense left, [N]; None if it dropped nobody."""
    kept, dropped = torch.zeros(nodes, dtype=torch.bool), False
    for one, other in zip(before, after, strict=True):
        stays = remaining(other)
        kept[one.nodes[stays].cpu()] = True
        dropped = dropped or bool((remaining(one) & ~stays).any())
    return kept if dropped else None


def accuracies_by_fate(whole: Tensor, left: Tensor, y: Tensor, test: Tensor, kept: Tensor) -> dict[str, float]:
    """Accuracies of test nodes by what became of them; one without such nodes is left out.

    Args:
        whole: logits of all nodes on the clients' own graphs [N, C].
        left: those on what the defense left [N, C].
        y: labels [N].
        test: which nodes are tested [N].
        kept: which nodes the defense kept [N]; it dropped the others.
    """
    asked = {
        KEPT_ON_LEFT: (left, test & kept),
        KEPT_ON_WHOLE: (whole, test & kept),
        DROPPED_ON_WHOLE: (whole, test & ~kept),
    }
    found = {
        name: float((logits.argmax(1) == y)[mask].float().mean())
        for name, (logits, mask) in asked.items()
        if bool(mask.any())
    }
    return found | {SHARE_KEPT: float(kept.float().mean())}
