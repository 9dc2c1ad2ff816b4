"""What is wrong with a program is said in one sentence: the op, its line, what was found and what was expected."""

import pathlib
import subprocess

import pytest

KILN = pathlib.Path(__file__).resolve().parents[2] / "build" / "kiln"
ARGUMENTS = {
    "a": "tensor<2x3xf32>", "b": "tensor<3x2xf32>", "i": "tensor<2x3xi32>", "p": "tensor<2x3xi1>", "c": "tensor<2x3xcomplex<f32>>",
    "s": "tensor<f32>", "n": "tensor<i32>", "v": "tensor<4xf32>", "x": "tensor<1x5x5x2xf32>", "w": "tensor<3x3x3x4xf32>",
}


def call(name, operands, result="2x3xf32", attributes="", regions=""):
    types = ", ".join(ARGUMENTS[o] for o in operands)
    return f'%r = "{name}"({", ".join("%" + o for o in operands)}) {attributes and f"<{{{attributes}}}>"} {regions} : ({types}) -> tensor<{result}>'


def body(arguments=2):
    names = ", ".join(f"%p{i}: tensor<f32>" for i in range(arguments))
    return f"({{ ^bb0({names}): stablehlo.return %p0 : tensor<f32> }})"


def op(name, *arguments, **more):
    return call(f"stablehlo.{name}", *arguments, **more)


