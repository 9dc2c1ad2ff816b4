"""A sample of the sweep over JAX's public functions; KILN_FULL_TESTS=1 runs all of it, as `make coverage` does.

The sample is the same in every run: a pair of function and dtype is in it by the checksum of its name.
"""

import os
import pathlib
import sys
import zlib

import jax
import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))
from tests.coverage import report, runner  # noqa: E402
from tests.coverage.functions import Function, swept  # noqa: E402

ONE_OF = 1 if os.environ.get("KILN_FULL_TESTS") == "1" else 900
PAIRS = [(f, dtype) for f in swept() for dtype in f.dtypes if zlib.crc32(f"{f.label} {dtype}".encode()) % ONE_OF == 0]


@pytest.mark.parametrize("function, dtype", PAIRS, ids=[f"{f.label} {dtype}" for f, dtype in PAIRS])
def test_function(function, dtype, device, reference_device):
    outcome = runner.run(function, dtype, device, reference_device)
    failed = {name: why for name, why in outcome.failed.items() if not report.excused(function.label, dtype, name)}
    assert not failed, "\n".join(f"{name}: {why}" for name, why in failed.items())


def test_differences_and_refusals_are_found(device, reference_device, monkeypatch):
    """The sweep itself: a function that differs on the device, and one that JAX refuses."""
    if device == reference_device:
        pytest.skip("one device")

    def differing(x):
        return jax.lax.platform_dependent(x, kiln=lambda v: v + 1, default=lambda v: v)

    def refusing(x):
        raise TypeError("not this")

    monkeypatch.setattr(runner, "CALLS", {})
    outcome = runner.run(Function("test", "differing", differing), "bfloat16", device, reference_device)
    assert "differs" in outcome.failed["vector"] and outcome.passed == ["empty", "grad of matrix"]
    outcome = runner.run(Function("test", "refusing", refusing), "float32", device, reference_device)
    assert not outcome.passed and not outcome.failed and outcome.refused
