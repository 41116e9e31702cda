"""Attributes from published embeddings: a classifier on the rows of people whose attribute is known."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from ...graphs.network import Floats
from ...targets.games.attributes import AttributeKnowledge
from ...targets.messages import PUBLISHED_ROWS, Carrying
from ...targets.transcript import View
from .attribute_attack import AttributeAttack, KnownPeople
from .people_rows import rows_of_people

RIDGE = 100.0
"""Penalty of squared weights on scaled columns."""


class AttributeRows(AttributeAttack):
    """Fits models to the embeddings of known people and applies them to the others (Duddu et al. 2020).

    Beside embeddings as they are it reads what is left of them once the attributes that it knows, its neighbours'
    among them, are taken out (ridge regression over all people, own derivation): much of an embedding says what
    everybody knows.
    """

    name = "attribute-rows"
    needs: ClassVar[tuple[Carrying, ...]] = (PUBLISHED_ROWS,)

    def columns(self, view: View, knowledge: AttributeKnowledge, people: KnownPeople) -> Mapping[str, Floats]:
        message = view.carrying(PUBLISHED_ROWS)[-1]
        rows = rows_of_people(message, "embeddings", len(knowledge.x)).double().numpy()
        known = np.hstack([people.own(knowledge), *people.linked(knowledge).values()])
        return {"embeddings": rows, "what is left of embeddings": left_over(rows, known)}


def left_over(rows: Floats, known: Floats) -> Floats:
    """What columns that are known [n, c] do not say of rows [n, h], by ridge regression, [n, h]."""
    spread = (known - known.mean(0)) / np.maximum(known.std(0), 1e-9)
    centred = rows - rows.mean(0)
    weights = np.linalg.solve(spread.T @ spread + RIDGE * np.eye(spread.shape[1]), spread.T @ centred)
    found: Floats = centred - spread @ weights
    return found
