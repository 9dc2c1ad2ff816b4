"""Layers, losses, recurrent cells, attention, and whole training steps."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen
from harness import Case, Tolerance, booleans, integers, normal, normals, together, uniform, values
from jax import lax

# Ten optimizer steps through a network: each step's rounding passes through the next.
TRAINING = Tolerance(1e-4, 1e-5)
LABELS = integers((16,), low=0, high=10)


def layer_norm(x, scale, bias):
    centered = x - x.mean(-1, keepdims=True)
    return centered * lax.rsqrt(jnp.mean(centered**2, -1, keepdims=True) + 1e-5) * scale + bias


def rms_norm(x, scale):
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale


def batch_norm(x, scale, bias):
    return (x - x.mean(0)) * lax.rsqrt(x.var(0) + 1e-5) * scale + bias


def attention(q, k, v):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1]).astype(np.float32)
    causal = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, -1e9))
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v)


def rotary(x):
    half = x.shape[-1] // 2
    angle = jnp.arange(x.shape[0])[:, None] * 10000.0 ** (-jnp.arange(half) / half)
    left, right = x[:, :half], x[:, half:]
    return jnp.concatenate([left * jnp.cos(angle) - right * jnp.sin(angle), right * jnp.cos(angle) + left * jnp.sin(angle)], -1)


def lstm_cell(state, x, w, u, b):
    h, c = state
    i, f, g, o = jnp.split(x @ w + h @ u + b, 4, axis=-1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return (h, c), h


def gru_cell(h, x, w, u):
    rx, zx, nx = jnp.split(x @ w, 3, axis=-1)
    rh, zh, nh = jnp.split(h @ u, 3, axis=-1)
    z = jax.nn.sigmoid(zx + zh)
    n = jnp.tanh(nx + jax.nn.sigmoid(rx + rh) * nh)
    return (1 - z) * n + z * h


def lstm(xs, w, u, b):
    start = (jnp.zeros((xs.shape[1], u.shape[0])), jnp.zeros((xs.shape[1], u.shape[0])))
    return lax.scan(lambda state, x: lstm_cell(state, x, w, u, b), start, xs)


def mlp(parameters, x):
    for w, b in parameters[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = parameters[-1]
    return x @ w + b


def cross_entropy(logits, labels):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1))


def mlp_parameters(rng, sizes=(12, 24, 10)):
    return [
        (np.float32(rng.standard_normal((a, b)) / np.sqrt(a)), np.float32(rng.standard_normal(b) * 0.01))
        for a, b in zip(sizes, sizes[1:])
    ]


def training_inputs(rng):
    return mlp_parameters(rng), np.float32(rng.standard_normal((16, 12))), rng.integers(0, 10, 16).astype(np.int32)


def train(optimizer, steps=10):
    def run(parameters, x, labels):
        def step(carry, _):
            parameters, state = carry
            loss, gradients = jax.value_and_grad(lambda p: cross_entropy(mlp(p, x), labels))(parameters)
            updates, state = optimizer.update(gradients, state, parameters)
            return (optax.apply_updates(parameters, updates), state), loss

        (parameters, _), losses = lax.scan(step, (parameters, optimizer.init(parameters)), length=steps)
        return parameters, losses

    return run


def sgd_step(parameters, x, labels):
    gradients = jax.grad(lambda p: cross_entropy(mlp(p, x), labels))(parameters)
    return jax.tree.map(lambda p, g: p - 0.1 * g, parameters, gradients)


def transformer_block(x, qkv, out, up, down, scale):
    b, t, d = x.shape
    q, k, v = jnp.split(rms_norm(x, scale) @ qkv, 3, axis=-1)
    heads = lambda y: y.reshape(b, t, 4, d // 4)
    x = x + attention(heads(q), heads(k), heads(v)).reshape(b, t, d) @ out
    return x + jax.nn.gelu(rms_norm(x, scale) @ up) @ down


TRANSFORMER = lambda rng: (
    np.float32(rng.standard_normal((2, 9, 32))),
    *[np.float32(rng.standard_normal(s) / 6) for s in [(32, 96), (32, 32), (32, 64), (64, 32)]],
    np.ones(32, np.float32),
)
QKV = normals((2, 8, 3, 16), (2, 8, 3, 16), (2, 8, 3, 16))


# flax's own choice, an orthogonal matrix, takes a QR factorization, which is a library call.
LECUN = linen.initializers.lecun_normal()


def flax_network(module, shape):
    """A flax module's outputs; parameters made on the device from a fixed key."""
    return lambda x: module.apply(module.init(jax.random.key(1), x), x), normal(*shape)


def flax_case(name, module, shape, tolerance=None):
    function, inputs = flax_network(module, shape)
    return Case(f"flax_{name}", function, inputs, tolerance)


