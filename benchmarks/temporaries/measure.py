"""What a program takes on both engines; in a module of its own, where processes that are spawned find it."""

import os
import pathlib
import statistics

os.environ.setdefault("JAX_PLATFORMS", "kiln,cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import jax
import numpy
from jax._src.interpreters import mlir as jax_mlir
from jax._src.lib import xla_client
from jaxlib.mlir.dialects import stablehlo

from benchmarks import programs, temporaries
from benchmarks.worker import reset_peak, status_bytes


def sizes(stats):
    """(temporaries, peak) of what memory_analysis() gives."""
    temporary = stats.temp_size_in_bytes
    return temporary, stats.argument_size_in_bytes + stats.output_size_in_bytes - stats.alias_size_in_bytes + temporary


def compiled(function, arguments, device):
    def shape(x):
        kind = x.dtype if isinstance(x, jax.ShapeDtypeStruct) else jax.dtypes.canonicalize_dtype(jax.numpy.result_type(x))
        return jax.ShapeDtypeStruct(jax.numpy.shape(x), kind, sharding=jax.sharding.SingleDeviceSharding(device))

    jitted = function if hasattr(function, "lower") else jax.jit(function)
    return jitted.lower(*jax.tree.map(shape, arguments)).compile()


def program(name):
    known = temporaries.all_programs()
    return known[name] if name in known else programs.all_programs()[name].build()


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
        function, arguments = program(name)
        return name, *(sizes(compiled(function, arguments, device).memory_analysis()) for device in devices)
    except Exception as error:  # noqa: BLE001: whatever a compiler says
        return name, f"{type(error).__name__}: {str(error).splitlines()[0][:150]}"


def growth(name, platform):
    """By how many bytes this process grows when it runs the program for the first time, what libraries take included."""
    device = jax.devices(platform)[0]
    numbers = numpy.random.default_rng(0)

    def value(x):
        if isinstance(x, jax.ShapeDtypeStruct):
            x = numbers.random(x.shape).astype(x.dtype)
        return jax.device_put(x, device)

    function, arguments = program(name)
    executable = compiled(function, arguments, device)
    values = jax.block_until_ready(jax.tree.map(value, arguments))
    # What an engine sets up with its first run is not the program's.
    jax.block_until_ready(compiled(lambda x: x + 1, (numpy.float32(0),), device)(jax.device_put(numpy.float32(0), device)))
    reset_peak()
    before = status_bytes("VmRSS")
    jax.block_until_ready(executable(*values))
    return status_bytes("VmHWM") - before


def growths(pool, name, runs=3):
    """Medians on Kiln and on XLA:CPU, of processes of their own: `pool` has each of them work once."""
    measured = {platform: [pool.submit(growth, name, platform) for _ in range(runs)] for platform in ("kiln", "cpu")}
    return [int(statistics.median(run.result() for run in tries)) for tries in measured.values()]
