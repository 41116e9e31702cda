"""Messages in which a trained model, or what it says about nodes, leaves a party."""

MODEL_KIND = "model"
"""Trained weights by name, as `Recipe` names them, to whoever may hold the model."""
GLOBAL_KIND = "global-model"
"""The common weights that a server sends to its clients in one round."""
UPDATE_KIND = "update"
"""A client's weights after its local training in one round."""
GRADIENT_KIND = "gradient"
"""A client's gradient at the common weights of one round: of the mean loss over its labelled nodes."""

QUERY_NAMES = {"true": "full", "none": "0-hop", "apart": "apart"}
"""What a table's query is called: all edges, none, or none between members and non-members."""


def posteriors_kind(query: str) -> str:
    """Kind of a table of posteriors: ``nodes`` [s] and ``posteriors`` [s, C]."""
    return f"posteriors-{query}"


def labels_kind(query: str) -> str:
    """Kind of a table of predicted labels: ``nodes`` [s] and ``labels`` [s]."""
    return f"labels-{query}"


TABLE_KINDS = tuple(make(query) for make in (posteriors_kind, labels_kind) for query in QUERY_NAMES.values())
