"""Programs exported for any size of some dimensions, and modules whose shapes are open except for main's arguments."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import PLATFORM
from jax import export
from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir
from stablehlo_programs import load, main, run

pytestmark = pytest.mark.skipif(PLATFORM == "cpu", reason="exports for Kiln")


def mixture(x, y):
    """Sizes as values, as shapes, in a loop, through functions, and in slices."""
    n = x.shape[0]
    z = jnp.concatenate([x, y], 0)
    s = jnp.sum(z, axis=0) + jnp.arange(4) * n
    carry, rows = jax.lax.scan(lambda c, t: (c + t, c * 2), jnp.zeros(4), x)
    padded = jnp.pad(x, ((1, y.shape[0]), (0, 0)))
    product = jnp.einsum("ik,jk->ij", x, y)
    return jnp.broadcast_to(s, (n + 2, 4)), carry, rows, x.reshape(-1), jnp.flip(x, 0)[: n // 2], padded, product, jnp.sort(z, 0)


def attention(q, k, v):
    weights = jax.nn.softmax(jnp.where(jnp.tri(q.shape[0], k.shape[0], dtype=bool), q @ k.T, -1e9), axis=-1)
    return weights @ v


def random(key, x):
    bits, biggest = jax.random.bits(key, x.shape), jax.lax.top_k(x, x.shape[1])[0]
    return bits, biggest, jax.random.uniform(jax.random.wrap_key_data(jnp.tile(key, 2), impl="rbg"), x.shape)


def take(x, i):
    return jnp.take(x, i, axis=0).mean(0), jax.lax.top_k(x[:, 0], 2)[0], jax.lax.fori_loop(0, x.shape[0], lambda j, c: c + x[j], jnp.zeros(3))


def pooled(x):
    windows = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2), (1, 2), "VALID")
    return windows, jnp.cumsum(x, 1), jax.lax.conv_general_dilated(x[:, None], jnp.ones((2, 1, 3)), (1,), "SAME")


ELEMENTS = {"float32": "f32", "int32": "i32", "uint32": "ui32"}
CASES = {
    "mixture": (mixture, ("b, 4", "c, 4"), [((3, 4), (5, 4)), ((1, 4), (2, 4))], "float32"),
    "attention": (attention, ("n, 8", "m, 8", "m, 8"), [((3, 8), (5, 8), (5, 8)), ((6, 8), (6, 8), (6, 8))], "float32"),
    "take": (take, ("n, 3", "m"), [((4, 3), (5,))], "int"),
    "random": (random, ("2", "b, n"), [((2,), (3, 5)), ((2,), (1, 2))], "key"),
    "pooled": (pooled, ("b, 2*w",), [((2, 8),), ((1, 4),)], "float32"),
}


def inputs(case, shapes):
    rng = np.random.default_rng(3)
    arrays = [rng.normal(0, 1, shape).astype(np.float32) for shape in shapes]
    if case == "take":
        arrays[1] = rng.integers(0, shapes[0][0], shapes[1]).astype(np.int32)
    if case == "random":
        arrays[0] = np.array([3, 4], np.uint32)
    return arrays


def exported(case, platforms):
    function, specs, shapes, _ = CASES[case]
    arguments = export.symbolic_args_specs(tuple(inputs(case, shapes[0])), specs, constraints=["n>=2"] if case == "take" else ())
    return export.export(jax.jit(function), platforms=platforms)(*arguments)


@pytest.mark.parametrize("case", CASES)
def test_exported_program_runs_at_any_size(case, device, reference_device):
    program = export.deserialize(exported(case, [PLATFORM]).serialize())
    for shapes in CASES[case][2]:
        arrays = inputs(case, shapes)
        with jax.default_device(device):
            actual = jax.jit(program.call)(*arrays)
        with jax.default_device(reference_device):
            expected = CASES[case][0](*map(jnp.asarray, arrays))
        for a, b in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-5, atol=1e-5)


def open_module(case, arrays):
    """The exported module as it is, called from a main with static types: what Kiln itself must make static."""
    with jax_mlir.make_ir_context():
        module = ir.Module.parse(exported(case, ["cpu"]).mlir_module())
        functions = {function.name.value: function for function in module.body.operations}
        takes = [str(kind) for kind in functions["main"].type.inputs]
        gives = [str(kind) for kind in functions["main"].type.results]
        functions["main"].attributes["sym_name"] = ir.StringAttr.get("inner")
        texts = [function.operation.get_asm(enable_debug_info=False) for function in functions.values()]
    static = [f"tensor<{'x'.join(map(str, array.shape))}x{ELEMENTS[array.dtype.name]}>" for array in arrays]
    body = [f"%c{i} = stablehlo.convert %a{i} : ({static[i]}) -> {takes[i]}" for i in range(len(takes))]
    values = ", ".join(f"%c{i}" for i in range(len(takes)))
    body.append(f"%r:{len(gives)} = func.call @inner({values}) : ({', '.join(takes)}) -> ({', '.join(gives)})")
    results = [(f"%r#{i}" if len(gives) > 1 else "%r", kind) for i, kind in enumerate(gives)]
    return main(body, static, results).rsplit("}", 1)[0] + "\n".join(texts) + "\n}"


@pytest.mark.parametrize("case", CASES)
def test_open_module_becomes_static(case, device, reference_device):
    for shapes in CASES[case][2]:
        arrays = inputs(case, shapes)
        actual = run(device, open_module(case, arrays), *arrays)
        with jax.default_device(reference_device):
            expected = jax.tree.leaves(CASES[case][0](*map(jnp.asarray, arrays)))
        for a, b in zip(actual, expected, strict=True):
            np.testing.assert_allclose(a, np.asarray(b), rtol=1e-5, atol=1e-5)


def test_assertion_about_shapes_is_a_sentence(device):
    body = [
        "%n = stablehlo.get_dimension_size %a0, dim = 0 : (tensor<3xf32>) -> tensor<i32>",
        "%two = stablehlo.constant dense<2> : tensor<i32>",
        "%ok = stablehlo.compare EQ, %n, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>",
        'stablehlo.custom_call @shape_assertion(%ok, %n) {api_version = 2 : i32, error_message = "expected 2 rows, found {0}", '
        "has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()",
    ]
    with pytest.raises(Exception, match="expected 2 rows, found 3"):
        run(device, main(body, ["tensor<3xf32>"], [("%a0", "tensor<3xf32>")]), np.zeros(3, np.float32))


@pytest.mark.parametrize("body, complaint", [
    (["%0 = stablehlo.dynamic_reshape %a0, %a1 : (tensor<6xf32>, tensor<2xi32>) -> tensor<?x?xf32>",
      "%z = stablehlo.constant dense<0.0> : tensor<f32>",
      "%r = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<?x?xf32>, tensor<f32>) -> tensor<f32>"],
     "dynamic_reshape.*output_shape must be constant"),
    (["%s = stablehlo.reshape %a1 : (tensor<2xi32>) -> tensor<2xi32>",
      "%0 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<2xi32>) -> tensor<?x?xf32>",
      "%z = stablehlo.constant dense<0.0> : tensor<f32>",
      "%r = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<?x?xf32>, tensor<f32>) -> tensor<f32>"],
     "dynamic_iota.*output_shape must be constant"),
])  # fmt: skip
def test_sizes_that_cannot_be_are_refused(body, complaint, device):
    with pytest.raises(Exception, match=complaint):
        run(device, main(body, ["tensor<6xf32>", "tensor<2xi32>"], [("%r", "tensor<f32>")]), np.zeros(6, np.float32), np.ones(2, np.int32))


def test_real_dynamic_ops_with_constant_sizes(device):
    """Each op whose sizes are operands, with sizes that fold, and results declared open."""
    body = [
        "%one = stablehlo.constant dense<1> : tensor<1xi32>",
        "%n = stablehlo.get_dimension_size %a0, dim = 1 : (tensor<2x3xf32>) -> tensor<i32>",
        "%n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>",
        "%n2 = stablehlo.add %n1, %one : tensor<1xi32>",
        "%shape = stablehlo.concatenate %n1, %n2, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>",
        "%iota = stablehlo.dynamic_iota %shape, dim = 1 : (tensor<2xi32>) -> tensor<?x?xf32>",
        "%row = stablehlo.slice %a0 [0:1, 0:3] : (tensor<2x3xf32>) -> tensor<1x3xf32>",
        "%flat = stablehlo.reshape %row : (tensor<1x3xf32>) -> tensor<3xf32>",
        "%spread = stablehlo.dynamic_broadcast_in_dim %flat, %shape, dims = [0] : (tensor<3xf32>, tensor<2xi32>) -> tensor<?x?xf32>",
        "%sum = stablehlo.add %iota, %spread : tensor<?x?xf32>",
        "%zero = stablehlo.constant dense<0.0> : tensor<f32>",
        "%low = stablehlo.concatenate %one, %n1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>",
        "%none = stablehlo.subtract %low, %low : tensor<2xi32>",
        "%padded = stablehlo.dynamic_pad %sum, %zero, %low, %none, %none : (tensor<?x?xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>",
        "%strides = stablehlo.constant dense<1> : tensor<2xi32>",
        "%limit = stablehlo.add %low, %shape : tensor<2xi32>",
        "%cut = stablehlo.real_dynamic_slice %padded, %low, %limit, %strides : (tensor<?x?xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>",
        "%r = stablehlo.transpose %cut, dims = [1, 0] : (tensor<?x?xf32>) -> tensor<?x?xf32>",
    ]
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    padded, turned = run(device, main(body, ["tensor<2x3xf32>"], [("%padded", "tensor<?x?xf32>"), ("%r", "tensor<?x?xf32>")]), x)
    wanted = np.arange(4, dtype=np.float32) + x[0][:, None]
    np.testing.assert_array_equal(padded, np.pad(wanted, ((1, 0), (3, 0))))
    np.testing.assert_array_equal(turned, wanted.T)


def test_memory_profile_counts_results_declared_open(device):
    """JAX takes such an array's shape from the module, so that it is open there."""
    body = ["%n = stablehlo.constant dense<[4, 3]> : tensor<2xi32>", "%r = stablehlo.dynamic_iota %n, dim = 1 : (tensor<2xi32>) -> tensor<?x?xf32>"]
    results = load(device, main(body, [], [("%r", "tensor<?x?xf32>")])).execute_sharded([]).disassemble_into_single_device_arrays()
    np.testing.assert_array_equal(results[0][0], np.tile(np.arange(3, dtype=np.float32), (4, 1)))
    assert jax.profiler.device_memory_profile()
