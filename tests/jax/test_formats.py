"""Programs in every format that JAX writes, through the `kiln` command: the same program, the same numbers.

Text in pretty and generic form, with and without locations, and XLA's HloModuleProto are read; what `kiln convert` writes
as StableHLO is read by jaxlib's parser.
"""

import pathlib
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax._src.interpreters import mlir as jax_mlir
from jax._src.lib.mlir import ir

KILN = pathlib.Path(__file__).resolve().parents[2] / "build" / "kiln"


def kiln(*arguments, expected=0):
    done = subprocess.run([KILN, *arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode == expected, done.stdout + done.stderr
    return done.stdout


def attention(q, k, v):
    return jax.nn.softmax(q @ k.T / 2.0, axis=-1) @ v


def loops(x, n):
    def step(carry, row):
        return carry * 0.5 + row, carry.sum()

    carry, sums = lax.scan(step, x[0], x)
    return lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, jnp.sin(s[1])), (0, carry))[1], sums


def branches(x, i):
    return lax.switch(i, [jnp.sin, jnp.cos, lambda y: y * y], x), lax.cond(i > 1, lambda: x, lambda: -x)


def indexing(x, i):
    y = x.at[i].add(1.0)
    return y[i], lax.dynamic_slice(x, (i[0], 0), (2, 3)), jnp.sort(x, axis=1), jnp.argmax(x, axis=0), x[::-1, 1:3]


def convolution(x, w):
    y = lax.conv_general_dilated(x, w, (2, 1), ((1, 0), (2, 1)), rhs_dilation=(1, 2), feature_group_count=2)
    return lax.reduce_window(y, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 1, 2), "SAME"), jax.grad(lambda z: (z**2).sum())(y)


def types(x, i):
    return (x.astype(jnp.bfloat16) * 3).astype(jnp.float16), (i.astype(jnp.int8) << 1) ^ 5, lax.population_count(i), \
        lax.complex(x, -x) * 2j, jnp.array([True, False] * 40), jnp.arange(100.0).reshape(10, 10), x > jnp.inf


def linear_algebra(x):
    a = x @ x.T + 5 * jnp.eye(4)
    return jnp.fft.rfft(x), lax.linalg.triangular_solve(a, x, left_side=True, lower=True), lax.erf(x), jnp.arcsinh(x)


X = np.linspace(-2, 3, 24, dtype=np.float32)
PROGRAMS = {
    "attention": (attention, X.reshape(4, 6), X.reshape(4, 6) * 2, X.reshape(4, 6) - 1),
    "loops": (loops, X.reshape(4, 6), np.int32(5)),
    "branches": (branches, X, np.int32(2)),
    "indexing": (indexing, X.reshape(6, 4), np.array([1, 3, 3], np.int32)),
    "convolution": (convolution, np.resize(X, (2, 4, 8, 9)), np.resize(X, (4, 2, 3, 2))),
    "types": (types, X, np.arange(-3, 5, dtype=np.int32)),
    "linear_algebra": (linear_algebra, X.reshape(4, 6)),
}


@pytest.fixture(params=PROGRAMS)
def program(request, tmp_path):
    function, *arguments = PROGRAMS[request.param]
    # On cpu JAX calls LAPACK instead of StableHLO's triangular solve.
    platform = "tpu" if function is linear_algebra else "cpu"
    lowered = jax.jit(function).trace(*arguments).lower(lowering_platforms=(platform,))
    return tmp_path, function, arguments, lowered


def write(path, content):
    path.write_bytes(content) if isinstance(content, bytes) else path.write_text(content)
    return path


def test_forms_are_one_program(program):
    folder, _, _, lowered = program
    operation = lowered.compiler_ir().operation
    pretty = write(folder / "pretty.mlir", lowered.as_text())
    for name, text in {
        "locations": lowered.as_text(debug_info=True),
        "generic": operation.get_asm(print_generic_op_form=True, enable_debug_info=True),
    }.items():
        kiln("diff", pretty, write(folder / f"{name}.mlir", text))


def test_runs_from_text_and_proto(program):
    folder, function, arguments, lowered = program
    np.savez(folder / "inputs.npz", *arguments)
    with jax.default_device(jax.devices("cpu")[0]):
        expected = jax.tree.leaves(jax.jit(function)(*arguments))
    proto = lowered.compiler_ir("hlo").as_serialized_hlo_module_proto()
    files = [write(folder / "f.mlir", lowered.as_text()), write(folder / "f.pb", proto), folder / "exported.mlir"]
    kiln("convert", files[1], "--to", "stablehlo", "-o", files[2])
    for file in files:
        kiln("run", file, "--inputs", folder / "inputs.npz", "--out", folder / "results.npz", "--quiet")
        results = np.load(folder / "results.npz")
        assert len(results.files) == len(expected)
        for name, value in zip(results.files, expected):
            value = np.asarray(value)
            actual = results[name].view(value.dtype)
            tolerance = 1e-2 if value.dtype.itemsize == 2 else 2e-5
            np.testing.assert_allclose(actual.astype(np.complex64), value.astype(np.complex64), tolerance, tolerance)


def test_exports_what_mlir_reads(program):
    folder, _, _, lowered = program
    source = write(folder / "f.mlir", lowered.as_text(debug_info=True))
    exported = folder / "exported.mlir"
    kiln("convert", source, "--to", "stablehlo", "-o", exported)
    with jax_mlir.make_ir_context():
        module = ir.Module.parse(exported.read_text())
        module.operation.verify()
        kiln("diff", exported, write(folder / "again.mlir", str(module)))
