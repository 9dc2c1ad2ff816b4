"""One JAX function, run on two devices, and how close the answers must be."""

import contextlib
import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """As numpy.testing.assert_allclose takes them: |actual - expected| <= atol + rtol * |expected|."""

    rtol: float
    atol: float


# Both sides may sum in another order, contract a * b + c to one rounding, and use other polynomials, so each table row
# is a few units in the last place of its type, over sums of at most a few hundred terms of size one.
TOLERANCES = {
    np.dtype("float64"): Tolerance(1e-12, 1e-12),
    np.dtype("float32"): Tolerance(1e-5, 1e-5),
    np.dtype("float16"): Tolerance(2**-9, 2**-9),
    np.dtype(jnp.bfloat16): Tolerance(2**-7, 2**-7),
    np.dtype("complex64"): Tolerance(1e-5, 1e-5),
    np.dtype("complex128"): Tolerance(1e-12, 1e-12),
}
EXACT = Tolerance(0.0, 0.0)


@dataclasses.dataclass(frozen=True)
class Case:
    """`function(*inputs(rng))` must agree on both devices.

    inputs     makes numpy arrays (or pytrees of them) from a seeded generator.
    tolerance  in place of the type's row in TOLERANCES; a case that needs it says why beside it.
    finite     the reference must hold no nan or infinity; False where those are the point of the case.
    x64        runs with 64-bit types enabled.
    """

    name: str
    function: Callable
    inputs: Callable = lambda rng: ()
    tolerance: Tolerance | None = None
    finite: bool = True
    x64: bool = False


def tolerance_of(dtype) -> Tolerance:
    """Integers and booleans have no tolerance."""
    return TOLERANCES.get(np.dtype(dtype), EXACT)


def evaluate(case: Case, device, *, op_by_op: bool = False):
    """The case's results as a pytree of numpy arrays, and the set of devices that held them."""
    arguments = case.inputs(np.random.default_rng(20240229))
    wide = jax.enable_x64(True) if case.x64 else contextlib.nullcontext()
    with wide, jax.default_device(device):
        arguments = jax.device_put(arguments, device)
        if op_by_op:
            with jax.disable_jit():
                results = case.function(*arguments)
        else:
            # A wrapper of its own, so that no trace is shared between devices.
            results = jax.jit(lambda *operands: case.function(*operands))(*arguments)
        results = jax.block_until_ready(results)
        held_by = set().union(*(leaf.devices() for leaf in jax.tree.leaves(results) if isinstance(leaf, jax.Array)))
        return jax.tree.map(to_numpy, results), held_by


def to_numpy(leaf):
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    return np.asarray(leaf)


def assert_agrees(actual, expected, tolerance: Tolerance | None = None):
    """Same tree, same shapes, same types, values within the tolerance."""
    actual_leaves, actual_tree = jax.tree.flatten(actual)
    expected_leaves, expected_tree = jax.tree.flatten(expected)
    assert actual_tree == expected_tree
    for index, (left, right) in enumerate(zip(actual_leaves, expected_leaves, strict=True)):
        assert left.dtype == right.dtype, f"leaf {index}: {left.dtype} where {right.dtype} is expected"
        assert left.shape == right.shape, f"leaf {index}: shape {left.shape} where {right.shape} is expected"
        allowed = tolerance_of(right.dtype)
        if tolerance is not None and allowed != EXACT:
            allowed = tolerance
        if allowed == EXACT:
            np.testing.assert_array_equal(left, right, err_msg=f"leaf {index}")
            continue
        if right.dtype in (np.dtype(jnp.bfloat16), np.dtype("float16")):
            left, right = left.astype(np.float32), right.astype(np.float32)
        if np.iscomplexobj(right):  # of a number with an infinite part the other part would have to be equal
            infinite = np.isinf(left) & np.isinf(right)
            parts = [np.stack([v[infinite].real, v[infinite].imag]) for v in (left, right)]
            np.testing.assert_allclose(*parts, rtol=allowed.rtol, atol=allowed.atol, err_msg=f"leaf {index}")
            left, right = left[~infinite], right[~infinite]
        np.testing.assert_allclose(left, right, rtol=allowed.rtol, atol=allowed.atol, err_msg=f"leaf {index}")


def assert_finite(results):
    for index, leaf in enumerate(jax.tree.leaves(results)):
        if leaf.dtype.kind in "fc" or leaf.dtype == jnp.bfloat16:
            assert np.isfinite(leaf.astype(np.complex128)).all(), f"leaf {index} of the reference is not finite"


def check(case: Case, device, reference_device):
    """Runs the case on both devices and compares. On one and the same device: jit against op by op."""
    expected, _ = evaluate(case, reference_device, op_by_op=device == reference_device)
    if case.finite:
        assert_finite(expected)
    actual, held_by = evaluate(case, device)
    assert held_by <= {device}, f"results lie on {held_by}"
    assert_agrees(actual, expected, case.tolerance)


# Inputs that many cases share.
def normal(*shape, dtype=np.float32, scale=1.0):
    """inputs: one array of normal numbers."""
    return lambda rng: ((rng.standard_normal(shape) * scale).astype(dtype),)


def normals(*shapes, dtype=np.float32):
    """inputs: an array of normal numbers for each shape."""
    return lambda rng: tuple(rng.standard_normal(shape).astype(dtype) for shape in shapes)


def uniform(*shape, low=0.0, high=1.0, dtype=np.float32):
    """inputs: one array of numbers in [low, high)."""
    return lambda rng: (rng.uniform(low, high, shape).astype(dtype),)


def integers(*shapes, low=-100, high=100, dtype=np.int32):
    """inputs: an array of integers in [low, high) for each shape."""
    return lambda rng: tuple(rng.integers(low, high, shape).astype(dtype) for shape in shapes)


def booleans(*shapes):
    return lambda rng: tuple(rng.integers(0, 2, shape).astype(bool) for shape in shapes)


def values(*arrays):
    """inputs: these arrays."""
    return lambda rng: arrays


def together(*makers):
    """inputs: the inputs of several makers, one after another."""
    return lambda rng: tuple(array for maker in makers for array in maker(rng))
