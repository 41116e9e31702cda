"""Attributes from published embeddings: a classifier on the rows of people whose attribute is known."""

from collections.abc import Mapping
from typing import ClassVar

from ...graphs.network import Floats
from ...targets.games.attributes import AttributeKnowledge
from ...targets.messages import PUBLISHED_ROWS, Carrying
from ...targets.transcript import View
from .attribute_attack import AttributeAttack, KnownPeople
from .people_rows import rows_of_people


class AttributeRows(AttributeAttack):
    """Fits models to the embeddings of known people and applies them to the others (Duddu et al. 2020)."""

    name = "attribute-rows"
    needs: ClassVar[tuple[Carrying, ...]] = (PUBLISHED_ROWS,)

    def columns(self, view: View, knowledge: AttributeKnowledge, people: KnownPeople) -> Mapping[str, Floats]:
        message = view.carrying(PUBLISHED_ROWS)[-1]
        return {"embeddings": rows_of_people(message, "embeddings", len(knowledge.x)).double().numpy()}
