"""Host callbacks: jax.debug.print, debug.callback, pure_callback, io_callback and what is built on them.

jaxlib hands its own callback objects to the platforms that it knows. On Kiln a callback is a custom call with a number,
and one typed FFI handler, made here with ctypes, finds the Python function by that number. ctypes takes the interpreter
lock around the call, wherever it comes from.

A function is needed as long as a program that calls it: from its lowering, which has an object of JAX's to keep it, to
the end of the last executable, which owns FFI state. That state's deleter must not need Python, so it is `sem_post`, and
the registry looks at the semaphores when there is something to tidy up.
"""

import atexit
import contextlib
import ctypes
import dataclasses
import inspect
import itertools
import math
import threading
import traceback
import weakref

from . import ffi
from .hooks import PLATFORM, hook, wrap

TARGET = "kiln_python_callback"

_FFI_MINOR = 3  # of the handler interface, 0.3
_PROCESS_BOUND = 1 << 31  # a trait of Kiln's own: programs that make this call do not go into caches on disk
_INSTANTIATE = 0

_pointer, _size, _int = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int


_Buffer = ffi.structure("Buffer", ("dtype", _int), ("data", _pointer), ("rank", ctypes.c_int64), ("dims", _pointer))
_Version = ffi.structure("Version", ("major", _int), ("minor", _int))
_TypeRegister = ffi.structure(
    "TypeRegister", ("name", ctypes.c_char_p), ("name_size", _size), ("type_id", _pointer), ("info", _pointer)
)
_StateSet = ffi.structure("StateSet", ("context", _pointer), ("stage", _int), ("type_id", _pointer), ("state", _pointer))


class _Scalar(ctypes.Structure):
    _fields_ = [("dtype", _int), ("value", ctypes.POINTER(ctypes.c_uint64))]


class _Metadata(ctypes.Structure):
    _fields_ = [("struct_size", _size), ("version", _Version), ("traits", ctypes.c_uint32), ("type_id", ctypes.c_int64)]


class _MetadataExtension(ctypes.Structure):
    _fields_ = [
        ("struct_size", _size), ("type", _int), ("next", _pointer), ("metadata", ctypes.POINTER(_Metadata))
    ]  # fmt: skip


# Functions of the API table, by the offset of their slot.
_TYPE_REGISTER, _STATE_SET = 88, 104
_Semaphore = ctypes.c_uint64 * 4

_c = ctypes.CDLL(None)


@dataclasses.dataclass
class _Callback:
    """`function` takes and gives numpy arrays; operands and results are (dtype, shape), None for a token."""

    function: object
    operands: list
    results: list
    semaphores: list = dataclasses.field(default_factory=list)  # one per executable that may still call
    wanted: bool = True  # by a lowering that JAX keeps


_callbacks: dict[int, _Callback] = {}
_numbers = itertools.count(1)
_lock = threading.RLock()  # finalizers may come in between
_type_id = ctypes.c_int64(0)


class _Keepalive:
    """What JAX keeps with a lowered program."""


def _forget() -> None:
    """Drops the functions that nothing can call any more."""
    with _lock:
        for number, entry in list(_callbacks.items()):
            if entry.wanted:
                continue
            entry.semaphores = [s for s in entry.semaphores if _c.sem_trywait(ctypes.byref(s)) != 0]
            if not entry.semaphores:
                del _callbacks[number]


def _unwanted(number: int) -> None:
    entry = _callbacks.get(number)
    if entry is not None:
        entry.wanted = False
    _forget()


def register(function, operands: list, results: list) -> tuple[int, _Keepalive]:
    """A number for `function`, which is known for as long as the keepalive or an executable lives."""
    _forget()
    keepalive = _Keepalive()
    number = next(_numbers)
    _callbacks[number] = _Callback(function, operands, results)
    weakref.finalize(keepalive, _unwanted, number).atexit = False
    return number, keepalive


def _instantiate(frame, entry: _Callback):
    """Ties the callback to the executable, whose end posts the semaphore."""
    if _type_id.value == 0:
        info = ffi.TypeInfo(ctypes.sizeof(ffi.TypeInfo), None, ctypes.cast(_c.sem_post, _pointer))
        name = TARGET.encode()
        error = ffi.call(frame.api, _TYPE_REGISTER, _TypeRegister, name=name, name_size=len(name),
                      type_id=ctypes.addressof(_type_id), info=ctypes.addressof(info))  # fmt: skip
        if error:
            return error
    semaphore = _Semaphore()
    _c.sem_init(ctypes.byref(semaphore), 0, 0)
    error = ffi.call(frame.api, _STATE_SET, _StateSet, context=frame.context, stage=_INSTANTIATE,
                  type_id=ctypes.addressof(_type_id), state=ctypes.addressof(semaphore))  # fmt: skip
    if not error:
        with _lock:
            entry.semaphores.append(semaphore)
    return error


