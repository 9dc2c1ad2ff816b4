"""Factorizations, solvers, filters and chains of products."""

import jax
import jax.numpy as jnp
from jax import lax

from . import family

add, both = family(__name__)


def cg(a, b, n=20):
    def step(_, s):
        x, r, p = s
        q = a @ p
        alpha = r @ r / (p @ q)
        new = r - alpha * q
        return x + alpha * p, new, new + (new @ new) / (r @ r) * p

    return lax.fori_loop(0, n, step, (jnp.zeros_like(b), b, b))[0]


def power(a, x):
    return lax.fori_loop(0, 20, lambda _, x: (lambda y: y / jnp.linalg.norm(y))(a @ x), x)


def whiten(x):
    x = x - x.mean(0)
    values, vectors = jnp.linalg.eigh(x.T @ x / len(x))
    return x @ (vectors * lax.rsqrt(values + 1e-5)) @ vectors.T


def kalman(z, f, h, q, r):
    def step(s, z):
        x, p = f @ s[0], f @ s[1] @ f.T + q
        k = jnp.linalg.solve(h @ p @ h.T + r, h @ p).T
        return (x + k @ (z - h @ x), p - k @ h @ p), x

    return lax.scan(step, (jnp.zeros(len(f)), jnp.eye(len(f))), z)[1]


def ensemble_kalman(x, y, h, noise):
    p = x - x.mean(0)
    hp = p @ h.T
    gain = jnp.linalg.solve(hp.T @ hp / len(x) + 0.1 * jnp.eye(hp.shape[1]), hp.T @ p / len(x)).T
    return x + (y + noise - x @ h.T) @ gain.T


def newton_schulz(a):
    x = a.T / (jnp.abs(a).sum(0).max() * jnp.abs(a).sum(1).max())
    return lax.fori_loop(0, 10, lambda _, x: 2 * x - x @ a @ x, x)


def sqrtm(a):
    step = lambda _, s: (lambda t: (s[0] @ t, t @ s[1]))((3 * jnp.eye(len(a)) - s[1] @ s[0]) / 2)
    return lax.fori_loop(0, 10, step, (a, jnp.eye(len(a))))[0]


def gram_schmidt(a):
    def step(q, i):
        v = a[:, i] - q @ (q.T @ a[:, i])
        return q.at[:, i].set(v / jnp.linalg.norm(v)), None

    return lax.scan(step, jnp.zeros_like(a), jnp.arange(a.shape[1]))[0]


def lanczos(a, v):
    def step(s, _):
        q, old, b = s
        w = a @ q - b * old
        alpha = w @ q
        w = w - alpha * q
        b = jnp.linalg.norm(w)
        return (w / b, q, b), (alpha, b, q)

    return lax.scan(step, (v, jnp.zeros_like(v), 0.0), None, length=32)[1]


def gaussian_process(x, y, t, scale):
    k = lambda a, b: jnp.exp(-jnp.square((a[:, None] - b) / scale).sum(-1) / 2)
    l = jnp.linalg.cholesky(k(x, x) + 0.1 * jnp.eye(len(x)))
    return k(t, x) @ jax.scipy.linalg.cho_solve((l, True), y)


def marginal(x, y, scale):
    k = jnp.exp(-jnp.square((x[:, None] - x) / scale).sum(-1) / 2) + 0.1 * jnp.eye(len(x))
    l = jnp.linalg.cholesky(k)
    return y @ jax.scipy.linalg.cho_solve((l, True), y) / 2 + jnp.log(jnp.diag(l)).sum()


def mahalanobis(x, m, a):
    d = x - m
    return jnp.sqrt(((d @ a) * d).sum(-1))


def als(r, u, v):
    solve = lambda r, v: jnp.linalg.solve(v.T @ v + 0.1 * jnp.eye(v.shape[1]), v.T @ r.T).T
    u = solve(r, v)
    return u, solve(r.T, u)


def nmf(x, w, h):
    h = h * (w.T @ x) / (w.T @ w @ h + 1e-9)
    return w * (x @ h.T) / (w @ (h @ h.T) + 1e-9), h


def ista(a, b):
    def step(_, x):
        y = x - 0.01 * a.T @ (a @ x - b)
        return jnp.sign(y) * jnp.maximum(jnp.abs(y) - 0.01, 0)

    return lax.fori_loop(0, 20, step, jnp.zeros((a.shape[1], b.shape[1])))


def randomized_svd(a, omega):
    q = jnp.linalg.qr(a @ (a.T @ (a @ omega)))[0]
    u, s, v = jnp.linalg.svd(q.T @ a, full_matrices=False)
    return q @ u, s, v


def jacobi(a, b):
    d = jnp.diag(a)
    return lax.fori_loop(0, 50, lambda _, x: (b - (a @ x - d * x)) / d, jnp.zeros_like(b))


def riccati(a, b, q, r):
    step = lambda _, p: q + a.T @ (p - p @ b @ jnp.linalg.solve(r + b.T @ p @ b, b.T @ p)) @ a
    return lax.fori_loop(0, 10, step, q)


def procrustes(a, b):
    u, _, v = jnp.linalg.svd(a.T @ b)
    return a @ (u @ v)


def cayley(w, x):
    s = w - w.T
    return x @ jnp.linalg.solve(jnp.eye(len(s)) + s, jnp.eye(len(s)) - s)


