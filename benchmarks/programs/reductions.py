"""Reductions, normalizations and losses."""

import jax
import jax.numpy as jnp

from . import add
from .inputs import integers, normal, uniform

add("reduce", "sum_16m", jnp.sum, normal(1 << 24))
add("reduce", "sum_rows", lambda x: x.sum(1), normal(4096, 1024))
add("reduce", "sum_columns", lambda x: x.sum(0), normal(4096, 1024))
add("reduce", "sum_middle", lambda x: x.sum(1), normal(64, 256, 512))
add("reduce", "mean_var_rows", lambda x: (x.mean(1), x.var(1)), normal(4096, 1024), tolerance=1e-3)
add("reduce", "max_16m", jnp.max, normal(1 << 24))
add("reduce", "min_max_columns", lambda x: (x.min(0), x.max(0)), normal(4096, 1024))
add("reduce", "max_columns_of_3000", lambda x: x.max(0), normal(8192, 3000))
add("reduce", "sum_columns_of_100", lambda x: x.sum(0), normal(1 << 17, 100), tolerance=1e-3)
add("reduce", "norm_4m", jnp.linalg.norm, normal(1 << 22))
add("reduce", "any_16m", lambda x: jnp.any(x > 6), normal(1 << 24))
add("reduce", "sum_small_rows", lambda x: x.sum(1), normal(1 << 18, 8))
add("reduce", "max_narrow_rows", lambda x: x.max(1), normal(1 << 17, 10))
add("reduce", "argmax_narrow_rows", lambda x: x.argmax(1), normal(1 << 17, 10))
add("reduce", "argmax_rows", lambda x: x.argmax(1), normal(4096, 1024))
add("reduce", "argmax_1m", jnp.argmax, normal(1 << 20))
add("reduce", "argmin_columns", lambda x: x.argmin(0), normal(1024, 4096))
add("reduce", "logsumexp_rows", lambda x: jax.nn.logsumexp(x, axis=1), normal(4096, 1024))
add("reduce", "bincount", lambda x: jnp.bincount(x, length=64), integers(1 << 18, high=64))

add("norm", "softmax_4096x1024", jax.nn.softmax, normal(4096, 1024))
add("norm", "softmax_narrow", jax.nn.softmax, normal(1 << 17, 10))
add("norm", "softmax_wide", jax.nn.softmax, normal(64, 50257))
add("norm", "log_softmax", jax.nn.log_softmax, normal(1024, 1000))


def layer_norm(x, scale, bias):
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * scale + bias


def rms_norm(x, scale):
    return x * jax.lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-6) * scale


add("norm", "layer_norm", layer_norm, normal(4096, 768), normal(768, seed=1), normal(768, seed=2))
add("norm", "layer_norm_grad", jax.grad(lambda x, s, b: (layer_norm(x, s, b) ** 2).sum(), (0, 1, 2)), normal(4096, 768), normal(768, seed=1),
    normal(768, seed=2), tolerance=1e-3)  # fmt: skip
add("norm", "rms_norm", rms_norm, normal(4096, 768), normal(768, seed=1))
add("norm", "batch_norm_nhwc", lambda x: (x - x.mean((0, 1, 2))) * jax.lax.rsqrt(x.var((0, 1, 2)) + 1e-5), normal(16, 28, 28, 128), tolerance=1e-3)
add("norm", "standardize_columns", lambda x: (x - x.mean(0)) / (x.std(0) + 1e-6), normal(32768, 200), tolerance=1e-3)


def norm_channels(x):
    return (x - x.mean(1, keepdims=True)) * jax.lax.rsqrt(x.var(1, keepdims=True) + 1e-5)


add("norm", "layer_norm_channels", norm_channels, normal(8, 64, 32, 32), tolerance=1e-3)
add("norm", "log_softmax_channels", lambda x: jax.nn.log_softmax(x, 1), normal(8, 64, 32, 32))


def group_norm(x, scale, bias, groups=32):
    grouped = x.reshape(*x.shape[:-1], groups, -1)
    variance = grouped.var((1, 2, 4), keepdims=True)
    return ((grouped - grouped.mean((1, 2, 4), keepdims=True)) * jax.lax.rsqrt(variance + 1e-5)).reshape(x.shape) * scale + bias


add("norm", "group_norm_nhwc", group_norm, normal(2, 32, 32, 320), normal(320, seed=1), normal(320, seed=2), tolerance=1e-3)


def cross_entropy(logits, labels):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()


add("losses", "cross_entropy_1000", cross_entropy, normal(1024, 1000), integers(1024, high=1000))
add("losses", "cross_entropy_50257", cross_entropy, normal(256, 50257), integers(256, high=50257))
add("losses", "cross_entropy_grad", jax.grad(cross_entropy), normal(256, 50257), integers(256, high=50257))
add("losses", "huber", lambda p, y: jnp.where(abs(p - y) < 1, 0.5 * (p - y) ** 2, abs(p - y) - 0.5).mean(), normal(1 << 22), normal(1 << 22, seed=1))
add("losses", "binary_cross_entropy", lambda p, y: -(y * jnp.log(p) + (1 - y) * jnp.log1p(-p)).mean(), uniform(1 << 22, low=0.01, high=0.99),
    uniform(1 << 22, seed=1))  # fmt: skip
add("losses", "pairwise_distance", lambda a, b: jnp.sqrt(((a[:, None] - b[None]) ** 2).sum(-1)), normal(512, 64), normal(512, 64, seed=1))
