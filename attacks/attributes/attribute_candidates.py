"""Attributes from a model's answers: each value is tried, and the one that fits best is taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from ...errors import InputError
from ...graphs.network import Floats
from ...targets.games.attributes import AttributeKnowledge
from ...targets.messages import SUBMITTED, Carries, Carrying, posteriors_kind
from ...targets.models.own_rows import answers_to_own_rows
from ...targets.models.training_config import TrainingConfig, weight_shapes
from ...targets.models.training_task import TrainingTask
from ...targets.transcript import Message, View
from ..membership.victim import check_weights
from .attribute_attack import AttributeAttack, KnownPeople
from .people_rows import rows_of_people

if TYPE_CHECKING:
    from torch import Tensor

MODEL = Carrying.any_of(Carries.WEIGHTS, to="public")
STORED = posteriors_kind("full")
TINY = 1e-6
"""Below the rounding of answers: two distances below it are equal."""


class AttributeCandidates(AttributeAttack):
    """Tries the row of each person without the value and with it, and reads which answer fits.

    - A service that answered about a person from its stored row and answers rows that people submit: the person has
      the value whose answer is nearer to the stored one (own derivation). Two queries a person, nothing trained.
    - A published model is asked by the adversary itself, on the links that it knows; hidden columns of others whose
      attribute it lacks hold the mean of known people. Beside stored answers the nearer value is taken, and without
      any the value that makes the person's known class likelier (Fredrikson, Jha and Ristenpart, CCS 2015, 4).
    """

    name = "attribute-candidates"
    any_of: ClassVar[tuple[Carrying, ...]] = (SUBMITTED, MODEL)
    uses: ClassVar[tuple[Carrying, ...]] = (Carrying.any_of(Carries.POSTERIORS, to="public"),)

    def trains_alike(self, view: View, knowledge: AttributeKnowledge) -> bool:
        """It trains nothing, but must know how to ask a model by its weights."""
        return not view.carrying(SUBMITTED)

    def columns(self, view: View, knowledge: AttributeKnowledge, people: KnownPeople) -> Mapping[str, Floats]:
        tried = _submitted(view, knowledge) if view.carrying(SUBMITTED) else _asked(view, knowledge)
        found = dict[str, Floats]()
        if view.of_kind(STORED):
            stored = _answers(view.last(STORED), knowledge)
            far = [(stored - answer).norm(dim=1).clamp_min(TINY).log() for answer in tried]
            found["nearer"] = (far[0] - far[1]).double().numpy()[:, None]
        if bool((knowledge.labels >= 0).all()):
            likely = [answer.gather(1, knowledge.labels.cpu()[:, None]).clamp_min(TINY).log() for answer in tried]
            found["likelier"] = (likely[1] - likely[0]).double().numpy()
        return found


def _submitted(view: View, knowledge: AttributeKnowledge) -> list[Tensor]:
    """A service's answers to rows without the value, and with it, [n, C] each."""
    told = {int(m.tensors["value"][0]): m for m in view.carrying(SUBMITTED) if len(m.tensors.get("value", ()))}
    if not {0, 1} <= set(told):
        raise InputError("a service's answers to submitted rows lack those without the value, or with it")
    return [_answers(told[value], knowledge) for value in (0, 1)]


def _asked(view: View, knowledge: AttributeKnowledge) -> list[Tensor]:
    """What a published model answers on the adversary's links, without the value and with it, [n, C] each."""
    import torch
    from torch_geometric.data import Data

    message, recipe = view.carrying(MODEL)[-1], knowledge.recipe or TrainingConfig()
    check_weights(message, weight_shapes(recipe, knowledge.x.shape[1], knowledge.classes))
    weights = {name: tensor.float().cpu() for name, tensor in message.tensors.items()}
    columns, known = knowledge.columns.cpu(), knowledge.known.cpu()
    x = knowledge.x.cpu().clone()
    lacking = torch.ones(len(x), dtype=torch.bool)
    lacking[known] = False
    x[lacking.nonzero(), columns[None]] = x[known][:, columns].mean(0)
    data = Data(x=x, edge_index=knowledge.edges.cpu(), y=torch.zeros(len(x), dtype=torch.long))
    task = TrainingTask(data, torch.ones((1, len(x)), dtype=torch.bool), recipe, knowledge.classes)
    return [answers_to_own_rows(task, weights, columns, row) for row in knowledge.representatives.cpu()]


def _answers(message: Message, knowledge: AttributeKnowledge) -> Tensor:
    """Posteriors of all people, [n, C]."""
    return rows_of_people(message, "posteriors", len(knowledge.x), knowledge.classes)
