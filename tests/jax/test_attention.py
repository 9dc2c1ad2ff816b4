"""Attention as one step (passes/attention_fusion.h) against XLA:CPU: lengths that are no multiples of blocks, masks, rows
without anything to attend to, grouped heads, layouts and types."""

import functools
import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

FULL = os.environ.get("KILN_FULL_TESTS") == "1"


def softmax_attention(q, k, v, mask=None, fill=-jnp.inf, order="bqhd,bkhd->bhqk bhqk,bkhd->bqhd"):
    into, out = order.split()
    scores = jnp.einsum(into, q, k) / np.sqrt(q.shape[-1]).astype(q.dtype)
    if mask is not None:
        scores = jnp.where(mask, scores, jnp.asarray(fill, scores.dtype))
    return jnp.einsum(out, jax.nn.softmax(scores.astype(jnp.promote_types(q.dtype, jnp.float32))).astype(q.dtype), v)


def causal(q, k, v, fill=-jnp.inf):
    return softmax_attention(q, k, v, jnp.tril(jnp.ones((q.shape[1], k.shape[1]), bool)), fill)


def grouped(q, k, v):
    """Llama's: `groups` heads of queries to each of keys, as dimensions of their own."""
    b, t, h, d = q.shape
    split = q.reshape(b, t, k.shape[2], h // k.shape[2], d)
    scores = jnp.einsum("btkgd,bskd->bkgts", split, k) * d**-0.5
    scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -jnp.inf)
    return jnp.einsum("bkgts,bskd->btkgd", jax.nn.softmax(scores), v).reshape(q.shape)


def repeated(q, k, v):
    """Heads of keys and values written out for each head of queries."""
    repeat = lambda x: jnp.repeat(x, q.shape[2] // x.shape[2], axis=2)
    return softmax_attention(q, repeat(k), repeat(v))


def biased(q, k, v, bias, mask):
    return jax.nn.dot_product_attention(q, k, v, bias=bias, mask=mask)


def rms(q, k, v):
    """Another operation on rows than softmax."""
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k)
    return jnp.einsum("bhqk,bkhd->bqhd", scores * jax.lax.rsqrt((scores**2).mean(-1, keepdims=True) + 1e-6), v)


def merged(x, heads=4):
    """Queries, keys and values from one product, as columns of it."""
    q, k, v = jnp.split(x, 3, axis=-1)
    split = lambda y: y.reshape(*y.shape[:2], heads, -1)
    return softmax_attention(split(q), split(k), split(v)).reshape(q.shape)


def along_columns(x, w):
    """Of an image, with what is moved back in a kernel of its own."""
    q, k, v = jnp.split(x.swapaxes(1, 2) @ w, 3, axis=-1)
    return x + (jax.nn.softmax(q @ k.mT / 8) @ v).swapaxes(1, 2)


def made(attend):
    """Of rows that are normalized, or turned, as steps of it (passes/attention_sources.h)."""

    def function(q, k, v):
        norm = lambda x: x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6)
        half = lambda x: jnp.split(x, 2, axis=-1)
        turn = lambda x: jnp.concatenate([half(x)[0] * 0.8 - half(x)[1] * 0.6, half(x)[0] * 0.6 + half(x)[1] * 0.8], -1)
        return attend(norm(q), turn(k), v * jnp.asarray(0.5, v.dtype) + jnp.asarray(1, v.dtype))

    return function


def pooled(q, k, v):
    mean = lambda x: x.reshape(*x.shape[:2], -1, 3, x.shape[-1]).mean(3)
    return HEADS_FIRST(q, mean(k), mean(v))


def qkv(*q, k=None):
    return (q, k or q, k or q)


HEADS_FIRST = functools.partial(softmax_attention, order="bhqd,bhkd->bhqk bhqk,bhkd->bhqd")
KEYS_FIRST = functools.partial(softmax_attention, order="bqhd,khdb->bhqk bhqk,bkhd->bqhd")
GROUPED_FIRST = functools.partial(softmax_attention, order="bgrqd,bgkd->bgrqk bgrqk,bgkd->bgrqd")
ONE_KEY_HEAD = functools.partial(softmax_attention, order="bhqd,bkd->bhqk bhqk,bkd->bqhd")
dot_product = jax.nn.dot_product_attention

