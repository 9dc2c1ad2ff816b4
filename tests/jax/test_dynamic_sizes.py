"""Arrays of bounded dynamic size: each op acts as if they had the size that they were given, as on XLA:CPU or in numpy."""

import itertools
import math
import os

import numpy as np
import pytest
from conftest import PLATFORM
from stablehlo_programs import main, run


def bounded(dims, bounds, element="f32"):
    if all(bound == "?" for bound in bounds):
        return f"tensor<{'x'.join(str(d) for d in dims)}x{element}>"
    return f"tensor<{'x'.join(str(d) for d in dims)}x{element}, #stablehlo.bounds<{', '.join(str(b) for b in bounds)}>>"


A = bounded(["?", 4], [6, "?"])  # 6 rows at most
B = bounded([6, "?"], ["?", 4])  # 4 columns at most
V = bounded(["?"], [6])
I = bounded(["?"], [6], "i32")
F = "tensor<f32>"
ADD = "({^bb0(%p: tensor<f32>, %q: tensor<f32>): %l = stablehlo.add %p, %q : tensor<f32> stablehlo.return %l : tensor<f32>})"
MUL = ADD.replace(".add", ".multiply")
MAX = ADD.replace(".add", ".maximum")
LESS = "({^bb0(%p: tensor<f32>, %q: tensor<f32>): %l = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1> stablehlo.return %l : tensor<i1>})"
SIZES = (
    "%m2 = stablehlo.add %a3, %a3 : tensor<i32> %m3 = stablehlo.reshape %m2 : (tensor<i32>) -> tensor<1xi32> "
    "%three = stablehlo.constant dense<3> : tensor<1xi32> "
    "%sizes = stablehlo.concatenate %m3, %three, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>"
)
PREFIX = [
    "%init = stablehlo.constant dense<0.0> : tensor<f32>",
    "%one = stablehlo.constant dense<1.0> : tensor<f32>",
    "%low = stablehlo.constant dense<0xFF800000> : tensor<f32>",
    "%zero = stablehlo.constant dense<0> : tensor<i32>",
    f'%a = "stablehlo.set_dimension_size"(%a0, %a2) {{dimension = 0 : i64}} : (tensor<6x4xf32>, tensor<i32>) -> {A}',
    f'%b = "stablehlo.set_dimension_size"(%a0, %a3) {{dimension = 1 : i64}} : (tensor<6x4xf32>, tensor<i32>) -> {B}',
    f'%v = "stablehlo.set_dimension_size"(%a1, %a2) {{dimension = 0 : i64}} : (tensor<6xf32>, tensor<i32>) -> {V}',
    f'%i = "stablehlo.set_dimension_size"(%a4, %a2) {{dimension = 0 : i64}} : (tensor<6xi32>, tensor<i32>) -> {I}',
]

