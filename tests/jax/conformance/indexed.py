"""Ops whose indices are data: slices, gather, scatter, sort, top_k."""

import numpy as np

from conformance import program as p
from conformance.program import BITS, EXACT, Program, array, random_shape, region

INDEX_TYPES = ["i32", "i32", "i64", "ui8", "i8", "ui32", "ui64", "i16", "ui16"]


def index_values(rng, dtype, shape, limit):
    """Mostly in range, some beyond either end, some at the type's own ends."""
    low, high = p.bounds(dtype)
    values = rng.integers(max(int(low), -2), min(int(high), limit + 2) + 1, shape)
    if rng.random() < 0.4:
        return values.clip(0, max(limit, 0)).astype(p.TYPES[dtype])
    values = values.astype(p.TYPES[dtype])
    if rng.random() < 0.3:
        ends = np.array([low, high], dtype=p.TYPES[dtype])
        values = np.where(rng.random(shape) < 0.3, ends[rng.integers(0, 2, shape)], values)
    return values


def starts(program, rng, shape):
    dtype = str(rng.choice(INDEX_TYPES))
    return [program.argument(dtype, index_values(rng, dtype, (), size)) for size in shape]


def dynamic_slice(rng):
    program, dtype = Program(rng), str(rng.choice(p.ALL))
    shape = random_shape(rng, 4, 300)
    sizes = tuple(int(rng.integers(0 if rng.random() < 0.1 else min(1, size), size + 1)) for size in shape)
    x = program.any(dtype, shape)
    program.result(program.op("dynamic_slice", [x, *starts(program, rng, shape)], [(dtype, sizes)], f"slice_sizes = {array(sizes)}"), BITS)
    return program


def dynamic_update_slice(rng):
    program, dtype = Program(rng), str(rng.choice(p.ALL))
    shape = random_shape(rng, 4, 300)
    sizes = tuple(int(rng.integers(0 if rng.random() < 0.1 else min(1, size), size + 1)) for size in shape)
    x, update = program.any(dtype, shape), program.any(dtype, sizes)
    program.result(program.op("dynamic_update_slice", [x, update, *starts(program, rng, shape)], [(dtype, shape)]), BITS)
    return program


class Indexing:
    """Random dimension numbers that gather and scatter share."""

    def __init__(self, rng):
        rank = int(rng.integers(1, 5))
        self.operand = [int(rng.integers(1, {1: 40, 2: 9}.get(rank, 5))) for _ in range(rank)]
        self.collapsed, self.batching, self.mapped, self.window = [], [], [], []
        for d, size in enumerate(self.operand):
            kind = rng.integers(0, 6)
            if kind == 0:
                self.batching.append(d)
                self.window.append(1)
            elif kind <= 2:
                self.collapsed.append(d)
                self.window.append(1)
                if rng.random() < 0.9:
                    self.mapped.append(d)
            else:
                self.window.append(size if rng.random() < 0.5 else int(rng.integers(1, size + 1)))
                if rng.random() < 0.5:
                    self.mapped.append(d)
        rng.shuffle(self.mapped)
        batch = [(self.operand[d], d) for d in self.batching]
        batch += [(0 if rng.random() < 0.03 else int(rng.integers(1, 7)), None) for _ in range(int(rng.integers(0, 3)))]
        rng.shuffle(batch := [tuple(item) for item in batch])
        self.batch = [size for size, _ in batch]
        implicit = len(self.mapped) == 1 and rng.random() < 0.2
        self.vector_dim = len(batch) if implicit else int(rng.integers(0, len(batch) + 1))
        self.indices = list(self.batch)
        if not implicit:
            self.indices.insert(self.vector_dim, len(self.mapped))
        position = {d: i for i, (_, d) in enumerate(batch) if d is not None}
        self.indices_batching = [position[d] + (not implicit and position[d] >= self.vector_dim) for d in self.batching]
        offsets = [size for d, size in enumerate(self.window) if d not in self.collapsed + self.batching]
        count = len(offsets) + len(batch)
        self.offset_dims = sorted(int(i) for i in rng.permutation(count)[: len(offsets)])
        window, rest = iter(offsets), iter(self.batch)
        self.result = tuple(next(window) if i in self.offset_dims else next(rest) for i in range(count))

    def make_indices(self, program, rng):
        dtype = str(rng.choice(INDEX_TYPES))
        limit = max([self.operand[d] - self.window[d] for d in self.mapped], default=0)
        return program.argument(dtype, index_values(rng, dtype, tuple(self.indices), limit))


