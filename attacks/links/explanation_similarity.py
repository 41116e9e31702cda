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
        False, description="project each explanation on the span of feature rows of its node's class, against noise"
    )


class ExplanationSimilarity(LinkAttack):
    """A pair is scored by the cosine of the explanations of its two answers (ExplainSim).

    An explanation sums over all nodes that the answer reads, so neighbours have much of it in common. Nothing is
    learned, and no feature is needed but to denoise.
    """

    name = "explanation-similarity"
    needs: ClassVar[tuple[Carrying, ...]] = (EXPLANATIONS,)
    observer: ClassVar[str] = "public"
    Settings = ExplanationSimilaritySettings
    settings: ExplanationSimilaritySettings

    def score_part(self, view: View, part: Part, knowledge: LinkKnowledge) -> Tensor:
        told = explanations_of(view, part.nodes, part.x.shape[1]).to(part.x.device)
        if self.settings.denoise:
            told = denoised(told, part.x, part.labels)
        return cosine_of_pairs(told, part.pairs)

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


def denoised(told: Tensor, x: Tensor, labels: Tensor) -> Tensor:
    """Explanations [n, d], each projected on the span of the feature rows [n, d] of nodes of its class."""
    found = told.clone()
    for label in labels.unique().tolist():
        own = labels == label
        _, sizes, basis = torch.linalg.svd(x[own].double(), full_matrices=False)
        basis = basis[sizes > 1e-6 * sizes.max()]
        found[own] = ((told[own].double() @ basis.t()) @ basis).float()
    return found
