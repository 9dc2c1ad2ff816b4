"""Speed, compile time and memory of Kiln beside XLA:CPU, program by program.

Each program runs in a process of its own per engine; engines take turns, so that a busy moment of the machine meets all.
A ratio is XLA:CPU's figure over Kiln's: above 1 Kiln is better. Results are compared, and a difference is a failure.

  python -m benchmarks                                  everything: 307 programs, about 20 minutes
  python -m benchmarks --only 'sort|scan'               programs whose names match
  python -m benchmarks --quick                          a short look at each
  python -m benchmarks --peers torch,onnxruntime        beside other libraries too, where a program is written for them
  python -m benchmarks --json out.json --page out.html  keep the figures; plots
  python -m benchmarks --list                           names only

Close other programs first. KILN_LIBRARY_PATH measures another build of the library.
"""

import argparse
import math
import os
import pathlib
import re
import sys
import tempfile

import tqdm

from .options import regular_expression


def options_of(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="REGEX", type=regular_expression, default="", help="programs whose name GROUP/NAME matches")
    parser.add_argument("--seconds", type=float, default=1.0, help="time to measure a program on each engine (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=6, help="turns that the engines take within that time (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="0.2 seconds, 2 turns")
    parser.add_argument("--threads", type=int, default=0, help="processors to use (default: all)")
    parser.add_argument("--timeout", type=float, default=120, help="seconds that one program may take to compile or run (default: %(default)s)")
    parser.add_argument("--peers", metavar="NAMES", default="", help="other libraries to measure, separated by commas: numpy, torch, inductor (torch.compile), onnxruntime")
    parser.add_argument("--without-xla", action="store_true", help="measure Kiln alone")
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path, help="write all figures to FILE")
    parser.add_argument("--page", metavar="FILE", type=pathlib.Path, default=pathlib.Path("build/benchmarks.html"), help="where the plots go (default: %(default)s)")
    parser.add_argument("--chart", metavar="FILE", type=pathlib.Path, help="write the means of the groups as a picture (SVG) to FILE")
    parser.add_argument("--list", action="store_true", help="print the names of the programs and stop")
    parser.add_argument("--check", action="store_true", help="exit with code 1 when a program fails or is behind 0.9x")
    options = parser.parse_args(arguments)
    if options.quick:
        options.seconds, options.rounds = 0.2, 2
    return parser, options


def main(arguments=None):
    parser, options = options_of(arguments)
    if options.threads:
        # Before any engine counts processors.
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ.setdefault("KILN_KERNEL_CACHE", "off")  # what a program costs that was never compiled before
    import jax

    from . import limits, peers, programs, report, runner

    chosen = [program for name, program in programs.all_programs().items() if re.search(options.only, name)]
    if not chosen:
        parser.error(f"no program's name matches {options.only!r}; --list prints them")
    if options.list:
        print("\n".join(program.name for program in chosen))
        return 0
    wanted = [name for name in options.peers.split(",") if name]
    if unknown := set(wanted) - set(peers.available()):
        parser.error(f"--peers: {', '.join(sorted(unknown))}: not installed, or not known; here are: {', '.join(peers.available())}")

    machine = {"processor": limits.processor_name(), "processors": limits.processors(), "jax": jax.__version__, "limits": limits.measure()}
    print(f"{machine['processor']}, {machine['processors']} processors; " + ", ".join(f"{k} {v:g} {u}" for k, (v, u) in machine["limits"].items()))
    print(report.HEADER)
    context, rows = runner.fork_server(), []
    with tempfile.TemporaryDirectory() as folder, tqdm.tqdm(chosen, unit="program", disable=not sys.stderr.isatty(), leave=False) as bar:
        for program in bar:
            bar.set_postfix_str(program.name)
            engines = ["kiln", *([] if options.without_xla else ["cpu"]), *[peer for peer in wanted if peers.covers(peer, program.name)]]
            row = runner.measure(context, program, engines, options, folder)
            rows.append(row)
            tqdm.tqdm.write(report.line(row))
            sys.stdout.flush()
    print("\n" + report.summary(rows))
    if options.json:
        report.write_json(options.json, rows, machine)
    if options.chart:
        report.write_chart(options.chart, rows, machine)
    if options.page.parent.is_dir():
        report.write_page(options.page, rows, machine)
        print(f"\nplots: {options.page}")
    bad = [row for row in rows if row.mismatch or row.engines["kiln"].error or (not math.isnan(row.ratio("run")) and row.ratio("run") < 0.9)]
    return 1 if options.check and bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
