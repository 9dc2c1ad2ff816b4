"""Elementwise programs: bandwidth of memory for cheap ones, vector math for dear ones."""

import jax
import jax.numpy as jnp

from . import add
from .inputs import arange, normal, uniform

_LARGE, _MEDIUM, _SMALL = 1 << 24, 1 << 18, 1 << 10

for _size, _label in ((_LARGE, "16m"), (_MEDIUM, "256k"), (_SMALL, "1k")):
    add("memory", f"add_{_label}", jnp.add, normal(_size), normal(_size, seed=1))
    add("memory", f"exp_{_label}", jnp.exp, normal(_size))
add("memory", "copy_16m", lambda x: x + 0.5, normal(_LARGE))
add("memory", "axpy_chain_16m", lambda x, y: 2.0 * x + y * (x - 3.0) - jnp.maximum(x, y), normal(_LARGE), normal(_LARGE, seed=1))
add("memory", "where_16m", lambda x, y: jnp.where(x > y, x, 2 * y), normal(_LARGE), normal(_LARGE, seed=1))
add("memory", "outer_4096", lambda x, y: x[:, None] * y[None, :], normal(4096), normal(4096, seed=1))
add("memory", "many_outputs", lambda x: (x + 1, x * 2, x - 3, jnp.abs(x)), normal(1 << 22))
add("memory", "convert_bf16_16m", lambda x: x.astype(jnp.bfloat16), normal(_LARGE))
add("memory", "int_to_float_16m", lambda x: x.astype(jnp.float32) * 0.1, arange(_LARGE))

_MATH = {
    "log": uniform(1 << 22, low=1e-3, high=1e3),
    "sin": normal(1 << 22, scale=10),
    "cos": normal(1 << 22, scale=10),
    "tan": normal(1 << 22),
    "tanh": normal(1 << 22),
    "expm1": normal(1 << 22),
    "log1p": uniform(1 << 22),
    "sqrt": uniform(1 << 22),
    "cbrt": normal(1 << 22),
    "arcsin": uniform(1 << 22, low=-1),
    "arctan": normal(1 << 22),
    "sinh": normal(1 << 22),
    "floor": normal(1 << 22, scale=10),
}
for _name, _input in _MATH.items():
    add("math", f"{_name}_4m", getattr(jnp, _name), _input)
add("math", "erf_4m", jax.scipy.special.erf, normal(1 << 22))
add("math", "erfinv_4m", jax.scipy.special.erfinv, uniform(1 << 22, low=-0.99, high=0.99))
add("math", "rsqrt_4m", jax.lax.rsqrt, uniform(1 << 22, low=0.1))
add("math", "sigmoid_4m", jax.nn.sigmoid, normal(1 << 22))
add("math", "pow_4m", jnp.power, uniform(1 << 22, low=0.1, high=3), normal(1 << 22))
add("math", "pow_int_4m", lambda x: x**5, normal(1 << 22))
add("math", "mod_4m", jnp.mod, normal(1 << 22, scale=10), uniform(1 << 22, low=0.5, high=3))
add("math", "atan2_4m", jnp.arctan2, normal(1 << 22), normal(1 << 22, seed=1))
add("math", "lgamma_1m", jax.scipy.special.gammaln, uniform(1 << 20, low=0.1, high=20))
add("math", "gelu_16m", jax.nn.gelu, normal(_LARGE))
add("math", "silu_4m", jax.nn.silu, normal(1 << 22))
add("math", "softplus_4m", jax.nn.softplus, normal(1 << 22))
# Arguments whose exponentials are subnormal or zero, which processors are slow at.
add("math", "softplus_far_4m", jax.nn.softplus, normal(1 << 22, scale=80))
add("math", "gaussian_far_4m", lambda x: jnp.exp(-x * x), normal(1 << 22, scale=12))
add("math", "int_div_4m", lambda x: x // 7 + x % 13, arange(1 << 22))
add("math", "black_scholes_1m", lambda s, k, t: _black_scholes(s, k, t), uniform(1 << 20, low=5, high=30), uniform(1 << 20, low=1, high=100),
    uniform(1 << 20, low=0.25, high=10))  # fmt: skip
add("math", "complex_mul_1m", lambda a, b: _complex_step(a, b), normal(1 << 20), normal(1 << 20, seed=1))


def _black_scholes(spot, strike, time, rate=0.02, volatility=0.3):
    root = volatility * jnp.sqrt(time)
    d1 = (jnp.log(spot / strike) + (rate + volatility**2 / 2) * time) / root
    d2 = d1 - root
    cdf = jax.scipy.stats.norm.cdf
    call = spot * cdf(d1) - strike * jnp.exp(-rate * time) * cdf(d2)
    return call, call - spot + strike * jnp.exp(-rate * time)


def _complex_step(a, b):
    z = jax.lax.complex(a, b)
    return jnp.abs(z * z + jnp.exp(1j * z))
