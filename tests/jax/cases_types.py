"""Other element types than float32 and int32, conversions, literals, shapes of every rank, pytrees."""

import jax
import jax.numpy as jnp
import numpy as np
from harness import EXACT, Case, booleans, integers, normal, normals, together, uniform, values
from jax import lax

HALF_FUNCTIONS = [
    ("arithmetic", lambda x: x * x + x - 1),
    ("divide", lambda x: 1 / (x * x + 1)),
    ("exp", jnp.exp),
    ("log", lambda x: jnp.log(jnp.abs(x) + 1)),
    ("tanh", jnp.tanh),
    ("sigmoid", jax.nn.sigmoid),
    ("gelu", jax.nn.gelu),
    ("sqrt", lambda x: jnp.sqrt(jnp.abs(x))),
    ("maximum", lambda x: jnp.maximum(x, 0)),
    ("compare", lambda x: (x < 0.5, x == x)),
    ("softmax", jax.nn.softmax),
    ("max_and_argmax", lambda x: (x.max(-1), x.argmax(-1))),
    ("sort", jnp.sort),
    ("transpose", lambda x: x.T),
    ("to_float32", lambda x: x.astype(jnp.float32)),
]
ROUNDED = [
    # Magnitudes, since XLA:CPU contracts products and sums of halves where the processor has both in one instruction.
    ("chain_is_rounded_per_op", lambda x, y: abs((abs(x * y) + x) * y) - x),
    ("product_to_float32", lambda x, y: (x * y).astype(jnp.float32)),
    ("product_to_float32_and_on", lambda x, y: (x * y).astype(jnp.float32) * 3 + (x * y + y).astype(jnp.float32)),
    ("product_from_a_function", lambda x, y: jax.jit(jnp.multiply)(x, y).astype(jnp.float32)),
    ("selected_product", lambda x, y: jnp.where(x > 0, x * y, x).astype(jnp.float32)),
    ("product_in_a_loop", lambda x, y: lax.scan(lambda carry, v: (carry, (v * v).astype(jnp.float32)), 0, x)[1]),
    ("program_rounds", lambda x, y: (x.astype(jnp.float32) * y.astype(jnp.float32)).astype(x.dtype).astype(jnp.float32)),
]
HALF_TYPES = [("bfloat16", jnp.bfloat16), ("float16", np.float16)]

WIDE_FUNCTIONS = [
    ("exp", jnp.exp, -20, 20),
    ("log", jnp.log, 0.001, 100),
    ("log1p", jnp.log1p, -0.9, 50),
    ("expm1", jnp.expm1, -5, 5),
    ("sin", jnp.sin, -20, 20),
    ("cos", jnp.cos, -20, 20),
    ("tan", jnp.tan, -1.4, 1.4),
    ("tanh", jnp.tanh, -10, 10),
    ("atan", jnp.arctan, -20, 20),
    ("sqrt", jnp.sqrt, 0.01, 50),
    ("cbrt", jnp.cbrt, 0.01, 50),
    ("rsqrt", lax.rsqrt, 0.01, 50),
    ("logistic", jax.nn.sigmoid, -15, 15),
    ("erf", jax.scipy.special.erf, -4, 4),
    ("sinh", jnp.sinh, -5, 5),
    ("acosh", jnp.arccosh, 1.1, 20),
    ("lgamma", jax.scipy.special.gammaln, 0.2, 20),
]

# Values that every type on the way can hold, so that no conversion is undefined.
CONVERTED = np.array([0, 1, 2, 3, 7, 19, 100, 127], np.float32)
NARROW_TYPES = ["bool_", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "bfloat16", "float32", "complex64"]
WIDE_TYPES = ["int64", "uint64", "float64", "complex128"]


def converts(source, target):
    return lambda x: x.astype(source).astype(target)


def _tree(inputs):
    return {
        "sum": inputs["a"] + inputs["nested"][0],
        "pair": (inputs["nested"][1], inputs["a"] * 2),
        "list": [inputs["a"].sum(), None],
    }