# Types that handlers find packed, the first element in the lowest bits, with their widths; numpy gives each element a byte.
_PACKED = {"int2": 2, "uint2": 2, "int4": 4, "uint4": 4, "float4_e2m1fn": 4}


def _memories(buffers: ffi.List, types: list):
    """For each buffer of a frame but its tokens: dtype, shape, bits of a packed element (0: not packed) and its bytes."""
    import numpy as np

    for i, array_type in enumerate(types):
        if array_type is None:
            continue
        dtype, shape = array_type
        bits, count = _PACKED.get(dtype.name, 0), math.prod(shape)
        size = (count * bits + 7) // 8 if bits else count * dtype.itemsize
        if size == 0:
            yield dtype, shape, 0, np.empty(0, np.uint8)
            continue
        data = _Buffer.from_address(buffers.items[i]).data
        yield dtype, shape, bits, np.frombuffer((ctypes.c_uint8 * size).from_address(data), np.uint8)


def _load(dtype, shape, bits: int, memory):
    """A copy: the function may keep what it is given, the program's memory is used again."""
    import numpy as np

    if not bits:
        return memory.copy().view(dtype).reshape(shape)
    # Each byte gives its elements from the lowest bits up, moved to the top and back so that the sign spreads.
    parts = np.stack([memory << (8 - bits - shift) for shift in range(0, 8, bits)], axis=-1)
    signed = parts.view(np.int8) if dtype.name.startswith("int") else parts
    elements = (signed >> (8 - bits)).reshape(-1)[: math.prod(shape)]
    return (elements.view(dtype) if dtype.name.startswith("float") else elements.astype(dtype)).reshape(shape)


def _store(value, dtype, shape, bits: int, memory) -> None:
    import numpy as np

    array = np.ascontiguousarray(np.broadcast_to(value, shape), dtype).reshape(-1)
    codes = array.view(np.uint8)
    if bits:
        per_byte = 8 // bits
        codes = np.pad(codes & ((1 << bits) - 1), (0, -len(codes) % per_byte)).reshape(-1, per_byte)
        codes = np.bitwise_or.reduce(codes << np.arange(0, 8, bits, dtype=np.uint8), axis=1)
    memory[...] = codes


def _execute(frame, entry: _Callback):
    if frame.arguments.size != len(entry.operands) or frame.results.size != len(entry.results):
        raise RuntimeError(
            f"a callback with {len(entry.operands)} operands and {len(entry.results)} results was called with "
            f"{frame.arguments.size} and {frame.results.size}"
        )
    values = entry.function(*(_load(*memory) for memory in _memories(frame.arguments, entry.operands)))
    for memory, value in zip(_memories(frame.results, entry.results), values, strict=True):
        _store(value, *memory)


_thread = threading.local()


def _stay_in_python() -> None:
    """Keeps what Python and JAX know of a thread of Kiln's from being made anew for each call: it is never given back."""
    if not getattr(_thread, "known", False):
        if isinstance(threading.current_thread(), threading._DummyThread):
            ctypes.pythonapi.PyGILState_Ensure()
        _thread.known = True


@ffi.Function
def _handle(address):
    _stay_in_python()
    frame = ffi.CallFrame.from_address(address)
    if frame.extension:
        metadata = _MetadataExtension.from_address(frame.extension).metadata.contents
        metadata.version.major, metadata.version.minor = 0, _FFI_MINOR
        return None
    try:
        number = _Scalar.from_address(frame.attributes.values[0]).value[0]
        entry = _callbacks.get(number)
        if entry is None:
            raise RuntimeError(f"the program calls back to Python function {number}, which is not of this process")
        return (_instantiate if frame.stage == _INSTANTIATE else _execute)(frame, entry)
    except BaseException as error:  # whatever it is must not pass through C++
        text = "".join(traceback.format_exception(error)).strip()
        return ffi.error(frame.api, f"a host callback failed: {type(error).__name__}: {error}\n{text}")


def _checked(function, results):
    """`function` with its values checked against the abstract values that were promised."""
    import numpy as np
    from jax._src import dtypes

    def checked(*arguments):
        values = function(*arguments)
        if len(values) != len(results):
            raise RuntimeError(f"Mismatched number of outputs from callback. Expected: {len(results)}, Actual: {len(values)}")
        arrays = [dtypes.canonicalize_value(np.asarray(value)) for value in values]
        for i, (array, (dtype, shape)) in enumerate(zip(arrays, results)):
            if array.shape != shape:
                raise RuntimeError(
                    f"Incorrect output shape for return value #{i}: Expected: {shape}, Actual: {array.shape}"
                )
            if array.dtype != dtype:
                raise RuntimeError(f"Incorrect output dtype for return value #{i}: Expected: {dtype}, Actual: {array.dtype}")
        return arrays

    return checked


