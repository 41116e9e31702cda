"""Who took no part, by words that never moved, whatever the optimiser."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...errors import InputError
from ...targets.games.ownership import Contribution, NodeOwnership, OwnershipKnowledge
from .first_layer import Change
from .ownership_attack import UploadAttack

if TYPE_CHECKING:
    from torch import Tensor

DENSE = 0.5
"""Share of non-zero features from which on no word is missing anywhere."""


class UnmovedWords(UploadAttack):
    """Nodes with a word whose weights never moved took no part; of the others, how alike their words moved.

    The gradient by a word's weights is the sum over the nodes that have it. Where none of those took part it is
    exactly zero, and without weight decay neither gradient descent nor Adam moves such weights: a node with an
    unmoved word is proved to have told the loss nothing, in any round. Of the others, words that a node has nearly
    for itself moved as its own code says, all the same way: the score is the length of the mean of its words'
    directions of movement, weighed by how rare a word is (own derivation). Features must be sparse, zero where a
    node does not have a word.

    It plays contribution where a defense dropped nodes, else who holds whom, less the other clients' scores.
    """

    name = "unmoved-words"
    games = (Contribution.name, NodeOwnership.name)
    as_sent = True  # of noisy messages a sum of updates tells more of what moved than their differences

    def scorer(self, x: Tensor, knowledge: OwnershipKnowledge) -> Callable[[list[Change]], Tensor]:
        import torch

        _check_sparse(knowledge.x)
        return lambda changes: moved_together(x, torch.cat([change.by for change in changes], 1))


def moved_together(x: Tensor, moved: Tensor) -> Tensor:
    """How alike the words of each node moved, [n] in [0, 1]; -1 where one of them did not move at all.

    Args:
        x: features [n, d], zero where a node does not have a word.
        moved: the change of each word's weights, [d, m].
    """
    import torch

    has = x != 0
    still = ~(moved != 0).any(1)
    length = moved.norm(dim=1, keepdim=True)
    direction = moved / length.clamp_min(torch.finfo(moved.dtype).tiny)
    weight = 1 / has.sum(0).clamp_min(1).double()  # of a word: one over the number of nodes that have it
    mean = (has * weight) @ direction / (has.double() @ weight).clamp_min(torch.finfo(moved.dtype).tiny)[:, None]
    return torch.where((has & still).any(1), -1.0, mean.norm(dim=1))


def _check_sparse(x: Tensor) -> None:
    """Raises InputError where features are dense: no word is missing then, and none stays unmoved."""
    share = float((x != 0).double().mean())
    if share > DENSE:
        raise InputError(
            f"{share:.0%} of the features are not zero: words that nobody has tell of sparse ones only"
        )
