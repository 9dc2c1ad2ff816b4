"""DLPack both ways, and numpy views, without copies."""

import ctypes
import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import PLATFORM

pytestmark = pytest.mark.skipif(PLATFORM != "kiln", reason="about Kiln's own capsules")

DTYPES = ["bool", "int8", "int16", "int32", "uint8", "uint32", "float16", "bfloat16", "float32", "complex64", "float8_e4m3fn"]


@pytest.fixture(autouse=True)
def on_device(device):
    with jax.default_device(device):
        yield


def aligned(shape, dtype, offset=0):
    """An array whose data begins `offset` bytes after a multiple of 64."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + 128, np.uint8)
    start = -memory.ctypes.data % 64 + offset
    return memory[start : start + size].view(dtype).reshape(shape)


def test_host_views_share_memory():
    x = jax.block_until_ready(jnp.arange(12.0).reshape(3, 4))
    for view in (np.asarray(x), np.array(x, copy=False), np.from_dlpack(x)):
        assert view.ctypes.data == x.unsafe_buffer_pointer()
        assert not view.flags.writeable
        np.testing.assert_array_equal(view, np.arange(12).reshape(3, 4))


def test_device_of_a_kiln_array():
    assert tuple(jnp.ones(3).__dlpack_device__()) == (1, 0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0, 3), (7,), (2, 3, 4)])
def test_round_trip(dtype, shape, device):
    x = (jnp.arange(np.prod(shape, dtype=int)) % 3).reshape(shape).astype(dtype)
    y = jax.dlpack.from_dlpack(x)
    assert y.devices() == {device} and y.dtype == x.dtype and y.shape == x.shape
    assert x.size == 0 or y.unsafe_buffer_pointer() == x.unsafe_buffer_pointer()
    np.testing.assert_array_equal(np.asarray(y), np.asarray(x))


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "complex64"])
def test_numpy_lands_on_kiln_in_place(dtype, device):
    array = aligned((6, 8), dtype)
    array[...] = (np.arange(48).reshape(6, 8) % 2).astype(dtype)
    for x in (jnp.from_dlpack(array), jax.dlpack.from_dlpack(array, device=device, copy=False)):
        assert x.devices() == {device}
        assert x.unsafe_buffer_pointer() == array.ctypes.data
        np.testing.assert_array_equal(np.asarray(x), array)


@pytest.mark.parametrize("make", [lambda a: a.T, lambda a: a[::2], lambda a: a[:, ::-1], lambda a: a[1:, 1:]])
def test_strided_arrays_are_copied(make, device):
    array = make(np.arange(60, dtype=np.float32).reshape(6, 10))
    x = jnp.from_dlpack(array)
    assert x.devices() == {device}
    np.testing.assert_array_equal(np.asarray(x), array)


def test_copy_is_made_or_refused_as_asked(reference_device):
    array = aligned((16,), np.float32)
    assert jnp.from_dlpack(array, copy=True).unsafe_buffer_pointer() != array.ctypes.data
    with pytest.raises(ValueError, match="needs a copy"):
        jnp.from_dlpack(aligned((16,), np.float32, offset=4), copy=False)
    with pytest.raises(ValueError, match="needs a copy"):
        jnp.from_dlpack(array.reshape(4, 4).T, copy=False)
    assert jnp.from_dlpack(array, device=reference_device).devices() == {reference_device}
    x = jnp.arange(4.0)
    copied = np.from_dlpack(x, copy=True)
    assert copied.ctypes.data != x.unsafe_buffer_pointer() and copied.flags.writeable


def test_arrays_of_the_other_platform(device, reference_device):
    other = jax.device_put(np.arange(5.0, dtype=np.float32), reference_device)
    assert jnp.from_dlpack(other).devices() == {device}
    x = jnp.arange(5.0)
    there = jax.dlpack.from_dlpack(x, device=reference_device)
    assert there.devices() == {reference_device}
    np.testing.assert_array_equal(np.asarray(there), np.arange(5))


def test_consumer_keeps_the_memory():
    x = jax.block_until_ready(jnp.arange(1000.0))
    view = np.from_dlpack(x)
    address = x.unsafe_buffer_pointer()
    y = jax.jit(lambda v: v * 0 - 1, donate_argnums=0)(x)
    assert x.is_deleted() and y.unsafe_buffer_pointer() != address
    gc.collect()
    np.testing.assert_array_equal(view, np.arange(1000))


def test_producer_is_kept_and_let_go(device):
    owner = aligned((64,), np.float32)
    base = weakref.ref(owner.base)
    x = jnp.from_dlpack(owner)
    assert x.unsafe_buffer_pointer() == owner.ctypes.data
    del owner
    gc.collect()
    assert base() is not None
    x.delete()
    del x
    gc.collect()
    assert base() is None


def test_capsules_of_both_generations():
    from jax_plugins.kiln import dlpack

    x = jnp.arange(6, dtype=jnp.bfloat16).reshape(2, 3)
    before = len(dlpack._exported)
    for version, name in ((None, "dltensor"), ((1, 0), "dltensor_versioned")):
        capsule = x.__dlpack__(max_version=version)
        assert f'"{name}"' in repr(capsule)
        view = dlpack.view_capsule(capsule)
        assert view.dtype == jnp.bfloat16 and view.ctypes.data == x.unsafe_buffer_pointer()
        with pytest.raises(BufferError, match="consumed already"):
            dlpack.view_capsule(capsule)
        del view
    del capsule
    x.__dlpack__()  # never consumed
    gc.collect()
    assert len(dlpack._exported) == before


def test_refusals_are_sentences():
    from jax_plugins.kiln import dlpack

    with pytest.raises(BufferError, match="no type for arrays of int4"):
        jnp.ones(3, jnp.int4).__dlpack__()
    with pytest.raises(BufferError, match="no streams"):
        jnp.ones(3).__dlpack__(stream=7)
    x = jnp.ones(3)
    x.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        x.__dlpack__()
    with pytest.raises(BufferError, match="expected a capsule"):
        dlpack.view_capsule(3)
    capsule = jnp.ones(3).__dlpack__()
    managed = dlpack._Managed.from_address(dlpack._get_pointer(id(capsule), b"dltensor"))
    managed.tensor.code, managed.tensor.bits = 99, 32
    with pytest.raises(BufferError, match="type code 99 and 32 bits"):
        dlpack.view_capsule(capsule)
    managed.tensor.lanes = 4
    with pytest.raises(BufferError, match="4 lanes"):
        dlpack.view_capsule(capsule)
    managed.tensor.device_type = 2
    with pytest.raises(BufferError, match="device type 2"):
        dlpack.view_capsule(capsule)


def test_layout_other_than_row_major():
    from jax.experimental.layout import Format, Layout
    from jax.sharding import SingleDeviceSharding

    array = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    x = jax.device_put(array, Format(Layout((1, 0)), SingleDeviceSharding(jax.devices(PLATFORM)[0])))
    stored = np.ctypeslib.as_array(ctypes.cast(x.unsafe_buffer_pointer(), ctypes.POINTER(ctypes.c_float)), (3, 2))
    np.testing.assert_array_equal(stored, array.T)
    np.testing.assert_array_equal(np.from_dlpack(x), array)
    np.testing.assert_array_equal(np.asarray(jax.dlpack.from_dlpack(x)), array)
