"""Elementwise ops with every type that they allow."""

import numpy as np

from conformance import program as p
from conformance.program import BITS, EXACT, Program, Tolerance

FLOAT_COMPLEX = p.FLOATS + p.COMPLEX
# Approximated functions: each side may be 2 ulp from the truth, in the type that it computes in. Complex functions are
# composed of several.
NEAR = Tolerance(ulps=4)
NEAR_COMPLEX = Tolerance(ulps=32)

UNARY = {
    "abs": (p.SIGNED + FLOAT_COMPLEX, NEAR),
    "cbrt": (p.FLOATS, NEAR),
    "ceil": (p.FLOATS, BITS),
    "cosine": (FLOAT_COMPLEX, NEAR),
    "count_leading_zeros": (p.INTEGERS, EXACT),
    "exponential": (FLOAT_COMPLEX, NEAR),
    "exponential_minus_one": (FLOAT_COMPLEX, NEAR),
    "floor": (p.FLOATS, BITS),
    "imag": (p.COMPLEX, BITS),
    "is_finite": (p.FLOATS, EXACT),
    "log": (FLOAT_COMPLEX, NEAR),
    "log_plus_one": (FLOAT_COMPLEX, NEAR),
    "logistic": (FLOAT_COMPLEX, NEAR),
    "negate": (p.INTEGERS + FLOAT_COMPLEX, BITS),
    "not": (p.BOOLEAN + p.INTEGERS, EXACT),
    "popcnt": (p.INTEGERS, EXACT),
    "real": (p.COMPLEX, BITS),
    "round_nearest_afz": (p.FLOATS, BITS),
    "round_nearest_even": (p.FLOATS, BITS),
    "rsqrt": (FLOAT_COMPLEX, NEAR),
    "sign": (p.SIGNED + FLOAT_COMPLEX, NEAR),
    "sine": (FLOAT_COMPLEX, NEAR),
    "sqrt": (FLOAT_COMPLEX, NEAR),
    "tan": (FLOAT_COMPLEX, NEAR),
    "tanh": (FLOAT_COMPLEX, NEAR),
}
ARITHMETIC = p.INTEGERS + FLOAT_COMPLEX
BINARY = {
    "add": (p.ALL, EXACT),
    "and": (p.BOOLEAN + p.INTEGERS, EXACT),
    "atan2": (FLOAT_COMPLEX, NEAR),
    "divide": (ARITHMETIC, Tolerance(ulps=1)),
    "maximum": (p.ALL, EXACT),
    "minimum": (p.ALL, EXACT),
    "multiply": (p.ALL, EXACT),
    "or": (p.BOOLEAN + p.INTEGERS, EXACT),
    "power": (ARITHMETIC, NEAR),
    "remainder": (p.INTEGERS + p.FLOATS, NEAR),  # XLA:CPU dies of complex ones
    "shift_left": (p.INTEGERS, EXACT),
    "shift_right_arithmetic": (p.INTEGERS, EXACT),
    "shift_right_logical": (p.INTEGERS, EXACT),
    "subtract": (ARITHMETIC, EXACT),
    "xor": (p.BOOLEAN + p.INTEGERS, EXACT),
}
DIRECTIONS = ["EQ", "NE", "GE", "GT", "LE", "LT"]


def values(program, op, dtype, shape):
    """Anything for exact ops; reals of common size where both sides approximate."""
    if dtype in p.COMPLEX and op not in ("add", "subtract", "negate", "real", "imag"):
        return program.normal(dtype, shape, program.rng.choice([0.5, 3.0]))
    return program.any(dtype, shape) if program.rng.random() < 0.6 else program.normal(dtype, shape, 2.0)


def unary(op, dtype):
    def make(rng):
        program = Program(rng)
        shape = p.random_shape(rng, 4)
        # XLA:CPU counts the extended bits of a negative i2 or i4.
        x = program.small(dtype, shape, 0, 7) if op == "popcnt" and dtype in ("i2", "i4") else values(program, op, dtype, shape)
        result = {"is_finite": "i1", "real": dtype[8:11], "imag": dtype[8:11], "abs": dtype[8:11] or dtype}
        kind = (result.get(op) or dtype) if op != "abs" or dtype in p.COMPLEX else dtype
        tolerance = UNARY[op][1]
        if (op, dtype) == ("log_plus_one", "f64"):  # XLA:CPU is 26 units off at -0.38
            tolerance = Tolerance(ulps=64)
        program.result(program.op(op, [x], [(kind, x.shape)]), NEAR_COMPLEX if dtype in p.COMPLEX and tolerance.ulps else tolerance)
        return program

    return make


def binary(op, dtype):
    def make(rng):
        program = Program(rng)
        shape = p.random_shape(rng, 3)
        x, y = values(program, op, dtype, shape), values(program, op, dtype, shape)
        if op.startswith("shift") and rng.random() < 0.7:
            y = program.small(dtype, shape, 0, 9)
        if op == "power" and dtype in p.INTEGERS:
            y = program.small(dtype, shape, -3, 9)
        tolerance = BINARY[op][1]
        if dtype in p.COMPLEX and op not in ("add", "subtract"):
            tolerance = NEAR_COMPLEX
            if op == "atan2":  # XLA:CPU takes a logarithm near 1
                tolerance = Tolerance(ulps=32, absolute=16 * np.finfo(p.TYPES[dtype]).eps)
        program.result(program.op(op, [x, y], [(dtype, shape)]), tolerance)
        return program

    return make


