"""Full-batch training of one two-layer network on a sparse graph, compiled (CPU, one thread).

A layer is a sum of parts, each of which is propagated or not: GCN and SGC have one that is, an MLP one that is
not, GraphSAGE (mean) one of each. Hidden width and classes are padded to `LANES`, rows to `TILE`.
"""

# ruff: noqa: ANN001, ANN201  (numba infers types from values)
# mypy: ignore-errors

import math
from typing import NamedTuple

import numpy as np

from .kernels import (
    BETA1,
    BETA2,
    Csr,
    adam,
    add_to,
    column_sums,
    compiled,
    dense_back,
    dense_gradient,
    dense_product,
    fill_random,
    loss_error,
    product,
    relu,
    relu_and_drop,
    right_answers,
    spread,
    through_relu,
    tiled_product,
)


class Reads(NamedTuple):
    """What a network reads when it answers for m of n nodes: sparse matrices by rows.

    ``x`` [n, F]; ``first`` propagation [n, n]; ``second`` its rows for the m nodes, [m, n]; ``asked`` these
    nodes [m] int64.
    """

    x: Csr
    first: Csr
    second: Csr
    asked: np.ndarray


class Turned(NamedTuple):
    """The transposed matrices of a `Reads`; that of ``x`` in tiles of nodes, see `tiled_product`."""

    x: Csr
    first: Csr
    second: Csr


class Shape(NamedTuple):
    """Sizes of a problem. Hidden width and ``padded`` classes are multiples of `LANES`; ``hops`` is 0 but for SGC.

    All weights lie in one flat vector: ``w1`` [parts, F, h], ``b1`` [h], ``w2`` [parts, h, padded], ``b2``
    [padded]; for SGC ``w`` [F, padded] and ``b`` [padded].
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
    return np.zeros(padded_rows(rows) * width, np.float32)


@compiled
def first_weight(theta, shape, part):
    """View of a first layer's part, flat [F, h]."""
    size = shape.features * shape.hidden
    return theta[part * size : (part + 1) * size]


@compiled
def first_bias(theta, shape):
    """View of the first bias [h]."""
    start = shape.parts * shape.features * shape.hidden
    return theta[start : start + shape.hidden]


@compiled
def second_weight(theta, shape, part):
    """View of a second layer's part, flat [h, padded]."""
    size = shape.hidden * shape.padded
    start = shape.parts * shape.features * shape.hidden + shape.hidden + part * size
    return theta[start : start + size]


@compiled
def last_bias(theta, shape):
    """View of the last bias [padded]."""
    return theta[theta.shape[0] - shape.padded :]


@compiled
def convolve(propagated, reads, theta, shape, part, hidden):
    """The first layer before its relu, into ``hidden`` [n, h]."""
    n, h = shape.nodes, shape.hidden
    spread(first_bias(theta, shape), hidden, n, h)
    for p in range(shape.parts):
        product(reads.x, first_weight(theta, shape, p), part, n, h, False)
        if propagated[p]:
            product(reads.first, part, hidden, n, h, True)
        else:
            add_to(hidden, part)


@compiled
def judge(propagated, reads, theta, shape, hidden, part, logits):
    """The second layer: logits of the asked nodes [m, padded]."""
    q = shape.padded
    spread(last_bias(theta, shape), logits, shape.asked, q)
    for p in range(shape.parts):
        dense_product(hidden, second_weight(theta, shape, p), part, shape.nodes, shape.hidden, q)
        if propagated[p]:
            product(reads.second, part, logits, shape.asked, q, True)
        else:
            for j in range(shape.asked):
                for c in range(q):
                    logits[j * q + c] += part[reads.asked[j] * q + c]


@compiled
def judge_linear(reads, theta, shape, part, other, logits):
    """SGC's logits of the asked nodes; the last propagation step is theirs alone."""
    q = shape.padded
    product(reads.x, theta[: shape.features * q], part, shape.nodes, q, False)
    for _ in range(shape.hops - 1):
        product(reads.first, part, other, shape.nodes, q, False)
        part[:] = other
    spread(last_bias(theta, shape), logits, shape.asked, q)
    product(reads.second, part, logits, shape.asked, q, True)


