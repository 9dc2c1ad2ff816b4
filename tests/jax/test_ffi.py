"""Custom calls: handlers compiled against jaxlib's headers, registered and called as users do it."""

import ctypes
import os
import shutil
import subprocess

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import PLATFORM
from jax._src.interpreters import mlir
from jaxlib.mlir.dialects import stablehlo as hlo

HANDLERS = ("scale", "attributes", "describe", "fill_all", "raw", "in_place", "note", "note_token", "later", "contexts", "stream", "complexes", "to_bytes", "from_bytes")
ON_KILN = pytest.mark.skipif(PLATFORM == "cpu", reason="asks for what XLA:CPU does differently")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    compiler = shutil.which("clang++-19") or shutil.which("c++")
    path = tmp_path_factory.mktemp("ffi") / "handlers.so"
    source = os.path.join(os.path.dirname(__file__), "ffi_handlers.cc")
    subprocess.run([compiler, "-std=c++20", "-O0", "-w", "-shared", "-fPIC", "-I" + jax.ffi.include_dir(), source, "-o", path], check=True)
    loaded = ctypes.CDLL(str(path))
    capsule = lambda name: jax.ffi.pycapsule(getattr(loaded, name))  # noqa: E731
    for name in HANDLERS:
        jax.ffi.register_ffi_target(name, capsule(name), platform=PLATFORM)
    for name in ("counter_id", "counter_info"):
        getattr(loaded, name).restype = ctypes.c_void_p
    jax.ffi.register_ffi_type(
        "test_counter",
        {"type_id": jax.ffi.pycapsule(loaded.counter_id()), "type_info": jax.ffi.pycapsule(loaded.counter_info())},
        platform=PLATFORM,
    )
    stages = {stage: capsule(f"state_{stage}") for stage in ("instantiate", "prepare", "initialize", "execute")}
    jax.ffi.register_ffi_target("state", stages, platform=PLATFORM)
    return loaded


@pytest.fixture(autouse=True)
def on_device(device):
    with jax.default_device(device):
        yield


def like(x):
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def scale(x, by):
    return jax.ffi.ffi_call("scale", like(x), vmap_method="broadcast_all")(x, scale=np.float32(by))


def note(x, number, **options):
    return jax.ffi.ffi_call("note", like(x), has_side_effect=True, **options)(x, id=np.int64(number))


def take_log(library):
    out = (ctypes.c_int64 * 1000)()
    return list(out[: library.take_log(out)])


X = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_call(library):
    np.testing.assert_array_equal(jax.jit(scale, static_argnums=1)(X, 2.5), X * np.float32(2.5))


def test_call_amid_generated_code(library):
    f = jax.jit(lambda x: jnp.sum(scale(jnp.sin(x), 3.0) ** 2, axis=0) + scale(x[0], 2.0))
    np.testing.assert_allclose(f(X), np.sum((np.sin(X) * 3) ** 2, axis=0) + X[0] * 2, rtol=1e-5)


def test_call_in_loops_and_branches(library):
    f = jax.jit(lambda x: jax.lax.fori_loop(0, 5, lambda i, v: scale(v, 2.0) + 1, x))
    np.testing.assert_array_equal(f(X), X * 32 + 31)
    g = jax.jit(lambda x, p: jax.lax.cond(p, lambda v: scale(v, 2.0), lambda v: scale(v, 3.0), x))
    np.testing.assert_array_equal(g(X, True), X * 2)
    np.testing.assert_array_equal(g(X, False), X * 3)
    h = jax.jit(lambda x: jax.lax.while_loop(lambda v: scale(v, 1.0)[0] < 100, lambda v: scale(v, 2.0), x))
    np.testing.assert_array_equal(h(np.float32([1, 3])), [128, 384])
    _, s = jax.jit(lambda x: jax.lax.scan(lambda c, v: (c + 1, scale(v, 2.0)), 0, x))(X)
    np.testing.assert_array_equal(s, X * 2)


@pytest.mark.parametrize("method", ["broadcast_all", "sequential", "expand_dims"])
def test_vmap(library, method):
    f = lambda x: jax.ffi.ffi_call("scale", like(x), vmap_method=method)(x, scale=np.float32(2))  # noqa: E731
    np.testing.assert_array_equal(jax.jit(jax.vmap(f))(X), X * 2)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (70, 50)], ids=str)
def test_shapes(library, shape):
    x = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    np.testing.assert_array_equal(jax.jit(scale, static_argnums=1)(x, 2.0), x * 2)


