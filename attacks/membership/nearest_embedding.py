"""Membership by likeness where only embeddings are told: of condensed nodes, or norms and means of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, model_validator

from ...errors import InputError
from ...settings import Settings
from ...targets.games.membership import NodeKnowledge
from ...targets.messages import EMBEDDINGS_KIND, GLOBAL_KIND, STATISTICS_KIND, Carries, Carrying, kinds_of
from ...targets.models.propagation import gcn_operator
from ...targets.transcript import Message, View, observer_members
from ..attack import Attack
from .nearest import largest_cosine, own_in_their_place

if TYPE_CHECKING:
    from torch import Tensor

What = Literal["nodes", "prototypes", "norms"]
CONTENT: dict[What, tuple[str, str]] = {
    "nodes": (EMBEDDINGS_KIND, "embeddings"),
    "prototypes": (STATISTICS_KIND, "prototype"),
    "norms": (STATISTICS_KIND, "norms"),
}


class NearestEmbeddingSettings(Settings):
    """Settings of `NearestEmbedding`."""

    compare: What = Field("nodes", description="with chosen nodes' embeddings, clients' means, or their norms")
    differences: bool = Field(
        False,
        description="compare how embeddings moved from round to round: what stays the same cancels "
        "(nodes and prototypes only)",
    )

    @model_validator(mode="after")
    def _norms_have_no_direction(self) -> NearestEmbeddingSettings:
        if self.differences and self.compare == "norms":
            raise ValueError("norms have no direction: differences need nodes or prototypes")
        return self


class NearestEmbedding(Attack[NodeKnowledge]):
    """Likeness of a node's own embedding to what clients tell of theirs, mean over rounds.

    Who takes part knows the common weights of every round, so it embeds any node that it knows as clients embed
    theirs (hidden layer before its activation) and compares: largest cosine, or least distance of norms. In FedC4
    (Yan et al. 2025) embeddings are said to be safe because nodes are condensed.
    """

    name = "nearest-embedding"
    observer = "client:0"
    needs: ClassVar[tuple[Carrying, ...]] = (Carrying.any_of(Carries.CLASSIFIER, to="clients"),)
    any_of: ClassVar[tuple[Carrying, ...]] = (Carrying.any_of(Carries.EMBEDDINGS, to="client"),)
    Settings = NearestEmbeddingSettings
    settings: NearestEmbeddingSettings

    def reads(self) -> tuple[str, ...]:
        return *kinds_of(self.needs), CONTENT[self.settings.compare][0]

    def score(self, view: View, knowledge: NodeKnowledge) -> Tensor:
        import torch

        rows = _aggregated(knowledge)[knowledge.subjects]
        before: tuple[Tensor, dict[str, Tensor]] | None = None
        total, rounds = torch.zeros(len(rows), device=rows.device), 0
        for weights, sent in _rounds(view, self.settings.compare):
            own, told = now = self._seen(rows, weights, sent)
            if not self.settings.differences:
                total, rounds = total + self._alike(own, list(told.values())), rounds + 1
            elif before is not None:
                if own.shape != before[0].shape:
                    raise InputError(f"'{GLOBAL_KIND}' changes its width between rounds: embeddings have no change")
                moved = [value - before[1][name] for name, value in told.items() if name in before[1]]
                if moved:
                    total, rounds = total + self._alike(own - before[0], moved), rounds + 1
            before = now
        if not rounds:
            rounds_needed = "two rounds" if self.settings.differences else "any round"
            raise InputError(f"the observer '{view.observer}' sees no others' embeddings in {rounds_needed}")
        return total / rounds

    def _seen(
        self, rows: Tensor, weights: Mapping[str, Tensor], sent: dict[str, Tensor]
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """What a round's weights make of each node, [s, h], and what was told of embeddings under them."""
        first, shift = _first_layer(weights, rows.shape[1])
        own, shift = rows @ first.to(rows), shift.to(rows)
        if self.settings.compare == "norms":
            return own + shift, sent
        _same_width(sent, len(shift))  # the shift is known, and the same for all: what is left is the node's
        return own, {name: value.to(rows) - shift for name, value in sent.items()}

    def _alike(self, own: Tensor, told: list[Tensor]) -> Tensor:
        import torch

        if self.settings.compare == "norms":
            norms = torch.cat(told).to(own)
            nearest: Tensor = (own.norm(dim=1)[:, None] - norms[None]).abs().min(1).values
            return -nearest
        return largest_cosine(own, torch.stack(told).to(own))

    def blind_score(self, knowledge: NodeKnowledge) -> Tensor:
        """Likeness of aggregated features to those of the adversary's own nodes: no weights, no embeddings."""
        import torch

        if not len(knowledge.shadow):
            return torch.zeros(len(knowledge.subjects), device=knowledge.x.device)
        rows, drawn = _aggregated(knowledge), own_in_their_place(knowledge)
        told = [rows[drawn].norm(dim=1)] if self.settings.compare == "norms" else list(rows[drawn])
        return self._alike(rows[knowledge.subjects], told)


