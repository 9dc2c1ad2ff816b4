"""Runs programs on two platforms in one process and compares."""

import collections
import dataclasses
import time

import jax
import numpy as np
from jax._src import compiler
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jax._src.lib.mlir import ir

from conformance.program import difference


# The reference compiles a quarter faster so.
REFERENCE_OPTIONS = {"xla_backend_optimization_level": "0", "xla_cpu_parallel_codegen_split_count": "1"}


def compile_text(text, device):
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        overrides = REFERENCE_OPTIONS if device.platform == "cpu" else None
        options = compiler.get_compile_options(num_replicas=1, num_partitions=1, env_options_overrides=overrides)
        return compiler.backend_compile_and_load(device.client, module, xla_client.DeviceList((device,)), options, [])


def execute(executable, arrays, device):
    outputs = executable.execute_sharded([jax.device_put(array, device) for array in arrays])
    return [np.asarray(shards[0]) for shards in outputs.disassemble_into_single_device_arrays()]


@dataclasses.dataclass
class Outcome:
    status: str  # "same", "differs", "refused" (here only), "extra" (refused by the reference only), "neither"
    message: str = ""
    seconds: float = 0.0  # to compile and run on the device under test


def first_line(error):
    return str(error).strip().split("\n")[0][:400]


def run(program, device, reference):
    """Compares the device with the reference; with the program's numpy model where the reference refuses."""
    text = program.text()
    arrays = [values for _, values in program.arguments]
    with jax.enable_x64(True):
        try:
            expected = execute(compile_text(text, reference), arrays, reference)
            refusal = ""
        except (jax.errors.JaxRuntimeError, NotImplementedError, ValueError) as error:
            if "MLIRError" in type(error).__name__:
                raise
            expected, refusal = None, first_line(error)
        # Of all threads: what else the machine does must not show.
        start = time.process_time()
        try:
            actual = execute(compile_text(text, device), arrays, device)
        except (jax.errors.JaxRuntimeError, NotImplementedError, ValueError) as error:
            status = "refused" if expected is not None else "neither"
            return Outcome(status, f"{first_line(error)}" + (f" | reference: {refusal}" if refusal else ""))
        seconds = time.process_time() - start
    if expected is None and program.model is not None:
        expected = program.model(*arrays)
    if expected is None:
        return Outcome("extra", refusal, seconds)
    for index, (left, right, tolerance) in enumerate(zip(actual, expected, program.tolerances, strict=True)):
        words = difference(left, right, tolerance)
        if words:
            return Outcome("differs", f"result {index}: {words}", seconds)
    return Outcome("same", "", seconds)


class Summary:
    """Counts of outcomes by family."""

    def __init__(self):
        self.counts = collections.defaultdict(collections.Counter)
        self.failures = []
        self.slowest = []

    def add(self, family, case, outcome):
        self.counts[family][outcome.status] += 1
        if outcome.status in ("differs", "refused"):
            self.failures.append((case, outcome))
        self.slowest = sorted([*self.slowest, (outcome.seconds, case)], reverse=True)[:5]

    def text(self):
        lines = [f"{family:28s} " + ", ".join(f"{count} {status}" for status, count in sorted(counter.items()))
                 for family, counter in self.counts.items()]
        lines += [f"slow: {case} took {seconds:.2f} s" for seconds, case in self.slowest]
        return "\n".join(lines)
