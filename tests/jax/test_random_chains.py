"""Random chains of operations, jitted for the device under test, against XLA:CPU. The long form: KILN_FULL_TESTS=1."""

import os
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import random_chains
from harness import to_numpy
from random_chains import OPERATIONS, program

SEEDS = range(1000 if os.environ.get("KILN_FULL_TESTS") == "1" else 12)

# Rounding of one operation is the operand of the next: some ten operations on values of about size one, some of which
# cancel. So errors count against the largest result, and in units of the narrowest type that the program computes in.
ROUNDINGS = {np.dtype("float64"): 1e6, np.dtype("float32"): 200, np.dtype("float16"): 12, np.dtype(jnp.bfloat16): 12}


def unit_of_error(function, arguments):
    with jax.enable_x64(True):
        types = set(re.findall(r"\b(?:bf16|f16|f32)\[", str(jax.make_jaxpr(function)(*arguments))))
    for name, dtype in (("bf16[", jnp.bfloat16), ("f16[", "float16"), ("f32[", "float32")):
        if name in types:
            break
    else:
        dtype = "float64"
    return ROUNDINGS[np.dtype(dtype)] * float(jnp.finfo(dtype).eps)


def run(function, arguments, device, *, op_by_op=False):
    with jax.enable_x64(True), jax.default_device(device), jax.disable_jit(op_by_op):
        call = function if op_by_op else jax.jit(lambda *operands: function(*operands))
        return [to_numpy(value) for value in call(*jax.device_put(arguments, device))]


def difference(actual, expected, allowed):
    """What differs, or None."""
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return f"{actual.dtype}{actual.shape} where {expected.dtype}{expected.shape} is expected"
    if expected.dtype not in ROUNDINGS:
        return None if (actual == expected).all() else f"{(actual != expected).sum()} of {actual.size} elements"
    actual, expected = actual.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(expected)
    if not np.array_equal(actual[~finite], expected[~finite], equal_nan=True) or not np.isfinite(actual[finite]).all():
        return "infinities or NaN"
    error = np.abs(actual[finite] - expected[finite]).max(initial=0)
    return f"an error of {error} where {allowed} is allowed" if error > allowed else None


@pytest.mark.parametrize("seed", SEEDS)
def test_random_chain(seed, device, reference_device):
    function, arguments = program(seed)
    actual = run(function, arguments, device)
    expected = run(function, arguments, reference_device)
    floats = [np.ravel(v).astype(np.float64) for v in expected if v.dtype in ROUNDINGS]
    largest = max((np.abs(v[np.isfinite(v)]).max(initial=0) for v in floats), default=0)
    allowed = unit_of_error(function, arguments) * max(largest, 1)
    pairs = enumerate(zip(actual, expected, strict=True))
    wrong = {i: what for i, pair in pairs if (what := difference(*pair, allowed))}
    if wrong:
        # XLA:CPU's own jit is not always right (booleans of a concatenation, for one): op by op decides.
        truth = run(function, arguments, reference_device, op_by_op=True)
        wrong = {i: what for i, what in wrong.items() if i >= len(truth) or difference(actual[i], truth[i], allowed)}
    assert not wrong, f"program({seed}): result {wrong}"


def test_every_operation_takes_part(monkeypatch):
    """An operation that always fails would leave the chains without a word."""
    taken = set()

    def noting(operation):
        def call(draw, x, values):
            new = operation(draw, x, values)
            if new:
                taken.add(operation.__name__)
            return new

        return call

    monkeypatch.setattr(random_chains, "OPERATIONS", [noting(operation) for operation in random_chains.OPERATIONS])
    names = {operation.__name__ for operation in OPERATIONS}
    for seed in range(100):
        function, arguments = program(seed)
        with jax.enable_x64(True):
            jax.eval_shape(function, *arguments)
        if taken == names:
            break
    assert taken == names
