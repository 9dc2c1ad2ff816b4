"""Loops with small bodies, recurrent networks, and the cost of a call."""

import jax
import jax.numpy as jnp
import numpy as np

from . import add, program
from .inputs import normal, uniform

add("dispatch", "scalar_add", jnp.add, normal(), normal(seed=1))
add("dispatch", "matmul_8x8", jnp.matmul, normal(8, 8), normal(8, 8, seed=1))
add("dispatch", "arguments_20", lambda *xs: sum(xs), *[normal(16, seed=i) for i in range(20)])
add("dispatch", "results_20", lambda x: tuple(x + i for i in range(20)), normal(16))
add("dispatch", "vector_128", lambda x: jnp.tanh(x) * 2 + 1, normal(128))

add("loops", "scan_3x3", lambda a, x: jax.lax.scan(lambda c, _: (a @ c, c[0]), x, None, length=1000), lambda: normal(3, 3)() * 0.5, normal(3))
add("loops", "while_newton", lambda x: jax.lax.while_loop(lambda s: jnp.any(abs(s * s - x) > 1e-4), lambda s: 0.5 * (s + x / s), x), uniform(64, low=1, high=100))
# XLA:CPU contracts the multiply-add, Kiln rounds twice, as the program says: 100,000 rounds make 2.6e-4 of that.
add("loops", "fori_scalar", lambda n: jax.lax.fori_loop(0, 100000, lambda i, s: s * 1.0001 + 0.5, n), normal(), tolerance=1e-3)
add("loops", "scan_ema", lambda x: jax.lax.scan(lambda c, v: (0.9 * c + 0.1 * v,) * 2, jnp.zeros(x.shape[1]), x), normal(4096, 16))
add("loops", "scan_grad", jax.grad(lambda w, x: jax.lax.scan(lambda h, v: (jnp.tanh(w @ h + v), None), jnp.zeros(32), x)[0].sum()), normal(32, 32, scale=0.1),
    normal(200, 32), tolerance=1e-3)  # fmt: skip
add("loops", "cond_in_scan", lambda x: jax.lax.scan(lambda c, v: (jax.lax.cond(v > 0, jnp.sin, jnp.cos, c + v),) * 2, 0.0, x), normal(2000))
add("loops", "bisection", lambda x: jax.lax.fori_loop(0, 60, lambda i, s: _bisect(s, x), (jnp.zeros_like(x), jnp.ones_like(x) * 10)), uniform(1024, high=50))
add("loops", "levenshtein", lambda a, b: _edit_distance(a, b), lambda: np.arange(256, dtype=np.int32) % 7, lambda: np.arange(256, dtype=np.int32) % 5)
add("loops", "matrix_power", lambda a: jax.lax.fori_loop(0, 64, lambda i, m: m @ a, jnp.eye(8)), normal(8, 8, scale=0.3), tolerance=1e-3)


def _bisect(bounds, x):
    low, high = bounds
    middle = (low + high) / 2
    above = middle * middle > x
    return jnp.where(above, low, middle), jnp.where(above, middle, high)


def _edit_distance(a, b):
    def row(previous, x):
        def cell(left, inputs):
            diagonal, up, y = inputs
            value = jnp.minimum(jnp.minimum(left, up) + 1, diagonal + (x != y))
            return value, value

        first = previous[0] + 1
        _, rest = jax.lax.scan(cell, first, (previous[:-1], previous[1:], b))
        return jnp.concatenate([first[None], rest]), None

    return jax.lax.scan(row, jnp.arange(len(b) + 1, dtype=jnp.int32), a)[0][-1]


def lstm(x, w, u, b):
    def step(state, v):
        h, c = state
        i, f, g, o = jnp.split(v @ w + h @ u + b, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zeros = jnp.zeros((x.shape[1], u.shape[0]))
    return jax.lax.scan(step, (zeros, zeros), x)[1]


def gru(x, w, u):
    def step(h, v):
        z, r, n = jnp.split(v @ w, 3, axis=-1)
        uz, ur, un = jnp.split(h @ u, 3, axis=-1)
        z, r = jax.nn.sigmoid(z + uz), jax.nn.sigmoid(r + ur)
        h = (1 - z) * jnp.tanh(n + r * un) + z * h
        return h, h

    return jax.lax.scan(step, jnp.zeros((x.shape[1], u.shape[0])), x)[1]


_lstm_inputs = [normal(100, 8, 64), normal(64, 512, scale=0.1), normal(128, 512, scale=0.05), normal(512, scale=0.1)]
add("recurrent", "lstm_128", lstm, *_lstm_inputs, tolerance=1e-3)
add("recurrent", "lstm_128_batch_1", lstm, normal(100, 1, 64), *_lstm_inputs[1:], tolerance=1e-3)
add("recurrent", "lstm_grad", jax.grad(lambda w, x, u, b: (lstm(x, w, u, b) ** 2).sum()), _lstm_inputs[1], _lstm_inputs[0], *_lstm_inputs[2:], tolerance=1e-3)
add("recurrent", "gru_64", gru, normal(100, 16, 32), normal(32, 192, scale=0.1), normal(64, 192, scale=0.05), tolerance=1e-3)


@program("recurrent", tolerance=1e-3)
def state_space():
    def run(x, a, b, c):
        def step(h, v):
            h = a * h + b * v[:, None]
            return h, (h * c).sum(-1)

        return jax.lax.scan(step, jnp.zeros(a.shape), x)[1]

    return run, (normal(512, 64)(), uniform(64, 16, low=0.5)(), normal(64, 16)(), normal(64, 16, seed=1)())


@program("compile", tolerance=1e-3)
def chain_2000():
    def run(x):
        for i in range(500):
            x = jnp.sin(x) * 1.01 + 0.01 * i - x * 0.5
        return x

    return run, (normal(64)(),)


@program("compile", tolerance=1e-3)
def mlp_200_layers():
    def run(x, weights):
        for w in weights:
            x = jnp.tanh(x @ w)
        return x

    return run, (normal(8, 32)(), [normal(32, 32, scale=0.2, seed=i)() for i in range(200)])


@program("compile", tolerance=1e-3)
def small_reductions_100():
    def run(x):
        for i in range(100):
            x = x - x.mean(-1, keepdims=True) * 0.1 + x.max(0) * 0.01
        return x

    return run, (normal(32, 32)(),)


@program("compile")
def hessian():
    def f(x):
        return jnp.sum(jnp.sin(x[:-1]) * x[1:] ** 2) + jnp.prod(jnp.cos(x))

    return jax.hessian(f), (normal(16)(),)
