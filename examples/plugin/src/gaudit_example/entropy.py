"""Membership by how sure published answers are."""

import torch
from torch import Tensor
from torch.nn import functional as F

from gaudit.plugin import Attack, Carries, Carrying, InputError, NodeKnowledge, View

ANSWERS = Carrying.any_of(Carries.POSTERIORS, to="public")
"""Tables of answers: ``nodes`` [s] and ``posteriors`` [s, C]."""


class Entropy(Attack[NodeKnowledge]):
    """The entropy of a node's posterior: a model is surer of those that it was trained on (Salem et al. 2019).

    Their third adversary (section V) has neither shadow models nor labels, and takes a statistic of the posteriors
    alone: here the entropy. The blind version takes the posteriors that known labels of neighbours would give.
    """

    name = "entropy"
    needs = (ANSWERS,)

    def score(self, view: View, knowledge: NodeKnowledge) -> Tensor:
        table = view.carrying(ANSWERS)[0].tensors
        if "nodes" not in table or "posteriors" not in table:
            raise InputError("the table of posteriors must hold 'nodes' and 'posteriors'")
        row = torch.full((len(knowledge.x),), -1)
        row[table["nodes"]] = torch.arange(len(table["nodes"]))
        asked = row[knowledge.subjects]
        if bool((asked < 0).any()):
            raise InputError("the table of posteriors leaves out nodes in question")
        return -_entropy(table["posteriors"][asked])

    def blind_score(self, knowledge: NodeKnowledge) -> Tensor:
        known = knowledge.labels >= 0
        votes = F.one_hot(knowledge.labels.clamp(min=0), knowledge.classes).float() * known[:, None]
        one, other = knowledge.edges
        around = torch.ones_like(votes).index_add(0, one, votes[other])
        return -_entropy((around / around.sum(1, keepdim=True))[knowledge.subjects])


def _entropy(posteriors: Tensor) -> Tensor:
    """Of each row [s, C], [s]."""
    return torch.special.entr(posteriors.double().clamp(min=0)).sum(1)
