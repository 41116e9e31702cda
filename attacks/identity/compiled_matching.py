"""Compiled loops of graph matching: which nodes of one graph share matched neighbours with a node of another.

Nothing is kept for pairs of nodes, of which there are too many: the evidence for a node is summed up anew from its
matched neighbours whenever it is asked for, in scratch space as large as the other graph.
"""

# ruff: noqa: ANN001, ANN201  (numba infers types from values)
# mypy: ignore-errors

import math

import numpy as np
from numba import njit

SAME = 1e-9
"""Relative difference up to which two candidates fit equally well."""
compiled = njit(nogil=True, cache=True)


@compiled
def evidence(node, one, other, image, preimage, weight, score, touched):
    """Adds up ``weight`` for each node of the other graph over the matched neighbours that it shares with a node.

    Args:
        node: of the one graph.
        one: the one graph, where the neighbours of each node start [n + 1], and they [2m].
        other: the other graph, so.
        image: for each node of the one the matched one of the other, or -1, [n].
        preimage: the inverse; matched nodes are left out, [n'].
        weight: of each node of the other, [n'].
        score: zeros, filled here, [n'].
        touched: filled with the nodes that have a score, [n'].

    Returns:
        How many have a score.
    """
    start, ends = one
    start_other, ends_other = other
    count = 0
    for place in range(start[node], start[node + 1]):
        known = image[ends[place]]
        if known < 0:
            continue
        for far in range(start_other[known], start_other[known + 1]):
            candidate = ends_other[far]
            if preimage[candidate] >= 0:
                continue
            if score[candidate] == 0:
                touched[count] = candidate
                count += 1
            score[candidate] += weight[candidate]
    return count


@compiled
def leader(node, one, other, image, preimage, weight, score, touched):
    """The candidate with the highest score, this score and the next, and the sums of all and of their squares."""
    count = evidence(node, one, other, image, preimage, weight, score, touched)
    best, first, second, total, squares = -1, 0.0, 0.0, 0.0, 0.0
    for t in range(count):
        candidate = touched[t]
        value = score[candidate]
        score[candidate] = 0
        total += value
        squares += value * value
        if value > first:
            best, first, second = candidate, value, first
        elif value > second:
            second = value
    return best, first, second, total, squares


@compiled
def percolation_round(threshold, one, other, image, preimage, stale, weight, score, touched, claim, claimed):
    """Matches all pairs that have the threshold's marks and more than their rivals; returns how many.

    ``claim`` and ``claimed`` are, for each node of the other graph, who asks for it (-1: nobody, or several alike)
    and with how many marks (0); both are left so.
    """
    for node in range(len(image)):
        if image[node] >= 0 or not stale[node]:
            continue
        best, marks, second, _, _ = leader(node, one, other, image, preimage, weight, score, touched)
        if marks < threshold or marks == second:
            stale[node] = False
        elif marks > claimed[best]:
            claim[best], claimed[best] = node, marks
        elif marks == claimed[best]:
            claim[best] = -1
    matched = 0
    for candidate in range(len(preimage)):
        node = claim[candidate]
        claim[candidate], claimed[candidate] = -1, 0
        if node >= 0:
            image[node], preimage[candidate] = candidate, node
            waken(node, one, stale)
            matched += 1
    return matched


@compiled
def marks_of(node, one, other, image, score, touched):
    """As `evidence`, but of all nodes of the other graph, matched ones too, and each neighbour counts 1."""
    start, ends = one
    start_other, ends_other = other
    count = 0
    for place in range(start[node], start[node + 1]):
        known = image[ends[place]]
        if known < 0:
            continue
        for far in range(start_other[known], start_other[known + 1]):
            candidate = ends_other[far]
            if score[candidate] == 0:
                touched[count] = candidate
                count += 1
            score[candidate] += 1
    return count


@compiled
def likeness(marks, node, one, candidate, other, density):
    """How well a candidate fits: the square of its marks, times the ratio of the two degrees, the smaller first.

    ``density`` is by how much degrees of the other graph are larger as a whole. With the product of the degrees in
    place of their ratio it would be the squared cosine of neighbourhoods, which prefers nodes that are too small.
    """
    mine = density * (one[0][node + 1] - one[0][node])
    theirs = other[0][candidate + 1] - other[0][candidate]
    return marks * marks * min(mine, theirs) / max(mine, theirs)


