"""Layers and training steps of networks without convolutions."""

import jax
import jax.numpy as jnp

from . import family
from .attention import self_attention

add, both = family(__name__)


def layer_norm(x, scale=1.0, shift=0.0):
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale + shift


def rms_norm(x, scale=1.0):
    return x * jax.lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-6) * scale


def group_norm(x, groups=8):
    y = x.reshape(*x.shape[:-1], groups, -1)
    axes = (*range(1, x.ndim - 1), y.ndim - 1)
    return ((y - y.mean(axes, keepdims=True)) * jax.lax.rsqrt(y.var(axes, keepdims=True) + 1e-5)).reshape(x.shape)


def mlp(x, *weights, act=jax.nn.gelu):
    for w in weights[:-1]:
        x = act(x @ w)
    return x @ weights[-1]


def cross_entropy(logits, labels):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1).mean()


def rematerialized(x, *weights):
    for w in weights:
        x = jax.checkpoint(lambda x, w: x + jax.nn.gelu(layer_norm(x) @ w))(x, w)
    return x


def mixer(x, a, b, c, d):
    x = x + mlp(layer_norm(x).mT, a, b).mT
    return x + mlp(layer_norm(x), c, d)


def block(x, wqkv, wo, up, down):
    x = self_attention(layer_norm(x), wqkv, wo)
    return x + mlp(layer_norm(x), up, down)


def llama(x, wqkv, wo, gate, up, down):
    x = x + self_attention(rms_norm(x), wqkv, wo)
    y = rms_norm(x)
    return x + (jax.nn.silu(y @ gate) * (y @ up)) @ down


def experts(x, router, up, down, k=2):
    weights, chosen = jax.lax.top_k(jax.nn.softmax(x @ router), k)
    gates = (jax.nn.one_hot(chosen, router.shape[1]) * weights[..., None]).sum(-2)
    return jnp.einsum("nef,efd,ne->nd", jax.nn.gelu(jnp.einsum("nd,edf->nef", x, up)), down, gates)


def capacity_experts(x, router, up, down, capacity=64):
    chosen = jax.nn.one_hot((x @ router).argmax(-1), router.shape[1])
    place = (jnp.cumsum(chosen, 0) * chosen).sum(-1).astype(int) - 1
    dispatch = chosen[:, :, None] * jax.nn.one_hot(place, capacity)[:, None]
    y = jax.nn.relu(jnp.einsum("ecd,edf->ecf", jnp.einsum("nec,nd->ecd", dispatch, x), up))
    return jnp.einsum("nec,ecd->nd", dispatch, jnp.einsum("ecf,efd->ecd", y, down))


def ragged_experts(x, router, up, down):
    chosen = (x @ router).argmax(-1)
    order = jnp.argsort(chosen)
    sizes = jnp.bincount(chosen, length=router.shape[1]).astype(jnp.int32)
    y = jax.lax.ragged_dot(jax.nn.gelu(jax.lax.ragged_dot(x[order], up, sizes)), down, sizes)
    return y[jnp.argsort(order)]


def deep(x, weights):
    return jax.lax.scan(lambda x, w: (x + jax.nn.gelu(layer_norm(x) @ w), None), x, weights)[0]


def equilibrium(x, w, u):
    return jax.lax.fori_loop(0, 20, lambda _, z: jnp.tanh(z @ w + x @ u), jnp.zeros_like(x))


def ode(x, w, v):
    f = lambda x: jnp.tanh(x @ w) @ v
    for _ in range(4):
        a = f(x)
        b = f(x + a / 8)
        c = f(x + b / 8)
        x = x + (a + 2 * b + 2 * c + f(x + c / 4)) / 24
    return x


def nerf(x, directions, *weights):
    x = x[..., None] * 2.0 ** jnp.arange(10)
    x = jnp.concatenate([jnp.sin(x), jnp.cos(x)], -1).reshape(*x.shape[:-2], -1)
    y = mlp(x, *weights, act=jax.nn.relu)
    alpha = 1 - jnp.exp(-jax.nn.softplus(y[..., 3]))
    weights = alpha * jnp.cumprod(jnp.concatenate([jnp.ones_like(alpha[:, :1]), 1 - alpha[:, :-1] + 1e-10], 1), 1)
    return (weights[..., None] * jax.nn.sigmoid(y[..., :3])).sum(1) * directions.sum(-1, keepdims=True)


