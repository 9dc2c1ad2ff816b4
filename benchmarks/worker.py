"""The process that measures one program on one engine. Its parent asks for samples, so that engines take turns."""

import dataclasses
import pathlib
import resource
import sys
import tempfile
import time
import traceback

# jax is imported by the fork server, once for all workers; what makes threads or devices waits until a worker runs.
import jax
import jax.numpy  # noqa: F401
import numpy as np

from . import peers, programs

_COMPILE_REPEATS = 3
_COMPILE_SECONDS = 3.0


@dataclasses.dataclass
class Setup:
    """What a worker says once, after its program is ready to be timed."""

    results: str  # a file with the results, flat
    compile_seconds: list
    trace_seconds: float
    memory_bytes: int  # by which the process grew while it ran first: results and temporaries
    planned_bytes: int  # temporaries that the compiler planned, -1 where it does not say


def status_bytes(field):
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def reset_peak():
    try:
        pathlib.Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass  # then peaks of earlier work count as well, for every engine alike


class _Jax:
    """A program through JAX on one platform."""

    def __init__(self, platform, program):
        jax.config.update("jax_platforms", platform)
        jax.config.update("jax_enable_compilation_cache", False)
        function, arguments = program.build()
        self.arguments = jax.device_put(arguments, jax.devices(platform)[0])
        self.compile_seconds, started = [], time.perf_counter()
        while True:
            jax.clear_caches()
            begin = time.perf_counter()
            lowered = jax.jit(function).lower(*self.arguments)
            middle = time.perf_counter()
            self.compiled = lowered.compile()
            # Kiln's machine code is made in the background; what is asked of its size waits for it.
            self.planned_bytes = self._planned_bytes()
            self.compile_seconds.append(time.perf_counter() - middle)
            self.trace_seconds = middle - begin
            if len(self.compile_seconds) == _COMPILE_REPEATS or time.perf_counter() - started > _COMPILE_SECONDS:
                break
        self.function = jax.jit(function)

    def _planned_bytes(self):
        try:
            return int(self.compiled.memory_analysis().temp_size_in_bytes)
        except (AttributeError, NotImplementedError):
            return -1

    def warm_up(self):
        # Through jit's own fast path, which is what programs use; compiled again, since compiled objects have another one.
        self.sample(1)

    def first_run(self):
        return jax.block_until_ready(self.compiled(*self.arguments))

    def sample(self, calls):
        function, arguments = self.function, self.arguments
        begin = time.perf_counter()
        for _ in range(calls):
            result = function(*arguments)
        jax.block_until_ready(result)
        return (time.perf_counter() - begin) / calls


class _Peer:
    """The same program written for another library."""

    def __init__(self, engine, program):
        self.function, self.arguments, self.compile_seconds = peers.build(engine, program)
        self.trace_seconds, self.planned_bytes = 0.0, -1

    def warm_up(self):
        self.sample(1)

    def first_run(self):
        return jax.tree.map(peers.to_numpy, self.function(*self.arguments))

    def sample(self, calls):
        begin = time.perf_counter()
        for _ in range(calls):
            # Kept until the next one is there, as in JAX's loop: the same memory again and again would stay in the cache.
            result = self.function(*self.arguments)  # noqa: F841
        return (time.perf_counter() - begin) / calls


def _set_up(engine, name, folder):
    program = programs.all_programs()[name]
    kind = _Jax if engine in ("kiln", "cpu") else _Peer
    subject = kind(engine, program)
    reset_peak()
    before = status_bytes("VmRSS")
    result = subject.first_run()
    memory_bytes = max(status_bytes("VmHWM") - before, 0)
    handle = tempfile.NamedTemporaryFile(dir=folder, suffix=".npz", delete=False)
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(result)]
    # The file format knows numpy's own types only.
    np.savez(handle, *[leaf.astype(np.float32) if leaf.dtype.kind == "V" or leaf.dtype.name == "bfloat16" else leaf for leaf in leaves])
    handle.close()
    del result, leaves
    subject.warm_up()
    return subject, Setup(handle.name, subject.compile_seconds, subject.trace_seconds, memory_bytes, subject.planned_bytes)


def _samples(subject, seconds, calls):
    """(seconds per call of each sample, calls per sample): samples of at least a millisecond, for about `seconds`."""
    values, end = [], time.perf_counter() + seconds
    while not values or time.perf_counter() < end:
        value = subject.sample(calls)
        if value * calls < 1e-3 and calls < 1 << 16:
            calls = max(calls * 2, int(calls * 1.2e-3 / max(value * calls, 1e-7)))
            continue
        values.append(value)
    return values, calls


def serve(connection, engine, name, folder):
    """Sends ("ready", Setup) or ("failed", text); then answers each number of seconds with samples, until None."""
    try:
        subject, setup = _set_up(engine, name, folder)
        connection.send(("ready", setup))
        calls = 1
        while (seconds := connection.recv()) is not None:
            values, calls = _samples(subject, seconds, calls)
            connection.send(("samples", values))
    except (EOFError, KeyboardInterrupt):
        pass
    except BaseException as error:  # whatever happens to one program is a row of the table
        traceback.print_exc(file=sys.stderr)
        connection.send(("failed", f"{type(error).__name__}: {error}".split("\n")[0][:200]))
