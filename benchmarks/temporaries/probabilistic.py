"""Samplers, densities and generative models."""

import jax
import jax.numpy as jnp
from jax import lax, random

from . import family
from .networks import mlp

add, both = family(__name__)


def key(k, *more):
    return random.split(random.wrap_key_data(k), *more)


def log_density(w, x, y):
    return -jnp.logaddexp(0, -y * (x @ w)).sum() - jnp.square(w).sum() / 2


def hmc(w, x, y, k):
    f = lambda w: log_density(w, x, y)
    a, b = key(k)
    p = random.normal(a, w.shape)

    def leap(_, s):
        q = s[0] + 0.01 * (s[1] + 0.005 * jax.grad(f)(s[0]))
        return q, s[1] + 0.005 * (jax.grad(f)(s[0]) + jax.grad(f)(q))

    q, r = lax.fori_loop(0, 10, leap, (w, p))
    accept = jnp.log(random.uniform(b)) < f(q) - jnp.square(r).sum() / 2 - f(w) + jnp.square(p).sum() / 2
    return jnp.where(accept, q, w)


def chains(w, x, y, k):
    return jax.vmap(lambda w, k: hmc(w, x, y, k))(w, k)


def langevin(x, params, k):
    f = lambda x: mlp(x, *params, act=jnp.tanh).sum()
    step = lambda x, k: (x + 0.01 * jax.grad(f)(x) + 0.1 * random.normal(random.wrap_key_data(k), x.shape), None)
    return lax.scan(step, x, k)[0]


def resample(weights, u):
    c = jnp.cumsum(weights)
    return jnp.searchsorted(c / c[-1], (jnp.arange(len(weights)) + u) / len(weights))


def particle_filter(x, z, k):
    def step(x, zk):
        a, b = random.split(random.wrap_key_data(zk[1]))
        x = 0.9 * x + 0.1 * jnp.sin(x) + 0.1 * random.normal(a, x.shape)
        w = jax.nn.softmax(-jnp.square(zk[0] - x).sum(-1) * 5)
        return x[resample(w, random.uniform(b))], (w[:, None] * x).sum(0)

    return lax.scan(step, x, (z, k))[1]


def mixture(x, m, s, w):
    logp = -jnp.square((x[:, None] - m) / jnp.exp(s)).sum(-1) / 2 - s.sum(-1) + jax.nn.log_softmax(w)
    return -jax.nn.logsumexp(logp, 1).mean()


def em(x, m, s, w):
    logp = -jnp.square(x[:, None] - m).sum(-1) / (2 * s) - jnp.log(s) + jnp.log(w)
    r = jax.nn.softmax(logp)
    n = r.sum(0)
    m = r.T @ x / n[:, None]
    return m, (r * jnp.square(x[:, None] - m).sum(-1)).sum(0) / n, n / len(x)


def mixture_density(x, y, *params):
    m, s, w = jnp.split(mlp(x, *params, act=jnp.tanh), 3, -1)
    return -jax.nn.logsumexp(jax.nn.log_softmax(w) - s - jnp.square((y - m) * jnp.exp(-s)) / 2, -1).mean()


def vae(params, x, noise):
    a, b, c, d = params
    m, s = jnp.split(jax.nn.relu(x @ a) @ b, 2, -1)
    y = jax.nn.relu((m + jnp.exp(s) * noise) @ c) @ d
    nll = jnp.maximum(y, 0) - y * x + jnp.log1p(jnp.exp(-jnp.abs(y)))
    return (nll.sum(1) + (jnp.square(m) + jnp.exp(2 * s) - 1 - 2 * s).sum(1) / 2).mean()


def iwae(params, x, noise):
    a, b, c, d = params
    m, s = jnp.split(jax.nn.relu(x @ a) @ b, 2, -1)
    z = m + jnp.exp(s) * noise
    y = jax.nn.relu(z @ c) @ d
    logw = -(jax.nn.softplus(y) - y * x).sum(-1) - jnp.square(z).sum(-1) / 2 + jnp.square(noise).sum(-1) / 2 + s.sum(-1)
    return -(jax.nn.logsumexp(logw, 0) - jnp.log(len(noise))).mean()


def vqvae(x, e, a, b):
    z = x @ a
    i = (jnp.square(z).sum(1)[:, None] - 2 * z @ e.T + jnp.square(e).sum(1)).argmin(1)
    q = e[i]
    y = (z + lax.stop_gradient(q - z)) @ b
    return jnp.square(y - x).mean() + jnp.square(lax.stop_gradient(z) - q).mean() + 0.25 * jnp.square(z - lax.stop_gradient(q)).mean()


def coupling(x, layers):
    total = 0.0
    for i, (a, b) in enumerate(layers):
        u, v = jnp.split(x, 2, -1)
        s, t = jnp.split(jnp.tanh(u @ a) @ b, 2, -1)
        v = v * jnp.exp(jnp.tanh(s)) + t
        x, total = jnp.concatenate([v, u], -1), total + jnp.tanh(s).sum(-1)
    return (jnp.square(x).sum(-1) / 2 - total).mean()


def spline(x, w, h, d):
    w, h = (jnp.cumsum(jax.nn.softmax(z), -1) for z in (w, h))
    d = jax.nn.softplus(d)
    i = (x[..., None] > w).sum(-1, keepdims=True).clip(0, w.shape[-1] - 2)
    at = lambda z, j: jnp.take_along_axis(z, j, -1)[..., 0]
    t = (x - at(w, i)) / (at(w, i + 1) - at(w, i))
    s = (at(h, i + 1) - at(h, i)) / (at(w, i + 1) - at(w, i))
    return at(h, i) + (at(h, i + 1) - at(h, i)) * (s * t * t + at(d, i) * t * (1 - t)) / (s + (at(d, i + 1) + at(d, i) - 2 * s) * t * (1 - t))


