"""Custom calls: what `jax.ffi.register_ffi_target(..., platform="kiln")` and `register_ffi_type` call.

Handlers come as capsules around C addresses and go to the library through the C functions of `kiln.h`.
"""

import ctypes

_STAGES = ("instantiate", "prepare", "initialize", "execute")

_pointer, _size, _int = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int


def structure(name: str, *fields):
    """An XLA FFI structure: its size and an extension pointer come first."""
    return type(name, (ctypes.Structure,), {"_fields_": [("struct_size", _size), ("extension", _pointer), *fields]})


class _Handler(ctypes.Structure):
    _fields_ = [("struct_size", _size), *((stage, _pointer) for stage in _STAGES), ("traits", ctypes.c_uint32)]


TypeInfo = structure("TypeInfo", ("deleter", _pointer))
List = structure("List", ("size", ctypes.c_int64), ("types", _pointer), ("items", ctypes.POINTER(_pointer)))
_Attributes = structure(
    "Attributes", ("size", ctypes.c_int64), ("types", _pointer), ("names", _pointer), ("values", ctypes.POINTER(_pointer))
)
CallFrame = structure(
    "CallFrame", ("api", _pointer), ("context", _pointer), ("stage", _int),
    ("arguments", List), ("results", List), ("attributes", _Attributes),
)  # fmt: skip
_ErrorCreate = structure("ErrorCreate", ("message", ctypes.c_char_p), ("code", _int))
Function = ctypes.CFUNCTYPE(_pointer, _pointer)  # a handler, and a function of the API table

_ERROR_CREATE, _INTERNAL = 48, 13


def call(api: int, slot: int, arguments_type, **fields):
    """Calls the function of the API table whose slot has this offset."""
    arguments = arguments_type(ctypes.sizeof(arguments_type), None, **fields)
    return Function(_pointer.from_address(api + slot).value)(ctypes.addressof(arguments))


def error(api: int, message: str):
    """An error for a handler to return."""
    return call(api, _ERROR_CREATE, _ErrorCreate, message=message.replace("\0", "").encode(), code=_INTERNAL)


def address(capsule) -> int:
    """The address in a PyCapsule."""
    get_name, get_pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    get_name.restype, get_name.argtypes = ctypes.c_char_p, (ctypes.py_object,)
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return get_pointer(capsule, get_name(capsule))


class Library:
    """The functions of `kiln.h` that this package calls. Raises RuntimeError with the library's message."""

    def __init__(self, path: str):
        library = ctypes.CDLL(path)
        library.kiln_status_message.restype = ctypes.c_char_p
        library.kiln_status_message.argtypes = library.kiln_status_destroy.argtypes = (ctypes.c_void_p,)
        library.kiln_ffi_register_handler.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(_Handler))
        library.kiln_ffi_register_function.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p)
        library.kiln_ffi_register_type.argtypes = (ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p)
        for name in ("handler", "function", "type"):
            getattr(library, f"kiln_ffi_register_{name}").restype = ctypes.c_void_p
        self._library = library

    def _check(self, status) -> None:
        if not status:
            return
        message = self._library.kiln_status_message(status).decode(errors="replace")
        self._library.kiln_status_destroy(status)
        raise RuntimeError(message)

    def register_handler(self, name: str, platform: str, traits: int = 0, **stages: int) -> None:
        """Registers a typed handler by the addresses of its stages; `execute` is required."""
        handler = _Handler(ctypes.sizeof(_Handler), traits=int(traits), **stages)
        self._check(self._library.kiln_ffi_register_handler(name.encode(), platform.encode(), ctypes.byref(handler)))

    def register_function(self, name: str, platform: str, address: int) -> None:
        """Registers a plain function for api versions 1 to 3."""
        self._check(self._library.kiln_ffi_register_function(name.encode(), platform.encode(), address))

    def register_type(self, name: str, id_address: int, deleter: int | None) -> None:
        """Registers a type; its id is read from and written to `id_address`."""
        self._check(self._library.kiln_ffi_register_type(name.encode(), id_address, deleter))

    # What xla_client calls.

    def custom_call_handler(self, name, fn, platform, api_version=1, traits=0) -> None:
        name = name.decode() if isinstance(name, bytes) else name
        stages = fn if isinstance(fn, dict) else {"execute": fn}
        if unknown := set(stages) - set(_STAGES):
            raise ValueError(f"custom call {name!r} has stages {sorted(unknown)}, known are {', '.join(_STAGES)}")
        stages = {stage: address(capsule) for stage, capsule in stages.items() if capsule is not None}
        if api_version == 1:
            self.register_handler(name, platform, traits, **stages)
        elif api_version == 0 and set(stages) == {"execute"}:
            self.register_function(name, platform, stages["execute"])
        else:
            raise ValueError(f"custom call {name!r} is registered with api_version {api_version}, expected 1, or 0 for one function")

    def custom_type_handler(self, name, registration) -> None:
        parts = registration if isinstance(registration, dict) else {"type_id": registration}
        info = parts.get("type_info")
        deleter = TypeInfo.from_address(address(info)).deleter if info is not None else None
        self.register_type(name, address(parts["type_id"]), deleter)


def register(platform: str, path: str) -> Library:
    """Takes over custom calls and types that are or will be registered with JAX for `platform`."""
    from jax._src.lib import xla_client

    library = Library(path)
    xla_client.register_custom_call_handler(platform, library.custom_call_handler)
    if hasattr(xla_client, "register_custom_type_handler"):
        xla_client.register_custom_type_handler(platform, library.custom_type_handler)
    return library
