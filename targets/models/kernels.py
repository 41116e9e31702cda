"""Compiled kernels of a small network on a large sparse graph (CPU, float32, one thread, any processor).

Most of the work is a product of a sparse matrix with a narrow dense one. numba compiles such loops well but for one
thing: it keeps running sums in memory. The intrinsics here say in LLVM's own terms that sums stay in vector
registers: the sparse product is 3.6 times as fast for it at width 16, and 1.6 to 1.8 times when wider (LLVM splits
the vectors where the machine's are shorter). Dense arrays are `aligned`: a vector across two cache lines costs
two loads. Everything works on flat arrays, since views in inner loops cost reference counts. The kernels release
the GIL, so that threads can work side by side.
"""

# ruff: noqa: ANN001, ANN201, ANN202  (numba infers types from values)
# mypy: ignore-errors

import math
from typing import NamedTuple

import numpy as np
from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 16
"""Columns are padded to a multiple of this with zeros: sixteen float32 are one AVX-512 register."""
PANEL = 2 * LANES
"""A wide matrix may be kept in panels of so many columns, one after the other, each small enough for the cache."""
CHAINS = 2
"""Sums of a sparse product that run side by side, since each multiply-add waits for the one before."""
TILE = 8
"""Rows are padded to a multiple of this: a tile of so many rows hides the latency of multiply-add."""
TALL = bool(get_host_cpu_features().get("avx512f", False))
"""Whether the sums of a whole tile fit into vector registers: 32 of AVX-512 hold them, 16 of AVX2 those of half."""
BLOCK = 64
"""Rows of dense matrices that are worked through at once, so that both factors stay in the cache."""
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8  # Adam's (Kingma and Ba 2015), as in torch

_FLOATS, _INDICES, _SIZE = types.Array(types.float32, 1, "C"), types.Array(types.int32, 1, "C"), types.intp
_WORD, _VECTOR = ir.IntType(64), ir.VectorType(ir.FloatType(), LANES)
_ZERO = ir.Constant(_VECTOR, [0.0] * LANES)
compiled = njit(fastmath={"contract", "nnan", "ninf", "nsz"}, nogil=True, cache=True, error_model="numpy")
"""Sums and products in the order in which they are written: what a compiler that may choose does with them differs
between code that was just compiled and the same code out of numba's cache, and so would an installation's first
results from all later ones."""


class Csr(NamedTuple):
    """A sparse matrix by rows: where each row starts [n + 1] int64, columns int32, values float32.

    Without columns it is a dense one, whose rows hold all entries.
    """

    start: np.ndarray
    column: np.ndarray
    value: np.ndarray


@compiled
def aligned(size):
    """Zeros that start on a cache line."""
    spare = np.zeros(size + LANES, np.float32)
    start = -spare.ctypes.data % (4 * LANES) // 4
    return spare[start : start + size]


@compiled
def panel_width(width):
    """Columns to a panel of a matrix of so many, which are a multiple of `LANES`."""
    return PANEL if width % PANEL == 0 else LANES


def _pointer(context, builder, signature, args, k):
    return context.make_array(signature.args[k])(context, builder, args[k]).data


def _place(builder, array, offset, lanes=0):
    at = builder.add(offset, ir.Constant(_WORD, lanes * LANES))
    return builder.bitcast(builder.gep(array, [at]), _VECTOR.as_pointer())


def _in_all_lanes(builder, scalar):
    nothing, index = ir.Constant(_VECTOR, ir.Undefined), ir.IntType(32)
    first = builder.insert_element(nothing, scalar, ir.Constant(index, 0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(index, LANES), [0] * LANES))


def _started(builder, places, add):
    """Registers that hold the sums: zero, or what is at ``places`` where ``add`` is true."""
    sums = [cgutils.alloca_once(builder, _VECTOR) for _ in places]
    for total, place in zip(sums, places, strict=True):
        builder.store(builder.select(add, builder.load(place, align=4), _ZERO), total)
    return sums


def _multiply_add(builder, total, a, b):
    builder.store(
        builder.fadd(builder.fmul(a, b, flags=["contract"]), builder.load(total), flags=["contract"]), total
    )


