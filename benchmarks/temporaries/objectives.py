"""Losses and training steps of other kinds than those of `training`."""

import jax
import jax.numpy as jnp
from jax import lax

from . import family
from .networks import layer_norm, mlp

add, both = family(__name__)


def chamfer(x, y):
    d = jnp.square(x[:, None] - y[None]).sum(-1)
    return d.min(1).mean() + d.min(0).mean()


def energy_distance(x, y):
    d = lambda a, b: jnp.sqrt(jnp.square(a[:, None] - b[None]).sum(-1) + 1e-6).mean()
    return 2 * d(x, y) - d(x, x) - d(y, y)


def sliced_wasserstein(x, y, directions):
    return jnp.square(jnp.sort(x @ directions, 0) - jnp.sort(y @ directions, 0)).mean()


def center_loss(x, centers, labels):
    return jnp.square(x - centers[labels]).sum(-1).mean()


def proxy(x, proxies, labels):
    unit = lambda v: v / jnp.linalg.norm(v, axis=-1, keepdims=True)
    return -jnp.take_along_axis(jax.nn.log_softmax(16 * unit(x) @ unit(proxies).T), labels[:, None], 1).mean()


def tversky(p, q):
    p = jax.nn.sigmoid(p)
    hits = (p * q).sum((1, 2))
    return (1 - hits / (hits + 0.3 * (p * (1 - q)).sum((1, 2)) + 0.7 * ((1 - p) * q).sum((1, 2)))).mean()


def lovasz(logits, truth):
    errors = 1 - logits * (2 * truth - 1)
    order = jnp.argsort(-errors, axis=-1)
    sorted_truth = jnp.take_along_axis(truth, order, -1)
    union = sorted_truth.sum(-1, keepdims=True) + jnp.cumsum(1 - sorted_truth, -1)
    jaccard = 1 - (sorted_truth.sum(-1, keepdims=True) - jnp.cumsum(sorted_truth, -1)) / union
    steps = jnp.diff(jaccard, axis=-1, prepend=0)
    return (jax.nn.relu(jnp.take_along_axis(errors, order, -1)) * steps).sum(-1).mean()


def listnet(scores, relevance):
    return -(jax.nn.softmax(relevance) * jax.nn.log_softmax(scores)).sum(-1).mean()


def lambda_rank(scores, relevance):
    s, r = scores[:, :, None] - scores[:, None], relevance[:, :, None] > relevance[:, None]
    return (jnp.where(r, jax.nn.softplus(-s), 0) * jnp.abs(relevance[:, :, None] - relevance[:, None])).mean()


def bpr(users, items, u, i, j):
    score = lambda k: (users[u] * items[k]).sum(-1)
    return -jax.nn.log_sigmoid(score(i) - score(j)).mean()


def cox(risk, time):
    order = jnp.argsort(-time)
    r = risk[order]
    return (lax.cumlogsumexp(r) - r).mean()


def simsiam(x, y, a, b, p):
    z, w = mlp(x, a, b, act=jax.nn.relu), mlp(y, a, b, act=jax.nn.relu)
    unit = lambda v: v / jnp.linalg.norm(v, axis=-1, keepdims=True)
    return -(unit(z @ p) * lax.stop_gradient(unit(w))).sum(-1).mean()


def byol(x, y, a, b, t, u):
    return jnp.square(mlp(x, a, b) - lax.stop_gradient(mlp(y, t, u))).sum(-1).mean()


def swav(x, prototypes):
    q = jnp.exp(x @ prototypes.T / 0.05 - 20)
    for _ in range(3):
        q = q / q.sum(0) / q.shape[1]
        q = q / q.sum(1, keepdims=True) / q.shape[0]
    return -(lax.stop_gradient(q) * jax.nn.log_softmax(x @ prototypes.T / 0.1)).sum(-1).mean()


def masked_autoencoder(x, mask, a, b, c):
    return (jnp.square(mlp(jnp.where(mask, 0, x), a, b, c) - x) * mask).sum() / (mask.sum() + 1)


def regression(x, a, b, c, y):
    return jnp.square(mlp(x, a, b, c, act=jax.nn.relu) - y).mean()


