"""Losses, optimizers and updates of reinforcement learning."""

import jax
import jax.numpy as jnp
from jax import lax

from . import family
from .networks import cross_entropy, mlp

add, both = family(__name__)

SIZES = ("784x512", "512x512", "512x10")


def loss(params, x, y):
    return cross_entropy(mlp(x, *params, act=jax.nn.relu), y)


def clip(gradients, limit=1.0):
    norm = jnp.sqrt(sum(jnp.square(g).sum() for g in jax.tree.leaves(gradients)))
    return jax.tree.map(lambda g: g * jnp.minimum(1, limit / norm), gradients)


def apply(rule, *trees):
    """What `rule` gives for each leaf, as trees side by side."""
    leaves = [jax.tree.leaves(tree) for tree in trees]
    return [list(parts) for parts in zip(*(rule(*parts) for parts in zip(*leaves)))]


def adamw(p, g, m, v):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return p - 1e-3 * (m / (jnp.sqrt(v) + 1e-8) + 0.01 * p), m, v


def lion(p, g, m, v):
    return p - 1e-4 * (jnp.sign(0.9 * m + 0.1 * g) + 0.01 * p), 0.99 * m + 0.01 * g, v


def adafactor(p, g, m, v):
    rows, columns = jnp.square(g).mean(1), jnp.square(g).mean(0)
    r, c = 0.9 * v[:, 0] + 0.1 * rows, 0.9 * m[0] + 0.1 * columns
    u = g * lax.rsqrt(r / r.mean() + 1e-30)[:, None] * lax.rsqrt(c + 1e-30)
    return p - 1e-2 * u / jnp.maximum(1, jnp.sqrt(jnp.square(u).mean())), m.at[0].set(c), v.at[:, 0].set(r)


def shampoo(p, g, m, v):
    def root(a):
        values, vectors = jnp.linalg.eigh(a)
        return (vectors * jnp.maximum(values, 1e-6) ** -0.25) @ vectors.T

    m, v = m + g @ g.T, v + g.T @ g
    return p - 1e-2 * root(m) @ g @ root(v), m, v


def orthogonal(g):
    x = g / jnp.linalg.norm(g)
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
    return x


def muon(p, g, m, v):
    m = 0.95 * m + g
    return p - 0.02 * orthogonal(g + 0.95 * m), m, v


def lamb(p, g, m, v):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    u = m / (jnp.sqrt(v) + 1e-6) + 0.01 * p
    return p - 1e-3 * jnp.linalg.norm(p) / jnp.linalg.norm(u) * u, m, v


def sam(params, x, y):
    g = clip(jax.grad(loss)(params, x, y), 0.05)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss)(jax.tree.map(jnp.add, params, g), x, y))


def accumulate(params, x, y):
    def step(total, batch):
        return jax.tree.map(jnp.add, total, jax.grad(loss)(params, *batch)), None

    total, _ = lax.scan(step, jax.tree.map(jnp.zeros_like, params), (x.reshape(4, -1, 784), y.reshape(4, -1)))
    return jax.tree.map(lambda p, g: p - 0.1 * g / 4, params, total)


def newton_cg(w, x, y):
    f = lambda w: jnp.logaddexp(0, -y * (x @ w)).mean() + 1e-3 * jnp.square(w).sum()
    g = jax.grad(f)(w)
    return w - jax.scipy.sparse.linalg.cg(lambda v: jax.jvp(jax.grad(f), (w,), (v,))[1], g, maxiter=10)[0]


def lbfgs(g, s, y):
    rho = 1 / (s * y).sum(-1)

    def back(q, i):
        a = rho[i] * s[i] @ q
        return q - a * y[i], a

    q, alphas = lax.scan(back, g, jnp.arange(len(s)), reverse=True)
    forward = lambda q, i: (q + s[i] * (alphas[i] - rho[i] * y[i] @ q), None)
    return lax.scan(forward, q * (s[-1] @ y[-1]) / (y[-1] @ y[-1]), jnp.arange(len(s)))[0]


