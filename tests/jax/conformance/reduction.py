"""reduce, reduce_window, select_and_scatter and map with any window, any body and several operands."""

import numpy as np

from conformance import program as p
from conformance.indexed import SUMS
from conformance.program import EXACT, Program, Tolerance, array, combiner, dense, random_shape, region



def identity(program, op, dtype):
    """What StableHLO wants an initial value to be; XLA:CPU drops it where one element is reduced."""
    numbers = {"add": 0, "multiply": 1, "or": 0, "xor": 0, "and": -1 if dtype in p.SIGNED else 1 if dtype == "i1" else None}
    number = numbers.get(op)
    if number is None:
        low, high = p.bounds(dtype)
        number = high if op in ("minimum", "and") else low
        if dtype in p.FLOATS and np.isinf(np.float32(np.inf).astype(p.TYPES[dtype])):
            number = np.inf if op == "minimum" else -np.inf
    return program.argument(dtype, number)


def combiner_of(rng, dtype):
    if dtype == "i1":
        return str(rng.choice(["and", "or", "xor"]))
    if dtype in p.COMPLEX:
        return str(rng.choice(["add", "multiply"]))
    if dtype in p.TINY_FLOATS:
        return str(rng.choice(["minimum", "maximum"]))
    return str(rng.choice(["add", "add", "multiply", "minimum", "maximum"] + (["and", "or", "xor"] if dtype in p.INTEGERS else [])))


def operand(program, dtype, op, shape):
    if op == "multiply":  # of 1 and -1: exact in any order
        low = 1 if dtype in p.UNSIGNED else -1
        values = np.where(program.rng.random(shape) < 0.5, 1, low)
        return program.argument(dtype, values)
    if op in ("minimum", "maximum", "and", "or", "xor"):
        return program.any(dtype, shape)
    return program.small(dtype, shape, -2, 2)


def reduce_(rng):
    program = Program(rng)
    count = 1 if rng.random() < 0.7 else int(rng.integers(2, 4))
    dtypes = [str(rng.choice(SUMS + p.TINY_FLOATS)) for _ in range(count)]
    ops = [combiner_of(rng, dtype) for dtype in dtypes]
    shape = random_shape(rng, 5, 900)
    dims = sorted(int(d) for d in rng.permutation(len(shape))[: rng.integers(0, len(shape) + 1)])
    operands = [operand(program, dtype, op, shape) for dtype, op in zip(dtypes, ops)]
    inits = [identity(program, op, dtype) for dtype, op in zip(dtypes, ops)]
    result = tuple(size for d, size in enumerate(shape) if d not in dims)
    program.result(program.op("reduce", operands + inits, [(dtype, result) for dtype in dtypes], f"dimensions = {array(dims)}",
                              combiner(dtypes, ops)))
    return program


def arg_reduce(rng):
    """The body of argmax and argmin: two operands that depend on each other, in any key type."""
    program, dtype = Program(rng), str(rng.choice([t for t in p.REAL]))
    index = str(rng.choice(["i32", "i64", "ui32", "i16"]))
    shape = random_shape(rng, 3, 500, least=1) or (9,)
    dim = int(rng.integers(0, len(shape)))
    x = program.small(dtype, shape) if rng.random() < 0.5 else program.any(dtype, shape)
    i = program.op("iota", [], [(index, shape)], f"iota_dimension = {dim} : i64")
    init = program.argument(dtype, p.bounds(dtype)[0])
    k, n = f"tensor<{dtype}>", f"tensor<{index}>"
    compare = '{comparison_direction = #stablehlo<comparison_direction %s>}'
    body = [f'%g = "stablehlo.compare"(%a, %c) {compare % "GT"} : ({k}, {k}) -> tensor<i1>',
            f'%n = "stablehlo.compare"(%a, %a) {compare % "NE"} : ({k}, {k}) -> tensor<i1>',
            '%o = "stablehlo.or"(%g, %n) : (tensor<i1>, tensor<i1>) -> tensor<i1>',
            f'%e = "stablehlo.compare"(%a, %c) {compare % "EQ"} : ({k}, {k}) -> tensor<i1>',
            f'%l = "stablehlo.compare"(%b, %d) {compare % "LT"} : ({n}, {n}) -> tensor<i1>',
            '%t = "stablehlo.and"(%e, %l) : (tensor<i1>, tensor<i1>) -> tensor<i1>',
            '%w = "stablehlo.or"(%o, %t) : (tensor<i1>, tensor<i1>) -> tensor<i1>',
            f'%r = "stablehlo.select"(%o, %a, %c) : (tensor<i1>, {k}, {k}) -> {k}',
            f'%s = "stablehlo.select"(%w, %b, %d) : (tensor<i1>, {n}, {n}) -> {n}']
    result = tuple(size for d, size in enumerate(shape) if d != dim)
    program.result(program.op("reduce", [x, i, init, program.constant(index, 0)], [(dtype, result), (index, result)], f"dimensions = {array([dim])}",
                              region([("%a", k), ("%b", n), ("%c", k), ("%d", n)], body, [("%r", k), ("%s", n)])))
    return program


