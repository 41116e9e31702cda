"""Who holds whom, by condensed rows, by what is embedded of them, or by what training on them spans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from ...errors import InputError
from ...targets.condensation.condensed import rows_of
from ...targets.games.ownership import OwnershipKnowledge
from ...targets.messages import STATISTICS_KIND, Carries, Carrying
from ...targets.models.propagation import gcn_operator
from ...targets.transcript import Message, View, observer_members
from .first_layer import COMMON, CUT, UPDATES, Change, changes_of, side_by_side, summed_changes, uploads_are_read
from .ownership_attack import OwnershipAttack, less_others
from .row_spans import share_within, span_of

if TYPE_CHECKING:
    from torch import Tensor

ROWS = (Carrying.any_of(Carries.CONDENSED, to="client"), Carrying.any_of(Carries.CONDENSED, to="server"))
RAW = Carrying.any_of(Carries.ROWS, to="client")
EMBEDDINGS = Carrying.any_of(Carries.EMBEDDINGS, to="client")


class CondensedOwnership(OwnershipAttack):
    """Likeness of each node's aggregated row to the condensed rows of a client, less that to the others'.

    Condensing matches gradients, in which a client's rows appear aggregated with their neighbours': (S X)^T M. What
    is left of them in condensed rows is that, around what all rows have in common. So candidates are aggregated
    along the public graph, both sides are centred, and the score is the largest cosine (own derivation).

    Who is told real rows (BNS-GCN) compares rows as they are: whoever was sent is named, with the sender.

    Who is not told rows, but embeddings of condensed nodes under common weights round after round, solves
    [E_t - b] = Z [W_t] for the rows Z by least squares: exactly, once rounds times width reach the number of
    features. A server that sees updates alone reads what they span: of a client that trains on its own condensed
    rows it is just these, whatever is said of not sending any; the score is the share of the aggregated row within.
    Where updates are sealed the same is read of their sum, which tells whether a node is anywhere, and not where.

    Of a client that nobody heard of, nothing is known: its nodes are scored as the average of all.
    """

    name = "condensed-ownership"
    observer = "client:0"
    any_of: ClassVar[tuple[Carrying, ...]] = (*ROWS, RAW, EMBEDDINGS, UPDATES, COMMON)
    first_rounds = 50

    def reads(self) -> tuple[str, ...]:
        """All but norms and means of embeddings, which no row can be solved from: who sent them was not heard."""
        return tuple(kind for kind in self.kinds() if kind != STATISTICS_KIND)

    def score(self, view: View, knowledge: OwnershipKnowledge) -> Tensor:
        import torch

        x, own = knowledge.x, observer_members(view.observer)
        names = [f"client:{number}" for number in knowledge.clients.tolist()]
        told = {name: rows_told(view, name, x.shape[1]) for name in names if name not in own}
        rows = {name: found for name, found in told.items() if len(found)}
        aggregated = gcn_operator(knowledge.edges, len(x)) @ x
        raw = {name: found for name in names if name not in own and len(found := raw_rows(view, name, x.shape[1]))}
        if raw:
            heard, scores = list(raw), torch.stack([_likest(x, found) for found in raw.values()], 1)
        elif rows:
            heard, scores = list(rows), likeness(aggregated, rows)
        elif uploads_are_read(view):
            heard = [name for name in names if name not in own]
            changes = [changes_of(view, name, x.shape[1]) for name in heard]
            scores = torch.stack([_within(aggregated, told) for told in changes], 1)
        else:
            return _within(aggregated, summed_changes(view, x.shape[1]))[knowledge.nodes_and_clients[0]]
        against = less_others(scores)
        every = against.mean().repeat(len(x), len(names))
        every[:, [names.index(name) for name in heard]] = against
        return every[knowledge.nodes_and_clients]


def likeness(x: Tensor, rows: Mapping[str, Tensor]) -> Tensor:
    """The largest cosine of each centred row [n, d] to a client's, [n, clients]; these are centred together."""
    import torch
    from torch.nn import functional as F

    centre = torch.cat(list(rows.values())).mean(0)
    unit = F.normalize(x - x.mean(0), dim=1)
    found = [(unit @ F.normalize(own - centre, dim=1).t()).max(1).values for own in rows.values()]
    return torch.stack(found, 1).double()


