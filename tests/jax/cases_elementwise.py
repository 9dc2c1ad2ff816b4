"""One number in, one number out: values in float32, derivatives, special values, integers, bits, comparisons, complex."""

import jax
import jax.numpy as jnp
import numpy as np
from harness import Case, Tolerance, booleans, integers, normal, normals, together, uniform, values
from jax import lax
from jax.scipy import special

# name, function, interval of the inputs. Intervals stay away from poles, where no two implementations agree.
UNARY = [
    ("abs", jnp.abs, -3, 3),
    ("negative", jnp.negative, -3, 3),
    ("sign", jnp.sign, -3, 3),
    ("square", jnp.square, -3, 3),
    ("reciprocal", jnp.reciprocal, 0.1, 4),
    ("sqrt", jnp.sqrt, 0.01, 50),
    ("rsqrt", lax.rsqrt, 0.01, 50),
    ("cbrt", jnp.cbrt, 0.01, 50),
    ("exp", jnp.exp, -20, 8),
    ("exp2", jnp.exp2, -20, 8),
    ("expm1", jnp.expm1, -5, 5),
    ("log", jnp.log, 0.001, 100),
    ("log2", jnp.log2, 0.001, 100),
    ("log10", jnp.log10, 0.001, 100),
    ("log1p", jnp.log1p, -0.9, 50),
    ("sin", jnp.sin, -20, 20),
    ("cos", jnp.cos, -20, 20),
    ("tan", jnp.tan, -1.4, 1.4),
    ("asin", jnp.arcsin, -0.95, 0.95),
    ("acos", jnp.arccos, -0.95, 0.95),
    ("atan", jnp.arctan, -20, 20),
    ("sinh", jnp.sinh, -5, 5),
    ("cosh", jnp.cosh, -5, 5),
    ("tanh", jnp.tanh, -10, 10),
    ("asinh", jnp.arcsinh, -20, 20),
    ("acosh", jnp.arccosh, 1.1, 20),
    ("atanh", jnp.arctanh, -0.95, 0.95),
    ("logistic", jax.nn.sigmoid, -15, 15),
    ("log_sigmoid", jax.nn.log_sigmoid, -15, 15),
    ("softplus", jax.nn.softplus, -15, 15),
    ("relu", jax.nn.relu, -3, 3),
    ("relu6", jax.nn.relu6, -3, 8),
    ("leaky_relu", jax.nn.leaky_relu, -3, 3),
    ("elu", jax.nn.elu, -5, 5),
    ("selu", jax.nn.selu, -5, 5),
    ("celu", jax.nn.celu, -5, 5),
    ("silu", jax.nn.silu, -15, 15),
    ("mish", jax.nn.mish, -10, 10),
    ("gelu_tanh", lambda x: jax.nn.gelu(x, approximate=True), -5, 5),
    ("gelu_erf", lambda x: jax.nn.gelu(x, approximate=False), -5, 5),
    ("hard_tanh", jax.nn.hard_tanh, -3, 3),
    ("soft_sign", jax.nn.soft_sign, -5, 5),
    ("erf", special.erf, -4, 4),
    ("erfc", special.erfc, -3, 4),
    ("erf_inv", special.erfinv, -0.95, 0.95),
    ("lgamma", special.gammaln, 0.2, 20),
    ("digamma", special.digamma, 0.2, 20),
    ("sinc", jnp.sinc, -5, 5),
    ("logit", special.logit, 0.05, 0.95),
    ("entropy", special.entr, 0.05, 5),
    ("i0e", special.i0e, -10, 10),
]
# The derivative of gelu and digamma, and the second evaluation inside it, doubles the rounding error of the value.
DERIVATIVE_TOLERANCE = Tolerance(3e-5, 3e-5)


def derivative(function):
    return jax.vmap(jax.grad(function))


SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 3.0e38, -3.0e38, 1.5e-38, 88.0, 89.5, -104.0], np.float32)
SPECIAL_FUNCTIONS = [
    ("abs", jnp.abs),
    ("sqrt", jnp.sqrt),
    ("rsqrt", lax.rsqrt),
    ("cbrt", jnp.cbrt),
    ("exp", jnp.exp),
    ("exp2", jnp.exp2),
    ("expm1", jnp.expm1),
    ("log", jnp.log),
    ("log1p", jnp.log1p),
    ("tanh", jnp.tanh),
    ("atan", jnp.arctan),
    ("logistic", jax.nn.sigmoid),
    ("erf", special.erf),
    ("sign", jnp.sign),
    ("floor", jnp.floor),
    ("round", jnp.round),
    ("isfinite", jnp.isfinite),
    ("is_nan", jnp.isnan),
    ("reciprocal", jnp.reciprocal),
    ("signbit", jnp.signbit),
    ("to_int32", lambda x: jnp.where(jnp.abs(x) < 2e9, x, 0).astype(jnp.int32)),
]
SPECIAL_PAIRS = (np.repeat(SPECIAL, SPECIAL.size), np.tile(SPECIAL, SPECIAL.size))

