"""Which classes a client has labels of, by what it says of its classes, or by its update."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from ...errors import InputError
from ...settings import Settings
from ...targets.games.class_presence import ClassKnowledge, ClassPresence
from ...targets.games.group_property import GroupProperty
from ...targets.messages import Carries, Carrying, kind_of
from ...targets.mixing import PEERS, with_starts
from ...targets.transcript import Message, View
from ..attack import Attack
from .first_layer import COMMON, UPDATES, USED, is_heard, is_start, is_update

if TYPE_CHECKING:
    from torch import Tensor

SHARES = Carrying.any_of(Carries.CLASS_SHARES, to="server")
FUNCTION = Carrying.any_of(Carries.FUNCTION, to="server")
LAST = {"w": "b", "w2": "b2"}
"""What the weights of the last layer are called, [h, C], and its bias, [C]: of whole graphs, whose `w2` is another
layer, and of nodes."""


class ClassSharesSettings(Settings):
    """Settings of `ClassShares`."""

    read: Literal["auto", "shares", "function", "updates", "bias"] = Field(
        "auto", description="what is read; auto: the first of these that the observer sees, but for the bias"
    )
    rounds: int = Field(1, ge=1, description="how many of a client's first updates are read")


class ClassShares(Attack[ClassKnowledge]):
    """What a client's own messages say of each class: a share, a mean answer, or a weight that rises.

    Three readings, nothing is trained (own derivation).

    - ``shares``: a message that holds a number for each class. FedTAD's reliability is zero for exactly the classes
      that a client has no label of. FedGTA's first raw moment is the predicted share of the class, of which the
      mean over rounds is taken.
    - ``function``: Fed-PUB's mean output about a random graph, less the mean over clients.
    - ``updates``: hidden rows are never negative, so that the gradient of cross-entropy by the last layer's weights
      of a class without a label is not negative either: no weight of the class rises. The score is the largest rise
      of a weight of the class in the first update, as a share of the largest change in it; of several updates, the
      mean. Of several models in one update, among which each node's loss is shared out, it is the largest rise in
      any. Later, decay of weights, momentum and what SCAFFOLD and FedDC add of the others' updates move what no
      gradient does. A client whose updates the observer does not get has the mean of those that it hears.

    - ``bias``: the same of the last layer's bias alone, which a unit that is always one would have as its weights.
      After one plain step by all labels it changed by the rate times the class's share of labels less the mean
      answer, so that it orders classes by what the client has of them.

    The blind score is how common the class is in the whole graph.
    """

    name = "class-shares"
    games: ClassVar[tuple[str, ...]] = (GroupProperty.name, ClassPresence.name)
    any_of: ClassVar[tuple[Carrying, ...]] = (SHARES, FUNCTION, UPDATES, PEERS)
    uses: ClassVar[tuple[Carrying, ...]] = (COMMON, *USED)
    observer = "server"
    planted = "planted-classes"
    Settings = ClassSharesSettings
    settings: ClassSharesSettings

    def score(self, view: View, knowledge: ClassKnowledge) -> Tensor:
        import torch

        clients, classes = knowledge.clients_and_classes
        numbers = clients.unique()
        table = self._table(view, numbers.tolist(), knowledge.classes)
        return table[torch.searchsorted(numbers, clients), classes]

    def blind_score(self, knowledge: ClassKnowledge) -> Tensor:
        return knowledge.shares[knowledge.clients_and_classes[1]]

    def _table(self, view: View, clients: list[int], classes: int) -> Tensor:
        """A score for each client and class, [K, C]."""
        import torch

        read = self.settings.read
        if read == "shares" or (read == "auto" and view.carrying(SHARES)):
            return _means([_sent(view, SHARES, client) for client in clients], classes, "shares", "raw")
        if read == "function" or (read == "auto" and _of_classes(view.carrying(FUNCTION), classes)):
            told = _means([_sent(view, FUNCTION, client) for client in clients], classes, "mean")
            return told - told.mean(0)
        heard = [client for client in clients if is_heard(view, f"client:{client}")] or clients
        rises = torch.stack([_rise(view, client, classes, self.settings) for client in heard])
        table = rises.mean(0).repeat(len(clients), 1)
        table[[clients.index(client) for client in heard]] = rises
        return table


def _sent(view: View, wanted: Carrying, client: int) -> list[Message]:
    found = [message for message in view.carrying(wanted) if message.sender == f"client:{client}"]
    if not found:
        raise InputError(f"client:{client} sent no message of this sort: {wanted}")
    return found


def _of_classes(messages: tuple[Message, ...], classes: int) -> bool:
    return any(message.tensors["mean"].shape == (classes,) for message in messages if "mean" in message.tensors)


def _means(sent: list[list[Message]], classes: int, *names: str) -> Tensor:
    """The mean over each client's messages of the first row of numbers by class, [K, C]."""
    import torch

    return torch.stack([torch.stack([_numbers(m, classes, names) for m in own]).mean(0) for own in sent])


