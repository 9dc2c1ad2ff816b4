"""Control flow, structure, randomness and communication among one device."""

import numpy as np

from conformance import program as p
from conformance.program import BITS, EXACT, Program, array, combiner, dense, random_shape, region


def branch(value_of, dtype, shape, program):
    """A branch without arguments that captures a value and computes with it."""
    kind = p.type_text(dtype, shape)
    return region([], [f'%r = "stablehlo.{value_of}"({program.name}, {program.name}) : ({kind}, {kind}) -> {kind}'], [("%r", kind)])


def case(rng):
    program, dtype = Program(rng), str(rng.choice(["f32", "i32", "i8", "complex<f32>", "f64", "bf16", "ui4", "f8E4M3FN"]))
    shape = random_shape(rng, 3, 100)
    x = program.small(dtype, shape, -2, 2)
    index = program.argument("i32", int(rng.choice([-(2**31), -1, 0, 1, 2, 3, 4, 2**31 - 1])))
    names = ["add", "multiply", "subtract", "maximum" if dtype not in p.COMPLEX else "add"][: int(rng.integers(1, 5))]
    program.result(program.op("case", [index], [(dtype, shape)], "", ", ".join(branch(name, dtype, shape, x) for name in names)))
    return program


def if_(rng):
    program, dtype = Program(rng), str(rng.choice(p.COMMON))
    shape = random_shape(rng, 3, 100)
    x = program.small(dtype, shape, -2, 2)
    pred = program.any("i1", ())
    name = "subtract" if dtype != "i1" else "and"
    program.result(program.op("if", [pred], [(dtype, shape)], "", branch("add", dtype, shape, x) + ", " + branch(name, dtype, shape, x)))
    return program


def while_(rng):
    """Up to 40 values of different types as the state, some never changed; at times none but the counter."""
    program = Program(rng)
    count = int(rng.choice([0, 1, 3, 12, 40]))
    dtypes = [str(rng.choice(p.COMMON + ["i4", "ui2", "f8E5M2", "complex<f64>"])) for _ in range(count)]
    values = [program.small(dtype, random_shape(rng, 2, 20), 0, 1) for dtype in dtypes]
    trips = program.argument("i32", int(rng.integers(0, 5)))
    counter = program.constant("i32", 0)
    kinds = ["tensor<i32>", "tensor<i32>", *(value.type for value in values)]
    parameters = [(f"%s{i}", kind) for i, kind in enumerate(kinds)]
    condition = region(parameters, ['%c = "stablehlo.compare"(%s0, %s1) {comparison_direction = #stablehlo<comparison_direction LT>} : '
                                    "(tensor<i32>, tensor<i32>) -> tensor<i1>"], [("%c", "tensor<i1>")])
    lines = ['%one = "stablehlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>',
             '%n = "stablehlo.add"(%s0, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>']
    results = [("%n", "tensor<i32>"), ("%s1", "tensor<i32>")]
    for i, value in enumerate(values):
        if rng.random() < 0.3:
            results.append((f"%s{i + 2}", value.type))
            continue
        # Values of one type may also change places.
        twins = [j for j, other in enumerate(values) if other.type == value.type]
        other = int(rng.choice(twins))
        lines.append(f'%w{i} = "stablehlo.{"add" if dtypes[i] != "i1" else "xor"}"(%s{i + 2}, %s{other + 2}) : ({value.type}, {value.type}) -> {value.type}')
        results.append((f"%w{i}", value.type))
    body = region(parameters, lines, results)
    outputs = program.op("while", [counter, trips, *values], [("i32", ()), ("i32", ()), *((v.dtype, v.shape) for v in values)], "", f"{condition}, {body}")
    program.result(outputs)
    return program


def optimization_barrier(rng):
    program = Program(rng)
    values = [program.any(str(rng.choice(p.ALL)), random_shape(rng, 2, 40)) for _ in range(int(rng.integers(1, 5)))]
    program.result(program.op("optimization_barrier", values, [(v.dtype, v.shape) for v in values]), BITS)
    return program


def call_and_composite(rng):
    program, dtype = Program(rng), str(rng.choice(p.COMMON))
    shape = random_shape(rng, 2, 50)
    x = program.small(dtype, shape, -2, 2)
    kind = x.type
    program.functions.append(f'func.func private @inner(%a: {kind}) -> {kind} {{ %r = "stablehlo.add"(%a, %a) : ({kind}, {kind}) -> {kind} return %r : {kind} }}')
    called = program.op("func.call", [x], [(dtype, shape)], "callee = @inner")
    program.result(program.op("composite", [called], [(dtype, shape)], 'name = "unknown.op", decomposition = @inner, composite_attributes = {n = 3 : i64}, version = 2 : i32'))
    return program