ROUNDING = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, 3.2, -3.7, 8388609.0], np.float32)

BINARY = [
    ("add", jnp.add),
    ("subtract", jnp.subtract),
    ("multiply", jnp.multiply),
    ("maximum", jnp.maximum),
    ("minimum", jnp.minimum),
    ("atan2", jnp.arctan2),
    ("hypot", jnp.hypot),
    ("copysign", jnp.copysign),
    ("logaddexp", jnp.logaddexp),
    ("heaviside", jnp.heaviside),
    ("xlogy_of_squares", lambda x, y: special.xlogy(x * x, y * y + 1)),
]
POSITIVE_PAIR = together(uniform(257, low=0.2, high=5), uniform(257, low=0.3, high=3))

INTEGER_BINARY = [
    ("add", jnp.add),
    ("subtract", jnp.subtract),
    ("multiply", jnp.multiply),
    ("floor_divide", jnp.floor_divide),
    ("truncating_divide", lax.div),
    ("remainder", lax.rem),
    ("mod", jnp.mod),
    ("maximum", jnp.maximum),
    ("gcd", jnp.gcd),
    ("bitwise_and", jnp.bitwise_and),
    ("bitwise_or", jnp.bitwise_or),
    ("bitwise_xor", jnp.bitwise_xor),
]
NONZERO = together(integers((97,), low=-1000, high=1000), integers((97,), low=1, high=30))
WORDS = integers((128,), low=0, high=2**32, dtype=np.uint32)

COMPLEX_UNARY = [
    ("exp", jnp.exp),
    ("log", jnp.log),
    ("sqrt", jnp.sqrt),
    ("sin", jnp.sin),
    ("cos", jnp.cos),
    ("tanh", jnp.tanh),
    ("abs", jnp.abs),
    ("angle", jnp.angle),
    ("conj", jnp.conj),
    ("reciprocal", jnp.reciprocal),
    ("parts", lambda z: (z.real, z.imag)),
]


# No NaN: beside an infinity the magnitude is infinite here as in C, and NaN with XLA:CPU.
SPECIAL_PARTS = (0.0, -0.0, 1.0, -2.0, 1e-30, 1e30, np.inf, -np.inf)


def complex_normals(*shapes):
    return lambda rng: tuple((rng.standard_normal(s) + 1j * rng.standard_normal(s)).astype(np.complex64) for s in shapes)


def _of_wider_rows(x, y):
    width = x.shape[1]
    return x * y[:, 1 : width + 1] + y[:, width - 1 :: -1] * y[:, -1:], x - y[:, :1]


def _of_rows(x, b):
    return x * b + 1, jnp.exp(x) - b


def _halves(rng):
    specials = np.float16([np.nan, -np.nan, np.inf, -np.inf, 0, -0.0, 6e-8, -6e-8, 65504, 1])
    x = np.concatenate([np.repeat(specials, 10), rng.standard_normal(157).astype(np.float16)])
    y = np.concatenate([np.tile(specials, 10), rng.standard_normal(157).astype(np.float16)])
    return x, y