# name: function, shapes, whether it is one step
CASES = {
    "plain": (softmax_attention, qkv(2, 128, 4, 32), True),
    "odd_sizes": (softmax_attention, qkv(3, 77, 5, 40, k=(3, 201, 5, 40)), True),
    "long_rows": (softmax_attention, qkv(1, 50, 2, 16, k=(1, 3001, 2, 16)), True),
    "blocks_of_rows": (softmax_attention, qkv(1, 700, 1, 64), True),
    "few_columns": (softmax_attention, qkv(6, 200, 2, 32, k=(6, 19, 2, 32)), True),
    "too_little_for_kernels": (softmax_attention, qkv(6, 200, 2, 16, k=(6, 19, 2, 16)), False),
    "few_features": (softmax_attention, qkv(2, 128, 4, 8), False),
    "one_query": (softmax_attention, qkv(4, 1, 8, 64, k=(4, 256, 8, 64)), False),
    "causal": (causal, qkv(2, 130, 4, 32), True),
    "causal_finite": (functools.partial(causal, fill=-1e9), qkv(2, 130, 4, 32), True),
    "heads_first": (HEADS_FIRST, qkv(2, 4, 128, 32), True),
    "keys_first": (KEYS_FIRST, ((2, 96, 3, 32), (96, 3, 32, 2), (2, 96, 3, 32)), True),
    "one_key_head": (ONE_KEY_HEAD, ((2, 4, 64, 32), (2, 80, 32), (2, 80, 32)), True),
    "single": (lambda q, k, v: jax.nn.softmax(q @ k.T / 7) @ v, qkv(300, 48), True),
    "grouped": (grouped, qkv(2, 96, 8, 32, k=(2, 96, 2, 32)), True),
    "repeated": (repeated, qkv(2, 96, 8, 32, k=(2, 96, 2, 32)), True),
    "jax_plain": (dot_product, qkv(2, 100, 4, 32), True),
    "jax_causal": (functools.partial(dot_product, is_causal=True), qkv(2, 100, 4, 32), True),
    "jax_grouped": (functools.partial(dot_product, is_causal=True), qkv(2, 100, 6, 32, k=(2, 100, 2, 32)), True),
    "jax_window": (functools.partial(dot_product, local_window_size=(20, 3)), qkv(2, 100, 4, 32), True),
    "merged": (merged, ((2, 90, 3 * 4 * 32),), True),
    "along_columns": (along_columns, ((2, 32, 32, 64), (64, 192)), True),
    "made": (made(lambda *x: HEADS_FIRST(*x)), qkv(3, 5, 77, 40, k=(3, 5, 201, 40)), True),
    "made_grouped": (made(lambda q, *x: GROUPED_FIRST(q, *x)), ((2, 4, 3, 96, 32), (2, 4, 90, 32), (2, 4, 90, 32)), True),
    "made_of_one_key_head": (made(lambda *x: ONE_KEY_HEAD(*x)), ((9, 4, 64, 32), (9, 80, 32), (9, 80, 32)), True),
    "made_columns": (made(lambda q, k, v: HEADS_FIRST(q, k.mT, v)), ((2, 4, 128, 32), (2, 4, 32, 80), (2, 4, 80, 32)), True),
    "pooled": (pooled, qkv(2, 4, 160, 32, k=(2, 4, 192, 32)), True),
    "rms": (rms, qkv(2, 128, 4, 32), True),
}

# JAX's own function computes its softmax in f32.
TYPED = [name for name in CASES if CASES[name][2] and not name.startswith("jax")]


def values(shapes, dtype, seed=0):
    generator = np.random.default_rng(seed)
    return [jnp.asarray(generator.normal(size=shape), dtype) for shape in shapes]


