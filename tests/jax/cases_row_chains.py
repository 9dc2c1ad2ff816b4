"""Products and what reads their rows, which go by blocks of rows (passes/row_chain_fusion.h): sizes that are no multiples
of blocks, batches, types, operands that are made, and steps with several results."""

import jax
import jax.numpy as jnp
import numpy as np
from harness import Case, Tolerance, normals
from jax import lax


def layers(x, *weights, act=jax.nn.relu):
    for w in weights[:-1]:
        x = act(x @ w)
    return x @ weights[-1]


def normalized(x):
    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def nearest(x, codes):
    distances = (x**2).sum(-1)[:, None] - 2 * x @ codes.T + (codes**2).sum(-1)
    return distances.argmin(-1)


def half(function):
    return lambda *x: function(*(y.astype(jnp.bfloat16) for y in x)).astype(jnp.float32)


CASES = [
    Case("row_chain_maxima_of_sets", lambda x, a, b: layers(x, a, b).max(1), normals((16, 512, 3), (3, 64), (64, 256))),
    Case("row_chain_sums_of_columns", lambda x, a: jnp.tanh(x @ a).sum(0), normals((3000, 20), (20, 70))),
    Case("row_chain_of_a_prime", lambda x, a, b: layers(x, a, b).min(-1), normals((1009, 37), (37, 131), (131, 19))),
    Case("row_chain_of_few_columns", lambda x, y, b: jnp.exp(-((x[:, None] - y) ** 2).sum(-1)) @ b, normals((517, 6), (260, 6), (260, 9))),
    Case("row_chain_of_batches", lambda x, a: (jax.nn.gelu(x @ a) ** 2).sum(-1), normals((6, 300, 40), (6, 40, 96))),
    Case("row_chain_quadratic", lambda x, m: jnp.sqrt((x @ (m @ m.T) * x).sum(-1)), normals((2000, 65), (65, 65))),
    Case("row_chain_of_squares", lambda x, v: ((x @ v) ** 2 + (x**2) @ (v**2)).sum(-1), normals((1024, 300), (300, 64))),
    Case("row_chain_normalized", lambda x, a, b: normalized(layers(normalized(x), a, b)).max(-1), normals((1500, 48), (48, 100), (100, 24))),
    Case("row_chain_softmax", lambda x, a: jax.nn.logsumexp(x @ a, -1), normals((1200, 33), (33, 200))),
    Case("row_chain_best", nearest, normals((2050, 16), (128, 16))),
    Case("row_chain_loss", lambda x, a, b, y: ((layers(x, a, b, act=jax.nn.silu) - y) ** 2).mean(), normals((1024, 64), (64, 256), (256, 64), (1024, 64))),
    Case("row_chain_cross_entropy", lambda x, a: -jnp.take_along_axis(jax.nn.log_softmax(x @ a), jnp.arange(1200)[:, None] % 200, 1).mean(), normals((1200, 33), (33, 200))),
    Case("row_chain_of_codes", lambda x, codes, b: codes[nearest(x, codes)] @ b, normals((2050, 16), (128, 16), (16, 64))),
    # Sums over 1024 rows.
    Case("row_chain_gradient", jax.grad(lambda x, a, b: (layers(x, a / 8, b / 8, act=jnp.tanh) ** 2).sum(), (0, 1, 2)), normals((1024, 33), (33, 128), (128, 17)), Tolerance(1e-4, 1e-4)),
    # Sums over 70 products of halves.
    Case("row_chain_halves", half(lambda x, a: jnp.abs(x @ a).max(-1)), normals((3000, 70), (70, 96)), Tolerance(2e-2, 2e-2)),
    Case("row_chain_doubles", lambda x, a: jnp.square(x @ a).sum(-1), normals((2000, 30), (30, 50), dtype=np.float64), x64=True),
    # Rows of which only a part is read.
    Case("row_chain_padded", lambda x, a, b: (jnp.pad((x @ a).reshape(600, 8, 16), ((0, 0), (1, 2), (3, 0))).reshape(600, -1) * 2) @ (b / 99), normals((600, 40), (40, 128), (209, 24))),
    Case("row_chain_joined", lambda x, a, b: jnp.concatenate([x[:, :1], jnp.tanh(x @ a), x[:, -1:]], -1) @ (b / 9), normals((1100, 48), (48, 126), (128, 20))),
    Case("row_chain_in_a_loop", lambda x, a, b: lax.fori_loop(0, 3, lambda i, y: jnp.tanh(layers(y, a / 9, b / 9)) + x, x), normals((1100, 40), (40, 120), (120, 40))),
]
