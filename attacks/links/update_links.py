"""Links by the codes that plain training steps leave of each row in a client's upload."""

from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor

from ...settings import Settings
from ...targets.games.links import LinkKnowledge
from ...targets.messages import Carrying
from ...targets.transcript import View
from ..ownership.first_layer import (
    READ,
    USED,
    changes_of,
    is_heard,
    side_by_side,
    summed_changes,
    uploads_are_read,
)
from ..ownership.row_codes import row_codes
from .link_attack import LinkAttack, Part, cosine_of_pairs


class UpdateLinksSettings(Settings):
    """Settings of `UpdateLinks`."""

    ridge: float = Field(1e-3, gt=0, description="share of a row's mean squared length that is added")
    root: bool = Field(True, description="compare by the root of the codes' Gram matrix, or codes as they are")


class UpdateLinks(LinkAttack):
    """Likeness of two nodes' codes in a client's uploads: linked nodes hear of the same errors.

    The change of the first layer after plain gradient steps is X^T B for the client's rows X, B = S Delta with the
    propagation S and what the loss said of each node, Delta (`first_layer`). The server knows the rows of the
    client's nodes, solves for B (`row_codes`) and compares its rows. Were the rows of Delta uncorrelated and alike
    in length, B B^T would be a multiple of S^2, which mixes one hop with two: its root is one of S. With ``root``
    the entries of the root of the Gram matrix of unit codes are read. Own derivation; nothing is trained.

    Where uploads are sealed, their sum has all clients' rows: codes are solved for all nodes at once. Pairs of a
    client whose uploads the observer does not get have the score 0.
    """

    name = "update-links"
    any_of: ClassVar[tuple[Carrying, ...]] = READ
    uses: ClassVar[tuple[Carrying, ...]] = USED
    first_rounds = 50
    Settings = UpdateLinksSettings
    settings: UpdateLinksSettings

    def score_part(self, view: View, part: Part, knowledge: LinkKnowledge) -> Tensor:
        s = self.settings
        if uploads_are_read(view) and not is_heard(view, part.sender):
            return torch.zeros(len(part.pairs), device=part.pairs.device)
        if uploads_are_read(view):
            codes = row_codes(part.x, side_by_side(changes_of(view, part.sender, part.x.shape[1])), s.ridge)
        else:
            told = side_by_side(summed_changes(view, part.x.shape[1]))
            codes = row_codes(knowledge.x, told, s.ridge)[part.nodes]
        return cosine_of_pairs(rooted(codes) if s.root else codes, part.pairs)

    def blind_part(self, part: Part, knowledge: LinkKnowledge) -> Tensor:
        """Cosine of raw features: what needs no upload."""
        return cosine_of_pairs(part.x.float(), part.pairs)


def rooted(codes: Tensor) -> Tensor:
    """Rows whose products are the root of the Gram matrix of unit rows [n, m]: of U S V^T they are U S^(1/2)."""
    unit = codes / codes.norm(dim=1, keepdim=True).clamp_min(torch.finfo(codes.dtype).tiny)
    left, values, _ = torch.linalg.svd(unit, full_matrices=False)
    rows: Tensor = left * values.sqrt()
    return rows