STABLEHLO = [  # an op, and what is said of it after its name and line
    (op("add", "ab"), "operands must have the same dimensions, got f32[2,3] and f32[3,2]"),
    (op("add", "ai"), "operands must have the same element type, got f32[2,3] and s32[2,3]"),
    (op("add", "aa", "3x3xf32"), "result shape is f32[2,3], declared as f32[3,3]"),
    (op("add", "a"), "has 1 operands, expected 2"),
    (op("and", "aa"), "operand 0 is f32[2,3], expected elements of pred or integers"),
    (op("popcnt", "a"), "operand 0 is f32[2,3], expected elements of integers"),
    (op("sine", "i", "2x3xi32"), "operand 0 is s32[2,3], expected elements of floats or complex numbers"),
    (op("complex", "ii", "2x3xcomplex<f32>"), "operand 0 is s32[2,3], expected elements of floats"),
    (op("select", "aaa"), "the predicate must be pred, got f32[2,3]"),
    (op("clamp", "vas"), "operands must have the same dimensions, got f32[4] and f32[2,3]"),
    (op("compare", "aa", "2x3xi1"), "attribute comparison_direction is missing"),
    (op("compare", "aa", "2x3xi1", "comparison_direction = #stablehlo<comparison_direction XX>"),
     "attribute comparison_direction is XX, expected EQ, NE, GE, GT, LE or LT"),
    (op("convert", "a", "3x2xi32"), "result shape is s32[2,3], declared as s32[3,2]"),
    (op("bitcast_convert", "a", "2x3xi16"), "result shape is s16[2,3,2], declared as s16[2,3]"),
    (op("reduce_precision", "a", "2x3xf32", "exponent_bits = 0 : i32, mantissa_bits = 3 : i32"),
     "exponent_bits is 0 and mantissa_bits 3, expected at least 1 and 0"),
    (op("broadcast_in_dim", "a", "2x3x4xf32", "broadcast_dimensions = array<i64: 0>"), "attribute broadcast_dimensions has 1 entries, expected 2"),
    (op("reshape", "a", "7xf32"), "cannot reshape f32[2,3] to f32[7]"),
    (op("transpose", "a", "2x2xf32", "permutation = array<i64: 0, 0>"), "dimensions names dimension 0 twice"),
    (op("slice", "a", "2x4xf32", "start_indices = array<i64: 0, 0>, limit_indices = array<i64: 2, 4>, strides = array<i64: 1, 1>"),
     "[0:4:1] is no slice of dimension 1 of f32[2,3]"),
    (op("pad", "an", "2x3xf32", "edge_padding_low = array<i64: 0, 0>, edge_padding_high = array<i64: 0, 0>, interior_padding = array<i64: 0, 0>"),
     "the padding value must be a scalar of type f32, got s32[]"),
    (op("concatenate", "ab", "5x3xf32", "dimension = 0 : i64"), "operand 1 f32[3,2] does not fit f32[2,3] along dimension 0"),
    (op("reverse", "a", "2x3xf32", "dimensions = array<i64: 2>"), "dimensions names dimension 2 of an array of rank 2"),
    (op("iota", "", "2x3xf32", "iota_dimension = 2 : i64"), "iota_dimension names dimension 2 of an array of rank 2"),
    (op("dynamic_slice", "ann", "3x1xf32", "slice_sizes = array<i64: 3, 1>"), "size 3 of dimension 0 is not within f32[2,3]"),
    (op("dynamic_update_slice", "abnn"), "update f32[3,2] does not fit in f32[2,3]"),
    (op("gather", "ai", "2x3xf32", "dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [5], "
        "index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>"), "the index map names dimension 5 of an array of rank 2"),
    (op("scatter", "aia", "2x3xf32", "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
        "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>", body()), "index vectors have 3 entries, the index map 1"),
    (op("dot_general", "aa", "2x3xf32", "dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>"),
     "contracting dimensions 1 of f32[2,3] and 0 of f32[2,3] differ in size"),
    (call("chlo.ragged_dot", "abv", "2x2xf32", "ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], "
          "rhs_contracting_dimensions = [0], lhs_ragged_dimensions = []>"), "lhs_ragged_dims has 0 entries, expected one"),
    (op("reduce", "an", "2xf32", "dimensions = array<i64: 1>", body()), "parameter 0 of computation reduce_body is f32[], expected s32[]"),
    (op("reduce", "as", "2xf32", "dimensions = array<i64: 1>", body(1)), "computation reduce_body takes 1 parameters, expected 2"),
    (op("reduce_window", "as", "2x3xf32", "window_dimensions = array<i64: 1>", body()), "attribute window_dimensions has 1 entries, expected 2"),
    (op("sort", "a", "2x3xf32", "dimension = 1 : i64, is_stable = true", body()), "computation comparator gives f32[], expected pred[]"),
    (op("map", "a", "2x3xf32", "dimensions = array<i64: 0>", body(1)), "dimensions is {0}, expected all dimensions of f32[2,3] in order"),
    (op("if", "s", "2x3xf32", "", "({ stablehlo.return %a : tensor<2x3xf32> }, { stablehlo.return %a : tensor<2x3xf32> })"),
     "the index must be pred[] or s32[], got f32[]"),
    (op("fft", "a", "2x3xf32", "fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 3>"), "takes complex numbers, got f32[2,3]"),
    (op("cholesky", "a", "2x3xf32", "lower = true"), "takes square matrices, got f32[2,3]"),
    (op("batch_norm_inference", "avvvv", "2x3xf32", "epsilon = 0.1 : f32, feature_index = 1 : i64"), "operand 1 must be a vector of 3 f32, got f32[4]"),
    (op("all_gather", "a", "2x3xf32", "all_gather_dim = 3 : i64, replica_groups = dense<0> : tensor<1x1xi64>"),
     "dimensions names dimension 3 of an array of rank 2"),
    (op("get_dimension_size", "a", "i32", "dimension = 2 : i64"), "dimension 2 is outside f32[2,3]"),
    (op("einsum", "ab", "2x3xf32", 'einsum_config = "ij,ij->ij"'), "dimension 0 of operand 1, f32[3,2], has a label of size 2"),
    (call("chlo.zeta", "ab"), "an operand is f32[3,2], expected floats of one type and shape"),
    (call("func.call", "a", "2x3xf32", "callee = @nope"), "calls @nope, which is no function of the program"),
    (op("frobnicate", "a"), "this op is not supported"),
]


