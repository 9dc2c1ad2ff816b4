"""Quantized tensors against a numpy model of the StableHLO specification.

XLA:CPU refuses them, so there is no other implementation beside it. The short form draws a few types per group; with
KILN_FULL_TESTS=1 thousands of cases are drawn. Seeds are in the test names.
"""

import dataclasses
import math
import os

import jax
import ml_dtypes
import numpy as np
import pytest
from conftest import PLATFORM
from stablehlo_programs import main, run

pytestmark = pytest.mark.skipif(PLATFORM == "cpu", reason="XLA:CPU refuses quantized types")
FULL = os.environ.get("KILN_FULL_TESTS") == "1"



@pytest.fixture(autouse=True)
def quiet():
    """Overflow and invalid values are part of the model."""
    with np.errstate(all="ignore"):
        yield


EXPRESSED = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
STORAGE = {
    "i2": ml_dtypes.int2, "i4": ml_dtypes.int4, "i8": np.int8, "i16": np.int16, "i32": np.int32,
    "u2": ml_dtypes.uint2, "u4": ml_dtypes.uint4, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32,
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Quantized:
    storage: str
    expressed: str
    scales: tuple
    zeros: tuple
    low: int
    high: int
    axis: int = -1

    def element(self):
        parameters = ", ".join(f"{scale!r}:{zero}" for scale, zero in zip(self.scales, self.zeros))
        span = f"{self.storage}<{self.low}:{self.high}>:{self.expressed}"
        if self.axis < 0:
            return f"!quant.uniform<{span}, {parameters}>"
        return f"!quant.uniform<{span}:{self.axis}, {{{parameters}}}>"

    def tensor(self, shape):
        return tensor(shape, self.element())

    def storage_tensor(self, shape):
        return tensor(shape, self.storage.replace("u", "ui"))

    def spread(self, values, shape, dtype):
        if self.axis < 0:
            return np.asarray(values[0]).astype(dtype)
        sizes = [1] * len(shape)
        sizes[self.axis] = len(values)
        return np.asarray(values).astype(dtype).reshape(sizes)

    def dequantize(self, stored):
        real = EXPRESSED[self.expressed]
        centered = stored.astype(np.int64) - self.spread(self.zeros, stored.shape, np.int64)
        return centered.astype(real) * self.spread(self.scales, stored.shape, real)

    def unrounded(self, value):
        """What rounding to an integer gives the stored value, step by step in the expressed type."""
        real = EXPRESSED[self.expressed]
        value = value.astype(real) / self.spread(self.scales, value.shape, real)
        value = value + self.spread(self.zeros, value.shape, np.int64).astype(real)
        return np.clip(value, np.array(self.low).astype(real), np.array(self.high).astype(real)).astype(np.float64)

    def quantize(self, value):
        # A bound that the expressed type cannot hold is what that rounds it to; conversion then saturates.
        least = 0 if self.storage[0] == "u" else -(1 << int(self.storage[1:]) - 1)
        rounded = np.clip(np.rint(self.unrounded(value)), least, least + (1 << int(self.storage[1:])) - 1)
        return np.nan_to_num(rounded, nan=0.0).astype(np.int64).astype(STORAGE[self.storage])

    def random(self, rng, shape):
        return rng.integers(self.low, self.high, shape, endpoint=True).astype(STORAGE[self.storage])


def tensor(shape, element):
    return "tensor<" + "".join(f"{size}x" for size in shape) + element + ">"


def draw(rng, storage=None, expressed=None, channels=0, axis=-1, scale=None):
    storage = storage or rng.choice(["i4", "u4", "i8", "u8", "i16", "u16"])
    expressed = expressed or rng.choice(list(EXPRESSED))
    bits = int(storage[1:])
    low = 0 if storage[0] == "u" else -(1 << bits - 1)
    high = low + (1 << bits) - 1
    if rng.random() < 0.3:
        low += 1
    count = channels if axis >= 0 else 1
    if scale is None:
        scales = tuple(float(np.float32(s)) for s in rng.uniform(0.01, 0.6, count))
    else:
        scales = (scale,) * count
    zeros = tuple(int(z) for z in rng.integers(max(low, -200), min(high, 200), count, endpoint=True))
    if rng.random() < 0.25:
        zeros = (max(low, 0),) * count
    return Quantized(storage, expressed, scales, zeros, low, high, axis)


def assert_stored(actual, quantized, value, ulps):
    """`actual` stores `value`, which an op may have got wrong by `ulps` of the expressed type before it was rounded."""
    assert actual.dtype == STORAGE[quantized.storage]
    if ulps == 0:
        np.testing.assert_array_equal(actual.astype(np.int64), quantized.quantize(value).astype(np.int64))
        return
    wanted = quantized.unrounded(value)
    epsilon = float(ml_dtypes.finfo(EXPRESSED[quantized.expressed]).eps)
    # Zero points are added to the quotient, whose magnitude counts for the error.
    zeros = np.abs(quantized.spread(quantized.zeros, wanted.shape, np.float64))
    slack = ulps * epsilon * (np.abs(wanted) + zeros + 1)
    error = np.abs(actual.astype(np.float64) - wanted)
    assert np.all((error <= 0.5 + slack) | np.isnan(wanted)), (quantized, error.max())


class Program:
    """Ops over quantized values whose storage goes in and out of @main by bitcast_convert."""

    def __init__(self):
        self.body, self.arguments, self.kinds, self.results, self.checks, self.count = [], [], [], [], [], 0

    def value(self, text, kind):
        self.count += 1
        self.body.append(f"%v{self.count} = {text}")
        return f"%v{self.count}", kind

    def argument(self, array, kind):
        self.arguments.append(array)
        self.kinds.append(kind)
        return f"%a{len(self.arguments) - 1}", kind

    def stored(self, quantized, array):
        name, kind = self.argument(array, quantized.storage_tensor(array.shape))
        if int(quantized.storage[1:]) < 8:  # How such arrays cross the boundary is not the point here.
            self.arguments[-1] = array.astype(np.int64).astype(np.int8)
            self.kinds[-1] = tensor(array.shape, "i8")
            name, kind = self.op("convert", [(name, self.kinds[-1])], kind)
        return self.value(f"stablehlo.bitcast_convert {name} : ({kind}) -> {quantized.tensor(array.shape)}", quantized.tensor(array.shape))

    def op(self, name, operands, kind, attributes="", regions=""):
        types = ", ".join(operand[1] for operand in operands)
        names = ", ".join(operand[0] for operand in operands)
        return self.value(f'"stablehlo.{name}"({names}) {regions} {{{attributes}}} : ({types}) -> {kind}', kind)

    def check(self, value, quantized, shape, expected, ulps=0):
        """`expected`: the float result before it is quantized; for the storage itself pass quantized=None."""
        if quantized is not None:
            value = self.value(f"stablehlo.bitcast_convert {value[0]} : ({value[1]}) -> {quantized.storage_tensor(shape)}", quantized.storage_tensor(shape))
        self.results.append(value)
        self.checks.append((quantized, expected, ulps))

    def run(self, device):
        with jax.enable_x64(True):
            results = run(device, main(self.body, self.kinds, self.results), *self.arguments)
        for actual, (quantized, expected, ulps) in zip(results, self.checks, strict=True):
            if quantized is None:
                np.testing.assert_array_equal(actual.astype(np.float64), np.asarray(expected).astype(np.float64))
            else:
                assert_stored(actual, quantized, expected, ulps)


def real_sign(x):
    return np.sign(x).astype(x.dtype)


# Functions of one value with the error, in units of the expressed type, that they may have: 0 is exact.
UNARY = {
    "abs": (np.abs, 0), "negate": (np.negative, 0), "ceil": (np.ceil, 0), "floor": (np.floor, 0), "sign": (real_sign, 0),
    "sqrt": (np.sqrt, 2), "rsqrt": (lambda x: 1 / np.sqrt(x), 4), "exponential": (np.exp, 4), "log": (np.log, 4),
    "exponential_minus_one": (np.expm1, 4), "log_plus_one": (np.log1p, 4), "sine": (np.sin, 4), "cosine": (np.cos, 4),
    "tanh": (np.tanh, 4), "cbrt": (np.cbrt, 4), "logistic": (lambda x: 1 / (1 + np.exp(-x)), 4),
    "round_nearest_even": (np.rint, 0),
}  # fmt: skip
BINARY = {
    "add": (np.add, 0), "subtract": (np.subtract, 0), "multiply": (np.multiply, 0), "divide": (np.divide, 0),
    "maximum": (np.maximum, 0), "minimum": (np.minimum, 0), "power": (np.power, 4), "atan2": (np.arctan2, 4),
    "remainder": (np.fmod, 0),
}  # fmt: skip


@pytest.mark.parametrize("seed", range(60 if FULL else 2))
def test_elementwise(seed, device):
    rng = np.random.default_rng(seed)
    program = Program()
    wide = np.float64
    for name, (function, ulps) in UNARY.items():
        base = draw(rng)
        to = draw(rng, base.storage, base.expressed)
        to = dataclasses.replace(to, low=base.low, high=base.high, zeros=(min(max(to.zeros[0], base.low), base.high),))
        array = base.random(rng, (5, 7))
        real = base.dequantize(array)
        value = function(real.astype(wide)).astype(real.dtype) if ulps else function(real)
        result = program.op(name, [program.stored(base, array)], to.tensor((5, 7)))
        program.check(result, to, (5, 7), value, ulps)
    for name, (function, ulps) in BINARY.items():
        base = draw(rng, storage=rng.choice(["i4", "i8", "u8", "i16"]))
        zero = int(rng.integers(base.low, base.high))
        other = dataclasses.replace(base, scales=(float(np.float32(rng.uniform(0.01, 1))),), zeros=(zero,))
        left, right = base.random(rng, (6, 3)), other.random(rng, (6, 3))
        a, b = base.dequantize(left), other.dequantize(right)
        value = function(a.astype(wide), b.astype(wide)).astype(a.dtype) if ulps else function(a, b)
        result = program.op(name, [program.stored(base, left), program.stored(other, right)], other.tensor((6, 3)))
        program.check(result, other, (6, 3), value, ulps)
    program.run(device)


@pytest.mark.parametrize("seed", range(60 if FULL else 1))
def test_quantize_and_dequantize(seed, device):
    rng = np.random.default_rng(seed)
    program = Program()
    for storage in STORAGE:
        expressed = rng.choice(["f32", "f64"] if storage[1:] == "32" else list(EXPRESSED))
        real = EXPRESSED[expressed]
        axis = int(rng.integers(-1, 3))
        shape = (3, 4, 5)
        channels = shape[axis] if axis >= 0 else 0
        quantized = draw(rng, storage, expressed, channels, axis)
        value = (rng.normal(0, 20 * quantized.scales[0], shape) * 2.0 ** rng.integers(-3, 8, shape)).astype(real)
        value.flat[:4] = [0.0, -0.0, np.inf, -np.inf]
        value.flat[4:12] = (np.arange(8) - 3.5) * quantized.scales[0]
        argument = program.argument(value, tensor(shape, expressed))
        program.check(program.op("uniform_quantize", [argument], quantized.tensor(shape)), quantized, shape, value)
        array = quantized.random(rng, shape)
        back = program.op("uniform_dequantize", [program.stored(quantized, array)], tensor(shape, expressed))
        program.check(back, None, shape, quantized.dequantize(array))
        if storage[1:] != "32":
            other = draw(rng, rng.choice(["i8", "u8", "i16"]), expressed, channels, axis)
            again = program.op("uniform_quantize", [program.stored(quantized, array)], other.tensor(shape))
            program.check(again, other, shape, quantized.dequantize(array))
    program.run(device)


def product_types(rng, channels, axis, result_axis):
    """Left, right and result of a product: the right one per axis or not, and the result per axis with it or not."""
    expressed = rng.choice(["f32", "f32", "f64", "bf16", "f16"])
    storage = rng.choice(["i8", "i8", "u8", "i4", "i16"])
    lhs = draw(rng, storage, expressed)
    rhs = draw(rng, storage, expressed, channels, axis)
    if storage != "u8" or axis >= 0:  # StableHLO's verifier wants zero points of zero on the right.
        rhs = dataclasses.replace(rhs, zeros=(max(rhs.low, 0),) * len(rhs.zeros))
    rhs = dataclasses.replace(rhs, zeros=(0,) * len(rhs.zeros), low=min(rhs.low, 0))
    wide = rng.choice(["i8", "i16", "i32"]) if expressed in ("f32", "f64") else storage
    result = draw(rng, wide, expressed, channels, result_axis)
    if result.storage != "i32":
        result = dataclasses.replace(result, scales=tuple(s * 16 for s in result.scales))
    return lhs, rhs, result


@pytest.mark.parametrize("seed", range(40 if FULL else 1))
def test_dot_general(seed, device):
    rng = np.random.default_rng(seed)
    program = Program()
    for _ in range(4):
        batch, m, k, n = (int(x) for x in rng.integers(1, 9, 4))
        per_axis = rng.random() < 0.5
        lhs, rhs, result = product_types(rng, n, 2 if per_axis else -1, 2 if per_axis and rng.random() < 0.5 else -1)
        left, right = lhs.random(rng, (batch, m, k)), rhs.random(rng, (batch, k, n))
        a, b = lhs.dequantize(left).astype(np.float64), rhs.dequantize(right).astype(np.float64)
        dimensions = ("dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], "
                      "lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>")  # fmt: skip
        operands = [program.stored(lhs, left), program.stored(rhs, right)]
        value = program.op("dot_general", operands, result.tensor((batch, m, n)), dimensions)
        program.check(value, result, (batch, m, n), a @ b, dot_ulps(a, b, result, k))
        if lhs.expressed in ("f32", "f64"):  # Weights alone are quantized.
            real = EXPRESSED[lhs.expressed]
            operands[0] = program.argument(a.astype(real), tensor(a.shape, lhs.expressed))
            value = program.op("dot_general", operands, tensor((batch, m, n), lhs.expressed), dimensions)
            value = program.op("uniform_quantize", [value], result.tensor((batch, m, n)))
            program.check(value, result, (batch, m, n), a @ b, dot_ulps(a, b, result, k))
    program.run(device)


def dot_ulps(a, b, result, terms):
    """Rounding of each product and sum, relative to what the result is: large terms may cancel."""
    most = np.abs(a).max(initial=0) * np.abs(b).max(initial=0) * terms
    return 4 * (1 + most / min(result.scales))


@pytest.mark.parametrize("seed", range(60 if FULL else 2))
def test_convolution(seed, device):
    rng = np.random.default_rng(seed)
    program = Program()
    for _ in range(2):
        groups = int(rng.choice([1, 1, 2]))
        batch, height, width, kernel = (int(x) for x in rng.integers(1, 7, 4))
        inputs, outputs = int(rng.integers(1, 4)) * groups, int(rng.integers(1, 4)) * groups
        kernel = min(kernel, height, width, 3)
        stride, dilation = (int(x) for x in rng.integers(1, 3, 2))
        padding = [[int(x) for x in rng.integers(0, 3, 2)] for _ in range(2)]
        if kernel > 1:
            dilation = 1
        per_axis = rng.random() < 0.5
        lhs, rhs, result = product_types(rng, outputs, 3 if per_axis else -1, 3 if per_axis and rng.random() < 0.5 else -1)
        left = lhs.random(rng, (batch, height, width, inputs))
        right = rhs.random(rng, (kernel, kernel, inputs // groups, outputs))
        a, b = lhs.dequantize(left).astype(np.float64), rhs.dequantize(right).astype(np.float64)
        with jax.enable_x64(True), jax.default_device(jax.devices("cpu")[0]):
            expected = np.asarray(jax.lax.conv_general_dilated(
                a, b, (stride, stride), padding, lhs_dilation=(dilation, dilation), feature_group_count=groups,
                dimension_numbers=("NHWC", "HWIO", "NHWC"), precision="highest"))  # fmt: skip
        attributes = (
            f"window_strides = array<i64: {stride}, {stride}>, padding = dense<{padding}> : tensor<2x2xi64>, "
            f"lhs_dilation = array<i64: {dilation}, {dilation}>, rhs_dilation = array<i64: 1, 1>, "
            f"feature_group_count = {groups} : i64, batch_group_count = 1 : i64, "
            "dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>")  # fmt: skip
        operands = [program.stored(lhs, left), program.stored(rhs, right)]
        value = program.op("convolution", operands, result.tensor(expected.shape), attributes)
        terms = kernel * kernel * inputs
        program.check(value, result, expected.shape, expected, dot_ulps(a, b, result, terms))
    program.run(device)


@pytest.mark.parametrize("seed", range(40 if FULL else 1))
def test_moves_storage(seed, device):
    rng = np.random.default_rng(seed)
    program = Program()
    quantized = draw(rng, storage=rng.choice(["i4", "u8", "i16"]))
    array = quantized.random(rng, (3, 4))
    other = quantized.random(rng, (3, 4))
    one = quantized.random(rng, ())
    kind = quantized.tensor
    x, y, z = program.stored(quantized, array), program.stored(quantized, other), program.stored(quantized, one)
    mask = rng.random((3, 4)) < 0.5
    pred = program.argument(mask, tensor((3, 4), "i1"))
    at = program.argument(np.int32(1), "tensor<i32>")
    rows = program.argument(np.array([2, 0], np.int32), "tensor<2xi32>")

    def check(value, expected):
        program.check(value, quantized, expected.shape, None)
        program.checks[-1] = (None, expected, 0)

    check(program.op("reshape", [x], kind((2, 6))), array.reshape(2, 6))
    check(program.op("transpose", [x], kind((4, 3)), "permutation = array<i64: 1, 0>"), array.T)
    check(program.op("reverse", [x], kind((3, 4)), "dimensions = array<i64: 1>"), array[:, ::-1])
    check(program.op("broadcast_in_dim", [x], kind((2, 3, 4)), "broadcast_dimensions = array<i64: 1, 2>"), np.stack([array, array]))
    check(program.op("concatenate", [x, y], kind((3, 8)), "dimension = 1 : i64"), np.concatenate([array, other], 1))
    slices = "start_indices = array<i64: 1, 0>, limit_indices = array<i64: 3, 4>, strides = array<i64: 1, 2>"
    check(program.op("slice", [x], kind((2, 2)), slices), array[1:3, 0:4:2])
    pads = "edge_padding_low = array<i64: 1, 0>, edge_padding_high = array<i64: 0, 2>, interior_padding = array<i64: 0, 0>"
    check(program.op("pad", [x, z], kind((4, 6)), pads), np.pad(array.astype(np.int64), ((1, 0), (0, 2)), constant_values=int(one)).astype(array.dtype))
    check(program.op("select", [pred, x, y], kind((3, 4))), np.where(mask, array, other))
    check(program.op("dynamic_slice", [x, at, at], kind((2, 2)), "slice_sizes = array<i64: 2, 2>"), array[1:3, 1:3])
    updated = array.copy()
    updated[1, 1] = one
    small = program.op("reshape", [z], kind((1, 1)))
    check(program.op("dynamic_update_slice", [x, small, at, at], kind((3, 4))), updated)
    gather = ("dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, "
              "slice_sizes = array<i64: 1, 4>")  # fmt: skip
    check(program.op("gather", [x, rows], kind((2, 4)), gather), array[[2, 0]])
    scalar = kind(())
    less = f'({{^bb0(%p: {scalar}, %q: {scalar}): %l = stablehlo.compare LT, %p, %q : ({scalar}, {scalar}) -> tensor<i1> stablehlo.return %l : tensor<i1>}})'
    check(program.op("sort", [x], kind((3, 4)), "dimension = 1 : i64, is_stable = true", less), np.sort(array.astype(np.int64), 1).astype(array.dtype))
    largest = f'({{^bb0(%p: {scalar}, %q: {scalar}): %l = stablehlo.maximum %p, %q : {scalar} stablehlo.return %l : {scalar}}})'
    top = np.maximum(array.astype(np.int64), int(one))
    check(program.op("reduce", [x, z], kind((3,)), "dimensions = array<i64: 1>", largest), top.max(1).astype(array.dtype))
    window = "window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>"
    check(program.op("reduce_window", [x, z], kind((3, 3)), window, largest), np.maximum(top[:, :3], top[:, 1:]).astype(array.dtype))
    check(program.op("clamp", [z, x, y], kind((3, 4))), np.minimum(np.maximum(array.astype(np.int64), int(one)), other.astype(np.int64)).astype(array.dtype))
    grow = (f'({{^bb0(%i: tensor<i32>, %s: {kind((3, 4))}): %n = stablehlo.compare LT, %i, {at[0]} : (tensor<i32>, tensor<i32>) -> tensor<i1> '
            f'stablehlo.return %n : tensor<i1>}}, {{^bb0(%i: tensor<i32>, %s: {kind((3, 4))}): %k = stablehlo.add %i, {at[0]} : tensor<i32> '
            f'%m = stablehlo.maximum %s, {y[0]} : {kind((3, 4))} stablehlo.return %k, %m : tensor<i32>, {kind((3, 4))}}})')  # fmt: skip
    zero = program.value("stablehlo.constant dense<0> : tensor<i32>", "tensor<i32>")
    program.count += 1
    loop = f"%v{program.count}"
    program.body.append(f'{loop}:2 = "stablehlo.while"({zero[0]}, {x[0]}) {grow} : (tensor<i32>, {kind((3, 4))}) -> (tensor<i32>, {kind((3, 4))})')
    check((f"{loop}#1", kind((3, 4))), np.maximum(array.astype(np.int64), other.astype(np.int64)).astype(array.dtype))
    program.run(device)


def test_compares_values_of_different_types(device):
    rng = np.random.default_rng(0)
    program = Program()
    a, b = draw(rng, "i8", "f32", scale=0.25), draw(rng, "i8", "f32", scale=0.5)
    b = dataclasses.replace(b, low=a.low, high=a.high, zeros=(1,))
    left, right = a.random(rng, (40,)), b.random(rng, (40,))
    operands = [program.stored(a, left), program.stored(b, right)]
    less = program.op("compare", operands, tensor((40,), "i1"), "comparison_direction = #stablehlo<comparison_direction LT>")
    program.check(less, None, (40,), a.dequantize(left) < b.dequantize(right))
    program.run(device)


def test_reduction_saturates_and_rounds_at_each_step(device):
    program = Program()
    quantized = Quantized("i8", "f32", (0.5,), (3,), -128, 127)
    array = np.array([[100, 100, -120, 7], [1, 2, 3, 4]], np.int8)
    zero = program.stored(quantized, np.int8(3))
    scalar = quantized.tensor(())
    add = f'({{^bb0(%p: {scalar}, %q: {scalar}): %l = stablehlo.add %p, %q : {scalar} stablehlo.return %l : {scalar}}})'
    value = program.op("reduce", [program.stored(quantized, array), zero], quantized.tensor((2,)), "dimensions = array<i64: 1>", add)
    # The first row saturates or not by the order of the sums; the second one does not whatever the order.
    value = program.op("slice", [value], quantized.tensor((1,)), "start_indices = array<i64: 1>, limit_indices = array<i64: 2>, strides = array<i64: 1>")
    program.check(value, quantized, (1,), quantized.dequantize(array[1]).sum(keepdims=True))
    program.run(device)


def test_refusals_name_the_op(device):
    kind = "tensor<4x!quant.uniform<i8:f32, 0.5>>"
    program = Program()
    value = program.op("uniform_quantize", [program.argument(np.zeros(4, np.float32), "tensor<4xf32>")], kind)
    value = program.op("custom_call", [value], kind, 'call_target_name = "Qr"')
    program.check(program.op("uniform_dequantize", [value], "tensor<4xf32>"), None, (4,), np.zeros(4))
    with pytest.raises(Exception, match="custom_call.*takes no quantized tensors"):
        program.run(device)


def test_whole_layer_in_integers(device):
    """A quantized matrix product with bias and relu, as converters write it, close to the floats that it stands for."""
    rng = np.random.default_rng(7)
    program = Program()
    x = draw(rng, "i8", "f32", scale=1 / 32)
    w = Quantized("i8", "f32", tuple(float(np.float32(s)) for s in rng.uniform(0.01, 0.02, 16)), (0,) * 16, -127, 127, 1)
    bias = Quantized("i32", "f32", tuple(s / 32 for s in w.scales), (0,) * 16, -(2**31), 2**31 - 1, 1)
    out = Quantized("i8", "f32", (1 / 8,), (-128,), -128, 127)
    a, b = x.random(rng, (8, 64)), w.random(rng, (64, 16))
    c = rng.integers(-5000, 5000, (8, 16)).astype(np.int32)
    product = program.op("dot_general", [program.stored(x, a), program.stored(w, b)], bias.tensor((8, 16)),
                         "dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>")  # fmt: skip
    total = program.op("add", [product, program.stored(bias, c)], bias.tensor((8, 16)))
    narrow = program.op("uniform_quantize", [total], out.tensor((8, 16)))
    expected = x.dequantize(a).astype(np.float64) @ w.dequantize(b).astype(np.float64) + bias.dequantize(c)
    program.check(narrow, out, (8, 16), expected.astype(np.float32), 2 ** math.ceil(math.log2(64)))
    program.run(device)