def kan(x, grid, w):
    return jnp.einsum("bik,iko->bo", jnp.exp(-jnp.square(x[..., None] - grid)), w)


def maml(w, v, x, y):
    loss = lambda p, x, y: jnp.square(jnp.tanh(x @ p[0]) @ p[1] - y).mean()

    def task(x, y):
        p = w, v
        for _ in range(3):
            p = jax.tree.map(lambda a, g: a - 0.1 * g, p, jax.grad(loss)(p, x, y))
        return loss(p, x, y)

    return jax.vmap(task)(x, y).mean()


def per_example(w, v, x, y):
    gradients = jax.vmap(jax.grad(lambda p, x, y: jnp.square(jnp.tanh(x @ p[0]) @ p[1] - y).sum()), (None, 0, 0))((w, v), x, y)
    norm = jnp.sqrt(sum(jnp.square(g).sum((1, 2)) for g in gradients))
    return [(g / jnp.maximum(1, norm)[:, None, None]).mean(0) for g in gradients]


def pinn(points, *weights):
    u = lambda x: mlp(x, *weights, act=jnp.tanh)[0]
    return jax.vmap(lambda x: jnp.trace(jax.hessian(u)(x)) + jnp.sin(x).prod())(points)


W = "512x512"
both("mlp", mlp, "256x512", "512x2048", "2048x512")
both("mlp_deep", mlp, "1024x256", *("256x256",) * 6)
both("mlp_relu", lambda *a: mlp(*a, act=jax.nn.relu), "256x784", "784x512", "512x512", "512x10")
both("mlp_silu_half", lambda *a: mlp(*a, act=jax.nn.silu), "bf16:256x512", "bf16:512x1024", "bf16:1024x512")
both("swiglu", lambda x, a, b, c: (jax.nn.silu(x @ a) * (x @ b)) @ c, "256x512", "512x1408", "512x1408", "1408x512")
both("geglu", lambda x, a, c: (lambda p: (jax.nn.gelu(p[0]) * p[1]) @ c)(jnp.split(x @ a, 2, -1)), "256x512", "512x2048", "1024x512")
both("rematerialized", rematerialized, "512x512", *(W,) * 4)
both("layer_norm", layer_norm, "4096x512", "512", "512")
both("rms_norm", rms_norm, "4096x512", "512")
both("group_norm", group_norm, "8x32x32x128")
both("batch_norm", lambda x, s, b: (x - x.mean(0)) * jax.lax.rsqrt(x.var(0) + 1e-5) * s + b, "2048x512", "512", "512")
both("instance_norm", lambda x: (x - x.mean((1, 2), keepdims=True)) * jax.lax.rsqrt(x.var((1, 2), keepdims=True) + 1e-5), "8x64x64x64")
both("weight_norm", lambda x, v, g: x @ (v * g / jnp.linalg.norm(v, axis=0)), "256x512", W, "512")
both("spectral_norm", lambda x, w, u: x @ w / jnp.linalg.norm(w @ (lambda v: v / jnp.linalg.norm(v))(w.T @ u)), "256x512", W, "512")
both("mixer", mixer, "8x196x256", "196x384", "384x196", "256x1024", "1024x256")
both("block", block, "2x256x512", "512x1536", W, "512x2048", "2048x512")
both("llama", llama, "2x256x512", "512x1536", W, "512x1408", "512x1408", "1408x512")
both("head", lambda x, w, y: cross_entropy(x @ w, y), "512x256", "256x8192", "s32:512")
both("head_tied", lambda e, t, y: cross_entropy(layer_norm(e[t]) @ e.T, y), "4096x256", "s32:512", "s32:512")
both("experts", experts, "256x256", "256x8", "8x256x512", "8x512x256")
both("capacity_experts", capacity_experts, "256x256", "256x8", "8x256x512", "8x512x256")
both("ragged_experts", ragged_experts, "512x256", "256x8", "8x256x512", "8x512x256")
both("deep", deep, "256x512", "8x512x512")
both("equilibrium", equilibrium, "256x256", "256x256", "256x256")
both("ode", ode, "512x256", "256x256", "256x256")
both("nerf", nerf, "256x64x3", "256x3", "60x128", "128x128", "128x4")
both("siren", lambda *a: mlp(*a, act=lambda x: jnp.sin(30 * x)), "16384x2", "2x128", "128x128", "128x3")
both("kan", kan, "256x64", "16", "64x16x128")
both("maml", maml, "64x128", "128x16", "8x64x64", "8x64x16")
both("per_example", per_example, "64x128", "128x16", "64x64", "64x16")
both("pinn", pinn, "2048x2", "2x64", "64x64", "64x1")
both("lora", lambda x, w, a, b: x @ w + (x @ a) @ b, "512x512", W, "512x8", "8x512")
both("film", lambda x, c, w: (lambda p: x * (1 + p[0][:, None]) + p[1][:, None])(jnp.split(c @ w, 2, -1)), "16x256x256", "16x128", "128x512")
both("highway", lambda x, a, b: (lambda t: t * jnp.tanh(x @ a) + (1 - t) * x)(jax.nn.sigmoid(x @ b)), "512x512", W, W)
both("bilinear", lambda x, y, w: jnp.einsum("bi,oij,bj->bo", x, w, y), "64x128", "64x128", "64x128x128")
both("factorization_machine", lambda x, v: (jnp.square(x @ v) - jnp.square(x) @ jnp.square(v)).sum(-1), "1024x512", "512x64")
both("deep_sets", lambda x, a, b, c: jax.nn.relu(jax.nn.relu(x @ a).max(1) @ b) @ c, "32x256x64", "64x256", "256x256", "256x64")
both("dlrm", lambda x, e, i, w: (lambda z: jnp.einsum("bid,bjd->bij", z, z).reshape(len(x), -1) @ w)(jnp.concatenate([x[:, None], e[jnp.arange(16), i]], 1)), "256x64", "16x1000x64", "s32:256x16", "289x64")
both("wide_and_deep", lambda e, i, *w: mlp(e[i].reshape(len(i), -1), *w, act=jax.nn.relu), "10000x32", "s32:512x16", "512x256", "256x64", "64x1")
both("hypernetwork", lambda z, x, w: jnp.tanh(jnp.einsum("bi,bio->bo", x, (z @ w).reshape(-1, 64, 64))), "128x32", "128x64", "32x4096")
both("quantized", lambda x, w, s: x @ (w.astype(jnp.float32) * s), "256x512", "s8:512x2048", "2048")
both("fake_quantized", lambda x, w: x @ (w + jax.lax.stop_gradient(jnp.clip(jnp.round(w * 16), -128, 127) / 16 - w)), "256x512", "512x1024")
both("dropout", lambda x, w, k: jnp.where(jax.random.bernoulli(jax.random.wrap_key_data(k), 0.9, (256, 2048)), jax.nn.relu(x @ w), 0), "256x512", "512x2048", "u32:2")
add("quantize_rows", lambda x: (lambda s: (jnp.round(x / s).astype(jnp.int8), s))(jnp.abs(x).max(-1, keepdims=True) / 127), "4096x1024")
add("quantized_product", lambda x, w: jax.lax.dot(x, w, preferred_element_type=jnp.int32).astype(jnp.float32) * 0.01, "s8:512x1024", "s8:1024x1024")
add("jacobian", jax.jacrev(lambda x, w, v: jnp.tanh(x @ w) @ v), "256", "256x256", "256x256")
add("hessian_product", lambda w, x, t: jax.jvp(jax.grad(lambda w: jnp.square(jnp.tanh(x @ w)).sum()), (w,), (t,))[1], "256x256", "512x256", "256x256")