def sentence(folder, name, program):
    path = folder / name
    path.write_text(program)
    done = subprocess.run([KILN, "run", path, "--random", "1", "--quiet"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 1, done.stdout
    return done.stderr.strip().removeprefix(f"kiln: {path}: ")


def module(line):
    takes = ", ".join(f"%{name}: {kind}" for name, kind in ARGUMENTS.items())
    return f"func.func @main({takes}) -> tensor<2x3xf32> {{\n\n  {line}\n  return %a : tensor<2x3xf32>\n}}\n"


@pytest.mark.parametrize("line, words", STABLEHLO)
def test_stablehlo_text(tmp_path, line, words):
    name = line.split('"')[1]
    assert sentence(tmp_path, "program.mlir", module(line)) == f"{name} (line 3): {words}"


def test_says_the_place_of_the_framework(tmp_path):
    line = op("add", "ab") + ' loc("jit(f)/add"("model.py":7:9))'
    assert sentence(tmp_path, "program.mlir", module(line)).startswith('stablehlo.add ("jit(f)/add" at model.py:7:9): operands must')


HLO = [  # an instruction of %x = f32[2,3], %y = f32[3,2], %i = s32[2,3] and %s = f32[], and what is said of it
    ("f32[2,3] add(x, y)", "add: operands must have the same dimensions, got f32[2,3] and f32[3,2]"),
    ("f32[2,3] cosine(i)", "cosine: operand 0 is s32[2,3], expected elements of floats or complex numbers"),
    ("f32[6,2] reshape(x)", "reshape: cannot reshape f32[2,3] to f32[6,2]"),
    ("f32[3,2] transpose(x), dimensions={0,1}", "transpose: result shape is f32[2,3], declared as f32[3,2]"),
    ("f32[2,2] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "dot: contracting dimensions 1 of f32[2,3] and 0 of f32[2,3] differ in size"),
    ("f32[2,3] ragged-dot(x, y, i), lhs_contracting_dims={1}, rhs_contracting_dims={0}, lhs_ragged_dims={0}",
     "ragged-dot: rhs_group_dims has 0 entries, expected 1 where the ragged dimension is free"),
    ("f32[2,2] scaled-dot(x, y, y, s), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "scaled-dot: operand 0 is f32[2,3] with scales f32[3,2], expected floats, and a scale for all or scales that divide each "
     "dimension into blocks"),
    ("f32[2,3] ragged-all-to-all(x, x, i, i, i, i), replica_groups={{0}}",
     "ragged-all-to-all: operand 2 is s32[2,3], expected vectors of integers of one size"),
    ("f32[2,3] slice(x), slice={[0:2]}", "slice: slice has 1 dimensions, the operand 2"),
    ("f32[2,3] pad(x, x), padding=0_0x0_0", "pad: the padding value must be a scalar of type f32, got f32[2,3]"),
    ("f32[2] reduce(x, s), dimensions={1}, to_apply=unary", "reduce: computation unary takes 1 parameters, expected 2"),
    ("f32[2,3] stochastic-convert(x, i)", "stochastic-convert: random bits must be unsigned integers as wide as the operand, got s32[2,3]"),
    ("f32[2,3] fft(x), fft_type=FFT, fft_length={3}", "fft: takes complex numbers, got f32[2,3]"),
    ("f32[2,3] conditional(s, x, x), branch_computations={unary, unary}", "conditional: the index must be pred[] or s32[], got f32[]"),
]


@pytest.mark.parametrize("line, words", HLO)
def test_hlo_text(tmp_path, line, words):
    text = f"""HloModule m
unary {{
  a = f32[] parameter(0)
  ROOT n = f32[] negate(a)
}}
ENTRY e {{
  x = f32[2,3] parameter(0)
  y = f32[3,2] parameter(1)
  i = s32[2,3] parameter(2)
  s = f32[] parameter(3)
  ROOT r = {line}
}}
"""
    place, _, said = sentence(tmp_path, "program.hlo", text).split("\n")[0].partition(":11:")
    assert place == f"kiln: {tmp_path}/program.hlo" and said.split(": ", 1)[1] == words
