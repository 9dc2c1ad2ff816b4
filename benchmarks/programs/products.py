"""Matrix products: large, skinny, batched, in every precision."""

import jax
import jax.numpy as jnp

from . import add
from .inputs import integers, normal

for _m, _k, _n in ((64, 64, 64), (256, 256, 256), (1024, 1024, 1024), (2048, 2048, 2048), (128, 4096, 1024), (1000, 300, 17)):
    add("matmul", f"f32_{_m}x{_k}x{_n}", jnp.matmul, normal(_m, _k), normal(_k, _n, seed=1), tolerance=1e-3)
add("matmul", "f32_8x8", jnp.matmul, normal(8, 8), normal(8, 8, seed=1))
add("matmul", "f32_512x512x512", jnp.matmul, normal(512, 512), normal(512, 512, seed=1))
add("matmul", "transposed_1024", lambda a, b: a.T @ b, normal(1024, 1024), normal(1024, 1024, seed=1), tolerance=1e-3)
add("matmul", "bias_gelu", lambda x, w, b: jax.nn.gelu(x @ w + b), normal(512, 768, scale=0.1), normal(768, 3072, scale=0.1), normal(3072), tolerance=1e-3)
add("matmul", "batched_64x64", jnp.matmul, normal(256, 64, 64), normal(256, 64, 64, seed=1))
add("matmul", "batched_3x3", jnp.matmul, normal(100000, 3, 3), normal(100000, 3, 3, seed=1))
add("matmul", "batched_8x8", jnp.matmul, normal(10000, 8, 8), normal(10000, 8, 8, seed=1))
add("matmul", "matvec_4096", jnp.matmul, normal(4096, 4096), normal(4096, seed=1), tolerance=1e-3)
add("matmul", "vecmat_4096", jnp.matmul, normal(4096, seed=1), normal(4096, 4096), tolerance=1e-3)
add("matmul", "dot_1m", jnp.dot, normal(1 << 20), normal(1 << 20, seed=1), tolerance=1e-2)
add("matmul", "einsum_bhqk", lambda q, k: jnp.einsum("bqhd,bkhd->bhqk", q, k), normal(4, 128, 12, 64), normal(4, 128, 12, 64, seed=1), tolerance=1e-3)
add("matmul", "mlp_3_layers", lambda x, a, b, c: jax.nn.relu(jax.nn.relu(x @ a) @ b) @ c, normal(128, 784), normal(784, 512, scale=0.05),
    normal(512, 512, scale=0.05), normal(512, 10, scale=0.05), tolerance=1e-3)  # fmt: skip

add("low precision", "bf16_1024", jnp.matmul, normal(1024, 1024, type="bf16"), normal(1024, 1024, type="bf16", seed=1), tolerance=2e-2)
add("low precision", "bf16_f32_out", lambda a, b: jnp.matmul(a, b, preferred_element_type=jnp.float32), normal(512, 1024, type="bf16"),
    normal(1024, 512, type="bf16", seed=1), tolerance=2e-2)  # fmt: skip
add("low precision", "bf16_transposed_512", lambda a, b: a.T @ b, normal(512, 512, type="bf16"), normal(512, 512, type="bf16", seed=1), tolerance=2e-2)
add("low precision", "f16_transposed_1024", lambda a, b: a.T @ b, normal(1024, 1024, type="f16"), normal(1024, 1024, type="f16", seed=1), tolerance=1e-2)
add("low precision", "bf16_matvec_4096", jnp.matmul, normal(4096, 4096, type="bf16"), normal(4096, type="bf16", seed=1), tolerance=2e-2)
add("low precision", "f16_512", jnp.matmul, normal(512, 512, type="f16"), normal(512, 512, type="f16", seed=1), tolerance=1e-2)
add("low precision", "int8_1024", lambda a, b: jax.lax.dot(a, b, preferred_element_type=jnp.int32), integers(1024, 1024, low=-127, type="s8"),
    integers(1024, 1024, low=-127, type="s8", seed=1))  # fmt: skip
add("low precision", "int8_dequantized", lambda x, w, s: x @ (w.astype(jnp.float32) * s), normal(16, 2048), integers(2048, 2048, low=-127, type="s8"),
    normal(2048, scale=0.01), tolerance=1e-3)  # fmt: skip
add("low precision", "f16_silu_4m", jax.nn.silu, normal(1 << 22, type="f16"), tolerance=1e-2)
add("low precision", "f16_leaky_relu_4m", lambda x: jnp.where(x > 0, x, x * 0.1), normal(1 << 22, type="f16"), tolerance=1e-2)
add("low precision", "f16_max_pool", lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
    normal(16, 56, 56, 64, type="f16"))  # fmt: skip
add("low precision", "bf16_erf_4m", jax.lax.erf, normal(1 << 22, type="bf16"), tolerance=1e-2)
add("low precision", "bf16_gelu_4m", jax.nn.gelu, normal(1 << 22, type="bf16"), tolerance=2e-2)
add("low precision", "bf16_softmax", jax.nn.softmax, normal(1024, 1024, type="bf16"), tolerance=2e-2)
add("low precision", "bf16_layer_norm", lambda x: (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5),
    normal(1024, 768, type="bf16"), tolerance=3e-2)  # fmt: skip


def rescale(x):
    low, high = x.min(1, keepdims=True), x.max(1, keepdims=True)
    return (x - low) / (high - low + 1e-3)


add("low precision", "bf16_rescale", rescale, normal(256, 128, 64, type="bf16"), tolerance=2e-2)


def attention(q, k, v, causal=False):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5
    if causal:
        length = q.shape[1]
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)


for _length, _batch in ((128, 4), (512, 2), (2048, 1)):
    _qkv = [normal(_batch, _length, 8, 64, seed=i) for i in range(3)]
    add("attention", f"length_{_length}", attention, *_qkv, tolerance=1e-3)
add("attention", "causal_512", lambda q, k, v: attention(q, k, v, True), *[normal(2, 512, 8, 64, seed=i) for i in range(3)], tolerance=1e-3)
add("attention", "grad_256", jax.grad(lambda q, k, v: attention(q, k, v).sum(), (0, 1, 2)), *[normal(2, 256, 8, 64, seed=i) for i in range(3)],
    tolerance=1e-3)  # fmt: skip
add("attention", "decode_cache", attention, normal(8, 1, 12, 64), normal(8, 1024, 12, 64, seed=1), normal(8, 1024, 12, 64, seed=2), tolerance=1e-3)