def dimension_size(rng):
    program, dtype = Program(rng), str(rng.choice(p.ALL))
    shape = random_shape(rng, 3, 100) or (4,)
    x = program.any(dtype, shape)
    program.result(program.op("get_dimension_size", [x], [("i32", ())], f"dimension = {int(rng.integers(0, len(shape)))} : i64"))
    return program


GROUPS = "replica_groups = dense<0> : tensor<1x1xi64>"
CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"


def collective(name):
    def make(rng):
        program, dtype = Program(rng), str(rng.choice(["f32", "i32", "bf16", "i8", "ui64", "complex<f32>", "i1", "f64"]))
        shape = random_shape(rng, 3, 60, least=1) or (4,)
        x = program.any(dtype, shape)
        dim = int(rng.integers(0, len(shape)))
        add = combiner([dtype], ["add" if dtype != "i1" else "or"])
        attributes, regions = {
            "all_reduce": (GROUPS, add),
            "all_gather": (f"all_gather_dim = {dim} : i64, {GROUPS}", ""),
            "all_to_all": (f"split_dimension = {dim} : i64, concat_dimension = 0 : i64, split_count = 1 : i64, {GROUPS}", ""),
            "reduce_scatter": (f"scatter_dimension = {dim} : i64, {GROUPS}", add),
            "collective_permute": ("source_target_pairs = dense<0> : tensor<1x2xi64>" if rng.random() < 0.5 else
                                   "source_target_pairs = dense<> : tensor<0x2xi64>", ""),
            "collective_broadcast": (GROUPS, ""),
        }[name]
        program.result(program.op(name, [x], [(dtype, shape)], attributes + (f", {CHANNEL}" if rng.random() < 0.5 else ""), regions), BITS)
        return program

    return make


def ids_and_tokens(rng):
    program = Program(rng)
    program.result(program.op("partition_id", [], [("ui32", ())]))
    program.result(program.op("replica_id", [], [("ui32", ())]))
    program.lines.append('%t0 = "stablehlo.create_token"() : () -> !stablehlo.token')
    program.lines.append('%t1 = "stablehlo.after_all"(%t0, %t0) : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token')
    return program


def tuples(rng):
    program = Program(rng)
    x, y = program.any("f32", (3,)), program.any("i4", (2, 2))
    inner = f"tuple<{x.type}, {y.type}>"
    program.lines.append(f'%t0 = "stablehlo.tuple"({x.name}, {y.name}) : ({x.type}, {y.type}) -> {inner}')
    program.lines.append(f'%t1 = "stablehlo.tuple"(%t0, {x.name}) : ({inner}, {x.type}) -> tuple<{inner}, {x.type}>')
    program.lines.append(f'%t2 = "stablehlo.get_tuple_element"(%t1) {{index = 0 : i32}} : (tuple<{inner}, {x.type}>) -> {inner}')
    program.lines.append(f'%e = "stablehlo.get_tuple_element"(%t2) {{index = 1 : i32}} : ({inner}) -> {y.type}')
    program.result(p.Value("%e", "i4", (2, 2)))
    return program


def rng_bit_generator(algorithm, dtype):
    def make(rng):
        program = Program(rng)
        words = {"PHILOX": [2, 3], "THREE_FRY": [2], "DEFAULT": [2, 3]}[algorithm]
        size = int(rng.choice(words))
        state = program.argument("ui64", rng.integers(0, 2**63, size, dtype=np.uint64) * 2 + 1)
        if rng.random() < 0.3:  # a counter about to carry
            values = program.arguments[-1][1]
            values[1:] = np.uint64(2**64 - 2)
        for shape in [random_shape(rng, 3, 300), (int(rng.integers(1, 300)),)]:
            results = program.op("rng_bit_generator", [state], [("ui64", (size,)), (dtype, shape)],
                                 f"rng_algorithm = #stablehlo<rng_algorithm {algorithm}>")
            program.result(results, BITS)
        return program

    return make


def cases():
    for maker, count in {case: 16, if_: 6, while_: 14, optimization_barrier: 3, call_and_composite: 3, dimension_size: 2, ids_and_tokens: 1, tuples: 1}.items():
        yield from (("control", f"{maker.__name__} {i}", maker) for i in range(count))
    for name in ("all_reduce", "all_gather", "all_to_all", "reduce_scatter", "collective_permute", "collective_broadcast"):
        yield from (("collectives", f"{name} {i}", collective(name)) for i in range(3))
    for algorithm in ("PHILOX", "THREE_FRY", "DEFAULT"):
        for dtype in ("ui8", "ui16", "ui32", "ui64", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"):
            yield "rng_bit_generator", f"{algorithm} {dtype}", rng_bit_generator(algorithm, dtype)
