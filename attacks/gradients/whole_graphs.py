"""A whole graph out of one gradient of a GIN: kinds of nodes, how many of each, and who is linked to whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...graphs.network import Floats, Ints
from .kinds_of_nodes import Kinds, Limits, kinds_in
from .linked_kinds import linked

if TYPE_CHECKING:
    from torch import Tensor

SECONDS = 20.0
"""What finding counts may take."""
MOST = 2000
"""Kinds of the last layer of which counts are looked for, at most."""
SCALE, FITS = 1e3, 1e-4
"""A graph's row is brought to this length, and found again up to this share of it."""


@dataclass(frozen=True, eq=False)
class Rebuilt:
    """A graph that gives the gradient.

    Attributes:
        feature: which row of features each node has, [n].
        edges: each edge once, [e, 2].
    """

    feature: Ints
    edges: Ints


def rebuilt(
    gradient: Mapping[str, Tensor],
    weights: Mapping[str, Tensor],
    features: Tensor,
    limits: Limits,
    nodes: int = 200,
) -> Rebuilt | None:
    """The one graph that a gradient is of, as far as the gradient tells it.

    Of a batch of one graph the gradient of the last map is its row times the error of its answer, and that of the
    last bias is the error: their ratio is the row itself, the sum over nodes of what the last layer makes of them.
    Kinds of nodes are known (`kinds_in`), and how many there are of each solves an integer program, in which links
    between any two kinds are as many seen from either side. Nodes are then linked by depth-first search (own
    derivation; GRAIN, Drencheva et al., ICLR 2025, joins building blocks depth first, and checks by the gradient).

    Every graph with these counts has the same gradient at any weights of such a model, so that nothing is left to
    check. Where several have them, the first connected one is returned, which need not be the right one.

    Args:
        gradient: of one graph, by name.
        weights: of the GIN at which it was taken.
        features: all rows that a node may have, [f, d].
        limits: how much is tried.
        nodes: of one kind, at most.

    Returns:
        None where no such graph was found within the limits.
    """
    if not bool(gradient["b"].any()):
        return None
    largest = int(gradient["b"].abs().argmax())
    row = (gradient["w"][:, largest].double() / gradient["b"][largest].double()).cpu().numpy()
    for last_too in (True, False):
        kinds = kinds_in(gradient, weights, features, limits, last_too)
        counts = None if kinds is None or len(kinds[-1]) > MOST else counts_of(kinds, row, nodes)
        if kinds is None or counts is None:
            continue
        of = np.repeat(np.arange(len(counts)), counts)
        edges = linked(kinds[-1], of)
        if edges is not None:
            return Rebuilt(features_of(kinds)[of], edges)
    return None


def features_of(kinds: list[Kinds]) -> Ints:
    """The row of features of each kind of the last layer, [t]."""
    found = np.arange(len(kinds[-1]))
    for layer in reversed(kinds):
        found = np.array(layer.own)[found]
    return found


def counts_of(kinds: list[Kinds], row: Floats, nodes: int) -> Ints | None:
    """How many nodes of each kind of the last layer a graph has, [t]; None where none add up to its row.

    Args:
        kinds: of each layer.
        row: the sum over nodes of what the last layer makes of them, [h].
        nodes: of one kind, at most.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    made, many = kinds[-1].rows.cpu().numpy().T * SCALE / np.linalg.norm(row), len(kinds[-1])
    wanted, width = row * SCALE / np.linalg.norm(row), len(row)
    balance = link_balance(kinds[-1])
    off = np.eye(width)
    near = [
        LinearConstraint(np.hstack([made, -off]), ub=wanted),
        LinearConstraint(np.hstack([made, off]), lb=wanted),
        *([LinearConstraint(np.hstack([balance, np.zeros((len(balance), width))]), 0, 0)] if len(balance) else []),
    ]
    solved = milp(
        np.concatenate([np.zeros(many), np.ones(width)]),
        integrality=np.concatenate([np.ones(many), np.zeros(width)]),
        bounds=Bounds(0, np.concatenate([np.full(many, nodes), np.full(width, np.inf)])),
        constraints=near,
        options={"time_limit": SECONDS},
    )
    if solved.x is None:
        return None
    found: Ints = np.rint(solved.x[:many]).astype(np.int64)
    return found if np.linalg.norm(made @ found - wanted) <= FITS * SCALE else None


def link_balance(last: Kinds) -> Floats:
    """One row for each pair of kinds of the layer before: links from the one less links from the other, [p, t]."""
    rows = list[Floats]()
    seen = sorted(
        {tuple(sorted((own, other))) for own, around in zip(last.own, last.around, strict=True) for other in around}
    )
    for one, other in seen:
        if one == other:
            continue
        row = np.zeros(len(last))
        for place, (own, around) in enumerate(zip(last.own, last.around, strict=True)):
            row[place] = around.count(other) if own == one else -around.count(one) if own == other else 0
        rows.append(row)
    return np.array(rows).reshape(-1, len(last))
