"""Links from explanations: nodes whose answers are explained alike are linked (Olatunji et al., PoPETs 2023)."""

from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor

from ...errors import InputError
from ...settings import Settings
from ...targets.games.links import LinkKnowledge
from ...targets.messages import EXPLANATIONS, Carrying
from ...targets.transcript import View
from .link_attack import LinkAttack, Part, cosine_of_pairs


class ExplanationSimilaritySettings(Settings):
    """Settings of `ExplanationSimilarity`."""

    denoise: bool = Field(
        False,
        description="compare which words are named, less how often each is, also with the other node's features",
    )
    entries: int = Field(
        30, ge=1, description="largest entries of an explanation that count as named where it is no row of bits"
    )


class ExplanationSimilarity(LinkAttack):
    """A pair is scored by the cosine of the explanations of its two answers (ExplainSim).

    An explanation sums over all nodes that the answer reads, so neighbours have much of it in common. Nothing is
    learned, and no feature is needed but to denoise.

    Denoised (own derivation), an explanation counts as bits, one for each word that it names. Bits that were
    flipped with one chance are, less each word's mean, proportional to an estimate of what they were that has no
    bias, and a cosine takes no notice of the factor: the chance need not be known. To the cosine of two such rows
    come those of each with the other node's features, which neighbours' explanations are made of and which nobody
    flipped.
    """

    name = "explanation-similarity"
    needs: ClassVar[tuple[Carrying, ...]] = (EXPLANATIONS,)
    observer: ClassVar[str] = "public"
    Settings = ExplanationSimilaritySettings
    settings: ExplanationSimilaritySettings

    def score_part(self, view: View, part: Part, knowledge: LinkKnowledge) -> Tensor:
        told = explanations_of(view, part.nodes, part.x.shape[1]).to(part.x.device)
        if not self.settings.denoise:
            return cosine_of_pairs(told, part.pairs)
        told = named(told, self.settings.entries)
        crossed = (cosine_of_pairs(told, pairs, part.x) for pairs in (part.pairs, part.pairs.flip(1)))
        return cosine_of_pairs(told, part.pairs) + sum(crossed)

    def blind_part(self, part: Part, knowledge: LinkKnowledge) -> Tensor:
        """Cosine of features."""
        return cosine_of_pairs(part.x, part.pairs)


def explanations_of(view: View, nodes: Tensor, features: int) -> Tensor:
    """The last explanation of each node that was told, [s, d].

    Raises:
        InputError: they are malformed, or lack a node.
    """
    message = view.carrying(EXPLANATIONS)[-1]
    ids, rows = message.tensors.get("nodes"), message.tensors.get("explanations")
    if ids is None or rows is None or rows.shape != (len(ids), features):
        raise InputError(f"a message '{message.kind}' must hold nodes [s] and explanations [s, {features}]")
    place = torch.full((max(int(nodes.max()), int(ids.max())) + 1,), -1)
    place[ids.cpu()] = torch.arange(len(ids))
    where = place[nodes.cpu()]
    if bool((where < 0).any()):
        raise InputError(f"the message '{message.kind}' lacks {int((where < 0).sum())} nodes in question")
    return rows[where].float()


def named(told: Tensor, entries: int) -> Tensor:
    """Which words each explanation names, less the mean over explanations [n, d].

    Bits stay as they are; otherwise the largest that are above 0 are named, as many as ``entries``.
    """
    if not bool(((told == 0) | (told == 1)).all()):
        places = told.topk(min(entries, told.shape[1]), dim=1).indices
        told = torch.zeros_like(told).scatter_(1, places, 1.0) * (told > 0)
    return told - told.mean(0)
