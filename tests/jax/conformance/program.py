"""StableHLO programs written as text, their arguments, and how close their results must be.

Programs are in MLIR's generic form, so that ops and attributes which JAX never emits can be written as well.
"""

import dataclasses

import ml_dtypes
import numpy as np

# Element types: StableHLO's name and the numpy type.
TYPES = {
    "i1": np.dtype(bool),
    **{f"i{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
    "i2": np.dtype(ml_dtypes.int2),
    "i4": np.dtype(ml_dtypes.int4),
    "ui2": np.dtype(ml_dtypes.uint2),
    "ui4": np.dtype(ml_dtypes.uint4),
    "f4E2M1FN": np.dtype(ml_dtypes.float4_e2m1fn),
    "f8E3M4": np.dtype(ml_dtypes.float8_e3m4),
    "f8E4M3": np.dtype(ml_dtypes.float8_e4m3),
    "f8E4M3B11FNUZ": np.dtype(ml_dtypes.float8_e4m3b11fnuz),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E4M3FNUZ": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "f8E5M2FNUZ": np.dtype(ml_dtypes.float8_e5m2fnuz),
    "f8E8M0FNU": np.dtype(ml_dtypes.float8_e8m0fnu),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "complex<f32>": np.dtype(np.complex64),
    "complex<f64>": np.dtype(np.complex128),
}
BOOLEAN = ["i1"]
SIGNED = ["i2", "i4", "i8", "i16", "i32", "i64"]
UNSIGNED = ["ui2", "ui4", "ui8", "ui16", "ui32", "ui64"]
INTEGERS = SIGNED + UNSIGNED
TINY_FLOATS = [name for name in TYPES if name.startswith(("f4", "f8"))]
FLOATS = [*TINY_FLOATS, "bf16", "f16", "f32", "f64"]
COMPLEX = ["complex<f32>", "complex<f64>"]
REAL = INTEGERS + FLOATS
ALL = BOOLEAN + REAL + COMPLEX
COMMON = ["f32", "f32", "f64", "bf16", "f16", "i32", "i32", "i8", "ui8", "i64", "ui32", "complex<f32>", "i1"]


def type_text(dtype, shape):
    return f"tensor<{''.join(f'{size}x' for size in shape)}{dtype}>"


def array(values):
    """An attribute of 64-bit numbers."""
    return "array<i64" + (": " if len(values) else "") + ", ".join(str(int(v)) for v in values) + ">"


def booleans(values):
    return "array<i1" + (": " if len(values) else "") + ", ".join(str(bool(v)).lower() for v in values) + ">"


def dense(values):
    """An i64 tensor attribute of rank two, as paddings are."""
    values = np.asarray(values, np.int64)
    return f"dense<{values.tolist() if values.size else ''}> : {type_text('i64', values.shape)}"


@dataclasses.dataclass(frozen=True)
class Value:
    name: str
    dtype: str
    shape: tuple

    @property
    def type(self):
        return type_text(self.dtype, self.shape)


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """Units in the last place of the expected value (of its modulus when complex), and an absolute part."""

    ulps: float = 0.0
    absolute: float = 0.0
    bits: bool = False  # zeros must have the same sign; for ops that only move data


EXACT = Tolerance()
BITS = Tolerance(bits=True)


class Program:
    """Collects arguments, ops and results of one `main`."""

    def __init__(self, rng):
        self.rng = rng
        self.arguments = []
        self.lines = []
        self.functions = []
        self.results = []
        self.tolerances = []
        self.names = 0
        self.model = None  # numpy function of the arguments, where XLA:CPU cannot say

    def argument(self, dtype, values):
        values = np.asarray(values).astype(TYPES[dtype])
        value = Value(f"%arg{len(self.arguments)}", dtype, values.shape)
        self.arguments.append((value, values))
        return value

    def small(self, dtype, shape, low=-4, high=4):
        """Integers that the type holds, between the bounds: short sums of products are exact in any order."""
        return self.argument(dtype, small_values(self.rng, dtype, shape, low, high))

    def normal(self, dtype, shape, scale=1.0):
        return self.argument(dtype, normal_values(self.rng, dtype, shape, scale))

    def any(self, dtype, shape):
        """Any bits, extremes often among them."""
        return self.argument(dtype, any_values(self.rng, dtype, shape))

    def constant(self, dtype, number):
        return self.op("constant", [], [(dtype, ())], f"value = dense<{constant_text(dtype, number)}> : tensor<{dtype}>")

    def op(self, name, operands, results, attributes="", regions=""):
        """Adds an op; `results` is a list of (dtype, shape). Gives its value, or a list of them."""
        self.names += 1
        base = f"%v{self.names}"
        values = [Value(base if len(results) == 1 else f"{base}#{i}", *result) for i, result in enumerate(results)]
        left = f"{base} = " if len(results) == 1 else f"{base}:{len(results)} = " if results else ""
        self.lines.append(
            f'{left}"{name if "." in name else "stablehlo." + name}"({", ".join(v.name for v in operands)})'
            f"{f' ({regions})' if regions else ''}{f' {{{attributes}}}' if attributes else ''} : "
            f"({', '.join(v.type for v in operands)}) -> ({', '.join(v.type for v in values)})"
        )
        return values[0] if len(values) == 1 else values

    def result(self, values, tolerance=EXACT):
        for value in values if isinstance(values, (list, tuple)) else [values]:
            self.results.append(value)
            self.tolerances.append(tolerance)

    def text(self):
        arguments = ", ".join(f"{value.name}: {value.type}" for value, _ in self.arguments)
        types = ", ".join(value.type for value in self.results)
        body = "\n    ".join(self.lines)
        names = ", ".join(value.name for value in self.results)
        functions = "\n  ".join(self.functions)
        return (
            f"module @conformance {{\n  func.func public @main({arguments}) -> ({types}) {{\n    {body}\n"
            f"    return {names}{' : ' + types if names else ''}\n  }}\n  {functions}\n}}"
        )


def region(parameters, body, results):
    """A region: parameters as (name, type), lines of the body, and the values it returns as (name, type)."""
    block = "^bb0(" + ", ".join(f"{name}: {kind}" for name, kind in parameters) + "):" if parameters else ""
    names, types = ", ".join(name for name, _ in results), ", ".join(kind for _, kind in results)
    return f'{{{block} {" ".join(body)} "stablehlo.return"({names}) : ({types}) -> ()}}'


def combiner(dtypes, names):
    """(x0, x1, ..., y0, y1, ...) -> (op0(x0, y0), ...): one binary op per type, as reductions take it."""
    kinds = [f"tensor<{dtype}>" for dtype in dtypes]
    parameters = [(f"%x{i}", kind) for i, kind in enumerate(kinds)] + [(f"%y{i}", kind) for i, kind in enumerate(kinds)]
    body = [f'%r{i} = "stablehlo.{names[i]}"(%x{i}, %y{i}) : ({kind}, {kind}) -> {kind}' for i, kind in enumerate(kinds)]
    return region(parameters, body, [(f"%r{i}", kind) for i, kind in enumerate(kinds)])


def constant_text(dtype, number):
    if dtype == "i1":
        return "true" if number else "false"
    if dtype.startswith("complex"):
        return f"({float(number.real)!r}, {float(number.imag)!r})"
    if "f" in dtype:
        return f"{float(number):e}"
    return str(int(number))


def bounds(dtype):
    """The lowest and highest finite value of a type that is neither complex nor boolean."""
    info = ml_dtypes.iinfo(TYPES[dtype]) if dtype in INTEGERS else ml_dtypes.finfo(TYPES[dtype])
    return info.min, info.max


def small_values(rng, dtype, shape, low=-4, high=4):
    if dtype == "i1":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype in COMPLEX:
        return rng.integers(low, high + 1, shape) + 1j * rng.integers(low, high + 1, shape)
    if dtype == "f8E8M0FNU":
        return 2.0 ** rng.integers(-1, 3, shape)
    if dtype == "f4E2M1FN":
        return rng.integers(max(low, -2), min(high, 2) + 1, shape).astype(np.float32)
    least, most = bounds(dtype)
    least = max(int(least), low) if dtype in INTEGERS else low
    most = min(int(most), high) if dtype in INTEGERS else high
    return rng.integers(least, most + 1, shape)


def normal_values(rng, dtype, shape, scale=1.0):
    if dtype in COMPLEX:
        return scale * (rng.standard_normal(shape) + 1j * rng.standard_normal(shape))
    if dtype in FLOATS:
        values = scale * rng.standard_normal(shape)
        return np.abs(values) + 0.01 if dtype == "f8E8M0FNU" else values
    return small_values(rng, dtype, shape, -100, 100)


def any_values(rng, dtype, shape):
    kind = TYPES[dtype]
    count = int(np.prod(shape, dtype=np.int64))
    if dtype == "i1":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype in COMPLEX:
        part = "f32" if dtype == "complex<f32>" else "f64"
        values = np.empty(shape, kind)
        values.real, values.imag = any_values(rng, part, shape), any_values(rng, part, shape)
        return values
    if kind.itemsize > 1:
        values = np.frombuffer(rng.bytes(count * kind.itemsize), kind).copy()
    elif dtype in INTEGERS:
        values = rng.integers(int(bounds(dtype)[0]), int(bounds(dtype)[1]) + 1, count).astype(kind)
    else:
        values = rng.integers(0, 16 if dtype == "f4E2M1FN" else 256, count).astype(np.uint8).view(kind)
    special = [0, 1, *bounds(dtype)]
    if dtype not in UNSIGNED and dtype != "f8E8M0FNU":
        special.append(-1)
    if dtype in FLOATS:
        special += [0.5, 2.5]
        if dtype not in TINY_FLOATS:
            special += [np.inf, -np.inf, np.nan, -0.0, -1.5]
    chosen = rng.random(count) < 0.4
    with np.errstate(all="ignore"):
        values[chosen] = np.array([special[i] for i in rng.integers(0, len(special), int(chosen.sum()))], dtype=object).astype(
            np.float64 if dtype in FLOATS else kind).astype(kind)
    return without_subnormals(values, dtype).reshape(shape)


def without_subnormals(values, dtype):
    """XLA:CPU flushes them to zero where it computes in the type; Kiln keeps them."""
    if dtype == "f8E8M0FNU":  # its lowest value is subnormal in f32
        values[values.view(np.uint8) == 0] = 1
    if dtype in ("bf16", "f32", "f64"):
        values[np.abs(values.astype(np.float64)) < float(ml_dtypes.finfo(values.dtype).smallest_normal)] = 0
    return values


def random_shape(rng, max_rank=4, max_elements=600, least=0):
    rank = int(rng.integers(0, max_rank + 1))
    sizes = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33] if rank < 3 else [1, 1, 2, 3, 4, 5, 8]
    shape = []
    for _ in range(rank):
        size = int(rng.choice(sizes)) if least or rng.random() > 0.04 else 0
        if np.prod(shape, dtype=np.int64) * size > max_elements:
            size = 1
        shape.append(size)
    return tuple(shape)


