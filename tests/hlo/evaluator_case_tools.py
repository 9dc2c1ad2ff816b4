"""What the writers of evaluator cases share: types, the reference backend, the files."""
import json
import os

os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import ml_dtypes
import numpy as np
from jax._src import compiler
from jax._src.interpreters import mlir as jax_mlir
from jax._src.lib import _jax
from jax._src.lib import xla_client
from jaxlib.mlir import ir

jax.config.update("jax_enable_x64", True)
CPU = jax.devices("cpu")[0]
RANDOM = np.random.default_rng(7)

TYPES = {
    "pred": np.bool_, "s8": np.int8, "s16": np.int16, "s32": np.int32, "s64": np.int64, "u8": np.uint8,
    "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "s4": ml_dtypes.int4, "u4": ml_dtypes.uint4,
    "s2": ml_dtypes.int2, "u2": ml_dtypes.uint2, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32,
    "f64": np.float64, "c64": np.complex64, "c128": np.complex128, "f8e5m2": ml_dtypes.float8_e5m2,
    "f8e4m3": ml_dtypes.float8_e4m3, "f8e3m4": ml_dtypes.float8_e3m4, "f8e4m3fn": ml_dtypes.float8_e4m3fn,
    "f8e4m3b11fnuz": ml_dtypes.float8_e4m3b11fnuz, "f8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "f8e4m3fnuz": ml_dtypes.float8_e4m3fnuz, "f8e8m0fnu": ml_dtypes.float8_e8m0fnu,
    "f4e2m1fn": ml_dtypes.float4_e2m1fn,
}
NAMES = {np.dtype(dtype): name for name, dtype in TYPES.items()}
NARROW_INTEGERS = {"s4": np.int8, "u4": np.uint8, "s2": np.int8, "u2": np.uint8}


def array_json(array):
    array = np.asarray(array)
    name = NAMES[array.dtype]
    stored = array.astype(NARROW_INTEGERS[name]) if name in NARROW_INTEGERS else array
    return {"type": name, "shape": list(array.shape), "hex": np.ascontiguousarray(stored).tobytes().hex()}


def shape_text(array):
    array = np.asarray(array)
    return f"{NAMES[array.dtype]}[{','.join(map(str, array.shape))}]"


def run_hlo(text, arguments):
    module = xla_client.hlo.hlo_module_from_text(text)
    computation = xla_client.XlaComputation(module.as_serialized_hlo_module_proto())
    stablehlo = _jax.mlir.xla_computation_to_mlir_module(computation)
    with jax_mlir.make_ir_context():
        parsed = ir.Module.parse(stablehlo)
        options = compiler.get_compile_options(1, 1)
        executable = CPU.client.compile_and_load(parsed, _jax.DeviceList((CPU,)), options)
    return [np.asarray(out) for out in executable.execute([jax.device_put(x, CPU) for x in arguments])]


class Family:
    def __init__(self, name):
        self.name, self.cases = name, []

    def add(self, name, text, arguments, results=None, ulps=0, rtol=None):
        text = "HloModule m\n" + text
        if results is None:
            try:
                results = run_hlo(text, arguments)
            except Exception as error:
                print(f"{self.name}.{name}: {str(error)[:300]}")
                return
        case = {"name": name, "hlo": text, "arguments": [array_json(x) for x in arguments],
                "results": [array_json(x) for x in results], "ulps": ulps}
        if rtol is not None:
            case["rtol"] = rtol
        self.cases.append(case)

    def write(self, directory):
        path = os.path.join(directory, self.name + ".json")
        with open(path, "w") as file:
            file.write("[\n" + ",\n".join(json.dumps(case, separators=(",", ":")) for case in self.cases) + "\n]\n")
        print(path, len(self.cases), os.path.getsize(path))


def entry(arguments, lines, roots, types):
    """An entry of parameters p0, p1, ..., the lines, and a tuple of the roots (or the only one)."""
    text = "ENTRY main {\n"
    for i, argument in enumerate(arguments):
        text += f"  p{i} = {shape_text(argument)} parameter({i})\n"
    text += "".join(f"  {line}\n" for line in lines)
    text += f"  ROOT out = ({', '.join(types)}) tuple({', '.join(roots)})\n}}\n"
    return text


def grid(a, b):
    x, y = np.meshgrid(a, b, indexing="ij")
    return x.ravel(), y.ravel()
