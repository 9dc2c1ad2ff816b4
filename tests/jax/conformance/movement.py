"""Ops that move data by indices known at compile time."""

import numpy as np

from conformance import program as p
from conformance.program import BITS, Program, array, random_shape


def any_type(rng):
    return str(rng.choice(p.ALL))


def broadcast_in_dim(rng):
    program, dtype = Program(rng), any_type(rng)
    result = random_shape(rng, 5)
    dims = rng.permutation(len(result))[: rng.integers(0, len(result) + 1)] if result else []
    operand = tuple(1 if rng.random() < 0.3 else result[d] for d in dims)
    x = program.any(dtype, operand)
    program.result(program.op("broadcast_in_dim", [x], [(dtype, result)], f"broadcast_dimensions = {array(dims)}"), BITS)
    return program


def broadcast(rng):
    program, dtype = Program(rng), any_type(rng)
    sizes, operand = random_shape(rng, 2, 20), random_shape(rng, 2, 20)
    x = program.any(dtype, operand)
    program.result(program.op("broadcast", [x], [(dtype, sizes + operand)], f"broadcast_sizes = {array(sizes)}"), BITS)
    return program


def transpose(rng):
    program, dtype = Program(rng), any_type(rng)
    shape = random_shape(rng, 8)
    order = rng.permutation(len(shape))
    x = program.any(dtype, shape)
    program.result(program.op("transpose", [x], [(dtype, tuple(shape[d] for d in order))], f"permutation = {array(order)}"), BITS)
    return program


def reshape(rng):
    program, dtype = Program(rng), any_type(rng)
    shape = random_shape(rng, 6)
    factors = []
    rest = int(np.prod(shape, dtype=np.int64))
    while rest > 1:
        factor = next(k for k in range(2, rest + 1) if rest % k == 0)
        factors.append(factor)
        rest //= factor
    target = [1] * int(rng.integers(0 if not factors and rest else 1, 6))
    for factor in factors:
        target[rng.integers(0, len(target))] *= factor
    if 0 in shape:
        target[0] = 0
    x = program.any(dtype, shape)
    program.result(program.op("reshape", [x], [(dtype, tuple(target))]), BITS)
    return program