# name: (op text giving %r, its type, what numpy makes of the cut arrays a, b, v, i and the whole x, w)
CASES = {
    "elementwise": (f"%e = stablehlo.exponential %a : {A} %r = stablehlo.add %e, %a : {A}", A, lambda c: np.exp(c.a) + c.a),
    "select": (f"%m = stablehlo.compare LT, %a, %a : ({A}, {A}) -> {bounded(['?', 4], [6, '?'], 'i1')} %r = stablehlo.select %m, %a, %a : {bounded(['?', 4], [6, '?'], 'i1')}, {A}", A, lambda c: c.a),
    "transpose": (f"%r = stablehlo.transpose %a, dims = [1, 0] : ({A}) -> {bounded([4, '?'], ['?', 6])}", bounded([4, "?"], ["?", 6]), lambda c: c.a.T),
    "reverse": (f"%r = stablehlo.reverse %a, dims = [0, 1] : {A}", A, lambda c: c.a[::-1, ::-1]),
    "broadcast": (f'%r = "stablehlo.broadcast_in_dim"(%v) {{broadcast_dimensions = array<i64: 1>}} : ({V}) -> {bounded([3, "?"], ["?", 6])}', bounded([3, "?"], ["?", 6]), lambda c: np.broadcast_to(c.v, (3, len(c.v)))),
    "concatenate": (f"%r = stablehlo.concatenate %a, %a0, %a, dim = 0 : ({A}, tensor<6x4xf32>, {A}) -> {bounded(['?', 4], [18, '?'])}", bounded(["?", 4], [18, "?"]), lambda c: np.concatenate([c.a, c.x, c.a])),
    "pad": (f'%r = "stablehlo.pad"(%a, %one) {{edge_padding_low = array<i64: 1, 0>, edge_padding_high = array<i64: 2, 1>, interior_padding = array<i64: 1, 0>}} : ({A}, {F}) -> {bounded(["?", 5], [14, "?"])}', bounded(["?", 5], [14, "?"]), None),
    "reduce_rows": (f'%r = "stablehlo.reduce"(%a, %init) {ADD} {{dimensions = array<i64: 0>}} : ({A}, {F}) -> tensor<4xf32>', "tensor<4xf32>", lambda c: c.a.sum(0)),
    "reduce_columns": (f'%r = "stablehlo.reduce"(%a, %low) {MAX} {{dimensions = array<i64: 1>}} : ({A}, {F}) -> {V}', V, lambda c: c.a.max(1)),
    "product": (f'%r = "stablehlo.reduce"(%a, %one) {MUL} {{dimensions = array<i64: 0, 1>}} : ({A}, {F}) -> {F}', F, lambda c: c.a.prod()),
    "reduce_window": (f'%r = "stablehlo.reduce_window"(%v, %init) {ADD} {{window_dimensions = array<i64: 2>, window_strides = array<i64: 1>}} : ({V}, {F}) -> {bounded(["?"], [5])}', bounded(["?"], [5]), lambda c: c.v[1:] + c.v[:-1]),
    "sort": (f'%r = "stablehlo.sort"(%v) {LESS} {{dimension = 0 : i64, is_stable = true}} : ({V}) -> {V}', V, lambda c: np.sort(c.v)),
    "sort_other_dimension": (f'%r = "stablehlo.sort"(%a) {LESS} {{dimension = 1 : i64}} : ({A}) -> {A}', A, lambda c: np.sort(c.a, 1)),
    "dot_rows": (f"%r = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : ({A}, {A}) -> {bounded(['?', '?'], [6, 6])}", bounded(["?", "?"], [6, 6]), lambda c: c.a @ c.a.T),
    "dot_contracted": (f"%r = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : ({A}, {A}) -> tensor<4x4xf32>", "tensor<4x4xf32>", lambda c: c.a.T @ c.a),
    "dot_one_side": (f"%r = stablehlo.dot_general %v, %a0, contracting_dims = [0] x [0] : ({V}, tensor<6x4xf32>) -> tensor<4xf32>", "tensor<4xf32>", lambda c: c.v @ c.x[: len(c.v)]),
    "gather": (f'%r = "stablehlo.gather"(%a0, %i) {{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}} : (tensor<6x4xf32>, {I}) -> {A}', A, lambda c: c.x[c.i]),
    "scatter": (f'%r = "stablehlo.scatter"(%a0, %i, %a) {ADD} {{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}} : (tensor<6x4xf32>, {I}, {A}) -> tensor<6x4xf32>', "tensor<6x4xf32>", lambda c: scattered(c.x, c.i, c.a)),
    "dynamic_slice": (f"%r = stablehlo.dynamic_slice %a, %zero, %a3, sizes = [6, 2] : ({A}, tensor<i32>, tensor<i32>) -> {bounded(['?', 2], [6, '?'])}", bounded(["?", 2], [6, "?"]), lambda c: c.a[:, min(c.m, 2) : min(c.m, 2) + 2]),
    "dynamic_update_slice": (f"%r = stablehlo.dynamic_update_slice %a0, %a, %zero, %zero : (tensor<6x4xf32>, {A}, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>", "tensor<6x4xf32>", lambda c: np.concatenate([c.a, c.x[len(c.a) :]])),
    "reshape_major": (f"%r = stablehlo.reshape %a : ({A}) -> {bounded(['?'], [24])}", bounded(["?"], [24]), lambda c: c.a.reshape(-1)),
    "reshape_minor": (f"%r = stablehlo.reshape %b : ({B}) -> {bounded(['?'], [24])}", bounded(["?"], [24]), lambda c: c.b.reshape(-1)),
    "reshape_split": (f"%f = stablehlo.reshape %a : ({A}) -> {bounded(['?'], [24])} %r = stablehlo.reshape %f : ({bounded(['?'], [24])}) -> {bounded(['?', 2], [12, '?'])}", bounded(["?", 2], [12, "?"]), lambda c: c.a.reshape(-1, 2)),
    "reshape_unit": (f"%r = stablehlo.reshape %b : ({B}) -> {bounded([1, 6, 1, '?'], ['?', '?', '?', 4])}", bounded([1, 6, 1, "?"], ["?", "?", "?", 4]), lambda c: c.b.reshape(1, 6, 1, -1)),
    "convolution": (f'%x = stablehlo.reshape %v : ({V}) -> {bounded([1, "?", 1], ["?", 6, "?"])} %k = stablehlo.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32> %r = "stablehlo.convolution"(%x, %k) {{window_strides = array<i64: 1>, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}} : ({bounded([1, "?", 1], ["?", 6, "?"])}, tensor<2x1x1xf32>) -> {bounded([1, "?", 1], ["?", 5, "?"])}', bounded([1, "?", 1], ["?", 5, "?"]), lambda c: (c.v[:-1] + 2 * c.v[1:])[None, :, None]),
    "dynamic_reshape": (f"{SIZES} %r = stablehlo.dynamic_reshape %b, %sizes : ({B}, tensor<2xi32>) -> {bounded(['?', 3], [8, '?'])}", bounded(["?", 3], [8, "?"]), lambda c: c.b.reshape(-1, 3)),
    "dynamic_broadcast_in_dim": (f"{SIZES} %r = stablehlo.dynamic_broadcast_in_dim %one, %sizes, dims = [] : ({F}, tensor<2xi32>) -> {bounded(['?', 3], [8, '?'])}", bounded(["?", 3], [8, "?"]), lambda c: np.ones((2 * c.m, 3))),
    "dynamic_iota": (f"{SIZES} %r = stablehlo.dynamic_iota %sizes, dim = 0 : (tensor<2xi32>) -> {bounded(['?', 3], [8, '?'])}", bounded(["?", 3], [8, "?"]), lambda c: np.broadcast_to(np.arange(2 * c.m)[:, None], (2 * c.m, 3))),
    "while": (f"%s:2 = stablehlo.while(%j = %zero, %y = %a) : tensor<i32>, {A} cond {{ %n = \"stablehlo.get_dimension_size\"(%y) {{dimension = 0 : i64}} : ({A}) -> tensor<i32> %t = stablehlo.compare LT, %j, %n : (tensor<i32>, tensor<i32>) -> tensor<i1> stablehlo.return %t : tensor<i1> }} do {{ %k = stablehlo.constant dense<1> : tensor<i32> %g = stablehlo.add %j, %k : tensor<i32> %z = stablehlo.add %y, %y : {A} stablehlo.return %g, %z : tensor<i32>, {A} }} %r = stablehlo.negate %s#1 : {A}", A, lambda c: -c.a * 2.0 ** len(c.a)),
    "if": (f"%t = stablehlo.compare LT, %a2, %a3 : (tensor<i32>, tensor<i32>) -> tensor<i1> %r = \"stablehlo.if\"(%t) ({{ %y = stablehlo.negate %a : {A} stablehlo.return %y : {A} }}, {{ stablehlo.return %a : {A} }}) : (tensor<i1>) -> {A}", A, lambda c: -c.a if len(c.a) < c.m else c.a),
}  # fmt: skip
# Programs that XLA:CPU refuses or where it reads what lies past the sizes; numpy alone says what they mean.
ONLY_NUMPY = {"convolution", "dynamic_broadcast_in_dim", "dynamic_iota", "dynamic_reshape", "dynamic_update_slice", "reshape_split"}