def _numbers(message: Message, classes: int, names: tuple[str, ...]) -> Tensor:
    import torch

    found = next((message.tensors[name] for name in names if name in message.tensors), torch.empty(0))
    row = found[0] if found.dim() == 2 and len(found) else found
    if row.shape != (classes,) or not bool(torch.isfinite(row).all()):
        raise InputError(
            f"the '{message.kind}' of {message.sender} holds no finite number for each of {classes} classes"
        )
    return row.double()


def _rise(view: View, client: int, classes: int, settings: ClassSharesSettings) -> Tensor:
    """The largest rise of a weight of each class, the mean over the first updates, [C]."""
    import torch
    from torch import Tensor

    name, begun, found = f"client:{client}", dict[str, Message](), list[Tensor]()
    for message in with_starts(view):
        if is_start(message, name) and message.tensors:
            begun[message.kind] = message
        elif is_update(message) and message.sender == name and message.tensors and len(found) < settings.rounds:
            before = begun.get(str(kind_of(message.kind).since))
            change = _change(message, before, classes, settings.read == "bias")
            found.append(change.max(0).values / change.abs().max().clamp_min(torch.finfo(change.dtype).tiny))
    if not found:
        raise InputError(f"the observer '{view.observer}' reads no update of {name}")
    return torch.stack(found).mean(0)


def _change(message: Message, before: Message | None, classes: int, bias: bool) -> Tensor:
    """How the last layer's weights changed, [h, C], or its bias, [1, C].

    Of several models in one message: their weights one below the other, since none rises in any of them, and the
    sum of their biases, for which a label counts once where the models share the loss of its node.
    """
    import torch

    names = {name: name.rpartition("/")[2] for name in message.tensors}
    last = next((name for name in LAST if name in names.values()), "w2")
    wanted = LAST[last] if bias else last
    every = [name for name, own in names.items() if own == wanted] or [wanted]
    changes = [_moved(message, before, name, classes) for name in every]
    return torch.stack(changes).sum(0) if bias else torch.cat(changes)


def _moved(message: Message, before: Message | None, name: str, classes: int) -> Tensor:
    """How one tensor of a message changed since what its sender began with, [h, C]."""
    import torch

    after, since = message.tensors.get(name), None if before is None else before.tensors.get(name)
    if after is None or since is None or after.shape != since.shape or after.shape[-1] != classes:
        raise InputError(
            f"the '{message.kind}' of {message.sender} in round {message.round} has no '{name}' for {classes} "
            "classes, or the weights that it began with are not there"
        )
    change = (after.double() - since.double()).reshape(-1, classes)
    if not bool(torch.isfinite(change).all()):
        raise InputError(f"the '{message.kind}' of {message.sender} in round {message.round} is not finite")
    return change
