"""Chains of switches or edits on a connected graph that keep features of it.

A chain runs in blocks. Within a block compiled code judges each change by its first-order effect on eigenvalues and
by its exact effect on the number of triangles. After a block the features are computed from the graph: if one is
outside its tolerance, the whole block is undone and the next one is shorter. So what shall be kept is kept,
whatever first-order effects are worth.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from ...graphs.network import Floats, Network
from .edge_mcmc import Chain, Edits, Ends, Switches
from .features import Feature, Features, features
from .switching_chain import ENDLESS, SwitchCounts

DRIFT = 0.01
"""Sum of first-order changes of an eigenvalue, relative, after which its vector is stale and a block ends."""
AIM, KEEP = 0.95, 0.98
"""Share of a tolerance within which single changes and blocks stay: the chain's eigenvalues are not the finest."""
PRECISION = 3e-3
"""Of its eigenvectors' residuals; finer where the tolerance is small."""
LEAST = 10
"""Changes that a block may have at least; a tenth of the edges is the most."""
GIVE_UP = 300
"""Blocks of a single change, undone one after the other, after which a chain ends."""


@dataclass(frozen=True)
class Constraints:
    """What a chain keeps.

    Attributes:
        names: features that stay near what they were.
        tolerance: how near, relative.
        turned: whether each change must also move lambda_1 and mu_2 towards what they were, to first order.
    """

    names: tuple[Feature, ...]
    tolerance: float
    turned: bool = False


def constrained_switches(
    core: Network,
    constraints: Constraints,
    rng: np.random.Generator,
    *,
    proposals: int,
    successes: int = ENDLESS,
) -> tuple[Network, SwitchCounts]:
    """Switches random pairs of a connected network's edges within constraints; degrees and connectedness stay.

    Args:
        core: connected, plain.
        constraints: what is kept.
        rng: of the draws.
        proposals: stop after so many; those that were illegal, rejected or undone count.
        successes: stop after so many switches that stayed.

    Returns:
        The switched network and how often what happened. Fewer than asked for mean that the chain gave up.
    """
    if core.size < 2:
        return core, SwitchCounts(proposals, 0)  # every step stays
    chain = Switches(core, constraints.turned, "transitivity" in constraints.names, rng)
    return _run(chain, core, constraints, proposals, successes)


def constrained_edits(
    core: Network, constraints: Constraints, rng: np.random.Generator, *, proposals: int, successes: int
) -> tuple[Network, SwitchCounts]:
    """Deletes random edges of a connected network and adds others within constraints; connectedness stays.

    Only edges that were there at first are deleted, and none of them returns.

    Args:
        core: connected, plain.
        constraints: what is kept, eigenvalues only.
        rng: of the draws.
        proposals: stop after so many.
        successes: stop after so many edits that stayed.

    Returns:
        As `constrained_switches`.
    """
    if core.size < 2:
        return core, SwitchCounts(0, 0)
    return _run(Edits(core, constraints.turned, rng), core, constraints, proposals, successes)


def _run(
    chain: Chain, core: Network, constraints: Constraints, proposals: int, successes: int
) -> tuple[Network, SwitchCounts]:
    watch = Watch(core, constraints)
    state, proposed, accepted, undone = watch.target, 0, 0, 0
    pace, most = 1, max(core.size // 10, LEAST)
    while proposed < proposals and accepted < successes and undone < GIVE_UP:
        saved, rows = chain.saved(), watch.rows(state)
        wanted = min(pace, successes - accepted)
        tried, made = chain.advance(watch.vectors(state), rows, proposals - proposed, wanted)
        proposed += tried
        if not made:  # the proposals are used up, or nothing is left to change
            break
        found = watch.measured(chain.ends, state, round(rows[2, 0]))
        if found.near(watch.target, KEEP * constraints.tolerance):
            accepted, state, pace, undone = accepted + made, found, min(2 * pace, most), 0
        else:
            chain.restore(saved)
            undone, pace = undone + (pace == 1), max(pace // 2, 1)
    return Network.from_edges(core.nodes, chain.ends[::2], chain.ends[1::2]), SwitchCounts(proposed, accepted)


class Watch:
    """The features of a graph that changes, and how far they may go.

    Attributes:
        target: what they were at first.
    """

    def __init__(self, core: Network, constraints: Constraints) -> None:
        self._constraints, self._nodes = constraints, core.nodes
        self.target = features(core.adjacency, constraints.names)

    def rows(self, state: Features) -> Floats:
        """What the compiled loops know of each feature, [3, 5]; see `constrained_kernels`."""
        rows = np.array([[0, 0, np.inf, factor, np.inf] for factor in (2.0, -2.0, 0.0)])
        now, was = state.tracked(), self.target.tracked()
        for row, name in zip(rows, ("lambda_1", "mu_2", "triangles"), strict=True):
            if name in now:
                row[:3] = now[name], was[name], AIM * self._constraints.tolerance * was[name]
                row[4] = np.inf if name == "triangles" else DRIFT * was[name]
        return rows

    def vectors(self, state: Features) -> Floats:
        """The eigenvectors of lambda_1 and mu_2, zeros for one that is not kept, [n, 2]."""
        none = np.zeros(self._nodes)
        low = none if state.low is None else state.low[:, 0]
        return np.stack([none if state.leading is None else state.leading, low], 1)

    def measured(self, ends: Ends, state: Features, triangles: int) -> Features:
        """The features of the graph as it is, from a state that it was in shortly before."""
        rows = np.concatenate([ends[::2], ends[1::2]]), np.concatenate([ends[1::2], ends[::2]])
        adjacency = csr_array((np.ones(len(ends)), rows), shape=(self._nodes, self._nodes))
        precision = min(PRECISION, self._constraints.tolerance / 20)
        return features(adjacency, self._constraints.names, state, triangles, precision)
