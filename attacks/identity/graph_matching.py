"""Which node of one graph is which of another, from some that are known (seeds) on to others."""

import numpy as np
from numpy.typing import NDArray

from ...graphs.network import Floats, Ints, Network

PASSES = 100
"""Of propagation at most: matches may change each other in a circle."""
TURNS, WORTH, REVISIONS = 6, 1.002, 5
"""Turns of percolation and revision at most, the growth that is worth another, and rounds of a revision."""
Csr = tuple[Ints, Ints]


def percolation(one: Network, other: Network, seeds: Ints, threshold: int = 2) -> Ints:
    """Percolation graph matching (Yartseva and Grossglauser 2013).

    Each matched pair gives a mark to all pairs of a neighbour of the one with a neighbour of the other, and pairs
    with ``threshold`` marks are matched, until there is none. Where the authors take any such pair, here a node
    waits until one candidate has more marks than all others, and that candidate until no other node has as many
    for it: where one graph is part of the other, so that right pairs have all the marks there can be, no wrong
    pair is ever matched. The rest of the nodes, which look alike, stay unmatched.

    Args:
        one: of n nodes.
        other: of n' nodes.
        seeds: nodes of the one and their matches in the other, [2, s].
        threshold: r; the fewer, the farther it spreads.

    Returns:
        For each node of the one its match in the other, -1 where there is none, [n].
    """
    from .compiled_matching import percolation_round

    image, preimage = _from_seeds(one, other, seeds)
    weight, score = np.ones(other.nodes), np.zeros(other.nodes)
    touched, claim, claimed = np.empty(other.nodes, dtype=np.int64), np.full(other.nodes, -1), np.zeros(other.nodes)
    sides, stale = (_csr(one), _csr(other)), np.ones(one.nodes, dtype=bool)
    while True:
        fresh = bool(stale.all())
        matched = percolation_round(
            threshold, *sides, image, preimage, stale, weight, score, touched, claim, claimed
        )
        if not matched and fresh:
            return image
        if not matched:  # rivals may have been matched to others since: look at all of them again
            stale[:] = True


def propagation(
    one: Network, other: Network, seeds: Ints, rng: np.random.Generator, theta: float = 0.5, passes: int = PASSES
) -> Ints:
    """Propagation (Narayanan and Shmatikov 2009), for undirected graphs.

    A node's candidates score 1 / sqrt(degree) for each matched neighbour that they share with it. It is matched to
    the first of them if that leads the second by ``theta`` standard deviations of the scores of all nodes, and if
    it is in turn the first of that candidate's own candidates, by as much. Nodes that are matched are looked at
    again when there is news of their neighbours, and may be matched otherwise; seeds are not.

    Args:
        one: of n nodes.
        other: of n' nodes.
        seeds: nodes of the one and their matches in the other, [2, s].
        rng: of the order in which nodes are looked at.
        theta: the eccentricity that is asked for.
        passes: over all nodes, at most.

    Returns:
        For each node of the one its match in the other, -1 where there is none, [n].
    """
    from .compiled_matching import propagation_pass

    image, preimage = _from_seeds(one, other, seeds)
    sides = _csr(one), _csr(other)
    weights = tuple(1 / np.sqrt(np.maximum(np.diff(start), 1)) for start, _ in sides)
    scores = np.zeros(one.nodes), np.zeros(other.nodes)
    touched = np.empty(one.nodes, dtype=np.int64), np.empty(other.nodes, dtype=np.int64)
    free, stale = np.flatnonzero(image < 0), np.ones(one.nodes, dtype=bool)
    for _ in range(passes):
        if not propagation_pass(
            rng.permutation(free), theta, *sides, image, preimage, stale, weights, scores, touched
        ):
            break
    return image


def expansion(one: Network, other: Network, seeds: Ints, guessed: Ints, threshold: int = 2) -> Ints:
    """Percolation that guesses where it is stuck, and takes guesses back that turn out wrong.

    In the spirit of ExpandWhenStuck (Kazemi, Hassani and Grossglauser 2015): seeds may be wrong, and where no pair
    has ``threshold`` marks any more, a single one has to do. Here a guess is the pair of two nodes of which each
    fits the other best, by marks and by degree (`revised`); percolation and guesses go on by turns until they match
    hardly anybody anew.

    Args:
        one: of n nodes.
        other: of n' nodes.
        seeds: nodes of the one and their matches in the other, which are certain, [2, s].
        guessed: seeds that may be wrong, [2, g]; those that contradict certain ones are left out.
        threshold: r of the percolation.

    Returns:
        For each node of the one its match in the other, -1 where there is none, [n].
    """
    free = ~np.isin(guessed[0], seeds[0]) & ~np.isin(guessed[1], seeds[1])
    first, before = np.concatenate([seeds, guessed[:, free]], axis=1), 0
    for _ in range(TURNS):
        image = revised(one, other, percolation(one, other, first, threshold), seeds)
        matched = np.flatnonzero(image >= 0)
        if len(matched) <= before * WORTH:
            break
        first, before = np.stack([matched, image[matched]]), len(matched)
    return image


