"""Who was trained on, under noise: the k nodes of equal shares that explain some gradients best."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...graphs.network import Floats
from .node_gradients import Atoms
from .pursuit import ADDED, Observed, Solution, extended, finished, highest

TRIES, FITS = 8, 5
"""How often the pool may grow, and how often choice and unit are fitted in turn each time."""
LARGEST = 300
"""Atoms that are in the pool at first beside four for each member, at most."""


@dataclass(frozen=True, eq=False)
class _Pool:
    """Atoms among which is swapped.

    Attributes:
        atoms: which.
        products: with each other, [a, a].
        slopes: with what was seen, [a].
    """

    atoms: Atoms
    products: Floats
    slopes: Floats

    def swap_gains(self, chosen: np.ndarray, unit: float) -> Floats:
        """By how much half of the squared residual shrinks if a chosen one is swapped for another, [k, a - k].

        A node has one label: who gives a chosen node another label takes its place.
        """
        rest = self.slopes - unit * self.products[:, chosen].sum(1)
        out, into, squares = np.flatnonzero(chosen), np.flatnonzero(~chosen), self.products.diagonal()
        apart = squares[into] + squares[out][:, None] - 2 * self.products[np.ix_(out, into)]
        gains: Floats = unit * (rest[into] - rest[out][:, None]) - unit**2 / 2 * apart
        node = self.atoms.node
        gains[np.isin(node[into], node[out])[None] & (node[into][None] != node[out][:, None])] = -np.inf
        return gains

    def swapped(self, chosen: np.ndarray, unit: float) -> np.ndarray:
        """A choice of as many atoms that no swap improves, [a] bool."""
        chosen = chosen.copy()
        for _ in range(20 * len(chosen)):
            out, into = np.flatnonzero(chosen), np.flatnonzero(~chosen)
            if not len(into):
                break
            gains = self.swap_gains(chosen, unit)
            place = np.unravel_index(gains.argmax(), gains.shape)
            if gains[place] <= 1e-12 * unit * np.abs(self.slopes).max():
                break
            chosen[out[place[0]]], chosen[into[place[1]]] = False, True
        return chosen

    def unit(self, chosen: np.ndarray) -> float:
        """The share of each that fits best."""
        whole = self.products[np.ix_(chosen, chosen)].sum()
        return max(float(self.slopes[chosen].sum() / whole), np.finfo(float).tiny)


def whole_units(observed: Observed, promising: Sequence[Floats], unit: float, members: int) -> Solution:
    """The choice of nodes, all with one share, that explains noisy gradients best: swaps until none helps.

    Least squares over choices of k nodes is the likeliest one under Gaussian noise; the share is fitted, for a
    clipped gradient is shorter than the mean that it was. The search starts with the most promising atoms, and the
    pool grows by atoms that the choice leaves a slope for. A gain is that of the best swap of an atom in or
    out: what speaks as well for another one counts for nothing.

    Args:
        observed: what was seen.
        promising: how much each atom promises, [s, C], by one measure or more: the search starts with the best by
            the first, and the best by each may be swapped in.
        unit: a member's share to start from.
        members: k.
    """
    most = min(4 * members, members + LARGEST) + ADDED
    ranked = np.concatenate([np.argsort(-one, axis=None, kind="stable")[:most] for one in promising])
    ranked = ranked[np.sort(np.unique(ranked, return_index=True)[1])]
    node, label = np.unravel_index(ranked, observed.allowed.shape)
    kept = observed.allowed[node, label]
    atoms = Atoms(node[kept], label[kept])
    pool = _Pool(atoms, observed.between(atoms, atoms), observed.slopes[atoms.node, atoms.label])
    chosen = _first(atoms, members)
    for _ in range(TRIES):
        for _ in range(FITS):
            chosen = pool.swapped(chosen, unit)
            before, unit = unit, pool.unit(chosen)
            if abs(unit - before) < 1e-3 * unit:
                break
        own = pool.atoms.where(chosen)
        shares = np.full(len(own), unit)
        rest = observed.rest(own, shares)
        gains = np.where(observed.allowed, unit * rest.slopes - unit**2 * observed.squares / 2, -np.inf)
        squares = observed.squares[own.node, own.label]
        weakest = float((unit * rest.slopes[own.node, own.label] + unit**2 * squares / 2).min())
        outside = gains.copy()
        outside[pool.atoms.node, pool.atoms.label] = -np.inf
        more = highest(outside, min(weakest, 0.0) - abs(weakest))
        if not len(more):
            break
        products = extended(pool.products, observed, pool.atoms, more)
        every = pool.atoms.and_then(more)
        pool = _Pool(every, products, observed.slopes[every.node, every.label])
        chosen = np.append(chosen, np.zeros(len(more), dtype=bool))
    gains -= abs(weakest)
    swaps = pool.swap_gains(chosen, unit)
    _put_in_place(gains, pool.atoms, chosen, swaps)
    return finished(observed, own, shares, gains, unit, rest)


def _first(pool: Atoms, members: int) -> np.ndarray:
    """The first atoms of as many nodes, [a] bool."""
    first = np.unique(pool.node, return_index=True)[1]
    chosen = np.zeros(len(pool), dtype=bool)
    chosen[np.sort(first)[:members]] = True
    return chosen


def _put_in_place(gains: Floats, pool: Atoms, chosen: np.ndarray, swaps: Floats) -> None:
    """Writes what the best swap in or out of each atom of a pool costs; labels of one node are no swap of it."""
    out, into = pool.where(chosen), pool.where(~chosen)
    if not len(out) or not len(into):
        return
    gains[into.node, into.label] = swaps.max(0)
    other = np.where(into.node[None] == out.node[:, None], -np.inf, swaps).max(1)
    gains[out.node, out.label] = np.where(np.isfinite(other), -other, np.abs(swaps[np.isfinite(swaps)]).max())
