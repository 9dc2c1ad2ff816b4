"""Complex functions: the error of the larger part in units of its last place, against mpmath, and C's special values."""

import jax
import mpmath
import numpy as np
from jax import lax

from benchmarks.accuracy.formats import F32, F64
from benchmarks.accuracy.measure import Worst


def _tanh(z):
    # mpmath overflows where the answer is 1 to all bits.
    return mpmath.tanh(z) if abs(z.real) < 1e5 else mpmath.mpc(mpmath.sign(z.real), 0)


def _turned(f):
    """-i f(i z)"""
    return lambda z: mpmath.mpc(0, -1) * f(mpmath.mpc(-z.imag, z.real))


FUNCTIONS = {
    "abs": lambda z: mpmath.mpc(abs(z), 0),
    "sign": lambda z: z / abs(z),
    "exp": mpmath.exp,
    "expm1": lambda z: mpmath.exp(z) - 1,
    "log": mpmath.log,
    "log1p": lambda z: mpmath.log(1 + z),
    "sqrt": mpmath.sqrt,
    "rsqrt": lambda z: 1 / mpmath.sqrt(z),
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": _turned(_tanh),
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "tanh": _tanh,
    "asin": mpmath.asin,
    "acos": mpmath.acos,
    "atan": mpmath.atan,
    "asinh": mpmath.asinh,
    "acosh": mpmath.acosh,
    "atanh": mpmath.atanh,
    "logistic": lambda z: 1 / (1 + mpmath.exp(-z)),
    "div": lambda a, b: a / b,
    "atan2": lambda y, x: mpmath.mpc(0, -1) * mpmath.log((x + mpmath.mpc(0, 1) * y) / mpmath.sqrt(x * x + y * y)),
}
FORMATS = {np.dtype(np.complex64): F32, np.dtype(np.complex128): F64}


def _parts(form, count, rng):
    """Moderate numbers, all magnitudes, the neighbourhood of 1 and of multiples of pi/2."""
    # mpmath is slow where exponents are far apart.
    low, high = max(form.lowest - form.precision + 1, -250), min(form.highest, 250)
    kinds = [
        rng.uniform(0, 3, count),
        rng.uniform(0, 100, count),
        np.exp2(rng.uniform(-30, 12, count)),
        np.exp2(rng.uniform(low, high, count)),
        1 + np.exp2(-rng.uniform(1, form.precision, count)),
        rng.integers(1, 200, count) * (np.pi / 2),
    ]
    values = np.choose(rng.integers(0, len(kinds), count), kinds) * rng.choice([-1.0, 1.0], count)
    return values.astype(form.dtype)


def points(dtype, name, count):
    """Numbers without a part that is zero: there the sides of branch cuts are no question of size."""
    form = FORMATS[np.dtype(dtype)]
    rng = np.random.default_rng([ord(c) for c in name])
    z = np.empty(count, dtype)
    z.real, z.imag = _parts(form, count, rng), _parts(form, count, rng)
    # Near the unit circle, where logarithms cancel.
    angle, radius = rng.uniform(0, 7, count // 6), 1 + np.exp2(-rng.uniform(1, form.precision, count // 6))
    z[: count // 6] = radius * np.exp(1j * angle)
    return z


def run(name, operands, device):
    with jax.enable_x64(True), jax.default_device(device):
        operands = jax.device_put(tuple(operands), device)
        return np.asarray(jax.jit(lambda *z: getattr(lax, name)(*z))(*operands)).astype(operands[0].dtype)


def _units(form, got, want):
    """The error of a result in units of the last place of its larger part."""
    end = mpmath.mpf(2) ** (form.highest + 1)
    size = min(max(abs(want.real), abs(want.imag)), end / 2)
    exponent = max(mpmath.frexp(size)[1] - 1, form.lowest) if size else form.lowest
    worst = 0.0
    for g, w in ((got.real, want.real), (got.imag, want.imag)):
        if np.isnan(g):
            return np.inf
        g = mpmath.mpf(float(g)) if np.isfinite(g) else mpmath.sign(float(g)) * end
        w = max(min(w, end), -end)
        worst = max(worst, float(abs(g - w) / mpmath.mpf(2) ** (exponent - form.precision + 1)))
    return worst


def measure(name, dtype, device, count):
    form = FORMATS[np.dtype(dtype)]
    operands = [points(dtype, name, count)]
    if name in ("div", "atan2"):
        operands.append(points(dtype, "divisor", count))
    got = run(name, operands, device)
    worst = Worst(0.0, (), 0.0, 0.0, count)
    with mpmath.workprec(600 if form is F32 else 1400):
        for i in range(count):
            try:
                want = mpmath.mpc(FUNCTIONS[name](*(mpmath.mpc(complex(z[i])) for z in operands)))
            except (ZeroDivisionError, OverflowError, ValueError):
                continue
            error = _units(form, got[i], want)
            if error > worst.error:
                worst = Worst(error, tuple(complex(z[i]) for z in operands), complex(got[i]), error, count)
    return worst