def numbers(values):
    return "[" + ", ".join(str(int(v)) for v in values) + "]"


def gather(rng):
    program, dtype = Program(rng), str(rng.choice(p.ALL))
    at = Indexing(rng)
    x, indices = program.any(dtype, tuple(at.operand)), at.make_indices(program, rng)
    program.result(program.op(
        "gather", [x, indices], [(dtype, at.result)],
        f"dimension_numbers = #stablehlo.gather<offset_dims = {numbers(at.offset_dims)}, collapsed_slice_dims = {numbers(at.collapsed)}, "
        f"operand_batching_dims = {numbers(at.batching)}, start_indices_batching_dims = {numbers(at.indices_batching)}, "
        f"start_index_map = {numbers(at.mapped)}, index_vector_dim = {at.vector_dim}>, slice_sizes = {array(at.window)}, "
        "indices_are_sorted = false"), BITS)
    return program


def update_body(rng, dtypes):
    """Any combiner whose result does not hang on the order of the updates, in exact numbers."""
    kinds = [f"tensor<{dtype}>" for dtype in dtypes]
    parameters = [(f"%x{i}", k) for i, k in enumerate(kinds)] + [(f"%y{i}", k) for i, k in enumerate(kinds)]
    body, results = [], []
    for i, (dtype, kind) in enumerate(zip(dtypes, kinds)):
        if dtype == "i1":
            op = str(rng.choice(["and", "or", "xor"]))
        elif dtype in p.COMPLEX:
            op = "add"
        else:
            op = str(rng.choice(["add", "minimum", "maximum"] + (["xor", "or", "multiply"] if dtype in p.INTEGERS else [])))
        body.append(f'%r{i} = "stablehlo.{op}"(%x{i}, %y{i}) : ({kind}, {kind}) -> {kind}')
        results.append((f"%r{i}", kind))
    return region(parameters, body, results)


SUMS = ["f32", "f32", "f64", "bf16", "f16", "i32", "i8", "ui8", "i64", "ui32", "i16", "ui16", "ui64", "complex<f32>", "complex<f64>", "i1", "i4", "ui4", "i2"]


def scatter(rng):
    program = Program(rng)
    count = 1 if rng.random() < 0.7 else int(rng.integers(2, 4))
    dtypes = [str(rng.choice(SUMS)) for _ in range(count)]
    at = Indexing(rng)
    while not at.mapped:  # where XLA:CPU loses updates
        at = Indexing(rng)
    operands = [program.small(dtype, tuple(at.operand), -2, 2) for dtype in dtypes]
    indices = at.make_indices(program, rng)
    updates = [program.small(dtype, at.result, -2, 2) for dtype in dtypes]
    results = program.op(
        "scatter", [*operands, indices, *updates], [(dtype, tuple(at.operand)) for dtype in dtypes],
        f"scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = {numbers(at.offset_dims)}, "
        f"inserted_window_dims = {numbers(at.collapsed)}, input_batching_dims = {numbers(at.batching)}, "
        f"scatter_indices_batching_dims = {numbers(at.indices_batching)}, scatter_dims_to_operand_dims = {numbers(at.mapped)}, "
        f"index_vector_dim = {at.vector_dim}>, indices_are_sorted = false, unique_indices = false", update_body(rng, dtypes))
    program.result(results)
    return program


def scatter_last(rng):
    """Bodies that keep the update or the operand, with unique indices where that decides the result."""
    program, dtype = Program(rng), str(rng.choice(p.ALL))
    size, window = int(rng.integers(1, 20)), int(rng.integers(1, 5))
    count = int(rng.integers(0, size + 1))
    x = program.any(dtype, (size, window))
    indices = rng.permutation(size)[:count]
    is_sorted = rng.random() < 0.3
    if is_sorted:
        indices.sort()
    indices = program.argument(str(rng.choice(["i32", "i64", "ui8"])), indices.reshape(count, 1))
    updates = program.any(dtype, (count, window))
    kind = f"tensor<{dtype}>"
    body = region([("%x", kind), ("%y", kind)], [], [("%y" if rng.random() < 0.8 else "%x", kind)])
    program.result(program.op(
        "scatter", [x, indices, updates], [(dtype, x.shape)],
        "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
        f"scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = {str(is_sorted).lower()}, unique_indices = true",
        body), BITS)
    return program