def test_every_kind_of_attribute(library):
    with jax.enable_x64(True):
        call = jax.ffi.ffi_call("attributes", jax.ShapeDtypeStruct((20,), np.float64))
        attributes = dict(
            flag=True, s8=np.int8(-5), s16=np.int16(-300), s32=np.int32(-70000), s64=-(2**62), u8=np.uint8(200), u16=np.uint16(60000),
            u32=np.uint32(4 * 10**9), u64=np.uint64(2**60), f32=np.float32(1.5), f64=np.float64(0.1), text='a "quoted" \\ text\n\u00e9',
            ints=np.arange(100), floats=np.float32([0.25, 0.5]), doubles=np.full(100, 0.125), bytes=np.int8([-1, 3]),
            dictionary={"depth": np.int64(3), "name": "four", "x": np.float32(0.75)},
        )  # fmt: skip
        actual = np.asarray(jax.jit(lambda: call(**attributes))())
    text = attributes["text"].encode()
    expected = [1, -5, -300, -70000, -(2.0**62), 200, 60000, 4e9, 2.0**60, 1.5, 0.1, len(text), text[0], 4950, 0.75, 12.5, 2, 3, 4, 0.75]
    np.testing.assert_array_equal(actual, expected)


def test_any_number_of_arguments_and_results(library):
    arguments = (X, np.zeros((), np.int8), np.zeros((2, 0), bool), jnp.zeros(5, jnp.bfloat16), np.zeros(3, np.complex64))
    rows = jax.jit(jax.ffi.ffi_call("describe", jax.ShapeDtypeStruct((5, 4), np.int32)))(*arguments)
    expected = [[11, 2, 3, 4], [2, 0, -1, -1], [1, 2, 2, 0], [16, 1, 5, -1], [15, 1, 3, -1]]
    np.testing.assert_array_equal(rows, expected)
    shapes = [jax.ShapeDtypeStruct(shape, np.float32) for shape in ((), (3,), (2, 2), (0,))]
    for index, result in enumerate(jax.jit(jax.ffi.ffi_call("fill_all", shapes))()):
        np.testing.assert_array_equal(result, np.full(shapes[index].shape, index, np.float32))
    assert jax.jit(jax.ffi.ffi_call("fill_all", []))() == []


def test_complex_numbers(library):
    z = (X + 1j * X.T.reshape(3, 4)).astype(np.complex64)
    np.testing.assert_array_equal(jax.jit(jax.ffi.ffi_call("complexes", like(z)))(z), z.conj())


@pytest.mark.parametrize("dtype, packed", [("int4", [0xE1, 0x43, 0x85]), ("uint4", [0xE1, 0x43, 0x05])])
def test_narrow_types_are_packed(library, dtype, packed):
    x = jnp.array([1, -2, 3, 4, 5, -8] if dtype == "int4" else [1, 14, 3, 4, 5], dtype)
    f = jax.jit(lambda x: jax.ffi.ffi_call("to_bytes", jax.ShapeDtypeStruct((3,), np.uint8))(x + jnp.array(0, dtype)))
    np.testing.assert_array_equal(f(x), packed)
    g = jax.jit(lambda b: jax.ffi.ffi_call("from_bytes", like(x))(b))
    np.testing.assert_array_equal(np.asarray(g(np.uint8(packed))).astype(int), np.asarray(x).astype(int))


def test_layouts(library):
    call = lambda **layouts: jax.jit(jax.ffi.ffi_call("raw", like(X), **layouts))(X)  # noqa: E731
    np.testing.assert_array_equal(call(), X)
    # The handler moves the bytes as they lie.
    np.testing.assert_array_equal(call(input_layouts=[(1, 0)]), X.T.reshape(3, 4))
    np.testing.assert_array_equal(call(output_layouts=(1, 0)), X.reshape(4, 3).T)
    np.testing.assert_array_equal(call(input_layouts=[(1, 0)], output_layouts=(1, 0)), X)
    square = np.arange(9, dtype=np.float32).reshape(3, 3)
    f = jax.ffi.ffi_call("raw", like(square), input_layouts=[(1, 0)])
    np.testing.assert_array_equal(jax.jit(lambda x: f(x) + f(x.T))(square), square.T + square)


