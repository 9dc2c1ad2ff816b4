"""Linear algebra by jaxlib's LAPACK handlers, with the lowering rules that JAX has for XLA:CPU."""

import ctypes

from . import ffi

# Primitives of jax.lax.linalg that LAPACK serves. triangular_solve is not among them: Kiln's own is as accurate and
# faster at any size.
_PRIMITIVES = ("cholesky", "eig", "eigh", "hessenberg", "householder_product", "ormqr", "lu", "geqrf", "geqp3", "schur", "svd",
               "tridiagonal", "tridiagonal_solve")  # fmt: skip
# Real and complex matrices whose smaller side is at least this long have code of Kiln's own that is faster than LAPACK's,
# as measured against it, and as accurate. None: LAPACK compares complex pivots by another norm, and users see the pivots.
_OWN_FROM = {"cholesky": (1, 128), "geqrf": (1, 25), "householder_product": (1, 25), "lu": (1, None)}


@ffi.Function
def _instantiate(address):
    # jaxlib finds LAPACK in scipy, which is imported when the first program that needs it is compiled, wherever the
    # program comes from.
    frame = ffi.CallFrame.from_address(address)
    if frame.extension:
        return None  # asked for metadata; no answer stands for version 0.0
    try:
        from jax._src.lib import lapack

        lapack._lapack.initialize()
        return None
    except Exception as error:
        return ffi.error(frame.api, f"LAPACK is not to be had: {error}")


def register(platform: str, library: ffi.Library) -> None:
    """Registers the handlers with the library and the lowering rules with JAX."""
    from jax._src.interpreters import mlir
    from jax._src.lib import lapack

    instantiate = ctypes.cast(_instantiate, ctypes.c_void_p).value
    for name, capsule, api_version in lapack.registrations().get("cpu", ()):
        if api_version == 1:
            library.register_handler(name, platform, instantiate=instantiate, execute=ffi.address(capsule))
    # There is no public way to ask JAX for its rules; without them these primitives have none, or generated code.
    specific = getattr(mlir, "_platform_specific_lowerings", {})
    general = getattr(mlir, "_lowerings", {})
    for primitive, entry in list(specific.get("cpu", {}).items()):
        if primitive.name not in _PRIMITIVES:
            continue
        # XLA has the LU decomposition as a custom call on TPUs alone; Kiln knows it by the same name.
        own = (specific.get("tpu", {}) if primitive.name == "lu" else general).get(primitive)
        rule = entry.rule
        if primitive.name in _OWN_FROM and own is not None:
            rule = _by_size(rule, own.rule, *_OWN_FROM[primitive.name])
        mlir.register_lowering(primitive, rule, platform=platform, inline=entry.inline)


def _by_size(lapack_rule, own_rule, real_limit, complex_limit):
    def rule(context, matrix, *operands, **parameters):
        shape, dtype = context.avals_in[0].shape, context.avals_in[0].dtype
        limit = complex_limit if dtype.kind == "c" else real_limit
        own = limit is not None and all(isinstance(n, int) for n in shape) and min(shape[-2:]) >= limit
        return (own_rule if own else lapack_rule)(context, matrix, *operands, **parameters)

    return rule
