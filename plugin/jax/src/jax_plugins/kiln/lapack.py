"""Linear algebra by jaxlib's LAPACK handlers, with the lowering rules that JAX has for XLA:CPU."""

import ctypes

from . import ffi

# Primitives of jax.lax.linalg that have no code of Kiln's own as good as LAPACK's.
_PRIMITIVES = ("cholesky", "eig", "eigh", "hessenberg", "householder_product", "ormqr", "lu", "geqrf", "geqp3", "schur", "svd",
               "triangular_solve", "tridiagonal", "tridiagonal_solve")  # fmt: skip


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
def _initialize(frame):
    # jaxlib finds LAPACK in scipy, which is imported when the first program that needs it is compiled, wherever the
    # program comes from. The call that asks for metadata gets no answer, which stands for version 0.0.
    from jax._src.lib import lapack

    lapack._lapack.initialize()


def register(platform: str, library: ffi.Library) -> None:
    """Registers the handlers with the library and the lowering rules with JAX."""
    from jax._src.interpreters import mlir
    from jax._src.lib import lapack

    instantiate = ctypes.cast(_initialize, ctypes.c_void_p).value
    for name, capsule, api_version in lapack.registrations().get("cpu", ()):
        if api_version == 1:
            library.register_handler(name, platform, instantiate=instantiate, execute=ffi.address(capsule))
    for primitive, entry in list(mlir._platform_specific_lowerings["cpu"].items()):
        if primitive.name in _PRIMITIVES:
            mlir.register_lowering(primitive, entry.rule, platform=platform, inline=entry.inline)