def sort(rng):
    program = Program(rng)
    count = int(rng.integers(1, 5))
    shape = random_shape(rng, 3, 400) or (7,)
    dim = int(rng.integers(0, len(shape)))
    types = [t for t in p.ALL if t not in ("i2", "ui2")]  # where XLA:CPU reads what it never wrote
    dtypes = [str(rng.choice(types)) for _ in range(count)]
    while dtypes[0] in p.COMPLEX:
        dtypes[0] = str(rng.choice(types))
    operands = [program.any(dtype, shape) if rng.random() < 0.5 else program.small(dtype, shape, 0, 3) for dtype in dtypes]
    kinds = [f"tensor<{dtype}>" for dtype in dtypes for _ in range(2)]
    parameters = [(f"%p{i}", kind) for i, kind in enumerate(kinds)]

    def compare(name, direction, key, flavor):
        kind = kinds[2 * key]
        return (f'{name} = "stablehlo.compare"(%p{2 * key}, %p{2 * key + 1}) {{comparison_direction = #stablehlo<comparison_direction '
                f"{direction}>, compare_type = #stablehlo<comparison_type {flavor}>}} : ({kind}, {kind}) -> tensor<i1>")

    def flavor(dtype):
        if dtype in p.FLOATS:
            return "TOTALORDER"
        return "SIGNED" if dtype in p.SIGNED else "UNSIGNED"

    keys = [i for i, dtype in enumerate(dtypes) if dtype not in p.COMPLEX]
    direction = str(rng.choice(["LT", "GT"]))
    if len(keys) > 1 and rng.random() < 0.5:
        # By the first key, then by another one, as two branches of a select.
        kind = kinds[0]
        body = [compare("%a", direction, 0, flavor(dtypes[0])), compare("%e", "EQ", 0, flavor(dtypes[0])),
                compare("%b", str(rng.choice(["LT", "GT"])), keys[-1], flavor(dtypes[keys[-1]])),
                '%c = "stablehlo.select"(%e, %b, %a) : (tensor<i1>, tensor<i1>, tensor<i1>) -> tensor<i1>']
        result = "%c"
    else:
        body, result = [compare("%a", direction, 0, flavor(dtypes[0]))], "%a"
    program.result(program.op("sort", operands, [(dtype, shape) for dtype in dtypes], f"dimension = {dim} : i64, is_stable = true",
                              region(parameters, body, [(result, "tensor<i1>")])), BITS)
    return program


def top_k(rng):
    """As chlo.top_k arrives: a composite over its decomposition."""
    program, dtype = Program(rng), str(rng.choice([t for t in p.REAL if t not in ("f8E8M0FNU",)]))
    shape = random_shape(rng, 3, 400, least=1) or (9,)
    k = int(rng.integers(0, shape[-1] + 1))
    x = program.any(dtype, shape) if rng.random() < 0.5 else program.small(dtype, shape)
    results = program.op("chlo.top_k", [x], [(dtype, (*shape[:-1], k)), ("i32", (*shape[:-1], k))], f"k = {k} : i64")
    program.result(results, BITS)
    return program


def torch_index_select(rng):
    program, dtype = Program(rng), str(rng.choice(p.ALL))
    shape = random_shape(rng, 3, 200, least=1) or (6,)
    dim = int(rng.integers(0, len(shape)))
    batch = int(rng.integers(0, dim + 1))
    index_shape = shape[:batch] + (int(rng.integers(1, 5)),)
    x = program.any(dtype, shape)
    index = program.argument("i32", rng.integers(0, shape[dim], index_shape))
    result = shape[:dim] + index_shape[batch:] + shape[dim + 1 :]
    program.result(program.op("torch_index_select", [x, index], [(dtype, result)], f"dim = {dim} : i64, batch_dims = {batch} : i64"), BITS)
    return program


MAKERS = {dynamic_slice: 12, dynamic_update_slice: 12, gather: 30, scatter: 40, scatter_last: 12, sort: 30, top_k: 12, torch_index_select: 6}


def cases():
    for maker, count in MAKERS.items():
        yield from (("indexed", f"{maker.__name__} {i}", maker) for i in range(count))