def compare(dtype):
    def make(rng):
        program = Program(rng)
        shape = p.random_shape(rng, 3)
        x, y = program.any(dtype, shape), program.any(dtype, shape)
        for direction in DIRECTIONS:
            kinds = ["FLOAT", "TOTALORDER"] if dtype in p.FLOATS else ["FLOAT"] if dtype in p.COMPLEX else [
                "SIGNED" if dtype in p.SIGNED else "UNSIGNED"]
            for kind in kinds:
                for pair in ((x, y), (x, x)):
                    program.result(program.op("compare", pair, [("i1", shape)],
                                              f"comparison_direction = #stablehlo<comparison_direction {direction}>, "
                                              f"compare_type = #stablehlo<comparison_type {kind}>"))
        return program

    return make


def select_and_clamp(dtype):
    def make(rng):
        program = Program(rng)
        shape = p.random_shape(rng, 3)
        x, y, z = (program.any(dtype, shape) for _ in range(3))
        for where in (shape, ()):
            program.result(program.op("select", [program.any("i1", where), x, y], [(dtype, shape)]), BITS)
        if dtype not in p.COMPLEX:  # XLA:CPU orders them by their real parts alone
            program.result(program.op("clamp", [y, x, z], [(dtype, shape)]))
            low, high = program.any(dtype, ()), program.any(dtype, ())
            program.result(program.op("clamp", [low, x, high], [(dtype, shape)]))
        return program

    return make


def convert(source):
    def make(rng):
        program = Program(rng)
        shape = (int(rng.integers(1, 70)),)
        any_value, small = program.any(source, shape), program.normal(source, shape, 3.0)
        if source == "f4E2M1FN":  # XLA:CPU takes the largest value of the type for one out of the integer's range
            any_value = small = program.small(source, shape)
        for target in p.ALL:
            if target == "i1" and source in (*p.COMPLEX, "f8E8M0FNU"):
                continue  # XLA:CPU tells by the real part alone, and takes 2^-127 for 0
            for x in (any_value, small):
                program.result(program.op("convert", [x], [(target, shape)]), BITS)
        return program

    return make


def reduce_precision(dtype):
    def make(rng):
        program = Program(rng)
        x = program.normal(dtype, p.random_shape(rng, 2)) if dtype in p.TINY_FLOATS else program.any(dtype, p.random_shape(rng, 2))
        for exponent, mantissa in [(5, 10), (8, 7), (4, 3), (5, 2), (2, 1), (1, 0), (8, 23), (11, 52), (3, 0),
                                   (int(rng.integers(1, 12)), int(rng.integers(0, 53)))]:
            program.result(program.op("reduce_precision", [x], [(dtype, x.shape)],
                                      f"exponent_bits = {exponent} : i32, mantissa_bits = {mantissa} : i32"), BITS)
        return program

    return make


def complex_parts(dtype):
    def make(rng):
        program = Program(rng)
        shape = p.random_shape(rng, 3)
        x, y = program.any(dtype, shape), program.any(dtype, shape)
        program.result(program.op("complex", [x, y], [(f"complex<{dtype}>", shape)]), BITS)
        return program

    return make


def bitcast(source):
    """To every type of the same, a smaller and a larger width; the last dimension takes up the ratio."""

    def bits(dtype):
        return {"i1": 8, "f4E2M1FN": 4}.get(dtype) or (
            int(dtype.lstrip("ui")) if dtype in p.INTEGERS else p.TYPES[dtype].itemsize * 8)

    def make(rng):
        program = Program(rng)
        lead = p.random_shape(rng, 2, 40)
        for target in p.ALL:
            if source != target and ({source, target} & {"i1", *p.COMPLEX}):
                continue
            a, b = bits(source), bits(target)
            shape, out = lead, lead
            if a > b:
                out = (*lead, a // b)
            elif b > a:
                shape = (*lead, b // a)
            x = program.any(source, shape)
            program.result(program.op("bitcast_convert", [x], [(target, out)]), BITS)
        return program

    return make


def with_accuracy(op):
    def make(rng):
        program = Program(rng)
        x = program.normal("f32", (17,))
        for mode in ("DEFAULT", "HIGHEST"):
            program.result(program.op(op, [x], [("f32", x.shape)],
                                      "result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode"
                                      f"<{mode}>>"), NEAR)
        return program

    return make


def cases():
    """(family, name, maker) of every op with every type."""
    for op, (dtypes, _) in UNARY.items():
        yield from (("unary", f"{op} {dtype}", unary(op, dtype)) for dtype in dtypes)
    for op, (dtypes, _) in BINARY.items():
        yield from (("binary", f"{op} {dtype}", binary(op, dtype)) for dtype in dtypes)
    for dtype in p.ALL:
        yield "compare", f"compare {dtype}", compare(dtype)
        yield "select, clamp", f"select {dtype}", select_and_clamp(dtype)
        yield "convert", f"convert {dtype}", convert(dtype)
        yield "bitcast_convert", f"bitcast_convert {dtype}", bitcast(dtype)
    yield from (("reduce_precision", f"reduce_precision {dtype}", reduce_precision(dtype)) for dtype in p.FLOATS)
    yield from (("complex", f"complex {dtype}", complex_parts(dtype)) for dtype in ("f32", "f64"))
    yield from (("result_accuracy", f"accuracy {op}", with_accuracy(op)) for op in (
        "cbrt", "cosine", "exponential", "exponential_minus_one", "log", "log_plus_one", "logistic", "rsqrt", "sine", "sqrt",
        "tan", "tanh"))
