"""Runs one program on all engines in turns and compares their answers."""

import dataclasses
import math
import multiprocessing
import os
import statistics

import numpy as np

from . import worker


@dataclasses.dataclass
class Engine:
    """One engine's figures for one program; times in seconds, memory in bytes."""

    error: str = ""
    run: float = math.nan  # median of the samples
    best: float = math.nan
    spread: float = math.nan  # half the distance of the quartiles, as a share of the median
    compile: float = math.nan
    trace: float = math.nan
    memory: int = -1
    planned: int = -1


@dataclasses.dataclass
class Row:
    name: str
    group: str
    engines: dict = dataclasses.field(default_factory=dict)
    mismatch: str = ""

    def ratio(self, field, engine="kiln", reference="cpu"):
        """reference / engine: above 1 where the engine is better. NaN where one has no figure."""
        try:
            ours, theirs = getattr(self.engines[engine], field), getattr(self.engines[reference], field)
        except KeyError:
            return math.nan
        # A page or two more or less is noise of the operating system.
        slack = 1 << 20 if field == "memory" else 0
        return (theirs + slack) / (ours + slack) if ours >= 0 and theirs >= 0 and ours + slack > 0 else math.nan


class _Process:
    def __init__(self, context, engine, program, options, folder):
        self.connection, other = context.Pipe()
        self.process = context.Process(target=worker.serve, args=(other, engine, program.name, folder), daemon=True)
        self.process.start()
        other.close()

    def receive(self, timeout):
        if not self.connection.poll(timeout):
            return "failed", f"no answer within {timeout:.0f} s"
        try:
            return self.connection.recv()
        except EOFError:
            self.process.join(5)
            return "failed", f"the process ended with code {self.process.exitcode}"

    def close(self):
        try:
            self.connection.send(None)
        except OSError:
            pass
        self.process.join(1)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def _flat(path):
    with np.load(path) as archive:
        return [archive[name] for name in archive.files]


def _mismatch(path, reference_path, tolerance):
    ours, theirs = _flat(path), _flat(reference_path)
    if len(ours) != len(theirs):
        return f"{len(ours)} results instead of {len(theirs)}"
    for index, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if a.shape != b.shape:
            return f"result {index} has shape {a.shape} instead of {b.shape}"
        if a.dtype.kind not in "fc":
            differing = np.count_nonzero(a != b)
            # Orders of equal keys and ties of rounding may differ in a few elements of large results.
            if differing > tolerance * a.size:
                return f"result {index}: {differing} of {a.size} elements differ"
            continue
        scale = np.max(np.abs(b), initial=0, where=np.isfinite(b))
        with np.errstate(all="ignore"):
            error = np.max(np.abs(a - b), initial=0, where=np.isfinite(a) & np.isfinite(b))
        if not np.array_equal(np.isfinite(a), np.isfinite(b)) or error > tolerance * max(scale, 1e-30):
            return f"result {index}: off by {error:.3g} where the largest magnitude is {scale:.3g}"
    return ""


def fork_server():
    """A context whose processes start with JAX imported, which takes milliseconds instead of seconds."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.worker"])
    return context


def measure(context, program, engines, options, folder):
    """A Row for `program`. `options` has seconds, rounds and timeout."""
    row = Row(program.name, program.group)
    processes, files = {}, {}
    for engine in engines:
        process = _Process(context, engine, program, options, folder)
        kind, answer = process.receive(options.timeout)
        row.engines[engine] = figures = Engine()
        if kind == "failed":
            figures.error = answer
            process.close()
            continue
        processes[engine], files[engine] = process, answer.results
        figures.compile = statistics.median(answer.compile_seconds) if answer.compile_seconds else math.nan
        figures.trace, figures.memory, figures.planned = answer.trace_seconds, answer.memory_bytes, answer.planned_bytes
    if "kiln" in files and "cpu" in files:
        row.mismatch = _mismatch(files["kiln"], files["cpu"], program.tolerance)
    for peer in set(files) - {"kiln", "cpu"} if "cpu" in files else ():
        # Peers round narrow types elsewhere.
        if difference := _mismatch(files[peer], files["cpu"], max(program.tolerance, 1e-3)):
            row.engines[peer].error = f"results differ: {difference}"
            processes.pop(peer).close()
    for path in files.values():
        os.unlink(path)
    samples = {engine: [] for engine in processes}
    for turn in range(options.rounds):
        for engine in list(processes) if turn % 2 == 0 else list(processes)[::-1]:
            processes[engine].connection.send(options.seconds / options.rounds)
            kind, answer = processes[engine].receive(options.timeout)
            if kind == "failed":
                row.engines[engine].error = answer
                processes.pop(engine).close()
            else:
                samples[engine].extend(answer)
    for engine, process in processes.items():
        process.close()
        figures, values = row.engines[engine], samples[engine]
        figures.run, figures.best = statistics.median(values), min(values)
        low, _, high = statistics.quantiles(values, n=4) if len(values) > 1 else (values[0],) * 3
        figures.spread = (high - low) / 2 / figures.run
    return row
