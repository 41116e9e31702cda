"""Degrees of a network, private in edges: their sorted sequence (Hay et al. 2009), and how often each occurs."""

from fractions import Fraction

import numpy as np

from ..graphs.network import Floats, Ints, Network
from .exact_noise import discrete_laplace
from .guarantee import Guarantee, Released
from .public_inputs import drawable_epsilon, laplace_scale, linked, whole

NODES = "the nodes and their number"


def degree_sequence(
    network: Network,
    epsilon: Fraction | float,
    rng: np.random.Generator | None = None,
    *,
    graphical: bool = False,
) -> Released:
    """The sorted degrees, epsilon-private in edges: discrete Laplace noise, then the nearest sequence that rises.

    Sorting is part of what is asked and comes before the noise. What follows the noise reads nothing but its
    outcome: isotonic regression, rounding, and limits of 0 and n - 1.

    Args:
        network: two or more nodes, whose number is public.
        epsilon: above 0.
        rng: for audits only; None draws fresh entropy.
        graphical: lower degrees until some network has them (`graphical_below`).

    Returns:
        Degrees in ascending order, [n].

    Raises:
        InputError: epsilon not above 0, fewer than two nodes, a network of counts.

    Source: Hay, Li, Miklau and Jensen 2009.
    """
    budget, network = drawable_epsilon(epsilon), linked(network, 2)
    noisy = _noised(sorted_degrees(network), sorted_degrees_sensitivity(), budget, rng)
    values = np.clip(np.rint(rising(noisy)), 0, network.nodes - 1).astype(np.int64)
    notes = ["degrees in ascending order; they belong to no node in particular"]
    if graphical:
        values = graphical_below(values)
        notes.append("lowered to degrees that a network can have")
    return Released(values, _guarantee(budget, NODES), sorted_degrees_sensitivity(), tuple(notes))


def sorted_degrees(network: Network) -> Ints:
    """Degrees in ascending order, [n]."""
    return np.sort(linked(network).degrees)


def sorted_degrees_sensitivity() -> int:
    """L1 change of `sorted_degrees` by one edge: two change by 1, and sorting brings none further apart."""
    return 2


def rising(noisy: Ints | Floats) -> Floats:
    """The sequence that never falls and is nearest, [n]: no further from any other such sequence than ``noisy`` is.

    Rounding it afterwards can cost some of that.
    """
    from scipy.optimize import isotonic_regression

    fitted: Floats = isotonic_regression(np.asarray(noisy, dtype=np.float64)).x
    return fitted


def nearest_with_sum(values: Ints | Floats, total: float) -> Floats:
    """The numbers of at least 0 with a sum that are nearest, in squares, [n]: all are lowered alike, down to 0."""
    if total <= 0:
        return np.zeros(len(values))
    falling = np.sort(values)[::-1]
    lowered = (np.cumsum(falling) - total) / np.arange(1, len(values) + 1)
    last = np.flatnonzero(falling > lowered)[-1:]  # none where a sum is lost in the rounding of huge numbers
    found: Floats = np.maximum(values - lowered[last if len(last) else 0], 0.0)
    return found


def degree_histogram(
    network: Network,
    epsilon: Fraction | float,
    bound: int | None = None,
    rng: np.random.Generator | None = None,
) -> Released:
    """How many nodes have each degree, epsilon-private in edges, by discrete Laplace noise on every cell.

    Cells that are 0 get noise like others, and how many there are does not depend on the edges.

    Args:
        network: two or more nodes, whose number is public.
        epsilon: above 0.
        bound: cells are 0 to this degree; public, and at most n - 1, which it is if not given.
        rng: for audits only; None draws fresh entropy.

    Returns:
        Counts, which noise can make negative, [bound + 1].

    Raises:
        InputError: epsilon not above 0, a bound below 1, fewer than two nodes, a network of counts.
    """
    budget, network = drawable_epsilon(epsilon), linked(network, 2)
    counts = degree_counts(network, bound)
    noisy = _noised(counts, degree_counts_sensitivity(), budget, rng)
    notes = ["counts can be negative; setting those to 0 makes sums too large"]
    known = [NODES]
    if bound is not None:
        known.append(f"the degree bound {bound}")
        notes.append(f"nodes of degree over {bound} are in no cell; how many they are is not told")
    return Released(noisy, _guarantee(budget, *known), degree_counts_sensitivity(), tuple(notes))


def degree_counts(network: Network, bound: int | None = None) -> Ints:
    """Number of nodes of each degree 0 to min(bound, n - 1); those of a larger degree are left out.

    Raises:
        InputError: a bound below 1.
    """
    network = linked(network)
    top = max(network.nodes - 1, 0)
    cells = 1 + (top if bound is None else min(whole("the degree bound", bound, 1), top))
    found: Ints = np.bincount(network.degrees, minlength=cells)[:cells].astype(np.int64)
    return found


def degree_counts_sensitivity() -> int:
    """L1 change of `degree_counts` by one edge: each of two nodes leaves a cell for another."""
    return 4


def graphical_below(degrees: Ints) -> Ints:
    """Degrees that a network can have, none larger than those given, by Havel and Hakimi's construction.

    The node that lacks most links is linked to those that lack most after it; what it lacks when no other node
    lacks any is taken off its degree. Degrees that a network has stay as they are.

    Args:
        degrees: ascending, each from 0 to n - 1, [n].

    Returns:
        Ascending, [n].
    """
    lacking, reached = degrees.copy(), degrees.copy()
    for last in range(len(degrees) - 1, -1, -1):
        wanted = int(lacking[last])
        rest = lacking[:last]
        made = min(wanted, last - int(np.searchsorted(rest, 0, side="right")))
        reached[last] -= wanted - made
        if made:
            _take_one_each(rest, made)
    return np.sort(reached)


def _take_one_each(ascending: Ints, count: int) -> None:
    """Takes 1 off the largest so many; of those that are all as large the first ones, so that the order stays."""
    least = ascending[len(ascending) - count]
    start = int(np.searchsorted(ascending, least, side="left"))
    end = int(np.searchsorted(ascending, least, side="right"))
    ascending[end:] -= 1
    ascending[start : start + end - (len(ascending) - count)] -= 1


def _noised(values: Ints, sensitivity: int, epsilon: Fraction, rng: np.random.Generator | None) -> Ints:
    return values + discrete_laplace(laplace_scale(sensitivity, epsilon), len(values), rng)


def _guarantee(epsilon: Fraction, *public: str) -> Guarantee:
    accountant = "discrete Laplace noise of scale L1 sensitivity / epsilon, drawn exactly; pure"
    return Guarantee("edge", "add/remove", "central", epsilon, accountant=accountant, public=public)
