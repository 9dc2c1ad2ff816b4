"""Attention and its variants."""

import jax
import jax.numpy as jnp
from jax.nn import softmax

from . import family

add, both = family(__name__)


def attend(q, k, v, bias=0.0):
    return softmax(q @ k.mT * q.shape[-1] ** -0.5 + bias) @ v


def causal(q, k, v):
    return attend(q, k, v, jnp.where(jnp.tri(q.shape[-2], k.shape[-2], dtype=bool), 0.0, -jnp.inf))


def split(x, heads):
    return x.reshape(*x.shape[:-1], heads, -1).swapaxes(-2, -3)


def join(x):
    return x.swapaxes(-2, -3).reshape(*x.shape[:-3], x.shape[-2], -1)


def self_attention(x, wqkv, wo, heads=8):
    return x + join(causal(*(split(part, heads) for part in jnp.split(x @ wqkv, 3, -1)))) @ wo


def rotary(x):
    angles = jnp.arange(x.shape[-2])[:, None] * 10000.0 ** -jnp.linspace(0, 1, x.shape[-1] // 2)
    a, b = jnp.split(x, 2, -1)
    return jnp.concatenate([a * jnp.cos(angles) - b * jnp.sin(angles), a * jnp.sin(angles) + b * jnp.cos(angles)], -1)


def alibi(q, k, v):
    distance = jnp.abs(jnp.arange(q.shape[-2])[:, None] - jnp.arange(k.shape[-2]))
    return attend(q, k, v, -distance * 2.0 ** -jnp.arange(1.0, q.shape[-3] + 1)[:, None, None])


def window(q, k, v, size=32):
    near = jnp.abs(jnp.arange(q.shape[-2])[:, None] - jnp.arange(k.shape[-2])) < size
    return attend(q, k, v, jnp.where(near, 0.0, -1e9))


def blocks(q, k, v, size=64):
    parts = [x.reshape(*x.shape[:-2], -1, size, x.shape[-1]) for x in (q, k, v)]
    near = [jnp.concatenate([jnp.roll(x, 1, -3), x], -2) for x in parts[1:]]
    return attend(parts[0], *near).reshape(q.shape)


def linear(q, k, v):
    q, k = jax.nn.elu(q) + 1, jax.nn.elu(k) + 1
    return q @ (k.mT @ v) / (q @ k.sum(-2, keepdims=True).mT)


def causal_linear(q, k, v):
    return (jnp.tril(q @ k.mT)) @ v


def retention(q, k, v, decay=0.97):
    steps = jnp.arange(q.shape[-2])[:, None] - jnp.arange(q.shape[-2])
    return (q @ k.mT * jnp.where(steps >= 0, decay ** jnp.abs(steps), 0.0)) @ v


def performer(q, k, v, w):
    q, k = (jnp.exp(x @ w - jnp.square(x).sum(-1, keepdims=True) / 2) for x in (q, k))
    return q @ (k.mT @ v) / (q @ k.sum(-2)[..., None] + 1e-6)


def grouped(q, k, v):
    return causal(q, *(jnp.repeat(x, q.shape[1] // x.shape[1], 1) for x in (k, v)))


def latent(x, down, up_k, up_v, wq):
    c = x @ down
    return join(causal(split(x @ wq, 8), split(c @ up_k, 8), split(c @ up_v, 8)))


def online(q, k, v, size=64):
    def step(state, block):
        top, total, out = state
        scores = q @ block[0].mT
        new = jnp.maximum(top, scores.max(-1, keepdims=True))
        weights, scale = jnp.exp(scores - new), jnp.exp(top - new)
        return (new, total * scale + weights.sum(-1, keepdims=True), out * scale + weights @ block[1]), None

    start = jnp.full((*q.shape[:-1], 1), -jnp.inf), jnp.zeros((*q.shape[:-1], 1)), jnp.zeros_like(q)
    pieces = [jnp.moveaxis(x.reshape(*x.shape[:-2], -1, size, x.shape[-1]), -3, 0) for x in (k, v)]
    (_, total, out), _ = jax.lax.scan(step, start, pieces)
    return out / total


def relative(q, k, v, table):
    place = jnp.arange(q.shape[-2])[:, None] - jnp.arange(k.shape[-2]) + q.shape[-2] - 1
    return attend(q, k, v, jnp.einsum("bhid,ijd->bhij", q, table[place]))


def sinks(q, k, v, sink):
    scores = q @ k.mT
    every = jnp.concatenate([scores, jnp.broadcast_to(sink[:, None, None], (*scores.shape[:-1], 1))], -1)
    return softmax(every)[..., :-1] @ v


def decode(q, keys, values, k, v, at):
    keys, values = (jax.lax.dynamic_update_slice_in_dim(c, x, at, 2) for c, x in ((keys, k), (values, v)))
    return attend(q, keys, values, jnp.where(jnp.arange(keys.shape[2]) <= at, 0.0, -jnp.inf)), keys, values


def axial(x, wqkv):
    for axis in (1, 2):
        y = jnp.moveaxis(x, axis, -2)
        x = x + jnp.moveaxis(attend(*jnp.split(y @ wqkv, 3, -1)), -2, axis)
    return x


def swin(x, wqkv, size=8):
    b, h, w, c = x.shape
    y = jnp.roll(x, (-4, -4), (1, 2)).reshape(b, h // size, size, w // size, size, c).swapaxes(2, 3).reshape(-1, size * size, c)
    y = attend(*(split(part, 4) for part in jnp.split(y @ wqkv, 3, -1)))
    return x + jnp.roll(join(y).reshape(b, h // size, w // size, size, size, c).swapaxes(2, 3).reshape(x.shape), (4, 4), (1, 2))


QKV = ("2x8x256x64",) * 3
both("plain", attend, *QKV)
both("causal", causal, *QKV)
both("long", causal, *("1x4x1024x64",) * 3)
both("self", self_attention, "4x256x512", "512x1536", "512x512")
both("rotary", lambda q, k, v: causal(rotary(q), rotary(k), v), *QKV)
both("alibi", alibi, *QKV)
both("window", window, *QKV)
both("blocks", blocks, *QKV)
both("linear", linear, *QKV)
both("causal_linear", causal_linear, *QKV)
both("retention", retention, *QKV)
both("performer", performer, *QKV, "64x128")
both("grouped", grouped, "2x8x256x64", "2x2x256x64", "2x2x256x64")
both("latent", latent, "4x128x512", "512x128", "128x512", "128x512", "512x512")
both("online", online, *QKV)
both("relative", relative, "1x4x128x32", "1x4x128x32", "1x4x128x32", "255x32")
both("sinks", sinks, *QKV, "8")
both("talking_heads", lambda q, k, v, w: jnp.einsum("bhij,hg->bgij", softmax(jnp.einsum("bhij,hg->bgij", q @ k.mT, w)), w) @ v, *QKV, "8x8")
both("cross", lambda x, c, wq, wkv: join(attend(split(x @ wq, 8), *(split(p, 8) for p in jnp.split(c @ wkv, 2, -1)))), "4x128x256", "4x77x768", "256x256", "768x512")
both("axial", axial, "2x32x32x64", "64x192")
both("swin", swin, "2x64x64x96", "96x288")
both("additive", lambda q, k, v, w: softmax(jnp.tanh(q[:, :, None] + k[:, None]) @ w) @ v, "4x64x64", "4x64x64", "4x64x64", "64")
both("half", lambda q, k, v: causal(q, k, v).astype(jnp.bfloat16), *("bf16:2x8x256x64",) * 3)
both("pooled", lambda q, k, v: attend(q, k.reshape(2, 8, 64, 4, 64).mean(3), v.reshape(2, 8, 64, 4, 64).mean(3)), *QKV)
both("query_norm", lambda q, k, v: causal(*(x * jax.lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-6) for x in (q, k)), v), *QKV)
both("sigmoid", lambda q, k, v: jax.nn.sigmoid(q @ k.mT - jnp.log(256.0)) @ v, *QKV)
both("jax_nn", lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True), *("2x256x8x64",) * 3)
add("decode", decode, "4x8x1x64", "4x8x1024x64", "4x8x1024x64", "4x8x1x64", "4x8x1x64", "s32:", donate_argnums=(1, 2))
