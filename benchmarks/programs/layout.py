"""Data movement: transposes, concatenation, padding, gather and scatter."""

import jax
import jax.numpy as jnp
import numpy as np

from . import add
from .inputs import distinct, integers, normal, ramp, uniform

add("layout", "transpose_4096", lambda x: x.T + 0, normal(4096, 4096))
add("layout", "transpose_small_batches", lambda x: x.transpose(0, 2, 1) + 0, normal(4096, 32, 32))
add("layout", "nchw_to_nhwc", lambda x: x.transpose(0, 2, 3, 1) + 0, normal(8, 64, 112, 112))
add("layout", "nhwc_to_nchw", lambda x: x.transpose(0, 3, 1, 2) + 0, normal(8, 112, 112, 64))
add("layout", "heads_split", lambda x: x.reshape(8, 512, 12, 64).transpose(0, 2, 1, 3) + 0, normal(8, 512, 768))
add("layout", "patchify", lambda x: x.reshape(16, 14, 16, 14, 16, 3).transpose(0, 1, 3, 2, 4, 5).reshape(16, 196, 768), normal(16, 224, 224, 3))
add("layout", "concatenate_rows", lambda a, b: jnp.concatenate([a, b]), normal(1 << 22), normal(1 << 22, seed=1))
add("layout", "concatenate_transposed", lambda a, b: jnp.concatenate([a, b * 2], 1).T, normal(1000, 1000), normal(1000, 1000, seed=1))
add("layout", "concatenate_columns", lambda a, b, c: jnp.concatenate([a, b, c], 1), normal(4096, 300), normal(4096, 200), normal(4096, 100))
add("layout", "stack_last", lambda a, b: jnp.stack([a, b], -1), normal(1 << 21), normal(1 << 21, seed=1))
add("layout", "pad_2d", lambda x: jnp.pad(x, 3), normal(2048, 2048))
add("layout", "reverse_rows", lambda x: x[:, ::-1] + 0, normal(2048, 2048))
add("layout", "strided_slice", lambda x: x[::2, ::3] + 0, normal(4096, 4096))
add("layout", "roll", lambda x: jnp.roll(x, 17, 1), normal(2048, 2048))
add("layout", "tile", lambda x: jnp.tile(x, (4, 4)), normal(512, 512))
add("layout", "transpose_add", lambda x: x + x.T, normal(2048, 2048))
add("layout", "channels_last_rgb", lambda x: x.transpose(0, 2, 3, 1) * 2, normal(8, 3, 224, 224))
add("layout", "transpose_narrow", lambda x: x.T + 0, normal(6, 1 << 18))
add("layout", "normalize_image", lambda x: (x.astype(jnp.float32) / 255 - jnp.array([0.485, 0.456, 0.406])) / jnp.array([0.229, 0.224, 0.225]),
    integers(8, 224, 224, 3, high=256, type="u8"))  # fmt: skip
add("layout", "scale_channels", lambda x, s: x * s + s, normal(8, 224, 224, 3), normal(3, seed=1))
add("layout", "cross_products", jnp.cross, normal(1 << 18, 3), normal(1 << 18, 3, seed=1))
add("layout", "tril", jnp.tril, normal(2048, 2048))
add("layout", "strided_slice_grad", jax.grad(lambda x: (x[:, ::2] ** 2).sum()), normal(1024, 1024))
add("layout", "scale_up_nchw", lambda x, y: jnp.repeat(jnp.repeat(x, 2, 2), 2, 3) + y, normal(4, 64, 32, 32), normal(4, 64, 64, 64, seed=1))
add("layout", "resize_nearest_nchw", lambda x: jax.image.resize(x, (4, 32, 64, 64), "nearest"), normal(4, 32, 32, 32))
add("layout", "alpha_blend", lambda a, b: a[..., :3] * a[..., 3:] + b * (1 - a[..., 3:]), uniform(512, 512, 4), uniform(512, 512, 3, seed=1))


def relative_shift(x):
    """Transformer-XL's: row i begins i elements earlier, by way of rows that are one element longer."""
    batch, queries, keys = x.shape
    return jnp.pad(x, ((0, 0), (0, 0), (1, 0))).reshape(batch, keys + 1, queries)[:, 1:].reshape(x.shape)[..., :queries]


add("layout", "relative_shift", relative_shift, normal(16, 256, 511))


