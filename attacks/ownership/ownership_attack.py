"""What attacks on ownership share: one score for each node and client, judged against the other clients'."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from ...targets.games.ownership import NodeOwnership, OwnershipKnowledge
from ...targets.messages import Carrying
from ...targets.transcript import View
from ..attack import Attack
from .first_layer import READ, USED, Change, changes_of, is_heard, summed_changes, uploads_are_read

if TYPE_CHECKING:
    from torch import Tensor


class OwnershipAttack(Attack[OwnershipKnowledge]):
    """Base of attacks on who holds whom.

    A node that many rows resemble scores high at every client: what counts is its score at one less the mean of its
    scores at the others (`less_others`).
    """

    games: ClassVar[tuple[str, ...]] = (NodeOwnership.name,)
    observer: ClassVar[str] = "server"
    planted: ClassVar[str] = "planted-ownership"

    def blind_score(self, knowledge: OwnershipKnowledge) -> Tensor:
        """Without what was sent nothing tells one client, or one of its nodes, from another."""
        import torch

        return torch.zeros(len(knowledge.subjects))


class UploadAttack(OwnershipAttack):
    """Base of attacks on who holds whom that read what uploads say of the first layer. A subclass writes `scorer`.

    Where it is known who holds whom, nodes are scored at their own clients alone. Where uploads are sealed, their
    sum is read: it tells whether a node is anywhere, and not where, so that a node's scores are the same at all
    clients. Clients whose uploads the observer does not get have the mean score of those that it hears.

    Attributes:
        as_sent: whether changes are read with what other clients' updates added to them (`changes_of`).
    """

    any_of: ClassVar[tuple[Carrying, ...]] = READ
    uses: ClassVar[tuple[Carrying, ...]] = USED
    as_sent: ClassVar[bool] = False
    first_rounds = 50

    def score(self, view: View, knowledge: OwnershipKnowledge) -> Tensor:
        import torch

        x, holders, numbers = knowledge.x, knowledge.holders, knowledge.clients.tolist()
        if not uploads_are_read(view):
            held = x if holders is None else torch.where((holders >= 0)[:, None], x, 0.0)
            scores = self.scorer(held, knowledge)(summed_changes(view, x.shape[1]))
            return scores[knowledge.nodes_and_clients[0]]
        heard = [number for number in numbers if is_heard(view, f"client:{number}")]
        senders = [f"client:{number}" for number in heard]
        told = [changes_of(view, sender, x.shape[1], estimate=True, as_sent=self.as_sent) for sender in senders]
        if holders is None:
            scorer = self.scorer(x, knowledge)
            found = less_others(torch.stack([scorer(changes) for changes in told], 1))
        else:
            own = [torch.where((holders == number)[:, None], x, 0.0) for number in heard]
            found = torch.stack([self.scorer(rows, knowledge)(c) for rows, c in zip(own, told, strict=True)], 1)
        scores = found.mean(1, keepdim=True).repeat(1, len(numbers))
        scores[:, [numbers.index(number) for number in heard]] = found
        return scores[knowledge.nodes_and_clients]

    @abstractmethod
    def scorer(self, x: Tensor, knowledge: OwnershipKnowledge) -> Callable[[list[Change]], Tensor]:
        """What makes scores [n] of a client's changes: how much each node looks as if the client held it.

        Args:
            x: features of nodes that a client may hold, zero of those that it does not, [n, d].
            knowledge: all that is known.
        """


def less_others(scores: Tensor) -> Tensor:
    """Scores [n, K] of nodes at clients, each less the mean of the node's scores at the others."""
    others = max(scores.shape[1] - 1, 1)
    return scores - (scores.sum(1, keepdim=True) - scores) / others
