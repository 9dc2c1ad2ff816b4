"""Recurrent networks, state-space models, convolutions over time, decoding of tokens."""

import jax
import jax.numpy as jnp
from jax import lax

from . import family

add, both = family(__name__)


def over_time(step, state, xs):
    return lax.scan(step, state, xs)[1]


def rnn(x, w, u):
    step = lambda h, x: (lambda n: (n, n))(jnp.tanh(x @ w + h @ u))
    return over_time(step, jnp.zeros((x.shape[1], u.shape[0])), x)


def lstm(x, w, u):
    def step(state, x):
        h, c = state
        i, f, g, o = jnp.split(x @ w + h @ u, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zeros = jnp.zeros((x.shape[1], u.shape[0]))
    return over_time(step, (zeros, zeros), x)


def gru(x, w, u):
    def step(h, x):
        a, b = x @ w, h @ u
        z, r = (jax.nn.sigmoid(p + q) for p, q in zip(jnp.split(a, 3, -1)[:2], jnp.split(b, 3, -1)[:2]))
        h = (1 - z) * h + z * jnp.tanh(jnp.split(a, 3, -1)[2] + r * jnp.split(b, 3, -1)[2])
        return h, h

    return over_time(step, jnp.zeros((x.shape[1], u.shape[0])), x)


def linear_recurrence(a, b):
    return lax.associative_scan(lambda l, r: (l[0] * r[0], l[1] * r[0] + r[1]), (a, b))[1]


def lru(x, nu, theta, b, c):
    decay = jnp.exp(-jnp.exp(nu) + 1j * theta)
    u = x.astype(jnp.complex64) @ b
    h = linear_recurrence(jnp.broadcast_to(decay, u.shape), u * jnp.sqrt(1 - jnp.abs(decay) ** 2))
    return (h @ c).real


def lru_scan(x, nu, theta, b, c):
    decay = jnp.exp(-jnp.exp(nu) + 1j * theta)
    _, h = lax.scan(lambda h, u: (lambda n: (n, n))(decay * h + u), jnp.zeros(len(nu), jnp.complex64), x @ b)
    return (h @ c).real


def selective(x, a, wd, wb, wc):
    delta = jax.nn.softplus(x @ wd)
    decay = jnp.exp(-delta[..., None] * jnp.exp(a))
    inputs = (delta * x)[..., None] * (x @ wb)[:, None, :]
    h = linear_recurrence(decay, inputs)
    return jnp.einsum("tdn,tn->td", h, x @ wc)


def selective_scan(x, a, wd, wb, wc):
    def step(h, x):
        delta = jax.nn.softplus(x @ wd)
        h = jnp.exp(-delta[:, None] * jnp.exp(a)) * h + (delta * x)[:, None] * (x @ wb)
        return h, h @ (x @ wc)

    return lax.scan(step, jnp.zeros(a.shape), x)[1]


def s4(x, a, b, c, n=1024):
    kernel = jnp.einsum("dn,dnt->dt", c * b, jnp.exp(-jnp.exp(a)[..., None] * jnp.arange(n))).T
    size = 2 * n
    return jnp.fft.irfft(jnp.fft.rfft(x, size, 0) * jnp.fft.rfft(kernel, size, 0)[:, None], size, 0)[:n]


def rwkv(k, v, w):
    def step(state, kv):
        num, den = state
        k, v = jnp.exp(kv[0]), kv[1]
        return (jnp.exp(-w) * num + k * v, jnp.exp(-w) * den + k), (num + k * v) / (den + k)

    return lax.scan(step, (jnp.zeros(v.shape[1:]), jnp.zeros(v.shape[1:])), (k, v))[1]


def delta_rule(q, k, v, beta):
    def step(s, inputs):
        q, k, v, b = inputs
        s = s + jnp.einsum("hk,hv->hkv", k, b[:, None] * (v - jnp.einsum("hkv,hk->hv", s, k)))
        return s, jnp.einsum("hkv,hk->hv", s, q)

    return lax.scan(step, jnp.zeros((k.shape[1], k.shape[2], v.shape[2])), (q, k, v, beta))[1]


def minimal_gru(x, wz, wh):
    z = jax.nn.sigmoid(x @ wz)
    return linear_recurrence(1 - z, z * (x @ wh))


def viterbi(emissions, transitions):
    def forward(score, e):
        every = score[:, None] + transitions
        return every.max(0) + e, every.argmax(0)

    score, back = lax.scan(forward, emissions[0], emissions[1:])
    return lax.scan(lambda s, b: (b[s], s), score.argmax(), back, reverse=True)


def hmm(emissions, transitions):
    step = lambda a, e: ((lambda n: (n, n))(jax.nn.logsumexp(a[:, None] + transitions, 0) + e))
    return jax.nn.logsumexp(lax.scan(step, emissions[0], emissions[1:])[0])


def crf(emissions, transitions, tags):
    gold = jnp.take_along_axis(emissions, tags[:, None], 1).sum() + transitions[tags[:-1], tags[1:]].sum()
    return hmm(emissions, transitions) - gold


def ctc(logits, labels):
    logp = jax.nn.log_softmax(logits)
    extended = jnp.zeros(2 * len(labels) + 1, jnp.int32).at[1::2].set(labels)
    skip = jnp.where((extended != 0) & (extended != jnp.roll(extended, 2)), 0.0, -1e9)

    def step(alpha, lp):
        one = jnp.concatenate([jnp.full(1, -1e9), alpha[:-1]])
        two = jnp.concatenate([jnp.full(2, -1e9), alpha[:-2]]) + skip
        return jnp.logaddexp(jnp.logaddexp(alpha, one), two) + lp[extended], None

    return -lax.scan(step, jnp.full(len(extended), -1e9).at[0].set(0.0), logp)[0][-2:].sum()


def beam(scores, logits, sequences, at):
    b, k, v = logits.shape
    total = scores[..., None] + jax.nn.log_softmax(logits)
    best, index = lax.top_k(total.reshape(b, -1), k)
    sequences = jnp.take_along_axis(sequences, (index // v)[..., None], 1)
    return best, sequences.at[:, :, at].set(index % v)


def nucleus(logits, key, p=0.9):
    ordered = jnp.sort(jax.nn.softmax(logits), -1)[:, ::-1]
    cut = jnp.take_along_axis(ordered, (jnp.cumsum(ordered, -1) < p).sum(-1, keepdims=True), -1)
    masked = jnp.where(jax.nn.softmax(logits) >= cut, logits, -jnp.inf)
    return jax.random.categorical(jax.random.wrap_key_data(key), masked)


def top_k_sample(logits, key):
    values, index = lax.top_k(logits, 50)
    return jnp.take_along_axis(index, jax.random.categorical(jax.random.wrap_key_data(key), values)[:, None], 1)


def reservoir(x, w, u, readout):
    return rnn(x, w, u) @ readout


def edit_distance(a, b):
    def row(previous, c):
        costs = jnp.minimum(previous[1:] + 1, previous[:-1] + (b != c))
        new = lax.scan(lambda left, cost: (lambda n: (n, n))(jnp.minimum(left + 1, cost)), previous[0] + 1, costs)[1]
        return jnp.concatenate([previous[:1] + 1, new]), None

    return lax.scan(row, jnp.arange(len(b) + 1), a)[0][-1]


def repetition(logits, tokens):
    seen = jax.vmap(lambda l, t: l.at[t].set(jnp.where(l[t] > 0, l[t] / 1.2, l[t] * 1.2)))(logits, tokens)
    return seen.argmax(-1)


both("rnn", rnn, "128x32x64", "64x128", "128x128")
both("lstm", lstm, "128x32x64", "64x512", "128x512")
both("gru", gru, "128x32x64", "64x384", "128x384")
both("bidirectional", lambda x, w, u, v, y: jnp.concatenate([rnn(x, w, u), rnn(x[::-1], v, y)[::-1]], -1), "128x32x64", "64x128", "128x128", "64x128", "128x128")
both("linear_recurrence", linear_recurrence, "1024x256", "1024x256")
both("lru", lru, "1024x64", "128", "128", "c64:64x128", "c64:128x64")
both("lru_scan", lru_scan, "1024x64", "128", "128", "c64:64x128", "c64:128x64")
both("selective", selective, "512x128", "128x16", "128x128", "128x16", "128x16")
both("selective_scan", selective_scan, "512x128", "128x16", "128x128", "128x16", "128x16")
both("s4", s4, "1024x8x64", "64x16", "64x16", "64x16")
both("rwkv", rwkv, "512x8x256", "512x8x256", "256")
both("delta_rule", delta_rule, "256x4x32", "256x4x32", "256x4x32", "256x4")
both("minimal_gru", minimal_gru, "1024x128", "128x128", "128x128")
both("hmm", hmm, "512x128", "128x128")
both("crf", crf, "512x64", "64x64", "s32:512")
both("ctc", ctc, "512x64", "s32:64")
both("reservoir", reservoir, "512x16x32", "32x256", "256x256", "256x32")
both("token_shift", lambda x, m, w: (x * m + jnp.pad(x, ((0, 0), (1, 0), (0, 0)))[:, :-1] * (1 - m)) @ w, "4x512x256", "256", "256x256")
both("embed", lambda e, p, t: e[t] + p, "8192x256", "256x256", "s32:8x256")
both("decay_sum", lambda x: lax.scan(lambda c, x: ((lambda n: (n, n))(0.9 * c + x)), jnp.zeros(x.shape[1:]), x)[1], "1024x1024")
add("viterbi", viterbi, "512x128", "128x128")
add("beam", beam, "8x8", "8x8x8192", "s32:8x8x64", "s32:")
add("nucleus", nucleus, "32x32768", "u32:2")
add("top_k_sample", top_k_sample, "32x32768", "u32:2")
add("edit_distance", edit_distance, "s32:512", "s32:512")
add("repetition", repetition, "16x32768", "s32:16x256")
add("speculative", lambda p, q, t, u: (lambda r: jnp.cumprod(u < r, -1).sum(-1))(jnp.take_along_axis(p, t[..., None], -1)[..., 0] / jnp.take_along_axis(q, t[..., None], -1)[..., 0]), "16x4x32768", "16x4x32768", "s32:16x4", "16x4")
add("min_p", lambda x, k: jax.random.categorical(jax.random.wrap_key_data(k), jnp.where(jax.nn.softmax(x) > 0.05 * jax.nn.softmax(x).max(-1, keepdims=True), x, -jnp.inf)), "32x32768", "u32:2")
