"""Runs one function with one dtype: all its calls, their gradients and their batches, jitted and op by op, on two devices."""

import contextlib
import dataclasses
import functools
import time
import warnings

import harness
import jax
import jax.numpy as jnp
import numpy as np
from jax import errors

from .arguments import Call, calls
from .calls import CALLS
from .functions import WIDE

# Functions whose results' shapes depend on values run op by op only.
NEEDS_VALUES = (errors.ConcretizationTypeError, errors.TracerArrayConversionError, errors.NonConcreteBooleanIndexError)
WIDER = {"float32": "float64", "bfloat16": "float64", "float16": "float64", "complex64": "complex128"}
WIDER |= {"int8": "int64", "int16": "int64", "int32": "int64", "uint8": "uint64", "uint16": "uint64", "uint32": "uint64"}
# Every call's derivative and batch is taken in these; in the other types that of one call, which goes the same way, and in
# integers of other widths than these none, which would be the same programs again.
DERIVED_IN_FULL = ("float32", "complex64")
NOT_DERIVED = ("int8", "int16", "int64", "uint8", "uint16", "uint32", "uint64")
# Where a plain comparison fails: how much farther from the truth than XLA:CPU an answer may be, and how far that may be itself.
WORSE, ILL_CONDITIONED = 2.0, 1e4


@dataclasses.dataclass
class Outcome:
    """Names of checks; times in seconds of the program with all plain calls."""

    label: str
    dtype: str
    passed: list = dataclasses.field(default_factory=list)
    failed: dict = dataclasses.field(default_factory=dict)
    refused: dict = dataclasses.field(default_factory=dict)  # by JAX or XLA:CPU
    conditioned: list = dataclasses.field(default_factory=list)  # passed by the second rule of `agrees`
    compile_seconds: tuple = ()
    run_seconds: tuple = ()


@dataclasses.dataclass(frozen=True)
class Check:
    name: str
    call: Call
    function: object
    operands: list

    @functools.cached_property
    def jitted(self):
        """The function traced once for all its uses; results that are no arrays become arrays."""
        return jax.jit(lambda *operands: jax.tree.map(jnp.asarray, self.function(*operands)))


def _inexact(leaf):
    return hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jnp.inexact)


def _gradient(call):
    """The gradient of a weighted sum of all results in all operands that have one."""
    places = [n for n, operand in enumerate(call.operands) if _inexact(operand)]

    def total(chosen, operands):
        operands = list(operands)
        for place, value in zip(places, chosen, strict=True):
            operands[place] = value
        leaves = [leaf for leaf in jax.tree.leaves(call(*operands)) if _inexact(leaf)]
        weights = [jnp.cos(jnp.arange(leaf.size)).reshape(leaf.shape).astype(leaf.dtype) for leaf in leaves]
        sums = [jnp.sum((leaf * weight).real) for leaf, weight in zip(leaves, weights, strict=True)]
        return sum(part.astype(jnp.promote_types(part.dtype, jnp.float32)) for part in sums)

    return lambda *operands: jax.grad(total)([operands[n] for n in places], operands)


def _batch(samples):
    """One call over a new first axis of all its operands."""
    stacked = [np.stack(operands) for operands in zip(*(call.operands for call in samples), strict=True)]
    return lambda *operands: jax.vmap(samples[0])(*operands), stacked


def _checks(function, dtype, derive=None):
    derive = dtype not in NOT_DERIVED if derive is None else derive
    plain = calls(function, dtype, CALLS)
    others = [calls(function, dtype, CALLS, sample) for sample in (1, 2)] if derive else []
    direct = [Check(call.name, call, call, call.operands) for call in plain]
    derived = []
    for n, call in enumerate(plain if derive else []):
        if dtype not in DERIVED_IN_FULL and call.name not in ("call 1", "matrix"):
            continue
        if any(map(_inexact, call.operands)) and call.name != "empty" and all(np.isfinite(o).all() for o in call.operands):
            derived.append(Check(f"grad of {call.name}", call, _gradient(call), call.operands))
        if call.operands and call.name in ("call 1", "vector", "matrix", "broadcast"):
            samples = [call, *(other[n] for other in others)]
            if all([o.shape for o in s.operands] == [o.shape for o in call.operands] for s in samples):
                batched, stacked = _batch(samples)
                derived.append(Check(f"vmap of {call.name}", call, batched, stacked))
    return direct, derived


