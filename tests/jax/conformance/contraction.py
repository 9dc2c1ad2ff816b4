"""dot_general, dot and convolution in every form, over exact numbers."""

import numpy as np

from conformance import program as p
from conformance.program import EXACT, Program, Tolerance, array, booleans, dense
from conformance.indexed import numbers

TYPES = ["f32", "f32", "f64", "bf16", "f16", "i32", "i8", "ui8", "i64", "i16", "ui16", "ui32", "ui64", "complex<f32>", "complex<f64>", "i4", "ui4",
         "i2", "ui2", "i1", "f8E4M3FN", "f8E5M2", "f8E4M3B11FNUZ", "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3", "f8E3M4", "f4E2M1FN"]
PREFERRED = {"bf16": ["bf16", "f32"], "f16": ["f16", "f32"], "i8": ["i8", "i32"], "ui8": ["ui8", "i32", "ui32"], "i4": ["i4", "i32", "i8"],
             "i16": ["i16", "i32"], "f32": ["f32", "f64"], "ui4": ["ui4", "ui32"]}


def result_type(rng, dtype):
    if dtype in p.TINY_FLOATS:
        return str(rng.choice(["f32", "bf16"]))
    return str(rng.choice(PREFERRED.get(dtype, [dtype])))


def operand(program, dtype, shape, low=-2, high=2):
    return program.small(dtype, shape, low, high)


def size(rng, most=6):
    return 0 if rng.random() < 0.03 else int(rng.integers(1, most + 1))


def dot_general(rng):
    program, dtype = Program(rng), str(rng.choice(TYPES))
    batch = [size(rng, 4) for _ in range(int(rng.choice([0, 0, 1, 1, 2, 3])))]
    contracted = [size(rng, 7) for _ in range(int(rng.choice([0, 1, 1, 1, 2, 3])))]
    free = [[size(rng, 17 if not batch else 5) for _ in range(int(rng.choice([0, 1, 1, 2])))] for _ in range(2)]
    shapes, batch_at, contracted_at = [], [], []
    for side in range(2):
        kinds = [("b", i) for i in range(len(batch))] + [("c", i) for i in range(len(contracted))] + [("f", i) for i in range(len(free[side]))]
        order = list(rng.permutation(len(kinds)))
        # Free dimensions stand in the result in the order that they have in the operand.
        free[side] = list(free[side])
        placed = [kinds[i] for i in order]
        ordered = [i for kind, i in placed if kind == "f"]
        free[side] = [free[side][i] for i in ordered]
        sizes, f = [], iter(free[side])
        for kind, i in placed:
            sizes.append({"b": batch, "c": contracted}[kind][i] if kind != "f" else next(f))
        shapes.append(tuple(sizes))
        batch_at.append([placed.index(("b", i)) for i in range(len(batch))])
        contracted_at.append([placed.index(("c", i)) for i in range(len(contracted))])
    other = dtype
    x, y = operand(program, dtype, shapes[0]), operand(program, other, shapes[1])
    result = result_type(rng, dtype)
    precision = str(rng.choice(["DEFAULT", "HIGH", "HIGHEST"]))
    program.result(program.op(
        "dot_general", [x, y], [(result, (*batch, *free[0], *free[1]))],
        f"dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = {numbers(batch_at[0])}, rhs_batching_dimensions = {numbers(batch_at[1])}, "
        f"lhs_contracting_dimensions = {numbers(contracted_at[0])}, rhs_contracting_dimensions = {numbers(contracted_at[1])}>, "
        f"precision_config = [#stablehlo<precision {precision}>, #stablehlo<precision {precision}>]"), exact(result, contracted))
    return program


def exact(dtype, sizes):
    """Sums of small integers are exact but in the narrowest types, where each side rounds its own partial sums."""
    return Tolerance(ulps=1) if dtype in p.TINY_FLOATS else EXACT


ALGORITHMS = [
    # operands, accumulation, lhs and rhs components, primitive operations, imprecise
    ("f32", "f32", "f32", 1, 1), ("f32", "bf16", "f32", 1, 1), ("f32", "bf16", "f32", 1, 3), ("f32", "bf16", "f32", 1, 6), ("f32", "bf16", "f32", 1, 9), ("f32", "tf32", "f32", 1, 1), ("f32", "tf32", "f32", 1, 3), ("f16", "f16", "f16", 1, 1), ("f16", "f16", "f32", 1, 1),
    ("bf16", "bf16", "bf16", 1, 1), ("bf16", "bf16", "f32", 1, 1), ("f64", "f64", "f64", 1, 1),
]


