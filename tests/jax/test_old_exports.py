"""Programs that older versions of JAX exported, as the wheel keeps them for JAX's own tests of compatibility."""

import dataclasses
import importlib
import pkgutil

import jax
import numpy as np
import pytest
from harness import assert_agrees
from jax._src.internal_test_util import export_back_compat_test_data as stored
from jax._src.internal_test_util import export_back_compat_test_util as util

MODULES = [module.name for module in pkgutil.iter_modules(stored.__path__) if module.name.startswith(("cpu_", "stablehlo_"))]
# Which sizes are open, where some are.
OPEN = {"dynamic_approx_top_k": ("b",), "dynamic_rng_bit_generator": (None, "a, b"), "dynamic_top_k": ("_, b",)}


def programs(name, value):
    if isinstance(value, dict) and "testdata_version" in value:
        yield name, util.CompatTestData(**value)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from programs(f"{name} {key}", inner)


PROGRAMS = [
    program
    for module in MODULES
    for name, value in vars(importlib.import_module(f"{stored.__name__}.{module}")).items()
    if name.startswith("data")
    for program in programs(f"{module} {name}", value)
]


def run(data, sizes, device):
    with jax.enable_x64(True), jax.default_device(device):
        results = util.CompatTestBase().run_serialized(dataclasses.replace(data, platform=device.platform), sizes)
        return jax.tree.map(np.asarray, results)


@pytest.mark.parametrize("name, data", PROGRAMS, ids=[name for name, _ in PROGRAMS])
def test_gives_what_xla_gives(name, data, device, reference_device):
    sizes = next((sizes for key, sizes in OPEN.items() if key in name), None)
    assert_agrees(run(data, sizes, device), run(data, sizes, reference_device))