def revised(one: Network, other: Network, image: Ints, seeds: Ints, rounds: int = REVISIONS) -> Ints:
    """A match of which each pair has been compared with all others that either node could be in.

    A node's best candidate shares most matched neighbours with it and has a degree like it
    (`compiled_matching.likeness`). Pairs of which each is the other's best are matched. A pair that was matched
    before stays so where it is still the best for one of the two and the other has none that is better.

    Args:
        one: of n nodes.
        other: of n' nodes.
        image: the match so far [n], -1 where there is none.
        seeds: pairs that stay whatever speaks against them, [2, s].
        rounds: at most so many.
    """
    from .compiled_matching import favourites, news

    sides, density = (_csr(one), _csr(other)), _density(one, other)
    preimage, counts = _inverse(image, other.nodes), (one.nodes, other.nodes)
    scores, touched = ([np.zeros(n) for n in counts], [np.empty(n, dtype=np.int64) for n in counts])
    stale, best = ([np.ones(n, dtype=bool) for n in counts], [np.full(n, -1, dtype=np.int64) for n in counts])
    for _ in range(rounds):
        favourites(*sides, image, density, stale[0], scores[1], touched[1], best[0])
        favourites(*sides[::-1], preimage, 1 / density, stale[1], scores[0], touched[0], best[1])
        finer = _with_seeds(_agreed(image, *best), seeds)
        if (finer == image).all():
            break
        back = _inverse(finer, other.nodes)
        news(image, finer, sides[0], stale[0])
        news(preimage, back, sides[1], stale[1])
        image, preimage = finer, back
    return image


def unmatched_candidates(
    one: Network, other: Network, image: Ints, rng: np.random.Generator
) -> tuple[list[Ints], Ints]:
    """For the nodes of the one graph without a match those free nodes of the other that fit them best.

    These share most matched neighbours with it, and of them have a degree like it; where none shares any, the free
    nodes of the nearest degree.

    Returns:
        Sets of nodes, ascending within each, and for each node of the one the place of its set, [n]; -1 where it is
        matched.
    """
    from .compiled_matching import crowds, listed_crowds

    sides, density, preimage = (_csr(one), _csr(other)), _density(one, other), _inverse(image, other.nodes)
    score, touched = np.zeros(other.nodes), np.empty(other.nodes, dtype=np.int64)
    asked = np.flatnonzero(image < 0)
    sizes, sums = crowds(
        asked, *sides, image, preimage, density, score, touched, rng.integers(2**62, size=other.nodes)
    )
    found, own = asked[sizes > 0], np.full(one.nodes, -1, dtype=np.int64)
    _, first, which = np.unique(sums[sizes > 0], return_index=True, return_inverse=True)
    counted = sizes[sizes > 0][first]
    together = listed_crowds(found[first], counted, *sides, image, preimage, density, score, touched)
    sets = np.split(together, np.cumsum(counted)[:-1]) if len(counted) else []
    own[found] = which
    alone, place = _of_like_degree(one.degrees[asked[sizes == 0]] * density, other.degrees, preimage < 0)
    own[asked[sizes == 0]] = len(sets) + place
    return [*sets, *alone], own


def _of_like_degree(wanted: Floats, degrees: Ints, free: NDArray[np.bool_]) -> tuple[list[Ints], Ints]:
    """Sets of the free nodes of one degree, and for each degree wanted the place of the nearest.

    Where no node is free all of them are taken.
    """
    nodes = np.flatnonzero(free) if free.any() else np.arange(len(degrees))
    nodes = nodes[np.argsort(degrees[nodes], kind="stable")]
    there, begin = np.unique(degrees[nodes], return_index=True)
    asked, place = np.unique(wanted, return_inverse=True)
    nearest = np.abs(np.log1p(asked)[:, None] - np.log1p(there)[None]).argmin(1)
    return np.split(nodes, begin[1:]), nearest[place]


def _agreed(image: Ints, best: Ints, back: Ints) -> Ints:
    """Pairs of which each is the other's best, and those of before that are so for one of the two, [n]."""
    found, asking = np.full_like(image, -1), np.flatnonzero(best >= 0)
    asking = asking[back[best[asking]] == asking]
    found[asking] = best[asking]
    old = np.flatnonzero((image >= 0) & (found < 0))
    theirs = image[old]
    mine, yours = best[old], back[theirs]
    stays = ((mine == theirs) & (yours < 0)) | ((mine < 0) & (yours == old))
    stays &= ~np.isin(theirs, found)
    found[old[stays]] = theirs[stays]
    return found


def _with_seeds(image: Ints, seeds: Ints) -> Ints:
    """The match with certain pairs put right."""
    image[np.isin(image, seeds[1])] = -1
    image[seeds[0]] = seeds[1]
    return image


def _inverse(image: Ints, nodes: int) -> Ints:
    """The match of each node of the other graph, -1 where there is none, [n']."""
    preimage, matched = np.full(nodes, -1, dtype=np.int64), np.flatnonzero(image >= 0)
    preimage[image[matched]] = matched
    return preimage


def _density(one: Network, other: Network) -> float:
    """By how much there are more edges in the other graph than in the one, which may have a part of them."""
    return other.adjacency.nnz / one.adjacency.nnz if one.size and other.size else 1.0


def _from_seeds(one: Network, other: Network, seeds: Ints) -> tuple[Ints, Ints]:
    """The matches of the nodes of the one graph [n], and of those of the other [n']."""
    image, preimage = np.full(one.nodes, -1, dtype=np.int64), np.full(other.nodes, -1, dtype=np.int64)
    image[seeds[0]], preimage[seeds[1]] = seeds[1], seeds[0]
    return image, preimage


def _csr(network: Network) -> Csr:
    rows = network.adjacency
    return rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
