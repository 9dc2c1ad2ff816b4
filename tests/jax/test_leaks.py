"""Memory of a process that runs compiled programs over and over stays where it is."""

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

CALLS = 1_000_000 if os.environ.get("KILN_FULL_TESTS") else 40_000


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def donating(x):
    return x + 1.0


PROGRAMS = {
    "scalar": (jax.jit(lambda x: x + 1), lambda: jnp.float32(1)),
    "donated": (jax.jit(donating, donate_argnums=0), lambda: jnp.ones(64, jnp.float32)),
    "several_results": (jax.jit(lambda x: (x, x * 2, jnp.sum(x))), lambda: jnp.ones(64, jnp.float32)),
    "with_temporaries": (jax.jit(lambda x: jnp.sort(x @ x)[0, 0] + x), lambda: jnp.ones((8, 8), jnp.float32)),
    "parallel": (jax.jit(lambda x: jnp.exp(x)), lambda: jnp.ones(100_000, jnp.float32)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_calls(name):
    function, argument = PROGRAMS[name]
    calls = CALLS // 20 if name == "parallel" else CALLS

    def run(count):
        value = argument()
        for _ in range(count):
            result = function(value)
            if name == "donated":
                value = result
        jax.block_until_ready(result)
        return result

    run(calls // 10)
    before = resident_bytes()
    result = run(calls)
    assert np.isfinite(np.asarray(jax.tree.leaves(result)[0])).all()
    # 8 bytes a call would be more; what the allocators round up is less.
    assert resident_bytes() - before < max(8 * calls, 4 << 20)
