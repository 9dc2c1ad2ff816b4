"""Convolutions and pooling: ResNet's layers, depthwise, grouped, transposed, their gradients."""

import jax
import jax.numpy as jnp

from . import add
from .inputs import normal

NHWC = ("NHWC", "HWIO", "NHWC")
NCHW = ("NCHW", "OIHW", "NCHW")


def convolution(layout=NHWC, stride=1, padding="SAME", groups=1, **options):
    def apply(x, w):
        spatial = x.ndim - 2
        return jax.lax.conv_general_dilated(x, w, (stride,) * spatial, padding, dimension_numbers=layout, feature_group_count=groups, **options)

    return apply


def _add(name, function, *inputs, tolerance=2e-3):
    add("convolution", name, function, *inputs, tolerance=tolerance)


for _size, _channels in ((56, 64), (28, 128), (14, 256), (7, 512)):
    _add(f"resnet_3x3_{_size}", convolution(), normal(1, _size, _size, _channels), normal(3, 3, _channels, _channels, scale=0.05))
_add("resnet_stem", convolution(stride=2), normal(1, 224, 224, 3), normal(7, 7, 3, 64))
_add("resnet_3x3_batch_8", convolution(), normal(8, 28, 28, 128), normal(3, 3, 128, 128, scale=0.05))
_add("resnet_1x1", convolution(), normal(8, 28, 28, 256), normal(1, 1, 256, 64, scale=0.1))
_add("resnet_1x1_stride_2", convolution(stride=2), normal(4, 56, 56, 256), normal(1, 1, 256, 512, scale=0.1))
_add("nchw_3x3", convolution(NCHW), normal(1, 128, 28, 28), normal(128, 128, 3, 3, scale=0.05))
_add("nchw_batch_8", convolution(NCHW), normal(8, 64, 56, 56), normal(64, 64, 3, 3, scale=0.05))
_add("to_rgb_3x3", convolution(), normal(4, 64, 64, 64), normal(3, 3, 64, 3, scale=0.05))
_add("to_mask_7x7", convolution(), normal(1, 128, 128, 64), normal(7, 7, 64, 1, scale=0.05))
_add("transposed_to_rgb", lambda x, w: jax.lax.conv_transpose(x, w, (2, 2), "SAME"), normal(16, 16, 16, 64), normal(4, 4, 64, 3, scale=0.05))
_add("depthwise_112", convolution(groups=32), normal(1, 112, 112, 32), normal(3, 3, 1, 32))
_add("depthwise_14_nhwc", convolution(groups=512), normal(8, 14, 14, 512), normal(3, 3, 1, 512))
_add("depthwise_nchw", convolution(NCHW, groups=128), normal(4, 128, 28, 28), normal(128, 1, 3, 3))
_add("grouped_32", convolution(groups=32), normal(1, 28, 28, 256), normal(3, 3, 8, 256))
_add("transposed_2x", convolution(padding=((1, 2), (1, 2)), lhs_dilation=(2, 2)), normal(1, 32, 32, 64), normal(4, 4, 64, 32, scale=0.05))
_add("dilated", convolution(rhs_dilation=(2, 2)), normal(1, 56, 56, 64), normal(3, 3, 64, 64, scale=0.05))
_add("conv1d_audio", convolution(("NWC", "WIO", "NWC"), stride=2), normal(4, 8000, 16), normal(9, 16, 32))
_add("conv3d", convolution(("NDHWC", "DHWIO", "NDHWC")), normal(1, 16, 28, 28, 16), normal(3, 3, 3, 16, 32))
_add("bias_relu", lambda x, w, b: jax.nn.relu(convolution()(x, w) + b), normal(4, 28, 28, 128), normal(3, 3, 128, 128, scale=0.05), normal(128))
_add("weight_grad", lambda x, w: jax.grad(lambda w: (convolution()(x, w) ** 2).sum())(w), normal(8, 28, 28, 64), normal(3, 3, 64, 64, scale=0.05))
_add("input_grad", lambda x, w: jax.grad(lambda x: (convolution()(x, w) ** 2).sum())(x), normal(8, 28, 28, 64), normal(3, 3, 64, 64, scale=0.05))
_add("bf16_3x3", convolution(), normal(4, 28, 28, 128, type="bf16"), normal(3, 3, 128, 128, scale=0.05, type="bf16"),
    tolerance=2**-7)  # one unit of bf16: both round sums of f32, made in orders of their own
_add("image_blur", convolution(NCHW, padding="VALID"), normal(1, 1, 1080, 1920), normal(1, 1, 5, 5))


def pool(x, combine, start, window=2, stride=2, padding="VALID"):
    return jax.lax.reduce_window(x, start, combine, (1, window, window, 1), (1, stride, stride, 1), padding)


def pool_rows(x, combine, start, window, stride):
    return jax.lax.reduce_window(x, start, combine, (1, 1, window, window), (1, 1, stride, stride), "SAME")


add("pooling", "max_3x3_s2", lambda x: pool(x, jax.lax.max, -jnp.inf, 3, 2, "SAME"), normal(8, 112, 112, 64))
add("pooling", "max_nchw", lambda x: pool_rows(x, jax.lax.max, -jnp.inf, 3, 2), normal(8, 64, 112, 112))
add("pooling", "average_nchw", lambda x: pool_rows(x, jax.lax.add, 0.0, 3, 1) / 9, normal(8, 64, 56, 56))
add("pooling", "average_2x2", lambda x: pool(x, jax.lax.add, 0.0) / 4, normal(8, 56, 56, 128))
add("pooling", "max_grad", jax.grad(lambda x: (pool(x, jax.lax.max, -jnp.inf) ** 2).sum()), normal(8, 56, 56, 64))
add("pooling", "average_nchw_grad", jax.grad(lambda x: (pool_rows(x, jax.lax.add, 0.0, 3, 2) ** 2).sum()), normal(8, 64, 56, 56))
add("pooling", "global_average", lambda x: x.mean((1, 2)), normal(32, 7, 7, 2048))