def difference(actual, expected, tolerance):
    """In words how two arrays differ; empty when within the tolerance. Any NaN equals any other."""
    if tolerance.bits and expected.dtype.kind == "u" and expected.dtype.itemsize == actual.dtype.itemsize:
        expected = expected.view(actual.dtype)  # XLA:CPU gives random bits of any type as unsigned numbers
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return f"{actual.dtype}{actual.shape} where {expected.dtype}{expected.shape} is expected"
    if actual.size == 0:
        return ""
    is_float = expected.dtype in [TYPES[name] for name in FLOATS + COMPLEX]
    if not is_float:
        wrong = actual != expected
    else:
        with np.errstate(all="ignore"):
            wide = np.complex128 if expected.dtype.kind == "c" else np.float64
            left, right = actual.astype(wide), expected.astype(wide)
            if expected.dtype in (TYPES["bf16"], np.float32, np.float64):  # see without_subnormals
                least = float(ml_dtypes.finfo(expected.dtype).smallest_normal)
                left, right = (np.where(np.abs(x) < least, np.copysign(0.0, x), x) for x in (left, right))
            wrong = _float_wrong(left, right, expected.dtype, tolerance)
    wrong = np.asarray(wrong)
    if not wrong.any():
        return ""
    at = tuple(np.argwhere(wrong)[0])
    return f"{int(wrong.sum())} of {wrong.size} differ, at {[int(i) for i in at]}: {actual[at]!r} where {expected[at]!r} is expected"


