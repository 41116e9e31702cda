"""Links replaced by the ends of short random walks."""

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...graphs.network import Floats, Ints, Network
from ...graphs.pair_codes import codes, ends
from ...settings import Settings
from ...targets.defense import Defense


class RandomWalkSettings(Settings):
    """Settings of `RandomWalkMod`."""

    steps: int = Field(3, ge=2, le=10, description="t: a link leads to where a walk of so many steps ends")
    alpha: float = Field(1.0, gt=0, le=1, description="probability of one link of each node; 1: Mittal et al. 2013")
    tries: int = Field(10, ge=1, description="M: walks before a link is given up that would be a loop or a repeat")
    simple: bool = Field(True, description="draw again until the link is new; else publish the multigraph's counts")


class RandomWalkMod(Defense):
    """Replaces each link by one to the end of a short random walk that starts with it.

    RandWalk-Mod of Nguyen, Imine and Rusinowitch 2015 (AsiaCCS), after Mittal, Papamanthou and Song 2013 (NDSS).
    Each node u walks ``steps`` steps over each of its d links in turn and proposes a link to the end: one of these
    proposals is taken with probability ``alpha``, the others with (d / 2 - alpha) / (d - 1), a lone one with 1 / 2.
    So u makes d / 2 links and, the walk being stationary, as many arrive.

    **What keeps degrees is the multigraph** of `walk_multigraph`, and in expectation only: there E[d'] = d, loops
    counted twice, and E[A'] = A P^(t-1). Neither release is that multigraph, since a `Network` has no loops and no
    repeated edges. With ``simple`` a proposal that would be a loop or a repeat walks again, up to ``tries`` times,
    and is given up after that: edges and hubs' degrees are lost, most for 2 steps, which often lead back.
    Without, loops are dropped and repeats published as one edge whose weight says how many there were: the
    weights around a node sum to d in expectation, less twice its loops, and its number of neighbours to less.

    Walks end near where they started, so communities survive; for the same reason a link of a small or sparse part
    often leads to one that was there: measure what share of edges is kept, it can be half.
    """

    name = "random-walk"
    phrase = "with links replaced by random walks"
    strength = "steps"
    sweep = (2, 3, 5, 10)
    alternative = "random-switch"
    guarantee = "degrees in expectation, of the multigraph before loops and repeats go"
    Settings = RandomWalkSettings
    settings: RandomWalkSettings

    def on_graph(self, network: Network, seed: np.random.SeedSequence) -> Network:
        rng, chosen = np.random.default_rng(seed), self.settings
        if chosen.simple:
            pairs = walk_simple(network, chosen.steps, chosen.alpha, chosen.tries, rng)
            return network.with_edges(pairs, rng)
        one, other = walk_multigraph(network, chosen.steps, chosen.alpha, rng)
        pairs, times = np.unique(codes(one, other, network.nodes)[one != other], return_counts=True)
        return Network.from_edges(network.nodes, *ends(pairs, network.nodes), weights=times.astype(np.float64))


def walk_multigraph(network: Network, steps: int, alpha: float, rng: np.random.Generator) -> Ints:
    """The ends of the links of RandWalk-Mod's multigraph, loops and repeats among them.

    Of each node's links the one with probability ``alpha`` is drawn at random (the authors' code takes the first in
    the order of storage), since only then all links are alike and E[A'] is symmetric: A P^(steps - 1).

    Args:
        network: weights and types do not count.
        steps: t, at least 1; with 1 the links are those that are there.
        alpha: probability of one link of each node, in (0, 1].
        rng: of the walks and of which links are taken.

    Returns:
        The node that proposed each link, and where its walk ended, [2, s].
    """
    source, target = _taken(network, alpha, rng)
    return np.stack([source, _walked(network, target, steps - 1, rng)])


def walk_simple(network: Network, steps: int, alpha: float, tries: int, rng: np.random.Generator) -> Ints:
    """The links of RandWalk-Mod without loops and repeats.

    All nodes walk at the same time, in rounds: whoever ends at itself or at a link that is there already walks
    again in the next. (The authors go node by node, so that late nodes collide with early ones; in their
    code a walk that succeeds at the last allowed try is lost.) Whether a proposal is taken does not depend on
    where it leads, so coins are thrown first and only links that are taken walk.

    Args:
        network: weights and types do not count.
        steps: t, at least 1.
        alpha: probability of one link of each node, in (0, 1].
        tries: rounds, M.
        rng: of the walks and of which links are taken.

    Returns:
        Codes of the linked pairs (`pair_codes.codes`), ascending, each once.
    """
    source, first = _taken(network, alpha, rng)
    found = np.empty(0, dtype=np.int64)
    for _ in range(tries):
        reached = _walked(network, first, steps - 1, rng)
        pairs = codes(source, reached, network.nodes)
        new = np.zeros(len(pairs), dtype=bool)
        new[np.unique(pairs, return_index=True)[1]] = True  # of several that ended alike, one
        new &= (source != reached) & ~_among(pairs, found)
        found = np.sort(np.concatenate([found, pairs[new]]))
        source, first = source[~new], first[~new]
        if not len(source):
            break
    return found


def _among(pairs: Ints, found: Ints) -> NDArray[np.bool_]:
    """Which codes are among others, which ascend."""
    there: NDArray[np.bool_] = np.append(found, -1)[np.searchsorted(found, pairs)] == pairs
    return there


def _taken(network: Network, alpha: float, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """The links, from each of their ends, that are proposed and taken: source and target in random order."""
    plain = network.plain()
    source = np.repeat(np.arange(plain.nodes), plain.degrees)
    target = plain.adjacency.indices.astype(np.int64)
    start = np.cumsum(plain.degrees) - plain.degrees
    certain = np.zeros(len(source), dtype=bool)
    linked = plain.degrees > 0
    certain[start[linked] + rng.integers(plain.degrees[linked])] = True
    taken = rng.random(len(source)) < _chances(plain.degrees, alpha)[certain.astype(np.int64), source]
    order = rng.permutation(int(taken.sum()))
    return source[taken][order], target[taken][order]


def _chances(degrees: Ints, alpha: float) -> Floats:
    """Probabilities of a node's other links and of the one that is drawn, [2, n]; they sum to half its degree."""
    others = (degrees / 2 - alpha) / np.maximum(degrees - 1, 1)
    return np.stack([others, np.where(degrees == 1, 0.5, alpha)])


def _walked(network: Network, nodes: Ints, steps: int, rng: np.random.Generator) -> Ints:
    """Where walks of so many steps from nodes with links end."""
    plain = network.plain()
    neighbours, degrees = plain.adjacency.indices, plain.degrees
    start = np.cumsum(degrees) - degrees
    for _ in range(steps):
        nodes = neighbours[start[nodes] + rng.integers(degrees[nodes])].astype(np.int64)
    return nodes