def _trace(check):
    """What the check's results would be: None where it runs op by op only; raises what JAX raises."""
    try:
        return check.jitted.eval_shape(*check.operands)
    except NEEDS_VALUES:
        return None


def _seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def _compile_and_run(checks, device):
    """Results of all checks as one program, seconds to compile it, seconds to run it."""
    with jax.default_device(device):
        operands = jax.device_put([check.operands for check in checks], device)
        jitted = jax.jit(lambda operands: [check.jitted(*o) for check, o in zip(checks, operands, strict=True)])
        lowered = jitted.lower(operands)
        start = time.perf_counter()
        compiled = lowered.compile()
        compile_seconds = time.perf_counter() - start
        results = jax.block_until_ready(compiled(operands))
        run_seconds = min(_seconds(lambda: jax.block_until_ready(compiled(operands))) for _ in range(5))
        for leaf in jax.tree.leaves(results):
            if leaf.devices() != {device}:
                raise AssertionError(f"results lie on {leaf.devices()}")
        return jax.tree.map(harness.to_numpy, results), compile_seconds, run_seconds


def _op_by_op(check, device):
    with jax.default_device(device):
        results = check.function(*jax.device_put(check.operands, device))
        return jax.tree.map(lambda leaf: harness.to_numpy(jnp.asarray(leaf)), results)


def _floats(jaxpr):
    """The float types that a program computes in."""
    found = set()
    for equation in jaxpr.eqns:
        found |= {v.aval.dtype for v in equation.outvars if jnp.issubdtype(getattr(v.aval, "dtype", int), jnp.floating)}
        for inner in jax.core.jaxprs_in_params(equation.params):
            found |= _floats(inner)
    return found


def _tolerance(check, dtype):
    """That of the result's type, or of a narrower one that the program goes through, as softmax of f64 goes through f32."""
    try:
        through = _floats(jax.make_jaxpr(check.function)(*check.operands).jaxpr)
    except NEEDS_VALUES:
        through = set()
    return max((harness.tolerance_of(kind) for kind in {dtype, *through}), key=lambda tolerance: tolerance.rtol)


def _distance(left, right):
    """The largest difference of two arrays, infinite where one is nan or infinite and the other is not, and the largest value."""
    left, right = (np.asarray(v).astype(np.complex128 if np.iscomplexobj(v) else np.float64) for v in (left, right))
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    with np.errstate(all="ignore"):
        difference = np.where(same, 0, np.abs(left - right))
    largest = np.max(np.abs(right[np.isfinite(right)]), initial=0)
    return np.max(np.where(np.isnan(difference), np.inf, difference), initial=0), largest


def _nudged(operand, rng):
    """The operand with every number moved by one unit in its last place."""
    if not _inexact(operand):
        return operand
    epsilon = jnp.finfo(operand.dtype).eps
    return (operand * (1 + epsilon * rng.choice([-1, 1], operand.shape))).astype(operand.dtype)


def _within_conditioning(function, dtype, check, actual, expected, reference):
    """Whether the answer is as good as its input allows.

    Narrow types are compared with the same program in the wider type: no farther away than twice XLA:CPU's answer. Types
    without a wider one are compared with XLA:CPU's answers for inputs that differ by a unit in the last place.
    """
    if dtype in WIDER:
        with jax.enable_x64(True):
            direct, derived = _checks(function, WIDER[dtype], derive=True)
            twin = next(other for other in direct + derived if other.name == check.name)
            kinds = [np.dtype(WIDER[o.dtype.name]) if o.dtype.name in WIDER else o.dtype for o in check.operands]
            wide = [operand.astype(kind) for operand, kind in zip(check.operands, kinds, strict=True)]
            twin = dataclasses.replace(twin, operands=wide)
            # As one program: JAX caches what it runs op by op without regard to the width of constants.
            truths = [_op_by_op(twin, reference) if _trace(twin) is None else _compile_and_run([twin], reference)[0][0]]
    else:
        rng = np.random.default_rng(7)
        truths = [_op_by_op(dataclasses.replace(check, operands=[_nudged(o, rng) for o in check.operands]), reference) for _ in range(4)]
    expected_leaves = jax.tree.leaves(expected)
    for n, (ours, theirs) in enumerate(zip(jax.tree.leaves(actual), expected_leaves, strict=True)):
        if not _inexact(theirs):
            if not np.array_equal(ours, theirs):
                return False
            continue
        tolerance = _tolerance(check, theirs.dtype)
        if dtype in ("int64", "uint64", "bool") and tolerance == harness.tolerance_of(theirs.dtype):
            return False
        candidates = [jax.tree.leaves(truth)[n] for truth in truths]
        if any(truth.shape != theirs.shape for truth in candidates):
            return False
        allowed, scale = max(_distance(theirs, truth) for truth in candidates)
        ours_off = _distance(ours, candidates[0] if dtype in WIDER else theirs)[0]
        close = tolerance.atol + tolerance.rtol * scale
        if ours_off > close and (allowed > ILL_CONDITIONED * close or ours_off > WORSE * allowed):
            return False
    return True


