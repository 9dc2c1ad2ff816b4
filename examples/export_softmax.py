"""Writes a JAX function as a portable program that run_exported.cc loads: StableHLO bytecode, no Python needed to run it.

export_softmax.py [FILE]: FILE is examples/softmax.mlirbc where it is not given.
"""

import pathlib
import sys

import jax
import jax.export
import jax.numpy as jnp


def softmax(x):
    e = jnp.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "softmax.mlirbc"
    # The file is the same wherever it is written: no paths of source files inside.
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
    matrix = jax.ShapeDtypeStruct((2, 3), jnp.float32)
    exported = jax.export.export(jax.jit(softmax), platforms=["cpu"])(matrix)
    target.write_bytes(exported.mlir_module_serialized)
