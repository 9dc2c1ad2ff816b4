"""Programs in torch, as somebody would write them who knows it: the library's own functions, weights in its own layout."""

import math

import torch
import torch.nn.functional as functional


def _plain(function):
    return (lambda *arguments: arguments), function


def _channels_last(x):
    return x.permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last)


def _oihw(w):
    return w.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)


def _convolution(stride=1, padding=1, groups=1, dilation=1):
    # Arrays stand ready in torch's layout, as in a program written for it.
    def prepare(x, w):
        return _channels_last(x), _oihw(w)

    def apply(x, w):
        if padding == "same":  # as XLA pads even kernels and strides
            x = functional.pad(x, (2, 3, 2, 3))
        y = functional.conv2d(x, w, stride=stride, padding=0 if padding == "same" else padding, groups=groups, dilation=dilation)
        return y.permute(0, 2, 3, 1)

    return prepare, apply


def _convolution_nchw(padding=1, groups=1):
    return _plain(lambda x, w: functional.conv2d(x, w, padding=padding, groups=groups))


def _bias_relu():
    def prepare(x, w, b):
        return _channels_last(x), _oihw(w), b

    return prepare, lambda x, w, b: functional.relu(functional.conv2d(x, w, b, padding=1)).permute(0, 2, 3, 1)


def _pooling(function):
    return (lambda x: (_channels_last(x),)), lambda x: function(x).permute(0, 2, 3, 1)


def _attention(causal=False):
    def apply(q, k, v):
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        return functional.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2)

    return _plain(apply)


def _rms_norm(x, scale):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * scale


def _log_loss(p, y):
    return -(y * torch.log(p) + (1 - y) * torch.log1p(-p)).mean()


def _patchify(x):
    return x.reshape(16, 14, 16, 14, 16, 3).permute(0, 1, 3, 2, 4, 5).reshape(16, 196, 768)


_ELEMENTWISE = {
    "log": torch.log, "sin": torch.sin, "cos": torch.cos, "tan": torch.tan, "tanh": torch.tanh, "expm1": torch.expm1, "log1p": torch.log1p,
    "sqrt": torch.sqrt, "arcsin": torch.arcsin, "arctan": torch.arctan, "sinh": torch.sinh, "floor": torch.floor, "erf": torch.erf, "erfinv": torch.erfinv,
    "rsqrt": torch.rsqrt, "sigmoid": torch.sigmoid, "silu": functional.silu, "softplus": functional.softplus, "pow": torch.pow, "mod": torch.remainder,
    "atan2": torch.atan2,
}  # fmt: skip

