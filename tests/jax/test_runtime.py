"""What surrounds a computation: placement, donation, sizes, errors, threads, and the compiled object's own account."""

import concurrent.futures
import contextlib
import ctypes
import gc
import platform
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import PLATFORM
from harness import Case, assert_agrees, check

ON_KILN = pytest.mark.skipif(PLATFORM == "cpu", reason="asks for what XLA:CPU does not have")


@pytest.fixture(autouse=True)
def on_device(device):
    with jax.default_device(device):
        yield


def test_platform_name(device):
    assert device.platform == PLATFORM
    assert device.client.platform == PLATFORM


def test_device_describes_itself(device):
    assert PLATFORM in str(device).lower() + repr(device).lower() + device.device_kind.lower()
    assert device.process_index == 0
    assert device in jax.local_devices(backend=PLATFORM)
    assert [memory.kind for memory in device.addressable_memories()].count(device.default_memory().kind) == 1


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "bfloat16", "float32", "complex64"])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (3, 0, 2), (4, 5, 6)])
def test_round_trip_through_the_device(dtype, shape, device):
    array = (np.arange(np.prod(shape, dtype=int)) % 5).reshape(shape).astype(jnp.dtype(dtype))
    placed = jax.device_put(array, device)
    assert placed.devices() == {device}
    assert placed.dtype == array.dtype
    np.testing.assert_array_equal(np.asarray(placed), array)


@pytest.mark.parametrize("make", [lambda a: a.T, lambda a: a[::2, ::-1], lambda a: np.asfortranarray(a), lambda a: a[1:, 2:]])
def test_strided_host_arrays(make, device):
    array = make(np.arange(60, dtype=np.float32).reshape(6, 10))
    np.testing.assert_array_equal(np.asarray(jax.device_put(array, device)), array)


def test_host_array_may_change_after_put(device):
    array = np.ones(1000, np.float32)
    placed = jax.device_put(array.copy(), device) + 0
    array[:] = 5
    np.testing.assert_array_equal(np.asarray(placed), np.ones(1000))


def test_copy_between_platforms(device, reference_device):
    array = jax.device_put(np.arange(12.0, dtype=np.float32), device)
    there = jax.device_put(array, reference_device)
    back = jax.device_put(there, device)
    assert there.devices() == {reference_device} and back.devices() == {device}
    np.testing.assert_array_equal(np.asarray(back), np.arange(12.0))


def test_arguments_on_two_platforms_are_refused(device, reference_device):
    if device == reference_device:
        pytest.skip("one device")
    with pytest.raises(ValueError, match="[Ii]ncompatible devices"):
        jax.jit(jnp.add)(jax.device_put(1.0, device), jax.device_put(1.0, reference_device))


def test_large_array(device):
    x = jax.device_put(np.arange(1 << 24, dtype=np.float32), device)
    y = jax.jit(lambda v: v * 2 + 1)(x)
    np.testing.assert_array_equal(np.asarray(y), np.arange(1 << 24, dtype=np.float32) * 2 + 1)


