"""Who holds whom, by the space that a client's uploads of many rounds span."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from ...settings import Settings
from ...targets.games.ownership import OwnershipKnowledge
from ...targets.models.propagation import gcn_operator
from .first_layer import Change, side_by_side
from .ownership_attack import UploadAttack
from .row_spans import share_within, span_of

if TYPE_CHECKING:
    from torch import Tensor


class SpanOwnershipSettings(Settings):
    """Settings of `SpanOwnership`."""

    rows: Literal["own", "aggregated"] = Field(
        "own", description="what is looked for in the span: a node's features, or their mean with its neighbours'"
    )
    cut: float = Field(1e-5, gt=0, lt=1, description="singular values below this share of the largest are rounding")


class SpanOwnership(UploadAttack):
    """The share of each node's row that lies in the span of a client's uploads, less that in the others' spans.

    The change of the first layer after plain gradient steps is X^T B for the client's rows X (`first_layer`): its
    columns lie in the span of the rows, and those of many rounds fill it. Where there are fewer nodes than features
    a row from elsewhere lies outside. One round spans as many dimensions as the layer is wide, so it takes several
    rounds (own derivation; GRAIN, Drencheva et al., ICLR 2025, filters rows by the span of one gradient).
    `update-codes` is the same where rows are uncorrelated, and needs fewer rounds; this one needs no row but the
    node's own.

    After Adam the change spans everything within a few rounds, and the attack finds next to nothing.
    """

    name = "span-ownership"
    Settings = SpanOwnershipSettings
    settings: SpanOwnershipSettings

    def scorer(self, x: Tensor, knowledge: OwnershipKnowledge) -> Callable[[list[Change]], Tensor]:
        s = self.settings
        rows = x if s.rows == "own" else gcn_operator(knowledge.edges, len(x)) @ x
        return lambda changes: share_within(rows, span_of(side_by_side(changes), s.cut))