def _aggregated(knowledge: NodeKnowledge) -> Tensor:
    """What a first layer reads of each node that is known, [n, d]."""
    return gcn_operator(knowledge.edges, len(knowledge.x)) @ knowledge.x


def _first_layer(weights: Mapping[str, Tensor], features: int) -> tuple[Tensor, Tensor]:
    """Its matrix [d, h] and shift [h].

    Raises:
        InputError: there are none, or they fit neither the nodes nor each other.
    """
    matrix, shift = weights.get("w1"), weights.get("b1")
    if matrix is None or shift is None or matrix.dim() != 2 or shift.shape != matrix.shape[1:]:
        raise InputError(f"the message '{GLOBAL_KIND}' must hold a first layer: 'w1' [d, h] and 'b1' [h]")
    if len(matrix) != features:
        raise InputError(f"the model reads {len(matrix)} features, nodes have {features}")
    return matrix, shift


def _same_width(told: Mapping[str, Tensor], width: int) -> None:
    """Raises InputError unless embeddings are as long as the model's are."""
    for name, value in told.items():
        if len(value) != width:
            raise InputError(f"embeddings of '{name}' have length {len(value)}, the model's {width}")


def _rounds(view: View, what: What) -> Iterator[tuple[Mapping[str, Tensor], dict[str, Tensor]]]:
    """Of each round the common weights, and what others told in it, by who and which node."""
    (kind, name), own = CONTENT[what], observer_members(view.observer)
    weights = {m.round: m.tensors for m in view.of_kind(GLOBAL_KIND)}
    by_round: dict[int, dict[str, Tensor]] = {}
    for message in view.of_kind(kind):
        if message.sender not in own and message.round in weights:
            by_round.setdefault(message.round, {}).update(_named(message, name))
    for round_ in sorted(r for r, told in by_round.items() if told):
        yield weights[round_], by_round[round_]


def _named(message: Message, name: str) -> dict[str, Tensor]:
    import torch

    value = message.tensors.get(name)
    nodes = message.tensors.get("nodes")
    if value is None or not bool(torch.isfinite(value).all()):
        raise InputError(f"the message '{message.kind}' of '{message.sender}' must hold finite '{name}'")
    if name == "embeddings":
        if nodes is None or value.dim() != 2 or nodes.shape != value.shape[:1]:
            raise InputError(f"'{message.kind}' must hold embeddings [k, h] and nodes [k]")
        return {f"{message.sender}/{i}": row for i, row in zip(nodes.tolist(), value, strict=True)}
    if value.dim() != 1 or not len(value):
        raise InputError(
            f"'{message.kind}' must hold '{name}' as a vector of some length, got {tuple(value.shape)}"
        )
    return {message.sender: value}
