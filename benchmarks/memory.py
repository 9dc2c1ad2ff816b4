"""Memory that compiled programs take on Kiln and on XLA:CPU: `python -m benchmarks.memory [NAME...] [--text FILE...]`.

Programs are only compiled. Compared are the bytes of temporaries (memory_analysis().temp_size_in_bytes) and the total of
arguments, results and temporaries less what results share with arguments. XLA:CPU's own peak_memory_in_bytes leaves its
temporaries out, so it is no measure here. Neither counts what single kernels work in (packed operands: on Kiln four
megabytes at most, kMaxWorkspaceBytes; larger ones are temporaries). Exit code 1: Kiln took more somewhere.
"""

import argparse
import pathlib
import sys

import jax
from jax._src.interpreters import mlir as jax_mlir
from jax._src.lib import xla_client
from jaxlib.mlir.dialects import stablehlo

from benchmarks import programs


def sizes(stats):
    """(temporaries, total) of what memory_analysis() gives."""
    temporary = stats.temp_size_in_bytes
    return temporary, stats.argument_size_in_bytes + stats.output_size_in_bytes - stats.alias_size_in_bytes + temporary


def of_function(function, arguments, device):
    sharding = jax.sharding.SingleDeviceSharding(device)
    shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(jax.numpy.shape(x), jax.dtypes.canonicalize_dtype(jax.numpy.result_type(x)), sharding=sharding), arguments)
    jitted = function if hasattr(function, "lower") else jax.jit(function)
    return sizes(jitted.lower(*shapes).compile().memory_analysis())


def of_text(text, device):
    with jax_mlir.make_ir_context():
        artifact = stablehlo.serialize_portable_artifact_str(text, "1.13.0")
    options = xla_client.CompileOptions()
    loaded = device.client.compile_and_load(artifact, xla_client.DeviceList((device,)), options)
    return sizes(loaded.get_compiled_memory_stats())


def compare(name, measure, devices):
    """A row of the table, or None where one of the two cannot compile the program."""
    rows = []
    for device in devices:
        try:
            rows.append(measure(device))
        except Exception as error:  # noqa: BLE001: whatever the compiler says
            print(f"{name:44} {device.platform}: {type(error).__name__}: {str(error).splitlines()[0][:100]}")
            return None
    (temporary, total), (xla_temporary, xla_total) = rows
    above = total > xla_total
    print(f"{name:44} {temporary:>13,} {xla_temporary:>13,} {total:>14,} {xla_total:>14,}  {'ABOVE' if above else ''}", flush=True)
    return above


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of names of benchmark programs; none: all")
    parser.add_argument("--text", nargs="*", type=pathlib.Path, default=[], help="StableHLO text files")
    options = parser.parse_args()
    devices = jax.devices("kiln")[0], jax.devices("cpu")[0]
    print(f"{'program':44} {'temporaries':>13} {'XLA:CPU':>13} {'total':>14} {'XLA:CPU':>14}")
    above = []
    for name, program in programs.all_programs().items() if options.names or not options.text else ():
        if options.names and not any(part in name for part in options.names):
            continue
        function, arguments = program.build()
        above.append(compare(name, lambda device: of_function(function, arguments, device), devices))
    for path in options.text:
        text = path.read_text()
        above.append(compare(path.stem, lambda device: of_text(text, device), devices))
    compared = [row for row in above if row is not None]
    print(f"{sum(compared)} of {len(compared)} above XLA:CPU")
    return 1 if any(compared) else 0


if __name__ == "__main__":
    sys.exit(main())
