"""What a client's uploads say of its rows: matrices that are linear in them.

A layer that reads rows X [n, d] as X W, before or after it aggregates them, has the gradient X^T B, B [n, h] what
the loss says of each node through the client's edges. Plain gradient steps add such matrices up, at whatever
weights: after any number of them the change of W is X^T B again, B their sum (own derivation). A proximal term
scales B; decay of weights adds a multiple of the weights that the server sent; control variates and the corrections
of FedDC add what it knows.
Adam does not keep it so: what it keeps is where the gradient is exactly zero.

Where uploads are sealed, their sum says the same of all clients' rows together: the step of the common weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from ...errors import InputError
from ...targets.messages import COMMON_UPDATE_KIND, DRIFTED_KIND, KINDS, Carries, Carrying, kind_of
from ...targets.mixing import BEGINNINGS, PEERS, STARTS, with_starts
from ...targets.transcript import Message, View, observer_members
from .row_spans import span_of

if TYPE_CHECKING:
    from torch import Tensor

CONTROLS = Carrying.any_of(Carries.CONTROL, to="server")
UPDATES = Carrying.any_of(Carries.UPDATE, to="server")
GRADIENTS = Carrying.any_of(Carries.GRADIENT, to="server")
UPLOADS = Carrying.any_of(Carries.UPDATE, Carries.GRADIENT, to="server")
SUMS = Carrying.any_of(Carries.TOTAL)
COMMON = Carrying.any_of(Carries.WEIGHTS, to="clients")
"""The weights that updates began with."""
READ = (UPLOADS, PEERS, SUMS, COMMON)
"""What is read of uploads: these, what peers send each other, or sums of uploads."""
USED = (BEGINNINGS,)
"""What is read beside them if it is there: what peers began with follows from it."""
COLUMNS, STEPS, SAME, MOST, LEAST = 320, 60, 1e-6, 0.75, 1e-4
"""Of the search for decay: what it looks at, how long, when it ends, the share of dimensions that may lead, and of
the changes that decay must make up to be looked for."""
ROUNDING = 1e-6
"""What moves by less than this share of itself from one common model to the next was rounded, not moved."""
LEADING, CUT = 1e-3, 1e-5
"""Singular values, as shares of the largest: above the one a dimension is leading, below the other rounding."""


@dataclass(frozen=True, eq=False)
class Change:
    """What one message says of the first layer.

    Attributes:
        round: of the message.
        by: the change of the weights, or the gradient: all that is linear in rows of features side by side,
            float64 [d, m].
        since: the weights that the change began with, likewise; None of a gradient.
    """

    round: int
    by: Tensor
    since: Tensor | None = None


def side_by_side(changes: Sequence[Change]) -> Tensor:
    """What several messages say of the first layer, without what decay of weights added, [d, m]."""
    import torch

    by = torch.cat([change.by for change in changes], 1)
    if any(change.since is None for change in changes):
        return by
    since = torch.cat([change.since for change in changes if change.since is not None], 1)
    return by + lost_to_decay(by, since) * since


def lost_to_decay(by: Tensor, since: Tensor) -> float:
    """The share of the weights that each round's decay took, 1 - (1 - lr decay)^steps, read off the changes.

    A change is X^T B less that share of the weights that it began with. The first part is of low rank, the weights
    need not be: outside of the leading dimensions a change is the share times the weights, by least squares. Taken
    out, it leaves the leading dimensions clearer, and so on (own derivation). It counts only where the rank falls:
    where changes fill all dimensions nothing can be said, and 0 is returned.

    Args:
        by: changes of weights, [d, m].
        since: the weights that they began with, [d, m].
    """
    by, since, share = by[:, :COLUMNS], since[:, :COLUMNS], 0.0
    for _ in range(STEPS):
        left = span_of(by + share * since, LEADING)[:, : round(MOST * min(by.shape))]
        outside, weights = (part - left @ (left.t() @ part) for part in (by, since))
        if not bool(weights.any()):
            return 0.0
        last, share = share, -float((outside * weights).sum() / weights.square().sum())
        if abs(share) * float(since.norm()) <= LEAST * float(by.norm()):
            return 0.0
        if abs(share - last) <= SAME * abs(share):
            break
    before, after = (span_of(part, CUT).shape[1] for part in (by, by + share * since))
    return share if after < before else 0.0


def uploads_are_read(view: View) -> bool:
    """Whether the observer can read an upload that it did not send itself."""
    own = observer_members(view.observer)
    return any(message.sender not in own for message in (*view.carrying(UPLOADS), *view.carrying(PEERS)))


def is_heard(view: View, sender: str) -> bool:
    """Whether the observer can read an upload of one client: a peer hears its neighbours alone."""
    return any(message.sender == sender for message in (*view.carrying(UPLOADS), *view.carrying(PEERS)))


def is_update(message: Message) -> bool:
    """Whether a message holds a client's weights after its local training."""
    return UPDATES.covers(message.kind) or PEERS.covers(message.kind)


def is_start(message: Message, sender: str) -> bool:
    """Whether a message holds weights that a client's update may have begun with."""
    return (COMMON.covers(message.kind) and message.receiver in ("clients", sender)) or (
        STARTS.covers(message.kind) and message.sender == sender
    )


