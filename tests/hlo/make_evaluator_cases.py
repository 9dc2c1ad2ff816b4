"""Writes the evaluator's reference cases as JSON: HLO text, arguments and expected results.

Run with a Python that has jax (its CPU backend is the reference for structure and integers), numpy, scipy and ml_dtypes:
    python make_evaluator_cases.py ../data/evaluator
One file per family. An array is {"type", "shape", "hex"}: elements little endian, row-major, one byte at least each.
"ulps" bounds the distance of floating-point results in units of the last place of their type (0: equal bits, save NaN);
"rtol" bounds it relative to the largest finite magnitude of the result instead.
"""
import json
import os
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import ml_dtypes
import numpy as np
import scipy.special
from jax._src import compiler
from jax._src.interpreters import mlir as jax_mlir
from jax._src.lib import _jax
from jax._src.lib import xla_client
from jaxlib.mlir import ir

jax.config.update("jax_enable_x64", True)
CPU = jax.devices("cpu")[0]
RANDOM = np.random.default_rng(7)

TYPES = {
    "pred": np.bool_, "s8": np.int8, "s16": np.int16, "s32": np.int32, "s64": np.int64, "u8": np.uint8,
    "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "s4": ml_dtypes.int4, "u4": ml_dtypes.uint4,
    "s2": ml_dtypes.int2, "u2": ml_dtypes.uint2, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32,
    "f64": np.float64, "c64": np.complex64, "c128": np.complex128, "f8e5m2": ml_dtypes.float8_e5m2,
    "f8e4m3": ml_dtypes.float8_e4m3, "f8e3m4": ml_dtypes.float8_e3m4, "f8e4m3fn": ml_dtypes.float8_e4m3fn,
    "f8e4m3b11fnuz": ml_dtypes.float8_e4m3b11fnuz, "f8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "f8e4m3fnuz": ml_dtypes.float8_e4m3fnuz, "f8e8m0fnu": ml_dtypes.float8_e8m0fnu,
    "f4e2m1fn": ml_dtypes.float4_e2m1fn,
}
NAMES = {np.dtype(dtype): name for name, dtype in TYPES.items()}
NARROW_INTEGERS = {"s4": np.int8, "u4": np.uint8, "s2": np.int8, "u2": np.uint8}


def array_json(array):
    array = np.asarray(array)
    name = NAMES[array.dtype]
    stored = array.astype(NARROW_INTEGERS[name]) if name in NARROW_INTEGERS else array
    return {"type": name, "shape": list(array.shape), "hex": np.ascontiguousarray(stored).tobytes().hex()}


def shape_text(array):
    array = np.asarray(array)
    return f"{NAMES[array.dtype]}[{','.join(map(str, array.shape))}]"


def run_hlo(text, arguments):
    module = xla_client.hlo.hlo_module_from_text(text)
    computation = xla_client.XlaComputation(module.as_serialized_hlo_module_proto())
    stablehlo = _jax.mlir.xla_computation_to_mlir_module(computation)
    with jax_mlir.make_ir_context():
        parsed = ir.Module.parse(stablehlo)
        options = compiler.get_compile_options(1, 1)
        executable = CPU.client.compile_and_load(parsed, _jax.DeviceList((CPU,)), options)
    return [np.asarray(out) for out in executable.execute([jax.device_put(x, CPU) for x in arguments])]


class Family:
    def __init__(self, name):
        self.name, self.cases = name, []

    def add(self, name, text, arguments, results=None, ulps=0, rtol=None):
        text = "HloModule m\n" + text
        if results is None:
            try:
                results = run_hlo(text, arguments)
            except Exception as error:
                print(f"{self.name}.{name}: {str(error)[:300]}")
                return
        case = {"name": name, "hlo": text, "arguments": [array_json(x) for x in arguments],
                "results": [array_json(x) for x in results], "ulps": ulps}
        if rtol is not None:
            case["rtol"] = rtol
        self.cases.append(case)

    def write(self, directory):
        path = os.path.join(directory, self.name + ".json")
        with open(path, "w") as file:
            file.write("[\n" + ",\n".join(json.dumps(case, separators=(",", ":")) for case in self.cases) + "\n]\n")
        print(path, len(self.cases), os.path.getsize(path))


def entry(arguments, lines, roots, types):
    """An entry of parameters p0, p1, ..., the lines, and a tuple of the roots (or the only one)."""
    text = "ENTRY main {\n"
    for i, argument in enumerate(arguments):
        text += f"  p{i} = {shape_text(argument)} parameter({i})\n"
    text += "".join(f"  {line}\n" for line in lines)
    text += f"  ROOT out = ({', '.join(types)}) tuple({', '.join(roots)})\n}}\n"
    return text


def grid(a, b):
    x, y = np.meshgrid(a, b, indexing="ij")
    return x.ravel(), y.ravel()


# --- elementwise ---------------------------------------------------------------------------------------------------

def integer_edges(name):
    info = ml_dtypes.iinfo(TYPES[name])
    values = {info.min, info.max, 0, 1, 2, 3, 7, 32, 63, 100}
    if info.min < 0:
        values |= {-1, -2, -3}
    else:
        values |= {info.max - 1, 31}
    return np.array(sorted(v for v in values if info.min <= v <= info.max)).astype(TYPES[name])


