"""Speed of Kiln beside XLA:CPU, in one process and in turns.

For each row both platforms get the same jitted function and the same inputs. They run one after the other, again and
again, so that a busy moment of the machine meets both; a row shows the median time of each, and the ratio
Kiln / XLA:CPU. A ratio of 0.50x says that Kiln takes half the time. Every row also compares the two answers.

  benchmarks/first_light.py                        the whole table
  benchmarks/first_light.py --only matmul,exp      two rows
  benchmarks/first_light.py --json results.json    the same figures as a file
  benchmarks/first_light.py --check                exit code 1 when a row misses its goal
  taskset -c 0 benchmarks/first_light.py           on one processor

Close other programs first; `--seconds` sets how long a row is measured.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import platform as machine
import statistics
import sys
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "examples"))
import digits  # noqa: E402


@dataclasses.dataclass(frozen=True)
class Benchmark:
    """`calls` calls of function(*inputs(rng)) are one sample; `goal` is the largest ratio that Kiln may take, if one is set."""

    name: str
    description: str
    function: Callable
    inputs: Callable
    goal: float | None = None
    calls: int = 1
    tolerance: float = 1e-4


def normal(*shapes):
    return lambda rng: tuple(rng.standard_normal(shape, dtype=np.float32) for shape in shapes)


def digits_inputs(rng):
    images, _, labels, _ = digits.load_data()
    with jax.default_device(jax.devices("cpu")[0]):
        parameters = jax.device_get(digits.initial_parameters(jax.random.key(0)))
        state = (parameters, jax.device_get(digits.OPTIMIZER.init(parameters)))
    return state, images[:64], labels[:64]


BENCHMARKS = [
    Benchmark("matmul", "f32 matmul, 1024 x 1024 x 1024", jnp.matmul, normal((1024, 1024), (1024, 1024)), goal=1.5, tolerance=1e-3),
    Benchmark("exp", "exp of 16M f32", jnp.exp, normal((1 << 24,)), goal=1.1),
    Benchmark("softmax", "softmax of f32[4096,1024]", jax.nn.softmax, normal((4096, 1024)), goal=1.0),
    Benchmark("dispatch", "add of two scalars: a call's overhead", jnp.add, normal((), ()), goal=1.1, calls=200),
    Benchmark("digits", "training step of examples/digits.py", digits.train_step, digits_inputs, calls=10),
]


class Subject:
    """One benchmark on one device."""

    def __init__(self, benchmark, inputs, device):
        self.calls = benchmark.calls
        self.arguments = jax.device_put(inputs, device)
        self.function = jax.jit(benchmark.function)
        start = time.perf_counter()
        self.result = jax.block_until_ready(self.function(*self.arguments))
        self.first_call_seconds = time.perf_counter() - start
        self.samples = []

    def sample(self):
        function, arguments = self.function, self.arguments
        start = time.perf_counter()
        for _ in range(self.calls):
            result = function(*arguments)
        jax.block_until_ready(result)
        self.samples.append((time.perf_counter() - start) / self.calls)


def measure(benchmark, device, reference_device, seconds, rounds):
    inputs = benchmark.inputs(np.random.default_rng(0))
    subjects = [Subject(benchmark, inputs, target) for target in (device, reference_device)]
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=benchmark.tolerance, atol=benchmark.tolerance),
        *[jax.device_get(subject.result) for subject in subjects],
    )
    for subject in subjects:
        subject.sample()
        subject.samples.clear()
    end = time.perf_counter() + seconds
    done = 0
    while done < rounds[0] or (time.perf_counter() < end and done < rounds[1]):
        for subject in subjects if done % 2 == 0 else reversed(subjects):
            subject.sample()
        done += 1
    own, other = (statistics.median(subject.samples) for subject in subjects)
    return {
        "name": benchmark.name,
        "description": benchmark.description,
        "seconds": own,
        "reference_seconds": other,
        "ratio": own / other,
        "goal": benchmark.goal,
        "first_call_seconds": subjects[0].first_call_seconds,
        "reference_first_call_seconds": subjects[1].first_call_seconds,
        "rounds": done,
    }


def duration(seconds):
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * factor >= 1 or unit == "us":
            return f"{seconds * factor:.3g} {unit}"


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return machine.processor()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = ", ".join(benchmark.name for benchmark in BENCHMARKS)
    parser.add_argument("--only", metavar="NAMES", help=f"rows to run, separated by commas: {names}")
    parser.add_argument("--seconds", type=float, default=4, help="time to measure a row (default: %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    parser.add_argument("--check", action="store_true", help="exit with code 1 when a row misses its goal")
    parser.add_argument("--platform", default="kiln", help="JAX platform to measure (default: %(default)s)")
    options = parser.parse_args()

    chosen = options.only.split(",") if options.only else [benchmark.name for benchmark in BENCHMARKS]
    if unknown := set(chosen) - {benchmark.name for benchmark in BENCHMARKS}:
        parser.error(f"no row is called {', '.join(sorted(unknown))}; the rows are {names}")

    jax.config.update("jax_platforms", options.platform if options.platform == "cpu" else f"{options.platform},cpu")
    device, reference_device = jax.devices(options.platform)[0], jax.devices("cpu")[0]
    cpus = len(os.sched_getaffinity(0))
    print(f"{processor()}, {cpus} processors; JAX {jax.__version__}")
    print(f"\n{'':10}{options.platform:>10}{'XLA:CPU':>10}{'ratio':>9}{'at most':>9}   {'first call':>10}{'XLA:CPU':>10}")
    rows = []
    for benchmark in BENCHMARKS:
        if benchmark.name not in chosen:
            continue
        row = measure(benchmark, device, reference_device, options.seconds, rounds=(5, 2000))
        rows.append(row)
        goal = f"{row['goal']:.1f}x" if row["goal"] else "-"
        print(
            f"{row['name']:10}{duration(row['seconds']):>10}{duration(row['reference_seconds']):>10}{row['ratio']:8.2f}x{goal:>9}"
            f"   {duration(row['first_call_seconds']):>10}{duration(row['reference_first_call_seconds']):>10}   {row['description']}",
            flush=True,
        )
    if options.json:
        record = {"processor": processor(), "processors": cpus, "jax": jax.__version__, "platform": options.platform, "rows": rows}
        pathlib.Path(options.json).write_text(json.dumps(record, indent=2) + "\n")
    missed = [row["name"] for row in rows if row["goal"] and row["ratio"] > row["goal"]]
    if missed:
        print(f"\nabove the limit: {', '.join(missed)}")
    return 1 if missed and options.check else 0


if __name__ == "__main__":
    os.environ.setdefault("JAX_ENABLE_COMPILATION_CACHE", "0")
    raise SystemExit(main())