def diffusion(params, x, t, noise):
    a = jnp.cos(t * jnp.pi / 2)[:, None]
    y = jnp.concatenate([a * x + jnp.sqrt(1 - a * a) * noise, t[:, None]], -1)
    return jnp.square(mlp(y, *params, act=jax.nn.silu) - noise).mean()


def ddim(x, params):
    def step(x, t):
        e = mlp(jnp.concatenate([x, jnp.full((len(x), 1), t)], -1), *params, act=jax.nn.silu)
        return (x - jnp.sqrt(t) * e) / jnp.sqrt(1 - t + 1e-3), None

    return lax.scan(step, x, jnp.linspace(0.99, 0.01, 20))[0]


def svgd(x, w, y):
    g = jax.vmap(jax.grad(log_density), (0, None, None))(x, w, y)
    d = x[:, None] - x
    k = jnp.exp(-jnp.square(d).sum(-1) / 2)
    return x + 0.01 * (k @ g + (k[..., None] * d).sum(1)) / len(x)


def tempering(x, k):
    def step(x, k):
        a, b = random.split(random.wrap_key_data(k))
        y = x + 0.1 * random.normal(a, x.shape)
        e = lambda x: jnp.square(x * x - 1).sum(-1)
        return jnp.where((jnp.log(random.uniform(b, x.shape[:-1])) < e(x) - e(y))[..., None], y, x), None

    return lax.scan(step, x, k)[0]


def lda(x, topics, theta):
    def step(_, t):
        phi = t[:, :, None] * topics
        return ((phi / (phi.sum(1, keepdims=True) + 1e-9)) * x[:, None]).sum(-1) + 0.1

    return lax.fori_loop(0, 5, step, theta)


def rbm(v, w, k):
    keys = key(k)
    h = random.bernoulli(keys[0], jax.nn.sigmoid(v @ w)).astype(v.dtype)
    u = jax.nn.sigmoid(h @ w.T)
    return w + 0.01 * (v.T @ h - u.T @ jax.nn.sigmoid(u @ w)) / len(v)


V = ("784x512", "512x64", "32x512", "512x784")
add("hmc", hmc, "256", "4096x256", "4096", "u32:2")
add("chains", chains, "16x64", "1024x64", "1024", "u32:16x2")
add("langevin", langevin, "1024x64", ("64x128", "128x1"), "u32:10x2")
add("particle_filter", particle_filter, "65536x4", "20x4", "u32:20x2")
add("em", em, "8192x8", "16x8", "16", "16")
add("ddim", ddim, "1024x64", ("65x256", "256x256", "256x64"))
add("svgd", svgd, "128x64", "1024x64", "1024")
add("tempering", tempering, "4096x16", "u32:20x2")
add("lda", lda, "64x2000", "32x2000", "64x32")
add("rbm", rbm, "256x784", "784x512", "u32:2")
add("normal", lambda k: random.normal(random.wrap_key_data(k), (1024, 1024)), "u32:2")
add("gamma", lambda k: random.gamma(random.wrap_key_data(k), 2.0, (65536,)), "u32:2")
add("permutation", lambda k: random.permutation(random.wrap_key_data(k), 1 << 18), "u32:2")
add("categorical", lambda k, x: random.categorical(random.wrap_key_data(k), x), "u32:2", "1024x1000")
add("dirichlet", lambda k: random.dirichlet(random.wrap_key_data(k), jnp.ones(10), (8192,)), "u32:2")
add("bootstrap", lambda x, k: x[random.randint(random.wrap_key_data(k), (200, x.shape[0]), 0, x.shape[0])].mean(1), "4096", "u32:2")
add("integration", lambda k: (lambda u: (jnp.square(u).sum(-1) < 1).mean())(random.uniform(random.wrap_key_data(k), (1 << 18, 3))), "u32:2")
add("metropolis", lambda x, k: lax.scan(lambda s, k: (lambda y, u: (jnp.where(u < jnp.exp(jnp.abs(s) - jnp.abs(y)), y, s), s.mean()))(s + random.normal(random.wrap_key_data(k), s.shape), random.uniform(random.wrap_key_data(k), s.shape)), x, k), "65536", "u32:20x2")
both("mixture", mixture, "8192x8", "16x8", "16x8", "16")
both("mixture_density", mixture_density, "4096x16", "4096x1", "16x128", "128x60")
both("vae", vae, V, "256x784", "256x32")
both("iwae", iwae, V, "64x784", "16x64x32")
both("vqvae", vqvae, "2048x64", "512x32", "64x32", "32x64")
both("coupling", coupling, "2048x32", (("16x128", "128x32"),) * 4)
both("spline", spline, "4096x8", "4096x8x16", "4096x8x16", "4096x8x16")
both("diffusion", diffusion, ("65x256", "256x256", "256x64"), "1024x64", "1024", "1024x64")
both("gumbel", lambda x, u: jax.nn.softmax((x - jnp.log(-jnp.log(u))) / 0.5), "2048x512", "2048x512")
both("elbo", lambda m, s, x, y, e: -jax.vmap(lambda e: log_density(m + jnp.exp(s) * e, x, y))(e).mean() - s.sum(), "64", "64", "2048x64", "2048", "32x64")
both("flow_matching", lambda p, x, z, t: jnp.square(mlp(t * x + (1 - t) * z, *p, act=jax.nn.silu) - (x - z)).mean(), ("64x256", "256x256", "256x64"), "1024x64", "1024x64", "1024x1")
both("energy", lambda x, y, a, b: (jnp.tanh(x @ a) @ b).mean() - (jnp.tanh(y @ a) @ b).mean(), "1024x64", "1024x64", "64x256", "256x1")
