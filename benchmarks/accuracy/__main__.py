"""Measures every function in every format on Kiln and XLA:CPU and writes docs/accuracy.md.

  make accuracy                                            the whole table
  python -m benchmarks.accuracy --functions exp,log        some rows, printed only
  python -m benchmarks.accuracy --formats float32 --points 4000000
"""

import argparse
import os
import pathlib

os.environ.setdefault("JAX_PLATFORMS", "kiln,cpu")

import jax  # noqa: E402
import tqdm  # noqa: E402

from benchmarks.accuracy import complex_plane, measure  # noqa: E402
from benchmarks.accuracy.formats import FORMATS  # noqa: E402
from benchmarks.accuracy.functions import FUNCTIONS  # noqa: E402

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "accuracy.md"
HEAD = """# Accuracy of the elementwise functions

The largest error in units in the last place of the exact result, as `make accuracy` finds it: Kiln and XLA:CPU (jaxlib
{version}) over the same arguments, called as JAX calls them. mpmath, at {precision} bits, judges the worst arguments and some
others; all of them are screened in the next wider format (f64 in x87's 80 bits; erf and erfc of f64 by mpmath alone).
Arguments: bit patterns at random, all magnitudes, the neighbourhood of zeros, of 1, of multiples of pi/2, of the bounds of
overflow and underflow; the special values; every value of the formats of 16 and 8 bits (every pair for 8 bits). A result
rounded once has at most 0.5. "inf" is a wrong special value, or a wrong sign of zero.

"Normal" leaves out subnormal arguments and results. Kiln keeps subnormals, but in much work that multiplies or
sums up exponentials, has some of what is never above 0, or sums up products; XLA:CPU flushes them to zero everywhere,
which is an error of millions of units.
Kiln's bound is 2 in f32 and f64, held by `tests/jax/test_accuracy.py`.

"""
COMPLEX_HEAD = """The error of the larger part in units of its last place. "inf" is a NaN or an infinity that should be none.

"""
COLUMNS = "| function | points | Kiln | at | XLA:CPU | at | XLA:CPU, normal |\n|---|---|---|---|---|---|---|\n"


def size(error):
    return f"{error:.3f}" if error < 100 else f"{error:.3g}"


def place(arguments):
    return ", ".join(f"{a:.8g}" for a in arguments)


def complex_tables(devices, points):
    text = ""
    for dtype in complex_plane.FORMATS:
        text += f"## {dtype.name}\n\n{COMPLEX_HEAD}| function | points | Kiln | at | XLA:CPU | at |\n|---|---|---|---|---|---|\n"
        for name in tqdm.tqdm(complex_plane.FUNCTIONS, desc=dtype.name, unit="function"):
            kiln, xla = (complex_plane.measure(name, dtype, device, points) for device in devices)
            text += f"| {name} | {points} | {size(kiln.error)} | {place(kiln.arguments)} | {size(xla.error)} | {place(xla.arguments)} |\n"
        text += "\n"
    return text


def row(name, kiln, xla):
    if isinstance(xla, str):
        return f"| {name} | {kiln.points} | {size(kiln.error)} | {place(kiln.arguments)} | {xla} | | |"
    return (
        f"| {name} | {kiln.points} | {size(kiln.error)} | {place(kiln.arguments)} | {size(xla.error)} | "
        f"{place(xla.arguments)} | {size(xla.normal)} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--functions", help="names, separated by commas")
    parser.add_argument("--formats", help="names of dtypes, separated by commas")
    parser.add_argument("--points", type=int, default=1 << 20, help="arguments per function of f32 and f64")
    options = parser.parse_args()
    functions = options.functions.split(",") if options.functions else list(FUNCTIONS)
    formats = options.formats.split(",") if options.formats else list(FORMATS)
    devices = [jax.devices("kiln")[0], jax.devices("cpu")[0]]
    text = HEAD.format(version=jax.lib.__version__, precision=measure.mpmath.mp.prec)
    with tqdm.tqdm(total=len(functions) * len(formats), unit="function") as progress:
        for name in formats:
            text += f"## {name}\n\n{COLUMNS}"
            for function in functions:
                progress.set_postfix_str(f"{function} {name}")
                text += line(FUNCTIONS[function], FORMATS[name], devices, options.points) + "\n"
                progress.update()
            text += "\n"
    if options.functions or options.formats:
        print(text[text.index("## ") :], end="")
        return
    text += complex_tables(devices, max(options.points >> 10, 100))
    DOCUMENT.parent.mkdir(exist_ok=True)
    DOCUMENT.write_text(text.rstrip() + "\n")
    print(f"wrote {DOCUMENT}")


def line(function, form, devices, points):
    """A row of the table. What JAX itself refuses to lower (chlo functions of 8-bit floats) is said so."""
    results = []
    for device in devices:
        try:
            results += measure.measure(function, form, [device], points)
        except jax.errors.JaxRuntimeError:
            results.append("refused")
    kiln, xla = results
    if isinstance(kiln, str):
        return f"| {function.name} | | {kiln} | | {xla if isinstance(xla, str) else size(xla.error)} | | |"
    return row(function.name, kiln, xla)


if __name__ == "__main__":
    main()
