"""Compiles and runs programs of the benchmark, of every area, for scripts/optimize_layout.sh to count what executes."""

import sys

import jax

from benchmarks import programs

# What is large takes long with counters, and executes what small programs do.
LEFT_OUT = {"models", "training", "memory", "compile"}
EVERY = 3


def main():
    chosen = [program for program in programs.all_programs().values() if program.group not in LEFT_OUT][::EVERY]
    for number, program in enumerate(chosen, start=1):
        if sys.stderr.isatty():
            print(f"\rlayout: {number} of {len(chosen)} programs", end="", file=sys.stderr, flush=True)
        function, arguments = program.build()
        arguments = jax.device_put(arguments)
        compiled = jax.jit(function).lower(*arguments).compile()
        for _ in range(3):
            jax.block_until_ready(compiled(*arguments))
    if sys.stderr.isatty():
        print(file=sys.stderr)


if __name__ == "__main__":
    main()
