"""Who was trained on: non-negative least squares over guesses of single labelled nodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ...graphs.network import Floats
from .node_gradients import Atoms, NodeGradients, Tensors

LEAST = 2.0
"""Deviations above zero that an atom's slope must have to join."""
ADDED = 30
"""Atoms that join the working set at once."""
STEPS, PATIENCE, LITTLE = 60, 5, 1e-4
"""How often it grows at most, and how often in vain: without explaining a share of `LITTLE` more."""
MORE_STEPS, FALLS = 5, 0.5
"""How often it grows once more, by atoms however low, while the residual falls to a share of `FALLS` by that."""
RIDGE = 1e-10
"""On the diagonal of products of unit atoms: exact twins then share alike."""
ROUNDING = 3e-6
"""What is left of a gradient, as a share of it, that counts as rounding of single precision: 1e-7 is usual."""


@dataclass(frozen=True, eq=False)
class Seen:
    """One gradient that was seen.

    Attributes:
        at: what single nodes give at the weights at which it was taken.
        gradient: by weight.
        beside: a vector by weight of which it may hold any amount, as of the weights under weight decay: that
            direction is left out of all equations.
        weight: of its equations: one over the variance of their noise, up to a common factor.
    """

    at: NodeGradients
    gradient: Tensors
    beside: Tensors | None = None
    weight: float = 1.0

    @cached_property
    def numbers(self) -> int:
        """How many equations there are."""
        return sum(value.size for value in self.gradient.values())

    @cached_property
    def clean(self) -> dict[str, Floats]:
        """The gradient without what may be beside it."""
        return self._without_beside(dict(self.gradient))

    @cached_property
    def _slopes_beside(self) -> Floats:
        """Products of all atoms with the unit vector beside, [s, C]."""
        assert self.beside is not None
        found: Floats = self.at.slopes(self.at.against(self.beside)) / np.sqrt(inner(self.beside, self.beside))
        return found

    @cached_property
    def squares(self) -> Floats:
        """Squared lengths of all atoms, [s, C]."""
        return self.at.squares if self.beside is None else self.at.squares - self._slopes_beside**2

    def slopes(self, gradient: Tensors) -> Floats:
        """Products of all atoms with a gradient that has nothing beside, [s, C]."""
        return self.at.slopes(self.at.against(gradient))

    def between(self, some: Atoms, others: Atoms) -> Floats:
        """Products of atoms with each other, [a, b]."""
        found = self.at.between(some, others)
        if self.beside is None:
            return found
        one, other = (self._slopes_beside[a.node, a.label] for a in (some, others))
        return found - np.outer(one, other)

    def left(self, atoms: Atoms, shares: Floats) -> dict[str, Floats]:
        """What of the gradient some atoms do not explain."""
        told = self.at.of(self.at.summed_errors(atoms, shares))
        return self._without_beside({name: value - told[name] for name, value in self.gradient.items()})

    def _without_beside(self, gradient: dict[str, Floats]) -> dict[str, Floats]:
        if self.beside is None:
            return gradient
        share = inner(gradient, self.beside) / inner(self.beside, self.beside)
        return {name: value - share * self.beside[name] for name, value in gradient.items()}


def inner(one: Tensors, other: Tensors) -> float:
    """The inner product over all weights."""
    return float(sum(np.vdot(value, other[name]) for name, value in one.items()))