def _compare(outcome, function, check, actual, expected, reference, prefix=""):
    try:
        harness.assert_agrees(actual, expected)
    except AssertionError as error:
        try:
            conditioned = _within_conditioning(function, outcome.dtype, check, actual, expected, reference)
        except Exception:  # noqa: BLE001: the wider program may not exist; then the first comparison stands
            conditioned = False
        if not conditioned:
            outcome.failed[prefix + check.name] = "differs: " + " ".join(str(error).split())[:400]
            return
        outcome.conditioned.append(prefix + check.name)
    outcome.passed.append(prefix + check.name)


def _program(outcome, function, checks, device, reference, timed):
    """Runs the checks as one program, or one by one where that fails, and compares."""
    if not checks:
        return
    try:
        expected, *theirs = _compile_and_run(checks, reference)
    except Exception as error:  # noqa: BLE001: whatever XLA:CPU or JAX raises is a refusal
        if len(checks) == 1:
            outcome.refused[checks[0].name] = _sentence(error)
            return
        for check in checks:
            _program(outcome, function, [check], device, reference, False)
        return
    try:
        actual, *ours = _compile_and_run(checks, device)
    except Exception as error:  # noqa: BLE001
        if len(checks) == 1:
            outcome.failed[checks[0].name] = "raises: " + _sentence(error)
            return
        for check in checks:
            _program(outcome, function, [check], device, reference, False)
        return
    if timed:
        outcome.compile_seconds, outcome.run_seconds = (ours[0], theirs[0]), (ours[1], theirs[1])
    for check, left, right in zip(checks, actual, expected, strict=True):
        _compare(outcome, function, check, left, right, reference)


def _sentence(error):
    return f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"


@functools.cache
def _takes_float(function):
    direct, _ = _checks(function, "float32")
    for check in direct:
        with contextlib.suppress(Exception):
            _trace(check)
            return True
    return False


def run(function, dtype, device, reference):
    """The outcome of a function with a dtype, whatever happens short of a crash of the process."""
    outcome = Outcome(function.label, dtype)
    wide = jax.enable_x64(True) if dtype in WIDE else contextlib.nullcontext()
    with wide, jax.default_device(reference), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            groups = _checks(function, dtype)
        except (TypeError, ValueError, OverflowError) as error:  # such as a value that the dtype cannot hold
            outcome.refused["arguments"] = _sentence(error)
            return outcome
        first = True
        for checks in groups:
            traced, by_value = [], []
            for check in checks:
                try:
                    (by_value if _trace(check) is None else traced).append(check)
                except Exception as error:  # noqa: BLE001
                    outcome.refused[check.name] = _sentence(error)
            _program(outcome, function, traced, device, reference, timed=first)
            eager = by_value if first else []
            if first and traced and (dtype == "float32" or (dtype == "int32" and not _takes_float(function))):
                eager = [traced[0], *by_value]
            for check in eager:
                try:
                    expected = _op_by_op(check, reference)
                except Exception as error:  # noqa: BLE001
                    outcome.refused[f"op by op {check.name}"] = _sentence(error)
                    continue
                try:
                    actual = _op_by_op(check, device)
                except Exception as error:  # noqa: BLE001
                    outcome.failed[f"op by op {check.name}"] = "raises: " + _sentence(error)
                    continue
                _compare(outcome, function, check, actual, expected, reference, "op by op ")
            first = False
    return outcome
