"""Who holds whom, by the codes that plain training steps leave of each row in a client's upload."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pydantic import Field

from ...settings import Settings
from ...targets.games.ownership import OwnershipKnowledge
from .first_layer import Change, side_by_side
from .ownership_attack import UploadAttack
from .row_codes import WhiteRows

if TYPE_CHECKING:
    from torch import Tensor


class UpdateCodesSettings(Settings):
    """Settings of `UpdateCodes`."""

    ridge: float = Field(1e-3, gt=0, description="share of a row's mean squared length that is added")
    cut: float = Field(1e-5, gt=0, lt=1, description="singular values below this share of the largest are rounding")


class UpdateCodes(UploadAttack):
    """How much each node's row is in what a client uploads, less how much it is in the others'.

    The change of the first layer after plain gradient steps is X^T B for the client's rows X (`first_layer`). Who
    knows the rows of all nodes that may be anybody's solves for B by ridge regression on all of them: each has a
    code. Its length, once its columns are rid of what they share, against its leverage says whether the node is
    there (`WhiteRows.presence`). Rounds stand side by side; one tells most. Own derivation; nothing is trained.

    After Adam the change is not linear in the rows, and the attack is far weaker.
    """

    name = "update-codes"
    Settings = UpdateCodesSettings
    settings: UpdateCodesSettings

    def scorer(self, x: Tensor, knowledge: OwnershipKnowledge) -> Callable[[list[Change]], Tensor]:
        s, white = self.settings, WhiteRows.of(x, self.settings.ridge)
        return lambda changes: white.presence(side_by_side(changes), s.cut)
