"""Host callbacks on Kiln against what XLA:CPU calls and returns."""

import gc
import os
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import PLATFORM
from jax.experimental import checkify, io_callback
from jax.experimental.buffer_callback import buffer_callback

pytestmark = pytest.mark.skipif(PLATFORM != "kiln", reason="about Kiln beside XLA:CPU")


FULL = os.environ.get("KILN_FULL_TESTS") == "1"


@pytest.fixture(autouse=True, params=["kiln", "cpu"] if FULL else ["kiln"])
def platform(request):
    """With KILN_FULL_TESTS=1 on XLA:CPU as well: each test says what it does too."""
    with jax.default_device(jax.devices(request.param)[0]):
        yield request.param
        jax.effects_barrier()


def shape_of(array):
    return jax.ShapeDtypeStruct(np.shape(array), np.asarray(array).dtype)


def doubled(x):
    return jax.pure_callback(lambda v: np.asarray(v) * 2, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="expand_dims")


# What goes through.
DTYPES = ["bool", "int4", "uint4", "int8", "uint16", "int32", "float16", "bfloat16", "float8_e5m2", "float32", "complex64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0, 2), (5,), (2, 3)] if FULL else [(0, 2), (2, 3)])
def test_types_and_shapes(dtype, shape):
    array = (np.arange(np.prod(shape, dtype=int)) % 2).reshape(shape).astype(jnp.dtype(dtype))
    seen = []

    def reverse(v):
        seen.append(np.asarray(v))
        return np.asarray(v)[..., ::-1] if np.ndim(v) else np.asarray(v)

    result = jax.jit(lambda v: jax.pure_callback(reverse, jax.ShapeDtypeStruct(shape, array.dtype), v))(array)
    if array.size:  # XLA drops calls that can only give empty arrays
        assert seen[0].dtype == array.dtype and seen[0].shape == shape
        np.testing.assert_array_equal(seen[0], array)
    np.testing.assert_array_equal(np.asarray(result), array[..., ::-1] if shape else array)


def test_wide_types():
    with jax.enable_x64(True):
        for dtype in (np.int64, np.float64, np.complex128, np.uint64):
            x = np.arange(3).astype(dtype)
            np.testing.assert_array_equal(np.asarray(jax.jit(doubled)(x)), x * 2)


def test_trees_in_and_out():
    def function(tree, scale):
        return {"sum": np.float32(tree["a"].sum() + tree["b"][0].sum()), "parts": (tree["a"] * scale, np.int32(scale))}

    tree = {"a": np.ones((2, 3), np.float32), "b": [np.arange(4.0, dtype=np.float32)]}
    shapes = {"sum": jax.ShapeDtypeStruct((), np.float32), "parts": (shape_of(tree["a"]), jax.ShapeDtypeStruct((), np.int32))}
    result = jax.jit(lambda t, s: jax.pure_callback(function, shapes, t, s))(tree, np.float32(3))
    assert float(result["sum"]) == 12 and int(result["parts"][1]) == 3
    np.testing.assert_array_equal(np.asarray(result["parts"][0]), np.full((2, 3), 3))


def test_no_results_and_no_operands():
    calls = []
    jax.jit(lambda: (io_callback(lambda: calls.append(1), None), 0)[1])()
    jax.effects_barrier()
    assert calls == [1]
    assert float(jax.jit(lambda: jax.pure_callback(lambda: np.float32(7), jax.ShapeDtypeStruct((), np.float32)))()) == 7


def test_large_arrays():
    x = np.arange(1 << 21, dtype=np.float32)
    np.testing.assert_array_equal(np.asarray(jax.jit(lambda v: doubled(v + 1) + 1)(x)), (x + 1) * 2 + 1)


def test_arguments_may_be_kept():
    kept = []
    step = jax.jit(lambda v: (io_callback(kept.append, None, v), v * 2)[1])
    x = jnp.ones(2000)
    for _ in range(5):
        x = step(x)
    jax.effects_barrier()
    assert sorted(float(np.asarray(v).max()) for v in kept) == [1, 2, 4, 8, 16]
    assert all(np.ptp(np.asarray(v)) == 0 for v in kept)


def test_results_that_do_not_match_are_refused():
    for value, message in ((np.zeros(3), "shape"), (np.zeros(2, np.int32), "dtype"), ((np.zeros(2), np.zeros(2)), "outputs|shape")):
        with pytest.raises(Exception, match=message):
            call = jax.jit(lambda v: jax.pure_callback(lambda _: value, jax.ShapeDtypeStruct((2,), np.float32), v))
            call(np.zeros(2, np.float32)).block_until_ready()


# Where callbacks stand.
def test_vmap_and_its_methods():
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    calls = []

    def function(v):
        calls.append(np.shape(v))
        return np.asarray(v) * 2

    for method, shapes in (("sequential", [(2,)] * 3), ("expand_dims", [(3, 2)]), ("broadcast_all", [(3, 2)])):
        calls.clear()
        mapped = jax.jit(jax.vmap(lambda v: jax.pure_callback(function, jax.ShapeDtypeStruct((2,), np.float32), v, vmap_method=method)))
        np.testing.assert_array_equal(np.asarray(mapped(x)), x * 2)
        assert calls == shapes


def test_control_flow():
    x = np.float32(1)
    scanned = jax.jit(lambda v: jax.lax.scan(lambda c, _: (doubled(c), c), v, None, length=5))(x)
    assert float(scanned[0]) == 32 and np.asarray(scanned[1]).tolist() == [1, 2, 4, 8, 16]
    assert float(jax.jit(lambda v: jax.lax.while_loop(lambda c: c < 100, doubled, v))(x)) == 128
    branch = jax.jit(lambda p, v: jax.lax.cond(p, doubled, lambda u: u, v))
    assert [float(branch(p, x)) for p in (True, False)] == [2, 1]
    seen = []
    jax.jit(lambda p, v: jax.lax.cond(p, lambda u: jax.debug.callback(seen.append, u), lambda u: None, v))(False, x)
    jax.effects_barrier()
    assert seen == []


def test_gradient_through_custom_rules():
    @jax.custom_vjp
    def sine(x):
        return jax.pure_callback(lambda v: np.sin(v), jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    sine.defvjp(lambda x: (sine(x), x), lambda x, g: (jax.pure_callback(lambda v, w: np.cos(v) * w, jax.ShapeDtypeStruct(x.shape, x.dtype), x, g),))
    x = np.linspace(0, 1, 7, dtype=np.float32)
    np.testing.assert_allclose(np.asarray(jax.jit(jax.grad(lambda v: sine(v).sum()))(x)), np.cos(x), rtol=1e-6)
    seen = []

    def loud(v):
        jax.debug.callback(lambda u: seen.append(float(u)), v)
        return jnp.sin(v)

    jax.jit(jax.grad(loud))(np.float32(2))
    jax.effects_barrier()
    assert seen == [2.0]


def test_buffers_written_in_place():
    seen = []

    def scale(ctx, out, x, *, by):
        seen.append((ctx.stage.name, out["y"].writeable, x.writeable, x.dtype, x.shape, x.ndim))
        np.asarray(out["y"])[...] += np.from_dlpack(x) * np.asarray(by)

    x = jnp.arange(6.0).reshape(2, 3)
    call = buffer_callback(scale, {"y": shape_of(x)}, input_output_aliases={0: 0}, vmap_method="sequential")
    np.testing.assert_array_equal(jax.jit(call)(x, by=jnp.float32(2))["y"], x * 3)
    assert seen == [("EXECUTE", True, False, np.float32, (2, 3), 2)]
    np.testing.assert_array_equal(jax.vmap(lambda v: call(v, by=jnp.float32(2))["y"])(jnp.stack([x, x + 1]))[1], (x + 1) * 3)
    with pytest.raises(RuntimeError, match="must not return"):
        jax.block_until_ready(buffer_callback(lambda ctx, out, v: v, shape_of(x))(x))


@pytest.mark.parametrize("first", ["from jax.experimental.sparse.linalg import spsolve", "jax.devices()"])
def test_sparse_systems_by_scipy(first):
    program = f"""
        import jax, numpy as np
        {first}
        from jax.experimental.sparse.linalg import spsolve
        solve = lambda b: spsolve(np.float32([2, 1, 4]), np.int32([0, 1, 1]), np.int32([0, 2, 3]), b)
        print(jax.jit(solve)(np.float32([8, 8])), jax.grad(lambda b: solve(b).sum())(np.float32([8, 8])))"""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["[3.", "2.]", "[0.5", "0.125]"], done.stderr


# Effects and their order.
def test_print(capsys):
    @jax.jit
    def function(x):
        jax.debug.print("x = {} {name}", x[0], name=x.sum())
        jax.debug.print("no operands")
        return x

    function(np.arange(3.0, dtype=np.float32))
    jax.effects_barrier()
    assert sorted(capsys.readouterr().out.split("\n")) == ["", "no operands", "x = 0.0 3.0"]


def test_ordered_print_in_scan(capsys):
    def body(carry, x):
        jax.debug.print("first {}", x, ordered=True)
        carry = carry + x
        jax.debug.print("then {}", carry, ordered=True)
        return carry, x * 2

    function = jax.jit(lambda v: jax.lax.scan(body, 0, v)[0])
    for start in (0, 10):
        function(np.arange(start, start + 3))
    jax.effects_barrier()
    expected = []
    for start in (0, 10):
        total = 0
        for x in range(start, start + 3):
            total += x
            expected += [f"first {x}", f"then {total}"]
    assert capsys.readouterr().out.split("\n")[:-1] == expected


def test_ordered_effects_over_several_programs():
    log = []
    step = jax.jit(lambda v, i: (io_callback(lambda a: log.append(int(a)), None, i, ordered=True), v @ v)[1])
    x = jnp.eye(200)
    for i in range(20):
        x = step(x, i)
    jax.effects_barrier()
    assert log == list(range(20))


def test_ordered_callbacks_with_results():
    counter = iter(range(100))
    draw = lambda: io_callback(lambda: np.int32(next(counter)), jax.ShapeDtypeStruct((), np.int32), ordered=True)
    function = jax.jit(lambda: jax.lax.fori_loop(0, 4, lambda i, c: c * 10 + draw(), draw()))
    assert int(function()) == 1234
    assert int(function()) == 5 * 10000 + 6789


# Errors.
def test_exceptions_come_back():
    def fail(v):
        raise KeyError(f"no such thing as {int(v)}")

    function = jax.jit(lambda v: jax.pure_callback(fail, jax.ShapeDtypeStruct((), np.int32), v) + 1)
    for _ in range(2):
        with pytest.raises(jax.errors.JaxRuntimeError, match="no such thing as 3"):
            function(3).block_until_ready()

    def effect(v):
        io_callback(fail, None, v)
        return v

    with pytest.raises(jax.errors.JaxRuntimeError, match="no such thing as 4"):
        jax.jit(effect)(4).block_until_ready()
        jax.effects_barrier()
    jax.clear_caches()
    assert float(jax.jit(doubled)(np.float32(4))) == 8
    dispatch = jax._src.dispatch.runtime_tokens
    dispatch.clear()


def test_checkify_and_debug_checks():
    def function(x):
        checkify.check(jnp.all(x > 0), "found {low}", low=x.min())
        return jnp.log(x)

    checked = jax.jit(checkify.checkify(function, errors=checkify.all_checks))
    error, _ = checked(np.float32([1, 2]))
    error.throw()
    error, _ = checked(np.float32([1, -2]))
    with pytest.raises(Exception, match="found -2.0"):
        error.throw()


# Callbacks that run JAX.
@pytest.mark.parametrize("inside", ["kiln", "cpu"])
def test_jax_inside(inside):
    device = jax.devices(inside)[0]
    product = jax.jit(lambda v: jnp.tanh(v @ v.T).sum())

    def function(v):
        with jax.default_device(device):
            return np.asarray(product(jax.device_put(np.asarray(v), device)) + doubled(jnp.ones(()))[()])

    outer = jax.jit(lambda v: jax.pure_callback(function, jax.ShapeDtypeStruct((), np.float32), v @ v) + 1)
    x = np.full((150, 150), 0.01, np.float32)
    results = [outer(x) for _ in range(6)]
    assert len({float(r) for r in results}) == 1


def test_more_callbacks_at_once_than_threads():
    count = 4 * (os.cpu_count() or 1)
    barrier = threading.Barrier(count, timeout=60)

    def wait(v):
        barrier.wait()
        return np.asarray(jax.jit(jnp.sin)(v))

    function = jax.jit(lambda v, w: jax.pure_callback(wait, jax.ShapeDtypeStruct((), np.float32), v) + (w @ w).sum() * 0)
    w = np.zeros((300, 300), np.float32)
    results = [None] * count

    def call(i):
        with jax.default_device(jax.devices("kiln")[0]):
            results[i] = float(function(np.float32(i), w))

    threads = [threading.Thread(target=call, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(90)
    np.testing.assert_allclose(results, np.sin(np.arange(count)), rtol=1e-5, atol=1e-6)


# Lifetimes.
def test_function_outlives_its_program_in_flight():
    seen = []
    for i in range(20):
        # The jitted function and its closure are gone before the program has run.
        jax.jit(lambda v, i=i: (jax.debug.callback(lambda u: (time.sleep(0.002), seen.append(i)), v), v)[1])(np.float32(i))
    gc.collect()
    jax.effects_barrier()
    assert sorted(seen) == list(range(20))


def test_functions_are_let_go(platform):
    class Owned:
        def __call__(self, v):
            return np.asarray(v) + 1

    owned = Owned()
    alive = weakref.ref(owned)
    function = jax.jit(lambda v, f=owned: jax.pure_callback(f, jax.ShapeDtypeStruct((), np.float32), v))
    assert float(function(np.float32(1))) == 2
    del function, owned
    jax.clear_caches()
    gc.collect()
    if platform == "kiln":
        from jax_plugins.kiln import callbacks

        callbacks._forget()
    gc.collect()
    assert alive() is None


def test_process_ends_with_callbacks_in_flight(platform):
    program = f"""
        import jax, jax.numpy as jnp, numpy as np, time
        with jax.default_device(jax.devices({platform!r})[0]):
            slow = lambda v: (time.sleep(0.05), np.asarray(v))[1]
            x = jax.jit(lambda v: jax.pure_callback(slow, jax.ShapeDtypeStruct((300, 300), np.float32), v @ v))(jnp.ones((300, 300)))
            jax.jit(lambda v: jax.debug.print("printed {{}}", v))(3)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "printed 3\n"


def test_breakpoint_goes_on():
    program = "import jax\njax.jit(lambda v: (jax.debug.breakpoint(), v)[1])(1.0).block_until_ready(); jax.effects_barrier(); print('done')"
    done = subprocess.run([sys.executable, "-c", program], input="c\n", capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.endswith("done\n"), done.stderr


def test_export_refuses_callbacks():
    exported = jax.export.export(jax.jit(doubled), platforms=[jax.devices()[0].platform])
    with pytest.raises(Exception, match="callback"):
        exported(jax.ShapeDtypeStruct((2,), np.float32)).serialize()
