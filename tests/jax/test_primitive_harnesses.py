"""A sample of the uses of primitives that the wheel of JAX keeps for its own tests; KILN_FULL_TESTS=1 runs all."""

import os
import re
import zlib

import jax.numpy as jnp
import numpy as np
import pytest
from harness import Case, Tolerance, assert_agrees, evaluate
from jax._src.internal_test_util.test_harnesses import all_harnesses

ONE_OF = 1 if os.environ.get("KILN_FULL_TESTS") == "1" else 120
# Sorted, since JAX makes some of them from sets: processes that divide the tests have to see them in one order.
HARNESSES = sorted(
    (harness for harness in all_harnesses if zlib.crc32(harness.fullname.encode()) % ONE_OF == 0),
    key=lambda harness: harness.fullname,
)
# What no order is promised of: equal keys, equal candidates.
OPEN = re.compile("sort_multiple_arrays.*isstable_False|approx_top_k.*float16")
# Sums of 4080 products.
LONG_SUMS = {"fft_dims": Tolerance(1e-4, 1e-4)}


def square_of_factor(cholesky):
    """Factors differ by as much as the matrix is badly conditioned; what is above the diagonal may be anything."""

    def function(x):
        factor = jnp.tril(cholesky(x))
        return factor @ factor.conj().mT / jnp.abs(x).max(initial=1)

    return function


@pytest.mark.parametrize("harness", HARNESSES, ids=str)
def test_harness(harness, device, reference_device):
    if OPEN.match(harness.fullname):
        pytest.skip("more than one answer is right")
    tolerance = next((value for key, value in LONG_SUMS.items() if harness.fullname.startswith(key)), None)
    seed = zlib.crc32(harness.fullname.encode())
    function = harness.dyn_fun
    if harness.fullname.startswith("cholesky_"):
        function = square_of_factor(function)
    case = Case(harness.fullname, function, lambda _: harness.dyn_args_maker(np.random.RandomState(seed)))
    try:
        expected, _ = evaluate(case, reference_device)
    except NotImplementedError as error:
        pytest.skip(f"not on XLA:CPU: {error}")
    assert_agrees(evaluate(case, device)[0], expected, tolerance)