def _float_wrong(left, right, dtype, tolerance):
    if dtype.kind == "c":
        # Parts one by one where any of them is not finite; the modulus otherwise.
        same = _same(left.real, right.real) & _same(left.imag, right.imag)
        finite = np.isfinite(left) & np.isfinite(right)
        unit = np.finfo(dtype).eps * np.abs(right)
        return ~same & ~(finite & (np.abs(left - right) <= tolerance.ulps * unit + tolerance.absolute))
    same = _same(left, right)
    if tolerance.bits:
        same &= np.isnan(right) | (np.signbit(left) == np.signbit(right))
    if tolerance == BITS or tolerance == EXACT:
        return ~same
    info = ml_dtypes.finfo(dtype)
    unit = np.maximum(2.0 ** np.floor(np.log2(np.maximum(np.abs(right), float(info.smallest_normal)))) * float(info.eps),
                      float(info.smallest_subnormal))
    near = np.abs(left - right) <= tolerance.ulps * unit + tolerance.absolute
    # The largest finite value and infinity are neighbours.
    top = float(info.max)
    edge = (tolerance.ulps > 0) & (np.sign(left) == np.sign(right)) & (np.abs(left) >= top * 0.99) & (np.abs(right) >= top * 0.99)
    return ~same & ~(np.isfinite(left) & np.isfinite(right) & near) & ~edge


def _same(left, right):
    return (left == right) | (np.isnan(left) & np.isnan(right))
