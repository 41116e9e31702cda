"""Who is accused of what by a pursuit: node, label and owner, who else it may be, and whether that is proven."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import gammaln

from ...graphs.network import Floats, Ints
from ..attack import Accusation
from .node_gradients import Atoms
from .pursuit import LEAST, ROUNDING, Observed, Seen, Solution, pursue
from .sights import Sight
from .whole_units import whole_units

SOME = 0.05
"""Share of a member below which a guess is no guess."""
WHOLE = 1e-3
"""How far from a whole number the members in a set may be for them to be whole people: 4e-5 is much."""
LEAST_WHOLE = 3
"""Whole people that a proof needs where their number is not told: the middle one is whole by itself."""
ENOUGH = math.log(1000)
"""Evidence that an accusation needs where something is left over, in nats: 1,000 times likelier than any swap."""
MOST_WRONG = 0.25
"""Share of a choice that may be wrong, as decoys tell, for anybody in it to be accused."""
NEAR = 1e-2
"""Relative distance of what the last layer reads of two nodes up to which it is checked whether they are twins."""


@dataclass(frozen=True, eq=False)
class Found:
    """What was found out of one group of labelled nodes.

    Attributes:
        sight: what was seen of it.
        observed: the equations.
        convex: who takes part, with shares of any size.
        solution: who takes part: whole people, where their number is known.
        whoever: which subjects, and decoys behind these, may be in it with which labels, [s + z, C] bool.
        wide: the equations for subjects and decoys.
        contested: whether no choice of as many as there are explains what was seen as well as the solution does.
    """

    sight: Sight
    observed: Observed
    convex: Solution
    solution: Solution
    whoever: np.ndarray
    wide: Callable[[Seen], Seen]
    contested: bool = False

    def log_likelihoods(self) -> Floats:
        """How much likelier what was seen is with each node of its best label than without it, in nats [s]."""
        found: Floats = self.solution.gains.max(1) / (self.solution.variance * self.leaning)
        return found

    @property
    def candidates(self) -> int:
        """How many subjects there are."""
        return len(self.observed.allowed)

    @cached_property
    def everybody(self) -> Observed:
        """The equations where decoys may take part."""
        return Observed([self.wide(one) for one in self.observed.seen], self.whoever)

    @cached_property
    def leaning(self) -> float:
        """How much more what is left over leans towards decoys than noise would, 1 at least.

        The squared product of white noise with a unit atom has its variance for a mean. What is left over of people
        whom the model does not know, or of another model, is no white noise and leans towards whoever is alike: all
        evidence is divided by as much (genomic control does the same, Devlin and Roeder 1999).
        """
        if self.solution.exact:
            return 1.0
        leant = self._decoys[0] ** 2 / self._decoys[1]
        return max(float(leant.mean()) / self.solution.variance, 1.0) if leant.size else 1.0

    @cached_property
    def enough(self) -> float:
        """Evidence that an accusation needs, in nats: `ENOUGH`, and more than speaks for any decoy.

        Without decoys nothing tells what is left over from noise: people are ranked, and nobody is accused.
        """
        slopes, squares = self._decoys
        if not slopes.size:
            return math.inf
        gains = self.solution.unit * slopes - self.solution.unit**2 * squares / 2
        return max(ENOUGH, float(gains.max(initial=0.0)) / (self.solution.variance * self.leaning))

    def decoys_serve(self) -> bool:
        """Whether decoys that may be chosen are, so often that many of the candidates may be chosen by chance.

        What is left over of people whom nobody asks about, or noise with heavy tails, is explained by whoever is
        alike, and by decoys as often as by candidates. Of a known number of people the best choice is searched for,
        and once more where decoys are in the one that is found: the better one counts. An exact solution that takes
        no decoy, though it may, is no chance.
        """
        if self.sight.members is None:
            found = pursue(self.everybody, None, LEAST)
            decoys = self._taken(found) >= self.candidates
            return bool(decoys.any() or not found.exact) and self._by_chance(found)
        unit, squares = self.convex.unit, self.everybody.squares
        alone = np.where(self.whoever, unit * self.everybody.slopes - unit**2 * squares / 2, -np.inf)
        convex = np.full_like(alone, -np.inf)
        convex[: self.candidates] = self.convex.gains
        found = whole_units(self.everybody, [convex, alone], unit, self.sight.members)
        if self._by_chance(found):
            other = whole_units(self.everybody, [convex], unit, self.sight.members)
            found = min(found, other, key=lambda one: one.residual)
        return self._by_chance(found)

    def _by_chance(self, chosen: Solution) -> bool:
        """Whether more than `MOST_WRONG` of the candidates in a choice may be wrong, as decoys in it tell.

        If d decoys are chosen, (1 + d) times the candidates for each decoy is more than the number of wrong
        candidates, in the mean (Barber and Candes 2015).
        """
        nodes, taken = np.flatnonzero(self.whoever.any(1)), self._taken(chosen)
        decoys, others = int((nodes >= self.candidates).sum()), int((nodes < self.candidates).sum())
        wrong = (1 + int((taken >= self.candidates).sum())) * others / max(decoys, 1)
        return wrong > MOST_WRONG * int((taken < self.candidates).sum())

    @staticmethod
    def _taken(chosen: Solution) -> Ints:
        """Nodes that take part with half of a member or more."""
        found: Ints = chosen.atoms.node[chosen.shares > chosen.unit / 2]
        return found

    @cached_property
    def _decoys(self) -> tuple[Floats, Floats]:
        """Products of decoys with what is left over, and their squared lengths, [z, C]."""
        rest = self.everybody.rest(self.solution.atoms, self.solution.shares)
        return rest.slopes[self.candidates :], self.everybody.squares[self.candidates :]


def accusations(found: Sequence[Found]) -> list[Accusation]:
    """Everybody who is accused, each once: a node that two gradients speak for goes to the likelier one.

    Where nothing but rounding is left of a gradient, and whole people add up to it, its solution is taken at its
    word. Else evidence is asked for, of the choice as a whole and of each node in it, more than what speaks for any
    decoy.
    """
    best: dict[int, tuple[float, Accusation]] = {}
    for one in found:
        told = one.log_likelihoods()
        for said in _believed(one, told):
            likely = float(told[said.subject])
            if said.subject not in best or likely > best[said.subject][0]:
                best[said.subject] = likely, said
    return [said for _, (_, said) in sorted(best.items())]


def _believed(found: Found, told: Floats) -> list[Accusation]:
    """The accusations for which there is evidence enough, if decoys do not serve as well."""
    if found.solution.exact:
        said = _accusations(found)
        return said if any(one.proven for one in said) or not said or not found.decoys_serve() else []
    if found.contested or _evidence(found) < ENOUGH:
        return []
    likely = [said for said in _accusations(found) if told[said.subject] >= found.enough]
    return likely if likely and not found.decoys_serve() else []


def _evidence(found: Found) -> float:
    """How much likelier what was seen is with the choice than with none, in nats, less the log of all choices.

    Of Gaussian noise alone the best of n choices of one direction explains more than log n + t with a chance of
    exp(-t) at most: half of a chi-square of one degree exceeds that with a chance of exp(-log n - t), for each.
    """
    observed, solution = found.observed, found.solution
    nodes, size = int(observed.allowed.any(1).sum()), len(solution.atoms)
    explained = max(observed.square - solution.residual**2 * observed.square, 0.0) / (
        2 * solution.variance * found.leaning
    )
    choices = gammaln(nodes + 1) - gammaln(size + 1) - gammaln(nodes - size + 1)
    return explained - float(choices) - size * math.log(max(int(observed.allowed.any(0).sum()), 1))


def _accusations(found: Found) -> list[Accusation]:
    """Everybody in a solution: of each set of twins as many as have shares.

    They are proven where the solution is exact and most of it whole people: shares of any size may add up to
    something else. Of a known number of members whole people are asked for. Of an unknown one the unit is the
    middle share itself, which is whole whatever it is: two more must be.
    """
    sets = [one for one in _sets(found) if one.count]
    whole = sum(one.count for one in sets if one.whole)
    mostly = found.solution.exact and 2 * whole > max(sum(one.count for one in sets), found.sight.members or 0)
    mostly = mostly and (found.sight.members is not None or whole >= LEAST_WHOLE)
    if found.solution.exact and found.sight.members is not None and not mostly:
        return []
    return [
        Accusation(node, label, found.sight.owner, mostly and one.whole, one.others(node))
        for one in sets
        for node, label in one.accused
    ]


@dataclass(frozen=True)
class _Set:
    """Nodes that nothing seen tells from one another.

    Attributes:
        nodes: which, those with the largest shares first.
        labels: of each.
        share: how many members they are together.
    """

    nodes: tuple[int, ...]
    labels: tuple[int, ...]
    share: float

    @property
    def count(self) -> int:
        """How many of them are members."""
        return min(round(self.share), len(self.nodes))

    @property
    def whole(self) -> bool:
        """Whether they are whole people, but for rounding."""
        return abs(self.share - self.count) <= WHOLE

    @property
    def accused(self) -> Iterator[tuple[int, int]]:
        """As many as are members, with their labels: of twins those who got the largest shares."""
        return islice(zip(self.nodes, self.labels, strict=True), self.count)

    def others(self, node: int) -> tuple[int, ...]:
        """Who may be meant in the place of a node."""
        alike = set(self.nodes) - {node} if self.count < len(self.nodes) else ()
        return tuple(sorted(alike))


def _sets(found: Found) -> Iterator[_Set]:
    """Who takes part in a solution, twins together."""
    solution = found.solution
    kept = solution.atoms.where(solution.shares / solution.unit > SOME)
    if solution.exact:  # a person has one label: shares of several add up to something else
        kept = kept.where(np.bincount(kept.node, minlength=len(solution.gains))[kept.node] == 1)
    atoms, links = _with_twins(found, kept)
    size, units = len(atoms), solution.units
    graph = coo_array((np.ones(links.shape[1]), (links[0], links[1])), shape=(size, size))
    groups = connected_components(graph, directed=False)[1] if size else np.empty(0, dtype=int)
    for group in range(int(groups.max(initial=-1)) + 1):
        own = np.flatnonzero(groups == group)
        share = units[atoms.node[own], atoms.label[own]]
        own = own[np.argsort(-share, kind="stable")]
        yield _Set(tuple(atoms.node[own].tolist()), tuple(atoms.label[own].tolist()), float(share.sum()))


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