def scattered(x, i, a):
    x = x.copy()
    np.add.at(x, i, a)
    return x


class Cut:
    def __init__(self, x, w, n, m, i):
        self.x, self.w, self.m, self.a, self.b, self.v, self.i = x, w, m, x[:n], x[:, :m], w[:n], i[:n]


def program(text, kind):
    rank = kind.split(",")[0].replace("complex", "").count("x")
    body = [*PREFIX, text]
    for d in range(rank):
        body.append(f'%n{d} = "stablehlo.get_dimension_size"(%r) {{dimension = {d} : i64}} : ({kind}) -> tensor<i32>')
    results = [("%r", kind), *((f"%n{d}", "tensor<i32>") for d in range(rank))]
    return main(body, ["tensor<6x4xf32>", "tensor<6xf32>", "tensor<i32>", "tensor<i32>", "tensor<6xi32>"], results)


def valid(device, results):
    """The part of the first result that lies inside the sizes; XLA:CPU packs it to the front."""
    sizes = [int(size) for size in results[1:]]
    if device.platform == "cpu":
        return results[0].reshape(-1)[: math.prod(sizes)].reshape(sizes)
    return results[0][tuple(slice(size) for size in sizes)]


@pytest.mark.parametrize("name", [name for name in CASES if PLATFORM != "cpu" or name not in ONLY_NUMPY])
def test_acts_as_if_cut(name, device, reference_device):
    text, kind, model = CASES[name]
    rng = np.random.default_rng(5)
    x, w = (rng.normal(0, 1, shape).astype(np.float32) for shape in [(6, 4), (6,)])
    i = rng.integers(0, 6, 6).astype(np.int32)
    for n, m in [(6, 4), (3, 2), (1, 3), (4, 1)]:
        arguments = (x, w, np.int32(n), np.int32(m), i)
        actual = run(device, program(text, kind), *arguments)
        if model is not None:
            expected = model(Cut(x, w, n, m, i))
            assert tuple(int(size) for size in actual[1:]) == expected.shape
            np.testing.assert_allclose(valid(device, actual), expected, rtol=1e-5, atol=1e-5)
        if name not in ONLY_NUMPY and PLATFORM != "cpu":
            expected = run(reference_device, program(text, kind), *arguments)
            assert [int(size) for size in actual[1:]] == [int(size) for size in expected[1:]]
            np.testing.assert_allclose(valid(device, actual), valid(reference_device, expected), rtol=1e-5, atol=1e-5)