CASES = [
    *[Case(name, function, uniform(1031, low=low, high=high)) for name, function, low, high in UNARY],
    *[
        Case(f"{name}_derivative", derivative(function), uniform(131, low=low, high=high), DERIVATIVE_TOLERANCE)
        for name, function, low, high in UNARY
    ],
    *[Case(f"special_{name}", function, values(SPECIAL), finite=False) for name, function in SPECIAL_FUNCTIONS],
    *[
        Case(f"special_{name}", function, values(*SPECIAL_PAIRS), finite=False)
        for name, function in [
            ("add", jnp.add),
            ("multiply", jnp.multiply),
            ("divide", jnp.divide),
            ("maximum", jnp.maximum),
            ("minimum", jnp.minimum),
            ("power", jnp.power),
            ("atan2", jnp.arctan2),
            ("less", jnp.less),
            ("equal", jnp.equal),
            ("not_equal", jnp.not_equal),
        ]
    ],
    *[Case(name, function, normals((257,), (257,))) for name, function in BINARY],
    Case("divide", jnp.divide, POSITIVE_PAIR),
    Case("power", jnp.power, POSITIVE_PAIR),
    Case("float_mod", jnp.mod, POSITIVE_PAIR),
    Case("integer_power", lambda x: (x**2, x**3, x**7, x**-2), uniform(65, low=0.5, high=1.5)),
    Case("nextafter", jnp.nextafter, normals((64,), (64,))),
    Case("floor", jnp.floor, values(ROUNDING)),
    Case("ceil", jnp.ceil, values(ROUNDING)),
    Case("trunc", jnp.trunc, values(ROUNDING)),
    Case("round_to_even", jnp.round, values(ROUNDING)),
    Case("round_away", lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), values(ROUNDING)),
    Case("clip", lambda x: jnp.clip(x, -0.5, 0.75), normal(300)),
    Case("clamp_by_arrays", lax.clamp, values(np.float32(-0.2), np.linspace(-1, 1, 33, dtype=np.float32), np.float32(0.4))),
    Case("where", jnp.where, together(booleans((5, 7)), normals((5, 7), (7,)))),
    Case("select_n", lambda i, a, b, c: lax.select_n(i, a, b, c), together(integers((40,), low=0, high=3), normals((40,), (40,), (40,)))),
    Case("compare_all", lambda a, b: (a < b, a <= b, a == b, a != b, a >= b, a > b), integers((60,), (60,), low=-3, high=3)),
    Case("logical", lambda a, b: (a & b, a | b, a ^ b, ~a), booleans((33,), (33,))),
    Case("polynomial", lambda c, x: jnp.polyval(c, x), normals((5,), (100,))),
    Case("chain_of_twenty", lambda x: _chain(x), normal(1000)),
    Case("reduce_precision", lambda x: lax.reduce_precision(x, 5, 7), normal(100)),
    Case("frexp_ldexp", lambda x: (jnp.frexp(x), jnp.ldexp(x, 3)), normal(50)),
    Case("modf", jnp.modf, values(ROUNDING)),
    *[Case(f"int32_{name}", function, NONZERO) for name, function in INTEGER_BINARY],
    *[Case(f"uint8_{name}", function, integers((64,), (64,), low=1, high=255, dtype=np.uint8)) for name, function in INTEGER_BINARY],
    Case("int32_overflow_wraps", lambda x: (x * x, x + x, -x, jnp.abs(x)), values(np.int32([2**31 - 1, -(2**31), 65536]))),
    Case("int32_division_by_zero", lambda a, b: (lax.div(a, b), lax.rem(a, b)), values(np.int32([7, -7, 0]), np.int32([0, 0, 0]))),
    Case("int32_division_overflow", lambda a, b: (lax.div(a, b), lax.rem(a, b)), values(np.int32([-(2**31)]), np.int32([-1]))),
    Case("bit_not", jnp.bitwise_not, WORDS),
    Case("population_count", lax.population_count, WORDS),
    Case("count_leading_zeros", lax.clz, WORDS),
    Case("shift_left", jnp.left_shift, together(WORDS, integers((128,), low=0, high=32, dtype=np.uint32))),
    Case("shift_right_logical", lax.shift_right_logical, together(WORDS, integers((128,), low=0, high=32, dtype=np.uint32))),
    Case("shift_right_arithmetic", lax.shift_right_arithmetic, NONZERO),
    Case("shift_past_width", lambda a: (lax.shift_left(a, jnp.full_like(a, 32)), lax.shift_right_logical(a, jnp.full_like(a, 40))), WORDS),
    Case("rotate_bits", lambda x: (x << 13) | (x >> 19), WORDS),
    Case("positive_part_of_magnitude", lambda b: jax.nn.relu(jnp.tanh(b.astype(jnp.float32))), booleans((70,))),
    Case("bitcast_float_to_int", lambda x: lax.bitcast_convert_type(x, jnp.int32), normal(64)),
    Case("bitcast_narrower", lambda x: lax.bitcast_convert_type(x, jnp.uint8), WORDS),
    Case("bitcast_wider", lambda x: lax.bitcast_convert_type(x, jnp.uint32), integers((16, 4), low=0, high=256, dtype=np.uint8)),
    Case("pack_and_unpack_bits", lambda x: jnp.unpackbits(jnp.packbits(x)), booleans((64,))),
    *[Case(f"complex_{name}", function, complex_normals((101,))) for name, function in COMPLEX_UNARY],
    # Magnitudes of which the square matters: powers of spectra, and bounds that orbits leave.
    Case("complex_magnitude_squared", lambda z: (jnp.abs(z) ** 2, jnp.abs(z) * jnp.abs(z), jnp.abs(z) ** 4, 10 * jnp.log10(jnp.abs(z) ** 2)), complex_normals((101,))),
    Case("complex_bounds", lambda z: (jnp.abs(z) < 1, jnp.abs(z) <= 0.5, jnp.abs(z) > 1.5, 2 >= jnp.abs(z), jnp.abs(z) > 1e30, jnp.abs(z) == 0), complex_normals((101,))),
    Case("complex_special_bounds", lambda z: (jnp.abs(z) ** 2, jnp.abs(z) < 2, jnp.abs(z) >= 2), values(np.array([complex(a, b) for a in SPECIAL_PARTS for b in SPECIAL_PARTS], np.complex64)), finite=False),
    Case("complex_add_multiply", lambda a, b: (a + b, a * b, a - b), complex_normals((50,), (50,))),
    Case("complex_divide", jnp.divide, complex_normals((50,), (50,))),
    Case("complex_power", lambda z: z**3, complex_normals((50,))),
    Case("complex_from_parts", lax.complex, normals((9,), (9,))),
    Case("complex_equal", lambda a: (a == a.conj(), a != a), complex_normals((9,))),
    Case("complex_matmul", jnp.matmul, complex_normals((7, 9), (9, 5))),
    Case("complex_gradient", jax.grad(lambda z: jnp.sum(jnp.abs(z * z + 1))), complex_normals((12,))),
    # Rows narrower than a vector, with something of their length.
    *[Case(f"narrow_rows_{width}", _of_rows, normals((1600, width), (width,))) for width in (2, 3, 5, 6, 7, 10, 12, 15, 17)],
    *[Case(f"narrow_rows_of_{rows}", _of_rows, normals((rows, 3), (3,))) for rows in (16, 257, 1000, 8200)],
    Case("narrow_rows_bytes", lambda x, b: (x.astype(jnp.float32) / 255 - b) / (b + 2), together(integers((3, 32, 32, 3), low=0, high=256, dtype=np.uint8), normal(3))),
    Case("narrow_rows_bfloat16", lambda x, b: x.astype(jnp.bfloat16) * b.astype(jnp.bfloat16), normals((1600, 3), (3,))),
    Case("narrow_rows_places", lambda x: jnp.where(jnp.arange(6) % 2 == 0, x, -x) + jnp.arange(6.0), normal(900, 6)),
    Case("narrow_rows_padded", lambda x, b: jnp.pad(x, ((0, 0), (1, 1))) * b, normals((1600, 3), (5,))),
    Case("narrow_rows_taken", lambda x, b, i: x * b[i], together(normals((1600, 3), (9,)), integers((3,), low=0, high=9))),
    # ... or loaded from rows of another width or order.
    *[Case(f"narrow_rows_scaled_{width}", lambda x, m: x * m[:, None] - (1 - m)[:, None], normals((1600, width), (1600,))) for width in (2, 3, 5, 6, 7, 10, 12, 15)],
    *[Case(f"narrow_rows_of_wider_{width}", _of_wider_rows, normals((1601 if width == 9 else 1600, width), (1601 if width == 9 else 1600, width + 2))) for width in (2, 3, 5, 6, 9, 10)],
    Case("narrow_rows_scaled_bytes", lambda x, m: jnp.where(m[..., None], x[..., ::-1], 255 - x), together(integers((2, 32, 48, 3), low=0, high=256, dtype=np.uint8), booleans((2, 32, 48)))),
    Case("narrow_rows_scaled_bfloat16", lambda x, m: x.astype(jnp.bfloat16) * m.astype(jnp.bfloat16)[:, None], normals((1600, 3), (1600,))),
    Case("narrow_rows_scaled_complex", lambda x, m: x * m[:, None], complex_normals((1600, 3), (1600,))),
    Case("narrow_rows_of_last_rows", lambda x: x[16:, :3] * x[:-16, 3:] + x[7:-9, 1:4], normal(1616, 4)),
    Case("narrow_rows_staged", lambda x, m: x * jnp.exp(m)[:, None], normals((40000, 3), (40000,))),
    *[Case(f"channels_last_{width}", lambda x, b: jnp.moveaxis(x * x, 1, -1) + b, normals((3, width, 20, 33), (width,))) for width in (2, 3, 4, 5, 6, 7, 8)],
    *[Case(f"transposed_to_{width}", lambda x: x.T, normal(width, 1003)) for width in (2, 3, 4, 5, 6, 7, 8)],
    Case("transposed_bytes", lambda x: x.T + 1, integers((3, 1003), low=0, high=200, dtype=np.uint8)),
    Case("float16_compared", lambda x, y: [jnp.nan_to_num(z, nan=77, posinf=88, neginf=-88) for z in (jnp.where(x > y, x, y), x == y, jnp.maximum(x, 0), 1 / jnp.minimum(x, y), jnp.sign(x), jnp.isnan(x))], _halves),
    Case("complex_sum_product", lambda z: (z.sum(), z.prod(), z.mean()), complex_normals((12,))),
]


def _chain(x):
    for step in range(10):
        x = jnp.sin(x) * (1 + step / 10) + 0.1
    return x
