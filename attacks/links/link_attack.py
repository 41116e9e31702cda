"""What attacks on links share: they go from client to client and score the pairs that are in question there."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from ...graphs.pair_codes import ends
from ...targets.games.links import EdgePresence, LinkKnowledge
from ...targets.transcript import Message, View
from ..attack import Attack

CACHED = 1 << 19
"""Numbers that a processor's cache holds: reading more at once from many rows takes three times as long."""


@dataclass(frozen=True, eq=False)
class Part:
    """One client's part of the graph as the adversary knows it: everything but the links.

    Attributes:
        client: its number.
        nodes: the adversary's ids of its nodes, ascending [n]; positions here are local ids.
        x: features [n, d].
        labels: classes [n], -1 where it does not know them.
        pairs: local ids of the pairs in question, the smaller first, [s, 2].
        edges: how many edges there are within it.
        known: edges that the adversary knows, local ids, each once [2, p].
        known_not: pairs that it knows to be no edges [2, q].
        classes: C of the whole task.
    """

    client: int
    nodes: Tensor
    x: Tensor
    labels: Tensor
    pairs: Tensor
    edges: int
    known: Tensor
    known_not: Tensor
    classes: int

    @property
    def sender(self) -> str:
        return f"client:{self.client}"


class LinkAttack(Attack[LinkKnowledge]):
    """Base of attacks on links. A subclass writes `score_part`, and `blind_part`: the same without the release.

    One that needs to know some links sets ``knows_links``, the share of the edges; it then also knows as many pairs
    that are no edges, and none of these is in question.
    """

    games = (EdgePresence.name,)
    observer: ClassVar[str] = "server"
    planted: ClassVar[str] = "planted-links"

    def score(self, view: View, knowledge: LinkKnowledge) -> Tensor:
        return self._by_part(knowledge, lambda part: self.score_part(view, part, knowledge))

    def blind_score(self, knowledge: LinkKnowledge) -> Tensor:
        return self._by_part(knowledge, lambda part: self.blind_part(part, knowledge))

    @abstractmethod
    def score_part(self, view: View, part: Part, knowledge: LinkKnowledge) -> Tensor:
        """One score per pair in question of one client, [s]; those of all clients stand in one ranking."""

    @abstractmethod
    def blind_part(self, part: Part, knowledge: LinkKnowledge) -> Tensor:
        """One score per pair from prior knowledge alone, [s]."""

    def _by_part(self, knowledge: LinkKnowledge, score: Callable[[Part], Tensor]) -> Tensor:
        found = torch.zeros(len(knowledge.subjects), dtype=torch.double, device=knowledge.x.device)
        for places, part in parts_of(knowledge):
            found[places] = score(part).to(found)
        return found


def parts_of(knowledge: LinkKnowledge) -> list[tuple[Tensor, Part]]:
    """Each client with a pair in question, after the places of its pairs among the subjects."""
    links = knowledge.links
    low, high = (torch.as_tensor(part) for part in ends(knowledge.subjects.cpu().numpy(), len(knowledge.x)))
    owner, local = links.owner.cpu(), torch.empty(len(knowledge.x), dtype=torch.long)
    parts = []
    for client in owner[low].unique().tolist():
        nodes = (owner == client).nonzero().flatten()
        local[nodes] = torch.arange(len(nodes))
        places = (owner[low] == client).nonzero().flatten()
        part = Part(
            client=client,
            nodes=nodes,
            x=knowledge.x[nodes.to(knowledge.x.device)],
            labels=knowledge.labels[nodes.to(knowledge.x.device)],
            pairs=torch.stack([local[low[places]], local[high[places]]], 1).to(knowledge.x.device),
            edges=int(links.counts[client]),
            known=_inside(links.known.cpu(), owner == client, local),
            known_not=_inside(links.known_not.cpu(), owner == client, local),
            classes=knowledge.classes,
        )
        parts.append((places, part))
    return parts


def _inside(pairs: Tensor, own: Tensor, local: Tensor) -> Tensor:
    """Those of some pairs [2, p] that lie within one client, in its local ids."""
    return local[pairs[:, own[pairs[0]]]]


def cosine_of_pairs(rows: Tensor, pairs: Tensor, others: Tensor | None = None, at_once: int = CACHED) -> Tensor:
    """Cosine of two rows for each pair [s, 2], a few at a time; 0 where a row is zero.

    The second of a pair has a row of ``others``, where these are given. ``at_once`` numbers are read at a time.
    """
    unit = unit_rows(rows)
    second = unit if others is None else unit_rows(others)
    few = max(at_once // max(rows.shape[1], 1), 1)
    found = [(unit[p[:, 0]] * second[p[:, 1]]).sum(1) for p in pairs.split(few)]
    return torch.cat(found or [rows.new_zeros(0)])


def unit_rows(rows: Tensor) -> Tensor:
    """Rows of length 1; those of zeros stay."""
    unit: Tensor = rows / rows.norm(dim=1, keepdim=True).clamp_min(torch.finfo(rows.dtype).tiny)
    return unit


def of_client(view: View, kind: str, part: Part) -> tuple[Message, ...]:
    """A client's own messages of one kind, in order."""
    return tuple(m for m in view.of_kind(kind) if m.sender == part.sender)
