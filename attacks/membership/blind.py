"""The attack that sees nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ...targets.games.membership import NodeKnowledge
from ...targets.messages import Carrying
from ...targets.transcript import View
from .shadow_mia import ShadowMIA

if TYPE_CHECKING:
    from torch import Tensor


class Blind(ShadowMIA):
    """The shadow attack without the release: what members and non-members give away by themselves."""

    name = "blind"
    any_of: ClassVar[tuple[Carrying, ...]] = ()
    uses: ClassVar[tuple[Carrying, ...]] = ()

    def trains_alike(self, view: View, knowledge: NodeKnowledge) -> bool:
        return False

    def score(self, view: View, knowledge: NodeKnowledge) -> Tensor:
        return self.blind_score(knowledge)
