"""StableHLO text compiled and run on the device under test, for what JAX itself does not write."""

import functools

import jax
import numpy as np
from jax._src.interpreters import mlir as jax_mlir
from jax._src.lib import xla_client
from jaxlib.mlir.dialects import stablehlo

VERSION = "1.13.0"


def artifact(text: str) -> bytes:
    """The portable artifact of a module in text form; StableHLO's own verifier has passed it."""
    with jax_mlir.make_ir_context():
        return stablehlo.serialize_portable_artifact_str(text, VERSION)


@functools.lru_cache(maxsize=8)
def load(device, text: str):
    """The program, compiled."""
    return device.client.compile_and_load(artifact(text), xla_client.DeviceList((device,)), xla_client.CompileOptions())


def run(device, text: str, *arguments):
    """The results of @main as numpy arrays."""
    results = load(device, text).execute_sharded([jax.device_put(argument, device) for argument in arguments])
    return [np.asarray(shards[0]) for shards in results.disassemble_into_single_device_arrays()]


def main(body: list[str], arguments: list[str], results: list[tuple[str, str]]) -> str:
    """A module whose @main takes %a0, %a1, ... of the types `arguments` and gives `results` (value, type)."""
    takes = ", ".join(f"%a{i}: {kind}" for i, kind in enumerate(arguments))
    gives = ", ".join(kind for _, kind in results)
    last = "return " + ", ".join(value for value, _ in results) + (f" : {gives}" if results else "")
    return "\n".join(["module {", f"func.func @main({takes}) -> ({gives}) {{", *body, last, "}", "}"])
