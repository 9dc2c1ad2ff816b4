"""Chooses the platforms before JAX is imported: Kiln under test, XLA:CPU as the reference, both in one process.

KILN_TEST_PLATFORM=cpu tests the table itself: XLA:CPU's jit against XLA:CPU op by op, without Kiln.
"""

import os

PLATFORM = os.environ.get("KILN_TEST_PLATFORM", "kiln")
os.environ["JAX_PLATFORMS"] = "cpu" if PLATFORM == "cpu" else f"{PLATFORM},cpu"
# Each test must compile.
os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "0"

import pytest  # noqa: E402


@pytest.fixture(scope="session")
def device():
    """The device under test."""
    import jax

    return jax.devices(PLATFORM)[0]


@pytest.fixture(scope="session")
def reference_device():
    import jax

    return jax.devices("cpu")[0]
