"""What JAX makes depend on a platform's name, against XLA:CPU: names, donation, memory kinds, layouts, export."""

import ctypes
import os
import pickle
import subprocess
import sys
import tempfile
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import PLATFORM
from jax import export
from jax.experimental.layout import Format, Layout
from jax.sharding import SingleDeviceSharding

pytestmark = pytest.mark.skipif(PLATFORM != "kiln", reason="about Kiln beside XLA:CPU")

KINDS = ["device", "pinned_host", "unpinned_host"]
MATRIX = np.arange(12.0, dtype=np.float32).reshape(3, 4)


@pytest.fixture(autouse=True)
def on_device(device):
    with jax.default_device(device):
        yield


@pytest.fixture(params=["kiln", "cpu"])
def either(request):
    """Both platforms: a test with it holds Kiln to what XLA:CPU does."""
    device = jax.devices(request.param)[0]
    with jax.default_device(device):
        yield device


# Names.
def run(program: str, **environment: str):
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    return done


def test_first_use_logs_nothing():
    assert run("import jax; jax.devices('kiln'); (jax.numpy.ones(3) + 1).block_until_ready()").stderr == ""


def test_callbacks_work_where_xla_cpu_is_left_out():
    program = "import jax\nprint(jax.jit(lambda x: jax.pure_callback(lambda v: v * 2, x, x))(1.5)); jax.debug.print('{}', 7)"
    assert run(program, JAX_PLATFORMS="kiln").stdout.split() == ["3.0", "7"]


def test_platform_by_name():
    with jax.default_device("kiln"):
        assert jnp.ones(2).devices() == {jax.devices("kiln")[0]}
    with jax.default_device("cpu"):
        assert jnp.ones(2).devices() == {jax.devices("cpu")[0]}
    with pytest.raises(ValueError, match="default_device"), jax.default_device("kilm"):
        pass
    assert jax.local_devices(backend="kiln") == jax.devices("kiln")


@pytest.mark.parametrize("first", ["import jax", "import jax; jax.devices()"])
def test_simulators_that_list_platforms(tmp_path, first):
    # MJX in the small: it chooses its implementation by names of platforms, and is imported before or after Kiln.
    source = tmp_path / "mujoco" / "mjx" / "_src"
    source.mkdir(parents=True)
    (source / "types.py").write_text("class Impl:\n    JAX = 'jax'\n")
    (source / "io.py").write_text(
        "from . import types\n"
        "def _resolve_impl(device):\n"
        "    if device.platform == 'cpu':\n"
        "        return 'for ' + device.platform\n"
        "    raise ValueError(device)\n"
        "def put_model(device):\n"
        "    return _resolve_impl(device)\n"
    )
    program = f"{first}; from mujoco.mjx._src import io; print([io.put_model(jax.devices(p)[0]) for p in ('kiln', 'cpu')])"
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    assert run(program, PYTHONPATH=path, JAX_PLATFORMS="kiln,cpu").stdout == "['jax', 'for cpu']\n"


# Donation.
def test_donation_warns_like_xla_cpu(either):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = jnp.ones(1000)
        y = jax.jit(lambda v: v + 1, donate_argnums=0)(x)
        assert x.is_deleted() and float(y.sum()) == 2000
    with pytest.warns(UserWarning, match="donated buffers were not usable: float32\\[16\\]"):
        jax.jit(lambda v: v[:3], donate_argnums=0)(jnp.arange(16.0))


# Memory kinds.
def test_kinds_of_memory(either):
    assert [memory.kind for memory in either.addressable_memories()] == KINDS
    assert either.default_memory().kind == "device"
    assert [either.memory(kind).kind for kind in KINDS] == KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_of_a_kind(kind, either):
    there = SingleDeviceSharding(either, memory_kind=kind)
    x = jax.device_put(MATRIX, there)
    assert x.sharding.memory_kind == kind
    np.testing.assert_array_equal(np.asarray(x), MATRIX)
    back = jax.device_put(x, SingleDeviceSharding(either))
    assert back.sharding.memory_kind == "device"
    # JAX carries only `pinned_host` in types.
    assert jax.jit(lambda v: v * 2)(x).sharding.memory_kind == ("pinned_host" if kind == "pinned_host" else "device")
    y = jax.jit(lambda v: v * 2, out_shardings=there)(jnp.array(MATRIX))
    assert y.sharding.memory_kind == kind
    np.testing.assert_array_equal(np.asarray(y), MATRIX * 2)


