"""python -m benchmarks.dispatch, and that the plugin it measures beside Kiln does nothing."""

import json
import pathlib
import subprocess
import sys

import pytest

from benchmarks.dispatch import platforms
from benchmarks.dispatch.__main__ import options_of

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def run(*command):
    done = subprocess.run([sys.executable, *map(str, command)], cwd=REPOSITORY, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_options():
    _, options = options_of(["--only", "scalar|20", "--seconds", "0.5"])
    assert options.only == "scalar|20" and options.seconds == 0.5 and options.json is None


def test_only_takes_a_regular_expression(capsys):
    with pytest.raises(SystemExit):
        options_of(["--only", "("])
    assert "'(' is no regular expression" in capsys.readouterr().err


def test_plugin_that_is_not_built(tmp_path):
    with pytest.raises(FileNotFoundError, match="ninja -C build empty_plugin"):
        platforms.register(tmp_path / "libempty_plugin.so")


def test_dispatch_runs(tmp_path):
    results = tmp_path / "results.json"
    output = run("-m", "benchmarks.dispatch", "--only", "scalar_add|donated", "--seconds", "0.1", "--json", results)
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    assert [row["name"] for row in rows] == ["scalar_add", "donated"] and all(row["name"] in output for row in rows)
    assert all(row[mode][platform] > 0 for row in rows for mode in ("calls", "calls_waited_for") for platform in platforms.PLATFORMS)


# Seconds of a matrix product on Kiln, of the same and of one scalar addition on the empty plugin, and garbage of calls.
MEASURE = """
import gc, numpy as np
from benchmarks.dispatch import platforms
platforms.register()
import jax
from benchmarks.dispatch.programs import Program
from benchmarks.dispatch.turns import Turns

x = np.ones((1024, 1024), np.float32)
product = Turns(Program("product", jax.numpy.matmul, (x, x)))
scalar = Turns(Program("scalar", jax.numpy.add, (x[0, 0], x[0, 0])))

def best(turns, platform):
    return min(turns.sample(platform, 10, waits=True) for _ in range(10))

gc.collect()
gc.disable()
print(best(product, "kiln"), best(product, "empty"), best(scalar, "empty"), gc.collect())
"""


def test_empty_plugin_does_nothing():
    product, empty_product, empty_scalar, garbage = map(float, run("-c", MEASURE).split())
    assert empty_product < product / 50
    assert empty_product < 5 * empty_scalar
    assert garbage == 0