def test_large_sum_of_integers():
    x = jnp.arange(1 << 22, dtype=jnp.uint32)
    assert int(jax.jit(jnp.sum)(x)) == ((1 << 22) * ((1 << 22) - 1) // 2) % (1 << 32)


def test_scan_of_no_steps():
    carry, outputs = jax.jit(lambda x: jax.lax.scan(lambda c, v: (c + v, v), jnp.float32(1), x))(jnp.zeros(0))
    assert float(carry) == 1 and outputs.shape == (0,)


def test_donated_argument_is_deleted():
    x = jnp.arange(1000.0)
    y = jax.jit(lambda v: v + 1, donate_argnums=0)(x)
    assert x.is_deleted()
    np.testing.assert_array_equal(np.asarray(y), np.arange(1000.0) + 1)
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(x)


def test_donated_buffer_is_reused():
    x = jax.block_until_ready(jnp.arange(4096.0))
    address = x.unsafe_buffer_pointer()
    y = jax.jit(lambda v: v + 1, donate_argnums=0)(x)
    assert y.unsafe_buffer_pointer() == address


def test_donation_in_a_loop():
    step = jax.jit(lambda state, x: {"a": state["a"] + x, "b": state["b"] * 0.5}, donate_argnums=0)
    state = {"a": jnp.zeros(100), "b": jnp.ones(100)}
    for i in range(50):
        state = step(state, jnp.float32(i))
    np.testing.assert_allclose(np.asarray(state["a"]), np.full(100, 49 * 50 / 2), rtol=1e-6)
    np.testing.assert_allclose(np.asarray(state["b"]), np.full(100, 0.5**50), rtol=1e-6)


def test_errors_have_the_words_that_programs_look_for(device, reference_device):
    for each in (device, reference_device):
        with jax.default_device(each):
            x = jnp.arange(8.0)
            with pytest.raises(jax.errors.JaxRuntimeError, match="Attempt to use a buffer that was previously donated"):
                jax.jit(lambda a, b: a + b, donate_argnums=0)(x, x)
            add = jax.jit(lambda a: a + 1, donate_argnums=0)
            y = jnp.arange(8.0)
            add(y)
            with pytest.raises(ValueError, match="Invalid buffer passed .*: Buffer has been deleted or donated"):
                add(y)
            with pytest.raises(jax.errors.JaxRuntimeError, match="RESOURCE_EXHAUSTED: Out of memory allocating"):
                jax.jit(lambda: jnp.zeros(1 << 44, jnp.uint8))()


def test_argument_that_is_a_result():
    x = jnp.arange(10.0)
    y = jax.jit(lambda v: v)(x)
    x.delete()
    np.testing.assert_array_equal(np.asarray(y), np.arange(10.0))


def test_memory_is_given_back(device):
    step = jax.jit(lambda v: v * 1.5)
    x = jnp.ones(1 << 20)
    for _ in range(200):
        x = step(x)
    del x
    gc.collect()
    stats = device.memory_stats()
    if stats is not None and "bytes_in_use" in stats:
        assert stats["bytes_in_use"] < 200 * (1 << 22)


def test_many_threads_run_one_program():
    step = jax.jit(lambda v: jnp.tanh(v @ v.T).sum())
    inputs = [np.random.default_rng(i).standard_normal((40, 30)).astype(np.float32) for i in range(32)]
    alone = [float(step(x)) for x in inputs]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda x: float(step(x)), inputs))
    assert alone == together


def test_many_threads_compile(device):
    def compile_and_run(i):
        with jax.default_device(device):
            return float(jax.jit(lambda v: (v * (i + 1)).sum())(np.ones(10 + i, np.float32)))

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(compile_and_run, range(24))) == [(i + 1) * (10 + i) for i in range(24)]


def test_asynchronous_dispatch_keeps_order():
    x = jnp.zeros(10000)
    add = jax.jit(lambda v: v + 1)
    for _ in range(300):
        x = add(x)
    np.testing.assert_array_equal(np.asarray(x), np.full(10000, 300.0))


def test_ahead_of_time_compilation(device):
    lowered = jax.jit(lambda a, b: jax.nn.relu(a @ b)).trace(
        jax.ShapeDtypeStruct((8, 9), jnp.float32), jax.ShapeDtypeStruct((9, 4), jnp.float32)
    ).lower(lowering_platforms=(PLATFORM,))
    compiled = lowered.compile()
    a, b = np.ones((8, 9), np.float32), np.ones((9, 4), np.float32)
    np.testing.assert_array_equal(np.asarray(compiled(a, b)), np.full((8, 4), 9.0))


@ON_KILN
def test_compiled_program_tells_what_was_generated():
    compiled = jax.jit(lambda x: jnp.exp(x) + 1).lower(np.ones((8, 16), np.float32)).compile()
    analysis = compiled.cost_analysis()
    assert analysis["kernels"] >= 1
    assert analysis["fused operations"] >= 2
    assert analysis["bytes accessed"] == 2 * 8 * 16 * 4