@compiled
def answers(propagated, reads, theta, shape):
    """Logits of the asked nodes without dropout, flat [m (padded), padded]."""
    n, q = shape.nodes, shape.padded
    logits, part = buffer(shape.asked, q), buffer(n, max(shape.hidden, q))
    if shape.hops > 0:
        judge_linear(reads, theta, shape, part, buffer(n, q), logits)
        return logits
    hidden = buffer(n, shape.hidden)
    convolve(propagated, reads, theta, shape, part, hidden)
    relu(hidden)
    judge(propagated, reads, theta, shape, hidden, part, logits)
    return logits


@compiled
def linear_slope(reads, turned, theta, shape, labels, part, other, logits, error, slope):
    """SGC's gradient, into ``slope``."""
    n, m, q = shape.nodes, shape.asked, shape.padded
    judge_linear(reads, theta, shape, part, other, logits)
    loss_error(logits, labels, error, m, shape.classes, q)
    column_sums(error, last_bias(slope, shape), m, q)
    product(turned.second, error, part, n, q, False)
    for _ in range(shape.hops - 1):
        product(turned.first, part, other, n, q, False)
        part[:] = other
    tiled_product(turned.x, part, slope[: shape.features * q], shape.features, q)


@compiled
def slope_of(
    propagated, reads, turned, theta, shape, labels, octets, dropped, hidden, part, other, logits, error, slope
):
    """The gradient of a two-layer network, into ``slope``; without dropout where ``dropped`` is 0."""
    n, m, h, q = shape.nodes, shape.asked, shape.hidden, shape.padded
    convolve(propagated, reads, theta, shape, part, hidden)
    if dropped > 0:
        relu_and_drop(hidden, octets, dropped)
    else:
        relu(hidden)
    judge(propagated, reads, theta, shape, hidden, part, logits)
    loss_error(logits, labels, error, m, shape.classes, q)
    column_sums(error, last_bias(slope, shape), m, q)
    turned_weight = np.empty(h * q, np.float32)
    for p in range(shape.parts):
        if propagated[p]:
            product(turned.second, error, part, n, q, False)
        else:
            part[:] = 0
            for j in range(m):
                for c in range(q):
                    part[reads.asked[j] * q + c] = error[j * q + c]
        dense_gradient(hidden, part, second_weight(slope, shape, p), n, h, q)
        dense_back(part, second_weight(theta, shape, p), turned_weight, other, n, h, q, shape.classes, p > 0)
    through_relu(other, hidden, np.float32(256 / (256 - dropped)))
    column_sums(other, first_bias(slope, shape), n, h)
    for p in range(shape.parts):
        if propagated[p]:
            product(turned.first, other, part, n, h, False)
            tiled_product(turned.x, part, first_weight(slope, shape, p), shape.features, h)
        else:
            tiled_product(turned.x, other, first_weight(slope, shape, p), shape.features, h)


@compiled
def train(
    propagated, reads, turned, shape, labels, watched, watched_labels, theta,
    epochs, lr, restart, decay, dropped, state, every, patience,
):  # fmt: skip
    """Trains one model in place with Adam on the mean cross-entropy of the asked nodes; returns the epochs taken.

    Args:
        propagated: which parts of a layer are propagated, [parts] bool.
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
    wide = max(shape.hidden, q)
    hidden, part, other = buffer(n, wide), buffer(n, wide), buffer(n, wide)
    logits, error = buffer(shape.asked, q), buffer(shape.asked, q)
    slope, first, second = np.zeros_like(theta), np.zeros_like(theta), np.zeros_like(theta)
    kept = theta.copy()
    seen = watched.x.start.shape[0] - 1
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
                propagated, reads, turned, theta, shape, labels, octets, dropped,
                hidden, part, other, logits, error, slope,
            )  # fmt: skip
        taken += 1
        rate, correction = lr / (1 - BETA1**taken), 1 / math.sqrt(1 - BETA2**taken)
        adam(theta, slope, first, second, np.float32(rate), np.float32(correction), np.float32(decay))
        if epoch == restart:
            lr, taken = lr / 10, 0
            first[:], second[:] = 0, 0
        if looked > 0 and (epoch % every == 0 or epoch == epochs):
            right = right_answers(answers(propagated, watched, theta, look), watched_labels, shape.classes, q)
            since += 1
            if right > best:
                best, since = right, 0
                kept[:] = theta
            if patience > 0 and since >= patience:
                break
    if looked > 0:
        theta[:] = kept
    return epoch
