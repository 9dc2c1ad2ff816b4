"""Convolutional layers and networks, channels last and first."""

import jax
import jax.numpy as jnp
from jax import lax

from . import family
from .networks import group_norm

_, both = family(__name__)

LAYOUT = {"NHWC": ("NHWC", "HWIO", "NHWC"), "NCHW": ("NCHW", "OIHW", "NCHW")}


def conv(x, w, stride=1, layout="NHWC", groups=1, dilation=1, padding="SAME"):
    return lax.conv_general_dilated(x, w, (stride, stride), padding, rhs_dilation=(dilation, dilation), dimension_numbers=LAYOUT[layout], feature_group_count=groups)


def window(layout, size):
    return (1, size, size, 1) if layout == "NHWC" else (1, 1, size, size)


def pool(x, op="max", size=2, stride=2, layout="NHWC", padding="VALID"):
    if op == "max":
        return lax.reduce_window(x, -jnp.inf, lax.max, window(layout, size), window(layout, stride), padding)
    return lax.reduce_window(x, 0.0, lax.add, window(layout, size), window(layout, stride), padding) / size**2


def batch_norm(x, axes=(0, 1, 2)):
    return (x - x.mean(axes, keepdims=True)) * lax.rsqrt(x.var(axes, keepdims=True) + 1e-5)


def lenet(x, a, b, c, d, e, layout="NHWC"):
    for w in (a, b):
        x = pool(jax.nn.relu(conv(x, w, layout=layout, padding="VALID")), layout=layout)
    x = x.reshape(len(x), -1)
    return jax.nn.relu(jax.nn.relu(x @ c) @ d) @ e


def residual(x, a, b, layout="NHWC"):
    axes = (0, 1, 2) if layout == "NHWC" else (0, 2, 3)
    y = jax.nn.relu(batch_norm(conv(x, a, layout=layout), axes))
    return jax.nn.relu(x + batch_norm(conv(y, b, layout=layout), axes))


def bottleneck(x, a, b, c):
    y = jax.nn.relu(batch_norm(conv(x, a)))
    y = jax.nn.relu(batch_norm(conv(y, b)))
    return jax.nn.relu(x + batch_norm(conv(y, c)))


def dense(x, *weights, layout="NHWC"):
    axis = 3 if layout == "NHWC" else 1
    for w in weights:
        x = jnp.concatenate([x, conv(jax.nn.relu(x), w, layout=layout)], axis)
    return x


def mobile(x, up, depth, down):
    y = jax.nn.relu6(batch_norm(conv(x, up)))
    y = jax.nn.relu6(batch_norm(conv(y, depth, groups=y.shape[-1])))
    return x + batch_norm(conv(y, down))


def convnext(x, depth, up, down):
    y = batch_norm(conv(x, depth, groups=x.shape[-1]), (-1,))
    return x + jax.nn.gelu(y @ up) @ down


def squeeze(x, a, b, layout="NHWC"):
    axes = (1, 2) if layout == "NHWC" else (2, 3)
    s = jax.nn.sigmoid(jax.nn.relu(x.mean(axes) @ a) @ b)
    return x * jnp.expand_dims(s, axes)


def upsample(x):
    return jnp.repeat(jnp.repeat(x, 2, 1), 2, 2)


def unet(x, a, b, c, d):
    y = jax.nn.silu(conv(x, a))
    z = jax.nn.silu(conv(pool(y, "mean"), b))
    z = upsample(jax.nn.silu(conv(z, c)))
    return conv(jnp.concatenate([y, z], -1), d)


def inception(x, *weights):
    return jnp.concatenate([jax.nn.relu(conv(x, w)) for w in weights] + [pool(x, size=3, stride=1, padding="SAME")], -1)


def autoencoder(x, a, b, c, d):
    y = jax.nn.relu(conv(jax.nn.relu(conv(x, a, 2)), b, 2))
    y = jax.nn.relu(lax.conv_transpose(y, c, (2, 2), "SAME", dimension_numbers=LAYOUT["NHWC"]))
    return jax.nn.sigmoid(lax.conv_transpose(y, d, (2, 2), "SAME", dimension_numbers=LAYOUT["NHWC"]))


def wavenet(x, *weights):
    skip = 0.0
    for i, w in enumerate(weights):
        y = lax.conv_general_dilated(x, w, (1,), [(2**i, 0)], rhs_dilation=(2**i,), dimension_numbers=("NWC", "WIO", "NWC"))
        a, b = jnp.split(y, 2, -1)
        y = jnp.tanh(a) * jax.nn.sigmoid(b)
        x, skip = x + y, skip + y
    return jax.nn.relu(skip)


def style(x, y, w):
    gram = lambda z: (lambda f: jnp.einsum("bpc,bpd->bcd", f, f) / f.shape[1])(jax.nn.relu(conv(z, w)).reshape(len(z), -1, w.shape[-1]))
    return gram(x) - gram(y)