def factorizations(count, bounds):
    """All ways to write `count` as a product of sizes from 1 to each of `bounds`."""
    return [sizes for sizes in itertools.product(*(range(1, bound + 1) for bound in bounds)) if math.prod(sizes) == count]


@pytest.mark.skipif(PLATFORM == "cpu", reason="XLA:CPU refuses most of these")
@pytest.mark.parametrize("seed", range(200 if os.environ.get("KILN_FULL_TESTS") == "1" else 10))
def test_dynamic_reshape_keeps_the_order_of_elements(seed, device):
    rng = np.random.default_rng(seed)
    while True:
        before = [int(b) for b in rng.choice([1, 2, 3, 4, 6], rng.integers(1, 5))]
        after = factorizations(math.prod(before), [6, 6, 8][: rng.integers(1, 4)])
        if after:
            break
    after = after[rng.integers(len(after))]
    kind_in, kind_out = bounded(["?"] * len(before), before), bounded(["?"] * len(after), after)
    static = bounded(before, ["?"] * len(before))
    body = [f"%x0 = stablehlo.negate %a0 : {static}"]
    for d in range(len(before)):
        kind = bounded(["?"] * (d + 1) + before[d + 1 :], before[: d + 1] + ["?"] * (len(before) - d - 1))
        last = static if d == 0 else bounded(["?"] * d + before[d:], before[:d] + ["?"] * (len(before) - d))
        body.append(f'%x{d + 1} = "stablehlo.set_dimension_size"(%x{d}, %a{d + 2}) {{dimension = {d} : i64}} : ({last}, tensor<i32>) -> {kind}')
    body.append(f"%r = stablehlo.dynamic_reshape %x{len(before)}, %a1 : ({kind_in}, tensor<{len(after)}xi32>) -> {kind_out}")
    text = main(body, [static, f"tensor<{len(after)}xi32>"] + ["tensor<i32>"] * len(before), [("%r", kind_out)])
    x = rng.normal(0, 1, before).astype(np.float32)
    for _ in range(6):
        sizes = [int(rng.integers(1, bound + 1)) for bound in before]
        fitting = factorizations(math.prod(sizes), after)
        if not fitting:
            continue
        wanted = fitting[rng.integers(len(fitting))]
        (result,) = run(device, text, x, np.array(wanted, np.int32), *map(np.int32, sizes))
        cut = -x[tuple(map(slice, sizes))]
        np.testing.assert_array_equal(result[tuple(map(slice, wanted))], cut.reshape(wanted), err_msg=f"{before} {sizes} {after} {wanted}")