def summed_changes(view: View, features: int) -> list[Change]:
    """What the sums of all clients' uploads say of the first layer, in order.

    A secure sum of gradients is read as it is. The mean of updates is the next common model, which clients see as
    well: the step from one to the next is X^T B for the rows X of all clients. What is within rounding is no step.

    Raises:
        InputError: there are neither sums nor two rounds of common weights, or these are misshapen.
    """
    sums = [_gradient(message, features) for message in view.carrying(SUMS)]
    told = [change for change in sums or _steps(view, features) if change.by.shape[1]]
    if not told:
        raise InputError(
            f"the observer '{view.observer}' reads no uploads of others, no sums of uploads and no two rounds of "
            f"common weights of a layer that reads {features} features"
        )
    return told


def _steps(view: View, features: int) -> Iterator[Change]:
    """How the common weights that updates begin with moved from round to round."""
    begun = {kind.since for kind in KINDS.values() if kind.since is not None}
    common = [m for m in view.carrying(COMMON) if m.kind in begun and m.receiver == "clients"]
    for one, other in pairwise(common):
        if (one.kind, one.round + 1) != (other.kind, other.round):
            continue
        change = _update(other, one, features)
        assert change.since is not None
        moved = change.by.abs() > ROUNDING * change.since.abs()
        yield Change(one.round, change.by * moved, change.since)


def changes_of(
    view: View, sender: str, features: int, estimate: bool = False, as_sent: bool = False
) -> list[Change]:
    """What one client's uploads say of the first layer, in order.

    Of a GraphSAGE there are two such weights, of gradients by class as many for each class: side by side. Where a
    client sends control variates, these are read alone: its updates are corrected by the other clients' too. So are
    those of FedDC. There the correction is undone (`_undone`), and the sum of all updates, which it sends beside
    them, is left out, unless changes are asked for as they were sent.

    Args:
        view: of who received the uploads.
        sender: the client.
        features: d; weights of the first layer have as many rows.
        estimate: whether rounds count too of which it is not known exactly what a peer began with.
        as_sent: whether to leave in what other clients' updates added, and to read sums of updates.

    Raises:
        InputError: no upload of the client has weights of as many rows, weights are not finite, or the common
            weights that an update began with are not there.
    """
    found, before = [], dict[str, Message]()
    told = [message for message in with_starts(view, estimate) if message.tensors]
    readable = [message for message in told if as_sent or message.kind != DRIFTED_KIND]
    corrected = any(message.sender == sender and CONTROLS.covers(message.kind) for message in readable)
    for message in readable:
        if is_start(message, sender):
            before[message.kind] = message
        elif message.sender == sender and GRADIENTS.covers(message.kind):
            found.append(_gradient(message, features))
        elif message.sender == sender and is_update(message) and not corrected:
            found.append(_update(message, before.get(str(kind_of(message.kind).since)), features))
    found = [change for change in found if change.by.shape[1]]
    if not found:
        raise InputError(f"{sender} sent nothing of a layer that reads {features} features")
    common = {} if as_sent else {message.round: message for message in view.of_kind(COMMON_UPDATE_KIND)}
    return list(_undone(found, common, features))


def _undone(changes: Sequence[Change], common: Mapping[int, Message], features: int) -> Iterator[Change]:
    """Changes without what other clients' updates added to them.

    FedDC's clients take their last update less the mean one off the next, so that the others' rows are in it. The
    server sent that mean and has the last update. Its pull to the drift is small and stays.
    """
    last: Change | None = None
    for change in changes:
        mean = common.get(change.round)
        if mean is None or last is None or last.round + 1 != change.round:
            yield change
        else:
            of_all = _weights_of(mean, features)
            if of_all.shape != change.by.shape:
                raise InputError(f"the '{mean.kind}' of round {mean.round} has other weights than the updates")
            yield replace(change, by=change.by + last.by - of_all)
        last = change


def _gradient(message: Message, features: int) -> Change:
    return Change(message.round, _weights_of(message, features))


def _update(message: Message, before: Message | None, features: int) -> Change:
    """What changed since the common weights ``before``, the last ones that went out before the update."""
    import torch

    called = f"the '{message.kind}' of {message.sender} in round {message.round}"
    if before is None:
        raise InputError(f"{called} cannot be read: the common weights that it began with are not there")
    names = [name for name, weight in message.tensors.items() if _reads(weight, features)]
    if any(before.tensors.get(name, torch.empty(0)).shape != message.tensors[name].shape for name in names):
        raise InputError(f"{called} has other weights than the common ones that it began with")
    began = _weights_of(before, features, names)
    return Change(message.round, _weights_of(message, features, names) - began, began)


def _reads(weight: Tensor, features: int) -> bool:
    return weight.dim() == 2 and weight.shape[0] == features and weight.is_floating_point()


def _weights_of(message: Message, features: int, names: list[str] | None = None) -> Tensor:
    """The weights of a message that read features, float64 [d, m]; m is 0 where there are none."""
    import torch

    every = message.tensors
    chosen = [every[name] for name in (every if names is None else names) if _reads(every[name], features)]
    found = torch.cat([weight.double() for weight in chosen], 1) if chosen else torch.empty(features, 0)
    if not bool(torch.isfinite(found).all()):
        raise InputError(f"the message '{message.kind}' of {message.sender} holds numbers that are not finite")
    return found
