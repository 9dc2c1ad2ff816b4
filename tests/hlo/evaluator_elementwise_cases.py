"""Cases of elementwise ops on edge values: exact rules for integers, numpy in wider types for floats."""
import ml_dtypes
import numpy as np
import scipy.special

from evaluator_case_tools import RANDOM, TYPES, Family, entry, grid, run_hlo, shape_text


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
    sign = 1 << (8 * width - 1)
    # Without a negative zero its code is the one NaN, a negative one.
    lowest = -sign if array.dtype.name.endswith("fnuz") else None
    return np.array([b if b >= 0 else -sign - 1 if b == lowest else -(b + sign) - 1 for b in bits], dtype=object)


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
            # Infinities, NaN and both zeros, where C's Annex G says what is right.
            parts = [np.inf, -np.inf, np.nan, 0.0, -0.0, 2.0]
            special = np.array([complex(a, b) for a in parts for b in parts]).astype(TYPES[name])
            special.real, special.imag = np.repeat(parts, 6), np.tile(parts, 6)
            edge = {"exponential": np.exp, "log": np.log, "sqrt": np.sqrt, "sine": np.sin, "cosine": np.cos,
                    "tanh": np.tanh, "tan": np.tan, "negate": np.negative}
            shape = shape_text(special)
            family.add("special_" + name, entry([special], [f"r{i} = {shape} {op}(p0)" for i, op in enumerate(edge)],
                                                [f"r{i}" for i in range(len(edge))], [shape] * len(edge)), [special],
                       [f(special.astype(wide)).astype(TYPES[name]) for f in edge.values()], ulps=1)
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