def evidential(x, a, b, y):
    mean, nu, alpha, beta = jnp.split(mlp(x, a, b), 4, -1)
    nu, alpha, beta = jax.nn.softplus(nu), jax.nn.softplus(alpha) + 1, jax.nn.softplus(beta)
    return (jnp.log(nu) / 2 - alpha * jnp.log(beta) + (alpha + 0.5) * jnp.log(jnp.square(y - mean) * nu + beta)).mean()


def pairwise_logistic(x, w, y):
    s = (x @ w)[:, 0]
    return jax.nn.softplus(-(s[:, None] - s[None]) * jnp.sign(y[:, None] - y[None])).mean()


def kernel_alignment(x, y):
    gram = lambda v: v @ v.T
    center = lambda k: k - k.mean(0) - k.mean(1, keepdims=True) + k.mean()
    k, h = center(gram(x)), center(gram(y))
    return (k * h).sum() / jnp.sqrt(jnp.square(k).sum() * jnp.square(h).sum())


def adversarial(x, a, b, labels):
    loss = lambda v: -jnp.take_along_axis(jax.nn.log_softmax(mlp(v, a, b)), labels[:, None], 1).mean()
    for _ in range(3):
        x = x + 0.01 * jnp.sign(jax.grad(loss)(x))
    return loss(x)


def mixup_loss(x, shares, a, b, labels):
    y = jax.nn.one_hot(labels, b.shape[1])
    x, y = shares * x + (1 - shares) * x[::-1], shares * y + (1 - shares) * y[::-1]
    return -(y * jax.nn.log_softmax(mlp(x, a, b))).sum(-1).mean()


def td3(q1, q2, policy, s, r, following):
    action = jnp.tanh(mlp(following, *policy))
    value = lambda q: mlp(jnp.concatenate([following, action], -1), *q)[:, 0]
    target = r + 0.99 * jnp.minimum(value(q1), value(q2))
    now = mlp(jnp.concatenate([s, jnp.tanh(mlp(s, *policy))], -1), *q1)[:, 0]
    return jnp.square(now - lax.stop_gradient(target)).mean()


def rotation_loss(x, w, y):
    p, q = layer_norm(x) @ w, layer_norm(y) @ w
    return jnp.square(p.T @ p - q.T @ q).sum()


both("chamfer", chamfer, "1024x3", "1024x3")
both("energy_distance", energy_distance, "512x16", "512x16")
both("sliced_wasserstein", sliced_wasserstein, "2048x64", "2048x64", "64x128")
both("center_loss", center_loss, "1024x256", "100x256", "s32:1024")
both("proxy", proxy, "1024x128", "1000x128", "s32:1024")
both("tversky", tversky, "8x128x128", "8x128x128")
both("lovasz", lovasz, "8x16384", "8x16384")
both("listnet", listnet, "256x512", "256x512")
both("lambda_rank", lambda_rank, "32x128", "32x128")
both("bpr", bpr, "10000x64", "10000x64", "s32:4096", "s32:4096", "s32:4096")
both("cox", cox, "65536", "65536")
both("simsiam", simsiam, "512x256", "512x256", "256x512", "512x128", "128x128")
both("byol", byol, "512x256", "512x256", "256x512", "512x128", "256x512", "512x128")
both("swav", swav, "1024x128", "300x128")
both("masked_autoencoder", masked_autoencoder, "512x784", "pred:512x784", "784x256", "256x256", "256x784")
both("regression", regression, "8192x16", "16x64", "64x64", "64x1", "8192x1")
both("evidential", evidential, "4096x32", "32x128", "128x64", "4096x16")
both("pairwise_logistic", pairwise_logistic, "1024x64", "64x1", "1024")
both("kernel_alignment", kernel_alignment, "512x128", "512x64")
both("adversarial", adversarial, "512x128", "128x256", "256x10", "s32:512")
both("mixup_loss", mixup_loss, "512x256", "512x1", "256x512", "512x10", "s32:512")
both("td3", td3, ["48x256", "256x1"], ["48x256", "256x1"], ["32x256", "256x16"], "1024x32", "1024", "1024x32")
both("rotation_loss", rotation_loss, "2048x128", "128x64", "2048x128")
