"""Who is accused of what by a pursuit: node, label and owner, who else it may be, and whether that is proven."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ...graphs.network import Floats, Ints
from .label_pursuit import Found
from .node_gradients import Atoms
from .pursuit import ROUNDING

SOME = 0.05
"""Share of a member below which a guess is no guess."""
NEAR = 1e-2
"""Relative distance of what the last layer reads of two nodes up to which it is checked whether they are twins."""


@dataclass(frozen=True)
class Claim:
    """One accusation.

    Attributes:
        subject: position among the subjects.
        label: the class that it was trained on with.
        owner: the client that holds it, where its own gradient was seen.
        proven: whether nothing but rounding is left of the gradient that told it.
        alike: subjects that no equation tells from it: some of this set were trained on, as many as are accused.
    """

    subject: int
    label: int
    owner: int | None
    proven: bool
    alike: tuple[int, ...] = ()


def claims(found: Sequence[Found]) -> list[Claim]:
    """Everybody who is accused, each once: a node that two gradients speak for goes to the likelier one."""
    best: dict[int, tuple[float, Claim]] = {}
    for one in found:
        told = one.log_likelihoods()
        for claim in _claims(one):
            likely = float(told[claim.subject])
            if claim.subject not in best or likely > best[claim.subject][0]:
                best[claim.subject] = likely, claim
    return [claim for _, (_, claim) in sorted(best.items())]


def _claims(found: Found) -> list[Claim]:
    solution, sight = found.solution, found.sight
    units = solution.units
    kept = solution.shares / solution.unit > SOME
    atoms, links = _with_twins(found, solution.atoms.where(kept))
    size = len(atoms)
    graph = coo_array((np.ones(links.shape[1]), (links[0], links[1])), shape=(size, size))
    groups = connected_components(graph, directed=False)[1] if size else np.empty(0, dtype=int)
    made = []
    for group in range(int(groups.max(initial=-1)) + 1):
        own = np.flatnonzero(groups == group)
        share = units[atoms.node[own], atoms.label[own]]
        count = min(round(float(share.sum())), len(own))
        accused = own[np.argsort(-share, kind="stable")[:count]]
        others = () if count == len(own) else tuple(sorted(set(atoms.node[own].tolist())))
        for place in accused.tolist():
            node, label = int(atoms.node[place]), int(atoms.label[place])
            alike = tuple(other for other in others if other != node)
            made.append(Claim(node, label, sight.owner, solution.proven, alike))
    return made


def _with_twins(found: Found, atoms: Atoms) -> tuple[Atoms, Ints]:
    """Atoms, then those with the same label that may stand in their place unseen, and pairs of such, [2, p]."""
    observed = found.observed
    tolerance = (ROUNDING / found.solution.unit) ** 2 * observed.square
    known = {pair: place for place, pair in enumerate(zip(atoms.node.tolist(), atoms.label.tolist(), strict=True))}
    rows = observed.seen[0].at.read_rows
    pairs: list[tuple[int, int]] = []
    for place, (node, label) in enumerate(list(known)):
        near = np.flatnonzero(_close(rows, node) & observed.allowed[:, label])
        near = near[near != node]
        if not len(near):
            continue
        others = Atoms(near, np.full(len(near), label))
        across = observed.between(atoms.where(np.array([place])), others)[0]
        lost = observed.squares[node, label] - across**2 / observed.squares[near, label]
        for twin in near[(across > 0) & (lost <= tolerance)].tolist():
            pairs.append((place, known.setdefault((twin, label), len(known))))
    every = np.array(list(known), dtype=np.int64).reshape(-1, 2)
    return Atoms(every[:, 0], every[:, 1]), np.array(pairs, dtype=np.int64).reshape(-1, 2).T


def _close(rows: Floats, node: int) -> np.ndarray:
    """Whose row is within `NEAR` of a node's, [s] bool."""
    own = rows[node]
    found: np.ndarray = np.square(rows - own).sum(1) <= NEAR**2 * max(float(own @ own), np.finfo(float).tiny)
    return found
