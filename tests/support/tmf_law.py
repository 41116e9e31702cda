"""The law of what TmF publishes, by definition: counts, then sets that pass, then draws."""

import math
from collections import Counter
from fractions import Fraction
from itertools import chain, combinations

import numpy as np

from gaudit.defenses.private_graphs.passing_pairs import rate_for
from gaudit.mechanisms.exact_noise import discrete_laplace_pmf


def subsets(items):
    return [*chain.from_iterable(combinations(items, size) for size in range(len(items) + 1))]


def chances(epsilon, rate):
    """Of a pair that passes: linked or not."""
    other = -math.expm1(-float(rate))
    return min(math.exp(epsilon) * other, 1 - math.exp(-epsilon) * (1 - other)), other


def law(network, epsilon):
    """The probability of every graph of a few nodes, by definition: counts, then sets that pass, then draws."""
    pairs = [a * network.nodes + b for a, b in combinations(range(network.nodes), 2)]
    edges, scale, size = set(network.codes.tolist()), Fraction(2) / epsilon, len(pairs)
    found = Counter()
    noise = discrete_laplace_pmf(scale, np.arange(-400, 401))
    for wanted in range(size + 1):
        told = np.clip(np.arange(-400, 401) + len(edges), 0, size) == wanted
        counted = float(noise[told].sum())
        if wanted in (0, size):
            found[tuple(pairs[:wanted])] += counted
            continue
        linked, other = chances(float(epsilon) / 2, rate_for(epsilon / 2, wanted, size))
        for passed in subsets(pairs):
            chance = counted
            for pair in pairs:
                one = linked if pair in edges else other
                chance *= one if pair in passed else 1 - one
            larger = [way for way in combinations(pairs, wanted) if set(passed) <= set(way)]
            smaller = list(combinations(passed, wanted))
            ways = larger if len(passed) <= wanted else smaller
            for way in ways:
                found[tuple(sorted(way))] += chance / len(ways)
    return found
