"""The degrees of a growing network, told at every step, private in all messages of a pair."""

from fractions import Fraction

import numpy as np

from ...graphs.network import Ints
from ..degrees import NODES, rising
from ..exact_noise import discrete_laplace
from ..guarantee import Guarantee, Released
from ..public_inputs import drawable_epsilon, laplace_scale, whole
from .messages import Messages


def degree_sequences(
    messages: Messages, epsilon: Fraction | float, steps: int, rng: np.random.Generator | None = None
) -> Released:
    """The sorted numbers of people whom each one had contact with so far, at each step, private in edge-histories.

    Each step's sequence gets discrete Laplace noise of scale 2 T / epsilon. Then the nearest one that rises from
    node to node is taken, and of each rank the nearest one that rises from step to step.

    Song et al. (2018) publish numbers of nodes of each degree instead, by differences from step to step. A pair
    that had contact earlier lifts every later contact of its two people by one degree. So under a degree bound D it
    moves up to D numbers for either of them, each from one step to another. In the binary tree of `running_sums`
    that is up to 4 D (log2 T + 1), against 2 T here, and the sorted sequence needs no bound.

    Args:
        messages: two or more nodes, whose number is public. Those at step T or later are not counted.
        epsilon: above 0, for all steps together.
        steps: T, how often the sequence is told; public.
        rng: for audits only; None draws fresh entropy.

    Returns:
        Degrees in ascending order at each step, [T, n].

    Raises:
        InputError: epsilon not above 0, fewer than one step, or fewer than two nodes.
    """
    budget, steps = drawable_epsilon(epsilon), whole("the number of steps", steps, 1)
    whole("the number of nodes", messages.nodes, 2)
    told = sorted_contacts(messages, steps)
    scale = laplace_scale(sorted_contacts_sensitivity(steps), budget)
    noisy = told + discrete_laplace(scale, told.size, rng).reshape(told.shape)
    by_node = np.stack([rising(row) for row in noisy])
    by_step = np.stack([rising(rank) for rank in by_node.T], axis=1)
    values = np.clip(np.rint(by_step), 0, messages.nodes - 1).astype(np.int64)
    guarantee = Guarantee(
        "edge-history",
        "add/remove",
        "central",
        budget,
        accountant="discrete Laplace noise of scale 2 T / epsilon on all degrees at all steps, drawn exactly; pure",
        public=(NODES, f"the number of steps, {steps}"),
        covers=f"what is told at all {steps} steps together",
    )
    notes = ("degrees in ascending order at each step; they belong to no node in particular",)
    return Released(values, guarantee, sorted_contacts_sensitivity(steps), notes)


def sorted_contacts(messages: Messages, steps: int) -> Ints:
    """Sorted numbers of people whom each one had contact with up to each of the first T steps, [T, n]."""
    first = messages.first_contacts()
    kept = first.steps < steps
    new = np.zeros((steps, messages.nodes), dtype=np.int64)
    for end in first.ends[:, kept]:
        np.add.at(new, (first.steps[kept], end), 1)
    found: Ints = np.sort(new.cumsum(axis=0), axis=1)
    return found


def sorted_contacts_sensitivity(steps: int) -> int:
    """L1 change of `sorted_contacts` by all messages of a pair: two degrees by 1 from their first step on."""
    return 2 * steps
