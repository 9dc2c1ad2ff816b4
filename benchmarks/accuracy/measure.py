"""Runs a function on devices over many points and finds the largest error of each."""

import dataclasses

import jax
import mpmath
import numpy as np

from benchmarks.accuracy import inputs
from benchmarks.accuracy.formats import errors

# Enough to tell the sine of 1e308, or of the f64 nearest to a multiple of pi, to all bits.
mpmath.mp.prec = 300
# Points that mpmath judges though the screen finds nothing remarkable there, and how many of the worst it judges.
SPOTS, SUSPECTS = 300, 40


@dataclasses.dataclass(frozen=True)
class Worst:
    """The largest error found, in units in the last place, and where; `normal` is the largest one where neither the
    arguments nor the exact result are subnormal."""

    error: float
    arguments: tuple
    got: float
    normal: float
    points: int


def evaluate(function, form, arguments, device):
    """The results as an array of the format."""
    with jax.enable_x64(True), jax.default_device(device):
        return np.asarray(jax.jit(lambda *x: function.call(*x))(*jax.device_put(tuple(arguments), device)))


def _rounded(form, value):
    """An mpf as form.wide."""
    if mpmath.isnan(value):
        return form.wide(np.nan)
    high = form.wide(float(value))
    if form.wide is np.float64 or not np.isfinite(high):
        return high
    # A double holds not all bits of a long double.
    return high + form.wide(float(value - mpmath.mpf(float(value))))


def judge(function, form, arguments, screened):
    """`screened` with mpmath's answers in place of its numbers; what follows from zeros, infinities and NaN is IEEE's
    matter and stays the screen's."""
    result = screened.copy()
    columns = [a.astype(np.float64) for a in arguments]
    asked = np.all([np.isfinite(c) & (c != 0) for c in columns], axis=0) & ~np.isnan(screened)
    for i in np.flatnonzero(asked):
        value = function.exact(*(mpmath.mpf(float(c[i])) for c in columns))
        if value != 0:
            result[i] = _rounded(form, value)
    return result


def _subnormal(form, values):
    return (values != 0) & (np.abs(values.astype(form.wide)) < form.wide(2) ** form.lowest)


def measure(function, form, devices, count):
    """Worst per device, over about `count` points and the special values."""
    with np.errstate(all="ignore"):
        arguments = [inputs.points(form, function, count, i) for i in range(function.operands)]
        want = function.screen(*(a.astype(form.wide) for a in arguments))
        alone = want is None  # mpmath is slow: fewer points
        if alone:
            kept = np.unique(np.linspace(0, len(arguments[0]) - 1, max(count // 40, 1000)).astype(int))
            kept = np.union1d(kept, np.arange(min(64, len(arguments[0]))))
            arguments = [a[kept] for a in arguments]
            double = function.screen(*(a.astype(np.float64) for a in arguments))
            want = judge(function, form, arguments, double.astype(form.wide))
        spots = np.linspace(0, len(want) - 1, SPOTS).astype(int)
        subnormal = _subnormal(form, want) | np.any([_subnormal(form, a) for a in arguments], axis=0)
        results = []
        for device in devices:
            got = evaluate(function, form, arguments, device)
            found = errors(form, got, want)
            suspects = np.argsort(np.where(subnormal, 0, found))[-SUSPECTS:]
            chosen = np.union1d(np.union1d(np.argsort(found)[-SUSPECTS:], suspects), spots)
            columns = [a[chosen] for a in arguments]
            judged = want[chosen] if alone else judge(function, form, columns, want[chosen])
            found = errors(form, got[chosen], judged)
            at = int(np.argmax(found))
            where = tuple(float(c[at]) for c in columns)
            normal = float(np.max(np.where(subnormal[chosen], 0, found)))
            results.append(Worst(float(found[at]), where, float(got[chosen][at]), normal, len(want)))
        return results
