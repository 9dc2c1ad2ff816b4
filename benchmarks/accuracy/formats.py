"""Float formats: bit patterns as values, and the error of results in units in the last place."""

import dataclasses

import ml_dtypes
import numpy as np


@dataclasses.dataclass(frozen=True)
class Format:
    """`precision` counts the hidden bit; the smallest normal number is 2^lowest, the numbers end below 2^(highest + 1)."""

    dtype: np.dtype
    precision: int
    lowest: int
    highest: int
    # Two steps more than the format: what results are screened in.
    wide: type

    @property
    def name(self):
        return self.dtype.name

    @property
    def bits(self):
        return self.dtype.itemsize * 8

    def from_bits(self, bits):
        return np.asarray(bits).astype(f"uint{self.bits}").view(self.dtype)

    def to_bits(self, values):
        return np.asarray(values, self.dtype).view(f"uint{self.bits}")


def _format(dtype):
    info = ml_dtypes.finfo(dtype)
    highest = int(np.floor(np.log2(np.longdouble(info.max))))
    wide = np.longdouble if np.dtype(dtype) == np.float64 else np.float64
    return Format(np.dtype(dtype), int(info.nmant) + 1, int(info.minexp), highest, wide)


F32, F64 = _format(np.float32), _format(np.float64)
NARROW = [
    _format(getattr(ml_dtypes, name) if hasattr(ml_dtypes, name) else name)
    for name in (
        "bfloat16",
        "float16",
        "float8_e5m2",
        "float8_e4m3",
        "float8_e3m4",
        "float8_e4m3fn",
        "float8_e5m2fnuz",
        "float8_e4m3fnuz",
        "float8_e4m3b11fnuz",
    )
]
FORMATS = {f.name: f for f in (F32, F64, *NARROW)}


def errors(form, got, want):
    """|got - want| in units of the last place of `want`, which is an array of form.wide; infinite for a special value in
    a number's place, another special value, or the wrong sign of zero. Where the exact result is past the largest number,
    the next power of two, which rounding gives or the format cannot express, is right."""
    with np.errstate(all="ignore"):
        value = got.astype(form.wide)
        end = form.wide(2) ** (form.highest + 1)
        both_nan = np.isnan(value) & np.isnan(want)
        # Formats without infinity answer with NaN.
        past = np.abs(want) >= end * (1 - form.wide(2) ** (-form.precision - 1))
        past &= np.isinf(value) | np.isnan(value) & ~np.isinf(got.dtype.type(np.inf))
        target = np.clip(want, -end, end)
        value = np.where(np.isinf(value), np.copysign(end, value), value)
        exponent = np.frexp(np.where(target == 0, 1, target))[1] - 1
        exponent = np.clip(exponent, form.lowest, form.highest)
        error = np.abs(value - target) / np.ldexp(form.wide(1), exponent - form.precision + 1)
        wrong_sign = (np.signbit(value) != np.signbit(want)) & _signed_zero(form)
        # A sign may be lost only in formats without a negative zero.
        error = np.where(wrong_sign & ~both_nan, np.inf, error)
        error = np.where(np.isnan(value) != np.isnan(want), np.inf, error)
        error = np.where(past & (np.isnan(value) | (np.signbit(value) == np.signbit(want))), 0, error)
        return np.where(both_nan, 0, error).astype(np.float64)


def _signed_zero(form):
    return bool(np.signbit(form.dtype.type(-0.0)))
