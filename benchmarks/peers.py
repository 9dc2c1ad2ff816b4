"""Programs written for other libraries, where such a library is installed: numpy and torch (eager)."""

import functools
import importlib.util

import jax
import numpy as np

_NUMPY = {
    "memory/add_16m": np.add,
    "memory/exp_16m": np.exp,
    "memory/add_256k": np.add,
    "matmul/f32_1024x1024x1024": np.matmul,
    "matmul/matvec_4096": np.matmul,
    "matmul/batched_64x64": np.matmul,
    "reduce/sum_16m": np.sum,
    "reduce/max_16m": np.max,
    "reduce/argmax_1m": np.argmax,
    "reduce/sum_rows": lambda x: x.sum(1),
    "reduce/sum_columns": lambda x: x.sum(0),
    "scan/cumsum_1m": np.cumsum,
    "scan/cumsum_rows": lambda x: np.cumsum(x, 1),
    "scan/cummax_1m": np.maximum.accumulate,
    "sort/sort_1m": np.sort,
    "sort/sort_rows_1024": lambda x: np.sort(x, 1),
    "sort/argsort_1m": np.argsort,
    "sort/median_1m": np.median,
    "layout/transpose_4096": lambda x: np.ascontiguousarray(x.T),
    "layout/nchw_to_nhwc": lambda x: np.ascontiguousarray(x.transpose(0, 2, 3, 1)),
    "layout/concatenate_rows": lambda a, b: np.concatenate([a, b]),
    "indexing/embedding": lambda table, ids: table[ids],
    "linalg/solve_3x3": lambda a, b: np.linalg.solve(a, b[..., None]),
    "linalg/cholesky_256": np.linalg.cholesky,
    "fft/fft_4096_rows": lambda x: np.abs(np.fft.fft(x)),
}


@functools.cache
def _torch_programs():
    import torch
    import torch.nn.functional as functional

    def nhwc(x):
        return x.permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last)

    def convolution(stride=1, padding=1, groups=1):
        # The weights come as HWIO, torch wants OIHW; both stand ready, as in a program written for torch.
        def prepare(x, w, *rest):
            return (nhwc(x), w.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last), *rest)

        return prepare, lambda x, w: functional.conv2d(x, w, stride=stride, padding=padding, groups=groups)

    def attention(q, k, v):
        return functional.scaled_dot_product_attention(*(t.transpose(1, 2) for t in (q, k, v))).transpose(1, 2)

    def plain(function):
        return (lambda *arguments: arguments), function

    return {
        "memory/add_16m": plain(torch.add),
        "memory/exp_16m": plain(torch.exp),
        "math/gelu_16m": plain(lambda x: functional.gelu(x, approximate="tanh")),
        "math/sin_4m": plain(torch.sin),
        "math/atan2_4m": plain(torch.atan2),
        "norm/softmax_4096x1024": plain(lambda x: torch.softmax(x, -1)),
        "norm/layer_norm": plain(lambda x, s, b: functional.layer_norm(x, (768,), s, b)),
        "losses/cross_entropy_50257": plain(lambda x, y: functional.cross_entropy(x, y.long())),
        "matmul/f32_1024x1024x1024": plain(torch.matmul),
        "matmul/bias_gelu": plain(lambda x, w, b: functional.gelu(torch.addmm(b, x, w), approximate="tanh")),
        "low precision/bf16_1024": plain(torch.matmul),
        "low precision/bf16_matvec_4096": plain(torch.matmul),
        "sort/sort_1m": plain(lambda x: torch.sort(x)[0]),
        "sort/top_k_rows": plain(lambda x: torch.topk(x, 10)),
        "scan/cumsum_1m": plain(lambda x: torch.cumsum(x, 0)),
        **{f"convolution/resnet_3x3_{size}": convolution() for size in (56, 28, 14, 7)},
        "convolution/resnet_stem": convolution(2, 3),
        "convolution/depthwise_112": convolution(groups=32),
        "convolution/depthwise_14_nhwc": convolution(groups=512),
        "convolution/grouped_32": convolution(groups=32),
        **{f"attention/length_{length}": plain(attention) for length in (128, 512, 2048)},
    }


def available():
    """Names of the peers that are installed."""
    return [name for name in ("numpy", "torch") if importlib.util.find_spec(name)]


def covers(engine, name):
    """Whether the program is written for that peer."""
    return name in (_NUMPY if engine == "numpy" else _torch_programs())


def build(engine, program):
    """(function, arguments, seconds of compilation: none)."""
    _, arguments = program.build()
    if engine == "numpy":
        return _NUMPY[program.name], jax.tree.map(np.asarray, arguments), []
    import torch

    torch.set_grad_enabled(False)

    def tensor(array):
        array = np.ascontiguousarray(array)
        if array.dtype.name == "bfloat16":
            return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(array)

    prepare, function = _torch_programs()[program.name]
    return function, prepare(*[tensor(argument) for argument in arguments]), []


def to_numpy(result):
    """An array of a peer's result; numpy has no bfloat16 of torch's."""
    return np.asarray(result.float() if str(getattr(result, "dtype", "")) == "torch.bfloat16" else result)
