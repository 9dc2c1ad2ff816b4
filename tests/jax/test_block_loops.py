"""Loops that every block of their arrays may go through alone, and loops that only look like it, against XLA:CPU."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import PLATFORM

pytestmark = pytest.mark.skipif(PLATFORM != "kiln", reason="about Kiln beside XLA:CPU")

STEPS = 40


def steps(x, rows, n):
    """A state, rows that are read, and rows that are written."""
    return jax.lax.scan(lambda s, row: (jnp.sin(s + row), s * row), x, rows)


def backwards(x, rows, n):
    return jax.lax.scan(lambda s, row: (0.9 * s + row, s), x, rows, reverse=True)


def turns(x, rows, n):
    """Arrays that change places each round, so many rounds that they end in each other's."""
    return jax.lax.fori_loop(0, n, lambda i, s: (jnp.cos(s[0] + s[2]), s[0], s[1]), (x, x * 2, x - 1))


def joined(x, rows, n):
    """State of several rows, made anew as a whole."""

    def step(i, s):
        a, b = s
        return jnp.stack([a + 0.1 * b, b - 0.1 * jnp.sin(a)])

    return jax.lax.fori_loop(0, n, step, jnp.stack([x, x * 3]))


def masks(x, rows, n):
    """Small types, and elements that stop at different times."""

    def step(s, row):
        y, done = s
        y = jnp.where(done, y, y + row)
        return (y, done | (jnp.abs(y) > 3)), (done, y.astype(jnp.bfloat16))

    return jax.lax.scan(step, (x, x > 2), rows)


def own_history(x, rows, n):
    """Rows that are read where earlier rounds wrote them."""

    def step(i, table):
        return table.at[i].set(0.5 * table[i - 1] + table[jnp.maximum(i - 7, 0)])

    return jax.lax.fori_loop(1, STEPS, step, rows)


def neighbours(x, rows, n):
    return jax.lax.fori_loop(0, n, lambda i, s: 0.5 * (jnp.roll(s, 1) + s), x)


def neighbours_history(x, rows, n):
    """The same a round later, by way of rows."""
    return jax.lax.fori_loop(1, STEPS, lambda i, t: t.at[i].set(jnp.roll(t[i - 1], 3) + t[i]), rows)


def moving_rows(x, rows, n):
    """What is written of the rows lies where the round says, one element further each time."""

    def step(i, table):
        return jax.lax.dynamic_update_slice(table, jax.lax.dynamic_slice(table, (i,), (256,)) * 0.5 + 1, (i + 1,))

    return jax.lax.fori_loop(0, n, step, rows.reshape(-1))


def sums(x, rows, n):
    """State for all blocks that is made of all of them."""

    def step(i, s):
        y, total = s
        return jnp.tanh(y + total), jnp.mean(y) * 0.1

    return jax.lax.fori_loop(0, n, step, (x, jnp.float32(0)))


def counted(x, rows, n):
    """Small state that counts in its own way, and ends the loop."""

    def step(s):
        y, k, total = s
        return y * jnp.float32(1.01) + k, k + jnp.float32(1), total + k * k

    return jax.lax.while_loop(lambda s: s[2] < 500, step, (x, jnp.float32(0), jnp.float32(0)))


def nested(x, rows, n):
    def outer(i, s):
        return steps(s, rows * (i + 1), n)[0]

    return jax.lax.fori_loop(0, 3, outer, x)


def search(x, rows, n):
    return jnp.searchsorted(jnp.sort(rows[0]), x), jnp.interp(x, jnp.sort(rows[1]), rows[2])


CASES = (steps, backwards, turns, joined, masks, own_history, neighbours, neighbours_history, moving_rows, sums, counted,
         nested, search)  # fmt: skip


@pytest.mark.filterwarnings("ignore:Some donated buffers")
@pytest.mark.parametrize("donated", [(), (0, 1)], ids=str)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_loops_by_blocks(device, case, donated):
    random = np.random.RandomState(1)
    run = jax.jit(case, static_argnums=2, donate_argnums=donated)
    reference, cpu = jax.jit(case, static_argnums=2), jax.devices("cpu")[0]
    for size in (256, 300, 5000):
        arrays = [random.rand(size).astype(np.float32), random.rand(STEPS, size).astype(np.float32)]
        for n in (0, 2, 50, 51):  # XLA:CPU is wrong about one round of moving_rows
            results = run(*jax.device_put(arrays, device), n)
            expected = reference(*jax.device_put(arrays, cpu), n)
            for result, wanted in zip(jax.tree.leaves(results), jax.tree.leaves(expected), strict=True):
                result, wanted = np.asarray(result, np.float64), np.asarray(wanted, np.float64)
                np.testing.assert_allclose(result, wanted, rtol=2e-2 if case is masks else 1e-4, atol=1e-4)


def test_gradients_of_loops_by_blocks(device):
    random = np.random.RandomState(2)
    arrays = [random.rand(3000).astype(np.float32), random.rand(STEPS, 3000).astype(np.float32)]

    def loss(x, rows):
        last, written = steps(x, rows, 0)
        return jnp.sum(last) + jnp.sum(written**2)

    results = jax.jit(jax.grad(loss, argnums=(0, 1)))(*jax.device_put(arrays, device))
    expected = jax.jit(jax.grad(loss, argnums=(0, 1)))(*jax.device_put(arrays, jax.devices("cpu")[0]))
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_allclose(np.asarray(result), np.asarray(wanted), rtol=1e-4, atol=1e-4)
