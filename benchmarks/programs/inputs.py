"""Makers of inputs: each returns a call without parameters that gives the same array every time."""

import functools
import zlib

import ml_dtypes
import numpy as np

_TYPES = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32, "f64": np.float64, "c64": np.complex64, "pred": np.bool_,
    "s8": np.int8, "u8": np.uint8, "s16": np.int16, "s32": np.int32, "u32": np.uint32, "s64": np.int64}  # fmt: skip


def _rng(*key):
    return np.random.default_rng(zlib.crc32(repr(key).encode()))


def normal(*shape, type="f32", scale=1.0, seed=0):
    return lambda: (_rng("normal", shape, seed).standard_normal(shape, dtype=np.float32) * np.float32(scale)).astype(_TYPES[type])


def uniform(*shape, low=0.0, high=1.0, type="f32", seed=0):
    return lambda: _rng("uniform", shape, seed).uniform(low, high, shape).astype(_TYPES[type])


def integers(*shape, low=0, high=100, type="s32", seed=0):
    return lambda: _rng("integers", shape, seed).integers(low, high, shape).astype(_TYPES[type])


def positive_definite(*batch_and_size, seed=0):
    def make():
        *batch, size = batch_and_size
        a = _rng("positive_definite", batch_and_size, seed).standard_normal((*batch, size, size)).astype(np.float32)
        return a @ np.swapaxes(a, -1, -2) / size + 2 * np.eye(size, dtype=np.float32)

    return make


def arange(size):
    return lambda: np.arange(size, dtype=np.int32)


def ramp(size):
    return lambda: np.linspace(0, 1, size, dtype=np.float32)


def distinct(size, high):
    return lambda: _rng("distinct", size, high).permutation(high)[:size].astype(np.int32)


@functools.lru_cache(maxsize=16)
def of_type(type, shape, high=None, seed=0):
    """The array itself: normal numbers, or integers below `high`; without it below 100, and above -100 where there are signs."""
    if type == "c64":
        return of_type("f32", shape, seed=seed) + 1j * of_type("f32", shape, seed=seed + 100)
    if type in ("bf16", "f16", "f32", "f64"):
        return normal(*shape, type=type, seed=seed)()
    low = -100 if high is None and type.startswith("s") else 0
    return integers(*shape, low=low, high=2 if type == "pred" else high or 100, type=type, seed=seed)()