def raw_rows(view: View, sender: str, features: int) -> Tensor:
    """Real rows that a client sent to another as they are, [k, d]; none, k is 0."""
    import torch

    sent = [rows_of(message, features) for message in view.carrying(RAW) if message.sender == sender]
    return torch.cat(sent).unique(dim=0) if sent else torch.empty(0, features)


def _likest(x: Tensor, rows: Tensor) -> Tensor:
    """The largest cosine of each row [n, d] to any of ``rows``, [n]; neither is centred, so that copies have 1."""
    from torch.nn import functional as F

    return (F.normalize(x, dim=1) @ F.normalize(rows, dim=1).t()).max(1).values.double()


def rows_told(view: View, sender: str, features: int) -> Tensor:
    """Condensed rows of a client as it sent them, else as its embeddings give them away, [k, d]; none, k is 0.

    Raises:
        InputError: what it sent is misshapen.
    """
    import torch

    sent = [m for sort in ROWS for m in view.carrying(sort) if m.sender == sender]
    if sent:
        return torch.cat([rows_of(message, features) for message in sent])
    return solved_rows(view, sender, features)


def solved_rows(view: View, sender: str, features: int) -> Tensor:
    """The rows Z [k, d] of which a client sent embeddings E_t = Z W_t + b_t under the common weights of each round.

    Least squares of least length, over all rounds in which a node was embedded.

    Raises:
        InputError: embeddings are misshapen, or the common weights of their round are not there.
    """
    import torch
    from torch import Tensor

    common = {m.round: m.tensors for m in view.carrying(COMMON) if {"w1", "b1"} <= set(m.tensors)}
    told = dict[int, dict[int, Tensor]]()
    for message in view.carrying(EMBEDDINGS):
        if message.sender == sender and {"nodes", "embeddings"} <= set(message.tensors):
            rows = _less_offset(message, common, features)
            for node, row in zip(message.tensors["nodes"].tolist(), rows, strict=True):
                told.setdefault(node, {})[message.round] = row
    found = []
    for rounds in dict.fromkeys(tuple(by_round) for by_round in told.values()):
        weights = torch.cat([common[round_]["w1"].double() for round_ in rounds], 1)
        inverse = torch.linalg.pinv(weights @ weights.t(), rtol=CUT**2, hermitian=True)
        seen = [torch.cat(list(by_round.values())) for by_round in told.values() if tuple(by_round) == rounds]
        found.append(torch.stack(seen) @ weights.t() @ inverse)
    return torch.cat(found).float() if found else torch.empty(0, features)


def _less_offset(message: Message, common: Mapping[int, Mapping[str, Tensor]], features: int) -> Tensor:
    """Embeddings of a message less the bias of the common weights of its round, [k, h]."""
    import torch

    weights, rows = common.get(message.round), message.tensors["embeddings"]
    called = f"'{message.kind}' of {message.sender} in round {message.round}"
    if weights is None or weights["w1"].dim() != 2 or weights["w1"].shape[0] != features:
        raise InputError(f"{called} cannot be read: the common weights of that round are not there")
    shape = len(message.tensors["nodes"]), weights["w1"].shape[1]
    if rows.shape != shape or not bool(torch.isfinite(rows).all()):
        raise InputError(f"{called} must hold finite embeddings {list(shape)}, one for each of its nodes")
    return rows.double() - weights["b1"].double()


def _within(rows: Tensor, changes: Sequence[Change]) -> Tensor:
    """The share of each row [n, d] that lies in the span of some updates, [n]."""
    return share_within(rows, span_of(side_by_side(changes), CUT))