def slice_(rng):
    program, dtype = Program(rng), any_type(rng)
    shape = random_shape(rng, 5)
    starts = [int(rng.integers(0, size + 1)) for size in shape]
    limits = [int(rng.integers(start, size + 1)) for start, size in zip(starts, shape)]
    strides = [int(rng.integers(1, 4)) for _ in shape]
    result = tuple(-((start - limit) // stride) for start, limit, stride in zip(starts, limits, strides))
    x = program.any(dtype, shape)
    program.result(program.op("slice", [x], [(dtype, result)], f"start_indices = {array(starts)}, "
                              f"limit_indices = {array(limits)}, strides = {array(strides)}"), BITS)
    return program


def pad(rng):
    program, dtype = Program(rng), any_type(rng)
    shape = random_shape(rng, 4, 200)
    interior = [int(rng.integers(0, 3)) if rng.random() < 0.5 else 0 for _ in shape]
    low, high, result = [], [], []
    for size, inner in zip(shape, interior):
        full = size + max(size - 1, 0) * inner
        low.append(int(rng.integers(-2, 4)))
        high.append(int(rng.integers(-2, 4)))
        if full + low[-1] + high[-1] < 0 or rng.random() < 0.1:
            low[-1], high[-1] = 0, int(rng.integers(0, 3))
        result.append(full + low[-1] + high[-1])
    x, padding = program.any(dtype, shape), program.any(dtype, ())
    program.result(program.op("pad", [x, padding], [(dtype, tuple(result))], f"edge_padding_low = {array(low)}, "
                              f"edge_padding_high = {array(high)}, interior_padding = {array(interior)}"), BITS)
    return program


def reverse(rng):
    program, dtype = Program(rng), any_type(rng)
    shape = random_shape(rng, 5)
    dims = rng.permutation(len(shape))[: rng.integers(0, len(shape) + 1)] if shape else []
    x = program.any(dtype, shape)
    program.result(program.op("reverse", [x], [(dtype, shape)], f"dimensions = {array(dims)}"), BITS)
    return program


def whole_bytes(rng):
    """XLA:CPU dies of concatenations of narrower types."""
    return str(rng.choice([t for t in p.ALL if t not in ("i2", "i4", "ui2", "ui4", "f4E2M1FN")]))


def concatenate(rng):
    program, dtype = Program(rng), whole_bytes(rng)
    shape = random_shape(rng, 4, 100) or (3,)
    dim = int(rng.integers(0, len(shape)))
    pieces = []
    for _ in range(int(rng.integers(1, 6))):
        piece = list(shape)
        piece[dim] = int(rng.integers(0, 5))
        pieces.append(program.any(dtype, tuple(piece)))
    result = list(shape)
    result[dim] = sum(piece.shape[dim] for piece in pieces)
    program.result(program.op("concatenate", pieces, [(dtype, tuple(result))], f"dimension = {dim} : i64"), BITS)
    return program


def iota(rng):
    program = Program(rng)
    for dtype in [t for t in p.ALL if t != "i1"]:
        shape = random_shape(rng, 3, 300) or (5,)
        shape = tuple(min(size, 2 if dtype.endswith("i2") else 7) for size in shape) if dtype in ("i2", "i4", "ui2", "ui4", *p.TINY_FLOATS) else shape
        # One value less than what XLA:CPU can count to in the type.
        dim = int(rng.integers(0, len(shape)))
        program.result(program.op("iota", [], [(dtype, shape)], f"iota_dimension = {dim} : i64"), BITS)
    return program


def constants(rng):
    """Of every type, dense and splat, as MLIR's hexadecimal text."""
    program = Program(rng)
    for dtype in p.ALL:
        shape = random_shape(rng, 3, 60)
        values = p.any_values(rng, dtype, shape).astype(p.TYPES[dtype])
        if rng.random() < 0.3 and values.size:
            values = np.broadcast_to(values.reshape(-1)[:1], (values.size,)).reshape(shape)
        program.result(program.op("constant", [], [(dtype, shape)], f"value = {constant(dtype, values)} : {p.type_text(dtype, shape)}"), BITS)
    return program


def constant(dtype, values):
    def bits(value):
        return f"0x{int.from_bytes(np.asarray(value).tobytes(), 'little'):0{value.dtype.itemsize * 2}X}"

    def text(value):
        if dtype == "i1":
            return str(bool(value)).lower()
        if dtype in p.COMPLEX:
            return f"({bits(value.real)}, {bits(value.imag)})"
        if dtype == "f4E2M1FN":
            return f"0x{int(np.asarray(value).view(np.uint8)):X}"
        return str(int(value)) if dtype in p.INTEGERS else bits(value)

    def nest(part):
        return text(part[()]) if part.ndim == 0 else "[" + ", ".join(nest(item) for item in part) + "]"

    return f"dense<{nest(values) if values.size else ''}>"


def fused_movement(rng):
    """Chains of data movement over every type: what fusion composes."""
    program, dtype = Program(rng), whole_bytes(rng)
    shape = random_shape(rng, 3, 200, least=1) or (4,)
    x = program.any(dtype, shape)
    for _ in range(int(rng.integers(2, 6))):
        kind = rng.integers(0, 5)
        rank = len(x.shape)
        if kind == 0:
            order = rng.permutation(rank)
            x = program.op("transpose", [x], [(dtype, tuple(x.shape[d] for d in order))], f"permutation = {array(order)}")
        elif kind == 1:
            x = program.op("reverse", [x], [(dtype, x.shape)], f"dimensions = {array([int(rng.integers(0, rank))])}")
        elif kind == 2 and np.prod(x.shape) < 300:
            dim = int(rng.integers(0, rank))
            result = tuple(size * (2 if d == dim else 1) for d, size in enumerate(x.shape))
            x = program.op("concatenate", [x, x], [(dtype, result)], f"dimension = {dim} : i64")
        elif kind == 3:
            strides = [int(rng.integers(1, 3)) for _ in x.shape]
            result = tuple(-(-size // stride) for size, stride in zip(x.shape, strides))
            x = program.op("slice", [x], [(dtype, result)], f"start_indices = {array([0] * rank)}, "
                           f"limit_indices = {array(x.shape)}, strides = {array(strides)}")
        else:
            x = program.op("reshape", [x], [(dtype, (int(np.prod(x.shape)),))])
    program.result(x, BITS)
    return program


MAKERS = [broadcast_in_dim, broadcast, transpose, reshape, slice_, pad, reverse, concatenate, iota, constants, fused_movement]


def cases():
    for maker in MAKERS:
        yield from (("movement", f"{maker.__name__} {i}", maker) for i in range(1 if maker in (iota, constants) else 8))