@dataclass(frozen=True, eq=False)
class Rest:
    """What some atoms leave over.

    Attributes:
        slopes: weighted products of all atoms with it, [s, C].
        square: its weighted squared length.
        deviations: of what is left in each round, per equation.
    """

    slopes: Floats
    square: float
    deviations: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Observed:
    """Gradients of the same labelled nodes over rounds, as one weighted system of equations.

    Attributes:
        seen: a gradient of each round, one at least.
        allowed: which nodes and labels may take part, [s, C] bool.
    """

    seen: Sequence[Seen]
    allowed: np.ndarray

    @cached_property
    def squares(self) -> Floats:
        """Weighted squared lengths of all atoms, [s, C]; none is zero."""
        found = self._summed([one.weight * one.squares for one in self.seen])
        return np.maximum(found, max(float(found.max()), 1.0) * 1e-24)

    @cached_property
    def slopes(self) -> Floats:
        """Weighted products of all atoms with what was seen, [s, C]."""
        return self._summed([one.weight * one.slopes(one.clean) for one in self.seen])

    @cached_property
    def square(self) -> float:
        """The weighted squared length of what was seen."""
        return sum(one.weight * inner(one.clean, one.clean) for one in self.seen)

    @cached_property
    def numbers(self) -> int:
        """How many equations there are."""
        return sum(one.numbers for one in self.seen)

    def between(self, some: Atoms, others: Atoms) -> Floats:
        """Weighted products of atoms with each other, [a, b]."""
        return self._summed([one.weight * one.between(some, others) for one in self.seen])

    def rest(self, atoms: Atoms, shares: Floats) -> Rest:
        """What some atoms with shares [a] leave over."""
        slopes, squares = [], []
        for one in self.seen:
            left = one.left(atoms, shares)
            slopes.append(one.weight * one.slopes(left))
            squares.append(inner(left, left))
        deviations = tuple(float(np.sqrt(sq / one.numbers)) for sq, one in zip(squares, self.seen, strict=True))
        total = sum(one.weight * sq for sq, one in zip(squares, self.seen, strict=True))
        return Rest(self._summed(slopes), total, deviations)

    @staticmethod
    def _summed(parts: list[Floats]) -> Floats:
        found: Floats = np.sum(parts, axis=0)
        return found


@dataclass(frozen=True, eq=False)
class Solution:
    """Who takes part, as far as some gradients tell.

    Attributes:
        atoms: guesses that take part.
        shares: how much, all positive, [a].
        gains: by how much the squared residual shrinks, or grew, by each atom's taking part with one unit, given
            the others, [s, C]; half of it.
        unit: one member's share.
        residual: what is left over of the gradients, relative to them.
        variance: of what is left, per equation, weighted.
        deviations: of what is left in each round, per equation.
    """

    atoms: Atoms
    shares: Floats
    gains: Floats
    unit: float
    residual: float
    variance: float
    deviations: tuple[float, ...]

    @property
    def exact(self) -> bool:
        """Whether nothing but rounding is left over."""
        return self.residual <= ROUNDING

    @property
    def units(self) -> Floats:
        """How much of a member each candidate with each label is, [s, C]."""
        found = np.zeros_like(self.gains)
        found[self.atoms.node, self.atoms.label] = self.shares / self.unit
        return found


def pursue(observed: Observed, members: int | None, least: float) -> Solution:
    """Solves min sum_t w_t |g_t - A_t x|^2 over x >= 0, with a working set that grows by the best atoms.

    Args:
        observed: what was seen.
        members: how many take part, where that is known: shares then add up to as many units.
        least: how far an atom's slope must be above zero to join, in deviations of what is left.
    """
    state = _WorkingSet(observed)
    rest = _grown(state, Rest(observed.slopes, observed.square, tuple(0.0 for _ in observed.seen)), least, STEPS)
    # of atoms that are nearly parallel the right ones may stand out by less: an exact solution is still found
    while rest.square > (ROUNDING / 10) ** 2 * observed.square:
        before, kept = rest, (state.atoms, state.shares, state.products)
        rest = _grown(state, rest, 0.0, MORE_STEPS)
        if rest.square > FALLS**2 * before.square:
            rest, (state.atoms, state.shares, state.products) = before, kept
            break
    return _solved(observed, state.atoms, state.shares, rest, members)


def _grown(state: "_WorkingSet", rest: Rest, least: float, steps: int) -> Rest:
    """Grows a working set by atoms above a floor, and says what is left over."""
    observed, length, best, vain = state.observed, np.sqrt(state.observed.squares), rest.square, 0
    for _ in range(steps):
        height = np.where(observed.allowed, rest.slopes / length, -np.inf)
        height[state.atoms.node, state.atoms.label] = -np.inf
        floor = max(least * np.sqrt(rest.square / observed.numbers), 1e-9 * np.sqrt(observed.square))
        joining = highest(height, floor)
        if not len(joining):
            break
        state.grow(joining)
        rest = observed.rest(state.atoms, state.shares)
        if rest.square <= (ROUNDING / 10) ** 2 * observed.square:
            break
        vain = vain + 1 if rest.square > best * (1 - LITTLE) else 0
        best = min(best, rest.square)
        if vain >= PATIENCE:
            break
    return rest


