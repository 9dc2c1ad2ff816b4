"""Operations on images."""

import jax
import jax.numpy as jnp
from jax import lax

from . import family

add, both = family(__name__)


def separable(x, w):
    y = x[:, None]
    for kernel in (w[None, None, :, None], w[None, None, None, :]):
        y = lax.conv_general_dilated(y, kernel, (1, 1), "SAME")
    return y[:, 0]


def shifts(x, r):
    p = jnp.pad(x, ((r, r), (r, r)), mode="edge")
    return [p[i : i + x.shape[0], j : j + x.shape[1]] for i in range(2 * r + 1) for j in range(2 * r + 1)]


def bilateral(x, s):
    weights = [jnp.exp(-jnp.square(y - x) / s) for y in shifts(x, 2)]
    return sum(w * y for w, y in zip(weights, shifts(x, 2))) / sum(weights)


def sobel(x):
    p = jnp.pad(x, 1, mode="edge")
    gx = (p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:]) - (p[:-2, :-2] + 2 * p[1:-1, :-2] + p[2:, :-2])
    gy = (p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:]) - (p[:-2, :-2] + 2 * p[:-2, 1:-1] + p[:-2, 2:])
    return gx, gy


def canny(x, w):
    gx, gy = sobel(separable(x[None], w)[0])
    m = jnp.sqrt(gx * gx + gy * gy)
    d = jnp.round(jnp.arctan2(gy, gx) * 4 / jnp.pi).astype(int) % 4
    n = shifts(m, 1)
    a, b = (jnp.select([d == 0, d == 1, d == 2], [n[i], n[j], n[k]], n[l]) for i, j, k, l in ((5, 8, 7, 6), (3, 0, 1, 2)))
    thin = jnp.where((m >= a) & (m >= b), m, 0)
    strong, weak = thin > 0.8, thin > 0.3
    return lax.fori_loop(0, 5, lambda _, e: weak & (lax.reduce_window(e, False, lax.bitwise_or, (3, 3), (1, 1), "SAME")), strong)


def harris(x, w):
    gx, gy = sobel(x)
    a, b, c = (separable(y[None], w)[0] for y in (gx * gx, gx * gy, gy * gy))
    r = a * c - b * b - 0.04 * (a + c) ** 2
    return jnp.where(r == lax.reduce_window(r, -jnp.inf, lax.max, (3, 3), (1, 1), "SAME"), r, 0)


def morphology(x):
    w = ((5, 5), (1, 1), "SAME")
    opened = lax.reduce_window(lax.reduce_window(x, jnp.inf, lax.min, *w), -jnp.inf, lax.max, *w)
    return x - opened


def ssim(x, y, w):
    blur = lambda z: separable(z, w)
    a, b = blur(x), blur(y)
    va, vb, c = blur(x * x) - a * a, blur(y * y) - b * b, blur(x * y) - a * b
    return ((2 * a * b + 1e-4) * (2 * c + 9e-4) / ((a * a + b * b + 1e-4) * (va + vb + 9e-4))).mean()


def hsv(x):
    r, g, b = x[..., 0], x[..., 1], x[..., 2]
    top, low = x.max(-1), x.min(-1)
    d = top - low + 1e-6
    h = jnp.where(top == r, (g - b) / d, jnp.where(top == g, 2 + (b - r) / d, 4 + (r - g) / d)) / 6 % 1
    return jnp.stack([h, d / (top + 1e-6), top], -1)


def jitter(x, f):
    x = jnp.clip(x * f[0], 0, 1)
    gray = (x * jnp.array([0.299, 0.587, 0.114])).sum(-1, keepdims=True)
    x = jnp.clip(gray + f[1] * (x - gray), 0, 1)
    return jnp.clip(x.mean((1, 2, 3), keepdims=True) * (1 - f[2]) + f[2] * x, 0, 1)


