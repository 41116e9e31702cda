"""Tables of what was told of each person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import InputError
from ...targets.transcript import Message

if TYPE_CHECKING:
    from torch import Tensor


def rows_of_people(message: Message, name: str, people: int, width: int | None = None) -> Tensor:
    """A message's tensor [s, c] with one row for each of all people, in the order of their ids, on the CPU.

    Args:
        message: that names people in ``nodes``.
        name: of the tensor.
        people: n.
        width: c, where it is known beforehand.

    Raises:
        InputError: it lacks somebody, or is malformed.
    """
    import torch

    nodes, rows = message.tensors.get("nodes"), message.tensors.get(name)
    if nodes is None or rows is None or rows.dim() != 2 or width not in (None, rows.shape[1]):
        raise InputError(f"a message '{message.kind}' must hold nodes [s] and {name} [s, {width or 'c'}]")
    if len(rows) != people or not torch.equal(nodes.cpu().sort().values, torch.arange(people)):
        raise InputError(
            f"the message '{message.kind}' must hold one row for each of {people} people, got {len(rows)} rows"
        )
    if not bool(torch.isfinite(rows).all()):
        raise InputError(f"the message '{message.kind}' holds {name} that are not finite")
    return rows[nodes.argsort()].float().cpu()
