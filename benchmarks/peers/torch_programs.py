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


def _transposed(x, w):
    return _channels_last(x), w.permute(2, 3, 0, 1).flip(2, 3).contiguous()


def _black_scholes(spot, strike, time, rate=0.02, volatility=0.3):
    root = volatility * time.sqrt()
    d1 = (torch.log(spot / strike) + (rate + volatility**2 / 2) * time) / root
    discounted = strike * torch.exp(-rate * time)
    call = spot * torch.special.ndtr(d1) - discounted * torch.special.ndtr(d1 - root)
    return call, call - spot + discounted


def _complex_step(a, b):
    z = torch.complex(a, b)
    return (z * z + torch.exp(1j * z)).abs()


def _normalized(x):
    return (x.float() / 255 - torch.tensor([0.485, 0.456, 0.406])) / torch.tensor([0.229, 0.224, 0.225])


def _interp(x, xp, fp):
    i = torch.searchsorted(xp, x).clamp(1, len(xp) - 1)
    return fp[i - 1] + (x - xp[i - 1]) / (xp[i] - xp[i - 1]) * (fp[i] - fp[i - 1])


def _lstm(x, w, u, b):
    zeros = torch.zeros(1, x.shape[1], u.shape[1])
    return torch.lstm(x, (zeros, zeros), [w, u, b, torch.zeros_like(b)], True, 1, 0.0, False, False, False)[0]


def _gru(x, w, u):
    return torch.gru(x, torch.zeros(1, x.shape[1], u.shape[1]), [w, u], False, 1, 0.0, False, False, False)[0]


def _reset_first(w):
    z, r, n = w.T.chunk(3)
    return torch.cat([r, z, n])


def _n_body_step(position, velocity, mass):
    delta = position[None] - position[:, None]
    inverse = torch.rsqrt(delta.square().sum(-1) + 1e-3) ** 3
    velocity = velocity + 1e-3 * (delta * (inverse * mass[None])[..., None]).sum(1)
    return position + 1e-3 * velocity, velocity


def _power_iteration(a, v):
    for _ in range(100):
        v = a @ v
        v = v / torch.linalg.norm(v)
    return v


def _sinkhorn(x, y):
    cost = torch.exp(-(x[:, None] - y[None]).square().sum(-1))
    u = torch.ones(len(x)) / len(x)
    for _ in range(50):
        u = 1 / (cost @ (1 / (cost.T @ u)))
    return u


def _lexsort(a, b):
    first = torch.argsort(a, stable=True)
    return first[torch.argsort(b[first], stable=True)]


