"""Linear algebra by jaxlib's LAPACK handlers, with the lowering rules that JAX has for XLA:CPU."""

import ctypes

from . import ffi

# Primitives of jax.lax.linalg that LAPACK serves. triangular_solve is not among them: generated code is as fast at any
# size, as accurate, and fuses.
_PRIMITIVES = ("cholesky", "eig", "eigh", "hessenberg", "householder_product", "ormqr", "lu", "geqrf", "geqp3", "schur", "svd",
               "tridiagonal", "tridiagonal_solve")  # fmt: skip
# Matrices whose smaller side is at least this long have generated code that is faster than LAPACK's, as measured against
# it, and as accurate.
_GENERATED_FROM = {"cholesky": 128, "geqrf": 25, "householder_product": 25, "lu": 384}


class _Frame(ctypes.Structure):
    """The head of an XLA_FFI_CallFrame."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("extension_start", ctypes.c_void_p), ("api", ctypes.c_void_p)]


class _ErrorCreate(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("extension_start", ctypes.c_void_p), ("message", ctypes.c_char_p), ("code", ctypes.c_int)]


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_Frame))
def _instantiate(frame):
    # jaxlib finds LAPACK in scipy, which is imported when the first program that needs it is compiled, wherever the
    # program comes from.
    if frame.contents.extension_start:
        return None  # asked for metadata; no answer stands for version 0.0
    try:
        from jax._src.lib import lapack

        lapack._lapack.initialize()
        return None
    except Exception as error:
        # XLA_FFI_Error_Create is the first function of the table; 13 is INTERNAL.
        create = ctypes.c_void_p.from_address(frame.contents.api + 48).value
        arguments = _ErrorCreate(_ErrorCreate.code.offset + 4, None, f"LAPACK is not to be had: {error}".encode(), 13)
        return ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(create)(ctypes.addressof(arguments))


def register(platform: str, library: ffi.Library) -> None:
    """Registers the handlers with the library and the lowering rules with JAX."""
    from jax._src.interpreters import mlir
    from jax._src.lib import lapack

    instantiate = ctypes.cast(_instantiate, ctypes.c_void_p).value
    for name, capsule, api_version in lapack.registrations().get("cpu", ()):
        if api_version == 1:
            library.register_handler(name, platform, instantiate=instantiate, execute=ffi.address(capsule))
    # There is no public way to ask JAX for its rules; without them these primitives have none, or generated code.
    rules = getattr(mlir, "_platform_specific_lowerings", {}).get("cpu", {})
    general = getattr(mlir, "_lowerings", {})
    for primitive, entry in list(rules.items()):
        if primitive.name not in _PRIMITIVES:
            continue
        rule = entry.rule
        if primitive.name in _GENERATED_FROM and primitive in general:
            rule = _by_size(rule, general[primitive].rule, _GENERATED_FROM[primitive.name], primitive.name == "lu")
        mlir.register_lowering(primitive, rule, platform=platform, inline=entry.inline)


def _by_size(lapack_rule, generated_rule, limit, real_only):
    def rule(context, matrix, *operands, **parameters):
        shape, dtype = context.avals_in[0].shape, context.avals_in[0].dtype
        # LAPACK compares complex pivots by another norm, and JAX's users see the pivots.
        generated = not (real_only and dtype.kind == "c") and all(isinstance(n, int) and n >= limit for n in shape[-2:])
        return (generated_rule if generated else lapack_rule)(context, matrix, *operands, **parameters)

    return rule
