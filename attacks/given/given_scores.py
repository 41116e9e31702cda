"""Scores that somebody else made, taken as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ...errors import InputError
from ...targets.games.given import GIVEN, GivenKnowledge
from ...targets.messages import GIVEN_SCORES, SCORES_KIND, Carrying
from ...targets.transcript import View
from ..attack import Attack

if TYPE_CHECKING:
    from torch import Tensor


class GivenScores(Attack[GivenKnowledge]):
    """Another tool's scores, one a person: judged like any attack's.

    Its blind baseline is what the table says that the same attack scores without the release; without such a column
    nothing is known of it, and everybody has one score.
    """

    name = "given-scores"
    games = tuple(GIVEN)
    needs: ClassVar[tuple[Carrying, ...]] = (GIVEN_SCORES,)
    planted = "planted-scores"

    def score(self, view: View, knowledge: GivenKnowledge) -> Tensor:
        import torch

        told = view.last(SCORES_KIND).tensors
        subjects, score = told["subjects"], told["score"]
        place = torch.searchsorted(subjects, knowledge.subjects)
        if len(subjects) != len(knowledge.subjects) or not torch.equal(subjects[place], knowledge.subjects):
            raise InputError("the scores are of other persons than those in question")
        return score[place].double()

    def blind_score(self, knowledge: GivenKnowledge) -> Tensor:
        import torch

        return torch.zeros(len(knowledge.subjects)) if knowledge.blind is None else knowledge.blind.double()