@compiled
def favourites(one, other, image, density, stale, score, touched, found):
    """Writes for each node of which there is news the candidate that fits best into ``found``, -1 where none does.

    Candidates are matched nodes as well: the match so far is put to the test. Two that fit equally well are none.
    """
    for node in range(len(image)):
        if not stale[node]:
            continue
        stale[node] = False
        count = marks_of(node, one, other, image, score, touched)
        best, first, second = -1, 0.0, 0.0
        for t in range(count):
            candidate = touched[t]
            value = likeness(score[candidate], node, one, candidate, other, density)
            score[candidate] = 0
            if value > first:
                best, first, second = candidate, value, first
            elif value > second:
                second = value
        found[node] = best if first > second * (1 + SAME) else -1


@compiled
def news(before, after, side, stale):
    """Marks the neighbours of all nodes whose match has changed."""
    for node in range(len(before)):
        if before[node] != after[node]:
            waken(node, side, stale)


@compiled
def best_fitting(node, one, other, image, preimage, density, score, touched):
    """How many of ``touched`` fit best of the nodes that nobody is matched to, which come first there then."""
    count = marks_of(node, one, other, image, score, touched)
    most, kept = 0.0, 0
    for t in range(count):
        candidate = touched[t]
        value = likeness(score[candidate], node, one, candidate, other, density)
        score[candidate] = 0
        if preimage[candidate] >= 0 or value < most * (1 - SAME):
            continue
        if value > most * (1 + SAME):
            most, kept = value, 0
        touched[kept] = candidate
        kept += 1
    return kept


@compiled
def crowds(nodes, one, other, image, preimage, density, score, touched, salt):
    """Of each of some nodes how many fit best, and the sum of their ``salt``, which tells the set from others."""
    sizes, sums = np.zeros(len(nodes), np.int64), np.zeros(len(nodes), np.int64)
    for place in range(len(nodes)):
        sizes[place] = best_fitting(nodes[place], one, other, image, preimage, density, score, touched)
        for t in range(sizes[place]):
            sums[place] += salt[touched[t]]
    return sizes, sums


@compiled
def listed_crowds(nodes, sizes, one, other, image, preimage, density, score, touched):
    """The sets that `crowds` counts, one after another."""
    found, begin = np.empty(sizes.sum(), np.int64), 0
    for place in range(len(nodes)):
        best_fitting(nodes[place], one, other, image, preimage, density, score, touched)
        found[begin : begin + sizes[place]] = np.sort(touched[: sizes[place]])
        begin += sizes[place]
    return found


@compiled
def waken(node, one, stale):
    """Notes that there is news for the neighbours of a node."""
    start, ends = one
    for place in range(start[node], start[node + 1]):
        stale[ends[place]] = True


@compiled
def standing_out(node, one, other, image, preimage, weight, score, touched):
    """The candidate with the highest score, and its eccentricity: by how much it leads, in standard deviations."""
    best, first, second, total, squares = leader(node, one, other, image, preimage, weight, score, touched)
    nodes = len(score)
    deviation = math.sqrt(max(squares / nodes - (total / nodes) ** 2, 0.0))
    return best, (first - second) / deviation if deviation > 0 else 0.0


@compiled
def propagation_pass(order, theta, one, other, image, preimage, stale, weights, scores, touched):
    """Looks once at each node of the one graph of which there is news, in some order; how many it matched anew.

    ``weights``, ``scores`` and ``touched`` are pairs, for candidates in the one graph and in the other.
    """
    changed = 0
    for place in range(len(order)):
        node = order[place]
        if not stale[node]:
            continue
        stale[node] = False
        old = image[node]
        if old >= 0:  # a node that is matched is looked at again as if it were not
            image[node], preimage[old] = -1, -1
        new, lead = standing_out(node, one, other, image, preimage, weights[1], scores[1], touched[1])
        back = -1
        if new >= 0 and lead >= theta:
            back, lead = standing_out(new, other, one, preimage, image, weights[0], scores[0], touched[0])
        if back != node or lead < theta:
            new = old
        if new >= 0:
            image[node], preimage[new] = new, node
        if new != old:
            changed += 1
            waken(node, one, stale)
    return changed