def _gather_of(vectors: int):
    """``out[at:] (+)= sum over e in [start, stop) of value[e] * dense[column[e] * stride + base:]``.

    A row takes ``vectors`` registers.
    """

    @intrinsic
    def gather(typing, dense, base, stride, column, value, start, stop, out, at, add):
        signature = types.void(
            _FLOATS, _SIZE, _SIZE, _INDICES, _FLOATS, _SIZE, _SIZE, _FLOATS, _SIZE, types.boolean
        )

        def codegen(context, builder, signature, args):
            dense, column, value, out = (_pointer(context, builder, signature, args, k) for k in (0, 3, 4, 7))
            base, stride, start, stop, at, add = (args[k] for k in (1, 2, 5, 6, 8, 9))
            places = [_place(builder, out, at, lanes) for lanes in range(vectors)]
            sums = [_started(builder, places, add)]
            sums += [_started(builder, places, ir.Constant(ir.IntType(1), 0)) for _ in range(1, CHAINS)]

            def accumulate(entry, chain):
                row = builder.sext(builder.load(builder.gep(column, [entry])), _WORD)
                weight = _in_all_lanes(builder, builder.load(builder.gep(value, [entry])))
                offset = builder.add(builder.mul(row, stride), base)
                for lanes, total in enumerate(sums[chain]):
                    loaded = builder.load(_place(builder, dense, offset, lanes), align=4)
                    _multiply_add(builder, total, weight, loaded)

            left = builder.urem(builder.sub(stop, start), ir.Constant(_WORD, CHAINS))
            whole = builder.sub(stop, left)
            with cgutils.for_range_slice(builder, start, whole, ir.Constant(_WORD, CHAINS)) as (entry, _):
                for chain in range(CHAINS):
                    accumulate(builder.add(entry, ir.Constant(_WORD, chain)), chain)
            with cgutils.for_range_slice(builder, whole, stop, ir.Constant(_WORD, 1)) as (entry, _):
                accumulate(entry, 0)
            for lanes, place in enumerate(places):
                total = builder.load(sums[0][lanes])
                for chain in range(1, CHAINS):
                    total = builder.fadd(total, builder.load(sums[chain][lanes]), flags=["contract"])
                builder.store(total, place, align=4)
            return context.get_dummy_value()

        return signature, codegen

    return gather