def info_nce(a, b):
    a, b = (x / jnp.linalg.norm(x, axis=-1, keepdims=True) for x in (a, b))
    logits = a @ b.T / 0.07
    return -(jnp.diag(jax.nn.log_softmax(logits)) + jnp.diag(jax.nn.log_softmax(logits.T))).mean()


def supervised_contrast(x, y):
    x = x / jnp.linalg.norm(x, axis=-1, keepdims=True)
    same = (y[:, None] == y) & ~jnp.eye(len(y), dtype=bool)
    logp = jax.nn.log_softmax(jnp.where(jnp.eye(len(y), dtype=bool), -1e9, x @ x.T / 0.1))
    return -((logp * same).sum(1) / jnp.maximum(same.sum(1), 1)).mean()


def barlow(a, b):
    a, b = ((x - x.mean(0)) / x.std(0) for x in (a, b))
    c = a.T @ b / len(a)
    return jnp.square(jnp.diag(c) - 1).sum() + 0.005 * (jnp.square(c).sum() - jnp.square(jnp.diag(c)).sum())


def vicreg(a, b):
    def part(x):
        x = x - x.mean(0)
        c = x.T @ x / len(x)
        return jax.nn.relu(1 - jnp.sqrt(x.var(0) + 1e-4)).mean() + jnp.square(c - jnp.diag(jnp.diag(c))).sum()

    return jnp.square(a - b).mean() + part(a) + part(b)


def pairs(x):
    return jnp.square(x[:, None] - x).sum(-1)


def triplet(x, y):
    d, same = pairs(x), y[:, None] == y
    return jax.nn.relu(jnp.where(same, d, 0).max(1) - jnp.where(same, jnp.inf, d).min(1) + 1).mean()


def mmd(x, y):
    k = lambda a, b: jnp.exp(-jnp.square(a[:, None] - b).sum(-1) / 2).mean()
    return k(x, x) + k(y, y) - 2 * k(x, y)


def sinkhorn(x, y):
    cost = jnp.square(x[:, None] - y).sum(-1)
    f, g = jnp.zeros(len(x)), jnp.zeros(len(y))
    for _ in range(5):
        f = -jax.nn.logsumexp((g - cost) / 0.1, 1) * 0.1
        g = -jax.nn.logsumexp((f[:, None] - cost) / 0.1, 0) * 0.1
    return (jnp.exp((f[:, None] + g - cost) / 0.1) * cost).sum()


def spectral_embedding(x, w, v):
    z = jax.nn.relu(x @ w) @ v
    a = jnp.exp(-pairs(x[:, :8]))
    return (a * pairs(z)).sum() / len(x) + jnp.square(z.T @ z / len(x) - jnp.eye(z.shape[1])).sum()


def tsne(x, p):
    q = 1 / (1 + pairs(x))
    q = jnp.where(jnp.eye(len(x), dtype=bool), 0, q)
    return (p * (jnp.log(p + 1e-12) - jnp.log(q / q.sum() + 1e-12))).sum()


def ppo(params, x, actions, old, advantages, returns):
    y = mlp(x, *params, act=jnp.tanh)
    logp = jnp.take_along_axis(jax.nn.log_softmax(y[:, 1:]), actions[:, None], 1)[:, 0]
    ratio = jnp.exp(logp - old)
    policy = -jnp.minimum(ratio * advantages, jnp.clip(ratio, 0.8, 1.2) * advantages).mean()
    return policy + 0.5 * jnp.square(y[:, 0] - returns).mean() - 0.01 * -(jax.nn.softmax(y[:, 1:]) * jax.nn.log_softmax(y[:, 1:])).sum(1).mean()


def gae(rewards, values, done):
    delta = rewards + 0.99 * values[1:] * (1 - done) - values[:-1]
    return lax.scan(lambda a, x: (lambda n: (n, n))(x[0] + 0.99 * 0.95 * (1 - x[1]) * a), jnp.zeros(rewards.shape[1]), (delta, done), reverse=True)[1]