def integer_cases():
    family = Family("integer")
    compares = ["EQ", "NE", "GE", "GT", "LE", "LT"]
    for name in ["s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "s4", "u4", "s2", "u2"]:
        a, b = grid(integer_edges(name), integer_edges(name))
        shape = shape_text(a)
        pred = f"pred[{len(a)}]"
        binary = ["add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "power", "and", "or", "xor",
                  "shift-left", "shift-right-arithmetic", "shift-right-logical"]
        lines = [f"r{i} = {shape} {op}(p0, p1)" for i, op in enumerate(binary)]
        lines += [f"c{i} = {pred} compare(p0, p1), direction={d}" for i, d in enumerate(compares)]
        unary = ["abs", "negate", "sign", "not", "popcnt", "count-leading-zeros"]
        if name.startswith("u"):
            for op in ["abs", "negate", "sign"]:
                unary.remove(op)
        lines += [f"v{i} = {shape} {op}(p0)" for i, op in enumerate(unary)]
        lines += [f"k = {shape} clamp(p1, p0, p1)"]
        if name not in ("s2", "u2"):
            lines += [f"lo = {shape} minimum(p0, p1)", f"hi = {shape} maximum(p0, p1)"]
        roots = [line.split(" ")[0] for line in lines]
        types = [line.split(" ")[2] for line in lines]
        x, y = [v.astype(object) for v in (a.astype(np.int64 if not name == "u64" else np.uint64),
                                           b.astype(np.int64 if not name == "u64" else np.uint64))]
        info = ml_dtypes.iinfo(TYPES[name])
        bits = info.bits if hasattr(info, "bits") else 8
        results = [INTEGER_RULES[op](x, y, bits, info.min < 0) for op in binary]
        results += [PREDICATES[d](x, y) for d in compares]
        results += [INTEGER_RULES[op](x, y, bits, info.min < 0) for op in unary]
        results += [np.minimum(np.maximum(x, y), y)]
        if name not in ("s2", "u2"):
            results += [np.minimum(x, y), np.maximum(x, y)]
        results = [np.array([bool(v) for v in r]) if t.startswith("pred") else wrap(r, name)
                   for r, t in zip(results, types)]
        family.add(name, entry([a, b], lines, roots, types), [a, b], results)
        if bits >= 8:  # the rules above are those of the reference backend
            for line, mine, other in zip(lines, results, run_hlo("HloModule m\n" + entry([a, b], lines, roots, types), [a, b])):
                # The backend takes exponents modulo 64.
                if not np.array_equal(mine, other) and "power" not in line:
                    print("the backend differs:", name, line, [v for v in zip(a, b, mine, other) if v[2] != v[3]][:5])
    p, q = grid(np.array([False, True]), np.array([False, True]))
    ops = ["add", "multiply", "and", "or", "xor", "maximum", "minimum"]
    lines = [f"r{i} = pred[4] {op}(p0, p1)" for i, op in enumerate(ops)]
    lines += [f"c{i} = pred[4] compare(p0, p1), direction={d}" for i, d in enumerate(compares)] + ["n = pred[4] not(p0)"]
    family.add("pred", entry([p, q], lines, [l.split(" ")[0] for l in lines], ["pred[4]"] * len(lines)), [p, q])
    # mulhi has no StableHLO form, so its values come from exact integers.
    for name in ["s8", "u8", "s32", "u32", "s64", "u64"]:
        a, b = grid(integer_edges(name), integer_edges(name))
        wide = [(int(x) * int(y)) >> (a.dtype.itemsize * 8) for x, y in zip(a, b)]
        family.add("mulhi_" + name, entry([a, b], [f"r = {shape_text(a)} mulhi(p0, p1)"], ["r"], [shape_text(a)]),
                   [a, b], [wrap(np.array(wide, dtype=object), name)])
    return family


def wrap(values, name):
    info = ml_dtypes.iinfo(TYPES[name])
    bits = {"s2": 2, "u2": 2, "s4": 4, "u4": 4}.get(name) or np.dtype(TYPES[name]).itemsize * 8
    out = []
    for value in values:
        value = int(value) % (1 << bits)
        out.append(value - (1 << bits) if info.min < 0 and value >> (bits - 1) else value)
    return np.array(out, dtype=np.int64 if info.min < 0 else np.uint64).astype(TYPES[name])


def each(f):
    return lambda x, y, bits, signed: np.array([f(int(a), int(b), bits, signed) for a, b in zip(x, y)], dtype=object)


def truncated_divide(a, b):
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def integer_power(a, b, bits, signed):
    if b < 0:
        return 1 if a == 1 else (-1 if b % 2 else 1) if a == -1 else 0
    return pow(a, b, 1 << bits)


INTEGER_RULES = {
    "add": each(lambda a, b, n, s: a + b), "subtract": each(lambda a, b, n, s: a - b),
    "multiply": each(lambda a, b, n, s: a * b),
    "divide": each(lambda a, b, n, s: -1 if b == 0 else truncated_divide(a, b)),
    "remainder": each(lambda a, b, n, s: a if b == 0 else a - b * truncated_divide(a, b)),
    "maximum": each(lambda a, b, n, s: max(a, b)), "minimum": each(lambda a, b, n, s: min(a, b)),
    "power": each(integer_power), "and": each(lambda a, b, n, s: a & b), "or": each(lambda a, b, n, s: a | b),
    "xor": each(lambda a, b, n, s: a ^ b),
    "shift-left": each(lambda a, b, n, s: a << b if 0 <= b < n else 0),
    "shift-right-arithmetic": each(
        lambda a, b, n, s: (a - (1 << n) if not s and a >> (n - 1) else a) >> (b if 0 <= b < n else n - 1)),
    "shift-right-logical": each(lambda a, b, n, s: (a % (1 << n)) >> b if 0 <= b < n else 0),
    "abs": each(lambda a, b, n, s: abs(a)), "negate": each(lambda a, b, n, s: -a),
    "sign": each(lambda a, b, n, s: (a > 0) - (a < 0)), "not": each(lambda a, b, n, s: ~a),
    "popcnt": each(lambda a, b, n, s: bin(a % (1 << n)).count("1")),
    "count-leading-zeros": each(lambda a, b, n, s: n - (a % (1 << n)).bit_length()),
}
PREDICATES = {"EQ": lambda x, y: x == y, "NE": lambda x, y: x != y, "GE": lambda x, y: x >= y,
              "GT": lambda x, y: x > y, "LE": lambda x, y: x <= y, "LT": lambda x, y: x < y}
FLOATS = ["f64", "f32", "bf16", "f16", "f8e5m2", "f8e4m3fn", "f8e4m3", "f8e3m4", "f8e4m3b11fnuz", "f8e5m2fnuz",
          "f8e4m3fnuz", "f4e2m1fn"]


def float_edges(name):
    info = ml_dtypes.finfo(TYPES[name])
    values = [0.0, -0.0, 0.5, -1, 1.5, 2, -2.5, 3, 0.1, np.inf, -np.inf, np.nan, float(info.max),
              float(info.smallest_subnormal), -11.7]
    with np.errstate(all="ignore"):
        return np.array(values, np.float64).astype(TYPES[name])


def to_type(values, name):
    with np.errstate(all="ignore"):
        if name == "f64":
            return np.asarray(values).astype(np.float64)
        double = np.asarray(values).astype(np.float64)
        # The sign of a NaN shows in formats that have none; it is taken as positive.
        return np.where(np.isnan(double), np.nan, double).astype(TYPES[name])


def logistic(x):
    return 1 / (1 + np.exp(-x))


def round_away(x):
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def erf_wide(x):
    return scipy.special.erf(np.asarray(x, np.float64))


REAL_UNARY = {
    "abs": np.abs, "negate": np.negative, "sign": lambda x: np.where(np.isnan(x) | (x == 0), x, np.sign(x)),
    "ceil": np.ceil, "floor": np.floor, "round-nearest-afz": round_away, "round-nearest-even": np.rint,
    "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "cbrt": np.cbrt, "exponential": np.exp,
    "exponential-minus-one": np.expm1, "log": np.log, "log-plus-one": np.log1p, "sine": np.sin, "cosine": np.cos,
    "tan": np.tan, "tanh": np.tanh, "logistic": logistic, "erf": erf_wide,
}
# No StableHLO form: the text is only read by the project itself.
PLAIN_UNARY = {"acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atanh": np.arctanh,
               "cosh": np.cosh, "sinh": np.sinh, "exp2": np.exp2, "log2": np.log2}


def nan_max(a, b, pick):
    result = pick(a, b)
    zero = (a == 0) & (b == 0)
    signs = np.signbit(a) & np.signbit(b) if pick is np.maximum else np.signbit(a) | np.signbit(b)
    return np.where(zero, np.where(signs, -0.0, 0.0), result)


REAL_BINARY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "remainder": np.fmod,
    "maximum": lambda a, b: nan_max(a, b, np.maximum), "minimum": lambda a, b: nan_max(a, b, np.minimum),
    "power": np.power, "atan2": np.arctan2,
}


