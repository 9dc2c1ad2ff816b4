"""Networks on graphs and sums over segments."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.ops import segment_max, segment_sum

from . import family

add, both = family(__name__)


N = 2048


def gcn(x, w, v, src, dst):
    degree = segment_sum(jnp.ones(len(dst)), dst, N) + 1
    norm = lax.rsqrt(degree[src] * degree[dst])[:, None]
    layer = lambda x: segment_sum(x[src] * norm, dst, N)
    return layer(jax.nn.relu(layer(x @ w)) @ v)


def gat(x, w, a, b, src, dst):
    h = (x @ w).reshape(N, 4, -1)
    e = jax.nn.leaky_relu((h * a).sum(-1)[src] + (h * b).sum(-1)[dst])
    e = jnp.exp(e - segment_max(e, dst, N)[dst])
    return (segment_sum(e[..., None] * h[src], dst, N) / (segment_sum(e, dst, N)[..., None] + 1e-9)).reshape(N, -1)


def sage(x, w, v, src, dst):
    mean = segment_sum(x[src], dst, N) / jnp.maximum(segment_sum(jnp.ones(len(dst)), dst, N), 1)[:, None]
    return jax.nn.relu(x @ w + mean @ v)


def message(x, e, we, wn, src, dst):
    m = jax.nn.silu(jnp.concatenate([x[src], x[dst], e], -1) @ we)
    return x + jax.nn.silu(jnp.concatenate([x, segment_sum(m, dst, N)], -1) @ wn)


def egnn(h, x, we, wx, src, dst):
    d = x[src] - x[dst]
    m = jax.nn.silu(jnp.concatenate([h[src], h[dst], jnp.square(d).sum(-1, keepdims=True)], -1) @ we)
    return segment_sum(m, dst, N), x + segment_sum(d * jnp.tanh(m @ wx), dst, N)


def schnet(x, w, v, positions, src, dst):
    d = jnp.sqrt(jnp.square(positions[src] - positions[dst]).sum(-1, keepdims=True) + 1e-6)
    f = jax.nn.softplus(jnp.exp(-10 * jnp.square(d - jnp.linspace(0, 5, 32))) @ w) @ v
    return segment_sum(x[src] * f, dst, N)


def dense_gat(x, w, a, b, adjacency):
    h = x @ w
    e = jax.nn.leaky_relu((h @ a)[:, None] + h @ b)
    return jax.nn.softmax(jnp.where(adjacency > 0, e, -1e9)) @ h


def dense_gcn(x, w, a):
    d = lax.rsqrt(a.sum(1) + 1)
    return jax.nn.relu((a * d[:, None] * d) @ x @ w)


def chebyshev(x, l, w):
    a, b = x, l @ x
    out = a @ w[0] + b @ w[1]
    for k in range(2, 4):
        a, b = b, 2 * l @ b - a
        out = out + b @ w[k]
    return out


def pagerank(src, dst):
    degree = jnp.maximum(segment_sum(jnp.ones(len(src)), src, N), 1)
    return lax.fori_loop(0, 20, lambda _, r: 0.15 / N + 0.85 * segment_sum((r / degree)[src], dst, N), jnp.full(N, 1 / N))


def floyd(d):
    return lax.fori_loop(0, len(d), lambda k, d: jnp.minimum(d, d[:, k, None] + d[k]), d)


def labels(src, dst):
    return lax.fori_loop(0, 20, lambda _, l: jnp.minimum(l, jnp.full(N, N).at[dst].min(l[src])), jnp.arange(N))


def triplets(h, t, e, r):
    return -jnp.abs(e[h] + r[h % 64] - e[t]).sum(-1)


def pooled(x, batch, w):
    return jnp.concatenate([segment_sum(x, batch, 64), segment_max(x, batch, 64)], -1) @ w


def knn_graph(x):
    d = jnp.square(x[:, None] - x).sum(-1)
    return lax.top_k(-d, 8)[1]


def edge_conv(x, w):
    n = x[knn_graph(x)]
    return jax.nn.relu(jnp.concatenate([jnp.broadcast_to(x[:, None], n.shape), n - x[:, None]], -1) @ w).max(1)


def point_net(x, a, b, c):
    return jax.nn.relu(jax.nn.relu(x @ a) @ b).max(1) @ c


E = ("s32:16384", "s32:16384")
both("gcn", gcn, "2048x64", "64x128", "128x64", *E)
both("gat", gat, "2048x64", "64x128", "4x32", "4x32", *E)
both("sage", sage, "2048x64", "64x128", "64x128", *E)
both("message", message, "2048x64", "16384x16", "144x64", "128x64", *E)
both("egnn", egnn, "2048x64", "2048x3", "129x64", "64x1", *E)
both("schnet", schnet, "2048x64", "32x64", "64x64", "2048x3", *E)
both("dense_gat", dense_gat, "512x128", "128x64", "64", "64", "512x512")
both("dense_gcn", dense_gcn, "512x128", "128x64", "512x512")
both("chebyshev", chebyshev, "512x64", "512x512", "4x64x64")
both("triplets", triplets, "s32:4096", "s32:4096", "2048x64", "64x64")
both("pooled", pooled, "4096x64", "s32:4096", "128x64")
both("edge_conv", edge_conv, "512x16", "32x64")
both("point_net", point_net, "16x1024x3", "3x64", "64x256", "256x10")
both("segment_softmax", lambda x, s: (lambda e: e / segment_sum(e, s, N)[s])(jnp.exp(x - segment_max(x, s, N)[s])), "65536", "s32:65536")
both("segment_variance", lambda x, s: (lambda n, m: segment_sum(jnp.square(x - (m / n)[s]), s, N) / n)(segment_sum(jnp.ones_like(x), s, N) + 1, segment_sum(x, s, N)), "16384x16", "s32:16384")
add("pagerank", pagerank, *E)
add("floyd", floyd, "256x256")
add("labels", labels, *E)
add("knn_graph", knn_graph, "512x3")
add("triangles", lambda a: jnp.trace(a @ a @ a) / 6, "512x512")
add("adjacency", lambda s, d: jnp.zeros((N, N)).at[s, d].set(1), *E)
add("modularity", lambda a, s: (lambda k, o: jnp.trace(o.T @ (a - jnp.outer(k, k) / k.sum()) @ o))(a.sum(0), jax.nn.one_hot(s, 16)), "1024x1024", "s32:1024")
