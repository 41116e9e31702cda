"""Full-batch training of one two-layer network on a sparse graph, compiled (CPU, one thread).

A layer is a sum of parts, each of which is propagated or not: GCN and SGC have one that is, an MLP one that is
not, GraphSAGE (mean) one of each. Hidden width and classes are padded to `LANES`, rows to `TILE`. The hidden
layer is worked through in panels of columns: what one step writes is in the cache when the next one reads it.
"""

# ruff: noqa: ANN001, ANN201  (numba infers types from values)
# mypy: ignore-errors

import math
from typing import NamedTuple

import numpy as np

from .kernels import (
    BETA1,
    BETA2,
    PANEL,
    Csr,
    adam,
    aligned,
    compiled,
    dense_back,
    dense_gradient,
    dense_product,
    fill_random,
    loss_error,
    panel_width,
    product,
    relu,
    relu_and_drop,
    right_answers,
    rows_gradient,
    rows_product,
    spread,
    through_relu,
)

KERNELS = "ec3becc9716f390b"
"""Begins the SHA-256 of kernels.py: numba compiles anew what is in a file that changed, not what calls it."""


class Reads(NamedTuple):
    """What a network reads when it answers for m of n nodes: sparse matrices by rows.

    ``x`` [n, F]; ``first`` propagation [n, n]; ``second`` its rows for the m nodes, [m, n]; ``asked`` these
    nodes [m] int64; ``propagated`` [2, parts] bool which parts of both layers are propagated.
    """

    x: Csr
    first: Csr
    second: Csr
    asked: np.ndarray
    propagated: np.ndarray


class Turned(NamedTuple):
    """The transposed matrices of a `Reads`; that of ``x`` in tiles of nodes, see `product`, or as it is if dense.

    ``bias`` [1, n] and ``last_bias`` [1, m] are ones: what a bias is multiplied with, transposed.
    """

    x: Csr
    first: Csr
    second: Csr
    bias: Csr
    last_bias: Csr


class Shape(NamedTuple):
    """Sizes of a problem. Hidden width and ``padded`` classes are multiples of `LANES`; ``hops`` is 0 but for SGC.

    All weights lie in one flat vector: ``w1`` [parts, panels, F, columns], ``b1`` [h], ``w2`` [parts, h, padded],
    ``b2`` [padded]; for SGC ``w`` [F, padded] and ``b`` [padded].
    """

    parts: int
    nodes: int
    asked: int
    features: int
    hidden: int
    classes: int
    padded: int
    hops: int


@compiled
def padded_rows(rows):
    """The next multiple of the tile."""
    return (rows + 7) // 8 * 8


@compiled
def buffer(rows, width):
    """Zeros for ``rows`` rows and those that pad them."""
    return aligned(padded_rows(rows) * width)


@compiled
def panel(hidden, shape, k):
    """View of the k-th panel of hidden units, flat [n, columns]."""
    size = padded_rows(shape.nodes) * panel_width(shape.hidden)
    return hidden[k * size : (k + 1) * size]


@compiled
def first_weight(theta, shape, part, k):
    """View of the k-th panel of a first layer's part, flat [F, columns]."""
    size, start = shape.features * panel_width(shape.hidden), part * shape.features * shape.hidden
    return theta[start + k * size : start + (k + 1) * size]


@compiled
def first_bias(theta, shape, k):
    """View of the k-th panel of the first bias [columns]."""
    size, start = panel_width(shape.hidden), shape.parts * shape.features * shape.hidden
    return theta[start + k * size : start + (k + 1) * size]


@compiled
def second_weight(theta, shape, part, k):
    """View of what a second layer's part has for the k-th panel, flat [columns, padded]."""
    size = panel_width(shape.hidden) * shape.padded
    start = (shape.parts * shape.features + 1 + part * shape.padded) * shape.hidden
    return theta[start + k * size : start + (k + 1) * size]


@compiled
def last_bias(theta, shape):
    """View of the last bias [padded]."""
    return theta[theta.shape[0] - shape.padded :]


@compiled
def sent_back(back, shape, part):
    """View of a part's error at all nodes, flat [n, padded]."""
    size = padded_rows(shape.nodes) * shape.padded
    return back[part * size : (part + 1) * size]