def total_order_key(array):
    width = array.dtype.itemsize
    bits = array.view({1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}[width]).astype(object)
    return np.array([b if b >= 0 else -(b + (1 << (8 * width - 1))) - 1 for b in bits], dtype=object)


def float_cases():
    family = Family("float")
    with np.errstate(all="ignore"):
        for name in FLOATS:
            wide = np.longdouble if name == "f64" else np.float64
            exact = 1 if name == "f64" else 0
            x = float_edges(name)
            shape = shape_text(x)
            ops = dict(REAL_UNARY)
            ops.update(PLAIN_UNARY)
            lines = [f"r{i} = {shape} {op}(p0)" for i, op in enumerate(ops)]
            results = [to_type(f(x.astype(wide)), name) for f in ops.values()]
            lines += [f"f = pred[{len(x)}] is-finite(p0)"]
            results += [np.isfinite(x.astype(np.float64))]
            family.add("unary_" + name, entry([x], lines, [l.split(" ")[0] for l in lines],
                                              [l.split(" ")[2] for l in lines]), [x], results, ulps=exact)
            a, b = grid(x, x)
            shape = shape_text(a)
            lines, results = [], []
            for i, (op, f) in enumerate(REAL_BINARY.items()):
                lines.append(f"r{i} = {shape} {op}(p0, p1)")
                precise = wide if op in ("power", "atan2") else np.float64
                results.append(to_type(f(a.astype(precise), b.astype(precise)), name))
            for i, (d, f) in enumerate(PREDICATES.items()):
                lines.append(f"c{i} = pred[{len(a)}] compare(p0, p1), direction={d}")
                results.append(f(a.astype(np.float64), b.astype(np.float64)))
            if name not in ("f4e2m1fn",):
                keys = total_order_key(a), total_order_key(b)
                for i, (d, f) in enumerate(PREDICATES.items()):
                    lines.append(f"t{i} = pred[{len(a)}] compare(p0, p1), direction={d}, type=TOTALORDER")
                    results.append(f(*keys).astype(np.bool_))
            lines.append(f"k = {shape} clamp(p1, p0, p1)")
            results.append(to_type(np.minimum(np.maximum(a.astype(np.float64), b.astype(np.float64)),
                                              b.astype(np.float64)), name))
            zero_zero = (a.astype(np.float64) == 0) & (b.astype(np.float64) == 0)
            results[-1] = np.where(zero_zero, np.where(np.signbit(b.astype(np.float64)), to_type(-0.0, name),
                                                       to_type(0.0, name)), results[-1]).astype(TYPES[name])
            family.add("binary_" + name, entry([a, b], lines, [l.split(" ")[0] for l in lines],
                                               [l.split(" ")[2] for l in lines]), [a, b], results, ulps=exact)
        # Many ordinary values of the functions, in the two types whose code will be compared most.
        for name in ["f32", "f64"]:
            wide = np.longdouble if name == "f64" else np.float64
            x = np.concatenate([RANDOM.normal(0, 3, 40), RANDOM.uniform(-1, 1, 20), RANDOM.uniform(0, 50, 20)])
            x = x.astype(TYPES[name])
            ops = {**REAL_UNARY, **PLAIN_UNARY}
            lines = [f"r{i} = {shape_text(x)} {op}(p0)" for i, op in enumerate(ops)]
            results = [to_type(f(x.astype(wide)), name) for f in ops.values()]
            family.add("functions_" + name, entry([x], lines, [l.split(" ")[0] for l in lines],
                                                  [shape_text(x)] * len(lines)), [x], results, ulps=1)
        x, y, z = [RANDOM.normal(0, 2, 30).astype(np.float32) for _ in range(3)]
        exact = [np.float32(np.longdouble(a) * np.longdouble(b) + np.longdouble(c)) for a, b, c in zip(x, y, z)]
        family.add("fma_f32", entry([x, y, z], ["r = f32[30] fma(p0, p1, p2)"], ["r"], ["f32[30]"]), [x, y, z],
                   [np.array(exact, np.float32)])
        for name, exponent, mantissa in [("f32", 5, 10), ("f32", 8, 7), ("f32", 4, 3), ("f32", 11, 52), ("f32", 5, 0),
                                         ("f64", 8, 23), ("f16", 5, 2), ("bf16", 5, 3)]:
            x = np.concatenate([float_edges(name), to_type(RANDOM.normal(0, 1, 40) * 10.0 ** RANDOM.integers(-8, 8, 40),
                                                           name)])
            family.add(f"reduce_precision_{name}_{exponent}_{mantissa}",
                       entry([x], [f"r = {shape_text(x)} reduce-precision(p0), exponent_bits={exponent}, "
                                   f"mantissa_bits={mantissa}"], ["r"], [shape_text(x)]), [x])
    return family


def complex_edges(name):
    parts = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 30.0, 1e-4]
    return np.array([complex(a, b) for a in parts for b in parts]).astype(TYPES[name])


def complex_log1p(z):
    x, y = z.real, z.imag  # numpy's own loses digits near |1 + z| = 1
    square = x * (2 + x) + y * y
    return np.where(square > -0.5, np.log1p(square) / 2, np.log(np.hypot(1 + x, y))) + 1j * np.arctan2(y, 1 + x)


