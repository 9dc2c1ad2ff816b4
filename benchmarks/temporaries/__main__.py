"""Temporaries and peaks of compiled programs on Kiln and on XLA:CPU, of the programs here and of the benchmark's.

Programs are only compiled. Temporaries are memory_analysis().temp_size_in_bytes, the peak is the total of arguments, results
and temporaries less what results share with arguments (XLA:CPU's own peak_memory_in_bytes leaves its temporaries out). What
single kernels work in is in neither: on Kiln four megabytes at most, kMaxWorkspaceBytes, on XLA:CPU whatever its libraries
take. Where Kiln's peak is higher, both therefore run the program too, and what their processes grow by stands beside it.
Exit code 1: there was a higher peak.

  python -m benchmarks.temporaries                       some 1000 programs, those of the benchmark among them
  python -m benchmarks.temporaries --only 'gradient'     programs whose names match
  python -m benchmarks.temporaries --above               print only those where Kiln takes more
  python -m benchmarks.temporaries --text FILE...        StableHLO texts
"""

import argparse
import collections
import concurrent.futures
import multiprocessing
import os
import pathlib
import re
import sys

import tqdm

from benchmarks import programs, temporaries
from benchmarks.options import regular_expression
from benchmarks.temporaries.measure import growths, measure

SLACK = 64 << 10  # what Kiln may take more before it counts


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.temporaries", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="REGEX", type=regular_expression, default="", help="programs whose name FAMILY/NAME matches")
    parser.add_argument("--above", action="store_true", help="print only programs where Kiln takes more")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="that compile side by side (default: %(default)s)")
    parser.add_argument("--text", nargs="*", type=pathlib.Path, default=[], help="StableHLO text files in place of programs")
    options = parser.parse_args()
    names = [str(path) for path in options.text] or [n for n in (*temporaries.all_programs(), *programs.all_programs()) if re.search(options.only, n)]
    print(f"{'program':44} {'temporaries':>13} {'XLA:CPU':>13} {'peak':>14} {'XLA:CPU':>14}")
    count, more, peaks, grown = (collections.Counter() for _ in range(4))
    questions = []
    pool = concurrent.futures.ProcessPoolExecutor(options.processes, multiprocessing.get_context("spawn"))
    with pool, tqdm.tqdm(total=len(names), unit="program", disable=not sys.stderr.isatty(), leave=False) as bar:
        for name, *found in pool.map(measure, names):
            bar.update()
            if len(found) == 1:
                tqdm.tqdm.write(f"{name:44} {found[0]}")
                continue
            (temporary, peak), (xla_temporary, xla_peak) = found
            above, higher = temporary > xla_temporary + SLACK, peak > xla_peak + SLACK
            group = name.partition("/")[0]
            count[group], more[group], peaks[group] = count[group] + 1, more[group] + above, peaks[group] + higher
            if higher and not options.text:
                questions.append(name)
            if higher or not options.above:
                mark = "ABOVE" if higher else "more temporaries" if above else ""
                tqdm.tqdm.write(f"{name:44} {temporary:>13,} {xla_temporary:>13,} {peak:>14,} {xla_peak:>14,}  {mark}")
                sys.stdout.flush()
    if questions:
        print(f"\n{'by what processes grow when they run':44} {'Kiln':>13} {'XLA:CPU':>13}")
        with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
            for name in tqdm.tqdm(questions, unit="program", disable=not sys.stderr.isatty(), leave=False):
                kiln, xla = growths(pool, name)
                grown[name.partition("/")[0]] += kiln > xla + SLACK
                tqdm.tqdm.write(f"{name:44} {kiln:>13,} {xla:>13,}  {'ABOVE' if kiln > xla + SLACK else ''}")
    print(f"\n{'family':20} {'programs':>8} {'more temporaries':>17} {'higher peaks':>13} {'also when run':>14}")
    for group in (*count, "all"):
        numbers = [counter.total() if group == "all" else counter[group] for counter in (count, more, peaks, grown)]
        print("{:20} {:>8} {:>17} {:>13} {:>14}".format(group, *numbers))
    return 1 if peaks.total() else 0


if __name__ == "__main__":
    sys.exit(main())
