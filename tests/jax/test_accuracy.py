"""The short form of `make accuracy`: every function of f32 and f64 within 2 units in the last place of mpmath, at the same
arguments in each run; 16-bit formats rounded once."""

import os
import pathlib
import sys

import jax
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


@pytest.mark.parametrize("name", ["exp2", "erfc", "logistic"])
def test_optimized_text_is_read_by_jax(device, name):
    # Functions that XLA's reader does not know are custom calls there.
    compiled = jax.jit(FUNCTIONS[name].call).lower(jax.device_put(np.float32(0.5), device)).compile()
    assert name in compiled.as_text()