def complex_cases():
    family = Family("complex")
    functions = {"exponential": np.exp, "log": np.log, "sine": np.sin, "cosine": np.cos, "tan": np.tan,
                 "tanh": np.tanh, "sqrt": np.sqrt, "exponential-minus-one": np.expm1, "log-plus-one": complex_log1p,
                 "negate": np.negative, "logistic": lambda z: 1 / (1 + np.exp(-z)),
                 "sign": lambda z: np.where(z == 0, z, z / np.where(z == 0, 1, np.abs(z))),
                 "rsqrt": lambda z: 1 / np.sqrt(z)}
    with np.errstate(all="ignore"):
        for name, part in [("c64", "f32"), ("c128", "f64")]:
            z = complex_edges(name)
            nonzero = z[z != 0]
            lines, results = [], []
            shape = shape_text(nonzero)
            wide = np.clongdouble if name == "c128" else np.complex128
            for i, (op, f) in enumerate(functions.items()):
                lines.append(f"r{i} = {shape} {op}(p0)")
                results.append(f(nonzero.astype(wide)).astype(TYPES[name]))
            n = len(nonzero)
            lines += [f"a = {part}[{n}] abs(p0)", f"re = {part}[{n}] real(p0)", f"im = {part}[{n}] imag(p0)",
                      f"j = {shape} complex(im, re)"]
            results += [np.abs(nonzero.astype(wide)).astype(TYPES[part]), nonzero.real, nonzero.imag,
                        (nonzero.imag + 1j * nonzero.real).astype(TYPES[name])]
            family.add("unary_" + name, entry([nonzero], lines, [l.split(" ")[0] for l in lines],
                                              [l.split(" ")[2] for l in lines]), [nonzero], results, ulps=4)
            a = np.repeat(nonzero[::4], 9)
            b = np.tile(nonzero[1::7], len(a) // 9 + 1)[:len(a)]
            shape = shape_text(a)
            ops = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
                   "power": np.power}
            lines = [f"r{i} = {shape} {op}(p0, p1)" for i, op in enumerate(ops)]
            results = [f(a.astype(wide), b.astype(wide)).astype(TYPES[name]) for f in ops.values()]
            lines += [f"e = pred[{len(a)}] compare(p0, p1), direction=EQ", f"n = pred[{len(a)}] compare(p0, p1), direction=NE"]
            results += [a == b, a != b]
            family.add("binary_" + name, entry([a, b], lines, [l.split(" ")[0] for l in lines],
                                               [l.split(" ")[2] for l in lines]), [a, b], results, ulps=8)
    return family


