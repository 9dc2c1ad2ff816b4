"""DLPack both ways without a copy: jaxlib makes and takes capsules only for the devices that it knows.

What goes out is the host view that JAX gives of a Kiln array: it pins the buffer, so that no donation reuses the memory
while a consumer has it. What comes in becomes a numpy view, which JAX places on Kiln; Kiln borrows the memory where it
is dense and aligned to 64 bytes.
"""

import atexit
import ctypes
import functools
import weakref

from .hooks import PLATFORM, hook, wrap

_CPU = 1  # kDLCPU
_MAJOR, _MINOR = 1, 1
_READ_ONLY = 1
_NAME, _USED = b"dltensor", b"used_dltensor"
_VERSIONED_NAME, _VERSIONED_USED = b"dltensor_versioned", b"used_dltensor_versioned"

# DLDataTypeCode of each type that has one.
_KIND_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_NAMED_CODES = {
    "bfloat16": 4,
    "float8_e3m4": 7,
    "float8_e4m3": 8,
    "float8_e4m3b11fnuz": 9,
    "float8_e4m3fn": 10,
    "float8_e4m3fnuz": 11,
    "float8_e5m2": 12,
    "float8_e5m2fnuz": 13,
    "float8_e8m0fnu": 14,
}


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),  # in elements; null: dense row-major
        ("byte_offset", ctypes.c_uint64),
    ]


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _ManagedVersioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


# Prototypes of our own: those of ctypes.pythonapi are shared with everybody. Capsules go as addresses, since one that is
# being destroyed must not be touched as an object.
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_set_name = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_SetName", ctypes.pythonapi))

# What consumers have: address of the managed tensor -> the objects that it needs.
_exported: dict[int, tuple] = {}


@_Deleter
def _release(address):
    _exported.pop(address, None)


@_Deleter
def _destroy_capsule(capsule):
    # A capsule that was consumed has another name.
    for name in (_NAME, _VERSIONED_NAME):
        if _is_valid(capsule, name):
            _release_by_deleter(name, _get_pointer(capsule, name))


def _release_by_deleter(name: bytes, address: int) -> None:
    managed = (_Managed if name == _NAME else _ManagedVersioned).from_address(address)
    if managed.deleter:
        _Deleter(managed.deleter)(address)


@atexit.register
def _outlive_python() -> None:
    # Consumers may let go after the interpreter has: what they hold stays, and nothing of Python is called.
    for managed, *owners in _exported.values():
        managed.deleter = None
        for owner in (managed, *owners):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(owner))


def _code_of(dtype) -> int:
    code = _NAMED_CODES.get(dtype.name, _KIND_CODES.get(dtype.kind))
    if code is None:
        raise BufferError(f"DLPack has no type for arrays of {dtype.name}")
    return code


@functools.cache
def _dtype_of(code: int, bits: int):
    import jax.numpy as jnp
    import numpy as np

    for name, named_code in _NAMED_CODES.items():
        if code == named_code and hasattr(jnp, name) and np.dtype(getattr(jnp, name)).itemsize * 8 == bits:
            return np.dtype(getattr(jnp, name))
    for kind, kind_code in _KIND_CODES.items():
        if code == kind_code and bits in (8, 16, 32, 64, 128):
            try:
                return np.dtype(f"{kind}{bits // 8}")
            except TypeError:
                break
    raise BufferError(f"JAX has no type for DLPack arrays of type code {code} and {bits} bits")


def make_capsule(view, versioned: bool):
    """A capsule over the memory of a numpy array, which it keeps alive until its consumer lets go."""
    shape = (ctypes.c_int64 * view.ndim)(*view.shape)
    strides = (ctypes.c_int64 * view.ndim)(*(stride // view.itemsize for stride in view.strides))
    managed = _ManagedVersioned(_MAJOR, _MINOR) if versioned else _Managed()
    if versioned:
        managed.flags = 0 if view.flags.writeable else _READ_ONLY
    managed.deleter = ctypes.cast(_release, ctypes.c_void_p)
    managed.tensor = _Tensor(
        view.ctypes.data, _CPU, 0, view.ndim, _code_of(view.dtype), view.itemsize * 8, 1,
        ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64)), ctypes.cast(strides, ctypes.POINTER(ctypes.c_int64)), 0,
    )  # fmt: skip
    address = ctypes.addressof(managed)
    _exported[address] = (managed, view, shape, strides)
    return _new_capsule(address, _VERSIONED_NAME if versioned else _NAME, ctypes.cast(_destroy_capsule, ctypes.c_void_p))


class _Memory:
    """Memory of a producer as numpy takes it; the producer's deleter runs when the last view is gone."""

    def __init__(self, name: bytes, address: int, tensor: _Tensor, dtype, shape, strides, read_only: bool):
        self.__array_interface__ = {
            "version": 3,
            "data": ((tensor.data or 0) + tensor.byte_offset, read_only),
            "typestr": f"|V{dtype.itemsize}",
            "shape": shape,
            "strides": None if strides is None else tuple(stride * dtype.itemsize for stride in strides),
        }
        weakref.finalize(self, _release_by_deleter, name, address).atexit = False