def test_aliases(library):
    f = jax.ffi.ffi_call("in_place", like(X), input_output_aliases={0: 0})
    np.testing.assert_array_equal(jax.jit(f)(X), X + 1)
    # The old value is still wanted.
    np.testing.assert_array_equal(jax.jit(lambda x: (y := x * 2) + f(y))(X), X * 4 + 1)
    np.testing.assert_array_equal(jax.jit(lambda x: jax.lax.fori_loop(0, 4, lambda i, v: f(v), x))(X), X + 4)
    np.testing.assert_array_equal(jax.jit(f, donate_argnums=0)(jnp.array(X)), X + 1)
    np.testing.assert_array_equal(jax.jit(lambda: f(jnp.ones((3, 4))))(), np.full((3, 4), 2.0))


@ON_KILN
def test_side_effects_keep_their_order(library):
    @jax.jit
    def inner(x):
        note(x, 2)
        note(x * 0, 3)
        return x + 1

    @jax.jit
    def f(x):
        note(x, 1)
        y = inner(x)
        note(x - 1, 4)
        jax.lax.fori_loop(0, 3, lambda i, v: note(v, 5), x)  # its result is not used
        note(y, 6)
        z = inner(y)
        note(jnp.zeros_like(x), 7)
        jax.lax.cond(jnp.sum(x) > 0, lambda v: note(v, 8), lambda v: note(v, 9), z)
        note(jnp.zeros_like(x), 10)
        return x

    f(X).block_until_ready()
    jax.effects_barrier()
    assert take_log(library) == [1, 2, 3, 4, 5, 5, 5, 6, 2, 3, 7, 8, 10]


def test_tokens(library):
    def lowering(context, x):
        token = hlo.create_token()
        for number in (1, 2, 3):
            call = mlir.custom_call(
                "note_token", result_types=[token.type], operands=[token], has_side_effect=True, api_version=4,
                backend_config={"id": mlir.ir_attribute(np.int64(number))})  # fmt: skip
            token = call.results[0]
        return [x]

    primitive = jax.extend.core.Primitive("three_tokens")
    primitive.def_abstract_eval(lambda x: x)
    mlir.register_lowering(primitive, lowering)
    with jax.enable_x64(True):
        np.testing.assert_array_equal(jax.jit(primitive.bind)(X), X)
    assert take_log(library) == [1, 2, 3]


def counters(library):
    out = (ctypes.c_int64 * 4)()
    library.counters(out)
    return np.array(out)


@ON_KILN
def test_states(library):
    before = counters(library)
    call = jax.ffi.ffi_call("state", like(X))
    f = jax.jit(lambda x: call(call(x, start=np.int64(10)), start=np.int64(20))).lower(X).compile()
    np.testing.assert_array_equal(counters(library) - before, [2, 0, 0, 2])
    stages = 2 * (12000 + 12001)  # of one run: prepared with the element count, initialized from that
    np.testing.assert_array_equal(f(X), X + 10 + 20 + stages)
    np.testing.assert_array_equal(f(X), X + 11 + 21 + stages)
    np.testing.assert_array_equal(counters(library) - before, [2, 4, 4, 2])
    # Stages run once per run, the call itself in every round.
    g = jax.jit(lambda x: jax.lax.fori_loop(0, 3, lambda i, v: call(v, start=np.int64(0)), x)).lower(X).compile()
    np.testing.assert_array_equal(g(X), X + 0 + 1 + 2 + 3 * (stages / 2))
    np.testing.assert_array_equal(counters(library) - before, [3, 5, 5, 3])
    del f, g
    jax.clear_caches()
    np.testing.assert_array_equal(counters(library)[3], 0)


def test_instantiate_fails(library):
    with pytest.raises(jax.errors.JaxRuntimeError, match="cannot start at 13"):
        jax.jit(lambda x: jax.ffi.ffi_call("state", like(X))(x, start=np.int64(13)))(X)


@ON_KILN
def test_futures(library):
    f = jax.jit(lambda x: jax.ffi.ffi_call("later", like(x))(x) * 2)
    np.testing.assert_array_equal(f(X), (X + 1) * 2)
    with pytest.raises(jax.errors.JaxRuntimeError, match="DATA_LOSS.*late and wrong"):
        f(X - 5).block_until_ready()


@ON_KILN
def test_contexts(library, device):
    with jax.enable_x64(True):
        f = jax.jit(jax.ffi.ffi_call("contexts", jax.ShapeDtypeStruct((4,), np.int64)))
        first, second = np.asarray(f()), np.asarray(f())
    assert first[0] == 0 and first[1] >= 1 and first[3] == device.local_hardware_id
    assert first[2] != second[2]


