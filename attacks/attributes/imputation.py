"""The attack on attributes that sees nothing: the control of all others."""

from collections.abc import Mapping

from ...graphs.network import Floats
from ...targets.games.attributes import AttributeKnowledge
from ...targets.transcript import View
from .attribute_attack import AttributeAttack, KnownPeople


class Imputation(AttributeAttack):
    """Fills in the attribute without any release, from what is known beforehand.

    Jayaraman and Evans (CCS 2022) measure attribute inference against imputation: what a model's owner's data tell
    anybody is no leak of the model.
    """

    name = "imputation"

    def columns(self, view: View, knowledge: AttributeKnowledge, people: KnownPeople) -> Mapping[str, Floats]:
        return {}
