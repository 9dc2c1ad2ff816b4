"""How JAX's functions reach Kiln where JAX takes them apart before a plugin sees them.

erfc becomes a polynomial that is off by hundreds of units in the last place; complex functions become formulas of real ones,
a hundred ops for some, which lose their accuracy near overflow and underflow. Kiln has each as one op. They go as StableHLO
composites named after the op, with JAX's own form as decomposition for other readers of an exported program.
"""

import threading

from .hooks import PLATFORM, hook

_COMPLEX = {
    "exp": "exponential",
    "log": "log",
    "log1p": "log_plus_one",
    "sqrt": "sqrt",
    "sin": "sine",
    "cos": "cosine",
    "sinh": "sinh",
    "cosh": "cosh",
    "asin": "asin",
    "acos": "acos",
    "asinh": "asinh",
    "acosh": "acosh",
    "atanh": "atanh",
    "logistic": "logistic",
}


@hook
def keep_functions_whole() -> None:
    import numpy as np
    from jax import lax
    from jax._src.interpreters import mlir

    def is_complex(aval):
        return np.issubdtype(aval.dtype, np.complexfloating)

    for name, opcode in _COMPLEX.items():
        _lower_as_one_op(getattr(lax, f"{name}_p"), opcode, is_complex)
    mlir.register_lowering(lax.atan_p, _atan(mlir._lowerings[lax.atan_p].rule, is_complex), platform=PLATFORM)
    _lower_as_one_op(lax.erfc_p, "erfc", lambda aval: True)
    for primitive in (lax.erf_p, lax.erfc_p):
        _lower_bytes_in_f32(primitive)


def _atan(default, applies):
    """A rule for atan: atan(z) = -i atanh(i z)."""
    from jax import lax
    from jax._src.interpreters import mlir

    def turned(z):
        w = lax.atanh(lax.complex(-lax.imag(z), lax.real(z)))
        return lax.complex(lax.imag(w), -lax.real(w))

    whole = mlir.lower_fun(turned, multiple_results=False)
    return lambda context, z: (whole if applies(context.avals_in[0]) else default)(context, z)


def _lower_as_one_op(primitive, opcode, applies) -> None:
    from jax import lax
    from jax._src.interpreters import mlir

    default = mlir._lowerings[primitive].rule
    # Set while the decomposition is lowered, which is JAX's own form.
    inside = threading.local()

    def rule(context, operand, **parameters):
        # A composite takes no sizes, nor the number of a platform, besides its operand.
        more = context.module_context.shape_poly_state.dim_vars
        if getattr(inside, "yes", False) or more or not applies(context.avals_in[0]):
            return default(context, operand, **parameters)
        whole = lax.composite(lambda x: primitive.bind(x, **parameters), name=f"kiln.{opcode}")
        inside.yes = True
        try:
            return mlir.lower_fun(whole, multiple_results=False)(context, operand)
        finally:
            inside.yes = False

    mlir.register_lowering(primitive, rule, platform=PLATFORM)


def _lower_bytes_in_f32(primitive) -> None:
    """JAX's own forms of erf and erfc refuse floats of 8 bits."""
    import numpy as np
    from jax import lax
    from jax._src.interpreters import mlir

    entries = mlir._platform_specific_lowerings[PLATFORM]
    default = entries.get(primitive, mlir._lowerings.get(primitive)).rule

    def widened(x):
        return lax.convert_element_type(primitive.bind(lax.convert_element_type(x, np.float32)), x.dtype)

    def rule(context, operand, **parameters):
        if context.avals_in[0].dtype.itemsize > 1:
            return default(context, operand, **parameters)
        return mlir.lower_fun(widened, multiple_results=False)(context, operand)

    mlir.register_lowering(primitive, rule, platform=PLATFORM)
