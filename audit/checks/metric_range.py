"""What a metric can be at all: a check that no measurement could ever fail, or keep, is a slip of the pen."""

from ..statistics.identity_metrics import CROWDS, NAMED

SHARES = {"auc", "average_precision", "balanced_accuracy", "advantage", "precision", NAMED, *CROWDS, "missed"}
"""Metrics that lie in [0, 1]."""
OF_SAMPLES = (" auc", " average_precision", " tpr")
"""How the same metrics of other pairs end (``degree-matched auc``)."""
CHANCE = {"auc": 0.5, "balanced_accuracy": 0.5}
"""What guessing gets. Less, where it is shown, is told as well by turning the scores round."""


def beyond_range(metric: str, budget: float | None, margin: float | None) -> str | None:
    """Why a budget or a margin makes no check of a metric, or None; other people's metrics may be anything.

    Args:
        metric: its name.
        budget: the most that it may be.
        margin: the rise over a baseline that must be told from none.
    """
    if not _is_share(metric):
        return None
    if budget is not None and budget >= 1:
        return f"{metric} is at most 1, so a budget of {budget:g} can never be exceeded: give less than 1"
    least = CHANCE.get(metric, 0.0)
    if budget is not None and budget < least:
        return f"guessing reaches {least:g}, so no {metric} keeps to a budget of {budget:g}: give {least:g} or more"
    if margin is not None and margin >= 1:
        return f"{metric} is at most 1 and cannot rise by {margin:g}: give a margin below 1"
    return None


def _is_share(metric: str) -> bool:
    return metric in SHARES or metric.startswith("tpr@fpr=") or metric.endswith(OF_SAMPLES)
