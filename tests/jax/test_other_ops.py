"""Ops that JAX does not send to a plugin: CHLO in text, what has left StableHLO, asynchronous regions; and ragged dots."""

import pathlib
import subprocess

import jax
import numpy as np
import pytest
import scipy.special
import scipy.stats
import stablehlo_programs
from jax import lax

KILN = pathlib.Path(__file__).resolve().parents[2] / "build" / "kiln"


def run_text(folder, text, *arguments):
    np.savez(folder / "inputs.npz", *arguments)
    (folder / "program.mlir").write_text(text)
    done = subprocess.run([KILN, "run", folder / "program.mlir", "--inputs", folder / "inputs.npz", "--out",
                           folder / "results.npz", "--reference", "--quiet"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    results = np.load(folder / "results.npz")
    return [results[name] for name in results.files]


NEGATIVE = -np.array([0.1, 0.5, 1.5, 2.25, 7.75, 3.0])
POSITIVE = np.array([1e-3, 0.3, 0.5, 1.0, 1.4616, 2.0, 3.7, 11.5, 60.0])
REAL = np.concatenate([NEGATIVE, POSITIVE])
INNER = np.concatenate([np.linspace(-0.999, 0.999, 41), [1 - 1e-6, 1e-9, 1.0, -1.0, 1.5, -0.0]])
FUNCTIONS = {  # by name: arguments, and what the function is
    "acos": (INNER, np.arccos),
    "acosh": (POSITIVE, np.arccosh),
    "asin": (INNER, np.arcsin),
    "asinh": (REAL, np.arcsinh),
    "atan": (REAL, np.arctan),
    "atanh": (INNER, np.arctanh),
    "bessel_i1e": (np.concatenate([REAL * 3, [0.0, np.inf]]), scipy.special.i1e),
    "cosh": (REAL, np.cosh),
    "digamma": (np.concatenate([NEGATIVE[:-1], POSITIVE]), scipy.special.digamma),
    "erf": (REAL, scipy.special.erf),
    "erf_inv": (INNER, scipy.special.erfinv),
    "erfc": (REAL, scipy.special.erfc),
    "lgamma": (REAL, scipy.special.gammaln),
    "sinh": (REAL, np.sinh),
    "square": (REAL, np.square),
    "tan": (REAL, np.tan),
}


@pytest.mark.parametrize("kind, dtype", [("f32", np.float32), ("f64", np.float64)])
def test_chlo_functions(tmp_path, kind, dtype):
    arguments = [values.astype(dtype) for values, _ in FUNCTIONS.values()]
    takes = ", ".join(f"%a{i}: tensor<{a.size}x{kind}>" for i, a in enumerate(arguments))
    types = [f"tensor<{a.size}x{kind}>" for a in arguments]
    lines = [f"%r{i} = chlo.{name} %a{i} : {t} -> {t}" for i, (name, t) in enumerate(zip(FUNCTIONS, types))]
    names = ", ".join(f"%r{i}" for i in range(len(types)))
    text = "\n".join([f"func.func @main({takes}) -> ({', '.join(types)}) {{", *lines, f"return {names} : {', '.join(types)}", "}"])
    for (name, (_, function)), argument, actual in zip(FUNCTIONS.items(), arguments, run_text(tmp_path, text, *arguments)):
        with np.errstate(all="ignore"):
            expected = function(argument.astype(np.float64)).astype(dtype)
        tolerance = 2e-14 if dtype == np.float64 else 3e-7
        np.testing.assert_allclose(actual, expected, tolerance, tolerance / 4, err_msg=name)


def test_chlo_functions_of_two(tmp_path):
    x, q = np.meshgrid([1.0, 1.5, 2.0, 3.0, 7.25, 30.0], [0.25, 1.0, 2.5, 40.0])
    n, y = np.meshgrid([0.0, 1.0, 2.0, 3.0, 8.0, 1.5, -1.0], [-2.5, 0.25, 1.0, 2.5, 40.0])
    near = np.array([1.0, 1.0, 0.0, -0.0, 1e-45, -1.0, np.inf, -np.inf, np.nan, 3.0, 2.0], np.float32)
    towards = np.array([2.0, -2.0, 1.0, -1.0, -1.0, 5.0, 0.0, 0.0, 1.0, np.nan, 2.0], np.float32)
    text = """func.func @main(%x: tensor<4x6xf64>, %q: tensor<4x6xf64>, %n: tensor<5x7xf64>, %y: tensor<5x7xf64>,
                              %near: tensor<11xf32>, %towards: tensor<11xf32>)
                  -> (tensor<4x6xf64>, tensor<5x7xf64>, tensor<11xf32>) {
  %0 = chlo.zeta %x, %q : tensor<4x6xf64>, tensor<4x6xf64> -> tensor<4x6xf64>
  %1 = chlo.polygamma %n, %y : tensor<5x7xf64>, tensor<5x7xf64> -> tensor<5x7xf64>
  %2 = chlo.next_after %near, %towards : tensor<11xf32>, tensor<11xf32> -> tensor<11xf32>
  return %0, %1, %2 : tensor<4x6xf64>, tensor<5x7xf64>, tensor<11xf32>
}"""
    zeta, polygamma, after = run_text(tmp_path, text, x, q, n, y, near, towards)
    np.testing.assert_allclose(zeta, scipy.special.zeta(x, q), 1e-14)
    with jax.enable_x64(True), jax.default_device(jax.devices("cpu")[0]):
        np.testing.assert_allclose(polygamma, np.asarray(lax.polygamma(n, y)), 1e-12)
    np.testing.assert_array_equal(after.view(np.int32) | np.isnan(after), np.nextafter(near, towards).view(np.int32) | np.isnan(after))


def test_chlo_predicates_and_broadcasts(tmp_path):
    x = np.array([[1.0, -np.inf, np.inf], [np.nan, 0.0, -2.0]], np.float32)
    row, scalar = np.array([3.0, -1.0, 0.5], np.float32), np.float32(2.5)
    z = np.array([[1 + 2j, -3j, 0], [-1 - 1j, 2.5, complex(np.inf, -np.inf)]], np.complex64)
    text = """func.func @main(%x: tensor<2x3xf32>, %row: tensor<3xf32>, %s: tensor<f32>, %z: tensor<2x3xcomplex<f32>>)
    -> (tensor<2x3xi1>, tensor<2x3xi1>, tensor<2x3xi1>, tensor<2x3xcomplex<f32>>, tensor<2x3xf32>, tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = chlo.is_inf %x : tensor<2x3xf32> -> tensor<2x3xi1>
  %1 = chlo.is_pos_inf %x : tensor<2x3xf32> -> tensor<2x3xi1>
  %2 = chlo.is_neg_inf %x : tensor<2x3xf32> -> tensor<2x3xi1>
  %3 = chlo.conj %z : tensor<2x3xcomplex<f32>> -> tensor<2x3xcomplex<f32>>
  %4 = chlo.broadcast_subtract %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %5 = chlo.broadcast_compare %s, %x {comparison_direction = #chlo<comparison_direction LT>} : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %6 = chlo.broadcast_select %5, %s, %row : (tensor<2x3xi1>, tensor<f32>, tensor<3xf32>) -> tensor<2x3xf32>
  %7 = "chlo.constant_like"(%x) <{value = 3.5 : f32}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %8 = chlo.broadcast_zeta %7, %s : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<2x3xi1>, tensor<2x3xi1>, tensor<2x3xi1>, tensor<2x3xcomplex<f32>>, tensor<2x3xf32>, tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}"""
    above = scalar < x
    expected = [np.isinf(x), np.isposinf(x), np.isneginf(x), z.conj(), x - row, above, np.where(above, scalar, row),
                np.full_like(x, 3.5), np.full_like(x, scipy.special.zeta(3.5, 2.5))]
    for actual, value in zip(run_text(tmp_path, text, x, row, scalar, z), expected, strict=True):
        np.testing.assert_allclose(actual, value, 1e-6)


EINSUMS = ["ij,jk->ik", "bij,bjk->bki", "i,j->ij", "ij,j->i", "ij,kl->jl", "iji,jk->ik", "...ij,jk->...ik", "ab,ab->", "ij->ji", "ijj->i",
           "ij->", "ii->i"]


@pytest.mark.parametrize("config", EINSUMS)
def test_einsum(device, config):
    generator = np.random.default_rng(7)
    inputs = config.split("->")[0].split(",")
    sizes = {"i": 3, "j": 4, "k": 5, "l": 2, "a": 3, "b": 2}
    arguments = [generator.standard_normal((2, 3) * ("..." in one) + tuple(sizes[c] for c in one.replace("...", ""))).astype(np.float32)
                 for one in inputs]
    expected = np.einsum(config, *arguments)
    kinds = [f"tensor<{''.join(f'{n}x' for n in a.shape)}f32>" for a in (*arguments, expected)]
    op = "einsum" if len(arguments) == 2 else "unary_einsum"
    names = ", ".join(f"%a{i}" for i in range(len(arguments)))
    line = f'%0 = "stablehlo.{op}"({names}) <{{einsum_config = "{config}"}}> : ({", ".join(kinds[:-1])}) -> {kinds[-1]}'
    text = stablehlo_programs.main([line], kinds[:-1], [("%0", kinds[-1])])
    (actual,) = stablehlo_programs.run(device, text, *arguments)
    np.testing.assert_allclose(actual, expected, 2e-5, 1e-6)


def test_asynchronous_regions(tmp_path):
    text = """func.func @main(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = "stablehlo.async_start"(%x) ({
  ^bb0(%a: tensor<2x3xf32>):
    %2 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
    stablehlo.return %2 : tensor<2x3xf32>
  }) : (tensor<2x3xf32>) -> !stablehlo.future<tensor<2x3xf32>>
  %1 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<2x3xf32>>) -> tensor<2x3xf32>
  %3 = "stablehlo.collective_reduce"(%x) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %4 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %4 : tensor<f32>
  }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %1, %3 : tensor<2x3xf32>, tensor<2x3xf32>
}"""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for result in run_text(tmp_path, text, x):
        np.testing.assert_array_equal(result, x)


def ragged_numbers(mode):
    """Dimension numbers, and shapes of the operands for rows of 70."""
    dots, ragged, group, lhs, rhs = {
        "free": ((((1,), (1,)), ((), ())), [0], [0], (70, 6), (4, 6, 5)),
        "free with a batch": ((((2,), (2,)), ((0,), (0,))), [1], [1], (3, 70, 6), (3, 4, 6, 5)),
        "contracting": ((((0,), (0,)), ((), ())), [0], [], (70, 6), (70, 5)),
        "batch": ((((2,), (1,)), ((0,), (0,))), [0], [], (70, 2, 6), (70, 6, 5)),
    }[mode]
    return lax.RaggedDotDimensionNumbers(dots, ragged, group), lhs, rhs


@pytest.mark.parametrize("mode", ["free", "free with a batch", "contracting", "batch"])
@pytest.mark.parametrize("dtype", [np.float32, jax.numpy.bfloat16])
def test_ragged_dot(device, mode, dtype):
    numbers, lhs, rhs = ragged_numbers(mode)
    generator = np.random.default_rng(3)
    x, y = (generator.standard_normal(shape).astype(dtype) for shape in (lhs, rhs))
    sizes = np.array([5, 0, 40, 20], np.int32)
    if "batch" in mode and mode != "batch":  # groups of its own for each matrix of the batch
        sizes = np.stack([sizes, sizes[::-1], np.array([70, 0, 0, 0], np.int32)])

    def program(x, y):
        return lax.ragged_dot_general(x, y, sizes, numbers, preferred_element_type=np.float32)

    def run(where):
        arguments = [jax.device_put(a, where) for a in (x, y)]
        return [np.asarray(jax.jit(program)(*arguments))]

    for actual, expected in zip(run(device), run(jax.devices("cpu")[0])):
        np.testing.assert_allclose(actual, expected, 2e-5, 2e-5)


def test_ragged_dot_multiplies_each_row_once(device):
    """The program has loops over blocks of rows, not a product for every group."""
    x, y = np.ones((64, 8), np.float32), np.ones((16, 8, 4), np.float32)
    lowered = jax.jit(lax.ragged_dot).lower(*(jax.device_put(a, device) for a in (x, y, np.full(16, 4, np.int32))))
    assert "while(" in lowered.compile().as_text()
    gradient = jax.jit(jax.grad(lambda x, y, g: (lax.ragged_dot(x, y, g) ** 2).sum(), argnums=(0, 1)))
    sizes = np.full(16, 4, np.int32)
    for where in (device, jax.devices("cpu")[0]):
        by_rows, by_matrices = gradient(*(jax.device_put(a, where) for a in (x, y, sizes)))
        np.testing.assert_allclose(by_rows, np.full((64, 8), 64.0), 1e-6)
        np.testing.assert_allclose(by_matrices, np.full((16, 8, 4), 64.0), 1e-6)


# What a fair source fails once in a million runs.
LEAST_CHANCE = 1e-6


def draw(device, kind, distribution, a, b, count):
    text = stablehlo_programs.main(
        [f"%s = stablehlo.constant dense<{count}> : tensor<1xi64>",
         f"%0 = stablehlo.rng %a0, %a1, %s, distribution = {distribution} : (tensor<{kind}>, tensor<{kind}>, tensor<1xi64>) -> tensor<{count}x{kind}>"],
        [f"tensor<{kind}>"] * 2, [("%0", f"tensor<{count}x{kind}>")])
    dtype = {"f32": np.float32, "f64": np.float64, "bf16": jax.numpy.bfloat16, "i32": np.int32, "ui8": np.uint8}[kind]
    with jax.enable_x64(True):
        return stablehlo_programs.run(device, text, np.array(a, dtype), np.array(b, dtype))[0]


@pytest.mark.parametrize("kind", ["f32", "f64", "bf16"])
@pytest.mark.parametrize("distribution", ["UNIFORM", "NORMAL"])
def test_rng_draws_from_its_distribution(device, kind, distribution):
    count, a, b = 40000, -1.5, 2.5
    values = draw(device, kind, distribution, a, b, count).astype(np.float64)
    model = scipy.stats.uniform(a, b - a) if distribution == "UNIFORM" else scipy.stats.norm(a, b)
    for power in (1, 2, 3, 4):
        mean, variance = model.moment(power), model.moment(2 * power) - model.moment(power) ** 2
        # bf16 rounds to 8 bits, which shifts a mean by less than it spreads.
        assert abs(np.mean(values**power) - mean) < 5 * np.sqrt(variance / count), power
    assert abs(np.corrcoef(values[1:], values[:-1])[0, 1]) < 5 / np.sqrt(count)
    if kind != "bf16":
        assert scipy.stats.kstest(values, model.cdf).pvalue > LEAST_CHANCE
    if distribution == "UNIFORM":
        assert values.min() >= a and (values.max() < b or kind == "bf16")


@pytest.mark.parametrize("kind, a, b", [("i32", -7, 12), ("ui8", 3, 200), ("i32", 5, 6)])
def test_rng_draws_integers_evenly(device, kind, a, b):
    values = draw(device, kind, "UNIFORM", a, b, 40000).astype(np.int64)
    assert values.min() >= a and values.max() < b
    counts = np.bincount(values - a, minlength=b - a)
    assert b - a == 1 or scipy.stats.chisquare(counts).pvalue > LEAST_CHANCE


def test_bodies_of_wider_types(device):
    x = np.array([[100, 100, 100], [-100, 5, -120]], np.int8)
    body = """({ ^bb0(%p: tensor<KIND>, %q: tensor<KIND>):
      %s = stablehlo.add %p, %q : tensor<KIND>
      stablehlo.return %s : tensor<KIND> })"""
    lines = [
        '%0 = "stablehlo.reduce"(%a0, %a1) <{dimensions = array<i64: 1>}> ' + body.replace("KIND", "i32")
        + " : (tensor<2x3xi8>, tensor<i8>) -> tensor<2xi32>",
        '%1 = "stablehlo.reduce_window"(%a2, %a3) <{window_dimensions = array<i64: 2>}> ' + body.replace("KIND", "f32")
        + " : (tensor<4xbf16>, tensor<bf16>) -> tensor<3xf32>"]
    text = stablehlo_programs.main(lines, ["tensor<2x3xi8>", "tensor<i8>", "tensor<4xbf16>", "tensor<bf16>"],
                                   [("%0", "tensor<2xi32>"), ("%1", "tensor<3xf32>")])
    y = np.array([256.0, 1.0, 257.0, 2.0]).astype(jax.numpy.bfloat16)
    sums, windows = stablehlo_programs.run(device, text, x, np.int8(7), y, jax.numpy.bfloat16(0.5))
    np.testing.assert_array_equal(sums, x.astype(np.int32).sum(1) + 7)
    wide = y.astype(np.float32)
    np.testing.assert_array_equal(windows, wide[:-1] + wide[1:] + 0.5)


def test_ops_that_have_left_stablehlo(device):
    x, index = np.arange(12, dtype=np.float32).reshape(3, 4), np.array([[2, 0], [1, 1]], np.int32)
    lines = ['%0 = "stablehlo.torch_index_select"(%a0, %a1) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<3x4xf32>, tensor<2x2xi32>) -> tensor<2x2x4xf32>',
             "%1 = stablehlo.broadcast %a0, sizes = [2] : (tensor<3x4xf32>) -> tensor<2x3x4xf32>",
             '%2 = "stablehlo.cross-replica-sum"(%a0) <{replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<3x4xf32>) -> tensor<3x4xf32>',
             "%t = stablehlo.create_token : !stablehlo.token",
             "%u = stablehlo.after_all %t : !stablehlo.token",
             "%3 = stablehlo.dot %a0, %a2 : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3xf32>"]
    results = [("%0", "tensor<2x2x4xf32>"), ("%1", "tensor<2x3x4xf32>"), ("%2", "tensor<3x4xf32>"), ("%3", "tensor<3xf32>")]
    text = stablehlo_programs.main(lines, ["tensor<3x4xf32>", "tensor<2x2xi32>", "tensor<4xf32>"], results)
    v = np.array([1, -1, 2, 0.5], np.float32)
    actual = stablehlo_programs.run(device, text, x, index, v)
    for value, expected in zip(actual, [x[index], np.stack([x, x]), x, x @ v], strict=True):
        np.testing.assert_allclose(value, expected, 1e-6)


def test_real_dot_of_complex_numbers_is_the_real_part(device):
    rng = np.random.default_rng(5)
    a, b = (rng.integers(-4, 5, (2, 3, 4)) + 1j * rng.integers(-4, 5, (2, 3, 4)) for _ in range(2))
    dot = jax.jit(lambda a, b: jax.lax.dot_general(a, b, (((2,), (2,)), ((0,), (0,))), preferred_element_type=np.float32))
    actual = dot(*jax.device_put((a.astype(np.complex64), b.astype(np.complex64)), device))
    assert actual.dtype == np.float32
    np.testing.assert_array_equal(actual, np.einsum("bij,bkj->bik", a, b).real)


@pytest.mark.parametrize("width", [3, 5, 10, 16, 17, 40, 200])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_extremes_of_rows_with_specials(device, dtype, width):
    """NaN of either sign is the extreme of its row, and zeros are told apart; XLA:CPU loses NaN in long rows."""
    rng = np.random.default_rng(width)
    x = -np.abs(rng.standard_normal((300, width)))
    x[::2] *= -1
    x[::3] = np.where(rng.random((100, width)) < 0.5, np.copysign(0, x[::3]), x[::3])
    x[::7, width // 2] = 0.0
    x[::5, width // 3] = -0.0
    x[::11] = rng.choice([-np.inf, np.inf])
    x[::8, width - 1] = np.nan
    x[::9, 0] = -np.nan
    with jax.enable_x64(True):
        rows = jax.device_put(jax.numpy.asarray(x, dtype), device)
        largest, least = (np.asarray(y, np.float64) for y in jax.jit(lambda x: (x.max(1), x.min(1)))(rows))
        exact = np.asarray(rows, np.float64)
    # Of zeros the positive one is larger: the sign decides among equal magnitudes of zero.
    some_positive_zero = ((exact == 0) & ~np.signbit(exact)).any(1)
    some_negative_zero = ((exact == 0) & np.signbit(exact)).any(1)
    np.testing.assert_array_equal(largest, exact.max(1))
    np.testing.assert_array_equal(least, exact.min(1))
    np.testing.assert_array_equal(np.signbit(largest)[largest == 0], ~some_positive_zero[largest == 0])
    np.testing.assert_array_equal(np.signbit(least)[least == 0], some_negative_zero[least == 0])


@pytest.mark.parametrize("divisor", [255, -255, 3, 10, 0.1, 1e-12, 7e11, 1.9999999, 127.5, 4096, 1e-30])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_integers_divided_by_constants_round_once(device, dtype, divisor):
    with jax.enable_x64(True):
        integers = np.concatenate([np.arange(-40_000, 40_000), np.random.default_rng(1).integers(-(2**31), 2**31, 40_000)]).astype(np.int32)
        constant = np.dtype(dtype).type(divisor)
        quotients = jax.jit(lambda x: x.astype(dtype) / constant)(jax.device_put(integers, device))
        with np.errstate(over="ignore"):
            exact = integers.astype(dtype) / constant
    np.testing.assert_array_equal(np.asarray(quotients), exact)
    np.testing.assert_array_equal(np.signbit(np.asarray(quotients)), np.signbit(exact))
