"""The adaptive adversary: one who holds a client's feature transformation feeds transformed features to models."""

from dataclasses import replace
from weakref import WeakKeyDictionary

from ..targets.encoder import ENCODER_KIND, encoded
from ..targets.transcript import View
from .attack import Knowledge

_SEEN: "WeakKeyDictionary[Knowledge, dict[tuple[float, ...], Knowledge]]" = WeakKeyDictionary()


def adapted(view: View, knowledge: Knowledge) -> Knowledge:
    """The knowledge with features as the pipeline sees them, where the view holds the transformation.

    Under the information bottleneck a condensed graph lives in the space of transformed features; an outsider who
    asks with raw ones meets a mismatch that hides nothing from a curious client. The same knowledge and the same
    transformation give the same object, so that attacks go on sharing their shadow models.
    """
    if not (knowledge.knows_defense and view.of_kind(ENCODER_KIND)):
        return knowledge
    encoder = view.last(ENCODER_KIND).tensors
    known = _SEEN.setdefault(knowledge, {})
    key = tuple(float(part.double().sum()) for part in encoder.values())
    if key not in known:
        known[key] = replace(knowledge, x=encoded(knowledge.x, knowledge.edges, encoder))
    return known[key]
