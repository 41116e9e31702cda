"""The adaptive adversary: one who holds a client's feature transformation feeds transformed features to models."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ...targets.games.membership import NodeKnowledge
from ...targets.messages import ENCODER_KIND
from ...targets.models.encoder import encoded
from ...targets.transcript import View

if TYPE_CHECKING:
    from torch import Tensor

_SEEN: WeakKeyDictionary[NodeKnowledge, dict[str, NodeKnowledge]] = WeakKeyDictionary()


def adaptive_knowledge(view: View, knowledge: NodeKnowledge) -> NodeKnowledge:
    """The knowledge with features as the pipeline sees them, where the view holds the transformation.

    Under the information bottleneck a condensed graph lives in the space of transformed features; an outsider who
    asks with raw ones meets a mismatch that hides nothing from a curious client. The same knowledge and the same
    transformation give the same object, so that attacks go on sharing their shadow models.
    """
    if not (knowledge.knows_defense and view.of_kind(ENCODER_KIND)):
        return knowledge
    encoder = view.last(ENCODER_KIND).tensors
    known = _SEEN.setdefault(knowledge, {})
    key = _fingerprint(encoder)
    if key not in known:
        known[key] = replace(knowledge, x=encoded(knowledge.x, knowledge.edges, encoder))
    return known[key]


def _fingerprint(tensors: Mapping[str, Tensor]) -> str:
    """Of every value in its place: sums would take a transformation with its rows in another order for the same."""
    import torch

    digest = hashlib.blake2b()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).contiguous().cpu().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
