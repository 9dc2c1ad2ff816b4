"""The persistent compilation cache, and executables as bytes."""

import os
import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import PLATFORM
from jax.experimental import serialize_executable

pytestmark = pytest.mark.skipif(PLATFORM != "kiln", reason="about Kiln's own executables")

PROGRAM = """
    import warnings
    import jax, jax.numpy as jnp, numpy as np
    from jax._src import monitoring

    events = []
    monitoring.register_event_listener(lambda event, **kwargs: events.append(event.rpartition("/")[2]))
    constant = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)  # in the program's table

    @jax.jit
    def f(x, n):
        y = jax.nn.softmax(x @ jnp.asarray(constant))
        return jnp.sort(y, axis=0), jax.lax.fori_loop(0, n, lambda i, v: v * 0.5 + i, x), {"sum": y.sum()}

    @jax.jit
    def solved(x):  # calls LAPACK
        return jnp.linalg.eigh(x[:8, :8] + x[:8, :8].T)[0], jnp.linalg.svd(x[:5, :4], compute_uv=False)

    x = np.linspace(-1, 1, 64 * 64, dtype=np.float32).reshape(64, 64)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = jax.tree.leaves((f(x, 5), solved(x)))
        compiled = f.lower(x, 5).compile()
        # Programs that call back are bound to their process.
        callback = jax.jit(lambda v: jax.pure_callback(lambda a: np.asarray(a) * 2, v, v))(np.float32(4))
    print([float(np.asarray(r, np.float64).sum()) for r in results], float(callback))
    print(events.count("cache_hits"), events.count("cache_misses"), len(caught))
    print(compiled.as_text().splitlines()[0], compiled.memory_analysis().output_size_in_bytes)
"""


def run(directory) -> list[str]:
    environment = dict(
        os.environ,
        JAX_PLATFORMS="kiln,cpu",
        JAX_ENABLE_COMPILATION_CACHE="1",
        JAX_COMPILATION_CACHE_DIR=str(directory),
        JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0",
    )
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)], capture_output=True, text=True, timeout=120, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_second_process_compiles_nothing_and_damage_is_survived(tmp_path):
    values, events, text = run(tmp_path)
    assert events.split() == ["0", "2", "0"]
    entries = sorted(tmp_path.glob("*-cache"))
    assert len(entries) == 2
    again = run(tmp_path)
    assert again[0] == values
    assert again[1].split() == ["2", "0", "0"]
    assert again[2] == text
    for entry in entries:
        content = bytearray(entry.read_bytes())
        content[len(content) // 2] ^= 0x10
        entry.write_bytes(content)
    damaged = run(tmp_path)
    assert damaged[0] == values
    assert damaged[2] == text
    hits, _, warned = damaged[1].split()
    assert hits == "0" and int(warned) >= 2


KEYS = """
    import sys
    import jax
    from jax._src import compilation_cache

    made = []
    make = compilation_cache.get_cache_key
    compilation_cache.get_cache_key = lambda *args, **kwargs: made.append(make(*args, **kwargs)) or made[-1]
    jax.jit(lambda x: x + 1).lower(1.0).compile()
    print(len(made))
    jax.config.update("jax_compilation_cache_dir", sys.argv[1])
    jax.jit(lambda x: x + 2).lower(1.0).compile()
    print(len(made))
"""


def test_keys_are_made_where_a_directory_is_set(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"}
    environment |= {
        "JAX_PLATFORMS": "kiln,cpu",
        "JAX_ENABLE_COMPILATION_CACHE": "1",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    command = [sys.executable, "-c", textwrap.dedent(KEYS), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0", "1"]
    assert len(list(tmp_path.glob("*-cache"))) == 1


def compiled_and_inputs():
    function = jax.jit(lambda x, y: (jnp.tanh(x @ y), jnp.cumsum(x, 0), jnp.argsort(y, 1)), donate_argnums=0)
    inputs = [np.random.default_rng(i).standard_normal((40, 40)).astype(np.float32) for i in range(2)]
    return function.lower(*inputs).compile(), inputs


def test_serialized_executable_runs_the_same():
    compiled, inputs = compiled_and_inputs()
    payload, in_tree, out_tree = serialize_executable.serialize(compiled)
    loaded = serialize_executable.deserialize_and_load(payload, in_tree, out_tree, backend=PLATFORM)
    x = jnp.array(inputs[0])
    expected = compiled(*map(jnp.array, inputs))
    actual = loaded(x, jnp.array(inputs[1]))
    assert x.is_deleted()
    for left, right in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(left), np.asarray(right))


def test_no_damage_crashes():
    compiled, _ = compiled_and_inputs()
    executable = compiled.runtime_executable()
    client = jax.devices(PLATFORM)[0].client
    payload = executable.serialize() if hasattr(executable, "serialize") else client.serialize_executable(executable)
    options = jax._src.compiler.get_compile_options(num_replicas=1, num_partitions=1)
    devices = jax._src.lib.xla_client.DeviceList(tuple(jax.devices(PLATFORM)[:1]))
    client.deserialize_executable(payload, devices, options)
    begin = payload.index(b"KILNEXE")  # after what jaxlib puts in front
    seed = 20240229
    random = np.random.default_rng(seed)
    for i in range(1000):
        damaged = bytearray(payload)
        at = int(random.integers(begin, len(damaged)))
        match i % 4:
            case 0:
                damaged[at] ^= 1 << int(random.integers(8))
            case 1:
                del damaged[at:]
            case 2:
                del damaged[at : at + 1 + int(random.integers(64))]
            case 3:
                size = min(64, len(damaged) - at)
                damaged[at : at + size] = random.bytes(size)
        if damaged == payload:
            continue
        with pytest.raises(Exception):
            client.deserialize_executable(bytes(damaged), devices, options)
            pytest.fail(f"damage {i} of seed {seed} went unnoticed")
    foreign = payload[:begin] + b"SOMEEXE" + payload[begin + 7 :]
    with pytest.raises(Exception, match="no executable that Kiln wrote"):
        client.deserialize_executable(foreign, devices, options)
