"""Whole programs of many ops: the makers of single ops write into one program and take each other's results.

    python -m conformance.graph KILN [SEED [COUNT]]     in tests/jax: runs so many programs from that seed on

Every program is run by `kiln run --reference`; what dies, hangs, differs or fails inside is kept in a temporary folder.
One in five is damaged first and may be refused, with a sentence.
"""

import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

from conformance import contraction, control, elementwise, indexed, linear, movement, reduction
from conformance import program as p

MODULES = (elementwise, movement, movement, indexed, indexed, contraction, reduction, reduction, linear, control)
# What needs the arguments that it chose, or names that are taken the second time, or what the evaluator lacks.
LEFT_OUT = re.compile("ids_and_tokens|tuples|call_and_composite|PHILOX|THREE_FRY|DEFAULT|scatter_last|select_and_scatter|reduce_precision f[48]")
SECONDS = 60
MEMORY = 16 << 30


class Graph(p.Program):
    """Gives values that it has already for arguments, brought into their type and shape."""

    def __init__(self, rng):
        super().__init__(rng)
        self.pool = []
        self.shares = True

    def argument(self, dtype, values):
        values = np.asarray(values).astype(p.TYPES[dtype])
        draw = self.rng.random()
        if self.shares and self.pool and draw < 0.75 and values.shape != () and dtype != "f8E8M0FNU":
            return self.adapt(self.pool[self.rng.integers(0, len(self.pool))], dtype, values.shape)
        if draw > 0.95:
            return self.op("constant", [], [(dtype, values.shape)],
                           f"value = {movement.constant(dtype, values)} : {p.type_text(dtype, values.shape)}")
        return super().argument(dtype, values)

    def adapt(self, value, dtype, shape):
        """Small whole numbers, whose sums are exact, where the type is a float."""
        if value.dtype in p.COMPLEX:
            value = self.op("real", [value], [(value.dtype[8:11], value.shape)])
        if value.dtype in p.FLOATS:
            wide = self.op("convert", [value], [("f32", value.shape)])
            bounded = self.op("clamp", [self.constant("f32", -2), wide, self.constant("f32", 2)], [("f32", value.shape)])
            value = self.op("round_nearest_even", [bounded], [("f32", value.shape)])
        elif dtype in p.FLOATS + p.COMPLEX and value.dtype != "i1":
            ones = self.op("broadcast_in_dim", [self.constant(value.dtype, 1)], [(value.dtype, value.shape)], "broadcast_dimensions = array<i64>")
            value = self.op("and", [value, ones], [(value.dtype, value.shape)])
        count, size = int(np.prod(value.shape, dtype=np.int64)), int(np.prod(shape, dtype=np.int64))
        if value.dtype != dtype:
            value = self.op("convert", [value], [(dtype, value.shape)])
        if value.shape == shape:
            return value
        if count != size:
            value = self.op("reshape", [value], [(dtype, (count,))])
            value = self.op("pad", [value, self.constant(dtype, 1)], [(dtype, (size,))], f"edge_padding_low = {p.array([0])}, "
                            f"edge_padding_high = {p.array([size - count])}, interior_padding = {p.array([0])}")
        return self.op("reshape", [value], [(dtype, shape)])

    def result(self, values, tolerance=p.EXACT):
        for value in values if isinstance(values, (list, tuple)) else [values]:
            if tolerance in (p.EXACT, p.BITS):
                self.pool.append(value)
            if self.rng.random() < 0.5:
                super().result(value, tolerance)


def makers():
    found = collections.defaultdict(list)
    for module in set(MODULES):
        for _, name, make in module.cases():
            if not LEFT_OUT.match(name):
                found[module].append(make)
    return found


def write(seed, makers_of):
    rng = np.random.default_rng([20261, seed])
    graph = Graph(rng)
    factory = lambda _: graph  # noqa: E731
    for module in set(MODULES):
        module.Program = factory
    try:
        for _ in range(int(rng.integers(2, 14))):
            module = MODULES[rng.integers(0, len(MODULES))]
            graph.shares = module is not linear  # which wants matrices of good condition
            makers_of[module][rng.integers(0, len(makers_of[module]))](rng)
    finally:
        for module in set(MODULES):
            module.Program = p.Program
    if not graph.results and graph.pool:
        graph.results.append(graph.pool[-1])
    return graph


NUMBERS = [-9223372036854775808, -2147483648, -1, 0, 1, 2, 3, 5, 16, 64, 255, 2147483647, 4294967295, 9223372036854775807]


def damage(text, rng):
    """Other numbers, types, names and ops in a few places."""
    for _ in range(int(rng.integers(1, 4))):
        kind = rng.integers(0, 5)
        pattern = [r"(?<![\w.@%#])-?\d+", r"(?<=x|<)(?:u?i\d+|f\w+|bf16|complex<f\d+>)(?=>)", r"%\w+(?:#\d)?", r"(?<=stablehlo\.)\w+(?=\")",
                   r", [\w]+ = [^=]*?(?=, \w+ =)"][kind]
        places = list(re.finditer(pattern, text))
        if not places:
            continue
        place = places[rng.integers(0, len(places))]
        new = [str(NUMBERS[rng.integers(0, len(NUMBERS))]), str(rng.choice(p.ALL)), places[rng.integers(0, len(places))].group(),
               places[rng.integers(0, len(places))].group(), ""][kind]
        text = text[: place.start()] + new + text[place.end() :]
    return text


def stored(values):
    """As `kiln run --inputs` takes them."""
    return values if values.dtype.isbuiltin == 1 else values.view(f"V{values.dtype.itemsize}")


def limited(command):
    """`command` by a shell that limits its memory: a limit set between fork and exec would run Python after fork."""
    if "ASAN_OPTIONS" in os.environ:  # AddressSanitizer reserves more than there is
        return command
    return ["sh", "-c", f'ulimit -v {MEMORY >> 10} && exec "$@"', "sh", *command]


def run(kiln, seed, makers_of, folder):
    """What is wrong with how the program of a seed goes; empty when nothing is."""
    graph = write(seed, makers_of)
    rng = np.random.default_rng([20262, seed])
    text, damaged = graph.text(), rng.random() < 0.2
    file, inputs = folder / f"{seed}.mlir", folder / f"{seed}.npz"
    file.write_text(damage(text, rng) if damaged else text)
    command = [kiln, "run", file, "--reference", "--quiet", "--threads", "2"]
    if not damaged and graph.arguments:
        np.savez(inputs, *[stored(values) for _, values in graph.arguments])
        command += ["--inputs", inputs]
    try:
        done = subprocess.run(limited(command), capture_output=True, text=True, timeout=SECONDS, errors="replace")
    except subprocess.TimeoutExpired:
        return f"took more than {SECONDS} seconds"
    words = done.stderr.strip()
    if done.returncode not in (0, 1) or "INTERNAL" in words or "runtime error" in words:
        return f"exit code {done.returncode}: {words[-1500:]}"
    if done.returncode == 1 and not words:
        return "failed without a sentence"
    if not damaged and done.returncode != 0:
        return f"{words[-600:]}"
    for path in (file, inputs):
        path.unlink(missing_ok=True)
    return ""


def main(kiln, first=1, count=1000):
    makers_of, folder, failures = makers(), pathlib.Path(tempfile.mkdtemp(prefix="kiln_graphs_")), 0
    for seed in range(int(first), int(first) + int(count)):
        if words := run(kiln, seed, makers_of, folder):
            failures += 1
            print(f"{folder}/{seed}.mlir: {words}", flush=True)
    print(f"{count} programs, {failures} failures")
    return failures


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) != 0)