def hadamard(x):
    for _ in range(10):
        x = x.reshape(len(x), -1, 2)
        x = jnp.concatenate([x[..., 0] + x[..., 1], x[..., 0] - x[..., 1]], -1)
    return x


add("layout", "hadamard", hadamard, normal(256, 1024))

add("indexing", "embedding", lambda table, ids: table[ids], normal(50257, 256), integers(4096, high=50257))
add("indexing", "embedding_grad", jax.grad(lambda table, ids: (table[ids] ** 2).sum()), normal(10000, 128), integers(2048, high=10000))
add("indexing", "columns_grad", jax.grad(lambda x, i: (x[:, i] ** 2).sum()), normal(512, 1024), integers(1024, high=1024))
add("indexing", "triangles_grad", jax.grad(lambda x: (x[:, *np.triu_indices(64)] ** 2).sum()), normal(64, 64, 64))


def hash_grid(x, tables):
    """Encodes points by interpolation between eight entries of a hashed table for each of eight resolutions."""
    primes, levels = jnp.array([1, 2654435761, 805459861], jnp.uint32), []
    for level, table in enumerate(tables):
        place = x * (16 * 1.5**level)
        cell = jnp.floor(place)
        weights, sums = place - cell, 0
        for corner in np.ndindex(2, 2, 2):
            hashed = (cell.astype(jnp.uint32) + np.array(corner, np.uint32)) * primes
            weight = jnp.where(np.array(corner) == 1, weights, 1 - weights).prod(-1, keepdims=True)
            sums += weight * table[(hashed[:, 0] ^ hashed[:, 1] ^ hashed[:, 2]) % len(table)]
        levels.append(sums)
    return jnp.concatenate(levels, -1)


add("indexing", "hash_grid", hash_grid, uniform(8192, 3), normal(8, 16384, 2), tolerance=1e-3)


def ring_neighbours(x):
    """A stencil whose neighbours round the edges are found by index."""
    after, before = (jnp.arange(len(x)) + 1) % len(x), (jnp.arange(len(x)) - 1) % len(x)
    return x[after] + x[before] + x[:, after] + x[:, before] - 4 * x


def frame_pitch(x):
    """Differences between the beginning of each frame of a signal and what follows it, by index."""
    frames = x[jnp.arange(0, len(x) - 1024, 256)[:, None] + jnp.arange(1024)]
    shifted = frames[:, jnp.arange(256)[:, None] + jnp.arange(768)]
    return ((shifted - frames[:, None, :768]) ** 2).sum(-1)


add("indexing", "ring_neighbours", ring_neighbours, normal(512, 512))
add("indexing", "frame_pitch", frame_pitch, normal(16384), tolerance=1e-3)
add("indexing", "gather_scalars_1m", lambda x, i: x[i], normal(1 << 20), integers(1 << 20, high=1 << 20))
add("indexing", "take_along_axis", lambda x, i: jnp.take_along_axis(x, i, 1), normal(1024, 512), integers(1024, 512, high=512))
add("indexing", "scatter_add_1m", lambda x, i, u: x.at[i].add(u), normal(1 << 16), integers(1 << 20, high=1 << 16), normal(1 << 20))
add("indexing", "scatter_set_rows", lambda x, i, u: x.at[i].set(u), normal(4096, 256), distinct(512, high=4096),
    normal(512, 256))  # fmt: skip
add("indexing", "segment_sum", lambda x, i: jax.ops.segment_sum(x, i, 1000), normal(1 << 17, 8), integers(1 << 17, high=1000), tolerance=1e-3)
add("indexing", "one_hot_matmul", lambda i, w: jax.nn.one_hot(i, 1000) @ w, integers(1024, high=1000), normal(1000, 128))
add("indexing", "dynamic_update_slice", lambda x, u, i: jax.lax.dynamic_update_slice(x, u, (i[0], 0)), normal(4096, 512), normal(1, 512), integers(1, high=4000))
add("indexing", "boolean_mask_where", lambda x: jnp.where(x > 0, x, jnp.flip(x)), normal(1 << 20))
add("indexing", "interp", jnp.interp, uniform(1 << 16), ramp(1000), normal(1000))
add("indexing", "bilinear_resize", lambda x: jax.image.resize(x, (4, 256, 256, 3), "bilinear"), normal(4, 128, 128, 3))
add("indexing", "map_coordinates", lambda x, c: jax.scipy.ndimage.map_coordinates(x, list(c), 1), normal(256, 256), uniform(2, 65536, high=255))