def dot_algorithm(index):
    def make(rng):
        program = Program(rng)
        dtype, precision, accumulation, _, operations = ALGORITHMS[index]
        components = 1
        x, y = operand(program, dtype, (5, 8)), operand(program, dtype, (8, 9))
        program.result(program.op(
            "dot_general", [x, y], [(accumulation, (5, 9))],
            "dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, "
            f"algorithm = #stablehlo.dot_algorithm<lhs_precision_type = {precision}, rhs_precision_type = {precision}, "
            f"accumulation_type = {accumulation}, lhs_component_count = {components}, rhs_component_count = {components}, "
            f"num_primitive_operations = {operations}, allow_imprecise_accumulation = false>"))
        return program

    return make


def dot(rng):
    program, dtype = Program(rng), str(rng.choice(TYPES))
    k = size(rng, 9)
    left, right = (() if rng.random() < 0.3 else (size(rng, 17),) for _ in range(2))
    x, y = operand(program, dtype, (*left, k)), operand(program, dtype, (k, *right))
    result = result_type(rng, dtype)
    program.result(program.op("dot", [x, y], [(result, left + right)]), exact(result, [k]))
    return program


def convolution(rank):
    def make(rng):
        program = Program(rng)
        dtype = str(rng.choice([t for t in TYPES if t not in ("i1",)]))
        feature_groups = int(rng.choice([1, 1, 1, 2, 3]))
        batch_groups = int(rng.choice([1, 1, 2])) if feature_groups == 1 else 1
        batch = size(rng, 3) * batch_groups
        inputs = size(rng, 3)  # per group
        outputs = int(rng.integers(1, 4)) * feature_groups * batch_groups
        spatial = [size(rng, {1: 12, 2: 7}.get(rank, 4)) for _ in range(rank)]
        window = [int(rng.integers(1, {1: 6, 2: 4}.get(rank, 3) + 1)) for _ in range(rank)]
        strides = [int(rng.integers(1, 4)) if rng.random() < 0.4 else 1 for _ in range(rank)]
        base = [int(rng.integers(1, 4)) if rng.random() < 0.3 else 1 for _ in range(rank)]
        dilation = [int(rng.integers(1, 4)) if rng.random() < 0.3 else 1 for _ in range(rank)]
        reversal = [bool(rng.random() < 0.3) for _ in range(rank)]
        padding, out = [], []
        for d in range(rank):
            full = max((spatial[d] - 1) * base[d] + 1, 0) if spatial[d] else 0
            reach = (window[d] - 1) * dilation[d] + 1
            low, high = int(rng.integers(-1, 6)), int(rng.integers(-1, 6))
            if full + low + high < 0:
                low, high = 0, 0
            padding.append([low, high])
            total = full + low + high
            out.append((total - reach) // strides[d] + 1 if total >= reach and total > 0 else 0)
        orders = [list(rng.permutation(rank + 2)) for _ in range(3)]

        def arrange(order, first, second, rest):
            shape = [0] * (rank + 2)
            for position, value in zip(order, [first, second, *rest]):
                shape[position] = value
            return tuple(shape)

        def layout(order, names):
            text = [""] * (rank + 2)
            for position, name in zip(order, [*names, *map(str, range(rank))]):
                text[position] = name
            return "[" + ", ".join(text) + "]"

        x = operand(program, dtype, arrange(orders[0], batch, inputs * feature_groups, spatial))
        y = operand(program, dtype, arrange(orders[1], inputs, outputs, window))
        result = result_type(rng, dtype)
        terms = inputs * int(np.prod(window))
        program.result(program.op(
            "convolution", [x, y], [(result, arrange(orders[2], batch // batch_groups, outputs, out))],
            f"dimension_numbers = #stablehlo.conv<{layout(orders[0], 'bf')}x{layout(orders[1], 'io')}->{layout(orders[2], 'bf')}>, "
            f"window_strides = {array(strides)}, padding = {dense(np.array(padding).reshape(rank, 2))}, lhs_dilation = {array(base)}, "
            f"rhs_dilation = {array(dilation)}, window_reversal = {booleans(reversal)}, feature_group_count = {feature_groups} : i64, "
            f"batch_group_count = {batch_groups} : i64"), exact(result, [terms]))
        return program

    return make


def cases():
    yield from (("dot_general", f"dot_general {i}", dot_general) for i in range(60))
    yield from (("dot", f"dot {i}", dot) for i in range(12))
    yield from (("dot algorithm", f"dot_algorithm {i}", dot_algorithm(i)) for i in range(len(ALGORITHMS)))
    for rank, count in {0: 4, 1: 25, 2: 40, 3: 15, 4: 6}.items():
        yield from (("convolution", f"convolution {rank}d {i}", convolution(rank)) for i in range(count))
