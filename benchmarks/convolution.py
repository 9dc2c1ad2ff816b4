"""Convolutions, pooling and low-precision products: Kiln beside XLA:CPU, in one process and in turns.

A row shows the least time of each over all rounds, their ratio (0.50x: Kiln takes half the time), Kiln's rate, and the time
until the first result. Answers are compared.

  benchmarks/convolution.py                     the whole table
  benchmarks/convolution.py --only 'resnet.*b1' rows whose name matches
  benchmarks/convolution.py --json results.json the same figures as a file
"""

import argparse
import dataclasses
import json
import math
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


@dataclasses.dataclass(frozen=True)
class Row:
    """function(*arguments of these shapes and type); `operations` are its multiplications and additions, if they count."""

    name: str
    function: Callable
    shapes: tuple
    operations: float = 0.0
    dtype: str = "float32"
    tolerance: float = 2e-3


def labels(layout, rank):
    space = "DHW"[3 - rank :]
    return ("N" + space + "C", space + "IO", "N" + space + "C") if layout == "NHWC" else ("NC" + space, "OI" + space, "NC" + space)


def convolution(name, layout, batch, space, inputs, outputs, window, stride=1, groups=1, dilation=1, gradient=None, epilogue=None, **rest):
    """A convolution with SAME padding; gradient: "input" or "weights" instead of the result; dilation: of the input."""
    rank = len(space)
    numbers = labels(layout, rank)
    order = dict(N=batch, C=inputs, I=inputs // groups, O=outputs, **dict(zip("DHW"[3 - rank :], space)))
    shape = tuple(order[c] for c in numbers[0])
    sizes = dict(order, **dict.fromkeys("DHW", window))
    kernel = tuple(sizes[c] for c in numbers[1])

    def forward(x, w):
        y = lax.conv_general_dilated(
            x, w, (stride,) * rank, "SAME" if dilation == 1 else [(window // 2, window // 2 + dilation - 1)] * rank,
            lhs_dilation=(dilation,) * rank, dimension_numbers=numbers, feature_group_count=groups)
        return y if epilogue is None else epilogue(y)

    result = jax.eval_shape(forward, jax.ShapeDtypeStruct(shape, rest.get("dtype", "float32")), jax.ShapeDtypeStruct(kernel, rest.get("dtype", "float32")))
    operations = 2 * math.prod(result.shape) * inputs // groups * window**rank / dilation**rank
    if gradient is None:
        return Row(name, forward, (shape, kernel), operations, **rest)
    argument = ("input", "weights").index(gradient)

    def backward(x, w, g):
        return jax.vjp(forward, x, w)[1](g)[argument]

    return Row(name, backward, (shape, kernel, result.shape), operations, **rest)


def pool(kind, layout, batch, space, features, window, stride, gradient=False):
    at = 1 if layout == "NHWC" else 2
    shape = (batch, space, space, features) if at == 1 else (batch, features, space, space)
    sizes = tuple(window if at <= d < at + 2 else 1 for d in range(4))
    strides = tuple(stride if at <= d < at + 2 else 1 for d in range(4))

    def forward(x):
        if kind == "max":
            return lax.reduce_window(x, -jnp.inf, lax.max, sizes, strides, "SAME")
        return lax.reduce_window(x, 0.0, lax.add, sizes, strides, "SAME") / (window * window)

    result = jax.eval_shape(forward, jax.ShapeDtypeStruct(shape, "float32")).shape
    name = f"pool.{kind}{'.grad' if gradient else ''}.{layout.lower()}.{window}x{window}"
    if gradient:
        return Row(name, lambda x, g: jax.vjp(forward, x)[1](g)[0], (shape, result))
    return Row(name, forward, (shape,))


def matmul(name, m, n, k, dtype, batch=(), transposed=False, **rest):
    def function(x, y):
        y = jnp.swapaxes(y, -1, -2) if transposed else y
        return jnp.matmul(x, y, preferred_element_type=jnp.int32 if dtype == "int8" else None)

    shapes = (batch + (m, k), batch + ((n, k) if transposed else (k, n)))
    return Row(name, function, shapes, 2 * m * n * k * math.prod(batch), dtype, **rest)


def rows():
    layers = [  # ResNet-50: space, inputs, outputs, window, stride
        ("stem", 224, 3, 64, 7, 2), ("c2.1x1", 56, 64, 256, 1, 1), ("c2.3x3", 56, 64, 64, 3, 1), ("c3.3x3s2", 56, 128, 128, 3, 2),
        ("c3.3x3", 28, 128, 128, 3, 1), ("c4.3x3", 14, 256, 256, 3, 1), ("c4.1x1", 14, 1024, 256, 1, 1),
        ("c5.3x3", 7, 512, 512, 3, 1), ("c5.down", 14, 1024, 2048, 1, 2),
    ]
    for batch in (1, 8):
        for layout in ("NHWC", "NCHW"):
            for name, space, inputs, outputs, window, stride in layers:
                yield convolution(f"resnet.{name}.{layout.lower()}.b{batch}", layout, batch, (space, space), inputs, outputs, window, stride)
    relu = lambda y: jnp.maximum(y * 1.5 + 0.25, 0)  # noqa: E731
    for layout in ("NHWC", "NCHW"):
        low = layout.lower()
        yield convolution(f"fused.c3.3x3.{low}", layout, 4, (28, 28), 128, 128, 3, epilogue=relu)
        for space, features, stride in ((112, 32, 1), (56, 128, 2), (14, 512, 1)):
            yield convolution(f"depthwise.{features}s{stride}.{low}", layout, 1, (space, space), features, features, 3, stride, groups=features)
        yield convolution(f"depthwise.grad.input.{low}", layout, 4, (28, 28), 256, 256, 3, groups=256, gradient="input")
        yield convolution(f"depthwise.grad.weights.{low}", layout, 4, (28, 28), 256, 256, 3, groups=256, gradient="weights")
        yield convolution(f"grouped.32x4.{low}", layout, 1, (56, 56), 128, 128, 3, groups=32)
        yield convolution(f"grouped.4x64.{low}", layout, 1, (28, 28), 256, 256, 3, groups=4)
        yield convolution(f"grad.input.c3.{low}", layout, 4, (28, 28), 128, 128, 3, gradient="input")
        yield convolution(f"grad.input.s2.{low}", layout, 4, (56, 56), 64, 128, 3, 2, gradient="input")
        yield convolution(f"grad.weights.c2.{low}", layout, 4, (56, 56), 64, 64, 3, gradient="weights")
        yield convolution(f"grad.weights.c4.{low}", layout, 4, (14, 14), 256, 256, 3, gradient="weights")
        yield convolution(f"transposed.{low}", layout, 1, (28, 28), 128, 64, 4, dilation=2)
        yield convolution(f"3d.{low}", layout, 1, (16, 32, 32), 32, 32, 3)
        yield convolution(f"1d.{low}", layout, 4, (4096,), 64, 64, 5)
        yield convolution(f"bf16.c3.3x3.{low}", layout, 4, (28, 28), 128, 128, 3, dtype="bfloat16", tolerance=5e-2)
        yield convolution(f"unet.out.{low}", layout, 1, (128, 128), 64, 3, 3)
        for kind, window, stride in (("max", 3, 2), ("max", 2, 2), ("avg", 7, 7)):
            yield pool(kind, layout, 8, 56, 64, window, stride)
        yield pool("max", layout, 8, 56, 64, 2, 2, gradient=True)
        yield pool("max", layout, 4, 56, 64, 3, 2, gradient=True)
    for dtype, tolerance in (("float32", 2e-3), ("bfloat16", 5e-2), ("float16", 2e-2), ("int8", 0)):
        yield matmul(f"matmul.1024.{dtype}", 1024, 1024, 1024, dtype, tolerance=tolerance)
        yield matmul(f"matmul.1024t.{dtype}", 1024, 1024, 1024, dtype, transposed=True, tolerance=tolerance)
    for dtype, tolerance in (("float32", 2e-3), ("bfloat16", 5e-2), ("float64", 1e-6)):
        yield matmul(f"matvec.4096.{dtype}", 4096, 1, 4096, dtype, tolerance=tolerance)
        yield matmul(f"vecmat.4096.{dtype}", 1, 4096, 4096, dtype, tolerance=tolerance)
        yield matmul(f"skinny8.{dtype}", 8, 2048, 2048, dtype, tolerance=tolerance)
    yield matmul("tiny.3x3", 3, 3, 3, "float32", (20000,))
    yield matmul("tiny.8x8", 8, 8, 8, "float32", (10000,))
    yield matmul("tiny.35x35", 35, 35, 35, "float32", (200,))


def measure(row, devices, seconds):
    random = np.random.default_rng(0)
    if row.dtype == "int8":
        inputs = [random.integers(-128, 128, shape, dtype=np.int8) for shape in row.shapes]
    else:
        inputs = [random.standard_normal(shape).astype(jnp.dtype(row.dtype)) for shape in row.shapes]
    calls, first, results = [], [], []
    for device in devices:
        arguments = jax.device_put(inputs, device)
        function = jax.jit(row.function)
        start = time.perf_counter()
        results.append(np.asarray(jax.block_until_ready(function(*arguments))))
        first.append(time.perf_counter() - start)
        calls.append((function, arguments))
    own, other = (r.astype(np.float64) for r in results)
    scale = max(1e-30, np.abs(other).max())
    error = np.abs(own - other).max() / scale
    times = [[], []]
    end = time.perf_counter() + seconds
    count = 0
    while count < 3 or time.perf_counter() < end:
        for i in (0, 1) if count % 2 == 0 else (1, 0):
            function, arguments = calls[i]
            start = time.perf_counter()
            jax.block_until_ready(function(*arguments))
            times[i].append(time.perf_counter() - start)
        count += 1
    own, other = min(times[0]), min(times[1])
    return dict(name=row.name, seconds=own, reference_seconds=other, ratio=own / other, giga_operations=row.operations / own * 1e-9,
                first_call_seconds=first[0], reference_first_call_seconds=first[1], error=float(error), right=bool(error <= row.tolerance))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="REGEX", default="", help="rows whose name it finds")
    parser.add_argument("--seconds", type=float, default=0.5, help="time to measure a row (default: %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    options = parser.parse_args()
    jax.config.update("jax_platforms", "kiln,cpu")
    jax.config.update("jax_enable_x64", True)
    devices = jax.devices("kiln")[0], jax.devices("cpu")[0]
    print(f"{'':28}{'kiln us':>10}{'XLA us':>10}{'ratio':>8}{'GOP/s':>8}{'first ms':>10}{'XLA':>7}")
    table = []
    for row in rows():
        if not re.search(options.only, row.name):
            continue
        try:
            r = measure(row, devices, options.seconds)
        except Exception as error:  # one row's failure leaves the others
            print(f"{row.name:28}{str(error)[:100]}", flush=True)
            continue
        table.append(r)
        print(f"{r['name']:28}{r['seconds'] * 1e6:10.0f}{r['reference_seconds'] * 1e6:10.0f}{r['ratio']:7.2f}x{r['giga_operations']:8.0f}"
              f"{r['first_call_seconds'] * 1e3:10.0f}{r['reference_first_call_seconds'] * 1e3:7.0f}"
              f"{'' if r['right'] else '   WRONG by %.2g' % r['error']}", flush=True)
    if table:
        print(f"geometric mean of {len(table)} ratios: {math.exp(sum(math.log(r['ratio']) for r in table) / len(table)):.3f}x")
    if options.json:
        Path(options.json).write_text(json.dumps(table, indent=2) + "\n")
    return 0 if all(r["right"] for r in table) else 1


if __name__ == "__main__":
    os.environ.setdefault("JAX_ENABLE_COMPILATION_CACHE", "0")
    raise SystemExit(main())