def dqn(params, target, x, a, r, n):
    q = jnp.take_along_axis(mlp(x, *params, act=jax.nn.relu), a[:, None], 1)[:, 0]
    best = jnp.take_along_axis(mlp(n, *target, act=jax.nn.relu), mlp(n, *params, act=jax.nn.relu).argmax(1)[:, None], 1)[:, 0]
    d = q - lax.stop_gradient(r + 0.99 * best)
    return jnp.where(jnp.abs(d) < 1, d * d / 2, jnp.abs(d) - 0.5).mean()


def categorical_dqn(params, x, a, r, n, atoms=51):
    z = jnp.linspace(-10, 10, atoms)
    logp = jax.nn.log_softmax(mlp(x, *params, act=jax.nn.relu).reshape(len(x), -1, atoms))
    p = jax.nn.softmax(mlp(n, *params, act=jax.nn.relu).reshape(len(x), -1, atoms))
    p = jnp.take_along_axis(p, (p @ z).argmax(1)[:, None, None], 1)[:, 0]
    b = jnp.clip(r[:, None] + 0.99 * z, -10, 10)
    m = (jnp.clip(1 - jnp.abs(b[:, None] - z[:, None]) / 0.4, 0, 1) * p[:, None]).sum(-1)
    return -(lax.stop_gradient(m) * jnp.take_along_axis(logp, a[:, None, None], 1)[:, 0]).sum(1).mean()


def quantile_huber(q, target):
    d = target[:, None] - q[..., None]
    tau = (jnp.arange(q.shape[1]) + 0.5) / q.shape[1]
    return (jnp.abs(tau[:, None] - (d < 0)) * jnp.where(jnp.abs(d) < 1, d * d / 2, jnp.abs(d) - 0.5)).mean(2).sum(1).mean()


def vtrace(logits, behaviour, actions, values, rewards):
    logp = jnp.take_along_axis(jax.nn.log_softmax(logits), actions[..., None], 2)[..., 0]
    rho = jnp.minimum(1, jnp.exp(logp - behaviour))
    delta = rho * (rewards + 0.99 * values[1:] - values[:-1])
    return lax.scan(lambda c, x: (lambda n: (n, n))(x[0] + 0.99 * x[1] * c), jnp.zeros(rewards.shape[1]), (delta, rho), reverse=True)[1]


def sac(params, q, x, noise):
    mean, log = jnp.split(mlp(x, *params, act=jax.nn.relu), 2, -1)
    a = jnp.tanh(mean + jnp.exp(log) * noise)
    logp = (-jnp.square(noise) / 2 - log - jnp.log(1 - a * a + 1e-6)).sum(-1)
    return (0.2 * logp - mlp(jnp.concatenate([x, a], -1), *q, act=jax.nn.relu)[:, 0]).mean()


B = ("256x784", "s32:256")
for name, rule in {"adamw": adamw, "lion": lion, "lamb": lamb, "adafactor": adafactor}.items():
    step = lambda p, m, v, x, y, rule=rule: apply(rule, p, clip(jax.grad(loss)(p, x, y)), m, v)
    add(f"step_{name}", step, SIZES, SIZES, SIZES, *B)
    add(f"step_{name}_donated", step, SIZES, SIZES, SIZES, *B, donate_argnums=(0, 1, 2))
    add(f"update_{name}", rule, *("1024x1024",) * 4)
