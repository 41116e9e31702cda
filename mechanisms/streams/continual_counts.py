"""Numbers of messages and of linked pairs, told at every step (continual observation)."""

from fractions import Fraction

import numpy as np

from ...graphs.network import Ints
from ..guarantee import Guarantee, Released, Unit
from ..public_inputs import drawable_epsilon, whole
from .messages import Messages
from .running_sums import parts_of_a_term, private_sums


def event_count(
    messages: Messages, epsilon: Fraction | float, steps: int, rng: np.random.Generator | None = None
) -> Released:
    """The number of messages up to each step, epsilon-private in single messages, for all steps together.

    One message changes one term of the series by 1, and so the parts of its binary tree by log2(T) + 1 at most
    (`running_sums`). Someone who sends d messages is protected at d times epsilon: see `contact_count`.

    Args:
        messages: any. Those at step T or later are not counted.
        epsilon: above 0, for the whole series.
        steps: T, how often it is told; public, chosen without a look at the messages.
        rng: for audits only; None draws fresh entropy.

    Returns:
        Whole numbers, which can fall and be negative, [T].

    Raises:
        InputError: epsilon not above 0, or fewer than one step.

    Source: Chan, Shi and Song 2011 (section 5); Fichtenberger, Henzinger and Ost 2021 for graphs.
    """
    return _released(messages, epsilon, steps, "event", rng)


def contact_count(
    messages: Messages, epsilon: Fraction | float, steps: int, rng: np.random.Generator | None = None
) -> Released:
    """The number of pairs with a message so far, at each step, epsilon-private in all messages of a pair.

    Only the first message of a pair counts: whatever two people send, and however often, changes one term of
    the series by 1. That holds because a pair that had contact stays one: were links to end and begin again, no
    bound on what one pair changes would be left, and no release like this is offered for such data.

    For the arguments see `event_count`. A pair that has other messages in the other input, and not none, moves two
    terms: it is protected at twice epsilon.
    """
    return _released(messages.first_contacts(), epsilon, steps, "edge-history", rng)


def arrivals(messages: Messages, steps: int) -> Ints:
    """The number of messages at each of the first T steps, [T]."""
    found: Ints = np.bincount(messages.steps[messages.steps < steps], minlength=steps).astype(np.int64)
    return found


def _released(
    messages: Messages, epsilon: Fraction | float, steps: int, unit: Unit, rng: np.random.Generator | None
) -> Released:
    budget, steps = drawable_epsilon(epsilon), whole("the number of steps", steps, 1)
    guarantee = Guarantee(
        unit,
        "add/remove",
        "central",
        budget,
        accountant="discrete Laplace noise of scale (log2 T + 1) / epsilon on the parts of a binary tree, drawn "
        "exactly; pure, for all steps together",
        public=(f"the number of steps, {steps}",),
        covers=f"the whole series of {steps} numbers",
    )
    notes = (
        "one number a step; they can fall and be negative",
        f"what came at step {steps} or later is not counted",
    )
    return Released(private_sums(arrivals(messages, steps), budget, rng), guarantee, parts_of_a_term(steps), notes)
