"""Networks in plain JAX: inference and training steps."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from . import program
from .convolutions import NHWC, pool
from .inputs import integers, normal
from .reductions import cross_entropy, layer_norm, rms_norm


class Parameters:
    """Makes the weights of a network, in the order in which it asks for them."""

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def weight(self, *shape):
        fan_in = int(np.prod(shape[:-1]))
        return self.rng.standard_normal(shape, dtype=np.float32) * np.float32(fan_in**-0.5)

    def norm(self, size):
        return np.ones(size, np.float32), np.zeros(size, np.float32)


def conv(x, w, stride=1, groups=1):
    return jax.lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=NHWC, feature_group_count=groups)


def scale_shift(x, parameters):
    return x * parameters[0] + parameters[1]


def batch_norm(x, parameters):
    mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    return scale_shift((x - mean) * jax.lax.rsqrt(variance + 1e-5), parameters)


# --- ResNet -----------------------------------------------------------------------------------------------------------


def resnet_parameters(blocks, bottleneck):
    make, layers, channels = Parameters(), [], 64
    for stage, count in enumerate(blocks):
        width = 64 << stage
        for index in range(count):
            out = width * 4 if bottleneck else width
            sizes = [(1, channels, width), (3, width, width), (1, width, out)] if bottleneck else [(3, channels, width), (3, width, width)]
            convs = [(make.weight(k, k, i, o), make.norm(o)) for k, i, o in sizes]
            shortcut = (make.weight(1, 1, channels, out), make.norm(out)) if channels != out or (index == 0 and stage) else None
            layers.append((convs, shortcut))
            channels = out
    return (make.weight(7, 7, 3, 64), make.norm(64)), layers, make.weight(channels, 1000)


def resnet(parameters, x, blocks, norm=scale_shift):
    (stem, stem_norm), layers, head = parameters
    x = jax.nn.relu(norm(conv(x, stem, 2), stem_norm))
    x = pool(x, jax.lax.max, -jnp.inf, 3, 2, "SAME")
    first = {sum(blocks[:stage]) for stage in range(1, len(blocks))}
    for index, (convs, shortcut) in enumerate(layers):
        stride, y = (2 if index in first else 1), x
        strided = 1 if len(convs) == 3 else 0
        for position, (w, n) in enumerate(convs):
            y = norm(conv(y, w, stride if position == strided else 1), n)
            y = jax.nn.relu(y) if position + 1 < len(convs) else y
        x = jax.nn.relu(y * 0.1 + (norm(conv(x, shortcut[0], stride), shortcut[1]) if shortcut else x))
    return x.mean((1, 2)) @ head


_RESNET_50, _RESNET_18 = (3, 4, 6, 3), (2, 2, 2, 2)
for _batch in (1, 8):
    program("models", f"resnet50_batch_{_batch}", 1e-2)(
        lambda batch=_batch: (functools.partial(resnet, blocks=_RESNET_50), (resnet_parameters(_RESNET_50, True), normal(batch, 224, 224, 3)()))
    )


def sgd_step(loss, parameters, *batch):
    value, gradient = jax.value_and_grad(loss)(parameters, *batch)
    return value, jax.tree.map(lambda p, g: p - 0.01 * g, parameters, gradient)


@program("training", tolerance=2e-2)
def resnet18_batch_4():
    def loss(parameters, x, y):
        return cross_entropy(resnet(parameters, x, _RESNET_18, batch_norm), y)

    return functools.partial(sgd_step, loss), (resnet_parameters(_RESNET_18, False), normal(4, 64, 64, 3)(), integers(4, high=1000)())


@program("models", tolerance=1e-2)
def mobilenet():
    make, layers, channels = Parameters(), [], 32
    stem = make.weight(3, 3, 3, 32)
    for out, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)):
        layers.append((make.weight(3, 3, 1, channels), make.norm(channels), make.weight(1, 1, channels, out), make.norm(out)))
        channels = out
    strides = (1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1)

    def run(x, stem, layers, head):
        x = jax.nn.relu6(conv(x, stem, 2))
        for (depthwise, n1, pointwise, n2), stride in zip(layers, strides, strict=True):
            x = jax.nn.relu6(scale_shift(conv(x, depthwise * 3, stride, x.shape[-1]), n1))
            x = jax.nn.relu6(scale_shift(conv(x, pointwise), n2))
        return x.mean((1, 2)) @ head

    return run, (normal(1, 224, 224, 3)(), stem, layers, make.weight(1024, 1000))


@program("models", tolerance=1e-2)
def u_net():
    make = Parameters()
    down = [(make.weight(3, 3, i, o), make.weight(3, 3, o, o)) for i, o in ((3, 32), (32, 64), (64, 128))]
    up = [(make.weight(2, 2, i, o), make.weight(3, 3, 2 * o, o)) for i, o in ((128, 64), (64, 32))]

    def run(x, down, up, head):
        skips = []
        for index, (a, b) in enumerate(down):
            x = pool(x, jax.lax.max, -jnp.inf) if index else x
            x = jax.nn.relu(conv(jax.nn.relu(conv(x, a)), b))
            skips.append(x)
        for (t, w), skip in zip(up, skips[-2::-1], strict=True):
            x = jax.lax.conv_transpose(x, t, (2, 2), "SAME")
            x = jax.nn.relu(conv(jnp.concatenate([x, skip], -1), w))
        return conv(x, head)

    return run, (normal(1, 128, 128, 3)(), down, up, make.weight(1, 1, 32, 2))


# --- transformers -----------------------------------------------------------------------------------------------------


def transformer_parameters(layers, width, hidden, vocabulary, length):
    make = Parameters()
    blocks = [
        {
            "norm1": make.norm(width),
            "qkv": make.weight(width, 3 * width),
            "out": make.weight(width, width),
            "norm2": make.norm(width),
            "up": make.weight(width, hidden),
            "down": make.weight(hidden, width),
        }
        for _ in range(layers)
    ]
    return {"token": make.weight(vocabulary, width), "position": make.weight(length, width), "blocks": blocks, "norm": make.norm(width)}


def attend(q, k, v, mask):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = jnp.where(mask, scores, -1e9)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)


def transformer_block(p, x, heads, mask):
    batch, length, width = x.shape
    y = layer_norm(x, *p["norm1"])
    q, k, v = jnp.split((y @ p["qkv"]).reshape(batch, length, 3 * heads, width // heads), 3, axis=2)
    x = x + attend(q, k, v, mask).reshape(x.shape) @ p["out"]
    return x + jax.nn.gelu(layer_norm(x, *p["norm2"]) @ p["up"]) @ p["down"]


def transformer(p, tokens, heads, causal):
    length = tokens.shape[1]
    x = p["token"][tokens] + p["position"][:length]
    mask = jnp.tril(jnp.ones((length, length), bool)) if causal else None
    for block in p["blocks"]:
        x = transformer_block(block, x, heads, mask)
    return layer_norm(x, *p["norm"])


@program("models", tolerance=1e-2)
def bert_base_128():
    return functools.partial(transformer, heads=12, causal=False), (transformer_parameters(12, 768, 3072, 30522, 512), integers(1, 128, high=30522)())


@program("models", tolerance=1e-2)
def gpt2_forward_256():
    def run(p, tokens):
        return transformer(p, tokens, 12, True) @ p["token"].T

    return run, (transformer_parameters(12, 768, 3072, 50257, 1024), integers(1, 256, high=50257)())


@program("models", tolerance=1e-2)
def gpt2_decode():
    """One token with a cache of 512."""

    def run(p, token, cache, position):
        x = p["token"][token] + p["position"][position]
        new = []
        for block, (keys, values) in zip(p["blocks"], cache, strict=True):
            y = layer_norm(x, *block["norm1"])
            q, k, v = jnp.split((y @ block["qkv"]).reshape(1, 1, 36, 64), 3, axis=2)
            keys = jax.lax.dynamic_update_slice(keys, k, (0, position, 0, 0))
            values = jax.lax.dynamic_update_slice(values, v, (0, position, 0, 0))
            x = x + attend(q, keys, values, jnp.arange(512) <= position).reshape(x.shape) @ block["out"]
            x = x + jax.nn.gelu(layer_norm(x, *block["norm2"]) @ block["up"]) @ block["down"]
            new.append((keys, values))
        return layer_norm(x, *p["norm"]) @ p["token"].T, new

    cache = [(normal(1, 512, 12, 64, seed=i)(), normal(1, 512, 12, 64, seed=100 + i)()) for i in range(12)]
    return run, (transformer_parameters(12, 768, 3072, 50257, 1024), integers(1, 1, high=50257)(), cache, np.int32(200))


@program("models", tolerance=1e-2)
def vit_small():
    make = Parameters()
    parameters = transformer_parameters(6, 384, 1536, 1, 196)

    def run(p, w, images):
        x = images.reshape(4, 14, 16, 14, 16, 3).transpose(0, 1, 3, 2, 4, 5).reshape(4, 196, 768) @ w + p["position"]
        for block in p["blocks"]:
            x = transformer_block(block, x, 6, None)
        return layer_norm(x, *p["norm"]).mean(1)

    return run, (parameters, make.weight(768, 384), normal(4, 224, 224, 3)())


@program("training", tolerance=2e-2)
def llama_like_adamw():
    width, heads, hidden, vocabulary, length = 256, 8, 688, 4096, 128
    make = Parameters()
    names = {"q": (width, width), "k": (width, width), "v": (width, width), "o": (width, width), "gate": (width, hidden), "up": (width, hidden), "down": (hidden, width)}
    blocks = [{**{name: make.weight(*shape) for name, shape in names.items()}, "n1": np.ones(width, "f"), "n2": np.ones(width, "f")} for _ in range(4)]
    parameters = {"token": make.weight(vocabulary, width), "blocks": blocks, "norm": np.ones(width, "f")}

    def rotate(x):
        angle = jnp.arange(length)[:, None] * 10000.0 ** (-jnp.arange(0, width // heads, 2) / (width // heads))
        cosine, sine = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]
        a, b = jnp.split(x, 2, axis=-1)
        return jnp.concatenate([a * cosine - b * sine, a * sine + b * cosine], -1)

    def loss(p, tokens):
        x, mask = p["token"][tokens], jnp.tril(jnp.ones((length, length), bool))
        for block in p["blocks"]:
            y = rms_norm(x, block["n1"])
            q, k, v = ((y @ block[name]).reshape(-1, length, heads, width // heads) for name in "qkv")
            x = x + attend(rotate(q), rotate(k), v, mask).reshape(x.shape) @ block["o"]
            y = rms_norm(x, block["n2"])
            x = x + (jax.nn.silu(y @ block["gate"]) * (y @ block["up"])) @ block["down"]
        logits = rms_norm(x, p["norm"]) @ p["token"].T
        return cross_entropy(logits[:, :-1].reshape(-1, vocabulary), tokens[:, 1:].reshape(-1))

    def step(p, m, v, tokens):
        value, g = jax.value_and_grad(loss)(p, tokens)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, v, g)
        p = jax.tree.map(lambda p, m, v: p - 1e-3 * (m / (jnp.sqrt(v) + 1e-3) + 0.01 * p), p, m, v)
        return value, p, m, v

    zeros = jax.tree.map(np.zeros_like, parameters)
    return step, (parameters, zeros, zeros, integers(2, length, high=vocabulary)())


@program("training", tolerance=1e-2)
def mlp_adam():
    make = Parameters()
    parameters = [(make.weight(i, o), np.zeros(o, "f")) for i, o in ((784, 512), (512, 512), (512, 10))]

    def loss(p, x, y):
        for w, b in p[:-1]:
            x = jax.nn.relu(x @ w + b)
        return cross_entropy(x @ p[-1][0] + p[-1][1], y)

    def step(p, m, v, x, y):
        value, g = jax.value_and_grad(loss)(p, x, y)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
        return value, jax.tree.map(lambda p, m, v: p - 1e-3 * m / (jnp.sqrt(v) + 1e-3), p, m, v), m, v

    zeros = jax.tree.map(np.zeros_like, parameters)
    return step, (parameters, zeros, zeros, normal(128, 784)(), integers(128, high=10)())


@program("training", tolerance=1e-2)
def linear_regression():
    def step(w, x, y):
        return w - 0.1 * jax.grad(lambda w: ((x @ w - y) ** 2).mean())(w)

    return step, (normal(20)(), normal(1000, 20)(), normal(1000)())


@program("training", tolerance=1e-2)
def convnet_mnist():
    make = Parameters()
    parameters = [make.weight(3, 3, 1, 32), make.weight(3, 3, 32, 64), make.weight(3136, 10)]

    def loss(p, x, y):
        x = pool(jax.nn.relu(conv(x, p[0])), jax.lax.max, -jnp.inf)
        x = pool(jax.nn.relu(conv(x, p[1])), jax.lax.max, -jnp.inf)
        return cross_entropy(x.reshape(len(x), -1) @ p[2], y)

    return functools.partial(sgd_step, loss), (parameters, normal(64, 28, 28, 1)(), integers(64, high=10)())


@program("training", tolerance=1e-2)
def ppo_update():
    make = Parameters()
    parameters = [make.weight(i, o) for i, o in ((8, 64), (64, 64), (64, 5))]

    def loss(p, observation, action, advantage, old, target):
        h = jnp.tanh(jnp.tanh(observation @ p[0]) @ p[1]) @ p[2]
        logits, value = h[:, :4], h[:, 4]
        log_p = jnp.take_along_axis(jax.nn.log_softmax(logits), action[:, None], 1)[:, 0]
        ratio = jnp.exp(log_p - old)
        gain = jnp.minimum(ratio * advantage, jnp.clip(ratio, 0.8, 1.2) * advantage)
        return -gain.mean() + 0.5 * ((value - target) ** 2).mean()

    batch = (normal(2048, 8)(), integers(2048, high=4)(), normal(2048)(), normal(2048, scale=0.1)(), normal(2048, seed=1)())
    return functools.partial(sgd_step, loss), (parameters, *batch)
