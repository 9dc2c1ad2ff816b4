"""Times thousands of small programs on Kiln and on XLA:CPU in one process and lists those that Kiln is slower for.

  python -m benchmarks.sweep                              every family: some 5,100 programs, about 30 minutes
  python -m benchmarks.sweep --only 'products/f32_nn'     programs whose names FAMILY/NAME match
  python -m benchmarks.sweep --share 7 --threads 1        every seventh program, on one processor
  python -m benchmarks.sweep --below 0.9 --json out.json  lists those under 0.9; keeps all figures

A ratio is XLA:CPU's time over Kiln's, the lower quartile of turns of some milliseconds. What is listed is measured again
with longer turns first, so that a busy moment of the machine is not taken for a slow program. Where results differ by more
than a part of the largest magnitude the row says so.
"""

import argparse
import json
import math
import os
import pathlib
import re
import statistics
import sys
import time
import warnings

import tqdm

from ..options import regular_expression


def options_of(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sweep", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="REGEX", type=regular_expression, default="", help="programs whose name FAMILY/NAME matches")
    parser.add_argument("--share", metavar="N", type=int, default=1, help="every N-th program (default: all)")
    parser.add_argument("--threads", type=int, default=0, help="processors to use (default: all)")
    parser.add_argument("--below", type=float, default=0.95, help="list programs with a lower ratio (default: %(default)s)")
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path, help="write the figures of every program to FILE, line by line")
    parser.add_argument("--list", action="store_true", help="print the names of the programs and stop")
    options = parser.parse_args(arguments)
    return parser, options


class Engines:
    """One program on both platforms."""

    def __init__(self, jax, function, arguments):
        self._jax, self.calls, self.compile_seconds = jax, {}, {}
        for platform in ("kiln", "cpu"):
            placed = jax.device_put(arguments, jax.devices(platform)[0])
            jitted = jax.jit(function)
            begin = time.perf_counter()
            jax.block_until_ready(jitted(*placed))
            self.compile_seconds[platform] = time.perf_counter() - begin
            self.calls[platform] = (jitted, placed)

    def results(self, platform):
        function, placed = self.calls[platform]
        return self._jax.tree.leaves(function(*placed))

    def _sample(self, platform, count):
        function, placed = self.calls[platform]
        begin = time.perf_counter()
        for _ in range(count):
            result = function(*placed)
        self._jax.block_until_ready(result)
        return (time.perf_counter() - begin) / count

    def measure(self, seconds, turns):
        """Seconds per call of each platform, in turns of `seconds`."""
        counts, samples = {}, {platform: [] for platform in self.calls}
        for platform in self.calls:
            self._sample(platform, 2)
            counts[platform] = max(1, int(seconds / max(self._sample(platform, 1), 1e-6)))
            counts[platform] = max(1, int(seconds / max(self._sample(platform, max(1, counts[platform] // 4)), 1e-6)))
        for _ in range(turns):
            for platform in self.calls:
                samples[platform].append(self._sample(platform, counts[platform]))
        return {platform: statistics.quantiles(values, n=4)[0] for platform, values in samples.items()}


def difference(ours, theirs, np):
    """What differs, as text, empty where results agree: orders of equal keys and rounding aside."""
    for index, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype.name == "bfloat16":
            a, b = a.astype(np.float32), b.astype(np.float32)
        if a.dtype.kind not in "fc":
            if (differing := np.count_nonzero(a != b)) > 0.001 * a.size + 1:
                return f"result {index}: {differing} of {a.size} differ"
            continue
        finite = np.isfinite(a) & np.isfinite(b)
        if np.count_nonzero(np.isfinite(a) != np.isfinite(b)):
            return f"result {index}: infinities differ"
        scale = np.max(np.abs(b.astype(np.complex128)), initial=0, where=finite)
        error = np.max(np.abs(a.astype(np.complex128) - b), initial=0, where=finite)
        if error > 2e-2 * max(scale, 1e-30):
            return f"result {index}: off by {error:.3g} of {scale:.3g}"
    return ""


def main(arguments=None):
    parser, options = options_of(arguments)
    if options.threads:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])  # before any engine counts processors
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ["JAX_PLATFORMS"] = "kiln,cpu"
    import jax
    import numpy as np

    from ..programs import inputs
    from .families import FAMILIES

    warnings.filterwarnings("ignore")
    programs = [(f"{family.__name__}/{name}", function, specs) for family in FAMILIES for name, function, specs in family()]
    programs = [program for program in programs if re.search(options.only, program[0])][:: max(options.share, 1)]
    if not programs:
        parser.error(f"no program's name matches {options.only!r}; --list prints them")
    if options.list:
        print("\n".join(name for name, _, _ in programs))
        return 0
    output = options.json.open("w") if options.json else None
    ratios, listed = [], 0
    for name, function, specs in tqdm.tqdm(programs, unit="program", disable=not sys.stderr.isatty(), leave=False):
        try:
            wide = any(type in ("f64", "s64") for type, *_ in specs) or re.search("_[fs]64_", name)
            with jax.enable_x64(bool(wide)):
                arrays = tuple(inputs.of_type(*spec, seed=index) for index, spec in enumerate(specs))
                engines = Engines(jax, function, arrays)
                row = engines.measure(4e-3, 5)
                if row["cpu"] < options.below * row["kiln"]:
                    row = engines.measure(2e-2, 7)
                wrong = difference(engines.results("kiln"), engines.results("cpu"), np)
        except Exception as error:  # a row of the table
            tqdm.tqdm.write(f"{'failed':>8}  {name}: {type(error).__name__}: {str(error).splitlines()[0][:150]}")
            continue
        ratio = row["cpu"] / row["kiln"]
        ratios.append(ratio)
        if output:
            print(json.dumps({"name": name, "ratio": ratio, **row, "compile": engines.compile_seconds, "differs": wrong}), file=output, flush=True)
        if ratio < options.below or wrong:
            listed += 1
            tqdm.tqdm.write(f"{ratio:8.2f}  {row['kiln'] * 1e6:10.1f} us  {row['cpu'] * 1e6:10.1f} us  {name}  {wrong}")
            sys.stdout.flush()
    if ratios:
        print(f"{math.exp(statistics.fmean(map(math.log, ratios))):.2f}x in the geometric mean of {len(ratios)} programs; {listed} listed")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