def compare(function, arguments, device, reference_device, one_step):
    """Errors against the same in twice the precision are those of XLA:CPU, but for little."""
    with jax.enable_x64(True):
        dtype = arguments[0].dtype
        compiled = jax.jit(function).lower(*jax.device_put(arguments, device)).compile()
        assert ("attention_fusion" in compiled.as_text()) == one_step
        got = np.asarray(compiled(*jax.device_put(arguments, device)), np.float64)
        want = np.asarray(jax.jit(function)(*jax.device_put(arguments, reference_device)), np.float64)
        wide = [x.astype(np.float64) if jnp.issubdtype(x.dtype, jnp.floating) else x for x in arguments]
        truth = np.asarray(jax.jit(function)(*jax.device_put(wide, reference_device)))
    assert got.shape == want.shape
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    known = ~np.isnan(want)
    scale = np.max(np.abs(truth[known]), initial=0)
    error, allowed = np.abs(got - truth)[known], np.abs(want - truth)[known]
    assert error.max(initial=0) <= 2 * allowed.max(initial=0) + 4 * scale * float(jnp.finfo(dtype).eps)
    return compiled


@pytest.mark.parametrize("name", CASES)
def test_forms(device, reference_device, name):
    function, shapes, one_step = CASES[name]
    compare(function, values(shapes, np.float32), device, reference_device, one_step)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
@pytest.mark.parametrize("name", TYPED if FULL else ["odd_sizes", "causal", "grouped", "made"])
def test_types(device, reference_device, name, dtype):
    function, shapes, _ = CASES[name]
    with jax.enable_x64(True):
        arguments = values(shapes, dtype)
        # Pairs of bf16 have to be whole; there are no kernels of halves.
        pairs = name != "odd_sizes"
        narrow = dtype == "float16" or (dtype == "bfloat16" and not pairs)
        text = jax.jit(function).lower(*jax.device_put(arguments, device)).compile().as_text()
        steps = "attention_fusion" in text
        assert not (narrow and steps)
        assert steps or dtype != "float64"
        compare(function, arguments, device, reference_device, steps)


def test_rows_without_columns_are_nan(device, reference_device):
    q, k, v = values(qkv(2, 70, 4, 32), np.float32)
    mask = np.random.default_rng(1).random((2, 1, 70, 70)) < 0.3
    mask[:, :, [0, 5, 69]] = False
    compare(softmax_attention, [q, k, v, jnp.asarray(mask)], device, reference_device, one_step=True)
    got = np.asarray(jax.jit(softmax_attention)(*jax.device_put([q, k, v, mask], device)))
    assert np.isnan(got[:, [0, 5, 69]]).all() and not np.isnan(got[:, 1:5]).any()


def test_special_values_reach_all_that_they_meet(device, reference_device):
    q, k, v = values(qkv(1, 130, 2, 32), np.float32)
    # A weight of zero times infinity is NaN, also where a mask made the weight.
    v = v.at[0, 40, 1, 7].set(jnp.inf).at[0, 3, 0, 5].set(jnp.nan)
    k = k.at[0, 9, 1, 2].set(jnp.nan)
    compare(causal, [q, k, v], device, reference_device, one_step=True)


def test_bias_and_mask(device, reference_device):
    q, k, v = values(qkv(2, 90, 4, 32), np.float32)
    bias = jnp.asarray(np.random.default_rng(2).normal(size=(1, 4, 90, 90)), jnp.float32)
    mask = jnp.asarray(np.random.default_rng(3).random((2, 1, 1, 90)) < 0.7)
    compare(biased, [q, k, v, bias, mask], device, reference_device, one_step=True)


def test_scores_take_no_memory(device, reference_device):
    arguments = values(qkv(2, 512, 4, 64), np.float32)
    compiled = compare(causal, arguments, device, reference_device, one_step=True)
    assert compiled.memory_analysis().temp_size_in_bytes < 1 << 20
    # Saved for the backward pass, they do.
    gradient = jax.jit(jax.grad(lambda *x: causal(*x).sum(), (0, 1, 2)))
    assert "attention_fusion" not in gradient.lower(*jax.device_put(arguments, device)).compile().as_text()


def test_costs_are_those_of_the_parts(device):
    t, s, d = 128, 192, 32
    arguments = jax.device_put(values(((1, t, 1, d), (1, s, 1, d), (1, s, 1, d)), np.float32), device)
    cost = jax.jit(softmax_attention).lower(*arguments).compile().cost_analysis()
    assert cost["transcendentals"] == t * s
    assert 4 * t * s * d < cost["flops"] < 4 * t * s * d + 10 * t * s
    assert cost["bytes accessed"] == 4 * (2 * t * d + 2 * s * d)
