"""Temporaries and peaks of compiled programs on Kiln and on XLA:CPU, of the programs here and of the benchmark's.

Programs are only compiled. Temporaries are memory_analysis().temp_size_in_bytes, the peak is the total of arguments, results
and temporaries less what results share with arguments (XLA:CPU's own peak_memory_in_bytes leaves its temporaries out). What
single kernels work in is in neither: on Kiln four megabytes at most, kMaxWorkspaceBytes. Exit code 1: Kiln took more.

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
from benchmarks.temporaries.measure import measure

SLACK = 64 << 10  # what Kiln may take more before it counts


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.temporaries", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="REGEX", default="", help="programs whose name FAMILY/NAME matches")
    parser.add_argument("--above", action="store_true", help="print only programs where Kiln takes more")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="that compile side by side (default: %(default)s)")
    parser.add_argument("--text", nargs="*", type=pathlib.Path, default=[], help="StableHLO text files in place of programs")
    options = parser.parse_args()
    names = [str(path) for path in options.text] or [n for n in (*temporaries.all_programs(), *programs.all_programs()) if re.search(options.only, n)]
    print(f"{'program':44} {'temporaries':>13} {'XLA:CPU':>13} {'peak':>14} {'XLA:CPU':>14}")
    count, more, peaks = collections.Counter(), collections.Counter(), collections.Counter()
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
            if higher or not options.above:
                mark = "ABOVE" if higher else "more temporaries" if above else ""
                tqdm.tqdm.write(f"{name:44} {temporary:>13,} {xla_temporary:>13,} {peak:>14,} {xla_peak:>14,}  {mark}")
                sys.stdout.flush()
    print(f"\n{'family':20} {'programs':>8} {'more temporaries':>17} {'higher peaks':>13}")
    for group in count:
        print(f"{group:20} {count[group]:>8} {more[group]:>17} {peaks[group]:>13}")
    print(f"{'all':20} {count.total():>8} {more.total():>17} {peaks.total():>13}")
    return 1 if peaks.total() else 0


if __name__ == "__main__":
    sys.exit(main())