@pytest.mark.parametrize("kind", KINDS)
def test_programs_between_kinds(kind, either):
    there, here = SingleDeviceSharding(either, memory_kind=kind), SingleDeviceSharding(either, memory_kind="device")
    x = jax.device_put(MATRIX, there)
    y = jax.jit(lambda v: v * 2, in_shardings=there, out_shardings=here)(x)
    assert y.sharding.memory_kind == "device"
    z = jax.jit(lambda v: v * 2, in_shardings=there, out_shardings=there, donate_argnums=0)(x)
    assert x.is_deleted() and z.sharding.memory_kind == kind
    np.testing.assert_array_equal(np.asarray(z), np.asarray(y))

    def offloaded(carry, _):
        return jax.device_put(jax.device_put(carry, there), here) + 1, None

    np.testing.assert_array_equal(np.asarray(jax.jit(lambda v: jax.lax.scan(offloaded, v, None, 3)[0])(MATRIX)), MATRIX + 3)


def test_offloaded_residuals(either):
    from jax.ad_checkpoint import checkpoint_name

    policy = jax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[], names_which_can_be_offloaded=["a"], offload_src="device", offload_dst="pinned_host"
    )
    inner = jax.checkpoint(lambda v: jnp.sin(checkpoint_name(jnp.sin(v), "a")).sum(), policy=policy)
    x = np.linspace(0, 1, 5, dtype=np.float32)
    np.testing.assert_allclose(np.asarray(jax.jit(jax.grad(inner))(x)), np.cos(np.sin(x)) * np.cos(x), rtol=1e-6)


# Layouts.
def stored(x, shape):
    """What lies in the array's memory."""
    return np.ctypeslib.as_array(ctypes.cast(x.unsafe_buffer_pointer(), ctypes.POINTER(ctypes.c_float)), shape).copy()


def test_layouts_of_arguments_and_results(either):
    sharding = SingleDeviceSharding(either)
    transposed, plain = Format(Layout((1, 0)), sharding), Format(Layout((0, 1)), sharding)
    x = jax.block_until_ready(jax.device_put(MATRIX, transposed))
    assert x.format.layout.major_to_minor == (1, 0)
    np.testing.assert_array_equal(stored(x, (4, 3)), MATRIX.T)
    np.testing.assert_array_equal(np.asarray(x), MATRIX)
    compiled = jax.jit(lambda v: (v + 1, v * 2), in_shardings=transposed, out_shardings=(transposed, plain)).lower(x).compile()
    assert compiled.input_formats[0][0].layout.major_to_minor == (1, 0)
    assert [f.layout.major_to_minor for f in compiled.output_formats] == [(1, 0), (0, 1)]
    y, z = jax.block_until_ready(compiled(x))
    assert y.format.layout.major_to_minor == (1, 0) and z.format.layout.major_to_minor == (0, 1)
    np.testing.assert_array_equal(stored(y, (4, 3)), MATRIX.T + 1)
    np.testing.assert_array_equal(stored(z, (3, 4)), MATRIX * 2)
    np.testing.assert_array_equal(np.asarray(jax.device_put(y, plain)), MATRIX + 1)
    np.testing.assert_array_equal(np.asarray(jax.jit(lambda v: v + 0)(y)), MATRIX + 1)


def test_layouts_that_the_compiler_chooses(either):
    auto = Format(Layout.AUTO, SingleDeviceSharding(either))
    lowered = jax.jit(lambda v, w: (v @ w).T, in_shardings=auto, out_shardings=auto).lower(
        jax.ShapeDtypeStruct((3, 4), np.float32), jax.ShapeDtypeStruct((4, 5), np.float32)
    )
    compiled = lowered.compile()
    formats = compiled.input_formats[0]
    v, w = jax.device_put(MATRIX, formats[0]), jax.device_put(np.ones((4, 5), np.float32), formats[1])
    result = compiled(v, w)
    assert result.format == compiled.output_formats
    np.testing.assert_allclose(np.asarray(result), (MATRIX @ np.ones((4, 5))).T)


def test_wrong_layout_is_refused(either):
    sharding = SingleDeviceSharding(either)
    compiled = jax.jit(lambda v: v + 1, in_shardings=Format(Layout((1, 0)), sharding)).lower(MATRIX).compile()
    with pytest.raises(ValueError, match="layout"):
        compiled(jax.device_put(MATRIX, Format(Layout((0, 1)), sharding)))