# By name: what brings the arguments into torch's layout, once, and the program.
PROGRAMS = {
    **{f"math/{name}_4m": _plain(function) for name, function in _ELEMENTWISE.items()},
    **{f"memory/add_{size}": _plain(torch.add) for size in ("16m", "256k", "1k")},
    **{f"memory/exp_{size}": _plain(torch.exp) for size in ("16m", "256k", "1k")},
    "memory/axpy_chain_16m": _plain(lambda x, y: 2.0 * x + y * (x - 3.0) - torch.maximum(x, y)),
    "memory/where_16m": _plain(lambda x, y: torch.where(x > y, x, 2 * y)),
    "memory/outer_4096": _plain(torch.outer),
    "memory/convert_bf16_16m": _plain(lambda x: x.to(torch.bfloat16)),
    "math/gelu_16m": _plain(lambda x: functional.gelu(x, approximate="tanh")),
    "layout/transpose_4096": _plain(lambda x: x.T.contiguous()),
    "layout/nchw_to_nhwc": _plain(lambda x: x.permute(0, 2, 3, 1).contiguous()),
    "layout/nhwc_to_nchw": _plain(lambda x: x.permute(0, 3, 1, 2).contiguous()),
    "layout/heads_split": _plain(lambda x: x.reshape(8, 512, 12, 64).transpose(1, 2).contiguous()),
    "layout/patchify": _plain(_patchify),
    "layout/concatenate_rows": _plain(lambda a, b: torch.cat([a, b])),
    "layout/concatenate_columns": _plain(lambda a, b, c: torch.cat([a, b, c], 1)),
    "layout/stack_last": _plain(lambda a, b: torch.stack([a, b], -1)),
    "layout/pad_2d": _plain(lambda x: functional.pad(x, (3, 3, 3, 3))),
    "layout/roll": _plain(lambda x: torch.roll(x, 17, 1)),
    "layout/tile": _plain(lambda x: x.repeat(4, 4)),
    "layout/transpose_add": _plain(lambda x: x + x.T),
    "layout/tril": _plain(torch.tril),
    "indexing/embedding": _plain(lambda table, ids: functional.embedding(ids, table)),
    "indexing/gather_scalars_1m": _plain(lambda x, i: x[i]),
    "indexing/take_along_axis": _plain(lambda x, i: torch.gather(x, 1, i.long())),
    "indexing/scatter_add_1m": _plain(lambda x, i, u: x.index_add(0, i, u)),
    "reduce/sum_16m": _plain(torch.sum),
    "reduce/sum_rows": _plain(lambda x: x.sum(1)),
    "reduce/sum_columns": _plain(lambda x: x.sum(0)),
    "reduce/sum_middle": _plain(lambda x: x.sum(1)),
    "reduce/mean_var_rows": _plain(lambda x: torch.var_mean(x, 1, correction=0)[::-1]),
    "reduce/max_16m": _plain(torch.max),
    "reduce/min_max_columns": _plain(lambda x: (x.amin(0), x.amax(0))),
    "reduce/norm_4m": _plain(torch.linalg.norm),
    "reduce/sum_small_rows": _plain(lambda x: x.sum(1)),
    "reduce/max_narrow_rows": _plain(lambda x: x.amax(1)),
    "reduce/argmax_rows": _plain(lambda x: x.argmax(1)),
    "reduce/argmax_1m": _plain(torch.argmax),
    "reduce/logsumexp_rows": _plain(lambda x: torch.logsumexp(x, 1)),
    "norm/softmax_4096x1024": _plain(lambda x: torch.softmax(x, -1)),
    "norm/softmax_narrow": _plain(lambda x: torch.softmax(x, -1)),
    "norm/softmax_wide": _plain(lambda x: torch.softmax(x, -1)),
    "norm/log_softmax": _plain(lambda x: torch.log_softmax(x, -1)),
    "norm/layer_norm": _plain(lambda x, s, b: functional.layer_norm(x, (768,), s, b)),
    "norm/rms_norm": _plain(_rms_norm),
    "losses/cross_entropy_1000": _plain(lambda x, y: functional.cross_entropy(x, y.long())),
    "losses/cross_entropy_50257": _plain(lambda x, y: functional.cross_entropy(x, y.long())),
    "losses/huber": _plain(functional.huber_loss),
    "losses/binary_cross_entropy": _plain(_log_loss),
    "losses/pairwise_distance": _plain(lambda a, b: torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")),
    **{f"matmul/f32_{shape}": _plain(torch.matmul) for shape in (
        "8x8", "64x64x64", "256x256x256", "512x512x512", "1024x1024x1024", "2048x2048x2048", "128x4096x1024", "1000x300x17")},
    **{f"matmul/{name}": _plain(torch.matmul) for name in ("batched_64x64", "batched_3x3", "batched_8x8", "matvec_4096", "vecmat_4096", "dot_1m")},
    "matmul/transposed_1024": _plain(lambda a, b: a.T @ b),
    "matmul/bias_gelu": _plain(lambda x, w, b: functional.gelu(torch.addmm(b, x, w), approximate="tanh")),
    "matmul/mlp_3_layers": _plain(lambda x, a, b, c: functional.relu(functional.relu(x @ a) @ b) @ c),
    "low precision/bf16_1024": _plain(torch.matmul),
    "low precision/bf16_matvec_4096": _plain(torch.matmul),
    "low precision/f16_512": _plain(torch.matmul),
    "low precision/bf16_gelu_4m": _plain(lambda x: functional.gelu(x, approximate="tanh")),
    "low precision/bf16_softmax": _plain(lambda x: torch.softmax(x, -1)),
    "low precision/f16_silu_4m": _plain(functional.silu),
    **{f"convolution/resnet_3x3_{name}": _convolution() for name in ("56", "28", "14", "7", "batch_8")},
    "convolution/resnet_stem": _convolution(2, "same"),
    "convolution/resnet_1x1": _convolution(padding=0),
    "convolution/resnet_1x1_stride_2": _convolution(2, 0),
    "convolution/nchw_3x3": _convolution_nchw(),
    "convolution/nchw_batch_8": _convolution_nchw(),
    "convolution/depthwise_112": _convolution(groups=32),
    "convolution/depthwise_14_nhwc": _convolution(groups=512),
    "convolution/depthwise_nchw": _convolution_nchw(groups=128),
    "convolution/grouped_32": _convolution(groups=32),
    "convolution/dilated": _convolution(padding=2, dilation=2),
    "convolution/bias_relu": _bias_relu(),
    "convolution/bf16_3x3": _convolution(),
    "convolution/image_blur": _convolution_nchw(padding=0),
    "pooling/max_3x3_s2": _pooling(lambda x: functional.max_pool2d(functional.pad(x, (0, 1, 0, 1), value=-math.inf), 3, 2)),
    "pooling/average_2x2": _pooling(lambda x: functional.avg_pool2d(x, 2)),
    "pooling/global_average": _plain(lambda x: x.mean((1, 2))),
    **{f"attention/length_{length}": _attention() for length in (128, 512, 2048)},
    "attention/causal_512": _attention(causal=True),
    "attention/decode_cache": _attention(),
    "scan/cumsum_1m": _plain(lambda x: torch.cumsum(x, 0)),
    "scan/cumsum_rows": _plain(lambda x: torch.cumsum(x, 1)),
    "scan/cumsum_columns": _plain(lambda x: torch.cumsum(x, 0)),
    "scan/cumprod_rows": _plain(lambda x: torch.cumprod(x, 1)),
    "scan/cummax_1m": _plain(lambda x: torch.cummax(x, 0)[0]),
    "sort/sort_1m": _plain(lambda x: torch.sort(x)[0]),
    "sort/sort_1k": _plain(lambda x: torch.sort(x)[0]),
    "sort/sort_rows_1024": _plain(lambda x: torch.sort(x, 1)[0]),
    "sort/argsort_1m": _plain(torch.argsort),
    "sort/top_k_1m": _plain(lambda x: tuple(torch.topk(x, 100))),
    "sort/top_k_rows": _plain(lambda x: tuple(torch.topk(x, 10))),
    "sort/searchsorted": _plain(torch.searchsorted),
    "linalg/cholesky_256": _plain(torch.linalg.cholesky),
    "linalg/cholesky_batched_16": _plain(torch.linalg.cholesky),
    "linalg/solve_3x3": _plain(lambda a, b: torch.linalg.solve(a, b[..., None])),
    "linalg/solve_35x35": _plain(lambda a, b: torch.linalg.solve(a, b[..., None])),
    "linalg/inverse_128": _plain(torch.linalg.inv),
    "linalg/determinant_batched": _plain(torch.linalg.det),
    "linalg/eigh_64": _plain(torch.linalg.eigvalsh),
    "linalg/svd_64": _plain(torch.linalg.svdvals),
    "linalg/expm_32": _plain(torch.linalg.matrix_exp),
    "fft/fft_4096_rows": _plain(lambda x: torch.fft.fft(x).abs()),
    "fft/rfft_2d": _plain(lambda x: torch.fft.rfft2(x).abs()),
    "fft/fft_prime": _plain(lambda x: torch.fft.fft(x).abs()),
}  # fmt: skip


def tensor(array):
    """A tensor with the content of a numpy array, bfloat16 among its types."""
    import numpy as np

    array = np.ascontiguousarray(array)
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def prepared(program):
    """(function, arguments) in torch's layout, without gradients."""
    torch.set_grad_enabled(False)
    prepare, function = PROGRAMS[program.name]
    _, arguments = program.build()
    return function, prepare(*[tensor(argument) for argument in arguments])