def shuffle(x, w):
    y = conv(x, w)
    b, h, v, c = y.shape
    return y.reshape(b, h, v, 2, 2, c // 4).transpose(0, 1, 3, 2, 4, 5).reshape(b, 2 * h, 2 * v, c // 4)


X = {"NHWC": "8x32x32x64", "NCHW": "8x64x32x32"}
K = {"NHWC": "3x3x64x64", "NCHW": "64x64x3x3"}
for layout in LAYOUT:
    both(f"conv_{layout}", lambda x, w, l=layout: jax.nn.relu(conv(x, w, layout=l)), X[layout], K[layout])
    both(f"strided_{layout}", lambda x, w, l=layout: conv(x, w, 2, l), X[layout], K[layout])
    both(f"dilated_{layout}", lambda x, w, l=layout: conv(x, w, 1, l, dilation=2), X[layout], K[layout])
    both(f"residual_{layout}", lambda *a, l=layout: residual(*a, l), X[layout], K[layout], K[layout])
    both(f"squeeze_{layout}", lambda *a, l=layout: squeeze(*a, l), X[layout], "64x16", "16x64")
    for op in ("max", "mean"):
        both(f"{op}_pool_{layout}", lambda x, l=layout, o=op: pool(x, o, layout=l), X[layout])
        both(f"{op}_pool_overlapping_{layout}", lambda x, l=layout, o=op: pool(x, o, 3, 2, l, "SAME"), X[layout])
    both(f"mean_pool_dense_{layout}", lambda x, l=layout: pool(x, "mean", 3, 1, l, "SAME"), X[layout])
    both(f"global_{layout}", lambda x, w, v, l=layout: jax.nn.relu(conv(x, w, layout=l)).mean((1, 2) if l == "NHWC" else (2, 3)) @ v, X[layout], K[layout], "64x10")
    sizes = ("64x28x28x1", "5x5x1x6", "5x5x6x16") if layout == "NHWC" else ("64x1x28x28", "6x1x5x5", "16x6x5x5")
    both(f"lenet_{layout}", lambda *a, l=layout: lenet(*a, layout=l), *sizes, "256x120", "120x84", "84x10")
    grown = [f"3x3x{64 + 32 * i}x32" if layout == "NHWC" else f"32x{64 + 32 * i}x3x3" for i in range(4)]
    both(f"dense_{layout}", lambda *a, l=layout: dense(*a, layout=l), X[layout], *grown)
both("depthwise", lambda x, w: conv(x, w, groups=64), "8x32x32x64", "3x3x1x64")
both("grouped", lambda x, w: conv(x, w, groups=8), "8x32x32x64", "3x3x8x64")
both("bottleneck", bottleneck, "8x28x28x256", "1x1x256x64", "3x3x64x64", "1x1x64x256")
both("mobile", mobile, "8x28x28x32", "1x1x32x192", "3x3x1x192", "1x1x192x32")
both("convnext", convnext, "8x28x28x96", "7x7x1x96", "96x384", "384x96")
both("unet", unet, "4x64x64x32", "3x3x32x64", "3x3x64x128", "3x3x128x64", "3x3x128x32")
both("inception", inception, "8x28x28x64", "1x1x64x32", "3x3x64x64", "5x5x64x16")
both("autoencoder", autoencoder, "32x32x32x3", "3x3x3x32", "3x3x32x64", "3x3x64x32", "3x3x32x3")
both("wavenet", wavenet, "8x1024x32", *("2x32x64",) * 6)
both("style", style, "2x64x64x16", "2x64x64x16", "3x3x16x64")
both("shuffle", shuffle, "4x64x64x32", "3x3x32x128")
both("group_norm_conv", lambda x, w: conv(jax.nn.silu(group_norm(x)), w), "8x32x32x64", "3x3x64x64")
both("patches", lambda x, w: x.reshape(8, 14, 16, 14, 16, 3).swapaxes(2, 3).reshape(8, 196, -1) @ w, "8x224x224x3", "768x192")
both("patches_conv", lambda x, w: conv(x, w, 16), "8x224x224x3", "16x16x3x192")
both("stem", lambda x, w: pool(jax.nn.relu(batch_norm(conv(x, w, 2))), size=3, padding="SAME"), "2x224x224x3", "7x7x3x64")
both("volume", lambda x, w: jax.nn.relu(lax.conv_general_dilated(x, w, (1,) * 3, "SAME", dimension_numbers=("NDHWC", "DHWIO", "NDHWC"))), "2x16x32x32x16", "3x3x3x16x32")
both("conv1d", lambda x, w: jax.nn.gelu(lax.conv_general_dilated(x, w, (2,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))), "8x2048x80", "3x80x256")
both("half", lambda x, w: jax.nn.relu(conv(x, w)), "bf16:8x32x32x64", "bf16:3x3x64x64")
both("pyramid", lambda x, w: [jax.nn.relu(conv(pool(x, "mean", s, s), w)) for s in (1, 2, 4, 8)], "2x64x64x32", "1x1x32x32")
both("nearest_up", lambda x, w: conv(upsample(x), w), "4x32x32x64", "3x3x64x32")
both("gan_penalty", lambda x, w, v: jnp.square(jnp.sqrt(jnp.square(jax.grad(lambda x: (jax.nn.leaky_relu(conv(x, w, 2)).reshape(len(x), -1) @ v).sum())(x)).sum((1, 2, 3))) - 1).mean(), "16x32x32x3", "4x4x3x64", "16384")