@pytest.mark.skipif(PLATFORM == "cpu", reason="what lies past the sizes is Kiln's choice")
def test_results_are_zero_past_their_size(device):
    (result, size, _) = run(device, program(f"%r = stablehlo.exponential %a : {A}", A), np.ones((6, 4), np.float32), np.ones(6, np.float32), np.int32(2), np.int32(4), np.zeros(6, np.int32))
    assert size == 2
    np.testing.assert_array_equal(result[2:], 0)


@pytest.mark.parametrize("size, expected", [(-3, 0), (0, 0), (1000, 6)])
def test_sizes_out_of_bounds_are_the_nearest(size, expected, device):
    if PLATFORM == "cpu":
        pytest.skip("XLA:CPU takes them as they are")
    arguments = (np.ones((6, 4), np.float32), np.ones(6, np.float32), np.int32(size), np.int32(4), np.zeros(6, np.int32))
    total = run(device, program(CASES["reduce_rows"][0], "tensor<4xf32>"), *arguments)[0]
    np.testing.assert_array_equal(total, np.full(4, expected))


def test_op_without_a_meaning_is_refused_by_name(device):
    if PLATFORM == "cpu":
        pytest.skip("asks for Kiln's sentence")
    body = [*PREFIX[:7], f'%s = "stablehlo.cholesky"(%sq) {{lower = true}} : ({bounded(["?", 6], [6, "?"])}) -> {bounded(["?", 6], [6, "?"])}']
    body.insert(7, f"%sq = stablehlo.dot_general %a, %a0, contracting_dims = [1] x [1] : ({A}, tensor<6x4xf32>) -> {bounded(['?', 6], [6, '?'])}")
    kinds = ["tensor<6x4xf32>", "tensor<6xf32>", "tensor<i32>", "tensor<i32>"]
    with pytest.raises(Exception, match="cholesky over an array of dynamic size is not supported"):
        run(device, main(body, kinds, [("%s", bounded(["?", 6], [6, "?"]))]), np.ones((6, 4), np.float32), np.ones(6, np.float32), np.int32(2), np.int32(3))
