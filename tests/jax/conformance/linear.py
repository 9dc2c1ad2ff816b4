"""fft, triangular_solve, cholesky and batch normalization."""

import numpy as np

from conformance import program as p
from conformance.program import Program, Tolerance, array, random_shape

EPSILON = {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-23, "f64": 2.0**-52, "complex<f32>": 2.0**-23, "complex<f64>": 2.0**-52}


def scaled(dtype, ulps, size=1.0):
    """So many units in the last place of numbers of this size."""
    return Tolerance(ulps=ulps, absolute=ulps * size * EPSILON[dtype])


def fft(kind):
    def make(rng):
        program = Program(rng)
        wide = rng.random() < 0.4
        real, pair = ("f64", "complex<f64>") if wide else ("f32", "complex<f32>")
        rank = int(rng.integers(1, 4))
        lengths = [int(rng.choice([1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 16, 17, 24, 31, 32, 64, 97, 128] if rank == 1 else [1, 2, 3, 4, 5, 7, 8])) for _ in range(rank)]
        batch = tuple(int(n) for n in rng.integers(1, 4, int(rng.integers(0, 3))))  # XLA:CPU dies of empty ones
        half = [*lengths[:-1], lengths[-1] // 2 + 1]
        inputs, outputs = {"FFT": (lengths, lengths), "IFFT": (lengths, lengths), "RFFT": (lengths, half), "IRFFT": (half, lengths)}[kind]
        x = program.normal(real if kind == "RFFT" else pair, (*batch, *inputs))
        result = real if kind == "IRFFT" else pair
        program.result(program.op("fft", [x], [(result, (*batch, *outputs))], f"fft_type = #stablehlo<fft_type {kind}>, fft_length = {array(lengths)}"),
                       scaled(result, 8, 4 * np.sqrt(np.prod(lengths))))
        return program

    return make


def well_conditioned(rng, dtype, batch, n):
    a = p.normal_values(rng, dtype, (*batch, n, n)) * 0.3
    return a + (n * 0.3 + 1) * np.eye(n)


def triangular_solve(rng):
    program, dtype = Program(rng), str(rng.choice(["f32", "f32", "f64", "complex<f32>", "complex<f64>"]))
    batch = tuple(int(n) for n in rng.integers(1, 4, int(rng.integers(0, 3))))
    n, m = int(rng.choice([0, 1, 2, 3, 5, 8, 17])), int(rng.choice([0, 1, 2, 4, 9]))
    left, lower, unit = (bool(b) for b in rng.integers(0, 2, 3))
    transpose = str(rng.choice(["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"]))
    a = program.argument(dtype, well_conditioned(rng, dtype, batch, n) * (0.1 if unit else 1))
    b = program.normal(dtype, (*batch, *((n, m) if left else (m, n))))
    program.result(program.op("triangular_solve", [a, b], [(dtype, b.shape)], f"left_side = {str(left).lower()}, lower = {str(lower).lower()}, "
                              f"unit_diagonal = {str(unit).lower()}, transpose_a = #stablehlo<transpose {transpose}>"), scaled(dtype, 64 + 16 * n, 2))
    return program


def cholesky(rng):
    program, dtype = Program(rng), str(rng.choice(["f32", "f32", "f64", "complex<f32>", "complex<f64>"]))
    batch = tuple(int(n) for n in rng.integers(1, 4, int(rng.integers(0, 3))))
    n = int(rng.choice([0, 1, 2, 3, 5, 8, 17, 33]))
    lower = bool(rng.integers(0, 2))
    a = well_conditioned(rng, dtype, batch, n)
    a = program.argument(dtype, a @ np.conj(np.swapaxes(a, -1, -2)))
    x = program.op("cholesky", [a], [(dtype, a.shape)], f"lower = {str(lower).lower()}")
    # What lies in the other triangle is for each side to say.
    row = program.op("iota", [], [("i32", a.shape)], f"iota_dimension = {len(batch)} : i64")
    column = program.op("iota", [], [("i32", a.shape)], f"iota_dimension = {len(batch) + 1} : i64")
    kept = program.op("compare", [row, column], [("i1", a.shape)], f"comparison_direction = #stablehlo<comparison_direction {'GE' if lower else 'LE'}>")
    zero = program.op("broadcast_in_dim", [program.constant(dtype, 0)], [(dtype, a.shape)], f"broadcast_dimensions = {array([])}")
    program.result(program.op("select", [kept, x, zero], [(dtype, a.shape)]), scaled(dtype, 64 + 8 * n, np.sqrt(n + 1) * 4))
    return program


def not_positive(rng):
    program, dtype = Program(rng), str(rng.choice(["f32", "f64", "complex<f32>"]))
    a = np.stack([-np.eye(4), np.eye(4), np.diag([1, 1, -2, 1.0])])
    x = program.op("cholesky", [program.argument(dtype, a)], [(dtype, a.shape)], "lower = true")
    nan = program.op("compare", [x, x], [("i1", a.shape)], "comparison_direction = #stablehlo<comparison_direction NE>")
    zero = program.constant("i1", 0)
    region = p.combiner(["i1"], ["or"])
    program.result(program.op("reduce", [nan, zero], [("i1", (3,))], f"dimensions = {array([1, 2])}", region))
    return program


def batch_norm(kind):
    def make(rng):
        program, dtype = Program(rng), str(rng.choice(["f32", "f32", "f64", "bf16", "f16"]))
        shape = random_shape(rng, 5, 400, least=1) or (6,)
        feature = int(rng.integers(0, len(shape)))
        features = (shape[feature],)
        attributes = f"epsilon = 1.250000e-01 : f32, feature_index = {feature} : i64"
        x = program.normal(dtype, shape)

        def vector(positive=False):
            values = p.normal_values(rng, dtype, features)
            return program.argument(dtype, np.abs(values) + 0.5 if positive else values)

        count = np.prod(shape) / shape[feature]
        tolerance = scaled(dtype, 16 if dtype in ("f32", "f64") else 8, 4 if kind != "grad" else 4 + count)
        if kind == "training":
            results = program.op("batch_norm_training", [x, vector(), vector()], [(dtype, shape), (dtype, features), (dtype, features)], attributes)
        elif kind == "inference":
            results = program.op("batch_norm_inference", [x, vector(), vector(), vector(), vector(True)], [(dtype, shape)], attributes)
        else:
            operands = [x, vector(), vector(), vector(True), program.normal(dtype, shape)]
            results = program.op("batch_norm_grad", operands, [(dtype, shape), (dtype, features), (dtype, features)], attributes)
        program.result(results, tolerance)
        return program

    return make


def cases():
    for kind in ("FFT", "IFFT", "RFFT", "IRFFT"):
        yield from (("fft", f"{kind} {i}", fft(kind)) for i in range(12))
    yield from (("triangular_solve", f"triangular_solve {i}", triangular_solve) for i in range(30))
    yield from (("cholesky", f"cholesky {i}", cholesky) for i in range(16))
    yield from (("cholesky", f"not_positive {i}", not_positive) for i in range(2))
    for kind in ("training", "inference", "grad"):
        yield from (("batch_norm", f"batch_norm_{kind} {i}", batch_norm(kind)) for i in range(8))