def window(rng, shape):
    sizes, strides, base, dilation, padding, result = [], [], [], [], [], []
    for extent in shape:
        sizes.append(int(rng.integers(1, 5)) if rng.random() < 0.7 else 1)
        strides.append(int(rng.integers(1, 4)) if rng.random() < 0.5 else 1)
        base.append(int(rng.integers(1, 4)) if rng.random() < 0.25 else 1)
        dilation.append(int(rng.integers(1, 4)) if rng.random() < 0.25 else 1)
        full = (extent - 1) * base[-1] + 1 if extent else 0
        low, high = (int(rng.integers(-1, 5)) if rng.random() < 0.6 else 0 for _ in range(2))
        if full + low + high < 0:
            low = high = 0
        padding.append([low, high])
        total, reach = full + low + high, (sizes[-1] - 1) * dilation[-1] + 1
        result.append((total - reach) // strides[-1] + 1 if total >= reach and total > 0 else 0)
    return sizes, strides, base, dilation, padding, tuple(result)


def reduce_window(rng):
    program = Program(rng)
    count = 1 if rng.random() < 0.75 else 2
    dtypes = [str(rng.choice(SUMS + p.TINY_FLOATS)) for _ in range(count)]
    ops = [combiner_of(rng, dtype) for dtype in dtypes]
    shape = random_shape(rng, 4, 300)
    sizes, strides, base, dilation, padding, result = window(rng, shape)
    operands = [operand(program, dtype, op, shape) for dtype, op in zip(dtypes, ops)]
    inits = [identity(program, op, dtype) for dtype, op in zip(dtypes, ops)]
    program.result(program.op(
        "reduce_window", operands + inits, [(dtype, result) for dtype in dtypes],
        f"window_dimensions = {array(sizes)}, window_strides = {array(strides)}, base_dilations = {array(base)}, "
        f"window_dilations = {array(dilation)}, padding = {dense(np.array(padding).reshape(len(shape), 2))}", combiner(dtypes, ops)))
    return program


def unusual_body(rng):
    """A body that is no plain combiner: max of magnitudes; x + 2y over one element a window, which shows the order."""
    program, dtype = Program(rng), str(rng.choice(["f32", "i32", "f64", "i8", "bf16"]))
    kind = f"tensor<{dtype}>"
    shape = random_shape(rng, 2, 200, least=1) or (5,)
    x = program.small(dtype, shape)
    body = [f'%a = "stablehlo.abs"(%x) : ({kind}) -> {kind}', f'%b = "stablehlo.abs"(%y) : ({kind}) -> {kind}',
            f'%r = "stablehlo.maximum"(%a, %b) : ({kind}, {kind}) -> {kind}']
    magnitude = region([("%x", kind), ("%y", kind)], body, [("%r", kind)])
    zero = program.constant(dtype, 0)
    dims = [int(rng.integers(0, len(shape)))]
    result = tuple(size for d, size in enumerate(shape) if d not in dims)
    program.result(program.op("reduce", [x, zero], [(dtype, result)], f"dimensions = {array(dims)}", magnitude))
    sizes, strides, base, dilation, padding, result = window(rng, shape)
    program.result(program.op(
        "reduce_window", [x, zero], [(dtype, result)], f"window_dimensions = {array(sizes)}, window_strides = {array(strides)}, "
        f"base_dilations = {array(base)}, window_dilations = {array(dilation)}, padding = {dense(np.array(padding).reshape(len(shape), 2))}", magnitude))
    return program


def select_and_scatter(rng):
    program, dtype = Program(rng), str(rng.choice(["f32", "f32", "f64", "bf16", "f16", "i32", "i8", "ui8", "i64"]))
    shape = random_shape(rng, 4, 200, least=1) or (6,)
    sizes = [int(rng.integers(1, 4)) for _ in shape]
    strides = [int(rng.integers(1, 4)) for _ in shape]
    padding = [[int(rng.integers(0, sizes[d])), int(rng.integers(0, sizes[d]))] for d in range(len(shape))]
    source = []
    for d, size in enumerate(shape):
        total = size + sum(padding[d])
        if total < sizes[d]:
            padding[d][1] += sizes[d] - total
            total = sizes[d]
        source.append((total - sizes[d]) // strides[d] + 1)
    # No two alike: which of equal elements XLA:CPU selects depends on its loops.
    count = int(np.prod(shape))
    x = program.argument(dtype, rng.permutation(count).reshape(shape) - (0 if dtype == "ui8" else count // 2))
    updates = program.small(dtype, tuple(source))
    kind = f"tensor<{dtype}>"
    direction = str(rng.choice(["GE", "LE", "GT", "LT"]))
    select = region([("%x", kind), ("%y", kind)], [f'%r = "stablehlo.compare"(%x, %y) {{comparison_direction = #stablehlo<comparison_direction '
                                                   f'{direction}>}} : ({kind}, {kind}) -> tensor<i1>'], [("%r", "tensor<i1>")])
    scatter = combiner([dtype], [str(rng.choice(["add", "maximum", "minimum"]))])
    init = program.constant(dtype, 0)
    program.result(program.op("select_and_scatter", [x, updates, init], [(dtype, shape)], f"window_dimensions = {array(sizes)}, "
                              f"window_strides = {array(strides)}, padding = {dense(padding)}", f"{select}, {scatter}"))
    return program


def map_(rng):
    program, dtype = Program(rng), str(rng.choice(p.ALL))
    shape = random_shape(rng, 4, 300)
    count = int(rng.integers(1, 4))
    operands = [program.any(dtype, shape) for _ in range(count)]
    kind = f"tensor<{dtype}>"
    body = [f'%m = "stablehlo.maximum"(%a0, %a{count - 1}) : ({kind}, {kind}) -> {kind}' if dtype not in p.COMPLEX
            else f'%m = "stablehlo.add"(%a0, %a{count - 1}) : ({kind}, {kind}) -> {kind}',
            f'%c = "stablehlo.compare"(%m, %a0) {{comparison_direction = #stablehlo<comparison_direction EQ>}} : ({kind}, {kind}) -> tensor<i1>']
    program.result(program.op("map", operands, [("i1", shape)], f"dimensions = {array(range(len(shape)))}",
                              region([(f"%a{i}", kind) for i in range(count)], body, [("%c", "tensor<i1>")])))
    return program


def cumulative(rng):
    """A window as long as the dimension: what cumsum and its relatives are on other targets."""
    program, dtype = Program(rng), str(rng.choice(["f32", "i32", "f64", "i8", "ui16", "complex<f32>"]))
    shape = (int(rng.integers(1, 6)), int(rng.integers(1, 70)))
    x = program.small(dtype, shape, -1, 1)
    padding = [[0, 0], [shape[1] - 1, 0] if rng.random() < 0.5 else [0, shape[1] - 1]]
    program.result(program.op("reduce_window", [x, program.constant(dtype, 0)], [(dtype, shape)],
                              f"window_dimensions = {array([1, shape[1]])}, padding = {dense(padding)}", combiner([dtype], ["add"])))
    return program


MAKERS = {reduce_: 40, arg_reduce: 15, reduce_window: 40, unusual_body: 8, select_and_scatter: 20, map_: 8, cumulative: 6}


def cases():
    for maker, count in MAKERS.items():
        yield from (("reduction", f"{maker.__name__} {i}", maker) for i in range(count))