CASES = [
    # Its constants are splats of no elements.
    Case("arccos_of_nothing", jnp.arccos, values(np.zeros(0, np.float32))),
    Case("top_k_of_booleans", lambda x: lax.top_k(x, 5), booleans((3, 20))),
    *[
        Case(f"{type_name}_{name}", function, normal(24, 33, dtype=dtype))
        for type_name, dtype in HALF_TYPES
        for name, function in HALF_FUNCTIONS
    ],
    *[Case(f"{name}_sum_in_float32", lambda x: jnp.sum(x, dtype=jnp.float32), normal(500, dtype=dtype)) for name, dtype in HALF_TYPES],
    *[
        Case(f"{name}_matmul_to_float32", lambda a, b: jnp.matmul(a, b, preferred_element_type=jnp.float32), normals((16, 24), (24, 8), dtype=dtype))
        for name, dtype in HALF_TYPES
    ],
    *[Case(f"{name}_matmul", jnp.matmul, lambda rng, d=dtype: tuple((rng.integers(-4, 5, s) / 2).astype(d) for s in [(9, 16), (16, 7)])) for name, dtype in HALF_TYPES],
    # Bit for bit: what is rounded where.
    *[
        Case(f"{name}_{program}", function, normals((48,), (48,), dtype=dtype), tolerance=EXACT)
        for name, dtype in [*HALF_TYPES, ("float8", jnp.float8_e4m3fn)]
        for program, function in ROUNDED
    ],
    Case("bfloat16_bits", lambda x: lax.bitcast_convert_type(x, jnp.uint16), normal(64, dtype=jnp.bfloat16)),
    Case("float32_to_bfloat16_rounds_to_even", lambda x: x.astype(jnp.bfloat16), normal(4096)),
    Case("float32_to_float16_rounds_to_even", lambda x: x.astype(jnp.float16), normal(4096)),
    *[Case(f"float64_{name}", function, uniform(515, low=low, high=high, dtype=np.float64), x64=True) for name, function, low, high in WIDE_FUNCTIONS],
    Case("float64_matmul", jnp.matmul, normals((33, 47), (47, 29), dtype=np.float64), x64=True),
    Case("float64_gradient", jax.grad(lambda x: jnp.sum(jnp.sin(x) * jnp.exp(-x))), normal(64, dtype=np.float64), x64=True),
    Case("float64_softmax", jax.nn.softmax, normal(8, 40, dtype=np.float64), x64=True),
    Case("float64_sum", lambda x: (x.sum(), x.mean(0), x.var(1)), normal(40, 50, dtype=np.float64), x64=True),
    Case("complex128_exp", jnp.exp, lambda rng: (rng.standard_normal(40) + 1j * rng.standard_normal(40),), x64=True),
    Case("int64_arithmetic", lambda a, b: (a * b, a // b, a % b, a - b), integers((50,), (50,), low=1, high=2**40, dtype=np.int64), x64=True),
    Case("int64_index", lambda x, i: x[i], together(normal(30), integers((9,), low=0, high=30, dtype=np.int64)), x64=True),
    Case("uint64_bits", lambda a: (a << 7, a >> 9, ~a, lax.population_count(a), lax.clz(a)), integers((50,), low=0, high=2**63, dtype=np.uint64), x64=True),
    Case("iota_int64", lambda: jnp.arange(100), x64=True),
    *[Case(f"convert_{source}_to_all", lambda x, s=source: [x.astype(s).astype(t) for t in NARROW_TYPES if s != "complex64" or t == s], values(CONVERTED)) for source in NARROW_TYPES],
    *[Case(f"convert_{source}_to_all", lambda x, s=source: [x.astype(s).astype(t) for t in WIDE_TYPES if s != "complex128" or t == s], values(CONVERTED), x64=True) for source in WIDE_TYPES],
    Case("convert_truncates", lambda x: x.astype(jnp.int32), values(np.float32([-2.7, -0.5, 0.5, 2.7, 1e6]))),
    Case("convert_negative_to_unsigned_wraps", lambda x: x.astype(jnp.uint8), values(np.int32([-1, -128, 255, 256]))),
    Case("int8_arithmetic", lambda a, b: (a + b, a * b, a - b), integers((64,), (64,), low=-128, high=128, dtype=np.int8)),
    Case("int8_matmul_to_int32", lambda a, b: lax.dot(a, b, preferred_element_type=jnp.int32), integers((9, 31), (31, 5), low=-128, high=128, dtype=np.int8)),
    Case("int16_sum", lambda x: jnp.sum(x, axis=0), integers((20, 6), dtype=np.int16)),
    Case("uint32_multiply_high", lambda a, b: (a >> 16) * (b & 0xFFFF), integers((64,), (64,), low=0, high=2**32, dtype=np.uint32)),
    Case("bool_sum", lambda x: (x.sum(), x.any(), x.all(), x.mean()), booleans((7, 9))),
    Case("constant_scalar", lambda: jnp.float32(3.25)),
    Case("constant_array", lambda: jnp.asarray(np.arange(24, dtype=np.float32).reshape(2, 3, 4))),
    Case("constant_of_each_type", lambda: [jnp.asarray([1, 0, 3], dtype=t) for t in NARROW_TYPES]),
    Case("zeros_ones_full", lambda: (jnp.zeros((3, 4)), jnp.ones(5, jnp.int32), jnp.full((2, 2), 7.5))),
    Case("arange_linspace", lambda: (jnp.arange(10), jnp.arange(2, 9, 3), jnp.linspace(0, 1, 11), jnp.logspace(0, 2, 5))),
    Case("eye_tri", lambda: (jnp.eye(5), jnp.eye(3, 6, k=1), jnp.tri(4))),
    Case("iota_dimension", lambda: lax.broadcasted_iota(jnp.int32, (3, 5, 2), 1)),
    Case("meshgrid", lambda: jnp.meshgrid(jnp.arange(3), jnp.arange(4))),
    Case("rank_0", lambda x, y: x * y + jnp.sin(x), values(np.float32(1.5), np.float32(-2))),
    Case("rank_6", lambda x: x.transpose(5, 3, 1, 0, 2, 4).sum((1, 4)), normal(2, 3, 2, 3, 2, 3)),
    Case("size_one_dimensions", lambda x: x.squeeze() + x[:, 0, :, 0], normal(4, 1, 5, 1)),
    Case("empty_elementwise", lambda x: jnp.exp(x) + 1, normal(0, 5)),
    Case("empty_sum", lambda x: (x.sum(0), x.sum(1)), normal(0, 5)),
    Case("empty_matmul", jnp.matmul, normals((3, 0), (0, 4))),
    Case("empty_concatenate", lambda x, y: jnp.concatenate([x, y]), normals((0, 3), (4, 3))),
    Case("empty_sort_and_gather", lambda x: (jnp.sort(x), x[jnp.zeros(0, jnp.int32)]), normal(0)),
    Case("identity", lambda x: x, normal(10)),
    Case("same_value_twice", lambda x: (x, x, x + 1), normal(10)),
    Case("unused_argument", lambda x, y: x + 1, normals((3,), (4,))),
    Case("pytree", _tree, lambda rng: ({"a": np.float32(rng.standard_normal(4)), "nested": [np.float32(2), np.int32([1, 2])]},)),
    Case("many_arguments", lambda *xs: sum(xs), normals(*[(7,)] * 60)),
    Case("many_results", lambda x: [x * i for i in range(60)], normal(7)),
]
