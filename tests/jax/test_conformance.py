"""Every op with every type: StableHLO programs on Kiln against XLA:CPU.

KILN_FULL_TESTS=1                runs every case with several seeds (some minutes), prints progress and a table
KILN_TEST_SEED=7 KILN_TEST_SEEDS=3   the seeds 7, 8 and 9 instead of 1 to 4
KILN_TEST_CASE=gather            only the cases whose name holds that
"""

import os
import zlib

import numpy as np
import pytest
from conformance import contraction, control, elementwise, indexed, linear, movement, reduction, runner

MODULES = {module.__name__.split(".")[-1]: module for module in (elementwise, movement, indexed, contraction, reduction, linear, control)}
FULL = bool(os.environ.get("KILN_FULL_TESTS"))
FIRST_SEED = int(os.environ.get("KILN_TEST_SEED", 1))
SEEDS = int(os.environ.get("KILN_TEST_SEEDS", 4 if FULL else 1))
NAME = os.environ.get("KILN_TEST_CASE", "")
# The short form takes every so many of a module's cases.
STRIDES = {"elementwise": 29, "movement": 5, "indexed": 9, "contraction": 10, "reduction": 8, "linear": 9, "control": 7}
# Seconds that no tiny program may take to compile and run; most of a second is what a busy machine adds.
SLOW = 10.0


def random_generator(name, seed):
    return np.random.default_rng([zlib.crc32(name.encode()), seed])


@pytest.mark.parametrize("name", MODULES)
def test_conformance(name, device, reference_device):
    if device == reference_device:
        pytest.skip("needs two platforms")
    cases = [case for case in MODULES[name].cases() if NAME in case[1]]
    if not FULL and not NAME:
        cases = cases[:: STRIDES[name]]
    summary = runner.Summary()
    for number, (family, case, make) in enumerate(cases):
        for seed in range(FIRST_SEED, FIRST_SEED + SEEDS):
            summary.add(family, f"{case}, seed {seed}", runner.run(make(random_generator(case, seed)), device, reference_device))
        if FULL and number % 50 == 49:
            print(f"{name}: {number + 1} of {len(cases)} cases, {len(summary.failures)} failures", flush=True)
    print(summary.text())
    assert not summary.failures, "\n".join(f"{case}: {outcome.status}: {outcome.message}" for case, outcome in summary.failures)
    assert summary.slowest[0][0] < SLOW, summary.slowest[0]
    ran = sum(counter["same"] for counter in summary.counts.values())
    assert ran > 0, "nothing was compared"
