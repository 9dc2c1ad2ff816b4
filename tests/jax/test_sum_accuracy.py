"""Rounding errors of scans and of large sums grow with the logarithm of the length: elements are all equal, so that
additions of one element after the other round the same way, and their errors, hundreds to thousands of roundings, add up."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

# The largest relative error of one rounding.
ROUNDING = {"float32": 2.0**-24, "float64": 2.0**-53, "float16": 2.0**-11, "bfloat16": 2.0**-8}
ELEMENTS = (0.1, 0.7, 1.3)


def relative_error(result, truth):
    return float(np.max(np.abs(np.asarray(result).astype(np.longdouble) / truth - 1)))


def run(device, function, shape, dtype, element):
    with jax.enable_x64(True):
        value = np.full(shape, element, jnp.dtype(dtype))
        return jax.jit(function)(jax.device_put(value, device)), np.longdouble(value.flat[0])


SCANS = {
    "cumsum": (lax.cumsum, 0),
    "reverse": (lambda x: lax.cumsum(x, reverse=True)[::-1], 0),
    "associative": (lambda x: lax.associative_scan(jnp.add, x), 0),
    "rows": (lambda x: lax.cumsum(x, axis=1), 1),
    "columns": (lambda x: lax.cumsum(x, axis=0), 0),
    "middle": (lambda x: lax.cumsum(x, axis=1), 1),
}
SHAPES = [("cumsum", (1 << 20,)), ("cumsum", (300_007,)), ("reverse", (1 << 18,)), ("associative", (1 << 18,))]
SHAPES += [("rows", (9, 70_000)), ("rows", (50, 300)), ("columns", (20_000, 19)), ("middle", (2, 30_001, 3))]


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("name, shape", SHAPES)
def test_scan(device, name, shape, dtype):
    function, axis = SCANS[name]
    length = min(shape[axis], 30_000) if dtype == "float16" else shape[axis]
    shape = shape[:axis] + (length,) + shape[axis + 1 :]
    # A result is the sum of tiles or blocks, at most as many as the length has bits, each of them a tree of as many
    # levels as its own length has, but for eight vectors or sixteen elements of a column that are added in a row.
    additions = 2 * math.log2(length) + 16
    for element in ELEMENTS:
        result, value = run(device, function, shape, dtype, element)
        truth = value * np.arange(1, length + 1).reshape((-1,) + (1,) * (len(shape) - axis - 1))
        assert relative_error(result, truth) <= additions * ROUNDING[dtype], element


REDUCES = {
    "sum": ((1 << 24,), jnp.sum, 1 << 24),
    "rows": ((16, 1 << 20), lambda x: x.sum(1), 1 << 20),
    "columns": ((1 << 20, 16), lambda x: x.sum(0), 1 << 20),
    "statistics": ((64, 16, 1 << 14), lambda x: x.sum((0, 2)), 1 << 20),
    "dot": ((1 << 24,), lambda x: jnp.dot(x, jnp.ones_like(x)), 1 << 24),
}


@pytest.mark.parametrize("name", REDUCES)
def test_reduce(device, name):
    shape, function, count = REDUCES[name]
    # At most 128 additions in a row, levels of at most 32 of such sums, each for sixteen times as many elements, and parts.
    additions = 128 + 32 * math.log(count, 16) + 32
    for element in ELEMENTS:
        result, value = run(device, function, shape, "float32", element)
        assert relative_error(result, value * count) <= additions * ROUNDING["float32"], element


def test_reduce_beside_maximum(device):
    """One loop makes both."""
    count = 1 << 22
    for element in ELEMENTS:
        (result, largest), value = run(device, lambda x: (x.sum(), x.max()), (count,), "float32", element)
        assert largest == np.float32(element)
        assert relative_error(result, value * count) <= (128 + 32 * math.log(count, 16)) * ROUNDING["float32"], element


def add(x, dimensions):
    return lax.reduce(x, np.zeros((), x.dtype), lax.add, dimensions)


def windows(x, size):
    return lax.reduce_window(x, np.zeros((), x.dtype), lax.add, size, (1,) * x.ndim, "VALID")


NARROW = {
    "rows": ((16, 4096), lambda x: add(x, (1,)), 4096),
    "columns": ((4096, 16), lambda x: add(x, (0,)), 4096),
    "middle": ((3, 64, 40), lambda x: add(x, (1,)), 64),
    "all": ((60, 70), lambda x: add(x, (0, 1)), 4200),
    "beside a maximum": ((2000,), lambda x: add(x, (0,)) + 0 * lax.reduce_max(x, (0,)), 2000),
    "windows": ((2, 20, 20, 8), lambda x: windows(x, (1, 7, 7, 1)), 49),
}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", NARROW)
def test_narrow(device, name, dtype):
    """Sums of 16 numbers and more are made in f32 and rounded once."""
    shape, function, count = NARROW[name]
    for element in ELEMENTS:
        result, value = run(device, function, shape, dtype, element)
        assert relative_error(result, value * count) <= 1.01 * ROUNDING[dtype], element