def _gradient(function, argnums=0):
    return _plain(torch.func.grad(function, argnums))


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
    "memory/copy_16m": _plain(lambda x: x + 0.5),
    "memory/many_outputs": _plain(lambda x: (x + 1, x * 2, x - 3, x.abs())),
    "memory/int_to_float_16m": _plain(lambda x: x.float() * 0.1),
    "math/gelu_16m": _plain(lambda x: functional.gelu(x, approximate="tanh")),
    "math/pow_int_4m": _plain(lambda x: x**5),
    "math/lgamma_1m": _plain(torch.lgamma),
    "math/softplus_far_4m": _plain(functional.softplus),
    "math/gaussian_far_4m": _plain(lambda x: torch.exp(-x * x)),
    "math/int_div_4m": _plain(lambda x: x // 7 + x % 13),
    "math/black_scholes_1m": _plain(_black_scholes),
    "math/complex_mul_1m": _plain(_complex_step),
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
    "layout/transpose_small_batches": _plain(lambda x: x.transpose(1, 2).contiguous()),
    "layout/reverse_rows": _plain(lambda x: x.flip(1)),
    "layout/strided_slice": _plain(lambda x: x[::2, ::3].contiguous()),
    "layout/channels_last_rgb": _plain(lambda x: x.permute(0, 2, 3, 1).contiguous() * 2),
    "layout/transpose_narrow": _plain(lambda x: x.T.contiguous()),
    "layout/normalize_image": _plain(_normalized),
    "layout/scale_channels": _plain(lambda x, s: torch.addcmul(s, x, s)),
    "layout/cross_products": _plain(lambda a, b: torch.linalg.cross(a, b)),
    "layout/strided_slice_grad": _gradient(lambda x: x[:, ::2].square().sum()),
    "layout/scale_up_nchw": _plain(lambda x, y: functional.interpolate(x, scale_factor=2) + y),
    "layout/resize_nearest_nchw": _plain(lambda x: functional.interpolate(x, scale_factor=2)),
    "layout/alpha_blend": _plain(lambda a, b: torch.lerp(b, a[..., :3], a[..., 3:])),
    "indexing/embedding": _plain(lambda table, ids: functional.embedding(ids, table)),
    "indexing/gather_scalars_1m": _plain(lambda x, i: x[i]),
    "indexing/take_along_axis": _plain(lambda x, i: torch.gather(x, 1, i.long())),
    "indexing/scatter_add_1m": _plain(lambda x, i, u: x.index_add(0, i, u)),
    "indexing/embedding_grad": _gradient(lambda table, ids: functional.embedding(ids, table).square().sum()),
    "indexing/scatter_set_rows": _plain(lambda x, i, u: x.index_copy(0, i.long(), u)),
    "indexing/segment_sum": _plain(lambda x, i: torch.zeros(1000, 8).index_add_(0, i, x)),
    "indexing/one_hot_matmul": _plain(lambda i, w: functional.one_hot(i.long(), 1000).float() @ w),
    "indexing/boolean_mask_where": _plain(lambda x: torch.where(x > 0, x, x.flip(0))),
    "indexing/interp": _plain(_interp),
    "indexing/bilinear_resize": _pooling(lambda x: functional.interpolate(x, scale_factor=2, mode="bilinear")),
    "dispatch/scalar_add": _plain(torch.add),
    "dispatch/matmul_8x8": _plain(torch.matmul),
    "dispatch/arguments_20": _plain(lambda *xs: sum(xs)),
    "dispatch/results_20": _plain(lambda x: tuple(x + i for i in range(20))),
    "dispatch/vector_128": _plain(lambda x: torch.tanh(x) * 2 + 1),
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
    "reduce/any_16m": _plain(lambda x: torch.any(x > 6)),
    "reduce/argmax_narrow_rows": _plain(lambda x: x.argmax(1)),
    "reduce/argmin_columns": _plain(lambda x: x.argmin(0)),
    "reduce/bincount": _plain(lambda x: torch.bincount(x, minlength=64)),
    "norm/softmax_4096x1024": _plain(lambda x: torch.softmax(x, -1)),
    "norm/softmax_narrow": _plain(lambda x: torch.softmax(x, -1)),
    "norm/softmax_wide": _plain(lambda x: torch.softmax(x, -1)),
    "norm/log_softmax": _plain(lambda x: torch.log_softmax(x, -1)),
    "norm/layer_norm": _plain(lambda x, s, b: functional.layer_norm(x, (768,), s, b)),
    "norm/rms_norm": _plain(_rms_norm),
    "norm/layer_norm_grad": _gradient(lambda x, s, b: functional.layer_norm(x, (768,), s, b).square().sum(), (0, 1, 2)),
    "norm/batch_norm_nhwc": _pooling(lambda x: functional.batch_norm(x, None, None, training=True)),
    "norm/group_norm_nhwc": ((lambda x, s, b: (_channels_last(x), s, b)), lambda x, s, b: functional.group_norm(x, 32, s, b).permute(0, 2, 3, 1)),
    "losses/cross_entropy_1000": _plain(lambda x, y: functional.cross_entropy(x, y.long())),
    "losses/cross_entropy_50257": _plain(lambda x, y: functional.cross_entropy(x, y.long())),
    "losses/cross_entropy_grad": _gradient(lambda x, y: functional.cross_entropy(x, y.long())),
    "losses/huber": _plain(functional.huber_loss),
    "losses/binary_cross_entropy": _plain(_log_loss),
    "losses/pairwise_distance": _plain(lambda a, b: torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")),
    **{f"matmul/f32_{shape}": _plain(torch.matmul) for shape in (
        "8x8", "64x64x64", "256x256x256", "512x512x512", "1024x1024x1024", "2048x2048x2048", "128x4096x1024", "1000x300x17")},
    **{f"matmul/{name}": _plain(torch.matmul) for name in ("batched_64x64", "batched_3x3", "batched_8x8", "matvec_4096", "vecmat_4096", "dot_1m")},
    "matmul/transposed_1024": _plain(lambda a, b: a.T @ b),
    "matmul/einsum_bhqk": _plain(lambda q, k: torch.einsum("bqhd,bkhd->bhqk", q, k)),
    "matmul/bias_gelu": _plain(lambda x, w, b: functional.gelu(torch.addmm(b, x, w), approximate="tanh")),
    "matmul/mlp_3_layers": _plain(lambda x, a, b, c: functional.relu(functional.relu(x @ a) @ b) @ c),
    "low precision/bf16_1024": _plain(torch.matmul),
    "low precision/bf16_matvec_4096": _plain(torch.matmul),
    "low precision/f16_512": _plain(torch.matmul),
    "low precision/bf16_gelu_4m": _plain(lambda x: functional.gelu(x, approximate="tanh")),
    "low precision/bf16_softmax": _plain(lambda x: torch.softmax(x, -1)),
    "low precision/f16_silu_4m": _plain(functional.silu),
    "low precision/bf16_f32_out": _plain(lambda a, b: (a @ b).float()),
    "low precision/int8_1024": _plain(torch._int_mm),
    "low precision/int8_dequantized": _plain(lambda x, w, s: x @ (w.float() * s)),
    "low precision/f16_leaky_relu_4m": _plain(lambda x: functional.leaky_relu(x, 0.1)),
    "low precision/f16_max_pool": _pooling(lambda x: functional.max_pool2d(x, 2)),
    "low precision/bf16_erf_4m": _plain(torch.erf),
    "low precision/bf16_layer_norm": _plain(lambda x: functional.layer_norm(x, (768,))),
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
    "convolution/transposed_2x": (_transposed, lambda x, w: functional.conv_transpose2d(x, w, stride=2, padding=2, output_padding=1).permute(0, 2, 3, 1)),
    "convolution/conv1d_audio": (lambda x, w: (x.mT.contiguous(), w.permute(2, 1, 0).contiguous()),
        lambda x, w: functional.conv1d(functional.pad(x, (3, 4)), w, stride=2).mT),
    "convolution/conv3d": (lambda x, w: (x.permute(0, 4, 1, 2, 3).contiguous(memory_format=torch.channels_last_3d), w.permute(4, 3, 0, 1, 2).contiguous()),
        lambda x, w: functional.conv3d(x, w, padding=1).permute(0, 2, 3, 4, 1)),
    "convolution/weight_grad": (lambda x, w: (_channels_last(x), _oihw(w)),
        lambda x, w: torch.nn.grad.conv2d_weight(x, w.shape, 2 * functional.conv2d(x, w, padding=1), padding=1).permute(2, 3, 1, 0)),
    "convolution/input_grad": (lambda x, w: (_channels_last(x), _oihw(w)),
        lambda x, w: torch.nn.grad.conv2d_input(x.shape, w, 2 * functional.conv2d(x, w, padding=1), padding=1).permute(0, 2, 3, 1)),
    "pooling/max_3x3_s2": _pooling(lambda x: functional.max_pool2d(functional.pad(x, (0, 1, 0, 1), value=-math.inf), 3, 2)),
    "pooling/average_2x2": _pooling(lambda x: functional.avg_pool2d(x, 2)),
    "pooling/max_grad": _pooling(torch.func.grad(lambda x: functional.max_pool2d(x, 2).square().sum())),
    "pooling/global_average": _plain(lambda x: x.mean((1, 2))),
    **{f"attention/length_{length}": _attention() for length in (128, 512, 2048)},
    "attention/causal_512": _attention(causal=True),
    "attention/decode_cache": _attention(),
    "attention/grad_256": _gradient(lambda q, k, v: _attention()[1](q, k, v).sum(), (0, 1, 2)),
    "recurrent/lstm_128": (lambda x, w, u, b: (x, w.T.contiguous(), u.T.contiguous(), b), _lstm),
    "recurrent/lstm_128_batch_1": (lambda x, w, u, b: (x, w.T.contiguous(), u.T.contiguous(), b), _lstm),
    "recurrent/gru_64": (lambda x, w, u: (x, _reset_first(w), _reset_first(u)), _gru),
    "scan/cumsum_1m": _plain(lambda x: torch.cumsum(x, 0)),
    "scan/cumsum_rows": _plain(lambda x: torch.cumsum(x, 1)),
    "scan/cumsum_columns": _plain(lambda x: torch.cumsum(x, 0)),
    "scan/cumprod_rows": _plain(lambda x: torch.cumprod(x, 1)),
    "scan/cummax_1m": _plain(lambda x: torch.cummax(x, 0)[0]),
    "scan/cumlogsumexp_64k": _plain(lambda x: torch.logcumsumexp(x, 0)),
    "scan/associative_add_1m": _plain(lambda x: torch.cumsum(x, 0)),
    "scan/cumsum_reverse_int": _plain(lambda x: x.flip(0).cumsum(0, dtype=torch.int32).flip(0)),
    "sort/sort_1m": _plain(lambda x: torch.sort(x)[0]),
    "sort/sort_1k": _plain(lambda x: torch.sort(x)[0]),
    "sort/sort_rows_1024": _plain(lambda x: torch.sort(x, 1)[0]),
    "sort/argsort_1m": _plain(lambda x: torch.argsort(x, stable=True)),
    "sort/top_k_1m": _plain(lambda x: tuple(torch.topk(x, 100))),
    "sort/top_k_rows": _plain(lambda x: tuple(torch.topk(x, 10))),
    "sort/searchsorted": _plain(torch.searchsorted),
    "sort/sort_rows_32": _plain(lambda x: torch.sort(x, 1)[0]),
    "sort/sort_columns": _plain(lambda x: torch.sort(x, 0)[0]),
    "sort/sort_int_1m": _plain(lambda x: torch.sort(x)[0]),
    "sort/argsort_rows": _plain(lambda x: torch.argsort(x, 1, stable=True)),
    "sort/median_1m": _plain(lambda x: torch.quantile(x, 0.5)),
    "sort/quantile": _plain(lambda x: torch.quantile(x, torch.tensor([0.1, 0.5, 0.9]), 1)),
    "sort/lexsort": _plain(_lexsort),
    "linalg/cholesky_256": _plain(torch.linalg.cholesky),
    "linalg/cholesky_batched_16": _plain(torch.linalg.cholesky),
    "linalg/solve_3x3": _plain(lambda a, b: torch.linalg.solve(a, b[..., None])),
    "linalg/solve_35x35": _plain(lambda a, b: torch.linalg.solve(a, b[..., None])),
    "linalg/inverse_128": _plain(torch.linalg.inv),
    "linalg/determinant_batched": _plain(torch.linalg.det),
    "linalg/eigh_64": _plain(lambda x: torch.linalg.eigh(x)[0]),
    "linalg/svd_64": _plain(torch.linalg.svdvals),
    "linalg/expm_32": _plain(torch.linalg.matrix_exp),
    "linalg/triangular_solve_vector": _plain(lambda a, b: torch.linalg.solve_triangular(a.tril(), b[:, None], upper=False)[:, 0]),
    "linalg/qr_128": _plain(lambda a: torch.linalg.qr(a)[1].abs()),
    "linalg/power_iteration": _plain(_power_iteration),
    "fft/fft_4096_rows": _plain(lambda x: torch.fft.fft(x).abs()),
    "fft/rfft_2d": _plain(lambda x: torch.fft.rfft2(x).abs()),
    "fft/fft_prime": _plain(lambda x: torch.fft.fft(x).abs()),
    "simulation/n_body_1024": _plain(_n_body_step),
    "simulation/sinkhorn": _plain(_sinkhorn),
}  # fmt: skip


def tensor(array):
    """A tensor with the content of a numpy array, bfloat16 among its types."""
    import numpy as np

    array = np.asarray(array, order="C")
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def prepared(program):
    """(function, arguments) in torch's layout, without gradients."""
    torch.set_grad_enabled(False)
    prepare, function = PROGRAMS[program.name]
    _, arguments = program.build()
    return function, prepare(*[tensor(argument) for argument in arguments])
