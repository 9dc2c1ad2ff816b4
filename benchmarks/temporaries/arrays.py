"""Sorts, searches, sums along axes, indexing and movement of arrays."""

import jax
import jax.numpy as jnp
from jax import lax

from . import family

add, both = family(__name__)


def kmeans(x, c):
    d = jnp.square(x).sum(1)[:, None] - 2 * x @ c.T + jnp.square(c).sum(1)
    o = jax.nn.one_hot(d.argmin(1), len(c))
    return o.T @ x / jnp.maximum(o.sum(0), 1)[:, None]


def knn(x, y, labels):
    d = jnp.square(x[:, None] - y).sum(-1)
    return jax.nn.one_hot(labels[lax.top_k(-d, 5)[1]], 10).sum(1).argmax(1)


def knn_dots(x, y):
    return lax.top_k(2 * x @ y.T - jnp.square(y).sum(1), 10)


def ranks(x):
    return jnp.argsort(jnp.argsort(x, -1), -1)


def sort_by(x, *more):
    return lax.sort((x, *more), num_keys=1)


def unique(x):
    y = jnp.sort(x)
    new = jnp.concatenate([jnp.ones(1, bool), y[1:] != y[:-1]])
    return jnp.where(new, y, -1), new.sum()


def pack(x, mask):
    return jnp.zeros_like(x).at[jnp.where(mask, jnp.cumsum(mask) - 1, len(x))].set(x, mode="drop")


def quantiles(x):
    return jnp.quantile(x, jnp.array([0.1, 0.5, 0.9]), axis=0)


def rolling(x, n=32):
    c = jnp.cumsum(jnp.pad(x, ((n, 0), (0, 0))), 0)
    m = (c[n:] - c[:-n]) / n
    q = jnp.cumsum(jnp.pad(x * x, ((n, 0), (0, 0))), 0)
    return m, (q[n:] - q[:-n]) / n - m * m


def black_scholes(s, k, t, v):
    d = (jnp.log(s / k) + v * v / 2 * t) / (v * jnp.sqrt(t))
    n = jax.scipy.stats.norm.cdf
    return s * n(d) - k * n(d - v * jnp.sqrt(t))


def simplex(x):
    u = jnp.sort(x, -1)[:, ::-1]
    c = jnp.cumsum(u, -1) - 1
    k = (u > c / jnp.arange(1, x.shape[1] + 1)).sum(-1)
    return jnp.maximum(x - jnp.take_along_axis(c, k[:, None] - 1, -1) / k[:, None], 0)


def softsort(x):
    return jax.nn.softmax(-jnp.abs(jnp.sort(x)[:, :, None] - x[:, None]) / 0.1) @ x[..., None]


def tree_gather(f, t, l, r, v, x):
    step = lambda _, i: jnp.where(jnp.take_along_axis(x, f[i], 1) < t[i], l[i], r[i])
    return v[lax.fori_loop(0, 8, step, jnp.zeros((len(x), 64), jnp.int32))].sum(1)