def patches(x, w, labels):
    return lax.conv_general_dilated(x, w, (w.shape[labels[1].index("H")],) * 2, "VALID", dimension_numbers=labels)


CASES = [
    *[Case(f"gradient_of_images_by_patches_{labels[0]}", lambda x, w, g, labels=labels: jax.vjp(lambda x, w: patches(x, w, labels), x, w)[1](g), normals(*shapes))
      for labels, *shapes in ((("NHWC", "HWIO", "NHWC"), (2, 24, 16, 3), (8, 8, 3, 10), (2, 3, 2, 10)), (("NCHW", "OIHW", "NCHW"), (2, 3, 13, 17), (7, 3, 6, 6), (2, 7, 2, 2)))],  # fmt: skip
    Case("upsampling_by_8", lambda x, w: lax.conv_transpose(x, w, (8,), "SAME"), normals((2, 9, 6), (16, 6, 4))),
    Case("upsampling_by_6_and_5", lambda x, w: lax.conv_transpose(x, w, (6, 5), "VALID"), normals((2, 4, 3, 6), (12, 5, 6, 4))),
    Case("softmax", jax.nn.softmax, normal(9, 40, scale=5)),
    Case("softmax_first_axis", lambda x: jax.nn.softmax(x, axis=0), normal(9, 40)),
    Case("softmax_masked", lambda x, m: jax.nn.softmax(x, where=m, axis=-1), together(normal(5, 8), booleans((5, 8)))),
    Case("softmax_gradient", jax.grad(lambda x: jnp.sum(jax.nn.softmax(x) * jnp.arange(8.0))), normal(5, 8)),
    Case("log_softmax", jax.nn.log_softmax, normal(9, 40, scale=5)),
    Case("standardize", jax.nn.standardize, normal(9, 40)),
    Case("glu", jax.nn.glu, normal(5, 8)),
    Case("layer_norm", layer_norm, normals((7, 32), (32,), (32,))),
    Case("layer_norm_gradient", jax.grad(lambda *a: jnp.sum(jnp.sin(layer_norm(*a))), (0, 1, 2)), normals((7, 32), (32,), (32,))),
    Case("rms_norm", rms_norm, normals((7, 32), (32,))),
    Case("batch_norm", batch_norm, normals((30, 8), (8,), (8,))),
    # Over channels, which are read row by row.
    *(
        Case(f"channels_{name}_{'x'.join(map(str, shape))}", f, normals(shape))
        for shape in ((8, 64, 32, 32), (3, 50, 90, 41), (4, 64, 16, 16))
        for name, f in {
            "norm": lambda x: (x - x.mean(1, keepdims=True)) * lax.rsqrt(x.var(1, keepdims=True) + 1e-5),
            "log_softmax": lambda x: jax.nn.log_softmax(x, 1),
            "rms": lambda x: x / jnp.sqrt((x**2).mean(1, keepdims=True) + 1e-6),
            "gate": lambda x: x * jax.nn.sigmoid(x.mean(1, keepdims=True) + x.max(1, keepdims=True)),
            "several": lambda x: jnp.tanh(x.sum(1, keepdims=True)) * x + jnp.exp(-x.max(1, keepdims=True)),
        }.items()
    ),
    Case("channels_gate_of_halves", lambda x: x * jax.nn.sigmoid(x.max(1, keepdims=True)), normals((8, 64, 32, 32), dtype=jnp.bfloat16)),
    Case("batch_norm_gradient", jax.grad(lambda *a: jnp.sum(jnp.sin(batch_norm(*a))), (0, 1, 2)), normals((30, 8), (8,), (8,))),
    Case("group_norm", lambda x: jax.nn.standardize(x.reshape(4, 3, 8), axis=-1).reshape(4, 24), normal(4, 24)),
    Case("attention_causal", attention, QKV),
    Case("attention_gradient", jax.grad(lambda q, k, v: jnp.sum(attention(q, k, v) ** 2), (0, 1, 2)), QKV),
    Case("attention_jax_nn", jax.nn.dot_product_attention, QKV),
    Case("attention_jax_nn_causal", lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True), QKV),
    Case("attention_key_value_cache", lambda cache, new, i: attention(new, lax.dynamic_update_slice(cache, new, (0, i, 0, 0)), cache), together(normals((2, 8, 3, 16), (2, 1, 3, 16)), values(np.int32(5)))),
    Case("rotary_embedding", rotary, normal(12, 16)),
    Case("transformer_block", transformer_block, TRANSFORMER),
    Case("transformer_block_gradient", jax.grad(lambda *a: jnp.sum(transformer_block(*a) ** 2) / 100, tuple(range(6))), TRANSFORMER, TRAINING),
    Case("lstm_cell", lambda h, c, *rest: lstm_cell((h, c), *rest), normals((4, 8), (4, 8), (4, 6), (6, 32), (8, 32), (32,))),
    Case("lstm_sequence", lstm, normals((12, 4, 6), (6, 32), (8, 32), (32,)), TRAINING),
    Case("lstm_gradient", lambda xs, w, u, b: jax.grad(lambda w, u, b: jnp.sum(lstm(xs, w, u, b)[1] ** 2), (0, 1, 2))(w / 4, u / 4, b), normals((12, 4, 6), (6, 32), (8, 32), (32,)), TRAINING),
    Case("gru_cell", gru_cell, normals((4, 8), (4, 6), (6, 24), (8, 24))),
    Case("gru_sequence", lambda h, xs, w, u: lax.scan(lambda h, x: (gru_cell(h, x, w, u),) * 2, h, xs), normals((4, 8), (10, 4, 6), (6, 24), (8, 24)), TRAINING),
    Case("cross_entropy", cross_entropy, together(normal(16, 10), LABELS)),
    Case("cross_entropy_gradient", jax.grad(cross_entropy), together(normal(16, 10), LABELS)),
    Case("cross_entropy_one_hot", lambda x, i: optax.softmax_cross_entropy(x, jax.nn.one_hot(i, 10)).mean(), together(normal(16, 10), LABELS)),
    Case("cross_entropy_optax", optax.softmax_cross_entropy_with_integer_labels, together(normal(16, 10), LABELS)),
    Case("binary_cross_entropy", lambda x, y: optax.sigmoid_binary_cross_entropy(x, y.astype(jnp.float32)), together(normal(30), booleans((30,)))),
    Case("huber_loss", optax.huber_loss, normals((30,), (30,))),
    Case("mean_squared_error", lambda x, y: jnp.mean((x - y) ** 2), normals((30,), (30,))),
    Case("cosine_similarity", optax.cosine_similarity, normals((6, 9), (6, 9))),
    Case("kl_divergence", lambda p, q: optax.kl_divergence(jax.nn.log_softmax(p), jax.nn.softmax(q)), normals((6, 9), (6, 9))),
    Case("accuracy", lambda x, y: jnp.mean(x.argmax(1) == y), together(normal(16, 10), LABELS)),
    Case("mlp_forward", mlp, lambda rng: training_inputs(rng)[:2]),
    Case("mlp_gradient", jax.grad(lambda p, x, y: cross_entropy(mlp(p, x), y)), training_inputs),
    Case("mlp_sgd_step", sgd_step, training_inputs),
    Case("train_sgd", train(optax.sgd(0.1)), training_inputs, TRAINING),
    Case("train_momentum", train(optax.sgd(0.1, momentum=0.9, nesterov=True)), training_inputs, TRAINING),
    Case("train_adam", train(optax.adam(1e-2)), training_inputs, TRAINING),
    Case("train_adamw", train(optax.adamw(1e-2, weight_decay=0.01)), training_inputs, TRAINING),
    Case("train_rmsprop", train(optax.rmsprop(1e-3)), training_inputs, TRAINING),
    Case("train_adagrad", train(optax.adagrad(1e-2)), training_inputs, TRAINING),
    Case("train_lion", train(optax.lion(1e-3), steps=2), training_inputs, TRAINING),
    Case("train_clipped_with_schedule", train(optax.chain(optax.clip_by_global_norm(0.5), optax.adam(optax.cosine_decay_schedule(1e-2, 10)))), training_inputs, TRAINING),
    Case("logistic_regression", jax.grad(lambda w, x, y: jnp.mean(jax.nn.softplus(-(2 * y - 1) * (x @ w)))), together(normals((9,), (40, 9)), uniform(40))),
    Case("label_smoothing", lambda i: optax.smooth_labels(jax.nn.one_hot(i, 10), 0.1), LABELS),
    Case("exponential_moving_average", lambda a, b: jax.tree.map(lambda x, y: 0.99 * x + 0.01 * y, {"w": a}, {"w": b}), normals((9,), (9,))),
    Case("global_norm", lambda a, b: optax.tree.norm({"a": a, "b": b}), normals((9, 4), (7,))),
    flax_case("dense", linen.Dense(17), (5, 12)),
    flax_case("layer_norm", linen.LayerNorm(), (5, 12)),
    flax_case("embedding_mlp", linen.Sequential([linen.Dense(16), linen.gelu, linen.Dense(4)]), (5, 12)),
    flax_case("attention", linen.MultiHeadDotProductAttention(num_heads=2), (2, 6, 8)),
    flax_case("gru", linen.RNN(linen.GRUCell(7, recurrent_kernel_init=LECUN)), (3, 5, 4), TRAINING),
    flax_case("lstm", linen.RNN(linen.OptimizedLSTMCell(7, recurrent_kernel_init=LECUN)), (3, 5, 4), TRAINING),
]