add("update_shampoo", shampoo, "256x128", "256x128", "256x256", "128x128")
add("update_muon", muon, *("512x1024",) * 4)
add("orthogonal", orthogonal, "512x1024")
add("sgd", lambda p, x, y: jax.tree.map(lambda a, g: a - 0.1 * g, p, jax.grad(loss)(p, x, y)), SIZES, *B)
add("sam", sam, SIZES, *B)
add("accumulate", accumulate, SIZES, *B)
add("newton_cg", newton_cg, "512", "2048x512", "2048")
add("lbfgs", lbfgs, "100000", "10x100000", "10x100000")
add("ema", lambda p, q: jax.tree.map(lambda a, b: 0.99 * a + 0.01 * b, p, q), SIZES, SIZES)
add("gradient_noise", lambda p, x, y, k: jax.tree.map(lambda g: g + 0.01 * jax.random.normal(jax.random.wrap_key_data(k), g.shape), jax.grad(loss)(p, x, y)), SIZES, *B, "u32:2")
both("label_smoothing", lambda x, y: -((jax.nn.one_hot(y, x.shape[1]) * 0.9 + 0.1 / x.shape[1]) * jax.nn.log_softmax(x)).sum(1).mean(), "512x8192", "s32:512")
both("focal", lambda x, y: (lambda p: -(jnp.square(1 - p) * jnp.log(p)).mean())(jnp.take_along_axis(jax.nn.softmax(x), y[:, None], 1)), "512x8192", "s32:512")
both("distillation", lambda x, t: (jax.nn.softmax(t / 2) * (jax.nn.log_softmax(t / 2) - jax.nn.log_softmax(x / 2))).sum(1).mean(), "512x4096", "512x4096")
both("dice", lambda x, y: 1 - 2 * (jax.nn.sigmoid(x) * y).sum((1, 2)) / (jax.nn.sigmoid(x).sum((1, 2)) + y.sum((1, 2))), "16x256x256", "16x256x256")
both("huber", lambda x, y: jnp.where(jnp.abs(x - y) < 1, jnp.square(x - y) / 2, jnp.abs(x - y) - 0.5).mean(), "1024x1024", "1024x1024")
both("z_loss", lambda x, w, y: cross_entropy(x @ w, y) + 1e-4 * jnp.square(jax.nn.logsumexp(x @ w, -1)).mean(), "512x256", "256x8192", "s32:512")
both("info_nce", info_nce, "512x128", "512x128")
both("clip_loss", lambda x, y, w, v: info_nce(x @ w, y @ v), "512x512", "512x256", "512x128", "256x128")
both("supervised_contrast", supervised_contrast, "512x128", "s32:512")
both("barlow", barlow, "512x512", "512x512")
both("vicreg", vicreg, "512x512", "512x512")
both("triplet", triplet, "256x64", "s32:256")
both("mmd", mmd, "256x32", "256x32")
both("sinkhorn", sinkhorn, "512x2", "512x2")
both("spectral_embedding", spectral_embedding, "512x64", "64x128", "128x16")
both("tsne", tsne, "512x2", "512x512")
both("siglip", lambda a, b: -jax.nn.log_sigmoid((a @ b.T) * (2 * jnp.eye(len(a)) - 1)).mean(), "512x128", "512x128")
both("dpo", lambda x, r, y: (lambda s: -jax.nn.log_sigmoid(0.1 * (s[0] - s[1])))([jnp.take_along_axis(jax.nn.log_softmax(l), y[..., None], -1)[..., 0].sum(-1) for l in (x, r)]), "8x64x4096", "8x64x4096", "s32:8x64")
both("arcface", lambda x, w, y: cross_entropy(64 * (lambda c: jnp.where(jax.nn.one_hot(y, w.shape[1]) > 0, jnp.cos(jnp.arccos(jnp.clip(c, -0.999, 0.999)) + 0.5), c))((x / jnp.linalg.norm(x, axis=1, keepdims=True)) @ (w / jnp.linalg.norm(w, axis=0))), y), "256x256", "256x4096", "s32:256")
both("ppo", ppo, ("64x256", "256x256", "256x9"), "1024x64", "s32:1024", "1024", "1024", "1024")
both("dqn", dqn, ("64x256", "256x256", "256x8"), ("64x256", "256x256", "256x8"), "512x64", "s32:512", "512", "512x64")
both("categorical_dqn", categorical_dqn, ("64x256", "256x408"), "256x64", "s32:256", "256", "256x64")
both("quantile_huber", quantile_huber, "256x64", "256x64")
both("sac", sac, ("64x256", "256x16"), ("72x256", "256x1"), "512x64", "512x8")
add("gae", gae, "256x1024", "257x1024", "256x1024")
add("vtrace", vtrace, "128x256x18", "128x256", "s32:128x256", "129x256", "128x256")