def _emit(ctx, callback, token, operands, operand_avals, result_avals, *, has_side_effect):
    """As JAX's `emit_python_callback`: results, token, and an object that the program needs."""
    import numpy as np
    from jax._src import core
    from jax._src import ffi as jax_ffi

    def array_type(aval):
        aval = core.physical_aval(aval)
        return np.dtype(aval.dtype), tuple(aval.shape)

    operand_types = [array_type(aval) for aval in operand_avals]
    result_types = [array_type(aval) for aval in result_avals]
    function = _checked(callback, result_types)
    if token:
        operands = [token, *operands]
        operand_types, result_types = [None, *operand_types], [None, *result_types]
        ctx = dataclasses.replace(
            ctx, avals_in=[core.abstract_token, *ctx.avals_in], avals_out=[core.abstract_token, *ctx.avals_out]
        )
    number, keepalive = register(function, operand_types, result_types)
    ctx.module_context.add_keepalive(keepalive)
    lower = jax_ffi.build_ffi_lowering_function(TARGET, has_side_effect=has_side_effect)
    results = list(lower(ctx, *operands, index=np.uint64(number)).results)
    if token:
        token, *results = results
    return results, token, keepalive


@hook
def solve_sparse_systems() -> None:
    """spsolve has a rule for XLA:CPU alone, which calls scipy, in a module that is imported before Kiln or later."""
    from jax._src.interpreters import mlir
    from jax.interpreters import mlir as public_mlir

    @wrap(public_mlir, "register_lowering")
    def register_lowering(original, primitive, rule, platform=None, **options):
        if platform == "cpu" and primitive.name == "spsolve":
            original(primitive, rule, PLATFORM, **options)
        return original(primitive, rule, platform, **options)

    for primitive, entry in list(mlir._platform_specific_lowerings["cpu"].items()):
        if primitive.name == "spsolve":
            mlir.register_lowering(primitive, entry.rule, PLATFORM)


@hook
def lower_callbacks() -> None:
    import jax
    from jax._src import callback, checkify, debugging
    from jax._src.interpreters import mlir
    from jax.interpreters import mlir as public_mlir

    from . import library_path

    parameters = inspect.signature(callback.emit_python_callback)

    @wrap(callback, "emit_python_callback")
    def emit_python_callback(original, *args, **kwargs):
        given = parameters.bind(*args, **kwargs).arguments
        if tuple(given["ctx"].module_context.platforms) != (PLATFORM,):
            return original(*args, **kwargs)
        names = ("ctx", "callback", "token", "operands", "operand_avals", "result_avals")
        return _emit(*(given[name] for name in names), has_side_effect=given.get("has_side_effect", True))

    # Under its public name, by which JAX's solver of sparse systems calls it as well.
    public_mlir.emit_python_callback = emit_python_callback

    for primitive, rule in (
        (debugging.debug_callback_p, debugging.debug_callback_lowering),
        (debugging.debug_print_p, debugging.debug_print_lowering_rule),
        (checkify.check_p, checkify.check_lowering_rule),
    ):
        mlir.register_lowering(primitive, rule, platform=PLATFORM)
    address = ctypes.cast(_handle, _pointer).value
    ffi.Library(str(library_path())).register_handler(
        TARGET, PLATFORM, traits=_PROCESS_BOUND, instantiate=address, execute=address
    )

    @atexit.register
    def wait_for_callbacks() -> None:
        # A program that calls back after the end of Python would not come back.
        for array in jax.live_arrays(PLATFORM) if _callbacks else ():
            with contextlib.suppress(Exception):
                array.block_until_ready()


@hook
def run_callbacks_without_cpu() -> None:
    """JAX puts the arguments of callbacks on XLA:CPU; where JAX_PLATFORMS leaves that out, Kiln will do."""
    from jax._src import callback, debugging, xla_bridge

    class Bridge:
        def __getattr__(self, name):
            return getattr(xla_bridge, name)

        @staticmethod
        def local_devices(*args, **kwargs):
            try:
                return xla_bridge.local_devices(*args, **kwargs)
            except RuntimeError:
                if kwargs.get("backend") != "cpu":
                    raise
                return xla_bridge.local_devices(backend=PLATFORM)

    callback.xb = debugging.xla_bridge = Bridge()
