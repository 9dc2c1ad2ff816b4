"""Loops whose state changes places, with and without donated arguments, against XLA:CPU: waves, exchanges, circles of
three, loops in loops, and branches that pass state on."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import PLATFORM

pytestmark = pytest.mark.skipif(PLATFORM != "kiln", reason="about Kiln beside XLA:CPU")


def rounds(step):
    return lambda u, p, n: jax.lax.fori_loop(0, n, lambda i, state: step(i, *state), (u, p))


def wave(i, u, p):
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    return u.at[1:-1, 1:-1].set(2 * u[1:-1, 1:-1] - p[1:-1, 1:-1] + 0.1 * around), u


def exchange(i, u, p):
    return jnp.roll(p, 1, 0) + 1, u


def borders(i, u, p):
    u = u.at[1:-1, 1:-1].set(0.5 * (u[2:, 1:-1] + p[1:-1, :-2]))
    return u.at[:, 0].set(u[:, 1]).at[-1, :].set(u[-2, :]), p + u[:1, :]


def branches(i, u, p):
    return jax.lax.cond(i % 2 == 0, lambda u, p: (jnp.roll(u, 1, 0), u), lambda u, p: (p, jnp.roll(p, 1, 1)), u, p)


def circle(u, p, n):
    return jax.lax.fori_loop(0, n, lambda i, s: (s[2], jnp.roll(s[0], 1, 1), s[1]), (u, p, u * 2))


def nested(u, p, n):
    inner = rounds(lambda i, u, p: (jnp.flip(u, 1) * 0.5 + p, u))
    return jax.lax.fori_loop(0, 3, lambda k, state: inner(*state, n), (u, p))


CASES = {"wave": rounds(wave), "exchange": rounds(exchange), "borders": rounds(borders), "branches": rounds(branches),
         "circle": circle, "nested": nested}  # fmt: skip


@pytest.mark.parametrize("donated", [(), (0,), (0, 1)], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_state_that_changes_places(device, name, donated):
    random = np.random.RandomState(0)
    run = jax.jit(CASES[name], donate_argnums=donated)
    reference, cpu = jax.jit(CASES[name]), jax.devices("cpu")[0]
    for shape in ((64, 64), (37, 50), (300, 200)):
        arrays = [random.rand(*shape).astype(np.float32) for _ in range(2)]
        for n in (0, 1, 2, 3, 6):
            expected = reference(*jax.device_put(arrays, cpu), n)
            for count in (n, jnp.int32(n)):
                results = run(*jax.device_put(arrays, device), count)
                for result, wanted in zip(results, expected, strict=True):
                    np.testing.assert_allclose(np.asarray(result), np.asarray(wanted), rtol=1e-5, atol=1e-5)
