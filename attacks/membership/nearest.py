"""Membership by likeness: a private row that resembles a released one was probably used."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from ...errors import InputError
from ...settings import Settings
from ...targets.condensation.condensed import rows_of
from ...targets.games.membership import NodeKnowledge
from ...targets.messages import (
    RELEASED_GRAPH,
    TRANSFORMATION,
    Carries,
    Carrying,
    kinds_of,
)
from ...targets.transcript import View, observer_members
from ..attack import Attack
from .adaptive import adaptive_knowledge

if TYPE_CHECKING:
    from torch import Tensor

TOLD = (
    Carrying.any_of(Carries.CONDENSED, to="server"),
    Carrying.any_of(Carries.CONDENSED, to="client"),
    Carrying.any_of(Carries.ROWS),
)
"""What clients tell others of rows of theirs."""

AT_ONCE = 2**26
"""Pairs that are compared at a time: 256 MiB."""


class NearestSettings(Settings):
    """Settings of `Nearest`."""

    compare: Literal["rows", "changes"] = Field(
        "rows",
        description="with released rows, or with how the last release's rows moved since the first one's: what "
        "was copied at first cancels, what matching adds is left",
    )


class Nearest(Attack[NodeKnowledge]):
    """Largest cosine similarity of a node's features to a released row; no model at all.

    Condensation that starts from real rows publishes them slightly moved. Where the view holds a client's
    encoder and the adversary adapts to the defense, features are transformed by it first. Where clients tell the
    server or each other of condensed graphs of their own, or hand the server rows to start from, who sees these
    compares with their rows too.
    """

    name = "nearest"
    cheap = (RELEASED_GRAPH,)
    any_of: ClassVar[tuple[Carrying, ...]] = (Carrying.any_of(Carries.CONDENSED, Carries.ROWS),)
    uses: ClassVar[tuple[Carrying, ...]] = (TRANSFORMATION,)
    Settings = NearestSettings
    settings: NearestSettings

    def score(self, view: View, knowledge: NodeKnowledge) -> Tensor:
        x = adaptive_knowledge(view, knowledge).x
        rows = _changes(view, x.shape[1]) if self.settings.compare == "changes" else _rows(view, x.shape[1])
        return largest_cosine(x[knowledge.subjects], rows)

    def blind_score(self, knowledge: NodeKnowledge) -> Tensor:
        """Rows of the shadow data in place of released ones, as many as a half of the members."""
        import torch

        if not len(knowledge.shadow):
            return torch.zeros(len(knowledge.subjects), device=knowledge.x.device)
        return largest_cosine(knowledge.x[knowledge.subjects], knowledge.x[own_in_their_place(knowledge)])


def own_in_their_place(knowledge: NodeKnowledge) -> Tensor:
    """Shadow nodes in place of those that a release tells of: as many as a half of the members, at random."""
    import torch

    size = max(knowledge.members // 2, 1)
    return knowledge.shadow[torch.randperm(len(knowledge.shadow), device=knowledge.x.device)[:size]]


def _rows(view: View, features: int) -> Tensor:
    """All rows that others let out in a view; of a graph that is released again and again the last ones."""
    import torch

    own = observer_members(view.observer)
    others = [m for m in view.messages if m.tensors and m.kind in kinds_of(TOLD) and m.sender not in own]
    seen = [*view.carrying(RELEASED_GRAPH)[-1:], *others]
    if not seen:
        raise InputError(f"the observer '{view.observer}' sees no condensed nodes but its own: choose another one")
    return torch.cat([rows_of(message, features) for message in seen])


def _changes(view: View, features: int) -> Tensor:
    releases = view.carrying(RELEASED_GRAPH)
    if len(releases) < 2:
        raise InputError(f"changes need two releases, the observer '{view.observer}' sees {len(releases)}")
    first, last = (rows_of(message, features) for message in (releases[0], releases[-1]))
    if first.shape != last.shape:
        raise InputError(f"releases of {len(first)} and {len(last)} rows cannot be compared: expected equal sizes")
    return last - first


def largest_cosine(rows: Tensor, others: Tensor) -> Tensor:
    """For each of ``rows`` [s, d] its largest cosine similarity to any of ``others`` [n', d]."""
    import torch
    from torch.nn import functional as F

    directions = F.normalize(_near_one(others), dim=1).t()
    some = max(AT_ONCE // max(len(others), 1), 1)
    return torch.cat([(F.normalize(_near_one(r), dim=1) @ directions).max(1).values for r in rows.split(some)])


def _near_one(rows: Tensor) -> Tensor:
    """Rows times a power of two each, which changes no cosine: squares of huge or tiny values would be lost."""
    import torch

    return torch.ldexp(rows, -torch.frexp(rows.abs().amax(1, keepdim=True)).exponent)