def test_memory_analysis():
    compiled = jax.jit(lambda x: jnp.exp(x)[:64]).lower(np.ones(256, np.float32)).compile()
    analysis = compiled.memory_analysis()
    assert analysis.argument_size_in_bytes == 1024
    assert analysis.output_size_in_bytes == 256


def test_disabled_jit(device, reference_device):
    with jax.disable_jit():
        x = jnp.sin(jnp.arange(5.0)) * 2
    assert x.devices() == {device}
    np.testing.assert_allclose(np.asarray(x), 2 * np.sin(np.arange(5.0)), rtol=1e-6)


def test_op_by_op(device):
    x = jnp.arange(6.0).reshape(2, 3)
    result = (x @ x.T + 1)[0].sum() / 2
    assert result.devices() == {device}
    np.testing.assert_allclose(float(result), (np.arange(6.0).reshape(2, 3) @ np.arange(6.0).reshape(2, 3).T + 1)[0].sum() / 2)


def test_recompiles_for_each_shape_and_type():
    double = jax.jit(lambda v: v + v)
    for shape in [(1,), (2, 3), (), (0,), (5, 1, 2)]:
        for dtype in (np.float32, np.int32, np.float16):
            result = double(np.ones(shape, dtype))
            assert result.shape == shape and result.dtype == dtype
            np.testing.assert_array_equal(np.asarray(result), np.full(shape, 2, dtype))


def test_static_argument_and_closure():
    scale = np.float32(2.5)
    function = jax.jit(lambda x, n: scale * x**n, static_argnums=1)
    for n in range(4):
        np.testing.assert_allclose(np.asarray(function(np.float32([1, 2, 3]), n)), 2.5 * np.float32([1, 2, 3]) ** n, rtol=1e-6)


def test_nan_is_found_when_asked():
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        jax.jit(jnp.log)(jnp.float32(-1)).block_until_ready()


@ON_KILN
def test_unknown_custom_call_is_an_error_that_names_it():
    call = jax.ffi.ffi_call("no_such_target_anywhere", jax.ShapeDtypeStruct((3,), np.float32))
    with pytest.raises(Exception, match="no_such_target_anywhere"):
        jax.jit(call)(np.ones(3, np.float32))


def test_program_runs_after_a_refused_one(device, reference_device):
    call = jax.ffi.ffi_call("no_such_target_anywhere", jax.ShapeDtypeStruct((3,), np.float32))
    with pytest.raises(Exception):
        jax.jit(call)(np.ones(3, np.float32)).block_until_ready()
    check(Case("after_a_refused_one", lambda x: x + 1, lambda rng: (np.ones(3, np.float32),)), device, reference_device)


def test_two_platforms_in_turn(device, reference_device):
    step = jax.jit(lambda v: jnp.tanh(v) + 1)
    x = np.linspace(-1, 1, 64, dtype=np.float32)
    here = step(jax.device_put(x, device))
    there = step(jax.device_put(x, reference_device))
    assert here.devices() == {device} and there.devices() == {reference_device}
    assert_agrees(np.asarray(here), np.asarray(there))


def test_import_and_first_use_give_no_python_warning():
    program = f"import jax; print(jax.jit(lambda x: x + 1)(1.0).devices(), jax.devices({PLATFORM!r})[0].platform)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == PLATFORM


def test_process_that_never_uses_its_results_ends_cleanly():
    program = "import jax, jax.numpy as jnp\nx = jnp.ones((500, 500))\nfor _ in range(20): x = jax.jit(jnp.matmul)(x, x) / 500\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@contextlib.contextmanager