def highest(height: Floats, floor: float) -> Atoms:
    """The highest atoms above a floor, `ADDED` at most."""
    flat = height.ravel()
    order = np.argsort(-flat, kind="stable")[:ADDED]
    node, label = np.unravel_index(order[flat[order] > floor], height.shape)
    return Atoms(node, label)


def _solved(observed: Observed, atoms: Atoms, shares: Floats, rest: Rest, members: int | None) -> Solution:
    unit = unit_of(shares, members)
    slopes = rest.slopes.copy()
    slopes[atoms.node, atoms.label] = shares * observed.squares[atoms.node, atoms.label]
    gains = np.where(observed.allowed, unit * slopes - unit**2 * observed.squares / 2, -np.inf)
    return finished(observed, atoms, shares, gains, unit, rest)


def finished(observed: Observed, atoms: Atoms, shares: Floats, gains: Floats, unit: float, rest: Rest) -> Solution:
    """A solution, with how well it fits."""
    residual = float(np.sqrt(rest.square / observed.square)) if observed.square else 0.0
    least = (1e-8 * residual + 1e-12) ** 2 * max(observed.square, np.finfo(float).tiny)
    variance = max(rest.square, least) / observed.numbers
    return Solution(atoms, shares, gains, unit, residual, variance, rest.deviations)


def unit_of(shares: Floats, members: int | None) -> float:
    """One member's share: of a known number of members, or the middle one of the large shares."""
    if not len(shares):
        return 1.0
    if members is not None:
        return float(shares.sum()) / members
    return float(np.median(shares[shares > shares.max() / 2]))


class _WorkingSet:
    """Atoms that may take part, their products, and the shares that fit best."""

    def __init__(self, observed: Observed) -> None:
        none = np.empty(0, dtype=np.int64)
        self.observed, self.atoms = observed, Atoms(none, none)
        self.shares, self.products = np.empty(0), np.empty((0, 0))

    def grow(self, more: Atoms) -> None:
        """Adds atoms, fits all, and drops those that take no part."""
        products = extended(self.products, self.observed, self.atoms, more)
        atoms = self.atoms.and_then(more)
        slopes = self.observed.slopes[atoms.node, atoms.label]
        shares = fitted(products, slopes, np.append(self.shares, np.zeros(len(more))))
        kept = shares > 0
        self.atoms, self.shares, self.products = atoms.where(kept), shares[kept], products[np.ix_(kept, kept)]


def extended(products: Floats, observed: Observed, atoms: Atoms, more: Atoms) -> Floats:
    """Products of atoms with each other [a, a], with those of more of them added [a + b, a + b]."""
    own = observed.between(more, more)
    if not len(atoms):
        return own
    across = observed.between(atoms, more)
    found: Floats = np.block([[products, across], [across.T, own]])
    return found


def fitted(products: Floats, slopes: Floats, start: Floats) -> Floats:
    """The non-negative x that minimises x^T P x / 2 - s^T x (Lawson and Hanson 1974, chapter 23).

    All are free at first; who would be negative is held at zero, and freed again where that would lower it.

    Args:
        products: P, symmetric and positive, [a, a].
        slopes: s, [a].
        start: non-negative x to start from.
    """
    diagonal = products.diagonal()
    scale = np.sqrt(np.maximum(diagonal, diagonal.max() * 1e-20))
    unit = products / np.outer(scale, scale) + RIDGE * np.eye(len(scale))
    wanted, shares = slopes / scale, start * scale
    free = np.ones(len(wanted), dtype=bool)
    for _ in range(10 * len(wanted) + 10):
        goal = np.zeros_like(shares)
        if free.any():
            goal[free] = cho_solve(cho_factor(unit[np.ix_(free, free)]), wanted[free])
        below = free & (goal <= 0)
        if not below.any():
            shares = goal
            rise = np.where(free, -np.inf, wanted - unit @ shares)
            if rise.max() <= 1e-10 * np.abs(wanted).max():
                break
            free[rise.argmax()] = True
            continue
        moving = below & (shares > 0)
        if moving.any():
            step = (shares[moving] / (shares[moving] - goal[moving])).min()
            shares = np.where(free, shares + step * (goal - shares), 0.0)
            free &= ~(below & (shares <= 1e-15 * np.abs(shares).max()))
        else:
            free &= ~below
        shares = np.where(free, np.maximum(shares, 0.0), 0.0)
    found: Floats = np.maximum(shares, 0.0) / scale
    return found
