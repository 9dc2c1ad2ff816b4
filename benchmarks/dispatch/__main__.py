"""Measures what a call through JAX costs on Kiln, beside a plugin that does nothing and beside XLA:CPU, in one process.

  ninja -C build empty_plugin                                 once: the plugin that does nothing
  python -m benchmarks.dispatch                               all programs, about a minute
  python -m benchmarks.dispatch --only 'scalar|20'            programs whose names match
  python -m benchmarks.dispatch --seconds 30 --json out.json  longer, which steadies the last digit; keeps the figures

The plugin that does nothing (`empty`) is Kiln's library, but a program runs once, and every later call gives the same results
again. So its time is the floor, JAX's own and that of Kiln's table of functions, and what Kiln takes above it is for looking
at arguments, running the program, and making and freeing results.

Figures are microseconds per call, of the fastest hundredth of many turns of a millisecond that the three take one after the
other: first where calls follow each other and the last is waited for, then where each is. A goal for what is above the floor
stands behind it, and ! where it is missed. Close other programs first. KILN_LIBRARY_PATH measures another build of the
library: one that Ninja linked takes 0.2 us more per call than one whose code `make build` has laid out.
"""

import argparse
import json
import pathlib
import re
import sys

import tqdm

from ..options import regular_expression
from . import platforms

MODES = {"calls": False, "calls_waited_for": True}


def options_of(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dispatch", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="REGEX", type=regular_expression, default="", help="programs whose name matches")
    parser.add_argument("--seconds", type=float, default=8.0, help="time to measure a program (default: %(default)s)")
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path, help="write the figures to FILE, a line for each program")
    parser.add_argument("--list", action="store_true", help="print the names of the programs and stop")
    return parser, parser.parse_args(arguments)


def line(program, figures):
    cells = [f"{program.name:14}"]
    for mode, row in figures.items():
        above = row["kiln"] - row[platforms.EMPTY]
        goal = "" if program.wanted is None or MODES[mode] else f"of {program.wanted}{'!' if above > program.wanted else ''}"
        cells.append("".join(f"{row[platform]:8.2f}" for platform in platforms.PLATFORMS) + f"{above:8.2f} {goal:7}")
    return "  ".join(cells).rstrip()


def heading():
    columns = "".join(f"{platform:>8}" for platform in (*platforms.PLATFORMS, "above")) + " " * 8
    return f"{'':14}  {'one after the other':>32}{'':8}  {'each waited for':>32}\n{'us per call':14}  {columns}  {columns}".rstrip()


def main(arguments=None):
    parser, options = options_of(arguments)
    try:
        platforms.register()
    except FileNotFoundError as error:
        parser.error(str(error))
    from .programs import all_programs
    from .turns import Turns, rounds

    programs = [program for program in all_programs() if re.search(options.only, program.name)]
    if not programs:
        parser.error(f"no program's name matches {options.only!r}; --list prints them")
    if options.list:
        print("\n".join(program.name for program in programs))
        return 0
    seconds = options.seconds / len(MODES)
    output = options.json.open("w") if options.json else None
    print(heading())
    with tqdm.tqdm(total=len(programs) * len(MODES) * rounds(seconds), unit="turn", disable=not sys.stderr.isatty(), leave=False) as bar:
        for program in programs:
            bar.set_description(program.name)
            turns = Turns(program)
            figures = {mode: turns.measure(waits, seconds, bar.update) for mode, waits in MODES.items()}
            tqdm.tqdm.write(line(program, figures))
            sys.stdout.flush()
            if output:
                print(json.dumps({"name": program.name, "wanted": program.wanted, **figures}), file=output, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