A = "512x512"
add("cg", cg, A, "512")
add("power", power, "1024x1024", "1024")
add("kalman", kalman, "64x16", "32x32", "16x32", "32x32", "16x16")
add("ensemble_kalman", ensemble_kalman, "256x512", "64", "64x512", "256x64")
add("newton_schulz", newton_schulz, A)
add("sqrtm", sqrtm, A)
add("gram_schmidt", gram_schmidt, "512x128")
add("lanczos", lanczos, A, "512")
add("als", als, "512x1024", "512x32", "1024x32")
add("nmf", nmf, "512x1024", "512x32", "32x1024")
add("ista", ista, "512x1024", "512x64")
add("randomized_svd", randomized_svd, "2048x512", "512x32")
add("jacobi", jacobi, A, "512")
add("riccati", riccati, "128x128", "128x32", "128x128", "32x32")
add("procrustes", procrustes, "4096x64", "4096x64")
add("expm", jax.scipy.linalg.expm, "256x256")
add("expm_batch", jax.vmap(jax.scipy.linalg.expm), "64x32x32")
add("lstsq", lambda a, b: jnp.linalg.lstsq(a, b)[0], "512x64", "512x8")
add("pinv", jnp.linalg.pinv, "256x64")
add("eigh", jnp.linalg.eigh, "256x256")
add("svd", lambda a: jnp.linalg.svd(a, full_matrices=False), "256x128")
add("qr", jnp.linalg.qr, "512x256")
add("lu", jax.scipy.linalg.lu_factor, A)
add("inverse", jnp.linalg.inv, A)
add("inverse_batch", jnp.linalg.inv, "4096x4x4")
add("determinant", jnp.linalg.slogdet, "64x64x64")
add("kron", jnp.kron, "64x64", "32x32")
add("matrix_power", lambda a: jnp.linalg.matrix_power(a, 13), A)
add("polynomial", lambda a: sum(c * jnp.linalg.matrix_power(a, i) for i, c in enumerate((1, 0.5, 0.2, 0.1))), A)
add("chain", lambda a, b, c, d: a @ b @ c @ d, "512x1024", "1024x256", "256x1024", "1024x512")
add("multi_dot", lambda *a: jnp.linalg.multi_dot(a), "512x64", "64x1024", "1024x64", "64x512")
add("sum_of_products", lambda *a: sum(x @ y for x, y in zip(a[::2], a[1::2])), *(A,) * 8)
add("wide", lambda x, *w: sum(jnp.tanh(x @ v) for v in w), A, *(A,) * 8)
add("stack_products", lambda x, *w: jnp.stack([x @ v for v in w]), A, *(A,) * 4)
add("tucker", lambda g, a, b, c: jnp.einsum("abc,ia,jb,kc->ijk", g, a, b, c), "16x16x16", "96x16", "96x16", "96x16")
add("tensor_train", lambda a, b, c, d: jnp.einsum("ia,ajb,bkc,cl->ijkl", a, b, c, d), "24x8", "8x24x8", "8x24x8", "8x24")
add("einsum_batch", lambda x, y, z: jnp.einsum("bij,bjk,bkl->bil", x, y, z), *("16x128x128",) * 3)
add("einsum_outer", lambda x, y: jnp.einsum("bi,bj->ij", x, y), "4096x256", "4096x256")
add("einsum_trace", lambda x, y: jnp.einsum("ij,ji->", x, y), "1024x1024", "1024x1024")
add("mps", lambda a, x: lax.scan(lambda v, ax: (jnp.einsum("ba,bd,adc->bc", v, ax[1], ax[0]), None), jnp.ones((64, 32)), (a, x))[0], "64x32x2x32", "64x64x2")
both("whiten", whiten, "2048x128")
both("gaussian_process", gaussian_process, "256x8", "256x4", "128x8", "8")
both("marginal", marginal, "256x8", "256", "8")
both("mahalanobis", mahalanobis, "4096x128", "128", "128x128")
both("cayley", cayley, "128x128", "1024x128")
both("cholesky", jnp.linalg.cholesky, "256x256")
both("solve", jnp.linalg.solve, "256x256", "256x64")
both("triangular", lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True), "256x256", "256x64")
both("ridge", lambda x, y, l: jnp.linalg.solve(x.T @ x + jnp.exp(l) * jnp.eye(x.shape[1]), x.T @ y), "2048x128", "2048x8", "")
both("quadratic", lambda x, a: jnp.einsum("bi,ij,bj->b", x, a, x), "4096x128", "128x128")
both("cosine", lambda x, y: (x @ y.T) / (jnp.linalg.norm(x, axis=1)[:, None] * jnp.linalg.norm(y, axis=1)), "512x128", "1024x128")
both("distances", lambda x, y: jnp.sqrt(jnp.maximum(jnp.square(x).sum(1)[:, None] + jnp.square(y).sum(1) - 2 * x @ y.T, 1e-9)), "512x128", "1024x128")
both("pairwise_l1", lambda x, y: jnp.abs(x[:, None] - y).sum(-1), "256x32", "256x32")
both("rbf", lambda x, y, w: jnp.exp(-jnp.square(x[:, None] - y).sum(-1)) @ w, "512x16", "256x16", "256x8")
both("pca", lambda x: (lambda c: c @ jnp.linalg.eigh(c.T @ c)[1][:, -8:])(x - x.mean(0)), "2048x64")
both("complex_product", lambda a, b: (a @ b) * jnp.exp(1j * a.real), "c64:256x256", "c64:256x256")