def host_environment(control):
    """The floating-point control register of this thread, as a host program may set it (x86 alone has this layout)."""
    libm = ctypes.CDLL("libm.so.6")
    before, environment = ctypes.create_string_buffer(64), ctypes.create_string_buffer(64)
    assert libm.fegetenv(before) == 0 and libm.fegetenv(environment) == 0
    ctypes.c_uint32.from_buffer(environment, 28).value = control
    assert libm.fesetenv(environment) == 0
    try:
        yield lambda: libm.fegetenv(environment) or ctypes.c_uint32.from_buffer(environment, 28).value
    finally:
        libm.fesetenv(before)


@ON_KILN
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the control register is that of x86-64")
@pytest.mark.parametrize("size", [1000, 1 << 20])
def test_keeps_its_own_floating_point_environment(device, size):
    def program(x):
        folded = jnp.float32(1e-30) * jnp.float32(1e-10)  # subnormal, known to the compiler
        return x * 1e-4 + folded, x.sum() / 3, jnp.exp(x * 1e36)

    x = jax.device_put(np.linspace(1e-38, 2e-36, size, dtype=np.float32), device)
    expected = [np.asarray(r).view(np.uint32) for r in jax.jit(program)(x)]
    ready = jax.jit(program).lower(x).compile()
    lowered = jax.jit(lambda x: program(x)).lower(x)
    flush_and_round_up = 0x1F80 | 0x8000 | 0x0040 | 0x4000
    with host_environment(flush_and_round_up) as control:
        results = [ready(x)]
        jax.block_until_ready(results)
        # Threads that are started now begin with this environment.
        results.append(lowered.compile()(x))
        jax.block_until_ready(results)
        assert control() & ~0x3F == flush_and_round_up
    for result in results:
        for actual, value in zip(result, expected):
            np.testing.assert_array_equal(np.asarray(actual).view(np.uint32), value)


def test_products_leave_the_callers_subnormals_alone(device):
    """Large products count subnormals as zeros while they run, in the calling thread where they are short."""
    tiny = np.full((128, 128), 1e-40, np.float32)
    product = np.asarray(jax.jit(jnp.matmul)(jax.device_put(tiny, device), jax.device_put(np.ones((128, 128), np.float32), device)))
    assert np.all(np.abs(product) <= 1.5e-38)
    assert np.float32(1e-30) * np.float32(1e-10) > 0


@ON_KILN
def test_elementwise_work_keeps_subnormals(device):
    x = np.full(1 << 18, 1e-40, np.float32)
    doubled, halved = jax.jit(lambda x: (x * 2, x / 3 * 1.5))(jax.device_put(x, device))
    np.testing.assert_array_equal(np.asarray(doubled), x * 2)
    np.testing.assert_allclose(np.asarray(halved), x / 2, rtol=1e-4)


@ON_KILN
def test_weights_that_underflow_are_zeros(device):
    """Sums of exponentials count subnormals as zeros where there are many, and keep what is normal."""
    x = np.zeros((256, 512), np.float32)
    x[:, 1:] = -95
    x[:, 1] = -87.2
    weights = np.asarray(jax.jit(jax.nn.softmax)(jax.device_put(x, device)))
    assert np.all(weights[:, 0] == 1) and np.all(weights[:, 2:] == 0)
    np.testing.assert_allclose(weights[:, 1], np.exp(np.float64(x[0, 1])), rtol=1e-6)


@ON_KILN
def test_loops_with_products_count_subnormals_as_zeros(device):
    """In all of their work, on all threads; and in nothing before or behind them."""

    def program(w, x):
        product, scaled = jax.lax.fori_loop(0, 40, lambda i, s: (w @ s[0], s[1] * 0.999), (jnp.ones(4), x))
        return scaled, x * 0.5, product

    x = np.full(1 << 20, 1e-38, np.float32)
    inside, outside, product = jax.jit(program)(jax.device_put(np.eye(4, dtype=np.float32), device), jax.device_put(x, device))
    assert np.all(np.asarray(inside) == 0)
    np.testing.assert_array_equal(np.asarray(outside), x * np.float32(0.5))
    np.testing.assert_array_equal(np.asarray(product), 1)