def view_capsule(capsule):
    """The array in a capsule on the host as a numpy view; the capsule is consumed."""
    import numpy as np

    where = id(capsule)
    if type(capsule).__name__ != "PyCapsule":
        raise BufferError(f"__dlpack__ gave a {type(capsule).__name__}, expected a capsule")
    for name, used, managed_type in ((_VERSIONED_NAME, _VERSIONED_USED, _ManagedVersioned), (_NAME, _USED, _Managed)):
        if _is_valid(where, name):
            break
    else:
        raise BufferError("the DLPack capsule is consumed already or is no tensor")
    address = _get_pointer(where, name)
    managed = managed_type.from_address(address)
    if name == _VERSIONED_NAME and managed.major != _MAJOR:
        raise BufferError(f"the DLPack capsule has version {managed.major}.{managed.minor}, expected {_MAJOR}")
    read_only = name == _VERSIONED_NAME and bool(managed.flags & _READ_ONLY)
    tensor = managed.tensor
    if tensor.device_type != _CPU:
        raise BufferError(f"the DLPack capsule is of device type {tensor.device_type}, expected the host's, {_CPU}")
    if tensor.lanes != 1:
        raise BufferError(f"the DLPack capsule has elements of {tensor.lanes} lanes, expected 1")
    dtype = _dtype_of(tensor.code, tensor.bits)
    shape = tuple(tensor.shape[i] for i in range(tensor.rank))
    strides = tuple(tensor.strides[i] for i in range(tensor.rank)) if tensor.strides else None
    _set_name(where, used)
    memory = _Memory(name, address, tensor, dtype, shape, strides, read_only)
    return np.empty(shape, dtype) if 0 in shape else np.asarray(memory).view(dtype)


def export(x, *, stream=None, max_version=None, copy=None):
    """`x.__dlpack__` of an array on Kiln."""
    import jax
    import numpy as np

    if stream not in (None, -1):
        raise BufferError(f"arrays in the host's memory have no streams, found stream={stream}")
    if jax.dtypes.issubdtype(x.dtype, jax.dtypes.extended):
        raise BufferError(f"DLPack has no type for arrays of {x.dtype}")
    _code_of(np.dtype(x.dtype))
    array = x.addressable_data(0)
    array._check_if_deleted()
    if hasattr(array, "_single_device_array_to_np_array_did_copy"):
        view, did_copy = array._single_device_array_to_np_array_did_copy()
    else:
        view = np.asarray(array)
        did_copy = view.ctypes.data != array.unsafe_buffer_pointer()
    if did_copy and copy is False and view.size:
        raise BufferError(f"an array with the layout {array.format.layout} needs a copy, and copy=False")
    if copy and not did_copy:
        view = view.copy()
    elif not did_copy:
        view.flags.writeable = False
    return make_capsule(view, versioned=max_version is not None and tuple(max_version) >= (1, 0))


def place(external, device, copy):
    """`jax.dlpack.from_dlpack` of an array in the host's memory, onto Kiln; `device` None: uncommitted."""
    import jax
    import numpy as np

    try:
        capsule = external.__dlpack__(max_version=(_MAJOR, _MINOR))
    except TypeError:  # a producer from before versions
        capsule = external.__dlpack__()
    view = view_capsule(capsule)
    result = jax.device_put(view.copy() if copy else view, device)
    if copy is False and view.size and (
        result.dtype != view.dtype or result.unsafe_buffer_pointer() != view.ctypes.data
    ):
        raise ValueError(
            f"from_dlpack with copy=False: an array of {np.dtype(view.dtype).name} at address {view.ctypes.data:#x} with "
            f"strides {view.strides} needs a copy; Kiln borrows dense row-major memory aligned to 64 bytes"
        )
    return result


@hook
def allow_export() -> None:
    from jax._src import array, dlpack

    @wrap(dlpack, "to_dlpack")
    def to_dlpack(original, x, stream=None, src_device=None, dl_device=None, max_version=None, copy=None):
        on_kiln = isinstance(x, array.ArrayImpl) and {device.platform for device in x.devices()} == {PLATFORM}
        if not on_kiln or (dl_device is not None and dl_device[0] != _CPU):
            return original(x, stream=stream, src_device=src_device, dl_device=dl_device, max_version=max_version, copy=copy)
        return export(x, stream=stream, max_version=max_version, copy=copy)

    @wrap(array.ArrayImpl, "__dlpack_device__")
    def dlpack_device(original, self):
        if len(self.devices()) == 1 and self.platform() == PLATFORM:
            return dlpack.DLDeviceType.kDLCPU, 0
        return original(self)


@hook
def allow_import() -> None:
    import jax.dlpack
    from jax._src import dlpack
    from jax._src.interpreters import pxla
    from jax.sharding import Sharding

    @wrap(dlpack, "from_dlpack")
    def from_dlpack(original, external_array, device=None, copy=None):
        target = device
        if isinstance(device, Sharding) and len(device.device_set) == 1:
            (target,) = device.device_set
        if target is None:
            target = pxla.get_default_device()
        source = getattr(external_array, "__dlpack_device__", None)
        if getattr(target, "platform", None) != PLATFORM or source is None or source()[0] != _CPU:
            return original(external_array, device=device, copy=copy)
        return place(external_array, device, copy)

    jax.dlpack.from_dlpack = from_dlpack
