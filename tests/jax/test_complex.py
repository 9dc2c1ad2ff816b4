"""Complex functions within a few units in the last place of mpmath, and C's (annex G) values at infinities, NaN and signed
zeros, which numpy takes from the C library."""

import os
import pathlib
import sys

import jax
import numpy as np
import pytest
from jax import export, lax

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from benchmarks.accuracy import complex_plane  # noqa: E402

COUNT = 4000 if os.environ.get("KILN_FULL_TESTS") == "1" else 100
C_NAMES = {name: "arc" + name[1:] for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh")}


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", complex_plane.FUNCTIONS)
def test_error(device, name, dtype):
    worst = complex_plane.measure(name, dtype, device, COUNT)
    assert worst.error <= 4, f"{name} at {worst.arguments}: got {worst.got}, {worst.error} units off"


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", *C_NAMES])
def test_special_values(device, name, dtype):
    info = np.finfo(dtype)
    parts = np.array([0, 1, 2, 0.5, 100, info.tiny, info.smallest_subnormal, info.max, np.inf, np.nan], info.dtype)
    parts = np.concatenate([parts, -parts[:-1]])
    z = np.empty(parts.size**2, dtype)
    z.real, z.imag = np.repeat(parts, parts.size), np.tile(parts, parts.size)
    # Two that are not finite leave C's libraries their choice of signs; two that are finite are test_error's.
    edge = (np.isfinite(z.real) != np.isfinite(z.imag)) | (z.real == 0) | (z.imag == 0)
    z = z[edge & (np.isfinite(z.real) | np.isfinite(z.imag))]
    got = complex_plane.run(name, [z], device)
    with np.errstate(all="ignore"):
        want = getattr(np, C_NAMES.get(name, name))(z)
    for g, w in ((got.real, want.real), (got.imag, want.imag)):
        with np.errstate(all="ignore"):
            close = (g == w) | (np.isnan(g) & np.isnan(w)) | (np.abs(g - w) <= 8 * info.eps * np.abs(w))
        # Beside a NaN a zero may have either sign.
        sign = np.isnan(want.real) | np.isnan(want.imag) | (np.signbit(g) == np.signbit(w))
        bad = ~(close & sign)
        assert not bad.any(), f"{name}: {[(complex(a), complex(b), complex(c)) for a, b, c in zip(z[bad], got[bad], want[bad])][:5]}"


@pytest.mark.parametrize("function, dtype", [(lax.erfc, np.float32), (lax.exp, np.complex64), (lax.atan, np.complex64)])
def test_exports_with_open_sizes(device, function, dtype):
    rows = export.symbolic_shape("rows")
    exported = export.export(jax.jit(function), platforms=["kiln"])(jax.ShapeDtypeStruct((*rows, 3), dtype))
    x = jax.device_put(np.full((2, 3), 0.5, dtype), device)
    got = np.asarray(export.deserialize(exported.serialize()).call(x))
    np.testing.assert_allclose(got, np.asarray(jax.jit(function)(x)), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_zeros_of_quotients_keep_their_signs(device, dtype):
    parts = np.array([0.0, -0.0, 1, -2], dtype(0).real.dtype)
    a, b, c, d = (grid.ravel() for grid in np.meshgrid(parts, parts, parts, parts))
    defined = (c != 0) | (d != 0)
    a, b, c, d = a[defined], b[defined], c[defined], d[defined]
    z, w = np.empty((2, a.size), dtype)
    z.real, z.imag, w.real, w.imag = a, b, c, d
    got = complex_plane.run("div", [z, w], device)
    norm = c * c + d * d
    for part, want in ((got.real, (a * c + b * d) / norm), (got.imag, (b * c - a * d) / norm)):
        np.testing.assert_array_equal(part, want)
        np.testing.assert_array_equal(np.signbit(part), np.signbit(want))
