"""What a program takes on both engines; in a module of its own, where processes that are spawned find it."""

import os
import pathlib

os.environ.setdefault("JAX_PLATFORMS", "kiln,cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import jax
from jax._src.interpreters import mlir as jax_mlir
from jax._src.lib import xla_client
from jaxlib.mlir.dialects import stablehlo

from benchmarks import programs, temporaries


def sizes(stats):
    """(temporaries, peak) of what memory_analysis() gives."""
    temporary = stats.temp_size_in_bytes
    return temporary, stats.argument_size_in_bytes + stats.output_size_in_bytes - stats.alias_size_in_bytes + temporary


def of_function(function, arguments, device):
    def shape(x):
        kind = x.dtype if isinstance(x, jax.ShapeDtypeStruct) else jax.dtypes.canonicalize_dtype(jax.numpy.result_type(x))
        return jax.ShapeDtypeStruct(jax.numpy.shape(x), kind, sharding=jax.sharding.SingleDeviceSharding(device))

    jitted = function if hasattr(function, "lower") else jax.jit(function)
    return sizes(jitted.lower(*jax.tree.map(shape, arguments)).compile().memory_analysis())


def of_text(text, device):
    with jax_mlir.make_ir_context():
        artifact = stablehlo.serialize_portable_artifact_str(text, "1.13.0")
    loaded = device.client.compile_and_load(artifact, xla_client.DeviceList((device,)), xla_client.CompileOptions())
    return sizes(loaded.get_compiled_memory_stats())


def measure(name):
    """(name, sizes on Kiln, sizes on XLA:CPU), or (name, what went wrong)."""
    try:
        devices = jax.devices("kiln")[0], jax.devices("cpu")[0]
        if name.endswith(".mlir"):
            text = pathlib.Path(name).read_text()
            return name, *(of_text(text, device) for device in devices)
        known = temporaries.all_programs()
        function, arguments = known[name] if name in known else programs.all_programs()[name].build()
        return name, *(of_function(function, arguments, device) for device in devices)
    except Exception as error:  # noqa: BLE001: whatever a compiler says
        return name, f"{type(error).__name__}: {str(error).splitlines()[0][:150]}"
