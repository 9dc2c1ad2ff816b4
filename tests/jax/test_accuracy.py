"""The short form of `make accuracy`: every function of f32 and f64 within 2 units in the last place of mpmath, at the same
arguments in each run; 16-bit formats rounded once."""

import os
import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from benchmarks.accuracy.formats import FORMATS  # noqa: E402
from benchmarks.accuracy.functions import FUNCTIONS  # noqa: E402
from benchmarks.accuracy.measure import measure  # noqa: E402

POINTS = 4_000_000 if os.environ.get("KILN_FULL_TESTS") == "1" else 20_000


@pytest.mark.parametrize("form, bound", [("float32", 2.0), ("float64", 2.0), ("float16", 0.501), ("bfloat16", 0.501)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_within_bound(device, name, form, bound):
    (worst,) = measure(FUNCTIONS[name], FORMATS[form], [device], POINTS)
    assert worst.error <= bound, f"{name} of {form} is {worst.error} units off at {worst.arguments}: got {worst.got}"


@pytest.mark.parametrize("form, least, most", [("float32", -149, 127), ("float64", -1074, 1023)])
def test_log2_of_powers_of_two_is_exact(device, form, least, most):
    with jax.enable_x64(True):
        exponents = np.arange(least, most + 1)
        powers = jax.device_put(np.ldexp(1.0, exponents).astype(form), device)
        np.testing.assert_array_equal(np.asarray(jax.jit(jnp.log2)(powers)), exponents)


@pytest.mark.parametrize("name", ["exp2", "log2", "erfc", "logistic"])
def test_optimized_text_is_read_by_jax(device, name):
    # Functions that XLA's reader does not know are custom calls there.
    compiled = jax.jit(FUNCTIONS[name].call).lower(jax.device_put(np.float32(0.5), device)).compile()
    assert name in compiled.as_text()


@pytest.mark.parametrize("divisor", [3.0, 255.0, 0.229, 0.1, 7e-5, -10.5, 1e6, 1e11, 1e-11, 1.9999999, "table"])
@pytest.mark.parametrize("form", ["float32", "float64"])
def test_division_by_constants_is_that_of_the_processor(device, divisor, form):
    """They are products with the reciprocal, and corrected: for all but tiny and huge numbers to the last bit."""
    with jax.enable_x64(True), np.errstate(all="ignore"):
        kind, exponents = np.dtype(form), (-64, 64) if form == "float32" else (-512, 512)
        random = np.random.default_rng(1)
        x = np.ldexp(random.choice([-1, 1], (4096, 24)) * random.uniform(1, 2, (4096, 24)), random.integers(*exponents, (4096, 24))).astype(kind)
        x[0, :5] = 0.0, -0.0, np.inf, -np.inf, np.nan
        c = random.uniform(0.1, 5, 24).astype(kind) if divisor == "table" else kind.type(divisor)
        quotient = np.asarray(jax.jit(lambda x: x / c)(jax.device_put(x, device)))
        bits = f"uint{8 * kind.itemsize}"
        np.testing.assert_array_equal(quotient[1:].view(bits), (x / c)[1:].view(bits))
        np.testing.assert_array_equal(quotient[0], (x / c)[0])
        np.testing.assert_array_equal(np.signbit(quotient[0, :4]), np.signbit((x / c)[0, :4]))
        far = np.array([5e-45, 1e-38, -3e-31, 3.3e38, -2e36] if form == "float32" else [5e-324, 1e-307, 1e305], kind)
        if divisor != "table":
            quotient = np.asarray(jax.jit(lambda x: x / c)(jax.device_put(far, device)))
            limits = np.finfo(kind)
            np.testing.assert_allclose(quotient, far / c, rtol=2 * limits.eps, atol=2 * limits.smallest_subnormal)


@pytest.mark.parametrize("divisor", [3.0, 6.0, -10.5, 0.1, 255.0, 1.9921875, 0.0009, 3e-5, 60000.0, 0.0])
@pytest.mark.parametrize("form", ["float16", "bfloat16"])
def test_narrow_numbers_are_divided_by_constants_to_the_last_bit(device, divisor, form):
    """All there are: a product in f32 rounds as the quotient does, and where it might not the quotient is made."""
    with np.errstate(all="ignore"):
        x = np.arange(65536, dtype=np.uint16).view(form)
        c = np.asarray(divisor, form)
        quotient = np.asarray(jax.jit(lambda x: x / c)(jax.device_put(x, device)))
        expected = (x.astype(np.float32) / c.astype(np.float32)).astype(form)
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(quotient[numbers].view(np.uint16), expected[numbers].view(np.uint16))
        assert np.isnan(quotient[~numbers]).all()


@pytest.mark.parametrize("form", ["float16", "bfloat16"])
def test_narrow_numbers_are_compared_and_chosen_as_numbers(device, form):
    """Zeros, subnormal numbers, infinities and NaN of both signs against each other, under a condition too."""
    with np.errstate(all="ignore"):
        special = np.array([0, 1, 2, 0x3C00, 0x3C01, 0x7BFF, 0x7C00, 0x7E00, 0x7F7F, 0x7F80, 0x7FC0], np.uint16)
        special = np.concatenate([special, special | 0x8000]).view(form)
        x, y = (part.ravel() for part in np.meshgrid(special, special))

        def relations(x, y):
            both = (x < y) & (x >= 0)
            return x < y, x <= y, x > y, x >= y, x == y, x != y, both, (y > x) & (y <= 1)

        results = jax.jit(relations)(jax.device_put(x, device), jax.device_put(y, device))
        for result, expected in zip(results, relations(x.astype(np.float32), y.astype(np.float32))):
            np.testing.assert_array_equal(np.asarray(result), expected)

        def choices(x, y):
            return jnp.maximum(x, y), jnp.minimum(x, y), jnp.maximum(x, 0), jnp.minimum(1, x), jnp.clip(x, -1, 2)

        chosen = jax.jit(choices)(jax.device_put(x, device), jax.device_put(y, device))
        a, b = x.astype(np.float32), y.astype(np.float32)
        for result, expected in zip(chosen, (np.maximum(a, b), np.minimum(a, b), np.maximum(a, 0), np.minimum(1, a), np.clip(a, -1, 2))):
            np.testing.assert_array_equal(np.asarray(result).astype(np.float32), expected)
        # The larger of two zeros is positive, the smaller one negative.
        zeros = (a == 0) & (b == 0)
        np.testing.assert_array_equal(np.signbit(chosen[0])[zeros], (np.signbit(a) & np.signbit(b))[zeros])
        np.testing.assert_array_equal(np.signbit(chosen[1])[zeros], (np.signbit(a) | np.signbit(b))[zeros])


@pytest.mark.parametrize("form", ["float32", "bfloat16"])
def test_exponentials_of_rows_end_as_they_should(device, form):
    """Rows less their maximum, down to where results are subnormal, and with infinities and NaN, against f64."""
    with jax.enable_x64(True), np.errstate(all="ignore"):
        x = np.random.default_rng(1).uniform(-120, 0, (64, 256))
        x[:, 7] = 0  # the largest, but for what follows
        x[1, 9:200] = -np.inf
        x[2, 9], x[3, 9], x[4] = np.nan, np.inf, -np.inf
        x[3, 10] = 88.5  # its exponential is finite, and past half the largest power of two
        x[5], x[5, 3] = -87.25, 0
        x = np.asarray(x, form)
        wide = x.astype(np.float64)
        limits = np.finfo(np.float32) if form == "float32" else jnp.finfo(jnp.bfloat16)
        largest = wide.max(1, keepdims=True)
        powers = np.exp(wide - largest)
        sums = powers.sum(1, keepdims=True)
        guard = np.where(np.isfinite(largest), largest, 0)
        log_sums = np.log(np.exp(wide - guard).sum(1)) + guard[:, 0]
        expected = powers / sums, wide - largest - np.log(sums), log_sums
        functions = [lambda x: jax.nn.softmax(x, 1), lambda x: jax.nn.log_softmax(x, 1), lambda x: jax.nn.logsumexp(x, 1)]
        # Sums of which the logarithm is taken are rounded to 16 bits before.
        eps = float(limits.eps)
        tolerance = {"rtol": 40 * eps, "atol": float(limits.tiny)} if form == "float32" else {"rtol": 3 * eps, "atol": eps}
        for function, of in zip(functions, expected):
            result = np.asarray(jax.jit(function)(jax.device_put(x, device))).astype(np.float64)
            np.testing.assert_allclose(result, of, **tolerance)
        # Numbers that are no longer subnormal are not lost, and what masks leave out is zero.
        powers_there = np.asarray(jax.jit(lambda x: jnp.exp(x - x.max(1, keepdims=True)))(jax.device_put(x, device))).astype(np.float64)
        normal = powers >= float(limits.tiny)
        np.testing.assert_allclose(powers_there[normal], powers[normal], rtol=2 * eps)
        assert (powers_there[1, 9:200] == 0).all()
        slope = np.asarray(jax.jit(jax.grad(lambda x: jax.nn.logsumexp(x, 1).sum()))(jax.device_put(x, device)))
        assert slope[3, 10] == 0 and np.isnan(slope[3, 9])


@pytest.mark.parametrize("form", ["float32", "float64"])
def test_functions_of_log_plus_exp(device, form):
    """log(1 + e^x) as JAX writes it: its parts and its derivative are formulas of their own."""
    with jax.enable_x64(True), np.errstate(all="ignore"):
        kind, random = np.dtype(form), np.random.default_rng(1)
        special = [np.inf, -np.inf, np.nan, 0.0, -0.0, 100.0, -100.0, 800.0, -800.0, 0.41421356, 1.0]
        x = np.concatenate([special, random.normal(size=40_000) * 10, random.uniform(-17.5, -16, 20_000)]).astype(kind)
        wide, tail = x.astype(np.longdouble), np.exp(-np.abs(x.astype(np.longdouble)))

        def check(function, want, bound=2.0):
            got = np.asarray(jax.jit(function)(jax.device_put(x, device)))
            np.testing.assert_array_equal(np.isnan(got), np.isnan(x))
            is_number = np.isfinite(want.astype(kind))
            np.testing.assert_array_equal(got[~is_number], want[~is_number].astype(kind))
            is_number &= np.abs(want) >= np.finfo(kind).tiny  # others may be flushed
            units = np.abs(got[is_number] - want[is_number]) / np.spacing(np.abs(want[is_number]).astype(kind)).astype(np.longdouble)
            assert units.max() <= bound, f"{units.max()} units off at {x[is_number][units.argmax()]}"

        check(jax.grad(lambda x: jax.nn.softplus(x).sum()), np.where(wide < 0, tail, 1) / (1 + tail))
        check(jax.grad(lambda x: jax.nn.log_sigmoid(x).sum()), np.where(wide < 0, 1, tail) / (1 + tail))
        check(jax.grad(lambda x: jnp.logaddexp(0.0, x).sum()), np.where(wide < 0, tail, 1) / (1 + tail))
        check(jax.grad(lambda x: jnp.logaddexp(-x, 0.0).sum()), np.where(wide < 0, -1, -tail) / (1 + tail))
        check(lambda x: jnp.log1p(jnp.clip(jnp.abs(x), 0.0, 1.0)), np.log1p(np.clip(np.abs(wide), 0, 1)))
        check(jax.nn.softplus, np.maximum(wide, 0) + np.log1p(tail), bound=3.0)
        above = np.where(wide < 0, tail * (tail + 2), 1 + 2 * tail)
        tanh = above / (above + np.where(wide < 0, 2, 2 * tail * tail))
        check(lambda x: jnp.tanh(jax.nn.softplus(x)), tanh, bound=4.0)


def test_nan_of_all_bits_stays_nan_through_bfloat16(device):
    """Roundings in between do not look at whether a number is NaN; neither does the last one."""
    bits = np.arange(1 << 16, dtype=np.uint16)
    bits = bits[(bits & 0x7F80) != 0]  # XLA:CPU takes subnormals for zeros

    def of_bits(function):
        return lambda bits: function(jax.lax.bitcast_convert_type(bits, jnp.bfloat16))

    for function in [
        lambda x: (x * x + x) / (x - 1) - x,
        lambda x: jax.nn.gelu(x) * jnp.exp(-x) + jnp.tanh(x + 1),
        lambda x: jnp.sqrt(x * 2) - jnp.log(x + x),
        lambda x: jax.nn.sigmoid(x - x) * x,
        lambda x: jax.nn.softplus(x) * 2,
    ]:
        got, want = (np.asarray(jax.jit(of_bits(function))(jax.device_put(bits, d))) for d in (device, jax.devices("cpu")[0]))
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
            assert np.isnan(got[np.isnan(bits.view(jnp.bfloat16))]).all()