def sample(x, grid):
    y, z = (grid[..., i] * (x.shape[1 + i] - 1) for i in (0, 1))
    i, j = jnp.floor(y).astype(int), jnp.floor(z).astype(int)
    at = lambda a, b: jax.vmap(lambda x, a, b: x[jnp.clip(a, 0, x.shape[0] - 1), jnp.clip(b, 0, x.shape[1] - 1)])(x, a, b)
    fy, fz = (y - i)[..., None], (z - j)[..., None]
    return at(i, j) * (1 - fy) * (1 - fz) + at(i, j + 1) * (1 - fy) * fz + at(i + 1, j) * fy * (1 - fz) + at(i + 1, j + 1) * fy * fz


def affine(x, theta):
    g = jnp.stack(jnp.meshgrid(jnp.linspace(0, 1, x.shape[1]), jnp.linspace(0, 1, x.shape[2]), indexing="ij"), -1)
    return sample(x, jnp.einsum("hwi,bji->bhwj", jnp.concatenate([g, jnp.ones_like(g[..., :1])], -1), theta))


def pyramid(x, w):
    out = []
    for _ in range(4):
        y = separable(x, w)[:, ::2, ::2]
        out.append(x - jnp.repeat(jnp.repeat(y, 2, 1), 2, 2))
        x = y
    return [*out, x]


def variation(x, y):
    return jnp.square(x - y).sum() + jnp.sqrt(jnp.square(x[1:, :-1] - x[:-1, :-1]) + jnp.square(x[:-1, 1:] - x[:-1, :-1]) + 1e-6).sum()


def chambolle(x):
    div = lambda p: p[0] - jnp.roll(p[0], 1, 0) + p[1] - jnp.roll(p[1], 1, 1)

    def step(_, p):
        u = div(p) - x / 0.1
        g = jnp.stack([jnp.roll(u, -1, 0) - u, jnp.roll(u, -1, 1) - u])
        return (p + 0.25 * g) / (1 + 0.25 * jnp.sqrt(jnp.square(g).sum(0)))

    return x - 0.1 * div(lax.fori_loop(0, 20, step, jnp.zeros((2, *x.shape))))


def richardson(x, w):
    return lax.fori_loop(0, 10, lambda _, u: u * separable(x / (separable(u, w) + 1e-6), w[::-1]), x)


def flow(x, y):
    gx, gy = sobel((x + y) / 2)
    t = y - x

    def step(_, uv):
        u, v = (sum(jnp.roll(f, s, a) for s in (1, -1) for a in (0, 1)) / 4 for f in uv)
        r = (gx * u + gy * v + t) / (0.1 + gx * gx + gy * gy)
        return u - gx * r, v - gy * r

    return lax.fori_loop(0, 20, step, (jnp.zeros_like(x), jnp.zeros_like(x)))


