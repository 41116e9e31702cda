"""Randomised response on edges that keeps about as many of each node's as it has."""

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
from pydantic import Field, model_validator

from ...graphs.network import Floats, Ints
from ...graphs.pair_codes import codes, distinct, ends, listed, pairs_at
from ...mechanisms.degrees import nearest_with_sum
from ...mechanisms.exact_noise import discrete_laplace
from ...mechanisms.public_inputs import drawable_epsilon, laplace_scale
from .edge_response import EdgeRandomisedResponse, EdgeResponseSettings, flip_chance, successes

ROUNDS, CLOSE = 200, 1e-9
LEAST_WEIGHT = 2.0**-40
LEAST_EPSILON = 2.0**-50


class DegreePreservingSettings(EdgeResponseSettings):
    """Settings of `DegreePreservingResponse`."""

    degrees: float = Field(0.2, gt=0, lt=1, description="share of epsilon that is spent on the degrees")

    @model_validator(mode="after")
    def _noise_can_be_drawn(self) -> "DegreePreservingSettings":
        if self.degrees * self.epsilon < LEAST_EPSILON:
            raise ValueError(f"degrees times epsilon is below {LEAST_EPSILON:g}: no noise can be drawn for that")
        return self

    @property
    def for_degrees(self) -> Fraction:
        """The part of epsilon that is spent on noise of degrees."""
        return drawable_epsilon(self.degrees * self.epsilon)

    @property
    def flip(self) -> float:
        """Probability that a pair changes sides, before some are dropped."""
        return flip_chance(self.epsilon - float(self.for_degrees))


class DegreePreservingResponse(EdgeRandomisedResponse):
    """Randomised response, of whose edges {i, j} a coin of w_i w_j keeps some: about as many as nodes had.

    Plain response drowns a sparse graph in false edges. Here a part of epsilon pays for noisy degrees (an edge
    more or less moves two of them by 1, so that their noise is discrete Laplace of twice the scale), and the
    weights w are chosen from these alone, so that each node may expect as many edges as its noisy degree says.
    Which edges are dropped after the response costs nothing. That a pair is an edge afterwards says no more of it
    than plain response would, but where degrees differ more of those kept are true: noisy degrees tell something
    too. At an epsilon so small that noise is larger than all degrees together, the number of edges is noise.

    False edges that would be dropped are never drawn: time and memory go with the edges that are kept.

    Source: the idea is that of Hidano and Murakami (arXiv 2202.10209), whose users sample their own lists each with
    one probability. Here pairs are answered once, for both ends, and the weights hold for both, so that the graph
    stays undirected at the epsilon of one answer.
    """

    name = "degree-preserving-response"
    phrase = "with randomised response that preserves degrees"
    sweep = (6.0, 4.0, 2.0)
    accountant = (
        "discrete Laplace noise on degrees and randomised response on every pair, once for the whole run; "
        "coins of floats"
    )
    way_out = "raise epsilon or divide the graph among more clients"
    Settings = DegreePreservingSettings
    settings: DegreePreservingSettings

    def answered(self, edges: Ints, size: int, owner: str, rng: np.random.Generator) -> Ints:
        if size < 2:
            return edges
        flip = self.settings.flip
        noisy = noisy_degrees(edges, size, self.settings.for_degrees, rng)
        # taking what is below 0 as 0 alone would leave far too many edges where noise is larger than degrees are
        weights = weights_for(nearest_with_sum(noisy, float(noisy.sum())), flip)
        self.refuse_too_many(flip * (weights.sum() ** 2 - (weights**2).sum()) / 2, f"{size} nodes of '{owner}'")
        return kept_answers(edges, size, flip, weights, rng)


def noisy_degrees(edges: Ints, size: int, epsilon: Fraction, rng: np.random.Generator) -> Ints:
    """Degrees with noise for one edge, which moves two of them by 1, [n]."""
    counts = np.bincount(np.concatenate(ends(edges, size)), minlength=size)
    found: Ints = counts + discrete_laplace(laplace_scale(2, epsilon), size, rng)
    return found


def weights_for(degrees: Floats, flip: float) -> Floats:
    """Weights w from 0 to 1 with which each node may expect its degree, [n].

    Node i expects w_i (flip (W - w_i) + (1 - 2 flip) d_i m) edges: false ones with everybody (W is the sum of all
    weights), and true ones with neighbours of mean weight m, as if these were drawn by their degrees. Solved by
    repeated substitution, with the geometric mean of old and new.
    """
    if not degrees.sum():
        return np.zeros_like(degrees)
    found = np.ones_like(degrees)
    for _ in range(ROUNDS):
        near = float(degrees @ found / degrees.sum())
        each = flip * (found.sum() - found) + (1 - 2 * flip) * degrees * near
        wanted = np.divide(degrees, each, out=np.zeros_like(degrees), where=each > 0)
        last, found = found, np.minimum(np.sqrt(found * wanted), 1.0)
        if np.abs(found - last).max() < CLOSE * found.max():
            break
    found[found < LEAST_WEIGHT] = 0.0
    return found


def kept_answers(edges: Ints, size: int, flip: float, weights: Floats, rng: np.random.Generator) -> Ints:
    """Codes of the pairs that are answered with yes and kept, ascending.

    An edge with probability (1 - flip) w_i w_j, any other pair with flip w_i w_j: as if all were answered first.
    """
    low, high = ends(edges, size)
    true = edges[rng.random(len(edges)) < (1 - flip) * weights[low] * weights[high]]
    false = pairs_by_weight(weights, flip, rng)
    return distinct(np.concatenate([true, false[~listed(false, edges)]]))


def pairs_by_weight(weights: Floats, chance: float, rng: np.random.Generator) -> Ints:
    """Codes of pairs i < j, each drawn independently with probability chance w_i w_j.

    Nodes whose weights have one binary exponent are one group. Of the pairs between two groups those are drawn that
    the largest weights would have, and at least a quarter of them are kept.
    """
    size = len(weights)
    exponents = np.frexp(weights)[1]  # w <= 2^exponent, and above half of it
    groups = [np.flatnonzero((exponents == e) & (weights > 0)) for e in np.unique(exponents)]
    found = [np.empty(0, dtype=np.int64)]
    for one, other in combinations_with_replacement([g for g in groups if len(g)], 2):
        most = float(weights[one].max() * weights[other].max())
        first, second = _between(one, other, one is other, chance * most, rng)
        kept = rng.random(len(first)) * most < weights[first] * weights[second]
        found.append(codes(first[kept], second[kept], size))
    return np.concatenate(found)


def _between(one: Ints, other: Ints, same: bool, chance: float, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Ends of the pairs of two groups that coins of one chance draw."""
    if same:
        places = successes(len(one) * (len(one) - 1) // 2, chance, rng)
        first, second = ends(pairs_at(places, len(one)), len(one))
        return one[first], one[second]
    places = successes(len(one) * len(other), chance, rng)
    return one[places // len(other)], other[places % len(other)]
