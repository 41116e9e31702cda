"""What a private release is asked for in the open: epsilon, bounds, k, and the number of nodes.

None of it may be read off the edges that are to be protected.
"""

import math
from fractions import Fraction
from numbers import Integral

from ..errors import InputError
from ..graphs.network import Network

FINEST = 2**54
"""Denominators that noise is drawn with stay below this, so that whole numbers of 64 bits do."""


def exact_epsilon(epsilon: Fraction | float) -> Fraction:
    """Epsilon as an exact fraction. A float stands for the number that it is written as: 0.1 is 1/10.

    Raises:
        InputError: not a positive, finite number.
    """
    try:
        exact = epsilon if isinstance(epsilon, Fraction) else Fraction(repr(float(epsilon)))
    except (ValueError, TypeError, OverflowError):
        exact = Fraction(0)
    if exact <= 0:
        raise InputError(f"epsilon is {epsilon}: expected a finite number above 0, such as 0.5")
    return exact


def drawable_epsilon(epsilon: Fraction | float) -> Fraction:
    """Epsilon that noise is drawn for: what needs a denominator over 2^54 is rounded down, to a stronger promise.

    Raises:
        InputError: not a positive, finite number, or below 2^-54.
    """
    exact = exact_epsilon(epsilon)
    if exact.denominator <= FINEST:
        return exact
    rounded = Fraction(math.floor(exact * FINEST), FINEST)
    if not rounded:
        raise InputError(
            f"epsilon is {epsilon}: expected 2^-54 or more, nothing is left of a value under such noise"
        )
    return rounded


def whole(name: str, value: int, least: int, most: int | None = None) -> int:
    """A whole number that is public, within its limits.

    Raises:
        InputError: it is no whole number, or beyond a limit.
    """
    expected = f"of {least} or more" if most is None else f"from {least} to {most}"
    integral = isinstance(value, Integral) and not isinstance(value, bool)
    if not integral or value < least or (most is not None and value > most):
        raise InputError(f"{name} is {value}: expected a whole number {expected}")
    return int(value)


def linked(network: Network, least: int = 0) -> Network:
    """The plain network, in which two nodes are linked or not: the edges that a guarantee speaks of.

    Args:
        network: its types and weights of edges are left out; several edges between two nodes are one.
        least: nodes that there must be. Only for a unit under which the number of nodes is public.

    Raises:
        InputError: counts of edges instead of edges, or fewer nodes.
    """
    if network.counts is not None:
        raise InputError("the network holds counts of edges between groups: give the network they were taken of")
    if network.nodes < least:
        raise InputError(f"the network has {network.nodes} nodes: expected {least} or more, an edge needs two")
    return network.plain()


def laplace_scale(sensitivity: int, epsilon: Fraction) -> Fraction:
    """Sensitivity / epsilon, rounded up where it needs a numerator over 2^60: more noise than epsilon asks for."""
    scale = sensitivity / epsilon
    if scale.numerator < 2**60:
        return scale
    parts = 2 ** max(60 - math.ceil(scale).bit_length(), 0)
    return Fraction(math.ceil(scale * parts), parts)