def convert_cases():
    family = Family("convert")
    with np.errstate(all="ignore"):
        floats = np.array([0, -0.0, 0.4, -0.6, 1.5, -1.5, 2.5, 3.5, 7, 8, -8, -9, 127, 127.5, 128, -128, -129, 255, 256, 300,
                           32767, 40000, 65535, 70000, 2147483648.0, -2147483648.0, -2147483904.0, 4294967295.0,
                           9.3e18, -9.3e18, 1.9e19, np.inf, -np.inf, np.nan])
        targets = [n for n in TYPES if n not in ("c64", "c128")]
        for source in ["f64", "f32", "bf16", "f16", "f8e5m2", "f8e4m3fn", "c64"]:
            x = to_type(floats, source) if source != "c64" else floats.astype(np.complex64)
            wide = x.astype(np.float64) if source != "c64" else x.real.astype(np.float64)
            lines, results = [], []
            for target in targets:
                lines.append(f"r{len(lines)} = {target}[{len(x)}] convert(p0)")
                if target == "pred":
                    results.append((x != 0) if source == "c64" else (wide != 0))
                elif target[0] in "su":
                    info = ml_dtypes.iinfo(TYPES[target])
                    clipped = [0 if np.isnan(v) else info.min if v <= info.min else info.max if v >= info.max else int(v)
                               for v in wide]
                    dtype = np.uint64 if target[0] == "u" else np.int64
                    results.append(np.array(clipped, dtype=dtype).astype(TYPES[target]))
                else:
                    results.append(to_type(wide, target))
            family.add("from_" + source, entry([x], lines, [l.split(" ")[0] for l in lines],
                                               [l.split(" ")[2] for l in lines]), [x], results)
        for source in ["pred", "s8", "u8", "s32", "u32", "s64", "u64", "s4", "u4"]:
            x = np.array([False, True]) if source == "pred" else integer_edges(source)
            exact = [int(v) for v in (x.astype(np.uint64) if source[0] == "u" else x.astype(np.int64))]
            lines, results = [], []
            for target in targets:
                if target in ("f8e8m0fnu",):
                    continue
                lines.append(f"r{len(lines)} = {target}[{len(x)}] convert(p0)")
                if target == "pred":
                    results.append(np.array([v != 0 for v in exact]))
                elif target[0] in "su":
                    results.append(wrap(np.array(exact, dtype=object), target))
                elif target == "f32":
                    results.append(np.array([np.float32(v) for v in exact]))
                else:
                    results.append(to_type(np.array([float(v) for v in exact]), target))
            family.add("from_" + source, entry([x], lines, [l.split(" ")[0] for l in lines],
                                               [l.split(" ")[2] for l in lines]), [x], results)
        x = RANDOM.integers(0, 256, (3, 8)).astype(np.uint8)
        family.add("bitcast_u8_f32", entry([x.reshape(3, 2, 4)], ["r = f32[3,2] bitcast-convert(p0)"], ["r"], ["f32[3,2]"]),
                   [x.reshape(3, 2, 4)], [x.reshape(3, 2, 4).view(np.float32)[..., 0]])
        y = RANDOM.normal(0, 1, (3, 2)).astype(np.float64)
        family.add("bitcast_f64_u16", entry([y], ["r = u16[3,2,4] bitcast-convert(p0)"], ["r"], ["u16[3,2,4]"]), [y],
                   [y.view(np.uint16).reshape(3, 2, 4)])
        family.add("bitcast_f32_s32", entry([y.astype(np.float32)], ["r = s32[3,2] bitcast-convert(p0)"], ["r"], ["s32[3,2]"]),
                   [y.astype(np.float32)], [y.astype(np.float32).view(np.int32)])
        nibbles = np.stack([x & 15, x >> 4], axis=-1).astype(np.uint8)
        family.add("bitcast_u8_u4", entry([x], ["r = u4[3,8,2] bitcast-convert(p0)"], ["r"], ["u4[3,8,2]"]), [x],
                   [nibbles.astype(ml_dtypes.uint4)])
        signed = np.where(nibbles > 7, nibbles.astype(np.int16) - 16, nibbles).astype(np.int8).astype(ml_dtypes.int4)
        family.add("bitcast_u8_s4", entry([x], ["r = s4[3,8,2] bitcast-convert(p0)"], ["r"], ["s4[3,8,2]"]), [x], [signed])
        family.add("bitcast_s4_u8", entry([signed], ["r = u8[3,8] bitcast-convert(p0)"], ["r"], ["u8[3,8]"]), [signed], [x])
        v = np.array([2.25, -2.25, 3.75, 100.5, -7.0, 300.0, np.nan, np.inf], np.float32)
        bits = np.array([0, 0x3FFFFFFF, 0x40000001, 0x7FFFFFFF, 5, 0, 1, 2], np.uint32)
        fraction = np.array([0x40000000, 0x40000000, 0xC0000000, 0x80000000, 0, 0, 0, 0], np.uint64)
        truth = [0 if np.isnan(a) else int(np.clip(np.sign(a) * (min(abs(a), 1000) // 1 + (int(r) < int(f))), -128, 127))
                 for a, r, f in zip(v, bits, fraction)]
        family.add("stochastic_f32_s8", entry([v, bits], ["r = s8[8] stochastic-convert(p0, p1)"], ["r"], ["s8[8]"]),
                   [v, bits], [np.array(truth, np.int8)])
    return family


# --- structure: the reference backend says what is right ---------------------------------------------------------------

def numbers(shape, name="f32"):
    if name == "pred":
        return RANDOM.integers(0, 2, shape).astype(np.bool_)
    if name in ("c64", "c128"):
        return (RANDOM.normal(0, 1, shape) + 1j * RANDOM.normal(0, 1, shape)).astype(TYPES[name])
    if name[0] in "su":
        info = ml_dtypes.iinfo(TYPES[name])
        return RANDOM.integers(max(info.min, -100), min(int(info.max), 100), shape).astype(TYPES[name])
    return RANDOM.normal(0, 1, shape).astype(TYPES[name])


def simple(family, name, arguments, result, op, computations="", **tolerance):
    text = computations + "ENTRY main {\n"
    for i, argument in enumerate(arguments):
        text += f"  p{i} = {shape_text(argument)} parameter({i})\n"
    family.add(name, text + f"  ROOT out = {result} {op}\n}}\n", arguments, **tolerance)


def movement_cases():
    family = Family("movement")
    for name in ["f32", "pred", "s8", "bf16", "c128", "s4", "f8e4m3fn"]:
        x = numbers((2, 3, 4), name)
        if name == "f8e4m3fn" or name == "s4":
            plain = np.asarray(x)
            simple(family, "transpose_" + name, [x], f"{name}[4,2,3]", "transpose(p0), dimensions={2,0,1}",
                   results=[np.ascontiguousarray(plain.transpose(2, 0, 1))])
            continue
        simple(family, "transpose_" + name, [x], f"{name}[4,2,3]", "transpose(p0), dimensions={2,0,1}")
        simple(family, "reverse_" + name, [x], f"{name}[2,3,4]", "reverse(p0), dimensions={0,2}")
        simple(family, "slice_" + name, [x], f"{name}[1,3,2]", "slice(p0), slice={[1:2], [0:3], [0:4:3]}")
        simple(family, "reshape_" + name, [x], f"{name}[6,4]", "reshape(p0)")
        simple(family, "broadcast_" + name, [x[0]], f"{name}[3,2,4]", "broadcast(p0), dimensions={0,2}")
        simple(family, "concatenate_" + name, [x, x[:, :1]], f"{name}[2,7,4]", "concatenate(p0, p1, p0), dimensions={1}")
        pad = numbers((), name)
        simple(family, "pad_" + name, [x, pad], f"{name}[3,8,2]", "pad(p0, p1), padding=1_0x1_2_1x-1_-1")
        simple(family, "pad_crop_" + name, [x, pad], f"{name}[4,4,9]", "pad(p0, p1), padding=-1_0_3x-1_2x-2_1_2")
    for name in ["s32", "f32", "u8", "bf16", "c64"]:
        simple(family, "iota_" + name, [], f"{name}[3,4]", "iota(), iota_dimension=1")
    x = numbers((5, 6))
    for i, (a, b) in enumerate([(1, 2), (-3, 9), (4, 5), (2**31 - 1, -2**31)]):
        starts = [np.int32(a), np.int32(b)]
        simple(family, f"dynamic_slice_{i}", [x] + starts, "f32[2,3]", "dynamic-slice(p0, p1, p2), dynamic_slice_sizes={2,3}")
        simple(family, f"dynamic_update_slice_{i}", [x, numbers((2, 3))] + starts, "f32[5,6]",
               "dynamic-update-slice(p0, p1, p2, p3)")
    simple(family, "dynamic_slice_u64", [x, np.uint64(2**64 - 1), np.uint64(1)], "f32[2,3]",
           "dynamic-slice(p0, p1, p2), dynamic_slice_sizes={2,3}", results=[x[3:5, 1:4]])
    return family


def reducer(name, kind, op):
    return f"{name} {{\n  a = {kind}[] parameter(0)\n  b = {kind}[] parameter(1)\n  ROOT r = {kind}[] {op}(a, b)\n}}\n"


def indexed_cases():
    family = Family("indexed")
    x = numbers((5, 6, 3))
    simple(family, "gather_rows", [x, np.array([[1], [4], [-2], [9]], np.int32)], "f32[4,6,3]",
           "gather(p0, p1), offset_dims={1,2}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
           "slice_sizes={1,6,3}")
    simple(family, "gather_windows", [x, np.array([[1, 2], [4, 5], [0, -1]], np.int64)], "f32[2,3,3,2]",
           "gather(p0, p1), offset_dims={0,2,3}, collapsed_slice_dims={}, start_index_map={0,1}, index_vector_dim=1, "
           "slice_sizes={2,3,2}")
    simple(family, "gather_implicit_vector", [x, np.array([2, 0], np.uint8)], "f32[6,2,3]",
           "gather(p0, p1), offset_dims={0,2}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
           "slice_sizes={1,6,3}")
    simple(family, "gather_batching", [x, numbers((5, 2, 1), "s32") % 6], "f32[5,2,3]",
           "gather(p0, p1), offset_dims={2}, collapsed_slice_dims={1}, operand_batching_dims={0}, "
           "start_indices_batching_dims={0}, start_index_map={1}, index_vector_dim=2, slice_sizes={1,1,3}")
    for name in ["f32", "s32", "f64", "c64", "u8"]:
        op = numbers((6, 4), name)
        simple(family, "scatter_add_" + name, [op, np.array([[1], [1], [5], [7], [-1]], np.int32), numbers((5, 4), name)],
               f"{name}[6,4]",
               "scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
               "index_vector_dim=1, to_apply=f", reducer("f", name, "add"), rtol=1e-6)
    op = numbers((6, 4))
    simple(family, "scatter_window", [op, np.array([[1, 1], [5, 2], [4, 3], [-1, 0]], np.int32), numbers((4, 2, 2))],
           "f32[6,4]", "scatter(p0, p1, p2), update_window_dims={1,2}, inserted_window_dims={}, "
           "scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=f",
           "f {\n  a = f32[] parameter(0)\n  ROOT b = f32[] parameter(1)\n}\n")
    simple(family, "scatter_subtract", [op, np.array([2, 2], np.int32), numbers((2, 4))], "f32[6,4]",
           "scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
           "index_vector_dim=1, to_apply=f", reducer("f", "f32", "subtract"))
    simple(family, "scatter_batching", [numbers((3, 5)), numbers((3, 2, 1), "s32") % 5, numbers((3, 2))], "f32[3,5]",
           "scatter(p0, p1, p2), update_window_dims={}, inserted_window_dims={1}, input_batching_dims={0}, "
           "scatter_indices_batching_dims={0}, scatter_dims_to_operand_dims={1}, index_vector_dim=2, to_apply=f",
           reducer("f", "f32", "maximum"))
    simple(family, "scatter_two", [numbers((4,)), numbers((4,), "s32"), np.array([[1], [3], [1]], np.int32), numbers((3,)),
                                   numbers((3,), "s32")], "(f32[4], s32[4])",
           "scatter(p0, p1, p2, p3, p4), update_window_dims={}, inserted_window_dims={0}, "
           "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=f",
           "f {\n  a = f32[] parameter(0)\n  b = s32[] parameter(1)\n  c = f32[] parameter(2)\n  d = s32[] parameter(3)\n"
           "  m = f32[] multiply(a, c)\n  s = s32[] add(b, d)\n  ROOT r = (f32[], s32[]) tuple(m, s)\n}\n")
    return family


ARGMAX = """am {
  v = f32[] parameter(0)
  i = s32[] parameter(1)
  w = f32[] parameter(2)
  j = s32[] parameter(3)
  g = pred[] compare(v, w), direction=GE
  a = f32[] select(g, v, w)
  b = s32[] select(g, i, j)
  ROOT r = (f32[], s32[]) tuple(a, b)
}
"""


def reduction_cases():
    family = Family("reduction")
    for name, op in [("f32", "add"), ("f32", "maximum"), ("s32", "multiply"), ("bf16", "add"), ("f64", "minimum"),
                     ("c64", "add"), ("pred", "or"), ("u8", "add"), ("f16", "multiply"), ("s64", "xor")]:
        x, init = numbers((3, 4, 5), name), np.zeros((), TYPES[name]) + (1 if op == "multiply" else 0)
        init = np.asarray(init).astype(TYPES[name])
        loose = {"rtol": {"bf16": 2e-2, "f16": 2e-3}.get(name, 1e-6)} if name[0] in "fcb" else {}
        for dims, out in [("1", "[3,5]"), ("0,2", "[4]"), ("0,1,2", "[]")]:
            simple(family, f"reduce_{op}_{name}_{dims.replace(',', '')}", [x, init], name + out,
                   f"reduce(p0, p1), dimensions={{{dims}}}, to_apply=f", reducer("f", name, op), **loose)
    x = numbers((4, 7))
    simple(family, "reduce_argmax", [x, np.tile(np.arange(7, dtype=np.int32), (4, 1)), np.float32(-np.inf), np.int32(0)],
           "(f32[4], s32[4])", "reduce(p0, p1, p2, p3), dimensions={1}, to_apply=am", ARGMAX)
    simple(family, "reduce_empty", [numbers((3, 0)), np.float32(2.5)], "f32[3]", "reduce(p0, p1), dimensions={1}, to_apply=f",
           reducer("f", "f32", "add"))
    windows = {"plain": ("[3,3]", "size=2x3 stride=1x2"), "pad": ("[4,8]", "size=3x2 pad=1_1x0_2"),
               "dilate": ("[7,3]", "size=1x3 lhs_dilate=2x1 rhs_dilate=1x2")}
    for key, (out, window) in windows.items():
        for op, init in [("add", 0.0), ("maximum", -np.inf), ("add", 2.0)]:
            if init == 2.0 and key != "plain":
                continue
            simple(family, f"reduce_window_{key}_{op}_{init}", [x, np.float32(init)], "f32" + out,
                   f"reduce-window(p0, p1), window={{{window}}}, to_apply=f", reducer("f", "f32", op), rtol=1e-6)
    compare = "s {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = pred[] compare(a, b), direction=GE\n}\n"
    simple(family, "select_and_scatter", [x, numbers((2, 3)), np.float32(0)], "f32[4,7]",
           "select-and-scatter(p0, p1, p2), window={size=2x3 stride=2x2}, select=s, scatter=f",
           compare + reducer("f", "f32", "add"), rtol=1e-6)
    simple(family, "select_and_scatter_pad", [x, numbers((5, 5)), np.float32(0.5)], "f32[4,7]",
           "select-and-scatter(p0, p1, p2), window={size=2x3 pad=1_1x0_0}, select=s, scatter=f",
           compare + reducer("f", "f32", "add"), rtol=1e-6)
    less = ("c {{\n  a = {t}[] parameter(0)\n  b = {t}[] parameter(1)\n  k = s32[] parameter(2)\n  l = s32[] parameter(3)\n"
            "  ROOT r = pred[] compare(a, b), direction={d}{o}\n}}\n")
    for name, direction, order in [("f32", "LT", ", type=TOTALORDER"), ("s32", "GT", ""), ("u8", "LT", ""), ("f64", "GT", "")]:
        keys = numbers((3, 20), name)
        keys[:, 3:9] = keys[:, :6]
        if name == "f32":
            keys[0, :4] = [np.nan, -0.0, 0.0, -np.inf]
        iota = np.tile(np.arange(20, dtype=np.int32), (3, 1))
        simple(family, f"sort_{name}_{direction}", [keys, iota], f"({name}[3,20], s32[3,20])",
               "sort(p0, p1), dimensions={1}, is_stable=true, to_apply=c", less.format(t=name, d=direction, o=order))
    simple(family, "sort_columns", [numbers((6, 3)), numbers((6, 3), "s32")], "(f32[6,3], s32[6,3])",
           "sort(p0, p1), dimensions={0}, is_stable=true, to_apply=c", less.format(t="f32", d="LT", o=""))
    values = np.array([[3, 1, 4, 1, 5, 9, 2, 6], [5, 3, 5, 8, 9, 7, 9, 3]], np.float32)
    order = np.argsort(-values, axis=1, kind="stable")[:, :3].astype(np.int32)
    simple(family, "topk", [values], "(f32[2,3], s32[2,3])", "topk(p0), k=3, largest=true",
           results=[np.take_along_axis(values, order, 1), order])
    order = np.argsort(values, axis=1, kind="stable")[:, :3].astype(np.int32)
    simple(family, "topk_smallest", [values], "(f32[2,3], s32[2,3])", "topk(p0), k=3, largest=false",
           results=[np.take_along_axis(values, order, 1), order])
    body = ("b {\n  i = f32[3] parameter(0)\n  c = f32[3] parameter(1)\n  s = f32[3] subtract(c, i)\n"
            "  t = f32[3] multiply(i, c)\n  ROOT r = (f32[3], f32[3]) tuple(t, s)\n}\n")
    for dimension, shape in [(0, (4, 3)), (1, (3, 4))]:
        simple(family, f"scan_{dimension}", [numbers(shape), numbers((3,))], f"(f32[{shape[0]},{shape[1]}], f32[3])",
               f"scan(p0, p1), dimensions={{{dimension}}}, num_carries=1, to_apply=b", body, rtol=1e-6)
    simple(family, "map", [numbers((2, 3)), numbers((2, 3))], "f32[2,3]", "map(p0, p1), dimensions={0,1}, to_apply=f",
           reducer("f", "f32", "subtract"))
    return family


def contraction_cases():
    family = Family("contraction")
    loose = {"f32": 1e-6, "bf16": 8e-3, "f16": 1e-3, "c64": 1e-6, "f64": 1e-14, "c128": 1e-14}
    for name in ["f32", "f64", "bf16", "f16", "c64", "c128", "s32", "s8", "u32"]:
        tolerance = {"rtol": loose[name]} if name in loose else {}
        simple(family, "dot_" + name, [numbers((3, 5), name), numbers((5, 4), name)], name + "[3,4]",
               "dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}", **tolerance)
        simple(family, "dot_batch_" + name, [numbers((3, 2, 5), name), numbers((5, 4, 2, 2), name)], name + "[2,3,4,2]",
               "dot(p0, p1), lhs_batch_dims={1}, rhs_batch_dims={2}, lhs_contracting_dims={2}, rhs_contracting_dims={0}",
               **tolerance)
    simple(family, "dot_s8_s32", [numbers((3, 5), "s8"), numbers((5, 4), "s8")], "s32[3,4]",
           "dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}")
    simple(family, "dot_two_contracting", [numbers((2, 3, 4)), numbers((4, 5, 3))], "f32[2,5]",
           "dot(p0, p1), lhs_contracting_dims={1,2}, rhs_contracting_dims={2,0}", rtol=1e-6)
    simple(family, "dot_outer", [numbers((2,)), numbers((3,))], "f32[2,3]", "dot(p0, p1)", rtol=1e-6)
    convolutions = {
        "plain": ((2, 5, 6, 3), (3, 2, 3, 4), "[2,3,5,4]", "size=3x2", "b01f_01io->b01f", ""),
        "stride_pad": ((2, 5, 6, 3), (3, 3, 3, 4), "[2,3,3,4]", "size=3x3 stride=2x2 pad=1_1x0_1", "b01f_01io->b01f", ""),
        "crop": ((2, 5, 6, 3), (2, 2, 3, 4), "[2,3,6,4]", "size=2x2 pad=-1_0x1_0", "b01f_01io->b01f", ""),
        "dilate": ((1, 4, 4, 2), (2, 2, 2, 3), "[1,5,5,3]", "size=2x2 lhs_dilate=2x2 rhs_dilate=2x2 pad=0_0x0_0",
                   "b01f_01io->b01f", ""),
        "reversal": ((1, 4, 5, 2), (2, 3, 2, 3), "[1,3,3,3]", "size=2x3 rhs_reversal=1x1", "b01f_01io->b01f", ""),
        "labels": ((3, 2, 6), (4, 3, 2), "[2,4,5]", "size=2", "fb0_oi0->bf0", ""),
        "groups": ((2, 5, 4), (3, 2, 6), "[2,3,6]", "size=3", "b0f_0io->b0f", ", feature_group_count=2"),
        "depthwise": ((2, 5, 4), (3, 1, 8), "[2,3,8]", "size=3", "b0f_0io->b0f", ", feature_group_count=4"),
        "batch_groups": ((4, 5, 3), (3, 3, 6), "[2,3,6]", "size=3", "b0f_0io->b0f", ", batch_group_count=2"),
        "no_spatial": ((2, 5), (5, 3), "[2,3]", "", "bf_io->bf", ""),
    }
    for key, (lhs, rhs, out, window, labels, extra) in convolutions.items():
        for name in ["f32"] if key != "plain" else ["f32", "f64", "bf16", "s32"]:
            tolerance = {"rtol": loose[name]} if name in loose else {}
            window_text = f"window={{{window}}}, " if window else ""
            simple(family, f"conv_{key}_{name}", [numbers(lhs, name), numbers(rhs, name)], name + out,
                   f"convolution(p0, p1), {window_text}dim_labels={labels}{extra}", **tolerance)
    lhs, rhs, sizes = numbers((7, 4)), numbers((3, 4, 5)), np.array([2, 0, 3], np.int32)
    out = np.zeros((7, 5))
    out[0:2], out[2:5] = lhs[0:2].astype(float) @ rhs[0], lhs[2:5].astype(float) @ rhs[2]
    simple(family, "ragged_dot", [lhs, rhs, sizes], "f32[7,5]",
           "ragged-dot(p0, p1, p2), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, "
           "rhs_group_dims={0}", results=[out.astype(np.float32)], rtol=1e-6)
    lhs, rhs = numbers((4, 7)), numbers((7, 5))
    out = np.stack([lhs[:, a:b].astype(float) @ rhs[a:b] for a, b in [(0, 2), (2, 2), (2, 5)]])
    simple(family, "ragged_dot_contracting", [lhs, rhs, sizes], "f32[3,4,5]",
           "ragged-dot(p0, p1, p2), lhs_contracting_dims={1}, rhs_contracting_dims={0}, lhs_ragged_dims={1}, "
           "rhs_group_dims={}", results=[out.astype(np.float32)], rtol=1e-6)
    return family


def linear_algebra_cases():
    family = Family("linalg")
    for name in ["f32", "f64", "c64", "c128"]:
        tolerance = {"rtol": 1e-5 if name in ("f32", "c64") else 1e-13}
        a = numbers((2, 4, 4), name)
        spd = (a @ np.conj(np.swapaxes(a, 1, 2)) + 4 * np.eye(4)).astype(TYPES[name])
        factor = np.linalg.cholesky(spd.astype(np.complex128 if name[0] == "c" else np.float64))
        simple(family, "cholesky_lower_" + name, [spd], name + "[2,4,4]", "cholesky(p0), lower=true",
               results=[factor.astype(TYPES[name])], **tolerance)
        simple(family, "cholesky_upper_" + name, [spd], name + "[2,4,4]", "cholesky(p0), lower=false",
               results=[np.conj(np.swapaxes(factor, 1, 2)).astype(TYPES[name])], **tolerance)
        b = {True: numbers((2, 4, 3), name), False: numbers((2, 3, 4), name)}
        for left in [True, False]:
            for lower in [True, False]:
                for transpose in ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"]:
                    for unit in [True, False]:
                        wide = a.astype(np.complex128 if name[0] == "c" else np.float64) + 2 * np.eye(4)
                        matrix = wide.astype(TYPES[name])
                        t = np.tril(matrix) if lower else np.triu(matrix)
                        t = t.astype(wide.dtype)
                        if unit:
                            t[:, range(4), range(4)] = 1
                        t = {"NO_TRANSPOSE": t, "TRANSPOSE": np.swapaxes(t, 1, 2),
                             "ADJOINT": np.conj(np.swapaxes(t, 1, 2))}[transpose]
                        rhs = b[left].astype(wide.dtype)
                        x = np.linalg.solve(t, rhs) if left else np.swapaxes(
                            np.linalg.solve(np.swapaxes(t, 1, 2), np.swapaxes(rhs, 1, 2)), 1, 2)
                        if name in ("f32", "c128") or (transpose == "ADJOINT" and left):
                            simple(family, f"triangular_solve_{name}_{int(left)}{int(lower)}{int(unit)}_{transpose}",
                                   [matrix, b[left]], shape_text(b[left]),
                                   f"triangular-solve(p0, p1), left_side={str(left).lower()}, lower={str(lower).lower()}, "
                                   f"unit_diagonal={str(unit).lower()}, transpose_a={transpose}",
                                   results=[x.astype(TYPES[name])], **tolerance)
    for n in [1, 2, 3, 4, 5, 7, 8, 12, 13, 30, 49]:
        for name, part in [("c64", "f32"), ("c128", "f64")]:
            tolerance = {"rtol": 1e-6 if name == "c64" else 1e-14}
            z, x = numbers((2, n), name), numbers((2, n), part)
            simple(family, f"fft_{name}_{n}", [z], f"{name}[2,{n}]", f"fft(p0), fft_type=FFT, fft_length={{{n}}}",
                   results=[np.fft.fft(z.astype(np.complex128)).astype(TYPES[name])], **tolerance)
            simple(family, f"ifft_{name}_{n}", [z], f"{name}[2,{n}]", f"fft(p0), fft_type=IFFT, fft_length={{{n}}}",
                   results=[np.fft.ifft(z.astype(np.complex128)).astype(TYPES[name])], **tolerance)
            simple(family, f"rfft_{name}_{n}", [x], f"{name}[2,{n // 2 + 1}]", f"fft(p0), fft_type=RFFT, fft_length={{{n}}}",
                   results=[np.fft.rfft(x.astype(np.float64)).astype(TYPES[name])], **tolerance)
            half = z[:, :n // 2 + 1]
            simple(family, f"irfft_{name}_{n}", [half], f"{part}[2,{n}]", f"fft(p0), fft_type=IRFFT, fft_length={{{n}}}",
                   results=[np.fft.irfft(half.astype(np.complex128), n).astype(TYPES[part])], **tolerance)
    z = numbers((2, 3, 4, 5), "c64")
    simple(family, "fft_3d", [z], "c64[2,3,4,5]", "fft(p0), fft_type=FFT, fft_length={3,4,5}", rtol=1e-6)
    x = numbers((3, 4, 6))
    simple(family, "rfft_2d", [x], "c64[3,4,4]", "fft(p0), fft_type=RFFT, fft_length={4,6}", rtol=1e-6)
    z = numbers((3, 4, 4), "c64")
    simple(family, "irfft_2d", [z], "f32[3,4,6]", "fft(p0), fft_type=IRFFT, fft_length={4,6}",
           results=[np.fft.irfft2(z.astype(np.complex128), (4, 6)).astype(np.float32)], rtol=1e-6)
    x, v = numbers((3, 2, 5)), [numbers((2,)) for _ in range(4)]
    v[3] = np.abs(v[3]) + 0.5
    simple(family, "batch_norm_training", [x] + v[:2], "(f32[3,2,5], f32[2], f32[2])",
           "batch-norm-training(p0, p1, p2), epsilon=0.01, feature_index=1", rtol=1e-6)
    simple(family, "batch_norm_inference", [x] + v, "f32[3,2,5]",
           "batch-norm-inference(p0, p1, p2, p3, p4), epsilon=0.01, feature_index=1", rtol=1e-6)
    simple(family, "batch_norm_grad", [x, v[0], v[2], v[3], numbers((3, 2, 5))], "(f32[3,2,5], f32[2], f32[2])",
           "batch-norm-grad(p0, p1, p2, p3, p4), epsilon=0.01, feature_index=1", rtol=1e-6)
    return family


def random_cases():
    family = Family("random")
    shapes = ["[]", "[1]", "[5]", "[8]", "[3,4]", "[3,5]", "[5,3,7]", "[2,3,4]", "[0]"]
    for shape in shapes:
        for name in ["u32", "u64", "u8", "u16"] if shape != "[0]" else ["u32"]:
            for algorithm, words in [("rng_three_fry", 2), ("rng_philox", 2), ("rng_philox", 3), ("rng_default", 2)]:
                state = RANDOM.integers(0, 2**64, words, dtype=np.uint64)
                if shape == "[8]":
                    state[1] = 2**64 - 1  # the counter overflows
                simple(family, f"{algorithm}_{words}_{name}_{shape[1:-1].replace(',', 'x')}", [state],
                       f"(u64[{words}], {name}{shape})", f"rng-bit-generator(p0), algorithm={algorithm}")
    return family


def control_cases():
    family = Family("control")
    family.add("while_fibonacci", """cond {
  s = (s32[], s64[2]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(50)
  ROOT r = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], s64[2]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = s64[2] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  w = s64[2] reverse(v), dimensions={0}
  m = s64[2] constant({0, 1})
  mv = s64[2] multiply(m, v)
  t = s64[2] add(w, mv)
  ROOT r = (s32[], s64[2]) tuple(j, t)
}
ENTRY main {
  z = s32[] constant(0)
  v = s64[2] constant({0, 1})
  s = (s32[], s64[2]) tuple(z, v)
  w = (s32[], s64[2]) while(s), condition=cond, body=body
  i = s32[] get-tuple-element(w), index=0
  f = s64[2] get-tuple-element(w), index=1
  ROOT r = (s32[], s64[2]) tuple(i, f)
}
""", [])
    branches = "".join(f"b{i} {{\n  p = f32[] parameter(0)\n  c = f32[] constant({i + 2})\n  ROOT r = f32[] multiply(p, c)\n}}\n"
                       for i in range(3))
    for index in [-1, 0, 1, 2, 7]:
        simple(family, f"case_{index}", [np.int32(index), np.float32(1.5)], "f32[]",
               "conditional(p0, p1, p1, p1), branch_computations={b0, b1, b2}", branches)
    for predicate in [True, False]:
        simple(family, f"conditional_{predicate}", [np.bool_(predicate), np.float32(1.5)], "f32[]",
               "conditional(p0, p1, p1), true_computation=b0, false_computation=b1", branches)
    simple(family, "call", [np.float32(1.5)], "f32[]", "call(p0), to_apply=b1", branches)
    return family


def main(directory):
    os.makedirs(directory, exist_ok=True)
    for make in [integer_cases, float_cases, complex_cases, convert_cases, movement_cases, indexed_cases, reduction_cases,
                 contraction_cases, linear_algebra_cases, random_cases, control_cases]:
        make().write(directory)


if __name__ == "__main__":
    main(sys.argv[1])