_gather_panel, _gather_lanes = _gather_of(PANEL // LANES), _gather_of(1)


def _tile_of(height: int):
    """``out[r, :16] (+)= sum over k < count of a[r, k] * b[k, :16]`` for so many rows r, by offset and stride."""

    @intrinsic
    def tile(typing, a, base, row, step, b, b_base, b_step, count, out, at, out_row, add):
        signature = types.void(
            _FLOATS, _SIZE, _SIZE, _SIZE, _FLOATS, _SIZE, _SIZE, _SIZE, _FLOATS, _SIZE, _SIZE, types.boolean
        )

        def codegen(context, builder, signature, args):
            a, b, out = (_pointer(context, builder, signature, args, k) for k in (0, 4, 8))
            base, row, step, b_base, b_step, count, at, out_row, add = (
                args[k] for k in (1, 2, 3, 5, 6, 7, 9, 10, 11)
            )
            rows = [ir.Constant(_WORD, r) for r in range(height)]
            places = [_place(builder, out, builder.add(at, builder.mul(r, out_row))) for r in rows]
            starts = [builder.add(base, builder.mul(r, row)) for r in rows]
            sums = _started(builder, places, add)
            with cgutils.for_range(builder, count) as loop:
                at_line = builder.add(b_base, builder.mul(loop.index, b_step))
                line = builder.load(_place(builder, b, at_line), align=4)
                moved = builder.mul(loop.index, step)
                for start, total in zip(starts, sums, strict=True):
                    scalar = builder.load(builder.gep(a, [builder.add(start, moved)]))
                    _multiply_add(builder, total, _in_all_lanes(builder, scalar), line)
            for place, total in zip(places, sums, strict=True):
                builder.store(builder.load(total), place, align=4)
            return context.get_dummy_value()

        return signature, codegen

    return tile


_tile, _half_tile, _line = _tile_of(TILE), _tile_of(TILE // 2), _tile_of(1)


@intrinsic
def _exponential(typing, values, at):
    """exp of `LANES` values from ``at`` in place, for values in [-87, 0]; relative error below 3e-7.

    exp(x) = 2^k 2^f with k the nearest integer to x log2 e and |f| <= 1/2; 2^f by Taylor, 2^k by its bits.
    """
    signature = types.void(_FLOATS, _SIZE)

    def codegen(context, builder, signature, args):
        place = _place(builder, _pointer(context, builder, signature, args, 0), args[1])
        integers = ir.VectorType(ir.IntType(32), LANES)

        def constant(value):
            return ir.Constant(_VECTOR, [value] * LANES)

        x = builder.fmul(builder.load(place, align=4), constant(math.log2(math.e)))
        k = builder.fptosi(builder.fsub(x, constant(0.5)), integers)  # x <= 0: towards zero is to nearest here
        f = builder.fmul(builder.fsub(x, builder.sitofp(k, _VECTOR)), constant(math.log(2)))
        series = constant(1 / 5040)
        for divisor in (720, 120, 24, 6, 2, 1, 1):
            series = builder.fadd(builder.fmul(series, f), constant(1 / divisor))
        bits = builder.shl(
            builder.add(k, ir.Constant(integers, [127] * LANES)), ir.Constant(integers, [23] * LANES)
        )
        builder.store(builder.fmul(series, builder.bitcast(bits, _VECTOR)), place, align=4)
        return context.get_dummy_value()

    return signature, codegen


@compiled
def product(matrix, dense, out, rows, width, add):
    """``out`` [rows, width] (+)= sparse [rows, m] times ``dense`` [m, width].

    ``matrix`` may be several, one below the other, whose products are added up: tiles, each of which reads a part
    of ``dense`` that fits into the cache.
    """
    start, column, value = matrix.start, matrix.column, matrix.value
    for j in range(0, start.shape[0] - 1, max(rows, 1)):
        onto = add or j > 0
        for i in range(rows):
            first, last, at = start[j + i], start[j + i + 1], i * width
            if width == LANES:  # strides that the compiler knows
                _gather_lanes(dense, 0, LANES, column, value, first, last, out, at, onto)
            elif width == PANEL:
                _gather_panel(dense, 0, PANEL, column, value, first, last, out, at, onto)
            else:
                for h in range(0, width - LANES, PANEL):
                    _gather_panel(dense, h, width, column, value, first, last, out, at + h, onto)
                if width % PANEL:
                    h = width - LANES
                    _gather_lanes(dense, h, width, column, value, first, last, out, at + h, onto)


@compiled
def strip(a, base, row, step, b, b_base, b_step, count, out, at, out_row, rows, add):
    """What `_tile` does, for any number of rows."""
    i = 0
    while i < rows:
        a_at, out_at = base + i * row, at + i * out_row
        if TALL and rows - i >= TILE:
            _tile(a, a_at, row, step, b, b_base, b_step, count, out, out_at, out_row, add)
            i += TILE
        elif rows - i >= TILE // 2:
            _half_tile(a, a_at, row, step, b, b_base, b_step, count, out, out_at, out_row, add)
            i += TILE // 2
        else:
            _line(a, a_at, row, step, b, b_base, b_step, count, out, out_at, out_row, add)
            i += 1


@compiled
def whole_tile(a, base, row, step, b, b_base, b_step, count, out, at, out_row, add):
    """What `_tile` does, in halves where it does not fit into registers."""
    if TALL:
        _tile(a, base, row, step, b, b_base, b_step, count, out, at, out_row, add)
    else:
        half, out_half = TILE // 2 * row, TILE // 2 * out_row
        _half_tile(a, base, row, step, b, b_base, b_step, count, out, at, out_row, add)
        _half_tile(a, base + half, row, step, b, b_base, b_step, count, out, at + out_half, out_row, add)


@compiled
def all_entries(matrix):
    """Whether a `Csr` holds all entries of its rows, one after the other, and so names no columns."""
    return matrix.value.shape[0] > matrix.column.shape[0]


@compiled
def rows_product(matrix, weight, out, rows, inner, width, add):
    """``out`` [rows, width] (+)= ``matrix`` [rows, inner], of all entries or sparse, times ``weight``."""
    if not all_entries(matrix):
        product(matrix, weight, out, rows, width, add)
        return
    for i in range(0, rows, BLOCK):
        some, base, at = min(BLOCK, rows - i), i * inner, i * width
        for q in range(0, width, LANES):
            strip(matrix.value, base, inner, 1, weight, q, width, inner, out, at + q, width, some, add)


@compiled
def rows_gradient(matrix, derivative, out, rows, inner, width):
    """``out`` [inner, width] = ``matrix`` transposed times ``derivative`` [rows, width].

    ``matrix`` is [rows, inner] with all entries, or sparse and transposed already.
    """
    if not all_entries(matrix):
        product(matrix, derivative, out, inner, width, False)
        return
    for i in range(0, rows, BLOCK):
        some, base, at = min(BLOCK, rows - i), i * inner, i * width
        for q in range(0, width, LANES):
            strip(matrix.value, base, 1, inner, derivative, at + q, width, some, out, q, width, inner, i > 0)


@compiled
def dense_product(a, b, out, rows, inner, outer, add):
    """``out`` [rows, outer] (+)= ``a`` [rows, inner] times ``b`` [inner, outer]."""
    for q in range(0, outer, LANES):
        for i in range(0, rows, TILE):
            whole_tile(a, i * inner, inner, 1, b, q, outer, inner, out, i * outer + q, outer, add)


@compiled
def dense_gradient(a, b, out, rows, inner, outer):
    """``out`` [inner, outer] = ``a`` [rows, inner] transposed times ``b`` [rows, outer]."""
    for i in range(0, rows, BLOCK):
        some, base, at = min(BLOCK, rows - i), i * inner, i * outer
        for q in range(0, outer, LANES):
            for h in range(0, inner, TILE):
                whole_tile(a, base + h, 1, inner, b, at + q, outer, some, out, h * outer + q, outer, i > 0)


@compiled
def dense_back(a, weight, turned, out, rows, inner, outer, used, add):
    """``out`` [rows, inner] (+)= ``a`` [rows, outer] times ``weight`` [inner, outer] transposed (into ``turned``).

    Only the first ``used`` of the outer columns count.
    """
    for k in range(inner):
        for c in range(used):
            turned[c * inner + k] = weight[k * outer + c]
    for h in range(0, inner, LANES):
        for i in range(0, rows, TILE):
            whole_tile(a, i * outer, outer, 1, turned, h, inner, used, out, i * inner + h, inner, add)


@compiled
def adam(weight, gradient, first, second, rate, correction, decay):
    """A step of Adam with L2 penalty; ``rate`` and ``correction`` carry the bias corrections."""
    for k in range(weight.shape[0]):
        g = gradient[k] + decay * weight[k]
        first[k] = np.float32(BETA1) * first[k] + np.float32(1 - BETA1) * g
        second[k] = np.float32(BETA2) * second[k] + np.float32(1 - BETA2) * g * g
        weight[k] -= rate * first[k] / (math.sqrt(second[k]) * correction + np.float32(EPSILON))


@compiled
def spread(bias, out, rows, width):
    """The bias in every row."""
    for i in range(rows):
        for h in range(width):
            out[i * width + h] = bias[h]


@compiled
def fill_random(state, words):
    """Random 64-bit words by xoshiro256+ (Blackman and Vigna 2018); ``state`` [4] moves on."""
    a, b, c, d = state[0], state[1], state[2], state[3]
    for k in range(words.shape[0]):
        words[k] = a + d
        t = b << np.uint64(17)
        c ^= a
        d ^= b
        b ^= c
        a ^= d
        c ^= t
        d = (d << np.uint64(45)) | (d >> np.uint64(19))
    state[0], state[1], state[2], state[3] = a, b, c, d


@compiled
def relu(hidden):
    """Relu in place."""
    for k in range(hidden.shape[0]):
        hidden[k] = max(hidden[k], np.float32(0))


@compiled
def relu_and_drop(hidden, octets, dropped):
    """Relu, then dropout with probability ``dropped`` / 256: what is kept is scaled."""
    scale = np.float32(256 / (256 - dropped))
    for k in range(hidden.shape[0]):
        kept = octets[k] >= dropped
        hidden[k] = max(hidden[k], np.float32(0)) * (scale if kept else np.float32(0))


@compiled
def through_relu(derivative, hidden, scale):
    """The derivative by what went into relu and dropout; a hidden unit above 0 was active and kept.

    ``derivative`` may be longer than ``hidden``: a buffer that serves wider layers too. The rest is left as it is.
    """
    for k in range(hidden.shape[0]):
        derivative[k] *= scale if hidden[k] > 0 else np.float32(0)


@compiled
def loss_error(logits, labels, error, nodes, classes, padded):
    """Derivative by the logits [nodes, padded] of the mean cross-entropy, with zeros in padding columns."""
    for i in range(nodes):
        at = i * padded
        most = logits[at]
        for c in range(1, classes):
            most = max(most, logits[at + c])
        for c in range(padded):
            error[at + c] = max(logits[at + c] - most, np.float32(-87))
    for at in range(0, nodes * padded, LANES):
        _exponential(error, at)
    weight = np.float32(1) / np.float32(max(nodes, 1))
    for i in range(nodes):
        at, total = i * padded, np.float32(0)
        for c in range(classes):
            total += error[at + c]
        scale = weight / total
        for c in range(classes):
            error[at + c] *= scale
        for c in range(classes, padded):
            error[at + c] = 0
        error[at + labels[i]] -= weight


@compiled
def right_answers(logits, labels, classes, padded):
    """How many nodes get their label."""
    right = 0
    for i in range(labels.shape[0]):
        best = i * padded
        for c in range(best + 1, i * padded + classes):
            if logits[c] > logits[best]:
                best = c
        right += best - i * padded == labels[i]
    return right
