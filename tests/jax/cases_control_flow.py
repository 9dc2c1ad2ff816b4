"""Loops, branches and calls."""

import jax
import jax.numpy as jnp
import numpy as np
from harness import Case, Tolerance, integers, normal, normals, together, values
from jax import lax

# A recurrence of some tens of steps carries each step's rounding on.
RECURRENCE = Tolerance(3e-5, 3e-5)


def _collatz(n):
    def step(state):
        n, count = state
        return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1

    return lax.while_loop(lambda state: state[0] != 1, step, (n, jnp.int32(0)))


def _rows_in_place(x, y):
    # Rows of all widths around a vector's, each of which ends where the next begins.
    def run(width):
        # Of magnitudes: XLA:CPU contracts products and sums of halves where the processor has both in one instruction.
        return lax.fori_loop(0, 3, lambda i, z: abs(z * y[:width]) + i, x.reshape(-1)[: 40 // width * width * 3].reshape(-1, width))

    return [run(width) for width in range(1, 40)]


def _newton(x):
    return lax.while_loop(lambda s: jnp.abs(s * s - x) > 1e-3 * x, lambda s: 0.5 * (s + x / s), x)


def _bubble_sort(x):
    def outer(i, x):
        def inner(j, x):
            a, b = x[j], x[j + 1]
            return x.at[j].set(jnp.minimum(a, b)).at[j + 1].set(jnp.maximum(a, b))

        return lax.fori_loop(0, x.size - 1, inner, x)

    return lax.fori_loop(0, x.size, outer, x)


def _matrix_loop(a):
    return lax.fori_loop(0, 10, lambda i, x: jnp.tanh(x @ a + i), jnp.eye(a.shape[0]))


def _scan_tree(carry, xs):
    def step(carry, x):
        total, last = carry
        return (total + x["a"].sum(), x["b"]), {"product": total * x["b"], "pair": (x["a"], last)}

    return lax.scan(step, carry, xs)


def _sieve(n):
    def mark(i, composite):
        multiples = (jnp.arange(n) % jnp.maximum(i, 1) == 0) & (jnp.arange(n) > i)
        return jnp.where((i >= 2) & ~composite[i], composite | multiples, composite)

    return lax.fori_loop(0, n, mark, jnp.arange(n) < 2)


def _branch(index, x):
    return lax.switch(index, [jnp.sin, jnp.cos, lambda v: v * 2, lambda v: v.at[0].set(9.0)], x)


def _nested_cond(p, q, x):
    inner = lambda v: lax.cond(q, lambda u: u + 1, lambda u: u - 1, v)
    return lax.cond(p, inner, lambda v: v * inner(v), x)


def _fibonacci(n):
    return lax.fori_loop(0, n, lambda _, s: (s[1], s[0] + s[1]), (jnp.uint32(0), jnp.uint32(1)))


def _ordinary_differential_equation(y):
    def slope(y):
        return jnp.stack([y[1], -jnp.sin(y[0])])

    def step(y, _):
        k1 = slope(y)
        k2 = slope(y + 0.05 * k1)
        k3 = slope(y + 0.05 * k2)
        k4 = slope(y + 0.1 * k3)
        y = y + 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return y, y

    return lax.scan(step, y, None, length=40)


def _mandelbrot(c):
    def step(_, state):
        z, count = state
        inside = jnp.abs(z) < 2
        return jnp.where(inside, z * z + c, z), count + inside

    return lax.fori_loop(0, 12, step, (jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int32)))[1]


def _custom_root(x):
    return lax.custom_root(lambda y: y**3 - x, jnp.float32(1), lambda f, y: _newton_cube(x), lambda g, y: y / g(jnp.float32(1)))


def _newton_cube(x):
    return lax.fori_loop(0, 12, lambda _, y: y - (y**3 - x) / (3 * y**2), jnp.float32(1))


def _inner_jit(x):
    square = jax.jit(lambda v: v * v, inline=False)
    return square(square(x)) + square(x + 1)


SCAN_TREE = lambda rng: ((np.float32(0), np.float32(1)), {"a": np.float32(rng.standard_normal((9, 4))), "b": np.float32(rng.standard_normal(9))})
GRID = np.complex64(np.linspace(-2, 0.6, 24)[None, :] + 1j * np.linspace(-1.1, 1.1, 16)[:, None])

CASES = [
    Case("while_scalar", _collatz, values(np.int32(27))),
    Case("while_float", _newton, values(np.float32(37))),
    Case("while_zero_trips", lambda x: lax.while_loop(lambda s: s < 0, lambda s: s + 1, x), values(np.float32(3))),
    Case("while_vmapped", jax.vmap(_collatz), values(np.int32([1, 2, 3, 27, 16]))),
    Case("while_array_condition", lambda x: lax.while_loop(lambda s: jnp.any(s > 0.1), lambda s: s * 0.7, x), values(np.float32([1, 5, 0.3]))),
    Case("fori_sum", lambda x: lax.fori_loop(0, 50, lambda i, s: s + i * 0.5, x), values(np.float32(1))),
    Case("fori_dynamic_bound", lambda n: lax.fori_loop(0, n, lambda i, s: s * 2 + i, jnp.int32(1)), values(np.int32(9))),
    Case("fori_matrix", _matrix_loop, normal(8, 8)),
    Case("fori_in_place_update", lambda x: lax.fori_loop(0, 20, lambda i, a: a.at[i].set(a[i - 1] + 1), x), normal(20)),
    Case("fori_nested", _bubble_sort, normal(12)),
    Case("fori_swap", _fibonacci, values(np.int32(30))),
    Case("fori_sieve", lambda: _sieve(60)),
    Case("fori_unrolled", lambda x: lax.fori_loop(0, 8, lambda i, s: jnp.sin(s) + i, x, unroll=4), normal(5)),
    Case("fori_gradient", jax.grad(lambda x: lax.fori_loop(0, 6, lambda i, s: jnp.sin(s) * x, x)), values(np.float32(0.7))),
    Case("fori_complex", _mandelbrot, values(GRID)),
    Case("scan_sum", lambda x: lax.scan(lambda c, v: (c + v, c * v), jnp.float32(0), x), normal(40)),
    Case("scan_reverse", lambda x: lax.scan(lambda c, v: (c * 0.9 + v, c), jnp.float32(0), x, reverse=True), normal(40)),
    Case("scan_pytree", _scan_tree, SCAN_TREE),
    Case("scan_unrolled", lambda x: lax.scan(lambda c, v: (c * 0.5 + v, c), jnp.float32(0), x, unroll=3), normal(20)),
    Case("scan_without_inputs", _ordinary_differential_equation, values(np.float32([1, 0])), RECURRENCE),
    Case("scan_matrix_carry", lambda h, xs: lax.scan(lambda c, x: (jnp.tanh(c @ x), c.sum()), h, xs), normals((4, 5), (7, 5, 5)), RECURRENCE),
    Case("scan_gradient", jax.grad(lambda x: lax.scan(lambda c, v: (jnp.tanh(c + v), c), jnp.float32(0), x)[1].sum()), normal(25)),
    Case("scan_nested", lambda x: lax.scan(lambda c, row: lax.scan(lambda d, v: (d * 0.5 + v, d), c, row), jnp.float32(0), x), normal(5, 6)),
    Case("scan_vmapped", jax.vmap(lambda x: lax.scan(lambda c, v: (c * 0.5 + v, c), jnp.float32(0), x)), normal(3, 10)),
    Case("scan_checkpointed", jax.grad(lambda x: lax.scan(jax.checkpoint(lambda c, v: (jnp.sin(c * v), None)), jnp.float32(1), x)[0]), normal(12)),
    Case("map", lambda x: lax.map(lambda row: row / row.sum(), x), lambda rng: (np.float32(rng.uniform(1, 2, (6, 9))),)),
    Case("rows_in_place", _rows_in_place, normals((40, 40), (40,))),
    Case("rows_of_halves_in_place", _rows_in_place, normals((40, 40), (40,), dtype=np.float16)),
    Case("rows_of_bytes_in_place", _rows_in_place, integers((40, 40), (40,), dtype=np.uint8, low=0, high=9)),
    Case("cond_true", lambda x: lax.cond(x.sum() > -1e9, jnp.sin, jnp.cos, x), normal(9)),
    Case("cond_false", lambda x: lax.cond(x.sum() > 1e9, jnp.sin, jnp.cos, x), normal(9)),
    Case("cond_nested", lambda x: [_nested_cond(p, q, x) for p in (x[0] > 9, x[0] < 9) for q in (x[1] > 9, x[1] < 9)], normal(9)),
    Case("cond_vmapped", jax.vmap(lambda x: lax.cond(x > 0, lambda v: v * 2, lambda v: -v, x)), normal(30)),
    Case("cond_gradient", jax.grad(lambda x: lax.cond(x[0] > 9, jnp.sum, lambda v: jnp.sum(v**2), x)), normal(9)),
    Case("cond_in_loop", lambda x: lax.fori_loop(0, 15, lambda i, s: lax.cond(i % 3 == 0, lambda v: v + 1, lambda v: v * 1.1, s), x), normal(4)),
    Case("switch_each_branch", lambda x: [_branch(i, x) for i in range(4)], normal(9)),
    Case("switch_traced", lambda i, x: _branch(i, x), together(values(np.int32(2)), normal(9))),
    Case("switch_clamps", lambda i, x: (_branch(i, x), _branch(-i, x)), together(values(np.int32(77)), normal(9))),
    Case("switch_in_scan", lambda i, x: lax.scan(lambda c, k: (_branch(k, c), c.sum()), x, i), together(integers((12,), low=0, high=4), normal(5))),
    Case("custom_root", _custom_root, values(np.float32(27))),
    Case("call_inner_jit", _inner_jit, normal(9)),
    Case("call_same_function_often", lambda x: sum(jax.jit(jnp.tanh)(x + i) for i in range(12)), normal(9)),
    Case("recursion_unrolled", lambda x: _horner(x, 12), normal(9)),
]


def _horner(x, depth):
    return x if depth == 0 else 1 + x * 0.3 * _horner(x, depth - 1)
