"""What kind of people a client has, by updates of clients of one's own with and without (as Melis et al. 2019)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...errors import InputError
from ...settings import Settings
from ...targets.games.group_density import GroupDensity
from ...targets.games.group_property import GroupProperty, PlayingKnowledge
from ...targets.messages import Carrying, kind_of
from ...targets.mixing import PEERS, with_starts
from ...targets.transcript import Message, View
from ..attack import Attack
from .first_layer import COMMON, GRADIENTS, UPDATES, USED, is_heard, is_start, is_update

if TYPE_CHECKING:
    from torch import Tensor

    from .shadow_clients import Panel


class PropertyShadowsSettings(Settings):
    """Settings of `PropertyShadows`."""

    shadows: int = Field(100, ge=4, description="clients of its own for each set of weights that was begun with")
    rounds: int = Field(1, ge=1, description="how many of a client's first updates are read")
    local_epochs: int = Field(10, ge=1, description="steps that a client takes in a round; no matter of gradients")
    optimiser: Literal["adam", "sgd"] = Field("adam", description="that clients take their steps with")
    lr: float | None = Field(None, gt=0, description="its rate; the recipe's where it is None")


class PropertyShadows(Attack[PlayingKnowledge]):
    """Trains clients of its own from the weights that the clients began with, half of them with the property.

    A part of the graph that is as large as a client's, with labels that nobody trains on, of which the class makes
    up one of the two shares: that is a client with many labels, or with few. Where links are in question, one of
    the two shares of a part's links is left. It takes the same local steps from the weights of the round. What its
    weights changed by tells a linear classifier (ridge regression, the penalty by leave-one-out) which of the two
    it is, and that judges what the real clients sent. The score is the classifier's value, the mean over the rounds
    that are read. Clients that the observer does not hear have the mean of the others.

    Parts of a model that stay at home are first weights, drawn anew. What they are turns hidden units about, in
    sign too, so that what is compared then is what no turn of them changes: how far the weights of each feature
    moved, and the products of what became of the mean features of the classes (own derivation).

    Adapted from passive property inference (Melis et al., IEEE S&P 2019), which takes updates from batches with and
    without a property that has nothing to do with the task. Here the property is the share of a class of the task,
    which is easier to read, and each client of one's own is a whole part, for all of its labels are in one step.
    Each named tensor of a change is scaled to length 1: after one plain step its rate does not matter.

    The blind score is how common the class is in the whole graph, and nothing where links are in question.
    """

    name = "property-shadows"
    games: ClassVar[tuple[str, ...]] = (GroupProperty.name, GroupDensity.name)
    needs: ClassVar[tuple[Carrying, ...]] = (COMMON,)
    any_of: ClassVar[tuple[Carrying, ...]] = (UPDATES, GRADIENTS, PEERS)
    uses: ClassVar[tuple[Carrying, ...]] = USED
    observer = "server"
    own_data = True
    planted = "planted-property"
    Settings = PropertyShadowsSettings
    settings: PropertyShadowsSettings

    @property
    def models(self) -> int:
        return self.settings.shadows * self.settings.rounds

    def trains_alike(self, view: View, knowledge: PlayingKnowledge) -> bool:
        return knowledge.recipe is not None

    def score(self, view: View, knowledge: PlayingKnowledge) -> Tensor:
        import torch

        from .shadow_clients import LocalSteps, Panel

        clients = knowledge.numbers
        numbers = clients.unique().tolist()
        heard = [number for number in numbers if _hears(view, f"client:{number}")] or numbers
        s = self.settings
        panel = Panel.of(knowledge, s.shadows, LocalSteps(s.local_epochs, s.optimiser, s.lr))
        messages = with_starts(view)
        told = {number: self._told(messages, f"client:{number}", panel) for number in heard}
        mean = sum(told.values()) / len(told)
        return torch.tensor([told.get(number, mean) for number in clients.tolist()], dtype=torch.float64)

    def blind_score(self, knowledge: PlayingKnowledge) -> Tensor:
        return knowledge.prior()

    def _told(self, messages: tuple[Message, ...], name: str, panel: Panel) -> float:
        """What the classifier says of one client, the mean over the rounds that are read."""
        begun, found = dict[str, Message](), list[float]()
        for message in messages:
            if is_start(message, name) and message.tensors:
                begun[message.kind] = message
            elif _is_sent(message, name) and len(found) < self.settings.rounds:
                found.append(panel.judged(message, _start_of(message, begun)))
        if not found:
            raise InputError(f"the observer reads no update of {name}")
        return float(np.mean(found))


def _is_sent(message: Message, name: str) -> bool:
    """Whether a message holds what one client's training made of its weights, or a gradient."""
    return (
        message.sender == name and bool(message.tensors) and (is_update(message) or GRADIENTS.covers(message.kind))
    )


def _hears(view: View, name: str) -> bool:
    return is_heard(view, name) or any(message.sender == name for message in view.carrying(GRADIENTS))


def _start_of(message: Message, begun: dict[str, Message]) -> Message:
    """The weights that an update or a gradient began with."""
    if GRADIENTS.covers(message.kind):
        start = next((m for m in begun.values() if m.round == message.round), None)
    else:
        start = begun.get(str(kind_of(message.kind).since))
    if start is None:
        raise InputError(
            f"the weights that {message.sender} began round {message.round} with are missing: keep them, for an "
            "update says nothing without"
        )
    return start