# Export.
@pytest.mark.parametrize("platforms", [["kiln"], ["cpu", "kiln"], ["kiln", "cpu", "tpu"]])
def test_export(platforms):
    @jax.jit
    def function(x, y):
        return {"a": jnp.sin(x) @ y, "b": jax.nn.softmax(y, axis=0)}

    y = np.linspace(0, 1, 8, dtype=np.float32).reshape(4, 2)
    shapes = [jax.ShapeDtypeStruct(array.shape, array.dtype) for array in (MATRIX, y)]
    exported = export.deserialize(export.export(function, platforms=platforms)(*shapes).serialize(vjp_order=1))
    assert exported.platforms == tuple(platforms)
    expected = function(MATRIX, y)
    for platform in {"kiln", "cpu"} & set(platforms):
        device = jax.devices(platform)[0]
        arguments = jax.device_put((MATRIX, y), device)
        results = exported.call(*arguments)
        assert results["a"].devices() == {device}
        for name in ("a", "b"):
            np.testing.assert_allclose(np.asarray(results[name]), np.asarray(expected[name]), rtol=1e-5, atol=1e-6)
        gradient = jax.grad(lambda v, w: exported.call(v, w)["a"].sum())(*arguments)
        np.testing.assert_allclose(np.asarray(gradient), np.cos(MATRIX) * y.sum(1), rtol=1e-5, atol=1e-6)


def test_export_with_symbolic_shapes():
    (n,) = export.symbolic_shape("n")
    exported = export.export(jax.jit(lambda x: jnp.cumsum(x) / x.shape[0]), platforms=["kiln"])(
        jax.ShapeDtypeStruct((n,), np.float32)
    )
    exported = export.deserialize(exported.serialize())
    for size in (1, 5, 64):
        x = np.ones(size, np.float32)
        np.testing.assert_allclose(np.asarray(exported.call(x)), np.cumsum(x) / size, rtol=1e-6)


def test_export_for_another_platform_says_so_unless_told_otherwise():
    shape = jax.ShapeDtypeStruct((3, 4), np.float32)
    exported = export.export(jax.jit(jnp.sin), platforms=["cpu"])(shape)
    with pytest.raises(ValueError, match="exported for platforms.*cpu.*kiln"):
        exported.call(jnp.array(MATRIX))
    unchecked = export.export(
        jax.jit(jnp.sin), platforms=["cpu"], disabled_checks=[export.DisabledSafetyCheck.platform()]
    )(shape)
    result = export.deserialize(unchecked.serialize()).call(jnp.array(MATRIX))
    assert result.devices() == {jax.devices("kiln")[0]}
    np.testing.assert_allclose(np.asarray(result), np.sin(MATRIX), rtol=1e-5, atol=1e-6)


# What else asks devices and arrays about themselves.
def test_64_bit_types_on_and_off(either):
    for wide, dtype in ((True, np.float64), (False, np.float32)):
        with jax.enable_x64(wide):
            result = jax.jit(lambda v: v / 3)(np.arange(3.0))
            assert result.dtype == dtype and jnp.asarray(np.int64(1)).dtype == (np.int64 if wide else np.int32)
            np.testing.assert_array_equal(np.asarray(result), np.arange(3, dtype=dtype) / dtype(3))


def test_accounts_of_arrays_and_memory(device):
    before = len(jax.live_arrays("kiln"))
    used = device.memory_stats()["bytes_in_use"]
    x = jax.block_until_ready(jnp.zeros(1 << 18) + 1)
    assert len(jax.live_arrays("kiln")) == before + 1
    assert device.memory_stats()["bytes_in_use"] >= used + (1 << 20)
    x.copy_to_host_async()
    assert np.asarray(x).sum() == 1 << 18
    x.delete()
    assert x.is_deleted() and len(jax.live_arrays("kiln")) == before
    with pytest.raises(RuntimeError, match="deleted"):
        x + 1


def test_arrays_from_parts_and_pickles(device):
    sharding = SingleDeviceSharding(device)
    x = jax.make_array_from_callback((3, 4), sharding, lambda index: MATRIX[index])
    y = jax.make_array_from_single_device_arrays((3, 4), sharding, [x])
    z = pickle.loads(pickle.dumps(y))
    for array in (x, y, z, jax.device_put(jax.device_put(x, jax.devices("cpu")[0]), device)):
        assert array.devices() == {device}
        np.testing.assert_array_equal(np.asarray(array), MATRIX)


def test_what_tools_ask_for(capsys):
    x = jnp.array(MATRIX)
    jax.debug.visualize_array_sharding(x)
    assert "KILN 0" in capsys.readouterr().out
    compiled = jax.jit(lambda v: v + 1).lower(x).compile()
    (module,) = compiled.runtime_executable().hlo_modules()
    assert "f32[3,4]" in module.to_string()
    with tempfile.TemporaryDirectory() as directory, jax.profiler.trace(directory):
        compiled(x).block_until_ready()
    assert jax.profiler.device_memory_profile()
    jax.clear_caches()
    np.testing.assert_array_equal(np.asarray(jax.jit(lambda v: v + 1)(x)), MATRIX + 1)