@compiled
def convolve(reads, theta, shape, k, part, out):
    """The k-th panel of the first layer before its relu, into ``out`` [n, columns]."""
    n, width = shape.nodes, panel_width(shape.hidden)
    spread(first_bias(theta, shape, k), out, n, width)
    for p in range(shape.parts):
        weight = first_weight(theta, shape, p, k)
        if reads.propagated[0, p]:
            rows_product(reads.x, weight, part, n, shape.features, width, False)
            product(reads.first, part, out, n, width, True)
        else:
            rows_product(reads.x, weight, out, n, shape.features, width, True)


@compiled
def judge(reads, theta, shape, hidden, part, logits):
    """The second layer: logits of the asked nodes [m, padded]."""
    q, width = shape.padded, panel_width(shape.hidden)
    spread(last_bias(theta, shape), logits, shape.asked, q)
    for p in range(shape.parts):
        for k in range(shape.hidden // width):
            weight = second_weight(theta, shape, p, k)
            dense_product(panel(hidden, shape, k), weight, part, shape.nodes, width, q, k > 0)
        if reads.propagated[1, p]:
            product(reads.second, part, logits, shape.asked, q, True)
        else:
            for j in range(shape.asked):
                for c in range(q):
                    logits[j * q + c] += part[reads.asked[j] * q + c]


@compiled
def judge_linear(reads, theta, shape, part, other, logits):
    """SGC's logits of the asked nodes; the last propagation step is theirs alone."""
    q = shape.padded
    rows_product(reads.x, theta[: shape.features * q], part, shape.nodes, shape.features, q, False)
    for _ in range(shape.hops - 1):
        product(reads.first, part, other, shape.nodes, q, False)
        part, other = other, part
    spread(last_bias(theta, shape), logits, shape.asked, q)
    product(reads.second, part, logits, shape.asked, q, True)


@compiled
def answers(reads, theta, shape):
    """Logits of the asked nodes without dropout, flat [m (padded), padded]."""
    n, q = shape.nodes, shape.padded
    if shape.hops > 0:
        return answers_within(reads, theta, shape, buffer(n, q), buffer(n, max(PANEL, q)))
    return answers_within(reads, theta, shape, buffer(n, shape.hidden), buffer(n, max(PANEL, q)))


@compiled
def answers_within(reads, theta, shape, hidden, part):
    """What `answers` gives, worked out in two buffers; those of a graph with as many nodes or more will do."""
    logits = buffer(shape.asked, shape.padded)
    if shape.hops > 0:
        judge_linear(reads, theta, shape, part, hidden, logits)
        return logits
    for k in range(shape.hidden // panel_width(shape.hidden)):
        out = panel(hidden, shape, k)
        convolve(reads, theta, shape, k, part, out)
        relu(out)
    judge(reads, theta, shape, hidden, part, logits)
    return logits


@compiled
def linear_slope(reads, turned, theta, shape, labels, part, other, logits, error, slope):
    """SGC's gradient, into ``slope``."""
    n, m, q = shape.nodes, shape.asked, shape.padded
    judge_linear(reads, theta, shape, part, other, logits)
    loss_error(logits, labels, error, m, shape.classes, q)
    product(turned.last_bias, error, last_bias(slope, shape), 1, q, False)
    product(turned.second, error, part, n, q, False)
    for _ in range(shape.hops - 1):
        product(turned.first, part, other, n, q, False)
        part, other = other, part
    rows_gradient(turned.x, part, slope[: shape.features * q], n, shape.features, q)


@compiled
def slope_of(
    reads, turned, theta, shape, labels, octets, dropped,
    hidden, part, other, back, logits, error, slope,
):  # fmt: skip
    """The gradient of a two-layer network, into ``slope``; without dropout where ``dropped`` is 0."""
    q, width = shape.padded, panel_width(shape.hidden)
    for k in range(shape.hidden // width):
        out = panel(hidden, shape, k)
        convolve(reads, theta, shape, k, part, out)
        if dropped > 0:
            relu_and_drop(out, octets[k * out.shape[0] :], dropped)
        else:
            relu(out)
    judge(reads, theta, shape, hidden, part, logits)
    loss_error(logits, labels, error, shape.asked, shape.classes, q)
    product(turned.last_bias, error, last_bias(slope, shape), 1, q, False)
    send_back(reads, turned, shape, error, back)
    for k in range(shape.hidden // width):
        panel_slope(
            reads.propagated[0], turned, theta, shape, k, dropped, panel(hidden, shape, k), part, other, back, slope
        )


@compiled
def send_back(reads, turned, shape, error, back):
    """The error of the asked nodes at the nodes that they read, for each part, into ``back`` [parts, n, padded].

    What is not propagated reaches the asked nodes alone; the others keep the zeros that ``back`` began with.
    """
    q = shape.padded
    for p in range(shape.parts):
        out = sent_back(back, shape, p)
        if reads.propagated[1, p]:
            product(turned.second, error, out, shape.nodes, q, False)
        else:
            for j in range(shape.asked):
                for c in range(q):
                    out[reads.asked[j] * q + c] = error[j * q + c]


@compiled
def panel_slope(propagated, turned, theta, shape, k, dropped, hidden, part, other, back, slope):
    """The part of the gradient that belongs to the k-th panel of hidden units."""
    n, q, width = shape.nodes, shape.padded, panel_width(shape.hidden)
    turned_weight = aligned(width * q)
    for p in range(shape.parts):
        error, weight = sent_back(back, shape, p), second_weight(theta, shape, p, k)
        dense_gradient(hidden, error, second_weight(slope, shape, p, k), n, width, q)
        dense_back(error, weight, turned_weight, other, n, width, q, shape.classes, p > 0)
    through_relu(other, hidden, np.float32(256 / (256 - dropped)))
    product(turned.bias, other, first_bias(slope, shape, k), 1, width, False)
    for p in range(shape.parts):
        out = first_weight(slope, shape, p, k)
        if propagated[p]:
            product(turned.first, other, part, n, width, False)
            rows_gradient(turned.x, part, out, n, shape.features, width)
        else:
            rows_gradient(turned.x, other, out, n, shape.features, width)


@compiled
def train(
    reads, turned, shape, labels, watched, watched_labels, theta,
    epochs, lr, restart, decay, dropped, state, every, patience,
):  # fmt: skip
    """Trains one model in place with Adam on the mean cross-entropy of the asked nodes; returns the epochs taken.

    Args:
        reads: what the model reads.
        turned: the same transposed.
        shape: sizes.
        labels: of the asked nodes, [m].
        watched: the `Reads` of nodes whose accuracy selects the epoch; none keeps the last.
        watched_labels: theirs.
        theta: all weights, changed in place.
        epochs: steps at most.
        lr: learning rate.
        restart: the step after which Adam starts anew with a tenth of the rate; 0 never.
        decay: L2 penalty.
        dropped: dropout of hidden units in 1/256.
        state: of the random generator, [4] uint64.
        every: epochs between looks at the watched nodes.
        patience: looks without improvement before it stops; 0 never.
    """
    n, q, looked = shape.nodes, shape.padded, watched.asked.shape[0]
    wide = max(PANEL, q)
    hidden, back = buffer(n, shape.hidden), buffer(n, shape.parts * q)
    part, other = buffer(n, wide), buffer(n, wide)
    room, aside = (other if shape.hops > 0 else hidden), part  # idle while watched nodes are asked
    seen = watched.x.start.shape[0] - 1
    if seen > n:
        room, aside = buffer(seen, q if shape.hops > 0 else shape.hidden), buffer(seen, wide)
    logits, error = buffer(shape.asked, q), buffer(shape.asked, q)
    slope, first, second = aligned(theta.shape[0]), aligned(theta.shape[0]), aligned(theta.shape[0])
    kept = theta.copy()
    look = Shape(shape.parts, seen, looked, shape.features, shape.hidden, shape.classes, q, shape.hops)
    words = np.zeros((hidden.shape[0] + 7) // 8, np.uint64)
    best, since, taken, epoch = -1, 0, 0, 0
    for epoch in range(1, epochs + 1):
        if shape.hops > 0:
            linear_slope(reads, turned, theta, shape, labels, part, other, logits, error, slope)
        else:
            if dropped > 0:
                fill_random(state, words)
            octets = words.view(np.uint8)
            slope_of(
                reads, turned, theta, shape, labels, octets, dropped,
                hidden, part, other, back, logits, error, slope,
            )  # fmt: skip
        taken += 1
        rate, correction = lr / (1 - BETA1**taken), 1 / math.sqrt(1 - BETA2**taken)
        adam(theta, slope, first, second, np.float32(rate), np.float32(correction), np.float32(decay))
        if epoch == restart:
            lr, taken = lr / 10, 0
            first[:], second[:] = 0, 0
        if looked > 0 and (epoch % every == 0 or epoch == epochs):
            told = answers_within(watched, theta, look, room, aside)
            right = right_answers(told, watched_labels, shape.classes, q)
            since += 1
            if right > best:
                best, since = right, 0
                kept[:] = theta
            if patience > 0 and since >= patience:
                break
    if looked > 0:
        theta[:] = kept
    return epoch
