"""What `gaudit anonymize` says of weights, types and directions: those that it drops, those that it publishes."""

import numpy as np

from ...graphs.measures.edge_marks import unique_shares
from ...graphs.network import MARKS, Network
from ...graphs.told_weights import ToldWeights

PLAIN = "how many neighbours they have"
BY = {
    "weights": "the sum of their weights",
    "types": "their types",
    "directions": "how many edges lead to them and away from them",
}
"""What weights, types or directions alone tell people apart by."""


def dropped_marks(source: Network, before: Network) -> tuple[str, ...]:
    """Sentences on weights and types that will not be published, and whom they would name.

    Args:
        source: the network as it was read.
        before: what a defense is given of it.
    """
    dropped = [name for name in MARKS if _has(source, name) and not _has(before, name)]
    return tuple(_dropped(source, name) for name in dropped)


def marks_lines(
    before: Network, after: Network, windows: bool = False, way: ToldWeights | None = None
) -> tuple[str, ...]:
    """Sentences on what a release tells of edges besides their ends.

    Args:
        before: what a defense was given.
        after: what is published.
        windows: whether types are windows of time, and are called so.
        way: how weights were told before the defense, where not as they are.
    """
    lost = [name for name in MARKS if _has(before, name) and not _has(after, name)]
    lines = [f"The defense publishes no {name} of edges." for name in lost if after.counts is None]
    if after.weights is not None and before.weights is not None and not np.isin(after.codes, before.codes).all():
        rounded = "rounded" if way is None else "then rounded"
        lines.append(
            f"Weights are {rounded} to {len(np.unique(after.weights)):,} values, each on many edges: otherwise "
            "they would tell which edges were added."
        )
    lines += _published(after, before.nodes)
    return tuple(line.replace("types", "windows") if windows else line for line in lines)


def _has(network: Network, name: str) -> bool:
    return getattr(network, name) is not None


def _dropped(source: Network, name: str) -> str:
    """Why weights, types or directions are not published: whom they would tell apart."""
    by = BY[name]
    share = unique_shares(source.telling([name]), source.nodes)[by]
    return (
        f"The {name} of edges are not published, because they name people whatever is done to the edges: "
        f"{100 * share:.1f} % of the people in this file are the only ones with {by}. To publish them all the "
        f"same, give --keep {name}."
    )


def _published(after: Network, people: int) -> list[str]:
    """Whom the published weights and types tell apart; groups and counts are the guarantee's matter."""
    told = " and ".join(name for name in MARKS if _has(after, name))
    if not told or after.groups is not None:
        return []
    shares = unique_shares(after, people)
    alone = [f"{100 * share:.1f} % by {by}" for by, share in shares.items() if by != PLAIN]
    return [
        f"The {told} of edges are published. So many of the {people:,} people are the only ones in the release "
        f"with what they have: {', '.join(alone)}; {100 * shares[PLAIN]:.1f} % by {PLAIN}."
    ]