def jpeg(x, d, q):
    b = x.reshape(x.shape[0] // 8, 8, -1, 8).swapaxes(1, 2)
    c = jnp.round(d @ b @ d.T / q) * q
    return (d.T @ c @ d).swapaxes(1, 2).reshape(x.shape)


def iou(a, b):
    low, high = jnp.maximum(a[:, None, :2], b[:, :2]), jnp.minimum(a[:, None, 2:], b[:, 2:])
    area = lambda x: (x[:, 2] - x[:, 0]) * (x[:, 3] - x[:, 1])
    both = jnp.maximum(high - low, 0).prod(-1)
    return both / (area(a)[:, None] + area(b) - both)


def nms(boxes, scores):
    order = jnp.argsort(-scores)
    over = iou(boxes[order], boxes[order]) > 0.5
    return lax.fori_loop(0, len(boxes), lambda i, k: jnp.where(k[i], k & ~(over[i] & (jnp.arange(len(k)) > i)), k), jnp.ones(len(boxes), bool))


def equalize(x):
    counts = jnp.zeros(256, jnp.int32).at[x.reshape(-1)].add(1)
    c = jnp.cumsum(counts)
    return (c * 255 // c[-1])[x].astype(jnp.uint8)


def guided(x, g, w):
    blur = lambda z: separable(z, w)
    a = (blur(x * g) - blur(x) * blur(g)) / (blur(g * g) - blur(g) ** 2 + 1e-2)
    return blur(a) * g + blur(blur(x) - a * blur(g))


def splat(points, colors, scale):
    y, x = jnp.meshgrid(jnp.linspace(0, 1, 64), jnp.linspace(0, 1, 64), indexing="ij")
    d = jnp.square(y - points[:, 0, None, None]) + jnp.square(x - points[:, 1, None, None])
    a = 0.9 * jnp.exp(-d / jnp.square(scale)[:, None, None])
    t = jnp.cumprod(jnp.concatenate([jnp.ones_like(a[:1]), 1 - a[:-1]]), 0)
    return jnp.einsum("nhw,nc->hwc", a * t, colors)


I, B, R = "512x512", "8x256x256", "8x224x224x3"
both("blur", separable, B, "11")
both("bilateral", bilateral, "256x256", "")
both("ssim", ssim, B, B, "11")
both("sobel", lambda x: jnp.hypot(*sobel(x)), I)
both("hsv", hsv, R)
both("jitter", jitter, R, "3")
both("normalize", lambda x: (x / 255 - jnp.array([0.485, 0.456, 0.406])) / jnp.array([0.229, 0.224, 0.225]), R)
both("affine", affine, "8x64x64x16", "8x2x3")
both("pyramid", pyramid, B, "5")
both("variation", variation, I, I)
both("guided", guided, B, B, "9")
both("iou", iou, "512x4", "512x4")
both("splat", splat, "256x2", "256x3", "256")
both("soft_morphology", lambda x: jax.nn.logsumexp(jnp.stack(shifts(x, 1)), 0), "256x256")
both("gram", lambda x: jnp.einsum("bijc,bijd->bcd", x, x), "4x64x64x64")
for method in ("linear", "cubic", "lanczos3", "nearest"):
    for kind, size in (("up", 512), ("down", 100)):
        add(f"resize_{method}_{kind}", lambda x, m=method, s=size: jax.image.resize(x, (4, s, s, 3), m), "4x256x256x3")
both("resize", lambda x: jax.image.resize(x, (4, 224, 224, 16), "linear"), "4x112x112x16")
add("canny", canny, I, "5")
add("harris", harris, I, "5")
add("morphology", morphology, "1024x1024")
add("chambolle", chambolle, I)
add("richardson", richardson, B, "9")
add("flow", flow, I, I)
add("jpeg", jpeg, I, "8x8", "8x8")
add("nms", nms, "512x4", "512")
add("equalize", equalize, f"u8:{I}")
add("crop_flip", lambda x, o, f: jax.vmap(lambda x, o, f: (lambda c: jnp.where(f, c[:, ::-1], c))(lax.dynamic_slice(x, (o[0], o[1], 0), (192, 192, 3))))(x, o, f), R, "s32:8x2", "pred:8")
add("mixup", lambda x, k: (lambda l: l * x + (1 - l) * x[::-1])(jax.random.beta(jax.random.wrap_key_data(k), 0.2, 0.2, (8, 1, 1, 1))), R, "u32:2")
add("rotate", lambda x: jnp.rot90(x, 1, (1, 2))[:, ::-1], R)
add("integral", lambda x: (lambda s: s[8:, 8:] - s[:-8, 8:] - s[8:, :-8] + s[:-8, :-8])(jnp.cumsum(jnp.cumsum(x, 0), 1)), "1024x1024")
add("median", lambda x: jnp.median(jnp.stack(shifts(x, 1)), 0), I)
add("gamma_bytes", lambda x: (jnp.power(x / 255.0, 2.2) * 255).astype(jnp.uint8), f"u8:{R}")
add("yuv", lambda x: jnp.clip((x.astype(jnp.float32) @ jnp.array([[0.3, -0.17, 0.5], [0.59, -0.33, -0.42], [0.11, 0.5, -0.08]])), 0, 255).astype(jnp.uint8), f"u8:{R}")