@ON_KILN
def test_errors_name_the_call_and_its_place(library):
    f = jax.jit(scale, static_argnums=1)
    for number, message in ((-1, "OUT_OF_RANGE.*negative scale"), (2000, "INTERNAL.*C\\+\\+ exception: scale beyond all bounds")):
        with pytest.raises(jax.errors.JaxRuntimeError, match=message) as caught:
            f(X, number).block_until_ready()
        assert "test_ffi.py:" in str(caught.value) and "'scale'" in str(caught.value)
    # The program stops there, also in a loop, and the next run is not disturbed.
    g = jax.jit(lambda x: jax.lax.fori_loop(0, 9, lambda i, v: note(scale(v, -1), 1), x))
    with pytest.raises(jax.errors.JaxRuntimeError, match="negative scale"):
        g(X).block_until_ready()
    assert take_log(library) == []
    np.testing.assert_array_equal(f(X, 2.0), X * 2)
    with pytest.raises(jax.errors.JaxRuntimeError, match="(?s)'stream'.*no stream"):
        jax.jit(jax.ffi.ffi_call("stream", like(X)))(X).block_until_ready()


@ON_KILN
def test_refusals(library):
    def refused(call, message):
        with pytest.raises(jax.errors.JaxRuntimeError, match=message) as caught:
            jax.block_until_ready(jax.jit(call)(X))
        assert "test_ffi.py:" in str(caught.value)

    refused(jax.ffi.ffi_call("nowhere", like(X)), "custom call target 'nowhere'")
    refused(lambda x: jax.ffi.ffi_call("scale", like(X))(x), "'scale': .*[Ww]rong number of attributes")
    refused(lambda x: jax.ffi.ffi_call("scale", like(X))(x, x, scale=np.float32(1)), "'scale': .*[Ww]rong number of arguments")
    refused(lambda x: jax.ffi.ffi_call("scale", like(X))(x, scale=np.int32(1)), "'scale'")
    refused(lambda x: jax.ffi.ffi_call("scale", like(X))(x.astype(jnp.int32), scale=np.float32(1)), "'scale': ")
    refused(jax.ffi.ffi_call("scale", like(X), custom_call_api_version=1), "'scale' is registered for typed calls alone")


@ON_KILN
def test_registering_again(library):
    jax.ffi.register_ffi_target("scale", jax.ffi.pycapsule(library.scale), platform=PLATFORM)
    with pytest.raises(RuntimeError, match="'scale' has another handler"):
        jax.ffi.register_ffi_target("scale", jax.ffi.pycapsule(library.raw), platform=PLATFORM)
    with pytest.raises(ValueError, match="stages"):
        jax.ffi.register_ffi_target("odd", {"exec": jax.ffi.pycapsule(library.raw)}, platform=PLATFORM)
    with pytest.raises(RuntimeError, match="no execute stage"):
        jax.ffi.register_ffi_target("odd", {"prepare": jax.ffi.pycapsule(library.state_prepare)}, platform=PLATFORM)


@ON_KILN
def test_untyped_calls(library):
    from jax_plugins import kiln

    setter = ctypes.CDLL(str(kiln.library_path())).kiln_ffi_set_failure
    ctypes.c_void_p.in_dll(library, "set_failure").value = ctypes.cast(setter, ctypes.c_void_p).value
    for name in ("plain", "plain_status", "plain_unified"):
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(library, name)), platform=PLATFORM, api_version=0)
    x = np.float32([1, 2, 3, 4])
    call = lambda name, version, results, **more: jax.jit(  # noqa: E731
        jax.ffi.ffi_call(name, results, custom_call_api_version=version, **more)
    )
    np.testing.assert_array_equal(call("plain", 1, like(x))(x, x), x * 2)
    both = call("plain_status", 2, [like(x), like(x)])
    np.testing.assert_array_equal(both(x), [x + 1, x + 2])
    with pytest.raises(jax.errors.JaxRuntimeError, match="'plain_status': negative"):
        jax.block_until_ready(both(-x))
    np.testing.assert_array_equal(call("plain_unified", 3, like(x), legacy_backend_config="four")(x), x + 4)
    with pytest.raises(jax.errors.JaxRuntimeError, match="not four"):
        call("plain_unified", 3, like(x), legacy_backend_config="five")(x).block_until_ready()
