"""How many neighbours each user has in each group, reported by the user with noise: edge-local privacy."""

from fractions import Fraction

import numpy as np

from ..graphs.network import Ints, Network
from .exact_noise import discrete_laplace
from .guarantee import Guarantee, Released
from .public_inputs import drawable_epsilon, laplace_scale, linked


def group_report(
    network: Network,
    groups: Ints,
    epsilon: Fraction | float,
    rng: np.random.Generator | None = None,
) -> Released:
    """Each user's numbers of neighbours in each group, with discrete Laplace noise of the user's own.

    An edge stands in the lists of both its ends. A user whose list alone changes in one place is protected at half
    of epsilon; for an edge, which changes two lists, all reports together give epsilon.

    Args:
        network: whose row of neighbours each user holds.
        groups: of each node, 0 to k - 1, public, [n].
        epsilon: for an edge, above 0.
        rng: for audits only; None draws fresh entropy.

    Returns:
        Numbers, which noise can make negative, [n, k].

    Raises:
        InputError: epsilon not above 0, fewer than two nodes, a network of counts.

    Source: Qin, Yu, Yang, Khalil, Xiao and Ren 2017, section 4 (phases 1 and 2).
    """
    budget, counts = drawable_epsilon(epsilon), neighbours_in(linked(network, 2), groups)
    noise = discrete_laplace(report_scale(budget), counts.size, rng)
    notes = ("numbers can be negative; setting those to 0 makes sums too large",)
    promised = report_guarantee(budget, "the groups")
    return Released(counts + noise.reshape(counts.shape), promised, report_sensitivity(), notes)


def neighbours_in(network: Network, groups: Ints) -> Ints:
    """How many neighbours each node has in each group, [n, k] for groups 0 to k - 1 [n]."""
    low, high = linked(network).edges
    kinds = int(groups.max(initial=0)) + 1
    cells = np.concatenate([low * kinds + groups[high], high * kinds + groups[low]])
    found: Ints = np.bincount(cells, minlength=network.nodes * kinds).astype(np.int64)
    return found.reshape(network.nodes, kinds)


def report_sensitivity() -> int:
    """L1 change of `neighbours_in` by one edge: a number of either end changes by 1. Of one user's list: 1."""
    return 2


def report_scale(epsilon: Fraction) -> Fraction:
    """Scale of the noise that protects an edge at epsilon, and one place of one user's list at half of it."""
    return laplace_scale(report_sensitivity(), epsilon)


def report_guarantee(epsilon: Fraction, *public: str) -> Guarantee:
    """What reports promise that together give epsilon for an edge."""
    return Guarantee(
        "edge",
        "add/remove",
        "local",
        epsilon,
        accountant="discrete Laplace noise in every number that a user reports, drawn exactly; pure; one place of "
        f"one user's list is protected at epsilon / 2 = {float(epsilon / 2):.6g}, and an edge stands in two lists",
        public=("the nodes and their number", *public),
    )
