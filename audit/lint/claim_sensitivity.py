"""By how many clips one unit changes a sum of clipped terms, where terms read neighbours and where they do not."""

import math

from ...mechanisms.renyi import terms_of
from .claim_statement import LINKS, Claim, Training, Unit

OWNS: dict[Unit, frozenset[str]] = {
    "node": frozenset({"edge"}),
    "graph": frozenset({"node", "edge"}),
    "client": frozenset({"node", "edge", "graph"}),
}
"""Of which kinds of examples one unit can have many."""


def couples(training: Training, unit: Unit) -> bool | None:
    """Whether one unit changes the terms of others; None where the statement does not tell.

    A term that belongs to a whole graph or client holds all that its nodes read, and labels are read by their own
    node's term alone. Clients that send each other what their nodes hold are read by others.
    """
    if training.layers is None or training.example is None:
        return None
    if training.layers == 0 or training.example == "graph":
        return False
    if training.example == "client":
        return training.exchanges
    return unit in LINKS | {"node"}  # a label is read by its own node's term


def owns_many(training: Training, unit: Unit) -> bool:
    """Whether one unit has several examples of its own."""
    return training.example in OWNS.get(unit, ())


def clips_needed(training: Training, claim: Claim) -> float | None:
    """The least number of clips that noise must hide; None where nothing bounds it, or a fact is missing.

    A term that comes or goes changes the sum by one clip, one that is another by two. In a coupled sum the unit's
    own term comes or goes and the others become different ones; a batch of fixed size has another in its place.
    An edge is read at both ends from the second node on, which makes twice the terms of one layer less.
    """
    unit, gone = training.unit or claim.unit, 2 if claim.adjacency == "replace" else 1
    coupled = couples(training, unit)
    if coupled is None:
        return None
    parts = 1.0 if training.clipping != "per-tensor" else math.sqrt(training.tensors or 1)
    if coupled:
        if training.neighbour_bound is None or training.bound_on != "readers" or training.layers is None:
            return None
        if unit in LINKS:
            return parts * 4 * terms_of(training.neighbour_bound, training.layers - 1)
        spared = 1 if gone == 1 and training.sampling in {"poisson", "full batch"} else 0
        return parts * (2 * terms_of(training.neighbour_bound, training.layers) - spared)
    if training.sampling == "fixed-size" and training.sample_rate != 1:
        gone = 2  # another term is in the batch for one that is gone
    if owns_many(training, unit):
        return None if training.examples_per_unit is None else parts * gone * training.examples_per_unit
    return parts * gone
