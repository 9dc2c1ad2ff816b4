"""How JAX's functions reach Kiln where JAX takes them apart before a plugin sees them.

erfc becomes a polynomial that is off by hundreds of units in the last place; complex functions become formulas of real ones,
a hundred ops for some, which lose their accuracy near overflow and underflow; a ragged dot multiplies every group by all of
the rows. Kiln has each as one op. They go as StableHLO composites named after the op, with JAX's own form as decomposition
for other readers of an exported program.
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
    from jax._src.lax import lax as jax_lax

    def is_complex(aval):
        return np.issubdtype(aval.dtype, np.complexfloating)

    for name, opcode in _COMPLEX.items():
        _lower_as_one_op(getattr(lax, f"{name}_p"), opcode, lambda aval, parameters: {} if is_complex(aval) else None)
    mlir.register_lowering(lax.atan_p, _atan(mlir._lowerings[lax.atan_p].rule, is_complex), platform=PLATFORM)
    _lower_as_one_op(lax.erfc_p, "erfc", lambda aval, parameters: {})
    _lower_as_one_op(jax_lax.ragged_dot_general_p, "ragged_dot", _ragged_dot_attributes)
    for primitive in (lax.erf_p, lax.erfc_p):
        _lower_bytes_in_f32(primitive)


def _ragged_dot_attributes(aval, parameters):
    import numpy as np

    precision = parameters["precision"]
    if parameters["group_offset"] is not None or not (precision is None or isinstance(precision, tuple)):
        return None
    numbers = parameters["ragged_dot_dimension_numbers"]
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = numbers.dot_dimension_numbers
    lists = {
        "lhs_batching_dimensions": lhs_batch,
        "rhs_batching_dimensions": rhs_batch,
        "lhs_contracting_dimensions": lhs_contracting,
        "rhs_contracting_dimensions": rhs_contracting,
        "lhs_ragged_dimensions": numbers.lhs_ragged_dimensions,
        "rhs_group_dimensions": numbers.rhs_group_dimensions,
        "operand_precision": [each.value for each in precision or ()],
    }
    return {name: np.array(values, np.int64) for name, values in lists.items() if len(values)}


def _atan(default, applies):
    """A rule for atan: atan(z) = -i atanh(i z)."""
    from jax import lax
    from jax._src.interpreters import mlir

    def turned(z):
        w = lax.atanh(lax.complex(-lax.imag(z), lax.real(z)))
        return lax.complex(lax.imag(w), -lax.real(w))

    whole = mlir.lower_fun(turned, multiple_results=False)
    return lambda context, z: (whole if applies(context.avals_in[0]) else default)(context, z)


def _lower_as_one_op(primitive, opcode, attributes_of) -> None:
    """`attributes_of(aval of operand 0, parameters)`: the composite's attributes, or None where JAX's own form stays."""
    from jax import lax
    from jax._src.interpreters import mlir

    default = mlir._lowerings[primitive].rule
    # Set while the decomposition is lowered, which is JAX's own form.
    inside = threading.local()

    def rule(context, *operands, **parameters):
        # A composite takes no sizes, nor the number of a platform, besides its operands.
        more = context.module_context.shape_poly_state.dim_vars
        attributes = attributes_of(context.avals_in[0], parameters)
        if getattr(inside, "yes", False) or more or attributes is None:
            return default(context, *operands, **parameters)

        def decomposed(*values, **_):
            return primitive.bind(*values, **parameters)

        whole = lax.composite(decomposed, name=f"kiln.{opcode}")
        inside.yes = True
        try:
            return mlir.lower_fun(lambda *values: whole(*values, **attributes), multiple_results=False)(context, *operands)
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
