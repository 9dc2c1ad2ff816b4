"""Bit patterns at which a function is measured; the same ones in each run."""

import numpy as np


def _specials(form):
    tiny, huge = 2.0**form.lowest, 2.0**form.highest
    step = 2.0 ** (1 - form.precision)
    values = [0.0, 1.0, 2.0, 0.5, 3.0, 1.5, 10.0, np.inf, tiny, tiny * step, tiny * (1 - step), tiny * 2]
    values += [huge, huge * (2 - step), step, step / 2, 1 + step, 1 - step / 2, np.nan]
    values = np.array(values).astype(form.dtype)
    return np.concatenate([values, -values])


def _around(form, centres, count, rng):
    """Values at all distances from the centres: some last places away, up to a quarter of their size."""
    bits = form.to_bits(np.asarray(centres).astype(form.dtype))[rng.integers(0, len(centres), count)].astype(np.int64)
    size = np.exp2(rng.uniform(0, form.precision - 1, count)).astype(np.int64)
    sign = rng.integers(0, 2, count) * 2 - 1
    with np.errstate(over="ignore"):
        return form.from_bits((bits + sign * size).view(np.uint64) & np.uint64(2**form.bits - 1))


def points(form, function, count, operand=0):
    """`count` values (every one of a format of 8 bits, and of 16 bits for one operand)."""
    rng = np.random.default_rng([ord(c) for c in function.name + form.name] + [operand])
    if form.bits <= 16 and function.operands == 1:
        return form.from_bits(np.arange(2**form.bits, dtype=np.uint64))
    if form.bits == 8:
        pairs = np.arange(2**16, dtype=np.uint64)
        return form.from_bits(pairs >> 8 if operand else pairs & 255)
    specials = _specials(form)
    if function.operands == 2:
        # All pairs of the special values first.
        n = len(specials)
        specials = np.repeat(specials, n) if operand else np.tile(specials, n)
    part = max(1, (count - len(specials)) // 6)
    turns = np.rint(np.exp2(rng.uniform(0, 24, part))) * (rng.integers(0, 2, part) * 2 - 1)
    low, high = function.span
    with np.errstate(over="ignore"):
        parts = [
            specials,
            form.from_bits(rng.integers(0, 2**form.bits, part, dtype=np.uint64)),
            np.ldexp(rng.uniform(1, 2, part) * (rng.integers(0, 2, part) * 2 - 1), rng.integers(-60, 12, part)),
            rng.uniform(low, high, part),
            rng.uniform(low, high, part) / 50,
            _around(form, [1.0, -1.0, *function.points, *(-p for p in function.points)], part, rng),
            _around(form, (turns * (np.pi / 2)).astype(form.dtype), part, rng),
        ]
        return np.concatenate([p.astype(form.dtype) for p in parts])