M, K = "1024x1024", "1000000"
add("kmeans", kmeans, "8192x32", "64x32")
add("knn", knn, "512x16", "1024x16", "s32:1024")
add("knn_dots", knn_dots, "512x64", "4096x64")
add("sort", jnp.sort, K)
add("sort_rows", jnp.sort, M)
add("sort_columns", lambda x: jnp.sort(x, 0), M)
add("argsort", jnp.argsort, K)
add("argsort_rows", jnp.argsort, M)
add("sort_by", sort_by, "s32:262144", "262144", "262144")
add("ranks", ranks, "256x4096")
add("unique", unique, f"s32:{K}")
add("top_k", lambda x: lax.top_k(x, 64), "128x8192")
add("top_k_all", lambda x: lax.top_k(x, 1024), K)
add("quantiles", quantiles, "4096x256")
add("median", lambda x: jnp.median(x, -1), M)
add("mode", lambda x: jnp.zeros((len(x), 256)).at[jnp.arange(len(x))[:, None], x].add(1).argmax(1), "s32:512x1024")
add("lexsort", lambda a, b: jnp.lexsort((a, b)), "s32:262144", "s32:262144")
add("pack", pack, K, f"pred:{K}")
add("histogram", lambda x: jnp.histogram(x, 100, (0, 1))[0], K)
add("histogram2d", lambda x, y: jnp.zeros((256, 256)).at[(x * 256).astype(int), (y * 256).astype(int)].add(1), "262144", "262144")
add("bincount", lambda x, w: jnp.bincount(x, w, length=1000), f"s32:{K}", K)
add("searchsorted", lambda x, y: jnp.searchsorted(x, y), "65536", K)
add("interp", lambda x, a, b: jnp.interp(x, a, b), K, "1000", "1000")
add("digitize", lambda x, b: jnp.digitize(x, b), K, "64")
add("cumsum", lambda x: jnp.cumsum(x), K)
add("cumsum_rows", lambda x: jnp.cumsum(x, 1) / jnp.arange(1, 1025), M)
add("cumsum_columns", lambda x: jnp.cumsum(x, 0), M)
add("cumulative", lambda x: (jnp.cumprod(x, 1), lax.cummax(x, axis=1), lax.cumlogsumexp(x, axis=1)), "512x1024")
add("rolling", rolling, "16384x32")
add("rolling_max", lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (64, 1), (1, 1), "SAME"), "16384x32")
add("drawdown", lambda x: (lambda p: (p / lax.cummax(p, axis=0) - 1).min(0))(jnp.cumprod(1 + x, 0)), "4096x256")
add("covariance", lambda x: jnp.cov(x, rowvar=False), "8192x256")
add("correlation", lambda x: jnp.corrcoef(x, rowvar=False), "4096x256")
add("zscore_columns", lambda x: (x - x.mean(0)) / x.std(0), "65536x32")
add("moments", lambda x: [jnp.power(x - x.mean(), k).mean() for k in (2, 3, 4)], K)
add("logsumexp_all", lambda x: jax.nn.logsumexp(x), M)
add("welford", lambda x: lax.scan(lambda s, x: ((s[0] + 1, s[1] + (x - s[1]) / (s[0] + 1), s[2] + (x - s[1]) ** 2), None), (0.0, jnp.zeros(x.shape[1]), jnp.zeros(x.shape[1])), x)[0], "1024x1024")
add("transpose_chain", lambda x: (x.transpose(2, 0, 1) + 1).transpose(1, 0, 2) * 2, "64x256x64")
add("concatenate", lambda *x: jnp.concatenate([a * i for i, a in enumerate(x)], 0), *("256x1024",) * 4)
add("stack_last", lambda x, y, z: jnp.stack([x + y, y * z, z - x], -1), *("512x1024",) * 3)
add("pad", lambda x: jnp.pad(x, ((3, 5), (7, 9)), mode="reflect"), M)
add("tile", lambda x: jnp.tile(x, (4, 4)) + 1, "256x256")
add("flip_roll", lambda x: jnp.roll(x[::-1], 17, 1) + x, M)
add("outer", lambda x, y: jnp.outer(jnp.exp(x), y).sum(0), "4096", "1024")
add("gather_rows", lambda x, i: x[i] * 2, "16384x128", "s32:8192")
add("scatter_rows", lambda x, i, u: x.at[i].set(u), "16384x128", "s32:4096", "4096x128")
add("scatter_donated", lambda x, i, u: x.at[i].add(u), "16384x128", "s32:4096", "4096x128", donate_argnums=0)
add("update_slice", lambda x, u, i: lax.dynamic_update_slice(x, u * 2, (i, 0)), M, "64x1024", "s32:")
add("where_chain", lambda x: jnp.select([x < -1, x < 0, x < 1], [x * 2, jnp.exp(x), jnp.sin(x)], jnp.log(x)), M)
add("black_scholes", black_scholes, *("262144",) * 4)
add("mandelbrot", lambda c: lax.fori_loop(0, 30, lambda _, s: (lambda z: (z, s[1] + (jnp.abs(z) < 2)))(jnp.where(jnp.abs(s[0]) < 2, s[0] * s[0] + c, s[0])), (jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int32)))[1], "c64:512x512")
add("tree_ensemble", tree_gather, "s32:256", "256", "s32:256", "s32:256", "256", "4096x32")
add("bits", lambda x: lax.population_count(x ^ (x >> 1)).sum(-1), "u32:4096x256")
add("hash", lambda x: ((x * jnp.uint32(2654435761)) ^ (x >> 15)) % 1024, "u32:1000000")
add("bf16_sum", lambda x: (x * x).sum(-1), "bf16:4096x1024")
add("to_bytes", lambda x: jnp.clip(jnp.round(x * 255), 0, 255).astype(jnp.uint8), "2048x1024")
add("conditional", lambda p, x: lax.cond(p, lambda x: jnp.sort(x, -1), lambda x: x @ x, x), "pred:", "512x512")
add("switch", lambda i, x: lax.switch(i, [jnp.sin, lambda x: x @ x, lambda x: x.T + 1, lambda x: jnp.cumsum(x, 0)], x), "s32:", "512x512")
add("while", lambda x: lax.while_loop(lambda s: s[1] < 100, lambda s: (jnp.cos(s[0]) @ s[0], s[1] + jnp.abs(s[0]).max()), (x, 0.0)), "256x256")
add("stacked_scan", lambda x: lax.scan(lambda c, _: (jnp.sin(c), c * 2), x, None, length=16)[1], "256x256")
add("map", lambda x: lax.map(lambda r: jnp.outer(r, r).sum(0), x), "64x512")
add("map_batched", lambda x: lax.map(lambda r: jnp.outer(r, r).max(0), x, batch_size=16), "256x256")
both("simplex", simplex, "1024x256")
both("softsort", softsort, "32x128")
both("logsumexp", lambda x: jax.nn.logsumexp(x, -1), M)
both("softmax", lambda x: jax.nn.softmax(x, -1), M)
both("softmax_columns", lambda x: jax.nn.softmax(x, 0), M)
both("sparsemax_attention", lambda q, k, v: simplex(q @ k.T) @ v, *("256x64",) * 3)
both("gelu_chain", lambda x: jax.nn.gelu(jnp.tanh(jax.nn.gelu(x) + x) * x), M)
both("cumsum_gradient", lambda x: jnp.log(jnp.cumsum(jnp.exp(x), -1)), M)
both("cumprod_gradient", lambda x: jnp.cumprod(1 - jax.nn.sigmoid(x), -1), M)
both("sorted_loss", lambda x, y: jnp.abs(jnp.sort(x, -1) - jnp.sort(y, -1)), "256x1024", "256x1024")
both("max_both", lambda x: x.max(0) - x.min(1), M)
both("norms", lambda x: x / jnp.linalg.norm(x, axis=0) + x / jnp.linalg.norm(x, axis=1, keepdims=True), M)
