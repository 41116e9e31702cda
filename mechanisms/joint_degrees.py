"""How many edges join nodes of which degrees, private in edges, with a public bound that may be exceeded."""

from fractions import Fraction

import numpy as np

from ..graphs.network import Ints, Network
from .exact_noise import discrete_laplace
from .guarantee import Guarantee, Released
from .public_inputs import drawable_epsilon, laplace_scale, linked, whole


def joint_degrees(
    network: Network, epsilon: Fraction | float, bound: int, rng: np.random.Generator | None = None
) -> Released:
    """Numbers of edges between nodes of each two degrees, epsilon-private in edges, noise on every cell.

    Cells that are 0 get noise like others, and how many there are does not depend on the edges. Degrees of the
    bound and more are one class: no edge is left out, and the guarantee holds whether the bound does or not.

    Args:
        network: two or more nodes, whose number is public.
        epsilon: above 0.
        bound: classes are the degrees 1 to bound - 1, and bound or more; public, and at most n - 1.
        rng: for audits only; None draws fresh entropy.

    Returns:
        Counts, which noise can make negative, [bound, bound] upper triangular: row and column i are degree i + 1.

    Raises:
        InputError: epsilon not above 0, a bound below 1, fewer than two nodes, a network of counts.

    Source: Wang and Wu 2013, with a public bound and classes of this module's own.
    """
    budget, network = drawable_epsilon(epsilon), linked(network, 2)
    counts = joint_degree_counts(network, bound)
    top, sensitivity = len(counts), joint_degree_counts_sensitivity(len(counts))
    cells = np.triu_indices(top)
    counts[cells] += discrete_laplace(laplace_scale(sensitivity, budget), len(cells[0]), rng)
    accountant = "discrete Laplace noise of scale L1 sensitivity / epsilon, drawn exactly; pure"
    public = ("the nodes and their number", f"the degree bound {bound}")
    notes = (f"degrees of {top} and more are one class", "counts can be negative")
    guarantee = Guarantee("edge", "add/remove", "central", budget, accountant=accountant, public=public)
    return Released(counts, guarantee, sensitivity, notes)


def joint_degree_counts(network: Network, bound: int) -> Ints:
    """Number of edges between nodes of degree i + 1 and j + 1, i <= j, [top, top]; top is min(bound, n - 1).

    The last class has the degrees of top and more.

    Raises:
        InputError: a bound below 1.
    """
    network = linked(network)
    top = max(min(whole("the degree bound", bound, 1), network.nodes - 1), 1)
    ends = np.sort(np.minimum(network.degrees, top)[network.edges] - 1, axis=0)
    found: Ints = np.bincount(ends[0] * top + ends[1], minlength=top * top).astype(np.int64)
    return found.reshape(top, top)


def joint_degree_counts_sensitivity(bound: int) -> int:
    """L1 change of `joint_degree_counts` by one edge, with a bound B: 4 B - 3.

    The edge is one more in a cell. Its end i, of degree d without it, changes class only if d < B; then the d other
    edges at i leave a cell each for another: 2 d <= 2 (B - 1). The same holds for the other end, and no edge is at
    both. The change is 4 B - 3 where two nodes of degree B - 1 without common neighbours are linked.
    """
    return 4 * bound - 3
